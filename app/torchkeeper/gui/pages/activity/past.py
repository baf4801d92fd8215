"""What is kept of a job that has ended, and what it was asked to do, in words."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QCoreApplication

from torchkeeper.gui.jobs.model import Job, State, outcome, state_text
from torchkeeper.link.kept.history import MAX_LINES, Past, new_id
from torchkeeper.link.words import say
from torchkeeper.link.words.problems import printable

#: Recipes and files that are named one by one.
_NAMED = 4


def _tr(text: str) -> str:
    return QCoreApplication.translate("Activity", text)


def past_of(job: Job) -> Past:
    """What is kept of a job; it has ended, or is cut off now."""
    ended = job.ended or time.time()
    if not job.kept_as:
        job.kept_as = new_id(ended)
    state = State.CANCELLED if job.active else job.state
    error = job.error if state is State.FAILED else None
    return Past(
        id=job.kept_as,
        kind=job.kind,
        title=job.title,
        place=job.place or "",
        state=state.value,
        good=job.good,
        began=job.started,
        ended=ended,
        words=_tr("Stopped when the window was closed") if job.active else state_text(job),
        told=tuple(told(job)),
        asked=tuple(asked(job)),
        fruit=job.fruit or "",
        bundle=job.made_bundle,
        error=(error.what, error.why, error.remedy) if error is not None else None,
        log=tuple(list(job.log)[-MAX_LINES:]),
    )


def told(job: Job) -> list[str]:
    """What came of a job, in sentences; its error is told apart."""
    if job.active or job.state is State.FAILED:
        return []
    if not job.has_dialog:
        return [job.note] if job.note else []
    found = outcome(job)
    return [f"{found.title}.", *found.lines]


def asked(job: Job) -> list[tuple[str, str]]:
    """What a job was asked to do: names and values."""
    params = job.asked
    rows = [
        (_tr("From"), _paths([params.get("source")])),
        (_tr("Files"), _paths(params.get("files") or ())),
        (_tr("Into") if job.traits.fills else _tr("Place"), _paths([job.place])),
        (_tr("File"), _paths([params.get("output")])),
        (_tr("Interpreter"), _paths([params.get("python")])),
        (_tr("Recipes"), _names(params.get("recipes") or ())),
        (_tr("Profile"), str(params.get("profile") or "")),
        (_tr("Device"), str(params.get("device") or "")),
        (_tr("Threads"), str(params.get("threads") or "")),
    ]  # fmt: skip
    if job.laps:
        runs = say.count(len(job.laps), "run", "runs")
        rows.append((_tr("Measures"), runs))
    return [(name, printable(text, 4096)) for name, text in rows if text]


def _paths(some: Sequence[Any]) -> str:
    found = [str(one) for one in some if one]
    if len(found) == 1:
        return found[0]
    return _listed([os.path.basename(one) for one in found])


def _names(some: Sequence[Any]) -> str:
    return _listed([os.path.basename(str(one).rstrip("/")) or str(one) for one in some])


def _listed(names: Sequence[str]) -> str:
    return say.together(names, _NAMED)
