"""What an engine finds while an operation runs, in a line each: for the log of a job in the window,
and for standard error of a command. A new finding has its row at the end of this module.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from torchkeeper.client.words import problems, say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.tongue import Nouns, Text, several, tr

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Leaks, Secret
    from torchkeeper.engine.messages import findings
    from torchkeeper.stores.shapes import CutOff
    from torchkeeper.verdict.probed import GraphTold
    from torchkeeper.warm.shapes import Device, Header

# What was cut off, and what has become of it (folders.guard).

#: Without and with the time at which it was begun.
_CUT_OFF: dict[str, tuple[Text, Text]] = {
    "import": (
        "An import into {place} was cut off.",
        "An import into {place} was cut off (begun {when}).",
    ),
    "purge": ("A purge of {place} was cut off.", "A purge of {place} was cut off (begun {when})."),
    "undo": ("An undo in {place} was cut off.", "An undo in {place} was cut off (begun {when})."),
    "empty": (
        "The emptying of the trash of {place} was cut off.",
        "The emptying of the trash of {place} was cut off (begun {when}).",
    ),
    "": ("Something in {place} was cut off.", "Something in {place} was cut off (begun {when})."),
}
#: A journal that is passed over, or removed, or of what only somebody else can finish.
_LEFT_ALONE: dict[str, Text] = {
    "not-believed": "{file} records a change that was cut off there. Torchkeeper does not trust "
    "the record: nothing shows that you began the change in this folder. An archive, a copy or a "
    "backup may have brought it, or another machine began it.",
    "forgotten": "{file} is removed. The other files of the folder stay as they are.",
    "of-another": "A change of another user in {place} was cut off: {file} is theirs. The list may "
    "show it half done, until they change the folder with Torchkeeper or complete the change.",
}
#: What was looked at and left as it is.
_WAITING: Text = "The list may show it half done. The next change of the folder completes it."
#: Where nothing can be kept of what is begun.
_UNPROVEN: Text = (
    "Torchkeeper cannot keep a record of this change of {place} ({why}). If it is cut off, nothing "
    "is lost, but only “torchkeeper recover --believe” completes it. Your state folder is "
    "XDG_STATE_HOME, by default ~/.local/state."
)

_IN_TRASH: Nouns = (
    "{n} file is still in the trash, as its place is taken.",
    "{n} files are still in the trash, as their places are taken.",
)
_OF_OTHERS: Nouns = (
    "{n} file stays, because others wrote or copied it there since.",
    "{n} files stay, because others wrote or copied them there since.",
)
_REST: Text = "The next change of {place} takes back the rest."


def become_of(told: CutOff) -> str:
    """What was cut off, and what has become of it, in some sentences."""
    left, outcome = told["left"], told["outcome"]
    if outcome in _LEFT_ALONE:
        place, file = printable(told["place"]), printable(told["file"])
        return tr(_LEFT_ALONE[outcome], place=place, file=file)
    said = [begun(told), *_done(told)]
    if left and outcome != "no-room" and told["what"] == "purge":
        said.append(several(left, *_IN_TRASH))
    return " ".join(said)


def begun(told: CutOff) -> str:
    made = told["made"]
    what = _CUT_OFF.get(told["what"], _CUT_OFF[""])[made is not None]
    return tr(what, place=printable(told["place"]), when="" if made is None else say.when(made))


def taken_back(told: findings.TakenBackFinding) -> str:
    """Some sentences: what an operation that was cancelled has taken back, and what is left."""
    files, left = told["files"], told["left"]
    back = several(files, "{n} file was taken back.", "{n} files were taken back.")
    said = [back] if files else []
    if not told["whole"]:
        said.append(tr(_REST, place=printable(told["place"])))
    elif left:
        said.append(several(left, *_OF_OTHERS))
    else:
        said.append(tr("Nothing was left behind."))
    return " ".join(said)


def no_undo(told: findings.NoUndoFinding) -> str:
    why = problems.user_error(told["code"], told["params"])
    place = printable(told["place"])
    return tr("What was put into {place} cannot be undone. {why}", place=place, why=why.what)


def unproven(told: findings.UnprovenFinding) -> str:
    return tr(_UNPROVEN, place=printable(told["place"]), why=printable(told["why"]))


def _done(told: CutOff) -> list[str]:
    outcome = told["outcome"]
    files, entries, left = told["files"], told["entries"], told["left"]
    if outcome == "taken-back":
        back = several(files, "{n} file of it was taken back.", "{n} files of it were taken back.")
        said = [back if files else tr("It had placed nothing yet.")]
        return said + ([several(left, *_OF_OTHERS)] if left else [])
    if outcome == "put-back":
        if not (entries or files or left):
            return [tr("It had moved nothing yet.")]
        return [several(entries, "{n} entry was put back.", "{n} entries were put back.")]
    if outcome == "waiting":
        return [tr(_WAITING)]
    if outcome == "no-room":
        return [tr("The disk is too full to complete it: free some room, then undo.")]
    return [tr("It is completed now.")]


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
    what = say.kind_words(told.get("kind") or "unknown")
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
    entries = say.count(told["redacted"], "entry", "entries")
    return tr("Secrets were redacted in {entries}.", entries=entries) if told["redacted"] else ""


def _device(told: Device) -> str:
    why = problems.device_reason(told["why"])
    name = printable(told["name"] or told["type"])
    return tr("Device: {device}", device=f"{name} ({why})" if why else name)


def _graph(told: GraphTold) -> str:
    from torchkeeper.client.words import causes

    outcome = {
        "hit": tr("hit"),
        "miss": tr("miss, compiled"),
        "bypass": tr("not cacheable"),
        "none": tr("compiled, no cache asked"),
    }.get(told["outcome"], printable(told["outcome"]))
    name = printable(told["name"] or told["id"] or "?", 120)
    said = tr("Graph {name}: {outcome}", name=name, outcome=outcome)
    said += f": {causes.bypassed(told)}" if told.get("reason") else ""
    return said + _took(told, " · ")


def _graph_noted(told: GraphTold) -> str:
    from torchkeeper.client.words import causes

    where = causes.line(told)
    said = f"  {told['outcome']:<7} {told['id']}  {told['name']}"
    return printable(said + _took(told, "  ") + (f"  ({where})" if where else ""))


def _jobs(told: findings.JobsFinding) -> str:
    memory = told["why"] == "memory"
    why = tr("there is no memory for more" if memory else "that is how many cores there are")
    given, asked = str(told["given"]), str(told["asked"])
    return tr("{given} of {asked} variants at a time: {why}", given=given, asked=asked, why=why)


def _header(told: Header) -> str:
    file, size = printable(os.path.basename(told["path"]), 120), say.size(told["bytes"])
    if told["built"]:
        return tr("Header built: {file} ({size})", file=file, size=size)
    return tr("Header there already: {file} ({size})", file=file, size=size)


def _run(told: findings.RunFinding) -> str:
    from torchkeeper.client.words import verifying

    name = told["name"]
    title, about = verifying.title(name), verifying.about(name)
    return tr("Run: {run} ({about})", run=title[:1].upper() + title[1:], about=about)


_ALIKE: _Lines = {
    "recovered": become_of, "cut_off": become_of, "taken_back": taken_back,
    "no_undo": no_undo, "unproven": unproven, "waiting": problems.waiting_for,
    "leftovers": problems.leftovers_gone,
}  # fmt: skip
_LOGGED: _Lines = {
    **_ALIKE, "removed": problems.removed_by_then, "secret": _secret, "leaks": _leaks,
    "device": _device, "graph": _graph, "jobs": _jobs, "header": _header,
    "run": _run,
    "swept": lambda told: tr("Removed {files} that an interrupted compile had left.",
                             files=say.count(told["count"], "unfinished file", "unfinished files")),
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
