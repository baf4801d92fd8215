"""Operations about places, and what they hold; about servers, and what more they tell."""

from __future__ import annotations

from typing import TypedDict, final

from torchkeeper.artifacts.shapes import Amount, Fault, Held, Sized
from torchkeeper.engine.messages import Dying, Nothing, OfPlace, Select
from torchkeeper.engine.messages.bundles import SignatureResult
from torchkeeper.stores.shapes import Beside, Orphans, Owned, Strays, Trash


class PlacesParams(TypedDict, total=False):
    """sizes: what folders and bundles hold is told, for which they are looked through."""

    sizes: bool


PlacesResult = Nothing


class _PlacesRow(TypedDict):
    path: str
    reason: str
    exists: bool


class PlacesRow(_PlacesRow, total=False):
    """A ``stores.places.Place``, and what it holds, where that was looked at; problem: why not.
    ranks: the names of those in the folder of a key of vLLM's.
    """

    problem: str
    ranks: list[str]
    owners: list[Owned] | None
    entries: int
    locks: int
    headers: int
    unknown: int
    bytes: int
    content_bytes: int
    apart_bytes: int


class ListParams(OfPlace, total=False):
    """unless: the mark of an earlier listing, or an empty text to be told one. times: also when a
    server drops entries. facts: also what only its payloads tell. all: what takes longer to be read
    than the place is given is read, too. signers: a file. leaks: of a bundle, also what ``leaks``
    tells, as that reads each byte once more.
    """

    filter: str
    unless: str | None
    envs: list[str] | None
    times: bool
    facts: bool
    all: bool
    signers: str | None
    leaks: bool


class ListResult(Beside, total=False):
    """What a listing comes to; with ``same`` nothing was listed, and there are no counts. All but
    ``apart_…``, and locks, headers and unknown, is of entries alone.
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


DuParams = OfPlace


class DuKind(Amount):
    kind: str


class DuResult(Strays):
    """How much a place holds; disk_bytes: without the trash, None of what is on no disk."""

    kinds: list[DuKind]
    trash: Trash | None
    orphans: Orphans | None
    owners: list[Owned] | None
    disk_bytes: int | None


class SumParams(OfPlace, total=False):
    select: Select


class Summed(Amount):
    """How much, and what compiling it took; compile_s: of the ``timed`` that say so."""

    compile_s: float
    timed: int


class SumKind(Summed):
    kind: str


class SumResult(Summed):
    """What a selection comes to; files and bytes are of the entries alone."""

    kinds: list[SumKind]


class _OverviewParams(Dying):
    places: list[str]


class OverviewParams(_OverviewParams, total=False):
    """envs: whose verdicts are told; everywhere: where stale is stale, by default the same. facts:
    values of servers are fetched. filter: what could go.
    """

    envs: list[str] | None
    everywhere: list[str] | None
    facts: bool
    filter: str


@final
class GroupRow(Sized):
    """How much of a place is alike; age: one of ``summing.AGES``, or empty. compiler: whose it is,
    of the kind jit, or empty.
    """

    place: str
    kind: str
    torch: str
    age: str
    verdict: str
    compiler: str
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
    places: list[PlaceLooked]


class Looking(OfPlace, total=False):
    """The place that is being looked at; of an overview its number, and of how many."""

    number: int
    of: int


class HoldParams(TypedDict):
    items: list[tuple[str, str]]


class HoldResult(TypedDict):
    held: int


class FactsParams(OfPlace, HoldParams):
    """items: the kind and path of each entry that is asked for."""


class FactsResult(TypedDict):
    entries: int


ServerParams = OfPlace


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


class SecretParams(OfPlace):
    """password: None to forget that of a place."""

    password: str | None


SecretResult = Nothing


class TtlParams(OfPlace, total=False):
    """ttl_s: seconds from now on, None for no end."""

    select: Select
    ttl_s: float | None


class TtlResult(TypedDict):
    entries: int
    failed: int
