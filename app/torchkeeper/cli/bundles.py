"""Commands about bundles: export, inspect, import."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

from torchkeeper.artifacts.entry import Entry
from torchkeeper.artifacts.sshsig import signed_by
from torchkeeper.cli import leaking, looking, output, signing
from torchkeeper.cli.asking import Answer, Asker
from torchkeeper.cli.carrying import (
    advise,
    here_of,
    maker_of,
    note_undescribed,
    tell_names,
)
from torchkeeper.engine.protocol import EXPORT, IMPORT
from torchkeeper.link import carrying
from torchkeeper.link.engines.knowing import known
from torchkeeper.link.engines.process import Engine
from torchkeeper.link.kept import protected
from torchkeeper.link.signers import check_policy, signers_file
from torchkeeper.link.signing import check_key
from torchkeeper.link.words import runnable, say, verdicts
from torchkeeper.link.words.outcomes import failures, held
from torchkeeper.link.words.problems import UserError, printable
from torchkeeper.stores.names import scheme_of

TRUST = (
    "What is imported is code: PyTorch will run it the next time a program compiles with this "
    "cache."
)


def add_export(command: argparse.ArgumentParser) -> None:
    """Arguments of export."""
    command.add_argument(
        "place",
        metavar="PLACE",
        type=looking.place,
        help="a cache folder, a bundle or a redis:// server",
    )
    command.add_argument("-o", "--output", metavar="FILE", type=looking.path, required=True,
                         help="the bundle to write, by custom *.torchcache")  # fmt: skip
    command.add_argument("--with-needed", action="store_true",
                         help="with the entries also what they need: graphs, code and "
                         "kernels")  # fmt: skip
    command.add_argument("--dry-run", action="store_true",
                         help="only print what would be written, and its size")  # fmt: skip
    signing.add_key(command, "--sign")
    leaking.add_choice(command)
    command.add_argument("--no-clobber", action="store_true",
                         help="fail instead of replacing a file that is there")  # fmt: skip
    looking.add_filter(command)
    looking.add_json(command)


def export(args: argparse.Namespace) -> int:
    """torchkeeper export; 1 if there is nothing to export."""
    # Who knows how objects are built, which takes seconds: a server holds none, a bundle tells it
    # itself, and where there is nothing, that is said at once.
    objects = scheme_of(args.place).holds_objects and os.path.isdir(args.place)
    maker = maker_of(args) if objects else None
    if args.key and not args.dry_run:
        check_key(args.key)
    with Engine() as engine:
        select = {"filter": args.filter, "envs": known(engine, args.filter, args.env)}
        asker = Asker(engine, args.json)
        if args.dry_run:
            return _plan_export(args, asker, select, maker)
        with leaking.telling(args, asker):
            answer = asker.ask(EXPORT, place=args.place, output=args.output, select=select,
                               needs=args.with_needed, replace=not args.no_clobber,
                               secrets=args.secrets,
                               builders=carrying.builders(maker), sign=bool(args.key))  # fmt: skip
            answer["leaks"] = leaking.found(asker)
            if answer.pop("held", False):
                answer["signature"] = signing.signed(
                    asker, "", args.key, args.output, not args.no_clobber
                )
                answer["size"] = os.path.getsize(args.output)
    note_undescribed(args, answer)
    return asker.end(args, EXPORT, answer, answer["output"])


def _plan_export(
    args: argparse.Namespace, asker: Asker, select: Answer, maker: Answer | None
) -> int:
    with leaking.telling(args, asker):
        answer = asker.ask("plan_export", place=args.place, select=select, needs=args.with_needed,
                           secrets=args.secrets, builders=carrying.builders(maker))  # fmt: skip
    answer["leaks"] = leaking.found(asker)
    note_undescribed(args, answer)
    if answer["lacking"] and not args.json:
        short = say.count(answer["lacking"], "entry", "entries")
        output.note(f"{short} cannot hit without FX graphs that are not chosen: "
                    "--with-needed takes them along.")  # fmt: skip
    there = asker.ask("target", path=args.output)
    answer |= {"output": args.output, "what": there["what"], "space": there["space"]}
    if not args.json and answer["entries"]:
        for one in answer["kinds"]:
            output.line(f"  {one['kind']:<12} {held(one)}")
        origin = [name for name, _ in [*answer["torches"], *answer["devices"]]]
        output.line(f"  made in  {printable(', '.join(origin)) or 'not known'}")
        output.line(f"  disk     {_room(answer['room'], there['space'])}")
        if there["what"] == "file":
            fate = "stays: --no-clobber" if args.no_clobber else "would be replaced"
            output.line(f"  there    {say.size(there['size'])}, which {fate}")
        elif there["what"] != "missing":
            output.line("  there    something that is not a file, which cannot be replaced")
    code = asker.end(args, EXPORT, answer, args.output, dry=True)
    return code or leaking.blocked(args, answer)


def _room(needed: int, space: Answer) -> str:
    if space["why"]:
        return f"cannot be written: {space['why']}"
    free = "an unknown number of bytes" if space["free"] is None else say.size(space["free"])
    short = space["free"] is not None and needed > space["free"]
    return f"needs {say.size(needed)}, {free} free" + (", which is NOT enough" if short else "")


def add_inspect(command: argparse.ArgumentParser) -> None:
    """Arguments of inspect."""
    command.add_argument(
        "file", metavar="FILE", type=looking.path, help="a bundle, or a raw mega-cache"
    )
    looking.add_env(command)
    looking.add_json(command)


def inspect(args: argparse.Namespace) -> int:
    """torchkeeper inspect; 1 if something in it is broken or refused."""
    here = here_of(args, [args.file])
    asker, answer = _look_inside(args, args.file, here, leaks=True)
    entries = asker.entries()
    if args.json:
        for entry in entries:
            output.emit(entry.to_json())
        output.emit({"result": {**answer, "left": asker.left}})
    else:
        _print_inside(args.file, entries, answer)
        _warn([answer])
        if here and (said := carrying.threads(answer["made_in"], here["facts"])):
            output.note(said)
        for text in [*output.left_lines(asker.left), *leaking.lines(answer["leaks"])]:
            output.note(text)
    return 1 if answer["broken"] or failures(asker.left) else 0


def _look_inside(
    args: argparse.Namespace, file: str, here: Answer | None, leaks: bool = False
) -> tuple[Asker, Answer]:
    with Engine() as engine:
        asker = Asker(engine, args.json)
        envs = []
        if here is not None:
            asker.ask("know", python=here["python"], env=here["facts"])
            envs.append(here["python"])
        answer = asker.ask("list", place=file, envs=envs, signers=signers_file())
        if "format" in answer:
            # Of which the rows are to stay.
            other = Asker(engine, args.json)
            answer["runnable"] = other.ask("runnable", place=file)
            if leaks:
                other.ask("leaks", place=file)
                answer["leaks"] = leaking.found(other)
    if "format" not in answer:
        raise UserError(
            f"{file} is a folder.",
            "A bundle or a mega-cache is a file.",
            "“torchkeeper ls” lists the entries of a folder.",
            code="wrong-usage",
        )
    judged = None if here is None else {name: here[name] for name in ("python", "torch")}
    counts = {"verdicts": None, "made_by": None}
    if here is not None:
        counts = verdicts.counted(asker.entries(), here["torch"])
    return asker, {**answer, **counts, "judged_by": judged}


def _print_inside(file: str, entries: list[Entry], answer: Answer) -> None:
    looking.print_entries(entries)
    names = {"torchcache": "bundle", "mega-cache": "mega-cache, which has no manifest"}
    output.line(f"{printable(file)}: {names.get(answer['format'], 'file')}")
    output.line(f"  holds    {looking.summary({**answer, 'trash': None})}")
    output.line(f"  made in  {made_in(answer.get('made_in'))}")
    output.line(f"  signed   {printable(signed_by(answer['signature']))}")
    for name, value in [*carrying.lines(answer), *runnable.lines(answer["runnable"])]:
        output.line(f"  {name:<9}{value}")
    if (here := answer["judged_by"]) is not None:
        said = verdicts.summary(answer)
        output.line(printable(f"  verdict  {said} (torch {here['torch']}, {here['python']})"))


def _warn(answers: Sequence[Answer]) -> None:
    """Say where nothing in any file is of use, and what PyTorch would not have written."""
    for answer in answers:
        if said := runnable.warning(answer["runnable"]):
            output.note(said)
    here = answers[0]["judged_by"] if answers else None
    if here is not None and (said := verdicts.warning(verdicts.together(answers), here["torch"])):
        output.note(printable(said))


def made_in(facts: dict[str, Any] | None) -> str:
    """The environment of a bundle on one line."""
    if not facts:
        return "not known"
    said = [f"torch {facts.get('torch')}"]
    if facts.get("cuda"):
        said.append(f"CUDA {facts['cuda']}")
    said += [str(gpu) for gpu in facts.get("gpus") or ["no GPU recorded"]]
    if facts.get("threads"):
        said.append(f"{facts['threads']} threads")
    return printable(", ".join(said))


def add_import(command: argparse.ArgumentParser) -> None:
    """Arguments of import."""
    command.add_argument(
        "files",
        metavar="FILE",
        type=looking.path,
        nargs="+",
        help="a bundle, or a raw mega-cache; several are placed together or not at all",
    )
    command.add_argument(
        "--into", metavar="PLACE", type=looking.path, required=True, help="the cache folder to fill"
    )
    command.add_argument("--trust", action="store_true",
                         help="do not ask: you trust whoever made the file")  # fmt: skip
    command.add_argument("--dry-run", action="store_true",
                         help="only print what is new there and what is not")  # fmt: skip
    looking.add_env(command)
    looking.add_json(command)


def not_trusted(nothing: str, trust: str, made: str) -> UserError:
    """What is said where somebody else's code is to be trusted, and nobody could say so."""
    why = f"{trust} There is no terminal to ask on."
    remedy = f"Add --trust if you trust whoever made {made}."
    return UserError(nothing, why, remedy, code="wrong-usage")


def import_(args: argparse.Namespace) -> int:
    """torchkeeper import: shows what is inside and what of it is new, asks, places it."""
    if not args.dry_run:
        protected.check(args.into)
    here = here_of(args, args.files)
    signatures = _signatures(args)
    trusted = args.trust or all(one["status"] == "trusted" for one in signatures.values())
    if args.dry_run or not trusted:
        inside = []
        for file in args.files:
            asker, answer = _look_inside(args, file, here)
            inside.append((file, asker.entries(), answer))
        compared = _compare(args, inside, here)
        if args.dry_run:
            return compared
        if not output.can_ask():
            raise not_trusted("Nothing was imported.", TRUST, "the file")
        if not output.confirm(f"{TRUST}\nImport into {printable(args.into)}?"):
            output.note("Nothing was imported.")
            return 1
    with Engine() as engine:
        asker = Asker(engine, args.json)
        env, abouts = tell_names(args, engine, args.files, here)
        manifests = {file: one["manifest"] for file, one in signatures.items()}
        answer = asker.ask(IMPORT, files=args.files, into=args.into, env=env,
                           manifests=manifests) | {"env": env}  # fmt: skip
    code = asker.end(args, IMPORT, answer, args.into)
    if answer["entries"]:
        advise(args, abouts, env)
    return code


def _signatures(args: argparse.Namespace) -> dict[str, Answer]:
    """Who signed each of the files. Raises UserError where what the user requires is missing, or
    a signature is wrong.
    """
    with Engine() as engine:
        asker = Asker(engine, args.json)
        found = {file: signing.signature_of(asker, file) for file in args.files}
    for file, one in found.items():
        if not args.dry_run:
            check_policy(file, one)
    return found


def _summed(files: list[Answer]) -> Answer:
    """The outcomes of several files together."""
    return {
        outcome: {
            what: sum(file[outcome][what] for file in files)
            for what in ("entries", "files", "bytes")
        }
        for outcome in ("new", "there", "differs")
    }


def _new_kinds(files: list[Answer]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in (kind for file in files for kind in file["kinds"]):
        found[one["kind"]] = found.get(one["kind"], 0) + one["new"]["entries"]
    return found


def _compare(
    args: argparse.Namespace, inside: list[tuple[str, list[Entry], Answer]], here: Answer | None
) -> int:
    """Print what is inside and what of it is new in the target; 1 as ``outcomes.code``."""
    with Engine() as engine:
        asker = Asker(engine, args.json)
        env, _ = tell_names(args, engine, args.files, here)
        answer = asker.ask("compare", files=args.files, into=args.into, rows=args.json, env=env)
    files = answer.pop("files")
    found = _summed(files)
    new = found["new"]
    exists = found["there"]["entries"]
    answers = [about for _, _, about in inside]
    judged = answers[0]["judged_by"]
    counts = verdicts.together(answers) if judged else {"verdicts": None, "made_by": None}
    for file, about in zip(files, answers, strict=True):
        file |= {name: about[name] for name in ("verdicts", "made_by", "runnable")}
    whole = {**new, "exists": exists, **found, **answer, "into": args.into, "compared": files,
             **counts, "judged_by": judged}  # fmt: skip
    if args.json:
        marks: dict[tuple[str, str, str], list[Answer]] = {}
        for row in asker.rows:
            marks.setdefault((row["file"], row["kind"], row["inside"]), []).append(row)
        for file, entries, _ in inside:
            for entry in entries:
                mark = marks.get((file, *entry.identity)) or [{}]
                about = {"outcome": mark[0].get("outcome"), "into_path": mark[0].get("path")}
                output.emit({**entry.to_json(), **about})
                del mark[0]
        if not args.dry_run:
            output.emit({"compared": {**whole, "left": asker.left}})
            return 0
    else:
        for file, entries, about in inside:
            _print_inside(file, entries, about)
        output.line(f"{printable(args.into)}:")
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in _new_kinds(files).items() if count)
        output.line(f"  new      {held(new)}{f' ({kinds})' if kinds else ''}")
        output.line(f"  there    {held(found['there'])}")
        if found["differs"]["entries"]:
            output.line(f"  differs  {held(found['differs'])}; what is there is kept")
        if answer["renamed"]:
            count = say.count(answer["renamed"], "object", "objects")
            output.line(f"  renamed  {count} of them, for this environment")
        output.line(f"  disk     {_room(answer['needed'], answer['space'])}")
        _warn(answers)
        if not args.dry_run:
            return 0
    return asker.end(args, IMPORT, whole, args.into, dry=True)
