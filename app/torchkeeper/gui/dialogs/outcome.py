"""What came of an export, a signing, an import or a copy, in words."""

from __future__ import annotations

import os

from PySide6.QtCore import QCoreApplication

from torchkeeper.artifacts.sshsig import short_key
from torchkeeper.gui.dialogs.ending import Outcome, compiled, took
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.jobs.notes import of_sign
from torchkeeper.link.words import say
from torchkeeper.link.words.problems import printable
from torchkeeper.stores.names import is_server

#: Reasons that are listed one by one; the list itself has them all.
_REASONS = 4


def _tr(text: str) -> str:
    return QCoreApplication.translate("Outcome", text)


def outcome(job: Job) -> Outcome:
    """How an export, a signing, an import or a copy ended."""
    if job.state is State.CANCELLED:
        # What the engine said of it; one that was killed is no job that was cancelled.
        left = job.partly or _tr("Nothing was left behind.")
        if job.kind == "warm":
            left = _tr("What was compiled until then stays; nothing is left half-written.")
        if is_server(job.place or ""):
            left = _tr("What had arrived stays; the same copy again goes on from there.")
        return Outcome("cancel", "muted", _tr("Cancelled"), [left])
    if job.state is State.FAILED:
        error = job.error
        said = [error.why, error.remedy] if error else []
        title = say.title(error.what) if error else _tr("It failed")
        return Outcome("error", "error", title, [line for line in said if line])
    if job.kind in ("warm", "verify", "prepare"):
        return compiled(job)
    if job.kind == "copy":
        return _copied(job)
    if job.kind == "sign":
        return _signed(job)
    return _exported(job) if job.kind == "export" else _imported(job)


def _exported(job: Job) -> Outcome:
    entries, size = job.result.get("entries") or 0, job.result.get("size") or 0
    output = str(job.result.get("output") or "")
    if not entries:
        return Outcome("warning", "warning", _tr("Nothing was exported"), [_tr(
            "A bundle can hold none of these entries, so none was written."
        )])  # fmt: skip
    lines = [
        _tr("{} ({}) are in {}, a file of {}.").format(
            say.count(entries, "entry", "entries"),
            say.content(job.result.get("bytes") or 0),
            printable(os.path.basename(output), 60),
            say.size(size),
        )
        if entries > 1
        else _tr("One entry ({}) is in {}, a file of {}.").format(
            say.content(job.result.get("bytes") or 0),
            printable(os.path.basename(output), 60),
            say.size(size),
        ),
        _tr("The file is in {}.").format(printable(os.path.dirname(output), 4096)),
    ]
    lines += _stays(job)
    if "signature" not in job.result:
        return Outcome("done", "good", _tr("Exported"), [*lines, *took(job)])
    lines += _trusting(job)
    return Outcome("done", "good", _tr("Exported and signed"), [*lines, *took(job)])


def _signed(job: Job) -> Outcome:
    name = printable(os.path.basename(job.place or ""), 60)
    before = job.result.get("before") or {}
    replaced = []
    if before.get("key") and before.get("fingerprint") != job.result["signature"]["fingerprint"]:
        replaced = [_tr("The signature that it had, with {}, was replaced.").format(
            printable(short_key(before), 200)
        )]  # fmt: skip
    title = _tr("{} is signed").format(name)
    return Outcome("done", "good", title, [*_trusting(job), *replaced, *took(job)])


def _trusting(job: Job) -> list[str]:
    """With which key a bundle was signed, and what others need to trust it."""
    others = _tr("Others import it unasked once your public key is among their signers.")
    return [f"{of_sign(job.result)}.", others]


def _copied(job: Job) -> Outcome:
    if job.made_bundle and not job.result.get("entries"):
        return Outcome("warning", "warning", _tr("Nothing was copied"), [_tr(
            "A bundle can hold none of these entries, so none was written."
        )])  # fmt: skip
    return _placed(job, _tr("Copied"), _tr("Nothing new was there to copy"))


def _imported(job: Job) -> Outcome:
    return _placed(job, _tr("Imported"), _tr("Nothing new was there to import"))


def _stays(job: Job) -> list[str]:
    return list(filter(None, [say.stays(job.result)]))


def _placed(job: Job, done: str, nothing: str) -> Outcome:
    entries, there = job.result.get("entries") or 0, job.result.get("exists") or 0
    place = printable(job.place or "", 4096)
    lines = []
    if entries:
        lines.append(
            _tr("{} ({}) put into {}.").format(
                say.count(entries, "entry", "entries"),
                say.content(job.result.get("bytes") or 0),
                place,
            )
        )
    if renamed := job.result.get("renamed"):
        lines.append(
            _tr("{} renamed for this environment.").format(say.count(renamed, "object", "objects"))
        )
    if there:
        lines.append(
            _tr("{} there already, with the very same bytes.").format(
                say.count(there, "entry was", "entries were")
            )
        )
    if entries:
        return Outcome("done", "good", done, [*lines, *_stays(job), *took(job)])
    return Outcome("info", "muted", nothing, [*lines, _tr("{} is as it was.").format(place)])


def left_summary(job: Job) -> list[str]:
    """How many entries were left out for each reason, the most frequent first."""
    reasons = sorted(job.reasons.items(), key=lambda pair: -pair[1])
    lines = [f"{count:,} × {reason}" for reason, count in reasons[:_REASONS]]
    if len(reasons) > _REASONS:
        lines.append(_tr("and {} reasons more").format(len(reasons) - _REASONS))
    return lines
