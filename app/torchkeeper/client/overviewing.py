"""What the caches of a machine hold and cost, added up from the rows of ``engine.overviewing``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from torchkeeper.artifacts import entry
from torchkeeper.artifacts.jits.known import COMPILERS
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.client.words.say import version
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Fault, Sized, Tally
    from torchkeeper.engine.messages.places import GroupRow, OverviewRow, PlaceLooked

DIMENSIONS = ("place", "kind", "torch", "age", "verdict")
#: How long ago entries were last changed, the newest first; "" where no time is kept.
AGES = ("day", "week", "month", "quarter", "older", "")
#: Why something could go, in the order in which it is told; "trash" is what has gone before.
REASONS = ("stale", "broken", "orphan", "unused", "budget", "needless", "trash")
#: Problems of places that are counted with another.
LEFT_OUT = frozenset({"place-same", "place-within"})
#: Verdicts of what a program finds, if it asks for it as it was made.
_USABLE = ("usable", "conditional")
_TOTAL = "total"


@dataclass
class Totals:
    """So many entries, and their content. compile_s: seconds that the ``timed`` of them took to
    compile; judged: those of which that is known, of these usable (or conditional) and unsafe ones.
    What is counted apart (``artifacts.entry.tally``) has ``apart_bytes``.
    """

    entries: int = 0
    bytes: int = 0
    locks: int = 0
    headers: int = 0
    unknown: int = 0
    apart_bytes: int = 0
    compile_s: float = 0.0
    timed: int = 0
    judged: int = 0
    judged_bytes: int = 0
    usable: int = 0
    usable_bytes: int = 0
    unsafe: int = 0

    def add(self, other: Totals) -> None:
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def counts(self) -> Tally:
        return _counts(vars(self))

    @property
    def share(self) -> float | None:
        """Which part of the judged entries is usable; None where none was judged."""
        return self.usable / self.judged if self.judged else None

    @property
    def share_bytes(self) -> float | None:
        return self.usable_bytes / self.judged_bytes if self.judged_bytes else None


class Part(NamedTuple):
    value: str
    totals: Totals


class Reclaim(NamedTuple):
    """What could go for a reason: counts as of ``artifacts.entry.tally``, and the bytes that come
    free on a folder's disk, or a server's content. why: for what nobody can know.
    """

    counts: Tally
    bytes: int
    why: UserError | None = None
    on_disk: bool = True

    @property
    def some(self) -> bool:
        return any(self.counts[name] for name in entry.COUNTS) or self.bytes > 0

    @property
    def told(self) -> Sized:
        return {**self.counts, **entry.measured(self.bytes, on_disk=self.on_disk)}


def added(parts: Sequence[Sized]) -> Sized:
    """Several as one. Of a server nothing is on a disk: where it is among others, it counts so."""
    counts = entry.tally(())
    for name in entry.COUNTS:
        counts[name] = sum(one[name] for one in parts)
    on_disk = not parts or any("disk_bytes" in one for one in parts)
    return {**counts, **entry.measured(sum(one["bytes"] for one in parts), on_disk=on_disk)}


def _together(some: Sequence[Reclaim], why: UserError | None = None) -> Reclaim:
    told = added([one.told for one in some])
    return Reclaim(_counts(told), told["bytes"], why, "disk_bytes" in told)


@dataclass
class PlaceTold:
    """What the engine said of a place. disk: the same of places that share one, and its room."""

    place: str
    counts: Tally = field(default_factory=lambda: entry.tally(()))
    bytes: int = 0
    apart_bytes: int = 0
    trash_bytes: int = 0
    free_bytes: int | None = None
    total_bytes: int | None = None
    disk: str = ""
    rests: str | None = None
    problem: UserError | None = None

    @property
    def entries(self) -> int:
        return self.counts["entries"]

    @property
    def left_out(self) -> bool:
        """Whether it is counted with another."""
        return self.problem is not None and self.problem.code in LEFT_OUT

    @property
    def failed(self) -> bool:
        return self.problem is not None and not self.left_out


#: What kinds are told apart by: entries of the kind jit by their compiler, where that is known.
_OF_JIT = entry.KINDS.index("jit")
KINDS = (*entry.KINDS[:_OF_JIT], *COMPILERS, *entry.KINDS[_OF_JIT:])
#: The values of dimensions in their order; places have that in which they were told.
_ORDERS = {"kind": KINDS, "age": AGES, "verdict": (*entry.VERDICTS, "")}
#: A group: its value in each of DIMENSIONS.
_Key = tuple[str, str, str, str, str]


@dataclass
class Overview:
    """The sums of what was heard so far. Rows may come in any order."""

    groups_of: dict[_Key, Totals] = field(default_factory=dict, repr=False)
    _reclaim: dict[tuple[str, str], Reclaim] = field(default_factory=dict, repr=False)
    #: What was said of each place, in the order in which it was.
    places: dict[str, PlaceTold] = field(default_factory=dict)

    def add(self, rows: Iterable[OverviewRow]) -> None:
        for row in rows:
            if "reclaim" not in row:
                self._add_group(row)
            elif (reason := row["reclaim"]) in REASONS or reason == _TOTAL:
                about = row["bytes"], _problem(row["why"]), "content_bytes" not in row
                self._reclaim[row["place"], reason] = Reclaim(_counts(row), *about)

    def _add_group(self, row: GroupRow) -> None:
        # A newer engine may know more kinds, ages and verdicts.
        kind, age, verdict = row["kind"], row["age"], row["verdict"]
        kind = kind if kind in entry.KINDS else "unknown"
        key = (
            row["place"],
            row["compiler"] if kind == "jit" and row["compiler"] in COMPILERS else kind,
            row["torch"],
            age if age in AGES else "",
            verdict if verdict in entry.VERDICTS or not verdict else "unknown",
        )
        size, apart = row["bytes"], key[1] in entry.COUNTED_APART
        counts = entry.tallied(sum(row[name] for name in entry.COUNTS), key[1])
        entries = counts["entries"]
        judged, usable = key[4] not in ("", "unknown"), key[4] in _USABLE
        more = Totals(
            entries, 0 if apart else size, counts["locks"], counts["headers"], counts["unknown"],
            size if apart else 0, row["compile_s"], row["timed"],
            entries * judged, size * judged, entries * usable, size * usable,
            entries * (key[4] == "unsafe"),
        )  # fmt: skip
        self.groups_of.setdefault(key, Totals()).add(more)

    def told(self, place: PlaceLooked) -> PlaceTold:
        """What a ``looked`` says, or a place of the result; may be told twice."""
        room = place["trash_bytes"], place["free_bytes"], place["total_bytes"], place["disk"] or ""
        size, problem = (place["bytes"], place["apart_bytes"]), _problem(place["problem"])
        about = *size, *room, place["rests"], problem
        one = self.places[place["place"]] = PlaceTold(place["place"], _counts(place), *about)
        return one

    def join(self, other: Overview) -> None:
        """Add what was heard of other places."""
        self.groups_of |= other.groups_of
        self._reclaim |= other._reclaim
        self.places |= other.places

    def leave_trash(self) -> None:
        """As if nothing had gone before."""
        self._reclaim = {key: one for key, one in self._reclaim.items() if key[1] != "trash"}

    @property
    def totals(self) -> Totals:
        return self.total()

    def total(self, within: Mapping[str, str] | None = None) -> Totals:
        """Of the entries that have some values: {dimension: value}."""
        found, picks = Totals(), _picks(within or {})
        for key, one in self.groups_of.items():
            if picks(key):
                found.add(one)
        return found

    def groups(self, by: str, within: Mapping[str, str] | None = None) -> list[Part]:
        """The parts by a dimension, of the entries that have some values: {dimension: value}.
        Places, kinds, ages and verdicts in their order, torch versions newest first, unknown ones
        last. What is counted apart is in none but that of its place.
        """
        at, picks = DIMENSIONS.index(by), _picks(within or {})
        found: dict[str, Totals] = {}
        for key, one in self.groups_of.items():
            if picks(key) and (one.entries or by == "place"):
                found.setdefault(key[at], Totals()).add(one)
        order = _ORDERS.get(by, tuple(self.places))
        values = sorted(found, key=lambda x: (order.index(x) if x in order else len(order), x))
        if by == "torch":
            values = sorted(found, key=lambda value: version(value or None), reverse=True)
        return [Part(value, found[value]) for value in values]

    def reclaim(self, place: str | None = None) -> dict[str, Reclaim]:
        """For each reason that was asked for what could go, of a place or all that are known."""
        found: dict[str, Reclaim] = {}
        for reason in REASONS:
            if some := self._reclaims(reason, place):
                known = [one for one in some if one.why is None]
                found[reason] = _together(known, None if known else some[0].why)
        return found

    def reclaimable(self, place: str | None = None) -> Reclaim:
        """All that could go, the trash among it; what has several reasons counts once."""
        return _together([*self._reclaims(_TOTAL, place), *self._reclaims("trash", place)])

    def _reclaims(self, reason: str, place: str | None) -> list[Reclaim]:
        some = ((where, one) for (where, why), one in self._reclaim.items() if why == reason)
        return [one for where, one in some if place in (None, where)]

    @property
    def disks(self) -> list[tuple[int, int]]:
        """(free, total) bytes of the disks and servers that places are on, each once."""
        found: dict[tuple[str, str], tuple[int, int]] = {}
        for one in self.places.values():
            if one.free_bytes is not None and one.total_bytes is not None:
                machine = scheme_of(one.place).machine(one.place)
                found[machine, one.disk or one.place] = one.free_bytes, one.total_bytes
        return list(found.values())


def _picks(within: Mapping[str, str]) -> Callable[[Sequence[str]], bool]:
    wanted = [(DIMENSIONS.index(name), value) for name, value in within.items()]
    return lambda key: all(key[at] == value for at, value in wanted)


def _counts(told: Mapping[str, Any]) -> Tally:
    return {"entries": told["entries"], "locks": told["locks"], "headers": told["headers"],
            "unknown": told["unknown"]}  # fmt: skip


def _problem(value: Fault | None) -> UserError | None:
    return None if value is None else user_error(value["code"], value["params"])


def fault(error: UserError | None) -> Fault | None:
    """A problem as JSON has it."""
    return None if error is None else {"code": error.code, "params": error.params}
