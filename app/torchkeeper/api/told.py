"""What a script is told: entries, and what came of operations. Nothing of it can be changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from torchkeeper.artifacts.entry import KINDS, UNREAD, entry_from_json
from torchkeeper.client.words import verdicts
from torchkeeper.client.words.problems import UserError, user_error

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import LeftFinding, VariantFinding

#: What every function raises where it cannot do what it is asked for.
Error = UserError
# A traceback calls it as scripts do.
Error.__module__, Error.__name__, Error.__qualname__ = "torchkeeper", "Error", "Error"

#: Verdicts with which a program compiles anew, or should not use what it finds.
_MISSES = frozenset({"unsafe", "stale", "broken"})
_RANKS = {kind: rank for rank, kind in enumerate(KINDS)}


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an operation is.

    Attributes:
        done: how much is done, in ``unit``.
        total: how much there is to do; None if that is not known.
        unit: "bytes", "files", "entries", "steps" or another plural.
    """

    done: float
    total: float | None
    unit: str


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a place: a graph, a kernel or what else a cache holds, with all of its files.
    Names, keys and paths are those that the cache has: they may hold any character.

    Attributes:
        kind: "fxgraph", "aotautograd", "code", "triton", "autotune", "pgo", "precompile",
            "aoti_eager", "ondisk" or "jit"; "header", "lock" and "unknown" are not entries, and
            listed only if a filter names them.
        key: PyTorch's or Triton's key; for kinds without one, the name of the file.
        name: a name for people; None if there is none.
        size: bytes of the content of all its files.
        files: how many files it has.
        mtime: when the newest file was changed, in UTC; None in a bundle, which keeps no times.
        torch: the version of torch that made it; None if that is not known.
        device: "cpu", "cuda", "cuda:90", "hip:gfx942" and so on; None if that is not known.
        compile_s: seconds that compiling it took; None if that is not known.
        path: where it is in the place.
        sha256: hash of its content, in hexadecimal digits; None if it is never copied.
        problem: a code for what is wrong with it; None if it is in order.
        orphan: a code for why nothing needs it; None if something may need it.
        owner: another user who owns it; None if you or root own it, or it is not in a folder.
        verdict: "usable", "conditional", "unknown", "unsafe", "stale" or "broken" in the chosen
            environment; None without an environment, and for kinds without verdicts.
        reasons: sentences that say why it has this verdict.
        conditions: sentences that say what a program must do to find it.
        because: in a plan, why it can go: "stale", "broken", "orphan", "unused", "budget" or
            "needless".
    """

    kind: str
    key: str
    name: str | None
    size: int
    files: int
    mtime: datetime | None
    torch: str | None
    device: str | None
    compile_s: float | None
    path: str
    sha256: str | None
    problem: str | None
    orphan: str | None
    owner: str | None
    verdict: str | None = None
    reasons: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    because: tuple[str, ...] = ()

    @property
    def broken(self) -> bool:
        """Whether no environment can use it. One that was only not read may be good."""
        return self.problem is not None and self.problem not in UNREAD

    @property
    def misses(self) -> bool:
        """Whether it does not help a program in the chosen environment: it is stale, broken or
        unsafe.
        """
        return self.verdict in _MISSES


class Entries(tuple[Entry, ...]):
    """Some entries, in the order of their kinds and paths.

    Attributes:
        left: what could not be read, and why.
    """

    left: tuple[Error, ...] = ()

    def __new__(cls, entries: Iterable[Entry] = (), left: Iterable[Error] = ()) -> Entries:
        made = super().__new__(cls, entries)
        made.left = tuple(left)
        return made

    @property
    def size(self) -> int:
        """Bytes of the content of all entries."""
        return sum(entry.size for entry in self)

    @property
    def files(self) -> int:
        """How many files they have."""
        return sum(entry.files for entry in self)

    def by(
        self, field: Literal["kind", "torch", "device", "verdict", "owner"]
    ) -> dict[str | None, Entries]:
        """The entries in groups by kind, torch, device, verdict or owner; None is a group, too."""
        groups: dict[str | None, list[Entry]] = {}
        for entry in self:
            groups.setdefault(getattr(entry, field), []).append(entry)
        return {name: Entries(some) for name, some in groups.items()}

    def __repr__(self) -> str:
        return f"<Entries: {len(self)}, {self.size} bytes>"


@dataclass(frozen=True, slots=True)
class Exported:
    """A bundle that was written.

    Attributes:
        path: where it is; if ``entries`` is 0, there is no file.
        entries: how many entries it holds.
        files: how many files these have.
        size: bytes of the bundle.
        redacted: how many entries had secrets that were replaced.
        left: what is not in it, and why.
    """

    path: str
    entries: int
    files: int
    size: int
    redacted: int
    left: tuple[Error, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """Entries that were put into a place.

    Attributes:
        into: the place.
        entries: how many entries are new there.
        files: how many files these have.
        size: bytes of their content.
        exists: how many entries were there already; they did not change.
        left: what was left out, and why.
    """

    into: str
    entries: int
    files: int
    size: int
    exists: int
    left: tuple[Error, ...]


@dataclass(frozen=True, slots=True)
class Variant:
    """One thing that a recipe has compiled.

    Attributes:
        recipe: its recipe.
        name: its combination of the matrix.
        state: "done", "failed" or "cancelled".
        seconds: how long compiling took; None if it did not begin.
        graphs: how many graphs it has; None if they are not counted.
        hits: how many of them were in the place already.
        misses: how many were compiled.
        device: what it was compiled for; None if that was not known yet.
        problem: why it failed; None if it did not.
        log: the last lines that it printed.
    """

    recipe: str
    name: str
    state: str
    seconds: float | None
    graphs: int | None
    hits: int | None
    misses: int | None
    device: str | None
    problem: Error | None
    log: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Warmed:
    """The result of warming a place.

    Attributes:
        variants: what was compiled, in the order of the recipes.
        added: how many new entries the place has.
    """

    variants: tuple[Variant, ...]
    added: int

    @property
    def failed(self) -> tuple[Variant, ...]:
        """The variants that are not warm."""
        return tuple(variant for variant in self.variants if variant.state != "done")

    @property
    def ok(self) -> bool:
        """Whether every variant is warm."""
        return not self.failed


def entries_of(rows: Iterable[Any], left: Iterable[Error]) -> Entries:
    """Rows of an operation as entries; those of a check have verdicts, those of a plan reasons."""
    made = [_entry(row) for row in rows]
    return Entries(sorted(made, key=lambda one: (_RANKS.get(one.kind, -1), one.path)), left)


#: The fields that an entry has as they are told.
_ALIKE = (
    "kind", "key", "name", "size", "files", "torch", "device", "compile_s", "path", "sha256",
    "problem", "orphan", "owner", "verdict",
)  # fmt: skip


def _entry(row: Any) -> Entry:
    told = entry_from_json(row)
    about = {name: getattr(told, name) for name in _ALIKE}
    if told.verdict is not None and "reasons" in row:
        about["verdict"], why = verdicts.told(row)
        about["reasons"], about["conditions"] = tuple(why.reasons), tuple(why.conditions)
    return Entry(**about, mtime=_time(told.mtime), because=tuple(row.get("because", ())))


def _time(epoch: float | None) -> datetime | None:
    if epoch is None:
        return None
    try:
        return datetime.fromtimestamp(epoch, UTC)
    except (OSError, OverflowError, ValueError):
        return None  # a year that has more than four digits


def left_of(told: LeftFinding) -> Error:
    """Why something was not taken; its parameters say what."""
    about = {name: told.get(name) for name in ("kind", "key", "path", "file")}
    return user_error(told["code"], {**about, **told["params"]})


def variant_of(told: VariantFinding) -> Variant:
    """What became of a variant, as it was last told."""
    problem, seconds = told.get("problem"), told.get("seconds")
    return Variant(
        recipe=str(told.get("recipe")),
        name=str(told.get("name")),
        state=told["state"],
        seconds=seconds if isinstance(seconds, (int, float)) else None,
        graphs=told.get("graphs"),
        hits=told.get("hits"),
        misses=told.get("misses"),
        device=told.get("device"),
        problem=user_error(problem["code"], problem["params"]) if problem else None,
        log=tuple(told.get("log") or ()),
    )
