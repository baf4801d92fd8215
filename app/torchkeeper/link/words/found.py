"""What an engine finds while an operation runs, in a line each: for the log of a job in the window,
and for standard error of a command. A new finding has its row at the end of this module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from torchkeeper.link.words import cutoff, problems, say
from torchkeeper.link.words.kinds import kind_words
from torchkeeper.link.words.problems import printable
from torchkeeper.link.words.say import number
from torchkeeper.link.words.tongue import tr

Answer = Mapping[str, Any]
_Lines = dict[str, Callable[[Answer], str]]


def alike(one: Answer) -> str:
    """What any operation may find, and is told alike everywhere; empty for all else."""
    return _line(_ALIKE, one)


def logged(one: Answer) -> str:
    """A finding in the log of a job; empty for what is told elsewhere."""
    if isinstance(text := one.get("log"), str):
        return printable(text, 2000)
    if "owners" in one:
        from torchkeeper.link.words import owned

        return " ".join(f"{said.what} {said.why}" for said in owned.grave(one["owners"]))
    return _line(_LOGGED, one)


def noted(one: Answer) -> str:
    """What one operation alone tells, on standard error; empty for what is told elsewhere."""
    return _line(_NOTED, one)


def left(told: Answer) -> tuple[str, str]:
    """What was not taken, in a line with the reason; and the reason alone."""
    params = told.get("params")
    error = problems.user_error(str(told.get("code")), params if isinstance(params, dict) else {})
    what = kind_words(str(told.get("kind") or "unknown"))
    key = printable(str(told.get("path") or told.get("key") or ""))
    # Its name stands before it already.
    known = error.why in (told.get("path"), told.get("key"))
    reason = error.what if known else str(error).replace("\n", " ")
    if told.get("file"):
        key = f"{key} ({printable(os.path.basename(str(told['file'])))})"
    return f"{what} {key}: {reason}", error.what


def _line(lines: _Lines, one: Answer) -> str:
    told = ((line, one.get(name)) for name, line in lines.items())
    return next((line(found) for line, found in told if isinstance(found, dict)), "")


def _text(told: Answer, name: str, limit: int) -> str:
    return printable(str(told.get(name) or ""), limit)


def _took(told: Answer, before: str) -> str:
    took = told.get("seconds")
    return f"{before}{say.seconds(took)}" if isinstance(took, (int, float)) else ""


def _secret(told: Answer) -> str:
    from torchkeeper.link.words import leaks

    return tr("Secret: {secret}", secret=leaks.line(told))


def _leaks(told: Answer) -> str:
    count = number(told, "redacted")
    entries = say.count(count, "entry", "entries")
    return tr("Secrets were redacted in {entries}.", entries=entries) if count else ""


def _device(told: Answer) -> str:
    why = problems.device_reason(told.get("why"))
    name = printable(str(told.get("name") or told.get("type")))
    return tr("Device: {device}", device=f"{name} ({why})" if why else name)


def _device_noted(told: Answer) -> str:
    name, why = told.get("name") or told.get("type"), problems.device_reason(told.get("why"))
    return printable(tr("device: {name} ({why})", name=str(name), why=why))


def _swept(told: Answer) -> str:
    files = say.count(number(told, "count"), "unfinished file", "unfinished files")
    return tr("Removed {files} that an interrupted compile had left.", files=files)


def _swept_noted(told: Answer) -> str:
    removed = [printable(str(path)) for path in told.get("paths", [])]
    paths = ", ".join(removed)
    return tr("removed what an interrupted compile had left: {paths}", paths=paths)


def _graph(told: Answer) -> str:
    from torchkeeper.link.words import causes

    outcome = {
        "hit": tr("hit"),
        "miss": tr("miss, compiled"),
        "bypass": tr("not cacheable"),
        "none": tr("compiled, no cache asked"),
    }.get(str(told.get("outcome")), printable(str(told.get("outcome"))))
    name = printable(str(told.get("name") or told.get("id") or "?"), 120)
    why = f": {causes.bypassed(told)}" if told.get("reason") else ""
    said = tr("Graph {name}: {outcome}", name=name, outcome=outcome)
    return said + why + _took(told, " · ")


def _graph_noted(told: Answer) -> str:
    from torchkeeper.link.words import phases

    where = phases.line(told)
    said = f"  {told.get('outcome', '?'):<7} {told.get('id', '')}  {told.get('name') or ''}"
    return printable(said + _took(told, "  ") + (f"  ({where})" if where else ""))


def _jobs(told: Answer) -> str:
    why = tr("that is how many cores there are")
    if told.get("why") == "memory":
        why = tr("there is no memory for more")
    given, asked = (str(number(told, name)) for name in ("given", "asked"))
    return tr("{given} of {asked} cells at a time: {why}", given=given, asked=asked, why=why)


def _jobs_noted(told: Answer) -> str:
    given, asked, why = (str(told.get(name)) for name in ("given", "asked", "why"))
    return tr("{given} at a time, not {asked}: there are no {why} for more",
              given=given, asked=asked, why=why)  # fmt: skip


def _header(told: Answer) -> str:
    path = printable(os.path.basename(str(told.get("path") or "")), 120)
    size = say.size(number(told, "bytes"))
    if told.get("built"):
        return tr("Header built: {file} ({size})", file=path, size=size)
    return tr("Header there already: {file} ({size})", file=path, size=size)


def _run(told: Answer) -> str:
    from torchkeeper.link.words import verifying

    name = str(told.get("name"))
    title, about = verifying.title(name), verifying.about(name)
    return tr("Run: {run} ({about})", run=title[:1].upper() + title[1:], about=about)


_ALIKE: _Lines = {
    "recovered": cutoff.ended, "cut_off": cutoff.ended, "taken_back": cutoff.taken_back,
    "unproven": cutoff.unproven, "waiting": problems.waiting_for,
    "leftovers": problems.leftovers_gone,
}  # fmt: skip
_LOGGED: _Lines = {
    **_ALIKE, "removed": problems.removed_by_then, "secret": _secret, "leaks": _leaks,
    "device": _device, "step": lambda told: tr("Step: {step}", step=_text(told, "name", 120)),
    "swept": _swept, "graph": _graph, "jobs": _jobs, "header": _header, "run": _run,
    "built": lambda told: tr("Built: {path}", path=_text(told, "path", 400)),
    "left": lambda told: tr("Left: {line}", line=left(told)[0]),
}  # fmt: skip
_NOTED: _Lines = {
    "device": _device_noted, "swept": _swept_noted, "graph": _graph_noted, "jobs": _jobs_noted,
    "step": lambda told: printable(tr("step: {name}", name=str(told.get("name")))),
    "removed": problems.removed_by_then,
}  # fmt: skip
