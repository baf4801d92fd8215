"""What the name of a place tells of it, before anything of it is opened or loaded.

A kind of place that has an address derives from Scheme, and says what differs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores.redis import SCHEMES, through

if TYPE_CHECKING:
    from torchkeeper.artifacts.report import Report
    from torchkeeper.stores.redis.address import Address
    from torchkeeper.stores.shapes import Owned
    from torchkeeper.stores.store import Store

#: What a file that is to be a bundle is called.
SUFFIX = ".torchcache"
#: And one that is to be a mega-cache, as PyTorch's own examples call it.
MEGA_SUFFIX = ".bin"


def is_mega_cache(file: str) -> bool:
    """Whether a file that is to be written is called as a mega-cache is."""
    return file.endswith(MEGA_SUFFIX)


def is_called_file(place: str) -> bool:
    """Whether a place is called as a file is that holds entries, wherever it is."""
    return place.endswith((SUFFIX, MEGA_SUFFIX))


class Scheme:
    """What is known of all places whose names begin alike (``scheme_of``)."""

    #: How their names begin, in small letters.
    begins: tuple[str, ...] = ()
    #: What is said of one where nothing more is known; "" where a look at the disk tells.
    word = "a server"
    #: Which checks of the doctor are made of one: their ``about``.
    checks = "server"
    #: Whether the name is a path on this machine: what is there is told without opening it.
    local = False
    #: Whether it is on another machine (``machine``).
    elsewhere = False
    #: Whether a password may be needed, which takes long to find.
    may_want_password = True
    #: Whether what is purged goes to a trash; otherwise it is gone for good.
    has_trash = False
    #: Whether it is a folder or a bundle, on whatever machine.
    is_files = False
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

    def machine(self, place: str) -> str:
        """The machine whose engines are asked about it, such as ``ssh://gpu1``; "" is this one."""
        return ""

    def way(self, place: str) -> str:
        """The machine through which it is reached, whoever is asked about it; "" is this one."""
        return self.machine(place)

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
        return f"{place.rstrip('/')}/{path}" if self.is_files else path

    def owners(self, place: str) -> list[Owned]:
        """Who else can change what is there, as far as a glance tells (folders.owners)."""
        return []

    def opened(self, place: str, report: Report, password: str | None = None) -> Store:
        """The place, open for reading; ``password`` where it wants one. Raises Problem."""
        raise Problem("place-elsewhere", place=place)


class Path(Scheme):
    """Of a folder, or of a bundle, on this machine."""

    word = ""
    checks = "folder"
    local = is_files = has_trash = on_disk = holds_objects = verifiable = True
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


class RedisScheme(Scheme):
    """Of a database of a Redis server. What it needs is loaded where one is named."""

    begins = SCHEMES
    remote_cache = keeps_times = lazy = keeps_part = wants_digests = True

    def parted(self, text: str) -> tuple[str, str | None]:
        from torchkeeper.stores.redis.address import parse

        address, password = parse(text)
        return str(address), password

    def way(self, place: str) -> str:
        address = _address(place)
        return address.way if address else ""

    def same(self, place: str, follow: bool) -> str:
        """Its host, port and database, and where it is reached from."""
        address = _address(place)
        if address is None:
            return place
        if address.scheme == "unix":
            return f"{address.way}unix://{os.path.normpath(address.path)}?{address.db}"
        host = "localhost" if address.host in ("127.0.0.1", "::1") else address.host.lower()
        # By whatever user and however secured, it is the same server.
        return f"{address.way}redis://{host}:{address.port}/{address.db}"

    def owners(self, place: str) -> list[Owned]:
        """What the address alone tells, and the variables in which programs find it."""
        from torchkeeper.stores.redis import server
        from torchkeeper.stores.redis.address import from_environment

        address = _address(place)
        if address is None:
            return []
        named = [one.password for one in from_environment(os.environ) if one.address == address]
        return server.glance(address, bare=None in named)

    def opened(self, place: str, report: Report, password: str | None = None) -> Store:
        from torchkeeper.stores.redis.store import Redis

        return Redis(place, report, password)


class SshScheme(Scheme):
    """Of a folder, or of a bundle, on another machine, whose engine knows it by its path. What it
    needs is loaded where one is named.
    """

    begins = ("ssh://",)
    word = "on another machine"
    checks = "folder"
    elsewhere = is_files = has_trash = holds_objects = True
    may_want_password = shared = False

    def machine(self, place: str) -> str:
        from torchkeeper.stores.ssh import parse

        return parse(place).machine

    def parted(self, text: str) -> tuple[str, str | None]:
        from torchkeeper.stores.ssh import parse

        return str(parse(text)), None

    def becomes(self, target: str) -> str:
        return "bundle" if target.endswith(SUFFIX) else "folder"


def _address(place: str) -> Address | None:
    from torchkeeper.stores.redis.address import parse

    try:
        return parse(place).address
    except Problem:
        return None


#: The kinds of places that have an address.
_ADDRESSED: tuple[Scheme, ...] = (RedisScheme(), SshScheme())
_PATH = Path()


def scheme_of(place: str) -> Scheme:
    """What is known of a place by its name."""
    # The scheme of a URL may be in capitals; no scheme is longer than this.
    begin = through(place)[1][:10].lower()
    return next((one for one in _ADDRESSED if begin.startswith(one.begins)), _PATH)
