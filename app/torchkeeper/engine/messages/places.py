"""Operations about places, and what they hold; about servers, and what more they tell."""

from __future__ import annotations

from typing import TypedDict, final

from torchkeeper.artifacts.shapes import Amount, EntryRow, Fault, Held, Sized
from torchkeeper.engine.messages.bundles import SignatureResult
from torchkeeper.engine.messages.selecting import Dying, Select
from torchkeeper.stores.shapes import Beside, Orphans, Owned, Strays, Trash


class PlacesParams(TypedDict, total=False):
    """sizes: what folders and bundles hold is told, for which they are looked through."""

    sizes: bool


class PlacesResult(TypedDict):
    """All is in the rows."""


class _PlacesRow(TypedDict):
    path: str
    reason: str
    exists: bool


class PlacesRow(_PlacesRow, total=False):
    """A place (``stores.places.Place``), and where it was looked through what it holds.

    problem: the code of why it could not be.
    """

    problem: str
    owners: list[Owned] | None
    entries: int
    locks: int
    headers: int
    unknown: int
    bytes: int
    content_bytes: int
    apart_bytes: int


class _ListParams(TypedDict):
    place: str


class ListParams(_ListParams, total=False):
    """unless: the mark of an earlier listing, or an empty text to be told one. times: also when a
    server drops entries. facts: also what only its payloads tell. all: what takes longer to be read
    than the place is given is read, too. signers: a file.
    """

    filter: str
    unless: str | None
    envs: list[str] | None
    times: bool
    facts: bool
    all: bool
    signers: str | None


class ListResult(Beside, total=False):
    """What a listing comes to; with ``same`` nothing was listed, and there are no counts.

    Files, bytes, and how many are broken, unread or orphans are of entries alone, ``apart_…`` of
    what is counted apart. signature: as of the operation ``signature``.
    """

    same: bool
    mark: str
    entries: int
    locks: int
    headers: int
    unknown: int
    files: int
    bytes: int
    content_bytes: int
    broken: int
    unread: int
    orphans: int
    apart_files: int
    apart_bytes: int
    signature: SignatureResult


ListRow = EntryRow


class DuParams(TypedDict):
    """A place."""

    place: str


class DuKind(Amount):
    """How much a place holds of a kind."""

    kind: str


class DuResult(Strays):
    """How much a place holds; disk_bytes: without the trash, None of what is on no disk."""

    kinds: list[DuKind]
    trash: Trash | None
    orphans: Orphans | None
    owners: list[Owned] | None
    disk_bytes: int | None


class _SumParams(TypedDict):
    place: str


class SumParams(_SumParams, total=False):
    """A selection of a place."""

    select: Select


class Summed(Amount):
    """How much, and what compiling it took; compile_s: of the ``timed`` that say so."""

    compile_s: float
    timed: int


class SumKind(Summed):
    """The same of a kind."""

    kind: str


class SumResult(Summed):
    """What a selection comes to; files and bytes are of the entries alone."""

    kinds: list[SumKind]


class _OverviewParams(Dying):
    places: list[str]


class OverviewParams(_OverviewParams, total=False):
    """envs: those whose verdicts are told. everywhere: those in all of which stale is stale, by
    default the same. facts: values of servers are fetched.
    """

    envs: list[str] | None
    everywhere: list[str] | None
    facts: bool


@final
class GroupRow(Sized):
    """How much of a place is alike; age: one of ``summing.AGES``, or empty."""

    place: str
    kind: str
    torch: str
    age: str
    verdict: str
    compile_s: float
    timed: int


@final
class ReclaimRow(Amount):
    """How much of a place could go for a reason, as far as it is known; why: why it is not."""

    place: str
    reclaim: str
    why: Fault | None


OverviewRow = GroupRow | ReclaimRow


class PlaceLooked(Held):
    """What was found in a place. rests: what last uses rest on, one of ``folders.folder.RESTS``."""

    place: str
    trash_bytes: int
    free_bytes: int | None
    total_bytes: int | None
    disk: str | None
    rests: str | None
    problem: Fault | None


class OverviewResult(TypedDict):
    """All places, in the order in which they were named."""

    places: list[PlaceLooked]


class _Looking(TypedDict):
    place: str


class Looking(_Looking, total=False):
    """The place that is being looked at; of an overview its number, and of how many."""

    number: int
    of: int


class HoldParams(TypedDict):
    """The kind and path of some entries."""

    items: list[tuple[str, str]]


class HoldResult(TypedDict):
    """How many there are by now."""

    held: int


# Operations about servers.


class FactsParams(TypedDict):
    """items: the kind and path of each entry that is asked for."""

    place: str
    items: list[tuple[str, str]]


class FactsResult(TypedDict):
    """entries: how many were told."""

    entries: int


class ServerParams(TypedDict):
    """A server."""

    place: str


class ServerResult(TypedDict):
    """The page of a server, as of ``stores.redis.server.Server``; None is what it did not say."""

    place: str
    version: str | None
    uptime_s: int | None
    used_memory: int | None
    max_memory: int | None
    policy: str | None
    evicted: int | None
    hits: int | None
    misses: int | None
    keys: int | None
    expiring: int | None
    role: str | None
    read_only: bool
    quiet: bool
    clients: int | None
    forbidden: list[str]
    meanings: list[str]
    changes: dict[str, str | None]
    owners: list[Owned]


class SecretParams(TypedDict):
    """password: None to forget that of a place."""

    place: str
    password: str | None


class SecretResult(TypedDict):
    """Nothing."""


class _TtlParams(TypedDict):
    place: str


class TtlParams(_TtlParams, total=False):
    """ttl_s: seconds from now on, None for no end."""

    select: Select
    ttl_s: float | None


class TtlResult(TypedDict):
    """How many entries have a new time to live, and how many could not be given one."""

    entries: int
    failed: int
