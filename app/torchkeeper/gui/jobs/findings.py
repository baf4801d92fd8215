"""What an engine finds while a job runs, in lines for its log."""

from __future__ import annotations

import os
from typing import Any

from PySide6.QtCore import QCoreApplication

from torchkeeper.gui.jobs import laps, notes
from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.matrix.cells import COMPILING
from torchkeeper.gui.matrix.words import name_of, state_words
from torchkeeper.link.words import causes, cutoff, leaks, owned, say
from torchkeeper.link.words.kinds import kind_words
from torchkeeper.link.words.problems import (
    device_reason,
    leftovers_gone,
    printable,
    removed_by_then,
    user_error,
    waiting_for,
)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Operations", text)


def heard(job: Job, one: dict[str, Any]) -> str:
    """Note what it says of the job itself; its line for the log, or "" for none."""
    device, step, graph = one.get("device"), one.get("step"), one.get("graph")
    if isinstance(told := one.get("recovered") or one.get("cut_off"), dict):
        return cutoff.ended(told)
    if isinstance(told := one.get("taken_back"), dict):
        job.partly = cutoff.taken_back(told)
        return job.partly
    if isinstance(told := one.get("unproven"), dict):
        return cutoff.unproven(told)
    if "owners" in one:
        return " ".join(f"{said.what} {said.why}" for said in owned.grave(one["owners"]))
    left, swept, now = one.get("left"), one.get("swept"), one.get("now")
    if job.kind == "verify" and "cells" in one:
        # Several: each has runs of its own, and all of them together no sense as laps.
        job.laps.clear()
    if job.kind == "verify" and (job.cells or "cells" in one):
        return _of_cells(job, one)
    if job.kind == "verify" and laps.heard(job.laps, one):
        if "run" in one:
            job.done, job.total = 0, None
        return _lap(one)
    if job.kind == "warm" and job.cells.hear(one):
        return _cell(job, one)
    if isinstance(removed := one.get("removed"), dict):
        job.partly = removed_by_then(removed)
        return job.partly
    if isinstance(now, dict):
        kind = kind_words(str(now.get("kind") or "unknown"))
        job.now = f"{kind} {printable(str(now.get('key') or ''), 32)}"
        return ""
    if isinstance(one.get("waiting"), dict):
        job.now = waiting_for(one["waiting"])
        return job.now
    if isinstance(secret := one.get("secret"), dict):
        return _tr("Secret: {}").format(leaks.line(secret))
    if isinstance(told := one.get("leaks"), dict):
        count = told.get("redacted")
        entries = say.count(count if isinstance(count, int) else 0, "entry", "entries")
        return _tr("Secrets were redacted in {}.").format(entries) if count else ""
    if isinstance(one.get("log"), str):
        return printable(one["log"], 2000)
    if isinstance(device, dict):
        why = device_reason(device.get("why"))
        name = printable(str(device.get("name") or device.get("type")))
        return _tr("Device: {}").format(f"{name} ({why})" if why else name)
    if isinstance(step, dict):
        job.note = printable(str(step.get("name") or ""), 120)
        return _tr("Step: {}").format(job.note)
    if isinstance(graph, dict):
        return _graph(graph)
    if isinstance(fewer := one.get("jobs"), dict):
        return _fewer(fewer)
    if isinstance(one.get("header"), dict):
        return _header(one["header"])
    if isinstance(swept, dict):
        return _tr("Removed {} that an interrupted compile had left.").format(
            say.count(notes.number(swept, "count"), "unfinished file", "unfinished files")
        )
    if isinstance(gone := one.get("leftovers"), dict):
        return leftovers_gone(gone)
    if isinstance(left, dict):
        params = left.get("params")
        error = user_error(str(left.get("code")), params if isinstance(params, dict) else {})
        what = kind_words(str(left.get("kind") or "unknown"))
        key = printable(str(left.get("path") or left.get("key") or ""))
        # Its name stands before it already.
        known = error.why in (left.get("path"), left.get("key"))
        reason = error.what if known else str(error).replace("\n", " ")
        if left.get("file"):
            key = f"{key} ({printable(os.path.basename(str(left['file'])))})"
        job.leave(f"{what} {key}: {reason}", error.what)
        return _tr("Left: {} {}: {}").format(what, key, reason)
    return ""


def _of_cells(job: Job, one: dict[str, Any]) -> str:
    """Note what a verification of several cells says; its line for the log."""
    run = one.get("run")
    if isinstance(run, dict):
        job.now = laps.title(str(run.get("name")))
        cell = job.cells.at(run.get("cell"))
        return f"{name_of(cell, True)} · {_lap(one)}" if cell is not None else _lap(one)
    if job.cells.hear(one):
        return _cell(job, one)
    if isinstance(one.get("built"), dict):
        return _lap(one)
    if isinstance(one.get("graph"), dict):
        return _graph(one["graph"])
    line = one.get("log")
    return printable(line, 2000) if isinstance(line, str) else ""


def _fewer(jobs: dict[str, Any]) -> str:
    """That fewer cells are compiled at a time than asked for."""
    given, asked = notes.number(jobs, "given"), notes.number(jobs, "asked")
    why = _tr("that is how many cores there are")
    if jobs.get("why") == "memory":
        why = _tr("there is no memory for more")
    return _tr("{} of {} cells at a time: {}").format(given, asked, why)


def _cell(job: Job, one: dict[str, Any]) -> str:
    """The line of a finding about cells."""
    if isinstance(graph := one.get("graph"), dict):
        known = job.cells.graph(graph)
        if known is None or known.said or known.outcome == "compiling":
            return ""
        known.said = True
        return _graph(graph)
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


def _lap(one: dict[str, Any]) -> str:
    if isinstance(one.get("graph"), dict):
        return _graph(one["graph"])
    if isinstance(one.get("built"), dict):
        path = printable(str(one["built"].get("path") or ""), 400)
        return _tr("Built: {}").format(path)
    run = one.get("run")
    name = str(run.get("name")) if isinstance(run, dict) else ""
    return _tr("Run: {} ({})").format(laps.title(name), laps.about(name))


def _header(header: dict[str, Any]) -> str:
    path = printable(os.path.basename(str(header.get("path") or "")), 120)
    size = say.size(notes.number(header, "bytes"))
    text = _tr("Header built: {} ({})")
    if not header.get("built"):
        text = _tr("Header there already: {} ({})")
    return text.format(path, size)


def _graph(graph: dict[str, Any]) -> str:
    outcome = {
        "hit": _tr("hit"),
        "miss": _tr("miss, compiled"),
        "bypass": _tr("not cacheable"),
        "none": _tr("compiled, no cache asked"),
    }.get(str(graph.get("outcome")), printable(str(graph.get("outcome"))))
    took = graph.get("seconds")
    time = f" · {say.seconds(took)}" if isinstance(took, (int, float)) else ""
    name = printable(str(graph.get("name") or graph.get("id") or "?"), 120)
    why = f": {causes.bypassed(graph)}" if graph.get("reason") else ""
    return _tr("Graph {}: {}").format(name, outcome) + why + time
