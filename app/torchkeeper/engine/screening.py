"""Secrets are looked for before a bundle appears, or a place of others is copied to."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from torchkeeper.artifacts import remote
from torchkeeper.artifacts.entry import PORTABLE, Problem
from torchkeeper.artifacts.leakforms import Leak
from torchkeeper.artifacts.leaks import Scanner
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session, place_of, tell_left
from torchkeeper.stores.bundles.parts import Makers
from torchkeeper.stores.describe import Carried
from torchkeeper.stores.folders.owners import Accounts
from torchkeeper.stores.items import Left
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.screening import Screen

if TYPE_CHECKING:
    from torchkeeper.engine.messages import bundles as msg

    _Leaving = msg.ExportParams | msg.PlanExportParams | msg.CopyParams

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


def screen_of(
    session: Session, params: _Leaving, report: Report, left: Left, target: str, dry: bool = False
) -> Screen:
    """What looks at the entries of a request that go to a target (as of ``stores.copying``).
    Where the request has no choice ``secrets``, any secret is an end of it, but where it is
    ``dry``. Findings ``secret={…}`` tell each, and ``leaks={…}`` all.
    """
    kinds = remote.KINDS if target == "server" else PORTABLE
    choice = params.get("secrets")
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


def cleared(makers: Makers | None, params: _Leaving) -> Makers | None:
    """Who tells how objects were built, unless a command that would be told holds a secret."""
    if makers is None or params.get("secrets") == "allow":
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


def quiet(session: Session, report: Report) -> Screen:
    """A search that reports secrets and stops nothing."""
    return Screen(report, partial(tell_left, report), session.reader, "allow", own_names())


def leaks(session: Session, params: msg.LeaksParams, report: Report) -> msg.LeaksResult:
    """What of ``place``, or of its entry of a ``kind`` at a ``path``, nobody else should read:
    findings ``secret={…}``, and the summary. Nothing is changed. Raises Problem("entry-gone").
    """
    with session.store(place_of(params["place"]), report) as store:
        store.be_patient()
        if "path" in params:
            named = params["kind"], params["path"]
            items = [one for one in store.items_beside(named[1], report) if one.identity == named]
            if not items:
                raise Problem("entry-gone", path=named[1])
            batches = store.read(items, session.reader, report)
        else:
            batches = store.entries(session, report, carried=Carried(facts=False))
        every = [one for batch in batches for one in batch]
        told = quiet(session, report)
        some, source = store.for_bundle(every, lambda *_: None)
        told.described(some, source)
        return told.told.to_json()
