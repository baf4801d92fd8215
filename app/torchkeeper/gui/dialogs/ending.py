"""How a warm-up, a verification or a preparation ended, in words."""

from __future__ import annotations

from dataclasses import dataclass, field

from PySide6.QtCore import QCoreApplication

from torchkeeper.gui.jobs.model import Job
from torchkeeper.gui.jobs.notes import best, found, number
from torchkeeper.link.words import preparing, say, verifying
from torchkeeper.link.words.kinds import kind_words
from torchkeeper.link.words.problems import printable
from torchkeeper.link.words.tongue import several


@dataclass(frozen=True)
class Outcome:
    """How a job ended: an icon and its colour, a title, and what is to be said."""

    icon: str
    colour: str
    title: str
    lines: list[str] = field(default_factory=list)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Outcome", text)


def took(job: Job) -> list[str]:
    """How long it took, where that is known."""
    seconds = job.elapsed(0)
    return [_tr("It took {}.").format(say.seconds(seconds))] if seconds else []


def compiled(job: Job) -> Outcome:
    """How a job of one of these kinds ended that did not fail."""
    if job.kind == "warm":
        return _warmed(job)
    return _verified(job) if job.kind == "verify" else _prepared(job)


def _warmed(job: Job) -> Outcome:
    result = job.result
    place = printable(job.place or "", 4096)
    lines = []
    whole, bad = len(job.cells.rows), len(job.cells.bad)
    if whole > 1:
        cells = say.count(whole, "cell", "cells")
        lines.append(
            several(whole - bad, "{n} of {all} is warm.", "{n} of {all} are warm.", all=cells)
        )
    if added := number(result, "added"):
        entries = say.count(added, "entry", "entries")
        said = _tr("{} added to {}").format(entries, place) + _by_kind(result.get("kinds"))
        said += "."
    else:
        said = _tr("Nothing was added to {}.").format(place)
    beside = say.apart(result)
    if added and beside:
        said += " " + _tr("Beside them: {}.").format(beside)
    # Where none came to be looked for, their number says nothing.
    graphs = [f"{found(result)}."] if bad < whole or not whole else []
    lines += [*graphs, said, *took(job)]
    if threads := job.asked.get("threads"):
        lines.append(
            _tr("They are for programs that use {} (OMP_NUM_THREADS={}).").format(
                say.count(int(threads), "thread", "threads"), threads
            )
        )
    if not bad:
        return Outcome("done", "good", _tr("Warmed"), lines)
    if job.asked.get("then") and any(job.asked["then"]):
        lines.append(_tr("Nothing was exported or published, because not every cell is warm."))
    if bad == whole:
        return Outcome("error", "error", _tr("Nothing is warm"), lines)
    title = _tr("Warmed, but {} not").format(say.count(bad, "cell is", "cells are"))
    return Outcome("warning", "warning", title, lines)


def _by_kind(kinds: object) -> str:
    """What was added, by kind: ": FX graph 7, Code 24"; nothing where nobody knows."""
    if not isinstance(kinds, dict):
        return ""
    named = [
        f"{kind_words(str(kind))} {count:,}"
        for kind, count in kinds.items()
        if isinstance(count, int) and count > 0
    ]
    return f": {', '.join(named)}" if named else ""


def _prepared(job: Job) -> Outcome:
    result = job.result
    built, there = number(result, "built"), number(result, "there")
    folder = printable(str(result.get("folder") or ""), 4096)
    if not built and not there:
        nothing = _tr("This torch builds no header ahead of its first compile.")
        return Outcome("info", "muted", _tr("There was nothing to prepare"), [nothing])
    # Another user's programs find nothing before that is done.
    warning = preparing.warning(result)
    more = [line for line in (preparing.finds(result), warning) if line]
    if not built:
        icon, colour = ("warning", "warning") if warning else ("info", "muted")
        return Outcome(icon, colour, _tr("It was prepared already"), [folder, *more])
    lines = [
        _tr("{} ({}) built in {}.").format(
            say.count(built, "header", "headers"), say.size(number(result, "bytes")), folder
        )
    ]
    if there:
        lines.append(_tr("{} there already.").format(
            say.count(there, "header was", "headers were")
        ))  # fmt: skip
    icon, colour = ("warning", "warning") if warning else ("done", "good")
    return Outcome(icon, colour, _tr("Prepared"), [*lines, *more, *took(job)])


def _verified(job: Job) -> Outcome:
    result = job.result
    _, counts = verifying.told_by(result)
    rebuilt = number(counts, "rebuilt")
    graphs = several(
        number(counts, "hits"),
        "{n} of {all} was found, {rebuilt} rebuilt.",
        "{n} of {all} were found, {rebuilt} rebuilt.",
        all=say.count(number(counts, "graphs"), "graph", "graphs"),
        rebuilt=say.count(rebuilt, "object", "objects") if rebuilt else _tr("no object"),
    )
    found, ran = [graphs], _ran(job)
    if len(cells := result.get("cells") or []) > 1:
        whole, good = say.count(len(cells), "cell", "cells"), sum(cell["good"] for cell in cells)
        told = several(good, "{n} of {all} is good.", "{n} of {all} are good.", all=whole)
        found = [told, *found]
    if result["good"]:
        title = _tr("Verified")
        if (ratio := best(result, "cold")) is not None:
            title = _tr("Verified: {}× as fast as cold").format(f"{ratio:.1f}")
        return Outcome("done", "good", title, [*found, *ran])
    # What it names was told by PyTorch.
    advice = verifying.advice(result, job.asked.get("made_threads"))
    remedies = [printable(text, 1000) for text in advice]
    return Outcome("error", "error", verifying.verdict(result), [*found, *remedies, *ran])


def _ran(job: Job) -> list[str]:
    """With what it was run, and how long it took."""
    result, parts = job.result, []
    if torch := result.get("torch"):
        parts.append(_tr("torch {}").format(printable(str(torch), 40)))
    if device := result.get("device"):
        parts.append(printable(str(device), 80))
    if threads := number(result, "threads"):
        parts.append(say.count(threads, "thread", "threads"))
    run = [_tr("It ran with {}.").format(say.together(parts))] if parts else []
    return [*run, *took(job)]
