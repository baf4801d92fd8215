"""What the name of a place tells of it, before anything of it is opened or loaded.

A kind of place that has an address derives from Scheme, and says what differs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchkeeper.artifacts.report import Report
    from torchkeeper.stores.shapes import Owned
    from torchkeeper.stores.store import Store

#: What a file that is to be a bundle is called.
SUFFIX = ".torchcache"


class Scheme:
    """What is known of all places whose names begin alike (stores.names.scheme_of)."""

    #: How their names begin, in small letters.
    begins: tuple[str, ...] = ()
    #: What is said of one where nothing more is known; "" where a look at the disk tells.
    word = "a server"
    #: Which checks of the doctor are made of one: their ``about``.
    checks = "server"
    #: Whether the name is a path on this machine: what is there is told without opening it.
    local = False
    #: Whether a password may be needed, which takes long to find.
    may_want_password = True
    #: Whether what is purged goes to a trash; otherwise it is gone for good.
    has_trash = False
    #: Whether sizes can be those on this machine's disk.
    on_disk = False
    #: Whether programs on other machines use it as well, as a rule.
    shared = True
    #: Whether programs can have it as their remote cache.
    remote_cache = False
    #: Whether it may hold objects that are built for a machine.
    holds_objects = False
    #: Whether a program can be run on a copy of it, to see whether it hits.
    verifiable = False
    #: Whether it knows when its entries go and were last used, and can be told how long to keep.
    keeps_times = False
    #: Whether only names are read where nobody wants to know more; entries come in no order then.
    lazy = False
    #: Whether what has arrived of a copy stays when that ends early.
    keeps_part = False
    #: Whether it is sent only what was read and compared before.
    wants_digests = False

    def normal(self, text: str) -> str:
        """A name as the place is kept by; one with an address is so already."""
        return text

    def parted(self, text: str) -> tuple[str, str | None]:
        """The normal name, and apart from it the password that stood in it. Raises Problem."""
        return self.normal(text), None

    def same(self, place: str, follow: bool) -> str:
        """What two names of one place have in common; follow: links."""
        return place

    def becomes(self, target: str) -> str:
        """What copying there makes: "folder", "bundle" or "server"."""
        return "server"

    def full_path(self, place: str, path: str) -> str:
        """The path of an entry as one would look for it from outside of the place."""
        return path

    def owners(self, place: str) -> list[Owned]:
        """Who else can change what is there, as far as a glance tells (folders.owners)."""
        return []

    def opened(self, place: str, report: Report, password: str | None = None) -> Store:
        """The place, open for reading; ``password`` where it wants one. Raises Problem."""
        raise NotImplementedError


class Path(Scheme):
    """Of a folder, or of a bundle, on this machine."""

    word = ""
    checks = "folder"
    local = has_trash = on_disk = holds_objects = verifiable = True
    may_want_password = shared = False

    def normal(self, text: str) -> str:
        return os.path.abspath(text)

    def same(self, place: str, follow: bool) -> str:
        try:
            return os.path.realpath(place) if follow else os.path.normpath(place)
        except OSError:  # nobody gets past such a link, nor there
            return os.path.normpath(place)

    def becomes(self, target: str) -> str:
        if os.path.isfile(target) or (target.endswith(SUFFIX) and not os.path.isdir(target)):
            return "bundle"
        return "folder"

    def full_path(self, place: str, path: str) -> str:
        return f"{place.rstrip('/')}/{path}"

    def owners(self, place: str) -> list[Owned]:
        from torchkeeper.stores.folders.owners import glance

        return glance(place)

    def opened(self, place: str, report: Report, password: str | None = None) -> Store:
        # Loaded where they are needed: an engine that lists a folder shall start at once.
        if os.path.isfile(place):
            from torchkeeper.stores.bundles.bundle import Bundle

            return Bundle(place, report)
        from torchkeeper.stores.folders.folder import Folder

        return Folder(place)
