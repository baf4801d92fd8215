"""Verifies a cache folder with stock PyTorch as the judge, by its counters and by which files
appear; what PyTorch does not count, by the proof that its source has (``sources.Work``).

Each run of a cell is a fresh process with a temporary folder, and a cache folder of its own: an
empty one, or a copy of nothing but the target.

| run | has |
|---|---|
| cold | nothing |
| mega | what torch.compiler.save_cache_artifacts() returned at the end of the cold run |
| warm | a copy of the target |
| prepared | a copy of the target, and the header that PyTorch precompiles, built beforehand |

A single cell has an empty temporary folder for each run. Several share one, in which the header is
built once before all of them: what they are compared by is their own, and ``prepared`` is what
``warm`` is already. Everything else is taken out of it after each run. They share the copy of the
target, too, as long as nobody has changed anything in it; then it is made anew.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.duplicate import room
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.space import space
from torchkeeper.stores.temporary import remove
from torchkeeper.warm import prepare, ran, supervise
from torchkeeper.warm.caches import Used, led_to
from torchkeeper.warm.ground import Explain, Ground
from torchkeeper.warm.options import JUDGED, RUNS
from torchkeeper.warm.ran import Heard, Ran
from torchkeeper.warm.recipes.cells import Cell
from torchkeeper.warm.summing import of_cell, told
from torchkeeper.warm.told import told_of

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Fault
    from torchkeeper.warm.shapes import Verified, VerifiedCell, Verifying

#: Bytes that the temporary folder of a run takes: two precompiled headers of 149 MB, what is
#: built, and what compilers need meanwhile.
_WORK = 400 << 20
#: Bytes below which a disk is taken for full when something failed.
_NOTHING = 1 << 20
#: What whoever found the disk full says; a compiler then takes away what it had written.
_FULL = os.strerror(errno.ENOSPC)
#: What is wrong with more than one cell of several.
_FOR_ALL = frozenset({
    "torch-missing", "torch-broken", "threads-not-taken", "caches-disabled", "disk-full",
    "place-unwritable", "verify-no-room", "mega-cache-unsupported",
})  # fmt: skip
#: Cells that one finding tells.
_CELLS = 200


@dataclass(frozen=True)
class Asked:
    """What to verify, checked. runs: in the order of RUNS."""

    job: supervise.Job
    runs: tuple[str, ...]


def verify(params: Verifying, report: Report, explain: Explain | None = None) -> Verified:
    """Run recipes on a copy of nothing but the folder ``place``; findings ``run={"name"}``, those
    of ``warm``, and ``built={"path"}``. Where the only cache is one in the folder, as in that of a
    rank of vLLM's, the program is led to it.

    Good is where with the target everything hit, at least one graph, and no object was built. Of
    several cells findings say which they are of, and one that fails has a ``problem``. What
    ``explain`` can tell is said of graphs that were no hit.

    settings in the request: as of ``supervise.warm``, less what leads to another cache.

    Raises Problem as ``supervise.run``, ``caches.led_to`` and Folder do, and "verify-server",
    "verify-no-room", "verify-crashed"; passes Cancelled on. Neither a process nor a file is left.
    """
    asked = checked(params)
    source = Folder(asked.job.place)
    items = source.items(report)
    led = led_to(source.place, items, {cell.source for cell in asked.job.cells})
    try:
        scratch = tempfile.mkdtemp(prefix="torchkeeper-verify-", dir=params.get("scratch"))
    except OSError as e:
        above = params.get("scratch") or tempfile.gettempdir()
        raise Problem("place-unwritable", place=above, why=e.strerror or str(e)) from e
    try:
        _check_room(scratch, room(items))
        several = len(asked.job.cells) > 1
        return _all_cells(asked, Ground(source, items, led, scratch, several, explain), report)
    finally:
        remove(scratch)


def checked(params: Verifying) -> Asked:
    """What a request asks for. Raises Problem("bad-request" | "recipe-unknown" | "verify-server").

    Without ``runs`` all are asked for; the mega run takes the cold one along, which it needs.
    """
    place = params["place"]
    if not scheme_of(place).verifiable:
        raise Problem("verify-server", place=place)
    job = supervise.checked(params, place)
    runs = set(params.get("runs") or RUNS)
    if not runs <= set(RUNS) or not runs & set(JUDGED):
        raise Problem("bad-request", field="runs")
    scratch = params.get("scratch")
    if scratch is not None and not os.path.isabs(scratch):
        raise Problem("bad-request", field="scratch")
    if "mega" in runs:
        runs.add("cold")
    return Asked(job, tuple(name for name in RUNS if name in runs))


def runs_of(cell: Cell, runs: Iterable[str], several: bool) -> list[str]:
    """The runs that make sense for a cell, in order.

    What is not in a mega-cache, or not known to be compiled in the job's process, has no such run;
    what needs no header, or finds one anyway, needs none prepared.
    """
    wanted = set(runs)
    if cell.source in (*ran.PROVED, "script"):
        wanted.discard("mega")
    if "prepared" in wanted and (several or cell.source in ran.PROVED):
        wanted = (wanted - {"prepared"}) | {"warm"}
    return [name for name in RUNS if name in wanted]


def _check_room(scratch: str, copy: int) -> None:
    free = space(scratch).free
    if free is not None and free < copy + _WORK:
        raise _no_room(scratch, copy, free)


def _no_room(scratch: str, copy: int, free: int) -> Problem:
    needed, above = (copy + _WORK) // 10**6, os.path.dirname(scratch)
    return Problem("verify-no-room", place=above, needed_mb=needed, free_mb=free // 10**6)


def _all_cells(asked: Asked, ground: Ground, report: Report) -> Verified:
    cells, rows = asked.job.cells, list["VerifiedCell"]()
    done: list[dict[str, Ran]] = []
    if ground.several:
        queued = [told_of(cell) for cell in cells]
        for begin in range(0, len(queued), _CELLS):
            report.finding(cells=queued[begin : begin + _CELLS])
        os.makedirs(ground.temporary(""))
        if any(_may_use_header(asked.job, cell) for cell in cells):
            _prepare(ground.temporary(""), asked.job.limit_s, report)
    for number, cell in enumerate(cells):
        if ground.several:
            report.progress(number, len(cells), "cells")
            report.finding(cell={"index": cell.index, "state": "compiling"})
        problem: Fault | None = None
        runs: dict[str, Ran] = {}
        try:
            _runs(asked, cell, ground, report, runs)
        except Problem as e:
            if not ground.several or e.code in _FOR_ALL:
                raise
            problem = {"code": e.code, "params": e.params}
        rows.append(of_cell(cell, runs, problem))
        done.append(runs)
        if ground.several:
            state = "failed" if problem else "done"
            report.finding(cell={**rows[-1], "state": state})
    if ground.several:
        report.progress(len(cells), len(cells), "cells")
    return told(done, rows)


def _runs(asked: Asked, cell: Cell, ground: Ground, report: Report, done: dict[str, Ran]) -> None:
    """Make the runs of a cell; ``done`` has them, as far as it came."""
    scratch = ground.scratch
    mega = os.path.join(scratch, "mega-cache")
    job = replace(asked.job, cells=(cell,), jobs=1)
    names = runs_of(cell, asked.runs, ground.several)
    for name in names:
        if name == "prepared" and "warm" in done and not _uses_header(cell, done["warm"]):
            continue
        report.finding(run={"name": name, **({"cell": cell.index} if ground.several else {})})
        home, temporary = os.path.join(scratch, name), ground.temporary(name)
        more: supervise.Request = {}
        try:
            os.makedirs(temporary, exist_ok=True)
            os.makedirs(home, exist_ok=True)
            if name in JUDGED:
                ground.copy(os.path.join(home, "cache"), report)
                if name == "prepared":
                    _prepare(temporary, job.limit_s, report)
            elif name == "cold" and "mega" in names:
                more = {"save": mega}
            elif name == "mega":
                more = {"load": mega}
            done[name] = _run(job, name, ground, report, more)
        except (Problem, OSError) as e:
            free = space(scratch).free
            said = str(e.params) if isinstance(e, Problem) else str(e)
            full = isinstance(e, Problem) and e.code == "disk-full"
            if full or _FULL in said or (free is not None and free < _NOTHING):
                raise _no_room(scratch, room(ground.items), free or 0) from e
            if isinstance(e, OSError):
                why = e.strerror or str(e)
                raise Problem("place-unwritable", place=scratch, why=why) from e
            raise
        finally:
            ground.clear(name)


def _run(
    job: supervise.Job, name: str, ground: Ground, report: Report, more: supervise.Request
) -> Ran:
    home, temporary = os.path.join(ground.scratch, name), ground.temporary(name)
    heard = Heard(report, ground.several)
    if name not in JUDGED:
        return ran.run(job, home, temporary, Used(), name, heard, more=more)
    trace = os.path.join(ground.scratch, "trace") if ground.explain else None
    try:
        one = ran.run(job, home, temporary, ground.led, name, heard, trace, more)
        if ground.explain and trace and not one.proof and one.result["misses"]:
            causes = ground.explain(ground.led.inductor, trace)
            for graph in one.graphs:
                if graph["outcome"] != "hit" and graph["id"] in causes:
                    graph["why"] = causes[graph["id"]]
        return one
    finally:
        if trace:
            remove(trace)


def _may_use_header(job: supervise.Job, cell: Cell) -> bool:
    """Whether a run of the cell may look for a precompiled header."""
    device = cell.device or job.device or "cpu"
    return cell.source != "triton" and not cell.portable and device.startswith("cpu")


def _uses_header(cell: Cell, one: Ran) -> bool:
    """Whether there is a header to prepare for such a run."""
    return not cell.portable and one.result["device"] == "cpu"


def _prepare(temporary: str, limit_s: float | None, report: Report) -> None:
    """Have the header built where the run will look. Where none is used, there is none to build."""
    try:
        prepare.prepare({"into": temporary, "limit_s": limit_s}, report)
    except Problem as problem:
        if problem.code not in ("headers-off", "headers-unknown"):
            raise
