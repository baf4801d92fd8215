"""What can be known of a copy's target before anything is read, so that nobody waits in vain."""

from __future__ import annotations

import os
import zipfile

from torchkeeper.artifacts import manifest, megacache
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.scheme import SUFFIX
from torchkeeper.stores.store import Store


def check_other(source: Store, target: str) -> None:
    """Raises Problem("copy-onto-itself" | "copy-into-itself" | "place-unreadable").

    Of a server that has another name only ``check_target`` knows.
    """
    same = source.place == target
    if scheme_of(source.place).local and scheme_of(target).local:
        try:
            here, there = os.path.realpath(source.place), os.path.realpath(target)
        except OSError as e:  # at some links of /proc
            raise Problem("place-unreadable", place=target, why=e.strerror) from e
        same = here == there
        folders = os.path.isdir(here) and scheme_of(target).becomes(target) == "folder"
        if folders and not same and os.path.commonpath([here, there]) == here:
            raise Problem("copy-into-itself", place=target)
    if same:
        raise Problem("copy-onto-itself", place=target)


def check_target(
    source: Store,
    target: str,
    password: str | None,
    report: Report,
    replace: bool = False,
    dry: bool = False,
) -> None:
    """See whether a copy can be made at all; ``dry``: whether it can be foretold.

    Raises Problem as ``check_other``, "place-not-folder" for what no folder can be made of,
    "not-a-bundle" for a file that is none and is called otherwise, "output-exists" for one that
    is not to be replaced, "server-read-only", and as stores.redis.store.Redis.
    """
    check_other(source, target)
    what = scheme_of(target).becomes(target)
    if what == "server":
        _check_server(source, target, password, report, dry)
    elif what == "bundle":
        if not _may_be_replaced(target):
            raise Problem("not-a-bundle", file=target)
        if not dry and not replace and os.path.isfile(target):
            raise Problem("output-exists", file=target)
    else:
        root = os.path.realpath(target)
        if os.path.lexists(root):
            Folder(root)


def _check_server(
    source: Store, target: str, password: str | None, report: Report, dry: bool
) -> None:
    from torchkeeper.stores.redis.store import Redis

    with Redis(target, report, password) as store:
        if source.same_as(store):
            raise Problem("copy-onto-itself", place=target)
        if not dry:
            store.check_writable()


def _may_be_replaced(file: str) -> bool:
    """Whether a file is a bundle, is called one, or holds nothing; so that no other is lost."""
    if file.endswith(SUFFIX) or not os.path.isfile(file):
        return True
    try:
        with open(file, "rb") as stream:
            head = stream.read(12)
            if not head or megacache.looks_like(head):
                return True
            with zipfile.ZipFile(stream) as archive:
                return manifest.NAME in archive.namelist()
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        return False
