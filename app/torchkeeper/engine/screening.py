"""Secrets are looked for before a bundle is written, or a place of others is copied to."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping
from functools import partial
from typing import Any

from torchkeeper.artifacts import remote
from torchkeeper.artifacts.entry import PORTABLE, Problem
from torchkeeper.artifacts.leakforms import Leak
from torchkeeper.artifacts.leaks import Scanner
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session, place_of, tell_left
from torchkeeper.stores.bundles.building import Makers
from torchkeeper.stores.describe import Described
from torchkeeper.stores.folders.accounts import Accounts
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.screening import CHOICES, Left, Screen
from torchkeeper.stores.store import Json, Store

#: Names that say nothing of anybody.
_COMMON = frozenset({
    "root", "user", "users", "admin", "administrator", "ubuntu", "debian", "centos", "fedora",
    "runner", "jenkins", "docker", "nobody", "guest", "test", "build", "builder", "worker", "node",
    "host", "localhost", "server", "linux", "machine", "container", "python", "torch", "triton",
    "cuda", "default", "main", "work", "home", "cache", "model", "train", "data", "code",
})  # fmt: skip


def own_names() -> dict[str, str]:
    """The names of this user and this machine that one would know them by: "user" or "host"."""
    found: dict[str, str] = {}
    with contextlib.suppress(ImportError, KeyError):
        import pwd

        found[pwd.getpwuid(os.getuid()).pw_name] = "user"
    with contextlib.suppress(AttributeError):
        found[os.uname().nodename] = "host"
    return {n: what for n, what in found.items() if len(n) > 3 and n.lower() not in _COMMON}


def choice_of(params: Mapping[str, Any]) -> str | None:
    """What a request says is to become of secrets. Raises ValueError for anything else."""
    choice = params.get("secrets")
    if choice is not None and choice not in CHOICES:
        raise ValueError("secrets is none of the choices")
    return None if choice is None else str(choice)


def screen_of(
    session: Session,
    params: Mapping[str, Any],
    report: Report,
    left: Left,
    target: str,
    dry: bool = False,
) -> Screen:
    """What looks at the entries of a request that go to a target, as ``stores.copying`` calls it.

    Of a request, ``secrets`` is the choice: "allow", "redact", "leave", or nothing, with which
    secrets are an end of it, but where it is ``dry``. Findings ``secret={…}`` tell each, and
    ``leaks={…}`` all, as ``screening.Told``.
    """
    kinds = remote.KINDS if target == "server" else PORTABLE
    choice = choice_of(params)
    return Screen(report, left, session.reader, choice, own_names(), dry, kinds)


def is_shared(target: str) -> bool:
    """Whether others read or write what is copied to a place: all but the user's own folder."""
    if scheme_of(target).becomes(target) != "folder":
        return True
    folder = os.path.abspath(target)
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    try:
        status = os.stat(folder)
    except OSError:
        return False  # whoever copies there says so
    # In a folder such as /tmp everybody has what is theirs.
    if status.st_mode & stat.S_ISVTX and folder != os.path.abspath(target):
        return False
    return status.st_uid != os.getuid() or bool(Accounts().writers(folder, status))


def cleared(makers: Makers | None, params: Mapping[str, Any]) -> Makers | None:
    """Who tells how objects were built, unless a command that would be told holds a secret."""
    if makers is None or choice_of(params) == "allow":
        return makers
    for text in _texts(params.get("builders")):
        found = Scanner().feed(text.encode("utf-8", "replace"), last=True)
        if any(isinstance(one, Leak) for one in found):
            return None
    return makers


def _texts(said: object) -> list[str]:
    if isinstance(said, str):
        return [said]
    if isinstance(said, Mapping):
        said = list(said.values())
    return [text for one in said for text in _texts(one)] if isinstance(said, list) else []


def leaks(session: Session, params: Json, report: Report) -> Json:
    """What of ``place``, or of its entry of a ``kind`` at a ``path``, nobody else should read:
    findings ``secret={…}``, and the summary of ``screening.Told``. Nothing of it is changed.
    """
    with session.store(place_of(params, "place"), report) as store:
        store.be_patient()
        if "path" in params:
            every = _entry(session, store, params, report)
        else:
            every = [one for batch in store.entries(session, report) for one in batch]
        quiet = Screen(report, partial(tell_left, report), session.reader, "allow", own_names())
        some, source = store.for_bundle(every, lambda *_: None)
        quiet.described(some, source)
        return quiet.told.to_json()


def _entry(
    session: Session, store: Store, params: Mapping[str, Any], report: Report
) -> list[Described]:
    """Raises Problem("entry-gone")."""
    named = params["kind"], params["path"]
    items = [item for item in store.items_beside(named[1], report) if item.identity == named]
    if not items:
        raise Problem("entry-gone", path=named[1])
    return [one for batch in store.read(items, session.reader, report) for one in batch]
