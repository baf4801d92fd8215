"""The operations of a fleet: who is there (``nodes``), and to warm a matrix (``fleet``).

The nodes are probed, the variants become cells, and what the place has already is done. What is
left goes to nodes in units (``working``): each begins with what the place has that fits that node,
and what it compiles comes back as a bundle, which is noted (``state``) and merged (``gathering``).
Then each cell is proven on a node that did not compile it, with what was gathered and nothing else.
"""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.client import carrying, temporary
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.recipes import sending
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.engine.session import Session
from torchkeeper.fleet import cells as matrix
from torchkeeper.fleet.cells import Cell, Place
from torchkeeper.fleet.gathering import Gathering, failed
from torchkeeper.fleet.state import Done, State, folder_of
from torchkeeper.fleet.working import Work
from torchkeeper.placing.target import Node, Target, Unit
from torchkeeper.placing.targets import target
from torchkeeper.stores.names import SUFFIX
from torchkeeper.warm.recipes.recipe import BUILTIN

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Fault
    from torchkeeper.engine.messages import fleet as msg
    from torchkeeper.engine.messages.compiling import VariantsRow
    from torchkeeper.engine.protocol import Message
    from torchkeeper.warm.shapes import SentRecipe

#: Seconds between two looks whether it is to end; lines that are kept of what a cell says.
_TURN, _LINES = 0.2, 40
#: What a request says of all that is compiled.
_COMPILING = frozenset({"device", "threads", "portable", "limit_s", "only"})


def nodes(_: Session, params: msg.NodesParams, report: Report) -> msg.NodesResult:
    """The nodes of targets, each a finding. Raises UserError where a target cannot be asked."""
    with _as_problems(), _targets(params) as (_some, places, unusable):
        _tell_nodes(places, unusable, report)
        return {"nodes": len(places) + len(unusable), "ready": len(places)}


def fleet(session: Session, params: msg.FleetParams, report: Report) -> msg.FleetResult:
    """Warm a matrix. Raises Problem and UserError for what holds for all of it."""
    with contextlib.ExitStack() as ends:
        ends.enter_context(_as_problems())
        _some, places, unusable = ends.enter_context(_targets(params))
        _tell_nodes(places, unusable, report)
        state = State(params.get("state") or folder_of(params["into"]))
        if params.get("dry"):
            state.read()
        else:
            ends.enter_context(state.held())
        gathering = Gathering(params["into"], params.get("secrets"), session.secrets)
        ends.callback(gathering.close)
        scratch = ends.enter_context(temporary.folder("fleet"))
        one = Fleet(params, places, state, gathering, scratch, report)
        return one.look() if params.get("dry") else one.warm()


@contextlib.contextmanager
def _as_problems() -> Iterator[None]:
    """What an operation raises goes over the wire, and is put into words there once more."""
    try:
        yield
    except UserError as e:
        if e.code in CATALOGUE:
            raise Problem(e.code, **cast("dict[str, Any]", e.params)) from e
        raise Problem("fleet-told", what=e.what, why=e.why, remedy=e.remedy) from e


@contextlib.contextmanager
def _targets(
    params: msg.NodesParams,
) -> Iterator[tuple[list[Target], list[Place], list[tuple[Target, Node]]]]:
    """The targets, their nodes that are ready, and those that are not."""
    with contextlib.ExitStack() as ends:
        some: list[Target] = []
        for name in dict.fromkeys(params.get("on") or ["local"]):
            some.append(target(name, params.get("python"), params.get("slots")))
            ends.callback(some[-1].close)
        with ThreadPoolExecutor(len(some)) as pool:
            found = list(pool.map(lambda one: one.nodes(), some))
        every = [(of, node) for of, several in zip(some, found, strict=True) for node in several]
        places = [Place(of, node, matrix.kind_of(node.facts)) for of, node in every if node.facts]
        yield some, places, [(of, node) for of, node in every if not node.facts]


def _tell_nodes(
    places: Sequence[Place], unusable: Sequence[tuple[Target, Node]], report: Report
) -> None:
    for place in places:
        report.finding(node=_node(place, "ready"))
    for of, node in unusable:
        report.finding(node=_node(Place(of, node, ""), "unusable", _fault(node.why)))


def _node(place: Place, state: str, why: Fault | None = None) -> msg.NodeFinding:
    facts = place.node.facts or {}
    return {
        "target": place.target.name, "name": place.name, "state": state, "kind": place.kind,
        "torch": facts.get("torch") or "", "slots": place.node.slots,
        "devices": [one["name"] for one in facts.get("devices") or ()],
        "labels": dict(place.node.labels), "why": why,
    }  # fmt: skip


def _fault(error: UserError | None) -> Fault | None:
    return {"code": error.code, "params": dict(error.params)} if error else None


class Fleet:
    """One run of a fleet."""

    def __init__(
        self, params: msg.FleetParams, places: Sequence[Place], state: State, gathering: Gathering,
        scratch: str, report: Report,
    ) -> None:  # fmt: skip
        self._params, self._places, self._state = params, places, state
        self._gathering, self._scratch, self._report = gathering, scratch, report
        self._asked: Sequence[str | SentRecipe] = params.get("recipes") or [BUILTIN]
        self._stop = threading.Event()
        self._told: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._rows: dict[str, msg.CellFinding] = {}
        self._seeds = dict[str, list[str]]()
        self._logs: dict[str, deque[str]] = {}
        self._entries = self._bytes = self._compiled = self._there = 0
        self._cut = False
        #: What recipes need, as a zip, and what a request says of them then.
        self._zip = os.path.join(scratch, "recipes.zip")
        self._sent = sending.pack(self._asked, self._zip)
        self._cells = self._matrix()

    def _matrix(self) -> list[Cell]:
        about = {name: one for name, one in self._params.items() if name in _COMPILING}
        rows: list[VariantsRow] = []
        with Engine() as engine:
            asked = {**about, "recipes": self._asked}
            engine.call(protocol.VARIANTS, asked, lambda message: rows.extend(message.rows))
        if (only := self._params.get("only")) is not None:
            rows = [row for row in rows if row["index"] in set(only)]
        folders = {one["folder"] for one in self._asked if not isinstance(one, str)}
        files = {folder: sending.digest(self._asked, folder) for folder in folders}
        self._about = about
        digests = matrix.digests_of(rows, self._asked, files)
        return matrix.cells_of(rows, digests, self._places)

    # What there is to do.

    def look(self) -> msg.FleetResult:
        """Only what would be done."""
        self._begin()
        return self._result(time.monotonic())

    def warm(self) -> msg.FleetResult:
        """All of it. Cancelled, it keeps what was done, and its result says so."""
        begun = time.monotonic()
        todo = self._begin()
        self._gather_rest()
        self._run(todo, self._fill, self._failed)
        self._finish()
        if self._params.get("prove") and not self._cut:
            self._seeds.clear()
            wanted = ("warm", "partly") if self._params.get("again") else ("warm",)
            unproven = [one for one in self._cells if self._rows[one.ident]["state"] in wanted]
            elsewhere = _Elsewhere(self._state, self._places)
            self._run(unproven, self._prove, self._unproven, elsewhere.prefers)
        return self._result(begun)

    def _begin(self) -> list[Cell]:
        """What is left to do; tells of every cell."""
        held = self._gathering.held() | frozenset(
            one for unit in self._state.pending for one in self._state.new.get(unit, ())
        )
        todo: list[Cell] = []
        for cell in self._cells:
            row = self._rows[cell.ident] = self._row(cell)
            known = self._state.done.get(cell.ident)
            if cell.problem:
                row["state"], row["problem"] = "impossible", cell.problem
            elif known and self._is_there(known, held):
                self._there += 1
                row["there"] = True
                self._as(row, known)
            else:
                todo.append(cell)
        rows = list(self._rows.values())
        for start in range(0, len(rows), 200):
            self._report.finding(cells=rows[start : start + 200])
        return todo

    def _is_there(self, known: Done, held: frozenset[tuple[str, str]]) -> bool:
        """Whether the entries of a cell that was done are still in the place."""
        wanted = {("fxgraph", key) for key in known.keys} | self._state.new.get(known.unit, set())
        return all(one in held for one in wanted if self._gathering.takes(one[0]))

    def _row(self, cell: Cell) -> msg.CellFinding:
        row = cell.row
        return {
            "cell": cell.ident, "state": "waiting", "index": row["index"], "recipe": row["recipe"],
            "name": row["name"], "source": row["source"], "kind": cell.kind,
        }  # fmt: skip

    def _as(self, row: msg.CellFinding, done: Done) -> None:
        """What is known of a cell that was compiled, and maybe proven."""
        row["node"], row["seconds"], row["graphs"] = done.node, done.seconds, done.graphs
        row["state"] = done.proof or "warm"
        if done.proof:
            row["proved_on"], row["found"] = done.proved_on, done.found
            row["hits"], row["misses"], row["rebuilt"] = done.hits, done.misses, done.rebuilt

    # Threads do it, and this one tells of it.

    def _run(self, cells: list[Cell], do: Any, fail: Any, prefers: Any = None) -> None:
        if not cells or self._cut:
            return
        more = {"prefers": prefers} if prefers else {}
        work = Work(cells, self._places, do, self._lost, fail, self._stop, **more)
        raised: list[BaseException] = []

        def run() -> None:
            try:
                work.work()
            except BaseException as e:  # noqa: BLE001
                raised.append(e)

        thread = threading.Thread(target=run, name="fleet")
        thread.start()
        while thread.is_alive() or not self._told.empty():
            with contextlib.suppress(queue.Empty):
                self._report.finding(**self._told.get(timeout=_TURN))
            try:
                if not self._cut:
                    self._report.check()
                else:  # whoever waits hears that it is at its end
                    self._progress()
            except Cancelled:
                if self._report.alone:
                    self._stop.set()
                    thread.join()
                    raise
                self._cut = True
                self._stop.set()
        thread.join()
        # A unit that was not at work yet when it was to end has nothing to show for it.
        if raised and not (self._cut and getattr(raised[0], "code", "") == "cancelled"):
            raise raised[0]

    def _say(self, cell: str, **what: Any) -> None:
        with self._lock:
            row: dict[str, Any] = {**self._rows[cell], **what}
            self._rows[cell] = cast("msg.CellFinding", row)
            told = dict(row)
        self._told.put({"cell": told})
        self._progress()

    def _progress(self) -> None:
        with self._lock:
            done = sum(x["state"] not in ("waiting", "compiling") for x in self._rows.values())
        self._report.progress(done, len(self._rows), "cells")

    def _lost(self, place: Place, why: UserError, for_good: bool) -> None:
        self._told.put({"node": _node(place, "lost" if for_good else "waiting", _fault(why))})

    def _failed(self, cell: Cell, why: dict[str, str]) -> None:
        nodes = ", ".join(why)
        log = [line for name, text in why.items() for line in (f"{name}:", *text.splitlines())]
        problem: Fault = {"code": "fleet-failed", "params": {"nodes": nodes}}
        if not why:
            problem = {"code": "fleet-no-nodes", "params": {}}
        self._say(cell.ident, state="failed", problem=problem, log=log[-3 * _LINES :], node=nodes)

    def _unproven(self, cell: Cell, why: dict[str, str]) -> None:
        text = next(iter(why.values()), "")
        problem: Fault = {"code": "fleet-unproven", "params": {"nodes": ", ".join(why)}}
        self._say(cell.ident, state="partly", problem=problem, log=text.splitlines()[-_LINES:])

    def _unit(self, op: str, place: Place, cells: Sequence[Cell], output: str = "") -> Unit:
        params = {**self._about, "recipes": self._sent, "only": [x.row["index"] for x in cells]}
        files: dict[str, str | Sequence[str]] = {"seeds": self._seeds_of(place, cells[0].kind)}
        if os.path.isfile(self._zip) and any(not isinstance(one, str) for one in self._asked):
            files["sent"] = self._zip
        if output:
            params["builders"] = carrying.builders(place.node.facts)
        return Unit(op, params, files, output)

    def _seeds_of(self, place: Place, kind: str) -> list[str]:
        """Bundles of what the place has that cells for a kind of node can use."""
        facts = place.node.facts if kind else None
        with self._lock:
            if kind not in self._seeds:
                file = os.path.join(self._scratch, f"{secrets.token_hex(8)}{SUFFIX}")
                found: list[str] = []
                with _passing_over_nothing():
                    found = [file] if self._gathering.usable(facts, file) else []
                self._seeds[kind] = found
            return [*self._seeds[kind], *self._waiting_bundles()]

    def _waiting_bundles(self) -> list[str]:
        """Those that came and that are written at the end."""
        return list(self._state.pending.values()) if self._gathering.at_the_end else []

    # Compiling.

    def _fill(self, place: Place, cells: Sequence[Cell]) -> tuple[set[str], dict[str, str]]:
        unit = secrets.token_hex(8)
        heard = _Heard(self, place, cells)
        file = self._state.bundle(unit)
        for cell in cells:
            self._say(cell.ident, state="compiling", node=place.name)
        new: set[tuple[str, str]] = set()

        def hear(message: Message) -> None:
            new.update((str(row["kind"]), str(row["key"])) for row in message.rows)
            heard(message)

        try:
            request = self._unit(protocol.FILL, place, cells, file)
            result = place.target.run(place.node, request, hear, self._stop)
        except BaseException:
            for cell in cells:
                self._say(cell.ident, state="waiting")
            raise
        done = heard.done(unit)
        if result["new"]:
            size = os.path.getsize(file)
            self._told.put(
                {"gathered": {"node": place.name, "entries": result["new"], "bytes": size}}
            )
        with self._lock:
            if done or new:
                self._state.came(unit, done, frozenset(new), bool(result["new"]))
                if result["new"]:
                    self._entries += result["new"]
                    self._bytes += size
                    if not self._gathering.at_the_end:
                        self._gathering.take(file)
                        self._state.merged(unit)
            self._compiled += len(done)
        for ident, one in done.items():
            with self._lock:
                self._as(self._rows[ident], one)
            self._say(ident)
        for cell in cells:
            if cell.ident not in done and cell.ident not in heard.failed:
                self._say(cell.ident, state="waiting")
        return set(done), heard.failed

    def _gather_rest(self) -> None:
        """What came before this process was killed, and was not merged."""
        if self._gathering.at_the_end:
            return
        for unit, file in list(self._state.pending.items()):
            self._gathering.take(file)
            self._state.merged(unit)

    def _finish(self) -> None:
        """Write the bundle, where the place is one."""
        if self._gathering.at_the_end and (files := self._waiting_bundles()):
            self._gathering.write(files)
            for unit in list(self._state.pending):
                self._state.merged(unit)

    # Proving.

    def _prove(self, place: Place, cells: Sequence[Cell]) -> tuple[set[str], dict[str, str]]:
        heard = _Heard(self, place, cells)
        for cell in cells:
            self._say(cell.ident, state="proving", proved_on=place.name)
        try:
            request = self._unit(protocol.PROVE, place, cells)
            result = place.target.run(place.node, request, heard, self._stop)
        except BaseException:
            for cell in cells:
                self._say(cell.ident, state="warm")
            raise
        by_index = {cell.row["index"]: cell for cell in cells}
        done, failures = set[str](), dict[str, str]()
        for row in result["variants"]:
            cell = by_index[row["index"]]
            if row["problem"]:
                failures[cell.ident] = heard.said(cell.ident)
                continue
            known = self._state.done[cell.ident]
            known.proved_on, known.found = place.name, float(row["seconds"].get("warm", 0.0))
            known.hits, known.misses = row["hits"], row["misses"]
            known.rebuilt = row["rebuilt"]
            known.proof = "proven" if row["good"] else "partly"
            with self._lock:
                self._state.proved(cell.ident, known)
                self._as(self._rows[cell.ident], known)
            self._say(cell.ident)
            done.add(cell.ident)
        return done, failures

    def _result(self, begun: float) -> msg.FleetResult:
        rows = list(self._rows.values())
        for row in rows:  # nobody is at work any more
            if row["state"] in ("compiling", "proving"):
                row["state"] = "waiting" if row["state"] == "compiling" else "warm"
        self._report.rows(rows)
        states = Counter(row["state"] for row in rows)
        return {
            "cells": len(rows), "states": {name: states[name] for name in matrix.STATES},
            "compiled": self._compiled, "there": self._there, "entries": self._entries,
            "bytes": self._bytes, "seconds": time.monotonic() - begun, "cut": self._cut,
            "nodes": len(self._places), "into": self._params["into"], "state": self._state.folder,
        }  # fmt: skip


class _Heard:
    """What an engine says of the cells of a unit."""

    def __init__(self, of: Fleet, place: Place, cells: Sequence[Cell]) -> None:
        self._of, self._place = of, place
        self._by = {cell.row["index"]: cell.ident for cell in cells}
        self._done: dict[str, Mapping[str, Any]] = {}
        self._keys: dict[str, dict[str, None]] = {}
        self._lines: dict[str, deque[str]] = {}
        self.failed: dict[str, str] = {}

    def __call__(self, message: Message) -> None:
        if message.type != "finding":
            return
        told = message.body
        if "graph" in told:
            ident, key = self._by.get(told["graph"].get("variant")), told["graph"].get("key")
            if ident and key:
                self._keys.setdefault(ident, {})[str(key)] = None
        elif "log" in told:
            if ident := self._by.get(told.get("variant", -1)):
                line = str(told["log"])
                self._lines.setdefault(ident, deque(maxlen=_LINES)).append(line)
                self._of._told.put({"cell_log": {"cell": ident, "line": line}})
        elif isinstance(one := told.get("variant"), dict):
            ident = self._by.get(one["index"])
            if ident and one["state"] == "done":
                self._done[ident] = one
            elif ident and one["state"] == "failed":
                lines = [*one.get("log", ()), str((one.get("problem") or {}).get("code", ""))]
                self.failed[ident] = "\n".join(lines)

    def said(self, ident: str) -> str:
        return "\n".join(self._lines.get(ident, ()))

    def done(self, unit: str) -> dict[str, Done]:
        """The cells that are done."""
        return {
            ident: Done(
                self._place.name, unit, float(one.get("seconds") or 0.0),
                int(one.get("graphs") or 0), list(self._keys.get(ident, ())),
            )
            for ident, one in self._done.items()
        }  # fmt: skip


class _Elsewhere:
    """A proof is worth more on a node that did not compile it."""

    def __init__(self, state: State, places: Sequence[Place]) -> None:
        self._state, self._places = state, places

    def prefers(self, cell: Cell, place: Place) -> bool:
        known = self._state.done.get(cell.ident)
        return known is None or known.node != place.name


@contextlib.contextmanager
def _passing_over_nothing() -> Iterator[None]:
    try:
        yield
    except UserError as e:
        if failed(e):
            raise
