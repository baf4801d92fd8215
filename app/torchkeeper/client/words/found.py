"""What an engine finds while an operation runs, in a line each: for the log of a job in the window,
and for standard error of a command. A new finding has its row at the end of this module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from torchkeeper.client.words import cutoff, problems, say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.say import kind_words
from torchkeeper.client.words.tongue import tr

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Leaks, Secret
    from torchkeeper.engine.messages import findings
    from torchkeeper.verdict.probed import GraphTold
    from torchkeeper.warm.shapes import Device, Header

#: What says a finding, by its name.
_Lines = dict[str, Callable[[Any], str]]


def alike(one: findings.Finding) -> str:
    """What any operation may find, and is told alike everywhere; empty for all else."""
    return _line(_ALIKE, one)


def logged(one: findings.Finding) -> str:
    """A finding in the log of a job; empty for what is told elsewhere."""
    if "log" in one:
        return printable(one["log"], 2000)
    if "owners" in one:
        from torchkeeper.client.words import owned

        return " ".join(f"{said.what} {said.why}" for said in owned.grave(one["owners"]))
    return _line(_LOGGED, one)


def noted(one: findings.Finding) -> str:
    """What one operation alone tells, on standard error; empty for what is told elsewhere."""
    return _line(_NOTED, one)


def left(told: findings.LeftFinding) -> tuple[str, str]:
    """What was not taken, in a line with the reason; and the reason alone."""
    error = problems.user_error(told["code"], told["params"])
    what = kind_words(told.get("kind") or "unknown")
    key = printable(told["path"] or told.get("key") or "")
    # Its name stands before it already.
    known = error.why in (told["path"], told.get("key"))
    reason = error.what if known else str(error).replace("\n", " ")
    if file := told.get("file"):
        key = f"{key} ({printable(os.path.basename(file))})"
    return f"{what} {key}: {reason}", error.what


def _line(lines: _Lines, one: findings.Finding) -> str:
    told: Mapping[str, object] = one
    return next((line(told[name]) for name, line in lines.items() if name in told), "")


def _took(told: GraphTold, before: str) -> str:
    took = told["seconds"]
    return "" if took is None else f"{before}{say.seconds(took)}"


def _secret(told: Secret) -> str:
    from torchkeeper.client.words import leaks

    return tr("Secret: {secret}", secret=leaks.line(told))


def _leaks(told: Leaks) -> str:
    count = told["redacted"]
    entries = say.count(count, "entry", "entries")
    return tr("Secrets were redacted in {entries}.", entries=entries) if count else ""


def _device(told: Device) -> str:
    why = problems.device_reason(told["why"])
    name = printable(told["name"] or told["type"])
    return tr("Device: {device}", device=f"{name} ({why})" if why else name)


def _swept(told: findings.SweptFinding) -> str:
    files = say.count(told["count"], "unfinished file", "unfinished files")
    return tr("Removed {files} that an interrupted compile had left.", files=files)


def _graph(told: GraphTold) -> str:
    from torchkeeper.client.words import causes

    outcome = {
        "hit": tr("hit"),
        "miss": tr("miss, compiled"),
        "bypass": tr("not cacheable"),
        "none": tr("compiled, no cache asked"),
    }.get(told["outcome"], printable(told["outcome"]))
    name = printable(told["name"] or told["id"] or "?", 120)
    why = f": {causes.bypassed(told)}" if told.get("reason") else ""
    said = tr("Graph {name}: {outcome}", name=name, outcome=outcome)
    return said + why + _took(told, " · ")


def _graph_noted(told: GraphTold) -> str:
    from torchkeeper.client.words import causes

    where = causes.line(told)
    said = f"  {told['outcome']:<7} {told['id']}  {told['name']}"
    return printable(said + _took(told, "  ") + (f"  ({where})" if where else ""))


def _jobs(told: findings.JobsFinding) -> str:
    memory = told["why"] == "memory"
    why = tr("there is no memory for more" if memory else "that is how many cores there are")
    given, asked = str(told["given"]), str(told["asked"])
    return tr("{given} of {asked} cells at a time: {why}", given=given, asked=asked, why=why)


def _header(told: Header) -> str:
    path = printable(os.path.basename(told["path"]), 120)
    return tr(
        "Header built: {file} ({size})"
        if told["built"]
        else "Header there already: {file} ({size})",
        file=path,
        size=say.size(told["bytes"]),
    )


def _run(told: findings.RunFinding) -> str:
    from torchkeeper.client.words import verifying

    name = told["name"]
    title, about = verifying.title(name), verifying.about(name)
    return tr("Run: {run} ({about})", run=title[:1].upper() + title[1:], about=about)


_ALIKE: _Lines = {
    "recovered": cutoff.ended, "cut_off": cutoff.ended, "taken_back": cutoff.taken_back,
    "unproven": cutoff.unproven, "waiting": problems.waiting_for,
    "leftovers": problems.leftovers_gone,
}  # fmt: skip
_LOGGED: _Lines = {
    **_ALIKE, "removed": problems.removed_by_then, "secret": _secret, "leaks": _leaks,
    "device": _device, "swept": _swept, "graph": _graph, "jobs": _jobs, "header": _header,
    "run": _run,
    "step": lambda told: tr("Step: {step}", step=printable(told["name"], 120)),
    "built": lambda told: tr("Built: {path}", path=printable(told["path"], 400)),
    "left": lambda told: tr("Left: {line}", line=left(told)[0]),
}  # fmt: skip
_NOTED: _Lines = {
    "device": lambda told: printable(
        tr("device: {name} ({why})", name=told["name"] or told["type"],
           why=problems.device_reason(told["why"]))
    ),
    "swept": lambda told: tr("removed what an interrupted compile had left: {paths}",
                             paths=", ".join(map(printable, told["paths"]))),
    "graph": _graph_noted,
    "jobs": lambda told: tr("{given} at a time, not {asked}: there are no {why} for more",
                            given=str(told["given"]), asked=str(told["asked"]), why=told["why"]),
    "step": lambda told: printable(tr("step: {name}", name=told["name"])),
    "removed": problems.removed_by_then,
}  # fmt: skip
