"""``overview``: what the caches of this machine hold and cost, and what of it could go."""

from __future__ import annotations

import argparse
import functools
import shlex
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.artifacts.entry import Problem, measured
from torchkeeper.artifacts.jits.known import COMPILERS
from torchkeeper.cli import contract, hosts, looking, output, screen, vllm
from torchkeeper.cli.asking import Asker
from torchkeeper.cli.commands import DEFAULT_ENV
from torchkeeper.cli.several import answers
from torchkeeper.client.engines import far, interpreters
from torchkeeper.client.engines.asking import LOCKED
from torchkeeper.client.engines.probes import Everywhere, asks_verdicts, environment, everywhere
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.kept import protected
from torchkeeper.client.overviewing import Overview, Part, PlaceTold, Totals, fault
from torchkeeper.client.words import dead, say, verdicts
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.engine import protocol
from torchkeeper.stores import query
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.places import OverviewResult
    from torchkeeper.engine.messages.verdicts import KnowParams


#: The headings of its tables: of places, of kinds, and of what could go.
_SUMS = ("ENTRIES", "CONTENT", "COMPILE", "USABLE")
_PLACES = ("PLACE", *_SUMS, "OTHER FILES", "TRASH ON DISK", "FREE")
_KINDS = ("KIND", *_SUMS)
_GOES = ("REMOVABLE", "ENTRIES", "BESIDE", "FREES", output.COMMAND)
#: Those that make room on a terminal: what they say is said elsewhere, too.
_SPARE = ("COMPILE", "TRASH ON DISK", "BESIDE")


def add_overview(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("places", metavar="PLACE", nargs="*", type=looking.place_or_machine, help="cache folders, "
        "bundles or redis:// servers; ssh://HOST are all on another machine; by default all that "
        "“torchkeeper places” finds")  # fmt: skip
    hosts.add_group(command)
    add("--env", metavar="PYTHON", help="the interpreter with the torch to ask what is usable and "
        f"what is stale; {DEFAULT_ENV}, and for what is stale all known ones")  # fmt: skip
    add("--older", metavar="AGE", type=measure(query.seconds_in), help="entries not used for this "
        f"long count as unused; by default {dead.DAYS}d")  # fmt: skip
    add("--keep", metavar="SIZE", type=measure(query.bytes_in), help="the size that each place may "
        "keep: what was used longest ago counts as over it")  # fmt: skip
    every = dict.fromkeys(output.column_names([*_PLACES, *_KINDS, *_GOES]))
    output.add_table(command, list(every))
    output.flag(command, "--facts", "also what only the values of servers tell, which takes long: "
                "torch, what is usable, what you can remove")  # fmt: skip


def overview(args: argparse.Namespace) -> int:
    """torchkeeper overview; 4 where a place could not be looked at, 3 where none could. With --json
    a line for each group, which has a ``kind``, for each ``reason`` why something could go, with
    the ``command``, and for each place, with its ``problem``; then the ``result``.
    """
    machines = hosts.machines_of(args)

    def look(machine: str) -> _Heard:
        with Engine(machine or None) as engine:
            asker = Asker(engine, args.json or len(machines) > 1)
            places = machines[machine] or _found_places(asker)
            # Nobody waits for environments where nothing is to be judged.
            named = places or args.env
            envs = _envs(args.env, engine) if named else _Envs(None, Everywhere([], []))
            asked = {"older": _older(args), "keep": args.keep, "facts": args.facts}
            return _Heard(_look(asker, places, envs, **asked), envs, asker.unreadable)

    heard, envs, unreadable = _of_all(machines, look, args.json)
    told, how = list(heard.places.values()), How(_older(args), args.keep, args.env)
    if args.json:
        _emit(heard, told, how)
    elif not told or not all(one.failed for one in told):
        _print(heard, told, how)
        _notes(heard, told, envs)
    return _end(args, told, _result(heard, envs), _said(heard, told), unreadable)


def suggest(args: argparse.Namespace) -> int:
    """torchkeeper purge --suggest: how much of places is dead, and why; nothing is removed."""
    machines = hosts.machines_of(args)
    flags = {name: getattr(args, name) for name in ("stale", "broken", "orphans")}
    named = {**flags, "older": args.older} if any(flags.values()) else {"older": _older(args)}

    def look(machine: str) -> _Heard:
        with Engine(machine or None) as engine:
            found = everywhere(args.env, machine, engine)
            refusal = found.refusal()
            if refusal is not None and asks_verdicts(args.filter or ""):
                raise refusal
            asker = Asker(engine, args.json or len(machines) > 1)
            kept, places = protected.protected(), machines[machine] or _found_places(asker)
            held = [place for place in places if protected.covering(place, kept, below=True)]
            output.notes(f"left out: {printable(place)} is read-only." for place in held)
            envs = _Envs(None, found)
            told = _look(
                asker, [place for place in places if place not in held], envs,
                **named, keep=args.keep, facts=True, filter=args.filter or "",
            )  # fmt: skip
            told.leave_trash()
            return _Heard(told, envs, asker.unreadable)

    heard, envs, unreadable = _of_all(machines, look, args.json)
    told, how = list(heard.places.values()), How(_older(args), args.keep)
    if args.json:
        _emit_reclaim(heard, told, how)
    else:
        _print_reclaim(heard, told, how)
        _notes(heard, told, envs)
    total = heard.reclaimable().told
    unasked = fault(envs.found.refusal())
    result = {**total, "environments": _named(envs.found), "unasked": unasked}
    said = "" if total["bytes"] else "No entry is dead."
    return _end(args, told, result, said, unreadable)


def _older(args: argparse.Namespace) -> float:
    return float(dead.DAYS * dead.DAY if args.older is None else args.older)


def _found_places(asker: Asker) -> list[str]:
    """All places that ``torchkeeper places`` finds, and that are there."""
    asker.ask(protocol.PLACES)
    machine = asker.engine.machine
    rows = far.placed(machine, asker.rows)
    # A server is asked by an engine of here, whoever reaches it.
    mine = (row for row in rows if scheme_of(row["path"]).machine(row["path"]) == machine)
    return [row["path"] for row in mine if row["exists"]]


def _look(asker: Asker, places: list[str], envs: _Envs, **asked: object) -> Overview:
    """What an engine says of places, in their order."""
    heard = Overview()
    asker.on_rows, asker.on_finding = heard.add, functools.partial(_follow, asker)
    know_all(asker.engine, envs.found)
    if envs.own and envs.own["python"] not in dict(envs.found.envs):
        asker.engine.call(protocol.KNOW, envs.own)
    ask = functools.partial(
        asker.ask, protocol.OVERVIEW, envs=[envs.own["python"]] if envs.own else [],
        everywhere=[] if envs.found.refusal() else [python for python, _ in envs.found.envs],
        **asked,
    )  # fmt: skip
    waiting = list(places)
    while waiting:
        answer: OverviewResult = ask(places=waiting)
        for place in answer["places"]:
            heard.told(place)
        locked = [p for p in heard.places.values() if p.problem and p.problem.code in LOCKED]
        waiting = [one.place for one in locked if asker.unlock(one.place)]
    heard.places = {place: heard.places[place] for place in places if place in heard.places}
    return heard


def _end(
    args: argparse.Namespace, told: list[PlaceTold], result: Mapping[str, object], said: str,
    unreadable: bool,
) -> int:  # fmt: skip
    """Say what is wrong with places, and the result; returns the exit code."""
    failed = [one for one in told if one.failed]
    none = bool(told) and len(failed) == len(told)
    for one in failed:
        if one.problem:
            output.complain(one.problem)
    if args.json or not none:
        output.result(args, result, said)
    if failed:
        return contract.UNREACHABLE if none else contract.PARTLY
    return contract.partly(True, unreadable)


def measure(parse: Callable[[str], float]) -> Callable[[str], float]:
    """The type of an argument that is a number with a unit."""

    def measured(text: str) -> float:
        try:
            return parse(text)
        except Problem as problem:
            error = user_error(problem.code, problem.params)
            raise argparse.ArgumentTypeError(f"{error.what} {error.why} {error.remedy}") from None

    return measured


def know_all(engine: Engine, found: Everywhere) -> None:
    for python, facts in found.envs:
        engine.call(protocol.KNOW, {"python": python, "env": facts})


class How:
    """What each reason is called, and the command that removes what there is for it."""

    def __init__(self, older: float, keep: int | None, env: str | None = None) -> None:
        there, room, days = ["--env", env] if env else [], _short(keep), older / dead.DAY
        old = f"{days:g}d" if days >= 1 else f"{older:g}s"
        self.flags = {
            "stale": ["--stale", *there], "broken": ["--broken", *there], "orphan": ["--orphans"],
            "unused": ["--older", old], "budget": ["--keep", room],
        }  # fmt: skip
        self._names = {
            "unused": f"unused for {old}",
            "budget": f"over {room}",
            "trash": "in the trash",
            "stale": "stale there" if env else "",
        }

    def name(self, reason: str) -> str:
        return self._names.get(reason) or dead.reason(reason)

    def command(self, reason: str, place: str) -> str:
        words = ["purge", place, *self.flags.get(reason, ())]
        if reason == "needless":
            return ""  # it goes along
        if reason == "trash":
            words = ["trash", place, "--empty"]
        return shlex.join(["torchkeeper", *words])


def _short(size: int | None) -> str:
    if not size:
        return "0"
    units = (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3))
    return next((f"{size // n}{unit}" for unit, n in units if size % n == 0), str(size))


class _Envs(NamedTuple):
    """own: where it is said what is usable; why: why there is none; found: where stale is stale."""

    own: KnowParams | None
    found: Everywhere
    why: UserError | None = None


class _Heard(NamedTuple):
    """What a machine has told, and of which environments."""

    told: Overview
    envs: _Envs
    unreadable: bool


def _of_all(machines: Iterable[str], look: Callable[[str], _Heard], quiet: bool) -> _Heard:
    """The looks at several machines as one. Raises UserError where all of them failed."""
    of, failed = answers(list(machines), look, quiet)
    every, heard = list(of.values()), Overview()
    for one in every:
        heard.join(one.told)
    heard.places |= {name: PlaceTold(name, problem=error) for name, error in failed.items()}
    found = [one.envs.found for one in every]
    both = Everywhere(
        [x for one in found for x in one.envs], [x for one in found for x in one.failed]
    )
    envs = every[0].envs if len(every) == 1 else _Envs(None, both)
    return _Heard(heard, envs, any(one.unreadable for one in every))


def _envs(python: str | None, engine: Engine) -> _Envs:
    """The environments that count. Raises UserError for one that was named and has no torch."""
    found = everywhere([python] if python else [], engine.machine, engine)
    try:
        chosen = interpreters.chosen(python, engine.machine)
        env = dict(found.envs).get(chosen) or environment(chosen, engine)
        return _Envs({"python": chosen, "env": env}, found)
    except UserError as error:
        if python is not None:
            raise
        return _Envs(None, found, error)


def _follow(asker: Asker, finding: Finding) -> None:
    """Say on a terminal at which place the engine is."""
    if "looking" in finding:
        at = finding["looking"]
        place = printable(at["place"], 60)
        asker.aside = lambda: f"{place} ({at['number']} of {at['of']})"


def _emit(heard: Overview, told: list[PlaceTold], how: How) -> None:
    for (place, kind, torch, changed, verdict), one in heard.groups_of.items():
        compiler = kind if kind in COMPILERS else None
        output.emit({
            "place": place, "kind": "jit" if compiler else kind, "compiler": compiler,
            "torch": torch or None, "age": changed or None, "verdict": verdict or None,
            **one.counts,
            **measured(one.bytes + one.apart_bytes, on_disk=False),
            "compile_s": one.compile_s, "timed": one.timed,
        })  # fmt: skip
    _emit_reclaim(heard, told, how)
    for at in told:
        output.emit({
            "place": at.place, **at.counts, **measured(at.bytes, on_disk=False),
            "apart_bytes": at.apart_bytes, "trash_bytes": at.trash_bytes,
            "free_bytes": at.free_bytes,
            "total_bytes": at.total_bytes, "left_out": at.left_out, "problem": fault(at.problem),
        })  # fmt: skip


def _emit_reclaim(heard: Overview, told: list[PlaceTold], how: How) -> None:
    for at in told:
        for reason, could in heard.reclaim(at.place).items():
            output.emit({
                "place": at.place, "reason": reason, **could.told, "why": fault(could.why),
                "command": how.command(reason, at.place),
            })  # fmt: skip


def _result(heard: Overview, envs: _Envs) -> Mapping[str, object]:
    totals, could = heard.totals, heard.reclaimable()
    env = None
    if envs.own:
        env = {"interpreter": envs.own["python"], "torch": envs.own["env"].get("torch")}
    return {
        **{name: getattr(totals, name) for name in Totals.__dataclass_fields__},
        "content_bytes": totals.bytes,
        "reclaimable": could.told,
        "environment": env,
        "environments": _named(envs.found),
    }


def _named(found: Everywhere) -> list[dict[str, object]]:
    return [{"interpreter": python, "torch": facts.get("torch")} for python, facts in found.envs]


def _print(heard: Overview, told: list[PlaceTold], how: How) -> None:
    parts = {part.value: part.totals for part in heard.groups("place")}
    rows = []
    for place in told:
        if place.problem is not None:
            said = "counted above" if place.left_out else "cannot be looked at"
            rows.append([place.place, *"------", said])
            continue
        trash, free = say.size(place.trash_bytes) if place.trash_bytes else "-", "-"
        if place.free_bytes is not None and place.total_bytes is not None:
            free = f"{say.size(place.free_bytes)} of {say.size(place.total_bytes)}"
        one = parts.get(place.place, Totals())
        rows.append([place.place, *_cells(one), _beside(one), trash, free])
    if len(rows) > 1:
        size = sum(place.trash_bytes for place in told)
        trash, beside = say.size(size) if size else "-", _beside(heard.totals)
        rows.append(["total", *_cells(heard.totals), beside, trash, ""])
    if rows:
        _table(_PLACES, rows, frozenset({1, 2, 3, 4, 5, 6, 7}))
    kinds = heard.groups("kind")
    if kinds:
        _gap()
        every = [*kinds, Part("total", heard.totals)]
        cells = [[part.value, *_cells(part.totals)] for part in every]
        _table(_KINDS, cells, frozenset({1, 2, 3, 4}))
    if apart := say.apart(heard.totals.counts):
        output.closing(f"and {apart}, {say.content(heard.totals.apart_bytes)}")
    _print_reclaim(heard, told, how)


def _gap() -> None:
    """What is between two tables, where several are read."""
    if screen.now.header and not screen.now.columns:
        output.line()


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[int]) -> None:
    """One of the tables, where it has all the columns that were asked for."""
    if set(screen.now.columns) <= set(output.column_names(head)):
        output.Table(head, right, _SPARE).print(rows)


def _cells(one: Totals) -> list[str]:
    usable = f"{one.usable:,} of {one.judged:,}" if one.judged else "-"
    compiled = say.seconds(one.compile_s) if one.timed else "-"
    return [f"{one.entries:,}", say.size(one.bytes), compiled, usable]


def _beside(one: Totals) -> str:
    """The content of what is no entry: locks, headers, and files that nobody knows."""
    return say.size(one.apart_bytes) if one.apart_bytes else "-"


def _print_reclaim(heard: Overview, told: list[PlaceTold], how: How) -> None:
    rows = [
        [how.name(reason), f"{one.counts['entries']:,}", say.apart(one.counts) or "-",
         say.measured(one.told), how.command(reason, at.place)]
        for reason in heard.reclaim()
        for at in told
        if (one := heard.reclaim(at.place).get(reason)) is not None and one.some
    ]  # fmt: skip
    if rows:
        _gap()
        _table(_GOES, rows, frozenset({1, 3}))
        output.closing(f"Together {say.held_of(heard.reclaimable().told)}.")


def _notes(heard: Overview, told: list[PlaceTold], envs: _Envs) -> None:
    left_out = [place.problem for place in told if place.left_out and place.problem]
    output.notes(f"left out: {one.what} {one.why}" for one in left_out)
    if envs.why:
        output.note(f"usable: {envs.why.what} {envs.why.why}")
    elif envs.own and heard.totals.judged:
        own = Everywhere([(envs.own["python"], envs.own["env"])], [])
        said = f"usable: in {dead.environments(own)}"
        if some := heard.total({"verdict": "conditional"}).entries:
            said += f"; {some:,} of them on conditions, which “torchkeeper check” lists"
        output.note(said)
    unjudged = [one.place for one in told if heard.total({"place": one.place, "verdict": "unknown"})
                .entries]  # fmt: skip
    output.notes(filter(None, [vllm.hint(unjudged)]))
    if heard.totals.unsafe:
        output.note(f"unsafe: {verdicts.unsafe()} “ls PLACE --filter is:unsafe” lists them.")
    if heard.reclaim() and envs.found.refusal():
        output.note(" ".join(["stale:", *str(envs.found.refusal()).splitlines()]))
    elif heard.reclaim():
        output.note(f"stale: in {dead.environments(envs.found)}")
    unknown = (one.why for at in told for one in heard.reclaim(at.place).values() if one.why)
    output.notes(dict.fromkeys(f"unused: {why.what} {why.why}" for why in unknown))
    rests = dict.fromkeys(place.rests for place in told if heard.reclaim(place.place))
    output.notes(filter(None, map(dead.rests, rests)))
    server = next((x.place for x in told if scheme_of(x.place).lazy and not x.problem), None)
    if server is not None and not heard.reclaim(server):
        output.note("Servers: only the facts in their keys; --facts reads the values.")


def _said(heard: Overview, told: list[PlaceTold]) -> str:
    totals, could = heard.totals, heard.reclaimable()
    places = sum(place.problem is None for place in told)
    said = f"{say.count(totals.entries, 'entry', 'entries')}, {say.content(totals.bytes)} in "
    said += say.count(places, "place", "places")
    if totals.timed:
        said += f"; {say.seconds(totals.compile_s)} of compiling, as {totals.timed:,} of them tell"
    if totals.judged:
        share, sizes = (f"{100 * (one or 0):.0f}%" for one in (totals.share, totals.share_bytes))
        said += f"; {share} of the {totals.judged:,} checked are usable ({sizes} of their content)"
    if totals.unsafe:
        said += f"; {verdicts.counted_as('unsafe', totals.unsafe)}"
    if could.bytes:
        said += f"; {say.measured(could.told)} removable"
    return said + "."
