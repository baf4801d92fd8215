"""What places tell of themselves, as types of JSON. Loaded as those of ``artifacts.shapes``."""

from typing import TypedDict

from torchkeeper.artifacts.builds import Builder, MadeIn
from torchkeeper.artifacts.shapes import Amount, Sized, Tally


class Who(TypedDict):
    """Somebody who is neither this user nor root (``folders.owners.Who``)."""

    kind: str
    number: int
    name: str | None


class Writer(TypedDict):
    """Who else can change a file, a folder or a link; owned: because it belongs to them."""

    path: str
    who: Who
    owned: bool


class More(TypedDict, total=False):
    """What only some findings about owners say (``folders.owners``)."""

    folders: int
    files: int
    users: int
    owners: list[tuple[Who, int]]
    sticky: bool
    owned: bool
    mine: bool
    host: str
    port: int
    reach: str
    all: bool


class _Owned(TypedDict):
    what: str
    grave: bool
    place: str


class Owned(_Owned, More, total=False):
    """Who else can change a folder (``folders.owners``) or a server (``redis.server``)."""

    root: str | None
    default: bool
    path: str
    who: Who
    among: str


class Last(Sized):
    """What undo puts back, or takes away: ``undid``, "purge" or "import". made: seconds since the
    epoch.
    """

    undid: str
    made: float | None


class Trash(Amount):
    """What lies in the trash of a folder; last: None where undo puts nothing back."""

    receipts: int
    last: Last | None


class ReceiptRow(Amount):
    """One purge in the trash, or an import: how much that has ``placed``, which is not there."""

    receipt: str
    made: float | None
    placed: Amount | None


class Orphans(Amount):
    """How much nothing needs; whole: whether that is known of all there is."""

    whole: bool


class Using(TypedDict):
    """A process that uses a folder (``folders.in_use.User``); entries: how many it has open."""

    pid: int
    name: str
    why: str
    holds_all: bool
    entries: int


class Unseen(TypedDict):
    """A process of another user, which cannot be looked into. user: a name, or a number."""

    pid: int
    name: str
    user: str


class InUse(TypedDict):
    """What uses a folder (``folders.in_use.InUse``), in all ``count``. all: any entry may be
    needed. unseen: some of those that are ``hidden``.
    """

    processes: list[Using]
    count: int
    hidden: int
    unseen: list[Unseen]
    sees: str
    all: bool


class Users(InUse):
    """What uses a folder that is to be purged; left: how much stays therefore."""

    left: int
    stays: Tally


class CutOff(TypedDict):
    """What was cut off in a place, and what has become of it (``folders.guard``)."""

    place: str
    what: str
    outcome: str
    made: float | None
    entries: int
    files: int
    bytes: int
    left: int
    file: str


class _Done(Amount):
    receipt: str | None


class Done(_Done, total=False):
    """What a purge or an undo did. receipt: for undo, or None. failed: what stays on a server."""

    failed: int


class Strays(TypedDict, total=False):
    """How many keys of a server are not ours, and how many may be kernels of another format."""

    others: int
    kernels_maybe: int


class Room(TypedDict, total=False):
    """Bytes of a disk, or of a server with a limit; disk: what places on one have in common."""

    free_bytes: int
    total_bytes: int
    disk: str


class Claims(TypedDict, total=False):
    """What a bundle says of its objects, as ``builds.Claims``; nothing of other places."""

    native: Builder | None
    objects: int
    built: int
    unportable: int
    portable: int


class _Beside(TypedDict):
    trash: Trash | None


class Beside(_Beside, Strays, Claims, total=False):
    """What is said of a place besides its entries. format: of what is no folder. made_in: where all
    of it was made; that, and what follows (``artifacts.builds.Claims``), of a bundle.
    """

    owners: list[Owned] | None
    format: str
    made_in: MadeIn | None


class Space(TypedDict):
    """What a file system says of a folder, or of the nearest one above that is there. free: bytes
    this user may still write, or None where it does not tell. why: why the folder cannot be
    written, or None where it can. exists: whether the folder itself is there.
    """

    free: int | None
    why: str | None
    exists: bool
