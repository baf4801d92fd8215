"""One run of a fleet: what there is to do, who does it, what comes back, and the proof of it."""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import shutil
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.client import carrying
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.recipes import sending
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.fleet import cells as matrix
from torchkeeper.fleet.cells import Cell, Place, fault_of, told_of
from torchkeeper.fleet.gathering import Gathering, failed
from torchkeeper.fleet.heard import LINES, Heard
from torchkeeper.fleet.last import Keeper
from torchkeeper.fleet.state import Done, State
from torchkeeper.fleet.working import Work
from torchkeeper.placing.target import Lost, Unit
from torchkeeper.stores.names import SUFFIX
from torchkeeper.warm.recipes.recipe import BUILTIN

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Fault
    from torchkeeper.engine.messages import fleet as msg
    from torchkeeper.engine.messages.compiling import VariantsRow
    from torchkeeper.warm.shapes import SentRecipe

#: Seconds between two looks whether it is to end.
_TURN = 0.2
#: What a request says of all that is compiled.
_COMPILING = frozenset({"device", "threads", "portable", "limit_s", "only"})
#: The states of cells that are to be compiled, or are being.
_OPEN = frozenset({"waiting", "compiling"})
#: Bundles of others that a unit begins with, of those that came last, where they are shared.
_SHARED = 16


class _Thread(threading.Thread):
    """Does something, and has what that raised."""

    def __init__(self, does: Callable[[], None]) -> None:
        super().__init__(name="fleet")
        self._does = does
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._does()
        except BaseException as e:  # noqa: BLE001  # it is for whoever waits
            self.error = e


class Fleet:
    """One run of a fleet."""

    def __init__(
        self, params: msg.FleetParams, places: Sequence[Place], state: State, gathering: Gathering,
        scratch: str, report: Report, last: Keeper,
    ) -> None:  # fmt: skip
        self._params, self._places, self._state = params, places, state
        self._gathering, self._scratch, self._report = gathering, scratch, report
        self._last = last
        self._asked: Sequence[str | SentRecipe] = params.get("recipes") or [BUILTIN]
        self._stop = threading.Event()
        #: The units that came and are to be merged; None at the end.
        self._came: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._before: list[str] = []
        self._told: queue.SimpleQueue[Mapping[str, Any]] = queue.SimpleQueue()
        self._lock, self._seeding = threading.Lock(), threading.Lock()
        self._rows: dict[str, msg.CellFinding] = {}
        self._seeds = dict[str, list[str]]()
        #: Bundles that came in this run, by the group of their cells, for the next of that group.
        self._fresh = dict[str, deque[str]]()
        #: Cells that are neither waiting nor being compiled.
        self._over = set[str]()
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
        self._last.keep(self._rows.values())
        with self._merging():
            self._run(todo, self._fill, self._failed)
        self._finish()
        if self._params.get("prove") and not self._cut:
            self._seeds.clear()
            wanted = ("warm", "partly") if self._params.get("again") else ("warm",)
            unproven = [one for one in self._cells if self._rows[one.ident]["state"] in wanted]
            elsewhere = _Elsewhere(self._state, self._places)
            self._run(unproven, self._prove, self._unproven, elsewhere.prefers)
        result = self._result(begun)
        self._last.keep(self._rows.values(), result)
        return result

    def _begin(self) -> list[Cell]:
        """What is left to do; tells of every cell."""
        for unit, file in list(self._state.pending.items()):
            try:
                self._gathering.names(file)
            except UserError:
                self._state.drop(unit)
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
                known.tell(row)
            else:
                todo.append(cell)
                continue
            self._over.add(cell.ident)
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

    # Threads do it, and this one tells of it.

    def _run(self, cells: list[Cell], do: Any, fail: Any, prefers: Any = None) -> None:
        if not cells or self._cut:
            return
        more = {"prefers": prefers} if prefers else {}
        work = Work(cells, self._places, do, self._lost, fail, self._stop, **more)
        self._tell_of(_Thread(work.work))

    def _tell_of(self, thread: _Thread) -> None:
        """Tell what threads say until this one has ended. Raises what it raised, and Cancelled
        where nobody listens any more.
        """
        while thread.is_alive() or not self._told.empty():
            with contextlib.suppress(queue.Empty):
                self._report.finding(**self._told.get(timeout=_TURN))
            self._report.progress(len(self._over), len(self._rows), "cells")
            try:
                if not self._cut:
                    self._report.check()
            except Cancelled:
                self._stop.set()
                if self._report.alone:
                    thread.join()
                    raise
                self._cut = True
        thread.join()
        if thread.error:
            raise thread.error

    def _say(self, cell: str, **what: Any) -> None:
        with self._lock:
            row = self._rows[cell] = cast("msg.CellFinding", {**self._rows[cell], **what})
            (self._over.discard if row["state"] in _OPEN else self._over.add)(cell)
        self._told.put({"cell": row})

    def _said(self, cell: str, line: str) -> None:
        self._told.put({"cell_log": {"cell": cell, "line": line}})

    def _lost(self, place: Place, why: UserError, for_good: bool) -> None:
        told = told_of(place, "lost" if for_good else "waiting", fault_of(why))
        self._last.node(told)
        self._told.put({"node": told})

    def _failed(self, cell: Cell, why: dict[str, str]) -> None:
        nodes = ", ".join(why)
        log = [line for name, text in why.items() for line in (f"{name}:", *text.splitlines())]
        problem: Fault = {"code": "fleet-failed", "params": {"nodes": nodes}}
        if not why:
            problem = {"code": "fleet-no-nodes", "params": {}}
        self._say(cell.ident, state="failed", problem=problem, log=log[-3 * LINES :], node=nodes)

    def _unproven(self, cell: Cell, why: dict[str, str]) -> None:
        text = next(iter(why.values()), "")
        problem: Fault = {"code": "fleet-unproven", "params": {"nodes": ", ".join(why)}}
        self._say(cell.ident, state="partly", problem=problem, log=text.splitlines()[-LINES:])

    def _unit(self, op: str, place: Place, cells: Sequence[Cell], output: str = "") -> Unit:
        params = {**self._about, "recipes": self._sent, "only": [x.row["index"] for x in cells]}
        files: dict[str, str | Sequence[str]] = {"seeds": self._seeds_of(place, cells[0])}
        if os.path.isfile(self._zip) and any(not isinstance(one, str) for one in self._asked):
            files["sent"] = self._zip
        if output:
            params["builders"] = carrying.builders(place.node.facts)
        return Unit(op, params, files, output)

    def _seeds_of(self, place: Place, cell: Cell) -> list[str]:
        """Bundles of what the place has that cells for a kind of node can use, and of what others
        of the group have compiled since, where that is shared.
        """
        facts = place.node.facts if cell.kind else None
        with self._seeding:
            if cell.kind not in self._seeds:
                file = os.path.join(self._scratch, f"{secrets.token_hex(8)}{SUFFIX}")
                found = [*self._before]
                with _passing_over_nothing():
                    found += [file] if self._gathering.usable(facts, file) else []
                self._seeds[cell.kind] = found
        return [*self._seeds[cell.kind], *self._fresh.get(cell.group, ())]

    # Compiling.

    def _fill(self, place: Place, cells: Sequence[Cell]) -> tuple[set[str], dict[str, str]]:
        unit = secrets.token_hex(8)
        heard = Heard(place, cells, self._said)
        file = self._state.bundle(unit)
        for cell in cells:
            self._say(cell.ident, state="compiling", node=place.name)
        new: frozenset[tuple[str, str]] = frozenset()
        try:
            request = self._unit(protocol.FILL, place, cells, file)
            with self._answering():
                result = place.target.run(place.node, request, heard, self._stop)
                if result["new"]:
                    new = self._gathering.names(file)
        except BaseException as e:  # noqa: BLE001  # it is raised again
            for cell in cells:
                self._say(cell.ident, state="waiting")
            return self._unless_cancelled(e)
        done = heard.done(unit)
        with self._lock:
            if done or new:
                self._state.came(unit, done, new, bool(new))
            self._entries += len(new)
            self._compiled += len(done)
        if new:
            size = os.path.getsize(file)
            self._told.put({"gathered": {"node": place.name, "entries": len(new), "bytes": size}})
            self._bytes += size
            self._share(cells[0].group, file)
            self._came.put(unit)
        for ident, one in done.items():
            with self._lock:
                one.tell(self._rows[ident])
            self._say(ident)
        for cell in cells:
            if cell.ident not in done and cell.ident not in heard.failed:
                self._say(cell.ident, state="waiting")
        return set(done), heard.failed

    def _share(self, group: str, file: str) -> None:
        """Keep a bundle for the next cells of its group, whatever becomes of it in the state."""
        if self._params.get("share"):
            kept = os.path.join(self._scratch, os.path.basename(file))
            shutil.copyfile(file, kept)
            with self._lock:
                self._fresh.setdefault(group, deque(maxlen=_SHARED)).append(kept)

    @contextlib.contextmanager
    def _merging(self) -> Iterator[None]:
        """Bundles are merged as they come, beside the work; first those that came before this
        process was killed. Raises UserError where they cannot be: then they stay for the next time.
        """
        for unit in self._state.pending:
            self._came.put(unit)
        self._before = list(self._state.pending.values()) if self._gathering.at_the_end else []
        thread = _Thread(self._merge)
        try:
            yield
        finally:
            self._came.put(None)
            self._tell_of(thread)

    def _merge(self) -> None:
        try:
            while (unit := self._came.get()) is not None:
                if not self._gathering.at_the_end:
                    placed = self._gathering.take(self._state.pending[unit])
                    self._state.merged(unit, placed)
        except BaseException:
            self._stop.set()
            raise

    def _finish(self) -> None:
        """Write the bundle, where the place is one."""
        if files := list(self._state.pending.values()):
            self._gathering.write(files)
            for unit in list(self._state.pending):
                self._state.merged(unit)

    @contextlib.contextmanager
    def _answering(self) -> Iterator[None]:
        """What one node answers ends nothing of the others."""
        try:
            yield
        except UserError as e:
            if self._stop.is_set() and e.code == "cancelled":
                raise
            raise Lost(e, True) from e

    def _unless_cancelled(self, error: BaseException) -> tuple[set[str], dict[str, str]]:
        """A unit that was told to end before it had begun has done nothing."""
        if self._stop.is_set() and isinstance(error, UserError) and error.code == "cancelled":
            return set(), {}
        raise error

    # Proving.

    def _prove(self, place: Place, cells: Sequence[Cell]) -> tuple[set[str], dict[str, str]]:
        heard = Heard(place, cells, self._said)
        for cell in cells:
            self._say(cell.ident, state="proving", proved_on=place.name)
        try:
            request = self._unit(protocol.PROVE, place, cells)
            with self._answering():
                result = place.target.run(place.node, request, heard, self._stop)
        except BaseException as e:  # noqa: BLE001  # it is raised again
            for cell in cells:
                self._say(cell.ident, state="warm")
            return self._unless_cancelled(e)
        by_index = {cell.row["index"]: cell for cell in cells}
        done, failures = set[str](), dict[str, str]()
        for row in result["variants"]:
            if row["index"] not in by_index:
                continue
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
                known.tell(self._rows[cell.ident])
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
