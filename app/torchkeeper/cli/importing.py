"""The command that takes in what bundles hold: into one folder, or each cache to its own."""

from __future__ import annotations

import argparse
import functools
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

from torchkeeper.cli import contract, leaving, looking, output, screen, signing, streams
from torchkeeper.cli.asking import Asker, asking
from torchkeeper.cli.bundles import (
    TRUST,
    UNJUDGED,
    Inside,
    judged,
    look_inside,
    print_inside,
    room,
    taken_back,
    trusts,
    warn,
    warn_of_owners,
)
from torchkeeper.client import carrying, homes
from torchkeeper.client.engines import far, ferry
from torchkeeper.client.kept import protected
from torchkeeper.client.signers import check_policy
from torchkeeper.client.words import say, verdicts
from torchkeeper.client.words.outcomes import held
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine.protocol import CACHES, COMPARE, IMPORT

if TYPE_CHECKING:
    from torchkeeper.engine.messages import bundles
    from torchkeeper.engine.messages import entries as entries_msg

#: What the end of an import into several folders calls them.
_WHERE = "the folders of its caches"


def add_import(command: argparse.ArgumentParser) -> None:
    command.add_argument("files", metavar="FILE", type=streams.file, nargs="+", help="a bundle, or "
                         "a raw mega-cache; several are imported together or not at all; “-” is "
                         "standard input")  # fmt: skip
    looking.add_into_one_or_each(command)
    output.flag(command, "--trust", "do not ask: you trust the maker of the file")
    looking.add_only(command)
    output.flag(command, "--dry-run", "only print which entries are new there")
    looking.add_env(command)


def import_(args: argparse.Namespace) -> int:
    """torchkeeper import: shows what is inside and what of it is new, asks, places it."""
    if args.into_each is not None:
        with streams.coming(args.files) as args.files:
            return _import_each(args)
    if not args.dry_run:
        protected.check(args.into)
    with streams.coming(args.files) as args.files:
        return _import(args)


def _import(args: argparse.Namespace) -> int:
    machine = far.machine_of(args.into)
    here = functools.cache(partial(leaving.here_of, args, args.files, machine))
    with asking(args) as asker:
        signatures, trusted = _signatures(args, asker)
        if args.dry_run or not trusted:
            inside = [look_inside(args, file, here()) for file in args.files]
            usable = True
            if args.dry_run or not machine:
                compared, found = _compare(args, inside, here())
                usable = bool(found) or not args.usable
                if args.dry_run:
                    return compared
            elif not args.json:  # what of it is new is known once it is there
                _tell(inside)
            nothing, question = "Nothing was imported.", f"Import into {printable(args.into)}"
            if usable and output.can_ask():
                with asking(args, machine) if machine else nullcontext(asker) as to:
                    warn_of_owners(to, [args.into])
            # Of a file of which nothing can be used, nothing is taken: nobody need trust it.
            if usable and not trusts(nothing, TRUST, "the file", question):
                output.note(nothing)
                return 1
        with (
            asking(args, machine) if machine else nullcontext(asker) as to,
            ferry.sent(machine, args.files, to.carried) as at,
        ):
            files = [at[file] for file in args.files]
            env, abouts = leaving.tell_names(args, to.engine, files, here)
            answer: bundles.ImportResult = to.ask(
                IMPORT, files=files, into=args.into, env=env, fits=bool(args.usable),
                manifests={at[file]: one["manifest"] for file, one in signatures.items()},
            )  # fmt: skip
    code = to.end(args, IMPORT, {**answer, "env": env}, args.into)
    if answer["entries"] and not args.json:
        output.notes([*carrying.advice(abouts, env), *taken_back(args.into, answer)])
    return code


def _signatures(
    args: argparse.Namespace, asker: Asker
) -> tuple[dict[str, bundles.SignatureResult], bool]:
    """Who signed each file, and whether nobody is asked. Raises UserError as ``check_policy``."""
    found = {file: signing.signature_of(asker, file) for file in args.files}
    for file, one in found.items():
        if not args.dry_run:
            check_policy(file, one)
    return found, args.trust or all(one["status"] == "trusted" for one in found.values())


def _tell(inside: Sequence[Inside], rows: bool = True) -> None:
    for told in inside:
        print_inside(told, rows)
    warn(inside)


def _summed(counts: Sequence[bundles.Counts]) -> bundles.Counts:
    return {
        "entries": sum(one["entries"] for one in counts),
        "files": sum(one["files"] for one in counts),
        "bytes": sum(one["bytes"] for one in counts),
    }


def _compare(
    args: argparse.Namespace, inside: list[Inside], here: carrying.Here | None
) -> tuple[int, int]:
    """Print what is inside and what of it is new in the target; ends as an import would, and tells
    how many entries that is of, with those that are there.
    """
    machine = far.machine_of(args.into)
    with (
        asking(args, machine) as asker,
        ferry.sent(machine, args.files, asker.carried) as at,
    ):
        sent = [at[file] for file in args.files]
        env, _ = leaving.tell_names(args, asker.engine, sent, lambda: here)
        answer: entries_msg.CompareResult = asker.ask(
            COMPARE, files=sent, into=args.into, rows=args.json, env=env, fits=bool(args.usable)
        )
    files = answer["files"]
    for compared, name in zip(files, args.files, strict=True):
        compared["file"] = name
    new = _summed([one["new"] for one in files])
    there, twice = (_summed([one[of] for one in files]) for of in ("there", "twice"))
    differs = _summed([one["differs"] for one in files])
    meant = new["entries"] + there["entries"] + differs["entries"]
    counts = verdicts.together([one.counts for one in inside if one.counts]) if here else None
    whole: dict[str, object] = {
        **new, "exists": there["entries"], "doubles": twice["entries"], "new": new, "there": there,
        "twice": twice, "differs": differs,
        "needed": answer["needed"], "space": answer["space"], "renamed": answer["renamed"],
        "into": args.into,
        "compared": [
            {**file, **(one.counts or UNJUDGED), "runnable": one.runnable}
            for file, one in zip(files, inside, strict=True)
        ],
        **judged(counts, here),
    }  # fmt: skip
    if args.json:
        rows: list[entries_msg.CompareRow] = asker.rows
        marks: dict[tuple[str, str, str], list[entries_msg.CompareRow]] = defaultdict(list)
        for row in rows:
            marks[row["file"], row["kind"], row["inside"]].append(row)
        for file, entry in ((one.file, entry) for one in inside for entry in one.entries):
            mark = marks[at[file], *entry.identity]
            first = mark.pop(0) if mark else None
            about = {"outcome": first and first["outcome"], "into_path": first and first["path"]}
            output.emit({**entry.to_json(), **about})
        if not args.dry_run:
            output.emit({"compared": {**whole, "left": asker.left}})
            return 0, meant
    else:
        for one in inside:
            print_inside(one)
        output.line(f"{printable(args.into)}:")
        by_kind = Counter[str]()
        for one_kind in (kind for file in files for kind in file["kinds"]):
            by_kind[one_kind["kind"]] += one_kind["new"]["entries"]
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in by_kind.items() if count)
        output.line(f"  new      {held(new)}{f' ({kinds})' if kinds else ''}")
        output.line(f"  there    {held(there)}")
        if twice["entries"]:
            output.line(f"  twice    {held(twice)}, with the very same bytes")
        if differs["entries"]:
            output.line(f"  differs  {held(differs)}; what is there is kept")
        if answer["renamed"]:
            count = say.count(answer["renamed"], "object", "objects")
            output.line(f"  renamed  {count} of them, for this environment")
        output.line(f"  disk     {room(answer['needed'], answer['space'])}")
        warn(inside)
        if not args.dry_run:
            return 0, meant
    return asker.end(args, IMPORT, whole, args.into, dry=True), meant


def _import_each(args: argparse.Namespace) -> int:
    """Say which cache goes where and why, ask, and place it."""
    machine: str = args.into_each or ""
    here = functools.cache(partial(leaving.here_of, args, args.files, machine))
    with asking(args) as asker:
        signatures, trusted = _signatures(args, asker)
        shown = not args.json and (args.dry_run or not trusted)
        inside = [look_inside(args, file, here()) for file in args.files] if shown else []
        with (
            asking(args, machine) if machine else nullcontext(asker) as to,
            ferry.sent(machine, args.files, to.carried) as at,
        ):
            files = [at[file] for file in args.files]
            found: bundles.CachesResult = to.ask(CACHES, files=files)
            rows = homes.named(machine, found["caches"])
            if not args.json and not args.dry_run:
                _print(rows)
            if inside and not args.dry_run:
                _tell(inside, screen.now.verbose)
            if not args.dry_run:
                for place in (row["into"] for row in rows if row["into"]):
                    protected.check(place)
            if not args.dry_run and not trusted:
                nothing, question = "Nothing was imported.", "Import into these folders"
                if output.can_ask():
                    warn_of_owners(to, (str(row["into"]) for row in rows if row["into"]))
                if not trusts(nothing, TRUST, "the file", question):
                    output.note(nothing)
                    return 1
            env, _ = leaving.tell_names(args, to.engine, files, here)
            manifests = {at[file]: one["manifest"] for file, one in signatures.items()}
            done: dict[str, dict[str, int]] = {}
            try:
                for row in rows:
                    if row["into"]:
                        done[row["cache"]] = _placed(args, to, row, files, env, manifests)
            except (UserError, KeyboardInterrupt):
                if done and not args.dry_run:  # each cache arrives whole or not at all
                    output.note(f"What was placed before stays: {', '.join(done)}.")
                raise
    if inside and args.dry_run:
        _print(rows, {cache: one["entries"] for cache, one in done.items()})
        _tell(inside, screen.now.verbose)
    whole = {name: sum(one[name] for one in done.values()) for name in _SUMMED}
    code = to.end(args, IMPORT, {**whole, "env": env, "receipt": None}, _WHERE, dry=args.dry_run)
    if whole["entries"] and not args.json and not args.dry_run:
        output.note("“torchkeeper undo FOLDER” takes back what was placed in one of them.")
    return code or contract.partly(done, any(not row["into"] for row in rows))


_SUMMED = ("entries", "files", "bytes", "exists", "doubles", "renamed")


def _placed(
    args: argparse.Namespace, to: Asker, row: bundles.CacheRow, files: list[str], env: str | None,
    manifests: dict[str, str],
) -> dict[str, int]:  # fmt: skip
    """What came of one cache, or would."""
    asked: dict[str, object] = {
        "files": files, "into": row["into"], "cache": row["cache"], "env": env,
        "fits": bool(args.usable),
    }  # fmt: skip
    if args.dry_run:
        told: entries_msg.CompareResult = to.ask(COMPARE, rows=False, **asked)
        new = _counts(_summed([one["new"] for one in told["files"]]))
        there, twice = (sum(x[of]["entries"] for x in told["files"]) for of in ("there", "twice"))
        answer = {**new, "exists": there, "doubles": twice, "renamed": told["renamed"]}
    else:
        placed: bundles.ImportResult = to.ask(IMPORT, manifests=manifests, **asked)
        answer = {**_counts(placed), "exists": placed["exists"], "doubles": placed["doubles"],
                  "renamed": placed["renamed"]}  # fmt: skip
    if args.json:
        output.emit({**row, "new": answer["entries"], "exists": answer["exists"]})
    return answer


def _counts(some: bundles.Counts) -> dict[str, int]:
    return {"entries": some["entries"], "files": some["files"], "bytes": some["bytes"]}


def _print(rows: list[bundles.CacheRow], new: Mapping[str, int] | None = None) -> None:
    """Where each cache goes. new: how many of its entries are new there, where that is known."""
    width = max((len(row["cache"]) for row in rows), default=0)
    for row in rows:
        why = homes.why(row)
        where = f"{row['into']} ({why})" if row["into"] else f"stays: {why}"
        if row["into"] and new is not None:
            where += f", {new.get(row['cache'], 0) or 'nothing'} new"
        output.line(printable(f"  {row['cache']:<{width}}  {held(row)}  {where}"))
