"""What an engine finds while a job runs: noted in the job, and in lines for its log."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QCoreApplication

from torchkeeper.gui.jobs import laps
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.matrix.cells import COMPILING
from torchkeeper.gui.matrix.words import name_of, state_words
from torchkeeper.link.words import found as words
from torchkeeper.link.words import say
from torchkeeper.link.words.kinds import kind_words
from torchkeeper.link.words.problems import printable


def _tr(text: str) -> str:
    return QCoreApplication.translate("Operations", text)


def heard(job: Job, one: dict[str, Any]) -> str:
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
    if isinstance(now := one.get("now"), dict):
        kind = kind_words(str(now.get("kind") or "unknown"))
        job.now = f"{kind} {printable(str(now.get('key') or ''), 32)}"
    elif isinstance(step := one.get("step"), dict):
        job.note = printable(str(step.get("name") or ""), 120)
    elif isinstance(left := one.get("left"), dict):
        job.leave(*words.left(left))
    return line


def _of_cells(job: Job, one: dict[str, Any], line: str) -> str:
    """Note what a verification of several cells says; its line for the log."""
    run = one.get("run")
    if isinstance(run, dict):
        job.now = laps.title(str(run.get("name")))
        cell = job.cells.at(run.get("cell"))
        return f"{name_of(cell, True)} · {line}" if cell is not None else line
    if job.cells.hear(one):
        return _cell(job, one, line)
    return line if {"built", "graph", "log"} & one.keys() else ""


def _cell(job: Job, one: dict[str, Any], line: str) -> str:
    """The line of a finding about cells."""
    if isinstance(graph := one.get("graph"), dict):
        known = job.cells.graph(graph)
        if known is None or known.said or known.outcome == "compiling":
            return ""
        known.said = True
        return line
    told = one.get("cell")
    cell = job.cells.at(told.get("index")) if isinstance(told, dict) else None
    if cell is None:
        return ""
    name = name_of(cell, True)
    if cell.state == COMPILING:
        job.now = name
        return _tr("Cell: {}").format(name)
    why = f": {cell.error.what}" if cell.error else ""
    took = f" · {say.seconds(cell.seconds)}" if cell.seconds is not None else ""
    return _tr("Cell {}: {}").format(state_words(cell.state), name) + why + took
