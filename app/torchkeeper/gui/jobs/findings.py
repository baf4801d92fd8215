"""What an engine finds while a job runs: noted in the job, and in lines for its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication

from torchkeeper.client.words import found as words
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.say import kind_words
from torchkeeper.gui.jobs import laps
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.matrix.cells import COMPILING, name_of, state_words

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import Finding


def _tr(text: str) -> str:
    return QCoreApplication.translate("Operations", text)


def heard(job: Job, one: Finding) -> str:
    """Note what it says of the job itself; its line for the log, or "" for none."""
    of, line = job.traits, words.logged(one)
    if words.alike(one) or "removed" in one:
        if "taken_back" in one or "removed" in one:
            job.partly = line
        elif "waiting" in one:
            job.now = line
        return line
    if of.proves and "cells" in one:
        # Several: each has runs of its own, and all of them together no sense as laps.
        job.laps.clear()
    if of.proves and (job.cells or "cells" in one):
        return _of_cells(job, one, line)
    if of.proves and laps.heard(job.laps, one):
        if "run" in one:
            job.done, job.total = 0, None
        return line
    if of.warms and job.cells.hear(one):
        return _cell(job, one, line)
    if "now" in one:
        job.now = f"{kind_words(one['now']['kind'])} {printable(one['now']['key'], 32)}"
    elif "step" in one:
        job.note = printable(one["step"]["name"], 120)
    elif "left" in one:
        job.leave(*words.left(one["left"]))
    return line


def _of_cells(job: Job, one: Finding, line: str) -> str:
    """Note what a verification of several cells says; its line for the log."""
    if "run" in one:
        job.now = laps.title(one["run"]["name"])
        cell = job.cells.at(one["run"].get("cell"))
        return f"{name_of(cell, True)} · {line}" if cell is not None else line
    if job.cells.hear(one):
        return _cell(job, one, line)
    return line if {"built", "graph", "log"} & one.keys() else ""


def _cell(job: Job, one: Finding, line: str) -> str:
    if "graph" in one:
        known = job.cells.graph(one["graph"])
        if known is None or known.said or known.outcome == "compiling":
            return ""
        known.said = True
        return line
    told = one.get("cell")
    cell = job.cells.at(told["index"]) if isinstance(told, dict) else None
    if cell is None:
        return ""
    name = name_of(cell, True)
    if cell.state == COMPILING:
        job.now = name
        return _tr("Cell: {}").format(name)
    why = f": {cell.error.what}" if cell.error else ""
    took = f" · {say.seconds(cell.seconds)}" if cell.seconds is not None else ""
    return _tr("Cell {}: {}").format(state_words(cell.state), name) + why + took
