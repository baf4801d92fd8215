"""One run of a fleet: what there is to do, who does it, what comes back, and the proof of it."""

from __future__ import annotations

import contextlib
import os
import queue
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.client import carrying
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.recipes import sending
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.engine import protocol
from torchkeeper.fleet import cells as matrix
from torchkeeper.fleet import claims
from torchkeeper.fleet.cells import Cell, Place, fault_of, told_of
from torchkeeper.fleet.gathering import Gathering, failed
from torchkeeper.fleet.heard import LINES, Heard
from torchkeeper.fleet.last import Keeper
from torchkeeper.fleet.merging import Merging
from torchkeeper.fleet.proving import Elsewhere, Proofs
from torchkeeper.fleet.sharing import Shared
from torchkeeper.fleet.state import Done, Name, State
from torchkeeper.fleet.threads import Thread
from torchkeeper.fleet.told import at_rest
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
#: Seconds after which the place is looked at again for what others put there meanwhile, where that
#: is shared, and after how many times as long as the last look took.
_AGAIN, _RARELY = 30.0, 20
#: What a request says of all that is compiled.
_COMPILING = frozenset({"device", "threads", "portable", "limit_s", "only"})
#: What came for whatever kind of node: each takes what fits.
_ANY = "any"
#: The states of cells that are to be compiled, or are being.
_OPEN = frozenset({"waiting", "compiling"})
#: Why a bundle that came is of no use, and its cells are compiled again.
_BROKEN = frozenset({
    "not-a-bundle", "bundle-damaged", "bundle-altered", "bundle-more", "file-missing",
})  # fmt: skip
#: Entries of a bundle that are told one by one where nobody asked for them.
_STRANGE = 100


class Fleet:
    """One run of a fleet."""

    def __init__(
        self, params: msg.FleetParams, places: Sequence[Place], state: State, gathering: Gathering,
        told: queue.SimpleQueue[Mapping[str, Any]], scratch: str, report: Report, last: Keeper,
    ) -> None:  # fmt: skip
        """told: findings of threads, which are passed on."""
        self._params, self._places, self._state = params, places, state
        self._gathering, self._scratch, self._report = gathering, scratch, report
        self._last = last
        self._asked: Sequence[str | SentRecipe] = params.get("recipes") or [BUILTIN]
        self._stop = threading.Event()
        #: What came in this run, where it is shared.
        self._shared = Shared(scratch, gathering.merge) if params.get("share") else None
        self._merging = Merging(state, gathering, self._shared, self._stop)
        self._before: list[str] = []
        #: The entries that the place has, or will have once all is merged.
        self._held = frozenset[Name]()
        self._told = told
        self._lock, self._seeding = threading.Lock(), threading.Lock()
        self._rows: dict[str, msg.CellFinding] = {}
        self._seeds = dict[str, list[str]]()
        #: What the place had when it was looked at last, and when it is looked at again.
        self._had, self._look_at = frozenset[Name](), 0.0
        #: Cells that are neither waiting nor being compiled.
        self._over = set[str]()
        self._entries = self._bytes = self._compiled = self._there = self._from_others = 0
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
        with self._merged():
            self._run(todo, self._fill, self._failed, at_once=lambda place: place.jobs)
        self._merging.finish()
        if self._params.get("prove") and not self._cut:
            self._seeds.clear()
            wanted = ("warm", "partly") if self._params.get("again") else ("warm",)
            unproven = [one for one in self._cells if self._rows[one.ident]["state"] in wanted]
            elsewhere = Elsewhere(self._state)
            self._run(unproven, self._prove, self._unproven, prefers=elsewhere.prefers)
        result = self._result(begun)
        self._last.keep(self._rows.values(), result)
        return result

    def _begin(self) -> list[Cell]:
        """What is left to do; tells of every cell."""
        for unit, file in list(self._state.pending.items()):
            try:
                self._gathering.names(file)
            except UserError as e:
                if e.code not in _BROKEN:  # what an engine could not do is no fault of the bundle
                    raise
                self._state.drop(unit)
        self._had, self._look_at = self._gathering.held(), time.monotonic() + _AGAIN
        self._held = self._had | frozenset(
            one for unit in self._state.pending for one in self._state.new.get(unit, ())
        )
        todo: list[Cell] = []
        for cell in self._cells:
            row = self._rows[cell.ident] = self._row(cell)
            known = self._state.done.get(cell.ident)
            if cell.problem:
                row["state"], row["problem"] = "impossible", cell.problem
            elif known and self._is_there(known):
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

    def _is_there(self, known: Done) -> bool:
        """Whether the entries of a cell that was done are still in the place."""
        wanted = known.named | self._state.new.get(known.unit, frozenset())
        return all(one in self._held for one in wanted if self._gathering.takes(one[0]))

    def _row(self, cell: Cell) -> msg.CellFinding:
        row = cell.row
        found: msg.CellFinding = {
            "cell": cell.ident, "state": "waiting", "index": row["index"], "recipe": row["recipe"],
            "name": row["name"], "source": row["source"], "kind": cell.kind,
        }  # fmt: skip
        if row["target"]:
            found["target"] = row["target"]
        return found

    # Threads do it, and this one tells of it.

    def _run(self, cells: list[Cell], do: Any, fail: Any, **more: Any) -> None:
        if not cells or self._cut:
            return
        work = Work(cells, self._places, do, self._lost, fail, self._stop, **more)
        self._tell_of(Thread(work.work))

    def _tell_of(self, thread: Thread) -> None:
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

    def _unit(
        self, op: str, place: Place, cells: Sequence[Cell], output: str = "",
        fresh: Sequence[str] = (), **more: object,
    ) -> Unit:  # fmt: skip
        only = [one.row["index"] for one in cells]
        params = {**self._about, "recipes": self._sent, "only": only, **more}
        seeds = [*self._seeds_of(place, cells[0]), *fresh]
        files: dict[str, str | Sequence[str]] = {"seeds": seeds}
        if os.path.isfile(self._zip) and any(not isinstance(one, str) for one in self._asked):
            files["sent"] = self._zip
        if output:
            params["builders"] = carrying.builders(place.node.facts)
        return Unit(op, params, files, output)

    def _seeds_of(self, place: Place, cell: Cell) -> list[str]:
        """Bundles of what the place has that cells for a kind of node can use."""
        facts = place.node.facts if cell.kind else None
        with self._seeding:
            if cell.kind not in self._seeds:
                file = os.path.join(self._scratch, f"{secrets.token_hex(8)}{SUFFIX}")
                found = [*self._before]
                with _passing_over_nothing():
                    found += [file] if self._gathering.usable(facts, file) else []
                self._seeds[cell.kind] = found
        return self._seeds[cell.kind]

    def _others(self, kind: str) -> tuple[list[str], frozenset[Name]]:
        """What others have compiled meanwhile for a kind of node, where that is shared: nodes of
        this fleet, and whoever else fills the place.
        """
        if self._shared is None:
            return [], frozenset()
        with self._seeding:
            if time.monotonic() >= self._look_at and not self._gathering.at_the_end:
                self._look_again(self._shared)
        files, names = self._shared.of(kind, self._stop)
        more, of_any = self._shared.of(_ANY, self._stop)
        return [*more, *files], of_any | names

    def _look_again(self, shared: Shared) -> None:
        begun = time.monotonic()
        with self._lock:
            known = self._had.union(*self._state.new.values())
        file = os.path.join(self._scratch, f"{secrets.token_hex(8)}{SUFFIX}")
        with contextlib.suppress(UserError):  # it is said where the next bundle is put there
            if found := self._gathering.besides(known, file):
                self._had |= found
                shared.add(_ANY, file, found)
        now = time.monotonic()
        self._look_at = now + max(_AGAIN, _RARELY * (now - begun))

    # Compiling.

    def _fill(self, place: Place, cells: Sequence[Cell]) -> tuple[set[str], dict[str, str]]:
        unit = secrets.token_hex(8)
        fresh, given = self._others(cells[0].kind)
        heard = Heard(place, cells, self._said, given)
        file = self._state.bundle(unit)
        for cell in cells:
            self._say(cell.ident, state="compiling", node=place.name)
        new = frozenset[Name]()
        try:
            request = self._unit(protocol.FILL, place, cells, file, fresh, jobs=place.jobs)
            with self._answering():
                result = place.target.run(place.node, request, heard, self._stop)
                if result["new"]:
                    new = self._sent_by(place, cells, file)
        except BaseException as e:  # noqa: BLE001  # it is raised again
            for cell in cells:
                self._say(cell.ident, state="waiting")
            return self._unless_cancelled(e)
        done = heard.done(unit)
        unmet = self._unmet(done, new | given)
        done = {ident: one for ident, one in done.items() if ident not in unmet}
        failed = {**heard.failed, **unmet}
        if unmet and not done:
            new = frozenset()  # of what it has sent, nothing is what it was asked for
        size = os.path.getsize(file) if new else 0
        with self._lock:
            if done or new:
                self._state.came(unit, done, new, bool(new))
            self._held |= new
            self._entries += len(new)
            self._compiled += len(done)
            self._from_others += sum(one.shared for one in done.values())
        if new:
            self._bytes += size
            self._told.put({"gathered": {"node": place.name, "entries": len(new), "bytes": size}})
            self._merging.came(unit, cells[0].kind)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(file)
        for ident, one in done.items():
            with self._lock:
                one.tell(self._rows[ident])
            self._say(ident)
        for cell in cells:
            if cell.ident not in done and cell.ident not in failed:
                self._say(cell.ident, state="waiting")
        return set(done), failed

    def _unmet(self, done: Mapping[str, Done], brought: frozenset[Name]) -> dict[str, str]:
        """The cells that are not warm, each with why: whoever else fills the place may have put
        there since what the unit has found.
        """
        with self._lock:
            unmet = claims.unmet(done, self._held | brought)
        if unmet:
            there = self._gathering.held()
            with self._lock:
                self._held |= there
                unmet = claims.unmet(done, self._held | brought)
        return unmet

    def _sent_by(self, place: Place, cells: Sequence[Cell], file: str) -> frozenset[Name]:
        """The entries that a bundle of a node has, after it has lost those that it has no business
        to have. Raises UserError.
        """
        every = self._gathering.names(file)
        if len(every) > claims.MOST:
            about = {"entries": len(every), "most": claims.MOST}
            raise user_error("fleet-too-many", about)
        mine = self._gathering.keep(file, every, claims.kinds_of(cells))
        for kind, key in sorted(every - mine)[:_STRANGE]:
            left = {"code": "fleet-not-asked", "params": {"node": place.name}, "path": None,
                    "kind": kind, "key": key}  # fmt: skip
            self._told.put({"left": left})
        return mine

    @contextlib.contextmanager
    def _merged(self) -> Iterator[None]:
        """Bundles are merged as they come. Raises UserError where they cannot be."""
        self._before = list(self._state.pending.values()) if self._gathering.at_the_end else []
        thread = self._merging.begin()
        try:
            yield
        finally:
            self._merging.end()
            self._tell_of(thread)

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
        proofs = Proofs(place, cells, self._state.done, self._said, self._proved)
        for cell in cells:
            self._say(cell.ident, state="proving", proved_on=place.name)
        try:
            request = self._unit(protocol.PROVE, place, cells)
            with self._answering():
                result = place.target.run(place.node, request, proofs, self._stop)
                for row in result["variants"]:
                    proofs.take(row)
        except BaseException as e:  # noqa: BLE001  # it is raised again
            for cell in cells:
                if cell.ident not in proofs.done:
                    self._say(cell.ident, state="warm")
            return self._unless_cancelled(e)
        return proofs.done, proofs.failed

    def _proved(self, ident: str, how: Done) -> None:
        with self._lock:
            self._state.proved(ident, how)
            how.tell(self._rows[ident])
        self._say(ident)

    def _result(self, begun: float) -> msg.FleetResult:
        rows = at_rest(self._rows.values())
        self._report.rows(rows)
        states = Counter(row["state"] for row in rows)
        return {
            "cells": len(rows), "states": {name: states[name] for name in matrix.STATES},
            "compiled": self._compiled, "there": self._there, "entries": self._entries,
            "bytes": self._bytes, "shared": self._from_others,
            "seconds": time.monotonic() - begun, "cut": self._cut,
            "nodes": len(self._places), "into": self._params["into"], "state": self._state.folder,
        }  # fmt: skip


@contextlib.contextmanager
def _passing_over_nothing() -> Iterator[None]:
    try:
        yield
    except UserError as e:
        if failed(e):
            raise
