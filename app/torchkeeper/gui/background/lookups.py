"""What the window looks up without an engine: each function waits for disks, and is called in a
thread that may (``gui.background.asides``). All return the result of a request.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchkeeper.link.kept.history import Past

_FINDING, _TRUSTING = threading.Lock(), threading.Lock()


def paths(some: Sequence[str]) -> dict[str, Any]:
    """``{"paths": [{path, what}]}``: what each is: a folder, a file or missing."""
    from torchkeeper.link.paths import what

    return {"paths": [{"path": path, "what": what(path)} for path in some]}


def room(path: str) -> dict[str, Any]:
    """``{"what", "free", "total"}``: what is at a path, and bytes of its file system; None where
    there is nothing, or nobody can say.
    """
    from torchkeeper.link.paths import what

    try:
        said = os.statvfs(path)
    except OSError:
        return {"what": what(path), "free": None, "total": None}
    free, total = said.f_bavail * said.f_frsize, said.f_blocks * said.f_frsize
    # A file system that has no size has no room either: nobody is told that it is full.
    told = {"free": free, "total": total} if total else {"free": None, "total": None}
    return {"what": what(path), **told}


def prepared() -> dict[str, Any]:
    """``{"prepared"}``: whether programs find a precompiled header here."""
    from torchkeeper.link.words import preparing

    return {"prepared": preparing.prepared()}


def offered(some: Sequence[str]) -> dict[str, Any]:
    """``{"paths": [{path, what}]}``: what each is offered as (``link.offered.kind``)."""
    from torchkeeper.link.offered import kind

    return {"paths": [{"path": path, "what": kind(path)} for path in some]}


def interpreters(add: str = "", remove: str = "") -> dict[str, Any]:
    """As of ``gui.background.finding.found``. Raises UserError."""
    from torchkeeper.gui.background.finding import found

    # One after the other, so that the last answer knows of all that was added.
    with _FINDING:
        return found(add, remove)


def keyring() -> dict[str, Any]:
    """``{"keyring"}``: whether there is one."""
    from torchkeeper.link import secrets

    return {"keyring": secrets.can_keep()}


def runs(forget: Sequence[str] = ()) -> dict[str, Any]:
    """``{"kept": Kept}``: the runs that are kept, after those to forget. Raises UserError."""
    from torchkeeper.link.kept import runs as every

    every.forget(forget)
    return {"kept": every.kept()}


def keep_jobs(some: Sequence[Past]) -> None:
    """Keep jobs that have ended. Raises UserError."""
    from torchkeeper.link.kept import history

    history.keep(some)


def past_jobs(forget: Sequence[str] | None = ()) -> dict[str, Any]:
    """``{"kept": history.Kept, "elsewhere": [running.Running]}``, after those to forget, None for
    all: the jobs that have ended, and those that other processes run. Raises UserError.
    """
    from torchkeeper.link.kept import history, running

    # First: what was cut off is in the history then.
    elsewhere = [job for job in running.found() if job.process != os.getpid()]
    if forget is None or forget:
        history.forget(forget)
    return {"kept": history.kept(), "elsewhere": elsewhere}


def text_saved(path: str, text: str) -> dict[str, Any]:
    """``{"path"}``: a text is written into a file. Raises UserError("text-unwritable")."""
    from torchkeeper.link.kept import whole
    from torchkeeper.link.words.problems import user_error

    try:
        whole.write_text(path, text)
    except OSError as e:
        raise user_error("text-unwritable", {"file": path, "why": e.strerror or str(e)}) from e
    return {"path": path}


def mark(place: str) -> dict[str, Any]:
    """``{"mark"}``: what a place is like, so that a change is seen. Looks at every folder in it."""
    from torchkeeper.link.kept import verified

    return {"mark": verified.mark(place)}


def last_verified(places: Sequence[str]) -> dict[str, Any]:
    """``{"verified": {place: (Verified, changed)}}``: what was verified last of places, and whether
    the place is another since.
    """
    from torchkeeper.link.kept import verified

    kept = ((place, verified.last(place)) for place in places)
    return {"verified": {place: (one, one.before_it_changed()) for place, one in kept if one}}


def keep_verified(
    place: str, before: str | None, python: str, result: dict[str, Any]
) -> dict[str, Any]:
    """``{"verified": Verified}``, kept. before: the mark from before it began; result: as
    ``verified.checked`` returned it.
    """
    from torchkeeper.link.kept import verified

    return {"verified": verified.keep(place, before, python, result)}


def keys(file: str = "") -> dict[str, Any]:
    """``{"keys": [Key], "without_agent", "wrong"}``: the keys to sign with (``link.keys.found``),
    before them that of a ``file``, if one is named, and why that is none. Raises UserError.
    """
    from torchkeeper.link import keys as every
    from torchkeeper.link.words.problems import UserError

    known = every.found()
    first, wrong = [], None
    try:
        first = [every.of_file(file)] if file else []
    except UserError as e:
        wrong = e
    keys = [*first, *known.keys]
    return {"keys": keys, "without_agent": known.without_agent, "wrong": wrong}


def signing_command(key: str, target: str, folder: str) -> dict[str, Any]:
    """``{"command"}``: what signs a file with a key (``link.keys.command``). Raises UserError."""
    from torchkeeper.link import keys as every

    return {"command": every.command(key, target, folder)}


def signature_text(target: str) -> dict[str, Any]:
    """``{"text"}``: the signature that was made of a file. Raises UserError."""
    from torchkeeper.link import signing

    return {"text": signing.signature_of(target)}


def public_key(path: str) -> dict[str, Any]:
    """``{"public": PublicKey}``: that of a file. Raises UserError."""
    from torchkeeper.link import signers as every

    return {"public": every.public_key(path)}


def signers(change: Callable[[], object] | None = None) -> dict[str, Any]:
    """``{"signers": [Signer], "required", "file"}``: whose signatures are trusted, and whether one
    is required, after a ``change``. Raises UserError.
    """
    from torchkeeper.link import signers as every

    with _TRUSTING:
        if change is not None:
            change()
        found, required = every.signers(), every.required()
    return {"signers": found, "required": required, "file": every.signers_file()}
