"""Many machines that warm one place, as a script has it."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, cast

from torchkeeper.api.asking import Asker, OnProgress, misuse
from torchkeeper.api.place import Name, Secrets, several_of, told_secrets
from torchkeeper.api.told import Error
from torchkeeper.client.recipes import files, strange
from torchkeeper.client.secrets import named
from torchkeeper.client.words.problems import user_error
from torchkeeper.engine.protocol import FLEET
from torchkeeper.fleet import job as jobs
from torchkeeper.fleet.engine import FleetEngine
from torchkeeper.fleet.report import Told

if TYPE_CHECKING:
    from torchkeeper.engine.messages.fleet import CellFinding, FleetParams


@dataclass(frozen=True, slots=True)
class Cell:
    """A variant of a recipe, for one kind of node.

    Attributes:
        recipe: its recipe.
        name: its combination of the matrix.
        kind: the kind of node that it is for, such as "H100, torch 2.13.0 · 1a2b3c4d"; empty for
            any.
        state: "proven", "warm", "partly", "failed", "impossible" or "waiting".
        node: the node that compiled it; empty if none has.
        proved_on: the node that it was proven on; empty if it was not.
        seconds: how long compiling took; None if it did not come to its end.
        found: how long it took with what was gathered; None if it was not proven.
        hits: how many graphs the proof found; None if there was none.
        misses: how many graphs it did not find; None if there was none.
        shared: how many of its graphs others had compiled in the same run.
        there: whether the place had it before.
        problem: why it is not what was asked for; None if nobody knows, or it is.
        log: the last lines that it printed where it failed.
    """

    recipe: str
    name: str
    kind: str
    state: str
    node: str
    proved_on: str
    seconds: float | None
    found: float | None
    hits: int | None
    misses: int | None
    shared: int
    there: bool
    problem: Error | None
    log: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WarmedFleet:
    """The result of warming a place on many machines.

    Attributes:
        cells: every cell, in the order of the recipes.
        proved: whether it was asked for that each is proven.
        compiled: how many cells were compiled now.
        entries: how many new entries were gathered.
        nodes: how many nodes there were.
    """

    cells: tuple[Cell, ...]
    proved: bool
    compiled: int
    entries: int
    nodes: int

    @property
    def failed(self) -> tuple[Cell, ...]:
        """The cells that are not proven, or not warm if that is all that was asked for."""
        good = ("proven",) if self.proved else ("proven", "warm")
        return tuple(cell for cell in self.cells if cell.state not in good)

    @property
    def ok(self) -> bool:
        """Whether every cell is what was asked for."""
        return not self.failed


def warm_fleet(
    recipes: Name | Iterable[Name], *, on: str | Iterable[str], into: Name, prove: bool = False,
    share: bool = False, jobs_each: int | None = None, python: str | None = None,
    device: str | None = None, threads: int | None = None, portable: bool = False,
    limit: timedelta | None = None, secrets: Secrets = "refuse", state: Name | None = None,
    report: Name | None = None, trust: bool = False, progress: OnProgress | None = None,
) -> WarmedFleet:  # fmt: skip
    """Compile recipes on many machines into one place, as ``torchkeeper warm --on``. What is in the
    place is not compiled again, and after an interrupt the same call goes on. If a cell fails, this
    raises no error (``WarmedFleet.ok``).

    recipes: files, or folders of them.
    on: "local", "ssh://host", groups of ``torchkeeper hosts``, or other targets.
    into: a folder, a bundle (``.torchcache``), ``redis://host`` or ``ssh://host/path``.
    prove: then run each cell on another node with only what was gathered.
    share: hand what a node has compiled to the others of its kind while it goes.
    jobs_each: how many cells a node compiles at a time; by default one.
    python: the interpreter with torch on each node.
    device, threads, portable: as for ``Place.warm``.
    device, threads: as for ``Place.warm``.
    portable, limit: as for ``Place.warm``.
    trust: as for ``Place.warm``, of each node.
    secrets: as for ``Place.export``, where others read the place.
    state: the folder in which is kept what is done; by default one of yours for each place.
    report: a file that gets a page of HTML with what came of it.
    progress: as for ``open``.
    """
    names = [os.path.expanduser(os.fspath(one)) for one in several_of(recipes)]
    if not names:
        raise misuse("There is no recipe.", "", "Name a recipe, or a folder of them.")
    wired = files.wire(names)
    targets = [os.fspath(one) for one in several_of(on)]
    params: FleetParams = {
        "recipes": wired, "on": targets, "into": named(os.path.expanduser(os.fspath(into))),
        "prove": prove, "share": share, "slots": jobs_each, "python": python,
        "secrets": told_secrets(secrets), "device": device,
        "threads": threads, "portable": portable,
        "limit_s": None if limit is None else limit.total_seconds(),
    }  # fmt: skip
    if state is not None:
        params["state"] = os.path.abspath(os.path.expanduser(os.fspath(state)))
    page = os.path.abspath(os.path.expanduser(os.fspath(report))) if report is not None else ""
    job = jobs.Job(params, report=page)
    jobs.check(job)
    if not trust:
        strange.check(wired, jobs.stranger(wired, targets))
    with contextlib.closing(Asker(progress, start=FleetEngine)) as asker:
        answer = asker.ask(FLEET, **cast("Mapping[str, Any]", params))
    result = answer.result
    if result["cut"]:
        raise KeyboardInterrupt
    if page:
        nodes = {one["node"]["name"]: one["node"] for one in answer.findings if "node" in one}
        told = Told(answer.rows, [*nodes.values()], result, prove, time.time())
        jobs.write(page, told)
    cells = tuple(map(_cell, answer.rows))
    return WarmedFleet(cells, prove, result["compiled"], result["entries"], result["nodes"])


def _cell(row: CellFinding) -> Cell:
    why = row.get("problem")
    proved = bool(row.get("proved_on"))
    return Cell(
        row["recipe"], row["name"], row["kind"], row["state"], row.get("node", ""),
        row.get("proved_on", ""), row.get("seconds"), row.get("found"),
        row.get("hits") if proved else None, row.get("misses") if proved else None,
        row.get("shared", 0), row.get("there", False),
        user_error(why["code"], why["params"]) if why else None, tuple(row.get("log", ())),
    )  # fmt: skip
