"""What the page says of a fleet, and of a node of it."""

from __future__ import annotations

import time
from functools import partial
from itertools import islice
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication

from torchkeeper.client.words import fleets, say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.matrix import cells as words
from torchkeeper.gui.matrix.cells import HAD, Cells
from torchkeeper.gui.matrix.detail import Told
from torchkeeper.gui.matrix.variants import LINES, Log
from torchkeeper.gui.pages.fleet import reporting
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.places.targets import together

_tr = partial(QCoreApplication.translate, "FleetPage")

#: Targets that are named.
NAMED = 4


class Said(NamedTuple):
    """What is at it, how many cells are in which state, and where it goes."""

    name: str
    states: str
    where: str


def fleet(job: Job, earlier: bool) -> Said:
    """What is said of a fleet; earlier: of another start."""
    place, states = _title(job.place), ", ".join(fleets.states(job.cells.counts))
    if not job.active:
        name = _ended(job, place, earlier)
    elif job.state is State.CANCELLING:
        name = _tr("Cancelling: what runs comes to its end")
    elif job.state is State.QUEUED:
        name = _tr("Waiting for the job before it")
    else:
        name = _tr("Warming {}").format(place)
        states = states or _tr("asking the targets, then looking what is to be done…")
    on = together(job.asked.get("on", ()), NAMED)
    where = [_tr("Into {}, on {}").format(printable(job.place or "", 400), on)]
    if signer := reporting.signer(job):
        where.append(_tr("signed with {}").format(printable(signer, 100)))
    elif job.asked.get("key") and job.state is State.DONE:
        where.append(_tr("not signed, as not every cell is what was asked for"))
    took = job.elapsed(time.time())
    where += [say.seconds(round(took, 1))] if took else []
    return Said(name, states, " · ".join(where))


def _title(place: str | None) -> str:
    return printable(Place(place or "").title, 60)


def _ended(job: Job, place: str, earlier: bool) -> str:
    if job.state is State.CANCELLED and not job.result and earlier:
        return _tr("It did not come to its end: what was done stays in {}").format(place)
    if job.state is State.CANCELLED:
        return _tr("Cancelled: what was done stays in {}").format(place)
    if job.state is State.FAILED:
        return _tr("{} is not warm").format(place)
    return fleets.title(job.result, bool(job.asked.get("prove")))


def run(place: str, began: float, form: str) -> str:
    """What a run is called in the list of them."""
    return f"{time.strftime(form, time.localtime(began))} · {_title(place)}"


def node(known: Cells, name: str) -> Told:
    """What a node is, what it has compiled, and what is wrong with it."""
    one = known.nodes[name]
    has, rows = known.has[name], (known.rows[x] for x in known.order)
    compiled = (row for row in rows if row.get("node") == name and row["state"] in HAD)
    facts = words.node_words(one["state"]), printable(one["kind"], 200)
    lines = [" · ".join(filter(None, facts)), printable(", ".join(one["devices"]), 400)]
    if has:
        lines.append(_tr("Has compiled {}:").format(say.count(has, "cell", "cells")))
    error = words.error_of(one["why"])
    if error is not None:  # what helps is to ask the targets again, not what helps a place
        error = UserError(error.what, error.why, error.remedy, code="fleet-told")
    names = [words.name_of(row) for row in islice(compiled, min(has, LINES))]
    log = Log(log=names) if names else None
    return Told(printable(name, 200), "\n".join(filter(None, lines)), "", error, log)
