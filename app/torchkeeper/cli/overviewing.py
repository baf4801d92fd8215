"""``overview``: what the caches of this machine hold and cost, and what of it could go."""

from __future__ import annotations

import argparse
import contextlib
import functools
import shlex
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.artifacts.entry import measured
from torchkeeper.cli import looking, output
from torchkeeper.cli.asking import LOCKED, Asker
from torchkeeper.cli.dead import age, know_all, short
from torchkeeper.cli.dead import measure as read_as
from torchkeeper.client.engines import interpreters
from torchkeeper.client.engines.everywhere import Everywhere, everywhere
from torchkeeper.client.engines.interpreters import VARIABLE
from torchkeeper.client.engines.knowing import environment
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.overviewing import Overview, Part, PlaceTold, Totals
from torchkeeper.client.words import dead, say, verdicts
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.engine import protocol
from torchkeeper.stores import query
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchkeeper.artifacts.shapes import Fault
    from torchkeeper.engine.messages.environments import KnowParams
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.places import OverviewResult, PlacesRow

_FAILED, _UNREACHABLE = 1, 3


def add_overview(command: argparse.ArgumentParser) -> None:
    """Arguments of overview."""
    command.add_argument("places", metavar="PLACE", nargs="*", type=looking.place,
                         help="cache folders, bundles or redis:// servers; by default all that "
                         "“torchkeeper places” finds")  # fmt: skip
    command.add_argument("--env", metavar="PYTHON", help="the interpreter whose torch is asked "
                         f"what is usable, and what is stale; by default {VARIABLE}, else the "
                         "app's own, and for what is stale all that are known")  # fmt: skip
    command.add_argument("--older", metavar="AGE", type=read_as(query.seconds_in),
                         help="what was not used for so long counts as unused, by default "
                         f"{dead.DAYS}d")  # fmt: skip
    command.add_argument("--keep", metavar="SIZE", type=read_as(query.bytes_in),
                         help="how much each place may keep: what was used longest ago could "
                         "go")  # fmt: skip
    command.add_argument("--facts", action="store_true",
                         help="also what the keys of servers do not tell, which takes long: "
                         "torch, what is usable, what could go")  # fmt: skip
    looking.add_json(command)


def overview(args: argparse.Namespace) -> int:
    """torchkeeper overview; 1 where a place could not be looked at, 3 where none could.

    With --json a line for each group, which has a ``kind``, for each ``reason`` why something could
    go, with the ``command``, and for each place, with its ``problem``; then the ``result``.
    """
    older = dead.DAYS * dead.DAY if args.older is None else args.older
    heard = Overview()
    with Engine() as engine:
        asker = Asker(engine, args.json, heard.add)
        asker.on_finding = functools.partial(_follow, asker)
        places = args.places or _found(Asker(engine, args.json))
        # Nobody waits for environments where nothing is to be judged.
        envs = _envs(args.env) if places or args.env else _Envs(None, Everywhere([], []))
        know_all(engine, envs.found)
        if envs.own:
            engine.call(protocol.KNOW, envs.own)
        ask = functools.partial(
            asker.ask, "overview", envs=[envs.own["python"]] if envs.own else [],
            everywhere=[] if envs.refusal else [python for python, _ in envs.found.envs],
            older=older, keep=args.keep, facts=args.facts,
        )  # fmt: skip
        waiting = list(places)
        while waiting:
            answer: OverviewResult = ask(places=waiting)
            for place in answer["places"]:
                heard.told(place)
            waiting = [
                p.place for p in heard.places.values() if _locked(p) and asker.unlock(p.place)
            ]
    told = [heard.places[place] for place in dict.fromkeys(places) if place in heard.places]
    how = _How(args, older)
    failed = [one for one in told if one.failed]
    none = bool(told) and len(failed) == len(told)
    if args.json:
        _emit(heard, told, how)
    elif not none:
        _print(heard, told, how)
        _notes(heard, told, envs)
    for one in failed:
        if one.problem:
            output.complain(one.problem)
    if args.json or not none:
        output.result(args, _result(heard, envs), _said(heard, told))
    if failed:
        return _UNREACHABLE if none else _FAILED
    return int(asker.unreadable)


class _Envs(NamedTuple):
    """own: the environment in which is said what is usable, as ``know`` takes it; why: why there
    is none. found: those in which stale is stale.
    """

    own: KnowParams | None
    found: Everywhere
    why: UserError | None = None

    @property
    def refusal(self) -> UserError | None:
        """Why nothing can be called stale, if so."""
        return self.found.refusal()


def _envs(python: str | None) -> _Envs:
    """The environments that count. Raises UserError for one that was named and has no torch."""
    found = everywhere([python] if python else [])
    try:
        chosen = interpreters.chosen(python)
        return _Envs({"python": chosen, "env": environment(chosen)}, found)
    except UserError as error:
        if python is not None:
            raise
        return _Envs(None, found, error)


def _found(asker: Asker) -> list[str]:
    asker.ask(protocol.PLACES)
    rows: list[PlacesRow] = asker.rows
    return [row["path"] for row in rows if row["exists"]]


def _locked(place: PlaceTold) -> bool:
    return place.problem is not None and place.problem.code in LOCKED


def _follow(asker: Asker, finding: Finding) -> None:
    """Say on a terminal at which place the engine is."""
    if "looking" in finding:
        at = finding["looking"]
        place = printable(at["place"], 60)
        asker.aside = lambda: f"{place} ({at['number']} of {at['of']})"


class _How:
    """What each reason is called, and the command that removes what there is for it."""

    def __init__(self, args: argparse.Namespace, older: float) -> None:
        self._flags = {
            "stale": ["--stale", *(["--env", args.env] if args.env else [])],
            "broken": ["--broken", *(["--env", args.env] if args.env else [])],
            "orphan": ["--orphans"],
            "unused": ["--older", age(older)],
            "budget": ["--keep", short(args.keep)],
        }
        self._names = {
            "unused": f"unused for {age(older)}", "budget": f"over {short(args.keep)}",
            "trash": "in the trash", "stale": "stale there" if args.env else "",
        }  # fmt: skip

    def name(self, reason: str) -> str:
        """A reason as it stands in the table."""
        return self._names.get(reason) or dead.reason(reason)

    def command(self, reason: str, place: str) -> str:
        """What a shell takes."""
        words = ["purge", place, *self._flags.get(reason, ())]
        if reason == "trash":
            words = ["trash", place, "--empty"]
        return shlex.join(["torchkeeper", *words])


def _emit(heard: Overview, told: list[PlaceTold], how: _How) -> None:
    """Groups, what could go, and places, each in a line."""
    for (place, kind, torch, changed, verdict), one in heard.groups_of.items():
        output.emit({
            "place": place, "kind": kind, "torch": torch or None, "age": changed or None,
            "verdict": verdict or None, **one.counts,
            **measured(one.bytes + one.apart_bytes, on_disk=False),
            "compile_s": one.compile_s, "timed": one.timed,
        })  # fmt: skip
    for at in told:
        for reason, could in heard.reclaim(at.place).items():
            output.emit({
                "place": at.place, "reason": reason, **could.told, "why": _json(could.why),
                "command": how.command(reason, at.place),
            })  # fmt: skip
    for at in told:
        output.emit({
            "place": at.place, **at.counts, **measured(at.bytes, on_disk=False),
            "apart_bytes": at.apart_bytes, "trash_bytes": at.trash_bytes,
            "free_bytes": at.free_bytes,
            "total_bytes": at.total_bytes, "left_out": at.left_out, "problem": _json(at.problem),
        })  # fmt: skip


def _json(error: UserError | None) -> Fault | None:
    return None if error is None else {"code": error.code, "params": error.params}


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
        "environments": [
            {"interpreter": python, "torch": facts.get("torch")}
            for python, facts in envs.found.envs
        ],
    }


def _print(heard: Overview, told: list[PlaceTold], how: _How) -> None:
    parts = {part.value: part.totals for part in heard.groups("place")}
    head = ["PLACE", "ENTRIES", "CONTENT", "COMPILE", "USABLE", "TRASH ON DISK", "FREE"]
    rows = []
    for place in told:
        if place.problem is not None:
            said = "counted above" if place.left_out else "cannot be looked at"
            rows.append([place.place, *"-----", said])
            continue
        trash = say.size(place.trash_bytes) if place.trash_bytes else "-"
        rows.append([place.place, *_cells(parts.get(place.place, Totals())), trash, _free(place)])
    if len(rows) > 1:
        size = sum(place.trash_bytes for place in told)
        rows.append(["total", *_cells(heard.totals), say.size(size) if size else "-", ""])
    if rows:
        output.table(head, rows, frozenset({1, 2, 3, 4, 5, 6}))
    kinds = heard.groups("kind")
    if kinds:
        output.line()
        every = [*kinds, Part("total", heard.totals)]
        cells = [[part.value, *_cells(part.totals)] for part in every]
        output.table(["KIND", *head[1:5]], cells, frozenset({1, 2, 3, 4}))
    if apart := say.apart(heard.totals.counts):
        output.line(f"and {apart}, {say.content(heard.totals.apart_bytes)}")
    _print_reclaim(heard, told, how)


def _cells(one: Totals) -> list[str]:
    usable = f"{one.usable:,} of {one.judged:,}" if one.judged else "-"
    compiled = say.seconds(one.compile_s) if one.timed else "-"
    return [f"{one.entries:,}", say.size(one.bytes), compiled, usable]


def _free(place: PlaceTold) -> str:
    if place.free_bytes is None or place.total_bytes is None:
        return "-"
    return f"{say.size(place.free_bytes)} of {say.size(place.total_bytes)}"


def _print_reclaim(heard: Overview, told: list[PlaceTold], how: _How) -> None:
    """For each reason and place what could go, and by what command."""
    rows = [
        [how.name(reason), f"{one.counts['entries']:,}", say.apart(one.counts) or "-",
         say.measured(one.told), how.command(reason, at.place)]
        for reason in heard.reclaim()
        for at in told
        if (one := heard.reclaim(at.place).get(reason)) is not None and one.some
    ]  # fmt: skip
    if rows:
        output.line()
        output.table(["COULD GO", "ENTRIES", "BESIDE", "FREES", "BY"], rows, frozenset({1, 3}))
        parts = [one.told for at in told for one in heard.reclaim(at.place).values()]
        could = heard.reclaimable().told
        output.line(dead.together(parts, could) or f"Together {say.held_of(could)}.")


def _notes(heard: Overview, told: list[PlaceTold], envs: _Envs) -> None:
    """What the figures rest on, and what is not in them."""
    for place in told:
        if place.left_out and place.problem:
            output.note(f"left out: {place.problem.what} {place.problem.why}")
    if envs.why:
        output.note(f"usable: {envs.why.what} {envs.why.why}")
    elif envs.own and heard.totals.judged:
        own = Everywhere([(envs.own["python"], envs.own["env"])], [])
        said = f"usable: in {dead.environments(own)}"
        if some := heard.total({"verdict": "conditional"}).entries:
            said += f"; {some:,} of them on conditions, which “torchkeeper check” tells"
        output.note(said)
    if heard.totals.unsafe:
        output.note(f"unsafe: {verdicts.unsafe()} “ls PLACE --filter is:unsafe” lists such.")
    if heard.reclaim() and envs.refusal:
        output.note(" ".join(["stale:", *str(envs.refusal).splitlines()]))
    elif heard.reclaim():
        output.note(f"stale: in {dead.environments(envs.found)}")
    unknown = (one.why for at in told for one in heard.reclaim(at.place).values() if one.why)
    for text in dict.fromkeys(f"unused: {why.what} {why.why}" for why in unknown):
        output.note(text)
    for rests in dict.fromkeys(place.rests for place in told if heard.reclaim(place.place)):
        if text := dead.rests(rests):
            output.note(text)
    with contextlib.suppress(StopIteration):
        server = next(x for x in told if scheme_of(x.place).lazy and not x.problem)
        if not heard.reclaim(server.place):
            output.note("Of servers only what their keys tell; --facts looks into the values.")


def _said(heard: Overview, told: list[PlaceTold]) -> str:
    """The figures in a sentence or two."""
    totals, could = heard.totals, heard.reclaimable()
    places = sum(place.problem is None for place in told)
    said = f"{say.count(totals.entries, 'entry', 'entries')}, {say.content(totals.bytes)} in "
    said += say.count(places, "place", "places")
    if totals.timed:
        said += f"; {say.seconds(totals.compile_s)} of compiling, as {totals.timed:,} of them tell"
    if totals.judged:
        share, sizes = (f"{100 * (one or 0):.0f}%" for one in (totals.share, totals.share_bytes))
        said += f"; {share} of the {totals.judged:,} judged usable ({sizes} of their content)"
    if totals.unsafe:
        said += f"; {verdicts.counted_as('unsafe', totals.unsafe)}"
    if could.bytes:
        said += f"; {say.measured(could.told)} could go"
    return said + "."
