"""Commands that take entries elsewhere: export, inspect, import, copy."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.artifacts.entry import Entry, entry_from_json
from torchkeeper.artifacts.sshsig import signed_by
from torchkeeper.cli import crossing, leaving, listing, looking, output, screen, signing, streams
from torchkeeper.cli.asking import Asker, asking
from torchkeeper.client import carrying
from torchkeeper.client.engines import far
from torchkeeper.client.engines.probes import known
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.kept import protected
from torchkeeper.client.signers import check_key, signers_file
from torchkeeper.client.words import leaks as runnable
from torchkeeper.client.words import say, verdicts
from torchkeeper.client.words.outcomes import failures, held
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import COPY, EXPORT, TARGET
from torchkeeper.stores.names import is_mega_cache, scheme_of

if TYPE_CHECKING:
    from torchkeeper.artifacts.builds import MadeIn
    from torchkeeper.engine.messages import bundles
    from torchkeeper.engine.messages import entries as entries_msg
    from torchkeeper.engine.messages.findings import LeftFinding
    from torchkeeper.engine.messages.places import ListResult
    from torchkeeper.engine.messages.verdicts import JudgeResult
    from torchkeeper.stores.shapes import Space


class Inside(NamedTuple):
    """What is in a file; leaks: None where nobody looked, counts: of its verdicts, where asked."""

    file: str
    entries: list[Entry]
    left: list[LeftFinding]
    listed: ListResult
    runnable: entries_msg.RunnableResult
    leaks: leaving.LeaksTold | None
    counts: JudgeResult | None
    here: carrying.Here | None

    def to_json(self) -> dict[str, object]:
        """All of it but the entries and what was left."""
        leaks = {} if self.leaks is None else {"leaks": self.leaks}
        said = judged(self.counts, self.here)
        return {**self.listed, "runnable": self.runnable, **leaks, **said}


TRUST = "You import code: PyTorch will run it the next time a program compiles with this cache."


def add_export(command: argparse.ArgumentParser) -> None:
    command.add_argument("places", metavar="PLACE", type=looking.place, nargs="+",
                         help="a cache folder, a bundle, a mega-cache or a redis:// server; "
                         "ssh://HOST/PATH is a folder or a bundle on another machine; of several, "
                         "what two have is written once, and where they differ the first "
                         "counts")  # fmt: skip
    command.add_argument("-o", "--output", metavar="FILE", type=streams.file, required=True,
                         help="the bundle to write, by custom *.torchcache; *.bin is a mega-cache, "
                         "for torch.compiler.load_cache_artifacts; “-” is standard "
                         "output")  # fmt: skip
    output.flag(command, "--with-needed", "also write what the entries need: graphs, code and "
                "kernels")  # fmt: skip
    output.flag(command, "--dry-run", "only print the entries and the size of the bundle")
    signing.add_key(command, "--sign")
    leaving.add_secrets(command)
    output.flag(command, "--no-clobber", "fail instead of replacing an existing file")
    looking.add_filter(command)


def export(args: argparse.Namespace) -> int:
    """torchkeeper export; 1 if there is nothing to export."""
    args.places = list(dict.fromkeys(args.places))
    if args.key and is_mega_cache(args.output):
        raise output.misuse(
            "A mega-cache cannot be signed.", "PyTorch’s format has no place for a signature.",
            "Leave --sign out, or write a bundle: -o FILE.torchcache.",
        )  # fmt: skip
    if args.key and not args.dry_run:
        check_key(args.key)
    with streams.going(args) as file, crossing.together(args) as (args.places, left):
        return _export(args, file, left)


def _export(args: argparse.Namespace, file: str, left: list[LeftFinding]) -> int:
    places: list[str] = args.places
    # Who knows how objects are built, which takes seconds: a server holds none, a bundle tells it
    # itself, and where there is nothing, that is said at once.
    built = next(filter(carrying.may_have_objects, places), None)
    maker = leaving.maker_of(args, built) if built else None
    with asking(args) as asker:
        asker.left += left
        asked: bundles.PlanExportParams = {
            "place": places[0], "also": places[1:], "needs": args.with_needed,
            "select": {"filter": args.filter, "envs": known(asker.engine, args.filter, args.env)},
            "secrets": args.secrets, "builders": carrying.builders(maker),
            "mega": is_mega_cache(args.output),
        }  # fmt: skip
        if args.dry_run:
            return _plan_export(args, asker, asked, file)
        with leaving.telling_secrets(args, asker):
            answer = crossing.exported(asker, file, not args.no_clobber, args.key, **asked)
            told = {**answer, "leaks": leaving.secrets_found(asker)}
    output.remark(args, [carrying.undescribed(answer)])
    shown = "standard output" if args.output == streams.STREAM else answer["output"]
    return asker.end(args, EXPORT, told, shown)


def _plan_export(
    args: argparse.Namespace, asker: Asker, asked: bundles.PlanExportParams, file: str
) -> int:
    with leaving.telling_secrets(args, asker):
        answer: bundles.PlanExportResult = asker.ask(protocol.PLAN_EXPORT, **asked)
    output.remark(args, [carrying.undescribed(answer)])
    if answer["lacking"] and not args.json:
        short = say.count(answer["lacking"], "entry", "entries")
        output.note(f"{short} cannot hit without FX graphs that are not chosen: --with-needed "
                    "includes them.")  # fmt: skip
    with Engine() as here:
        there: bundles.TargetResult = Asker(here, args.json).ask(protocol.TARGET, path=file)
    if not args.json and answer["entries"]:
        for one in answer["kinds"]:
            output.line(f"  {one['kind']:<12} {held(one)}")
        origin = [name for name, _ in [*answer["torches"], *answer["devices"]]]
        output.line(f"  made in  {printable(', '.join(origin)) or 'not known'}")
        output.line(f"  disk     {room(answer['room'], there['space'])}")
        if there["what"] == "file":
            fate = "stays: --no-clobber" if args.no_clobber else "would be replaced"
            output.line(f"  there    {say.size(there['size'] or 0)}, which {fate}")
        elif there["what"] != "missing":
            output.line("  there    something that is not a file, which cannot be replaced")
    target = {"output": args.output, "what": there["what"], "space": there["space"]}
    told = {**answer, "leaks": leaving.secrets_found(asker), **target}
    code = asker.end(args, EXPORT, told, args.output, dry=True)
    return code or leaving.blocked_by_secrets(args, answer["leaks"])


def room(needed: int, space: Space) -> str:
    if space["why"]:
        return f"cannot be written: {space['why']}"
    free = "an unknown number of bytes" if space["free"] is None else say.size(space["free"])
    short = space["free"] is not None and needed > space["free"]
    return f"needs {say.size(needed)}, {free} free" + (", which is NOT enough" if short else "")


def add_inspect(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("file", metavar="FILE", type=streams.file, help="a bundle, a raw mega-cache, "
        "or what a program keeps of torch.compile: a *.pt2, a function of aot_compile; “-” is "
        "standard input")  # fmt: skip
    output.add_table(command, listing.NAMES, limit=True)
    looking.add_env(command)


def inspect(args: argparse.Namespace) -> int:
    """torchkeeper inspect; 1 if something in it is broken or refused."""
    with streams.coming([args.file]) as (file,):
        return _inspect(args, file)


def _inspect(args: argparse.Namespace, file: str) -> int:
    here = leaving.here_of(args, [file])
    try:
        inside = look_inside(args, file, here, leaks=True)
    except UserError as error:
        if error.code not in _NO_BUNDLE or not _another_form(args, file, here):
            raise
        return 0
    if args.json:
        output.emit_all(entry.to_json() for entry in inside.entries[: screen.now.limit])
        output.emit({"result": {**inside.to_json(), "left": inside.left}})
    else:
        print_inside(inside)
        warn([inside])
        if here and (said := carrying.threads(inside.listed.get("made_in"), here.facts)):
            output.note(said)
        secrets = leaving.secret_lines(inside.leaks) if inside.leaks else []
        output.notes([*output.left_lines(inside.left), *secrets])
    return 1 if inside.listed["broken"] or failures(inside.left) else 0


#: What is said of a file that is no bundle and no mega-cache.
_NO_BUNDLE = frozenset({
    "not-a-bundle", "bundle-damaged", "bundle-more", "mega-cache-damaged", "bundle-is-package",
    "bundle-is-exported",
})  # fmt: skip


def _another_form(args: argparse.Namespace, file: str, here: carrying.Here | None) -> bool:
    """Print what is in a file in which a program keeps what torch compiled; False of another."""
    from torchkeeper.client.words import forms

    with asking(args) as asker:
        if here is not None:
            asker.ask(protocol.KNOW, python=here.python, env=here.facts)
        envs = [here.python] if here is not None else []
        found: entries_msg.FormResult = asker.ask(protocol.FORM, file=file, envs=envs)
    if found["form"] is None:
        return False
    if args.json:
        output.emit({"form": {**found, "judged_by": judged(None, here)["judged_by"]}})
        return True
    output.line(f"{printable(args.file)}: {forms.called(found)}")
    for name, value in forms.lines(found, here.torch if here else ""):
        output.line(f"  {name:<9}{value}")
    return True


#: Versions of torch that are named where a bundle is of several.
_ORIGINS = 4


def look_inside(
    args: argparse.Namespace, file: str, here: carrying.Here | None, leaks: bool = False
) -> Inside:
    with asking(args) as asker:
        envs = []
        if here is not None:
            asker.ask(protocol.KNOW, python=here.python, env=here.facts)
            envs.append(here.python)
        entries = list[Entry]()
        look = Asker(
            asker.engine, args.json, lambda rows: entries.extend(map(entry_from_json, rows))
        )
        listed: ListResult = look.ask(
            protocol.LIST, place=file, envs=envs, signers=signers_file(), leaks=leaks
        )
        if "format" not in listed:
            raise output.misuse(
                f"{file} is a folder.",
                "A bundle or a mega-cache is a file.",
                "“torchkeeper ls” lists the entries of a folder.",
            )
        runs: entries_msg.RunnableResult = asker.ask(protocol.RUNNABLE, place=file)
    counts = verdicts.counted(entries, here.torch) if here is not None else None
    secrets = leaving.secrets_found(look) if leaks else None
    return Inside(file, entries, look.left, listed, runs, secrets, counts, here)


UNJUDGED: dict[str, object] = {"verdicts": None, "made_by": None}


def judged(counts: JudgeResult | None, here: carrying.Here | None) -> dict[str, object]:
    by = {"python": here.python, "torch": here.torch} if here is not None else None
    return {**(counts or UNJUDGED), "judged_by": by}


def print_inside(inside: Inside, entries: bool = True) -> None:
    """What is in a file. entries: also each of them."""
    if entries:
        rows = listing.Rows(json=False)
        rows.add(inside.entries)
        rows.end()
    if not screen.now.header:
        return
    listed, here = inside.listed, inside.here
    names = {"torchcache": "bundle", "mega-cache": "mega-cache, which has no manifest"}
    output.line(f"{printable(inside.file)}: {names.get(listed['format'], 'file')}")
    output.line(f"  holds    {looking.summary({**listed, 'trash': None})}")
    output.line(f"  made in  {made_in(listed.get('made_in'), inside.entries)}")
    output.line(f"  signed   {printable(signed_by(listed['signature']))}")
    objects = carrying.lines(carrying.claims_of(listed))
    for name, value in [*objects, *runnable.lines(inside.runnable)]:
        output.line(f"  {name:<9}{value}")
    if inside.counts is not None and here is not None:
        said = verdicts.summary(inside.counts)
        output.line(printable(f"  verdict  {said} (torch {here.torch}, {here.python})"))


def warn(inside: Sequence[Inside]) -> None:
    """Say where nothing in any file is of use, and what PyTorch would not have written."""
    for one in inside:
        if said := runnable.warning(one.runnable):
            output.note(said)
    here, counts = inside[0].here, [one.counts for one in inside if one.counts]
    if here is not None and (said := verdicts.warning(verdicts.together(counts), here.torch)):
        output.note(printable(said))


def made_in(facts: MadeIn | None, entries: Sequence[Entry]) -> str:
    """Where a bundle was made; of several of which it was made, each torch that entries tell."""
    if not facts:
        told = sorted({f"torch {one.torch}" for one in entries if one.torch})
        more = [f"and {len(told) - _ORIGINS} more"] if len(told) > _ORIGINS else []
        graphs = (one for one in entries if one.kind in ("fxgraph", "aotautograd"))
        if told and any(one.torch is None for one in graphs):
            more.append("and graphs that do not say by which torch")
        return printable(", ".join([*told[:_ORIGINS], *more])) or "not known"
    cuda = f"CUDA {facts['cuda']}" if facts["cuda"] else ""
    threads = f"{facts['threads']} threads" if facts["threads"] else ""
    gpus = facts["gpus"] or ["no GPU recorded"]
    return printable(", ".join(filter(None, [f"torch {facts['torch']}", cuda, *gpus, threads])))


def warn_of_owners(asker: Asker, places: Iterable[str]) -> None:
    """Say who else can change folders that are to be written to, before somebody is asked."""
    for place in places:
        asker.ask(TARGET, path=place, owners=True)


def trusts(nothing: str, trust: str, made: str, question: str) -> bool:
    """Whether somebody says that they trust others' code. Raises UserError where nobody could."""
    if not output.can_ask():
        remedy = f"Add --trust if you trust the maker of {made}."
        raise output.misuse(nothing, f"{trust} There is no terminal to ask on.", remedy)
    return output.confirm(f"{trust}\n{question}?")


def add_copy(command: argparse.ArgumentParser) -> None:
    command.add_argument("source", metavar="SRC", type=looking.place,
                         help="a cache folder, a bundle or a redis:// server, also on another "
                              "machine: ssh://HOST/PATH")  # fmt: skip
    command.add_argument("target", metavar="DST", type=looking.place, help="the target, of the "
                         "same kinds; *.torchcache makes a bundle")  # fmt: skip
    looking.add_filter(command)
    looking.add_only(command)
    output.flag(command, "--alone", "without what the entries need: graphs, code, kernels")
    output.flag(command, "--direct", "from one machine to the other by the ssh of the first, not "
                "by way of this one")  # fmt: skip
    output.flag(command, "--dry-run", "only print what would be copied")
    output.flag(command, "--replace", "replace an existing bundle; existing entries always stay")
    output.flag(command, "--trust", "do not ask: you trust the maker of the bundle")
    leaving.add_secrets(command)


def taken_back(place: str, done: bundles.ImportResult | bundles.CopyResult) -> list[str]:
    """How an import or a copy is undone, if it can be."""
    how = f"“torchkeeper undo {shlex.quote(printable(place, 4096))}” takes it back."
    return [how] if done["receipt"] else []


def copy(args: argparse.Namespace) -> int:
    """torchkeeper copy; 1 if nothing was to be copied, or something was left that should not."""
    if not args.dry_run:
        protected.check(args.target)
    machines = {far.machine_of(args.source), far.machine_of(args.target)}
    if args.direct and len(machines - {""}) < 2:
        nothing, why = "Nothing was copied.", "--direct is for places on two other machines."
        raise output.misuse(nothing, why, "Leave it out.")
    answer, asker = copied(args)
    found = leaving.secrets_found(asker) if answer["leaks"] else None
    code = asker.end(args, COPY, {**answer, "leaks": found}, args.target, dry=args.dry_run)
    if not args.json:
        output.notes(taken_back(args.target, answer))
    return code or leaving.blocked_by_secrets(args, answer["leaks"])


def copied(args: argparse.Namespace) -> tuple[bundles.CopyResult, Asker]:
    """What came of a copy between any two places, and who heard of it. Raises UserError."""
    from_file, what = carrying.is_bundle(args.source), scheme_of(args.target).becomes(args.target)
    brings = from_file and what != "bundle" and not args.dry_run
    local = scheme_of(args.source).local
    signed = brings and not args.trust and local and signing.trusted(args.source)
    if brings and not signed and not args.trust:
        nothing, question = "Nothing was copied.", f"Copy to {printable(args.target)}"
        if what == "folder" and output.can_ask():
            with asking(args, far.machine_of(args.target)) as to:
                warn_of_owners(to, [args.target])
        if not trusts(nothing, TRUST, "the file", question):
            raise UserError(nothing, code="declined")
    if far.machine_of(args.source) != far.machine_of(args.target):
        return crossing.copied(args)
    names = from_file and what == "folder"
    here = partial(leaving.here_of, args, [args.source], far.machine_of(args.source))
    told = from_file or not scheme_of(args.source).holds_objects
    maker = leaving.maker_of(args, args.source) if what == "bundle" and not told else None
    with asking(args, far.machine_of(args.source)) as asker:
        asker.only_signed = signed
        env = leaving.tell_names(args, asker.engine, [args.source], here)[0] if names else None
        asked = crossing.asked(args, asker.engine, maker)
        return crossing.ask(args, asker, COPY, {**asked, "env": env}), asker
