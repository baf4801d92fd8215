"""What the list and the page say of a job, whether it is of this window or from the history."""

from __future__ import annotations

import time

from PySide6.QtCore import QCoreApplication

from torchkeeper.gui.jobs import model as jobs
from torchkeeper.gui.jobs.model import Job, State, state_text
from torchkeeper.gui.jobs.pace import coarse
from torchkeeper.gui.places.model import Place
from torchkeeper.link.kept.history import Past
from torchkeeper.link.words import outcomes, say
from torchkeeper.link.words.problems import printable

#: A job that is known, or one from the history.
Shown = Job | Past

_ICONS = {
    State.QUEUED: ("queued", "muted"),
    State.RUNNING: ("running", "accent"),
    State.CANCELLING: ("running", "warning"),
    State.DONE: ("done", "good"),
    State.FAILED: ("error", "error"),
    State.CANCELLED: ("cancel", "muted"),
}


def _tr(text: str) -> str:
    return QCoreApplication.translate("Activity", text)


def state(one: Shown) -> State:
    """How far it is."""
    return one.state if isinstance(one, Job) else State(one.state)


def active(one: Shown) -> bool:
    """Whether it is still to end."""
    return isinstance(one, Job) and one.active


def mark(one: Shown) -> tuple[str, str]:
    """The icon of a job and the name of its colour."""
    found = state(one)
    return ("warning", "warning") if found is State.DONE and not one.good else _ICONS[found]


def words(one: Shown) -> str:
    """Its state in a few words."""
    return state_text(one) if isinstance(one, Job) else one.words


def fraction(one: Shown) -> float | None:
    """How much is done, from 0 to 1; None where nobody knows."""
    return one.fraction() if isinstance(one, Job) else 1.0


def ended(one: Shown) -> float | None:
    """When it ended, seconds since the epoch."""
    return one.ended


def began(one: Shown) -> float | None:
    """When it began to run."""
    return one.started if isinstance(one, Job) else one.began


def clock(one: Shown) -> str:
    """The time of day at which it began; empty for one that waits."""
    at = began(one) or ended(one)
    return time.strftime("%H:%M", time.localtime(at)) if at is not None else ""


def took(one: Shown) -> str:
    """How long it has run, or ran."""
    seconds = one.elapsed(time.time()) if isinstance(one, Job) else one.seconds
    if seconds is None:
        return ""
    # While it runs the last digit is of no use; then it is what its result says.
    return say.seconds(round(seconds, 1) if active(one) else seconds)


def day(one: Shown, now: float) -> str:
    """The day of a job that has ended: today, yesterday, or its date."""
    at = time.localtime(ended(one) or now)
    for back, name in ((0, _tr("Today")), (86_400, _tr("Yesterday"))):
        if at[:3] == time.localtime(now - back)[:3]:
            return name
    return time.strftime("%Y-%m-%d", at)


def left(job: Job) -> str:
    """How long a running job will still take: 40 s left; empty while nobody can say."""
    if job.state is not State.RUNNING or job.laps:
        return ""
    seconds = job.pace.left(time.monotonic())
    return "" if seconds is None else _tr("about {} left").format(coarse(seconds))


def progress(job: Job) -> str:
    """How far a job is and how long it will take, in a few words."""
    said = state_text(job)
    more = left(job)
    return f"{said} · {more}" if more and more not in said else said


def far(job: Job) -> list[str]:
    """How far a job is that has not ended, and what it is at, without how long it will take."""
    if job.state is not State.RUNNING:
        return [state_text(job)]
    parts = jobs.far(job)
    # The name of the only cell says nothing beside that of its step.
    said = job.now in parts or (bool(parts) and len(job.cells.rows) == 1)
    return parts if said or not job.now else [*parts, job.now]


def doing(job: Job) -> str:
    """What a running job is at: Warming torchinductor_ada."""
    if job.place is None or not job.active:
        return job.title
    return outcomes.doing(job.kind, printable(Place(job.place).title, 40)) or job.title


def found_by(one: Shown, wanted: list[str]) -> bool:
    """Whether all words of a filter are in what is said of it."""
    hay = "\n".join((one.title, one.kind, one.place or "", words(one))).lower()
    return all(word in hay for word in wanted)
