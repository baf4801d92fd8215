"""The words everything is said in: kinds, entries, and problems."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import EntryRow, Held, Measured, Tally

_GRAPHS, _CODE = ("fxgraph", "aotautograd"), ("code", "triton")
_TRAVELLING = (*_GRAPHS, *_CODE, "autotune", "pgo", "precompile", "aoti_eager")
#: Every kind of entry, in the order in which places are read and totals are printed.
#: FX graphs come first because they name what the others belong to.
KINDS = (*_TRAVELLING, "ondisk", "jit", "header", "lock", "unknown")
#: Kinds that another place can use; the rest is scratch of one machine.
PORTABLE = frozenset((*_TRAVELLING, "jit"))

_Count = Literal["entries", "locks", "headers", "unknown"]
#: Kinds that neither PyTorch nor Triton nor vLLM could use, by what their number is called wherever
#: something is counted. They are no entries: these are all the rest (``tally``).
COUNTED_APART: dict[str, _Count] = {"lock": "locks", "header": "headers", "unknown": "unknown"}
#: The names of all counts (``tally``).
COUNTS: tuple[_Count, ...] = ("entries", "locks", "headers", "unknown")

#: Whether an entry will be used in an environment, and to what end, from the best to the worst.
#: What is unsafe is used like what is usable, and should not be; of several environments it is
#: worse to have it than not to know, and better than not to have it: it is in use there.
VERDICTS = ("usable", "conditional", "unknown", "unsafe", "stale", "broken")
#: Kinds of which that is not asked: what needs them is what is used, or nobody can know.
WITHOUT_VERDICT = frozenset({"code", "jit", "header", "lock", "unknown"})
#: Kinds that tell something of what their key was made of, so that two can be compared.
COMPARED = frozenset({"fxgraph", "aotautograd", "triton", "autotune", "precompile", "aoti_eager"})

#: Problems of what would have taken longer to read than its place is given (stores.reader): nobody
#: has seen what is in it. Of a file with holes, most is not on the disk.
PUT_OFF = frozenset({"entry-unread", "file-hollow", "reader-starved"})
#: Problems that say nothing of an entry but that it was not read.
UNREAD = frozenset({"payload-too-large", "value-large"}) | PUT_OFF

#: Kinds whose bytes are worth reading; of the others only the files are known.
READ = PORTABLE | {"ondisk"}
#: Bytes that the one file of some kinds has at least: a pickle of an object names its class and the
#: module of that; the shortest other pickle has two, and so has the shortest JSON object.
SHORTEST = {"fxgraph": 32, "aotautograd": 32, "pgo": 2, "autotune": 2}


def too_short(kind: str, size: int) -> str | None:
    """The problem of an entry whose one file has so many bytes, where that alone tells."""
    if size >= SHORTEST.get(kind, 0):
        return None
    return "payload-unreadable" if size else "payload-empty"


def tally(kinds: Iterable[str]) -> Tally:
    """How many entries there are of these kinds, and how much that is counted apart, by COUNTS."""
    return counted(Counter(kinds))


def counted(kinds: Mapping[str, int]) -> Tally:
    """As ``tally`` of so many of each kind."""
    found: Tally = {"entries": 0, "locks": 0, "headers": 0, "unknown": 0}
    for kind, number in kinds.items():
        found[COUNTED_APART.get(kind, "entries")] += number
    return found


def tallied(count: int, kind: str = "") -> Tally:
    """As ``tally`` of so many of one kind; without it, of so many entries."""
    return counted({kind: count})


def holds(kinds: Mapping[str, tuple[int, int]]) -> Held:
    """What a place holds that has so many of each kind, and their content in bytes: ``tally``,
    ``measured`` of the entries alone, and ``apart_bytes``, the content of what is counted apart.
    """
    counts = counted({kind: count for kind, (count, _) in kinds.items()})
    apart = sum(size for kind, (_, size) in kinds.items() if kind in COUNTED_APART)
    entries = sum(size for _, size in kinds.values()) - apart
    return {**counts, "bytes": entries, "content_bytes": entries, "apart_bytes": apart}


def measured(count: int, *, on_disk: bool) -> Measured:
    """So many bytes by what they are: content, which a place holds and a copy carries, or room on
    the disk, which comes free; there a file with several names counts once.
    """
    if on_disk:
        return {"bytes": count, "disk_bytes": count}
    return {"bytes": count, "content_bytes": count}


class Problem(Exception):
    """Something the user should know of: a code and what it is about, never prose. The words for a
    code are in ``torchkeeper.client.words.problems``, on the side that talks to people.
    """

    def __init__(self, code: str, **params: str | int | float | None) -> None:
        super().__init__(code, params)
        self.code = code
        self.params = params


class Entry(NamedTuple):
    """One payload in a place: (kind, key, sha256), and what is known about it. What is of a kind
    that is counted apart has a row as well, and is none.

    kind: one of KINDS.
    key: PyTorch's or Triton's key; for kinds without one, the name of the file.
    name: what a person would call it, or None.
    size: apparent bytes of all its files.
    files: how many files it has.
    mtime: seconds since the epoch of the newest file, or None (bundles do not keep times).
    torch: version of torch that made it, or None where nothing records it.
    device: "cpu", "cuda", "cuda:90", "hip:gfx942" and so on, or None.
    compile_s: seconds that compiling took when the entry was made, or None.
    path: relative to the place: the file, the first of several, a kernel's folder, or the file
        and ``#`` with a digest where one file lists several entries.
    sha256: hex digest of the payload; of a digest list where there are several files;
        None for the kinds that are never copied.
    problem: what is wrong with it, as a code for ``client.words.problems``, or None.
    orphan: why nothing needs it, as such a code; None where something does, or nobody can know.
    expires: seconds since the epoch when the server it is on drops it, 0 where it never does;
        None where that was not asked, as in a listing, or is no server's.
    used: seconds since the epoch when anybody last used it there, or None.
    verdict: whether it will be used, one of VERDICTS; None where that was not asked, or the kind
        has none.
    owner: the name of another user than this one and root who owns a file of it, or its folder;
        "uid N" for one without a name, None where nobody does, or the place is no folder.
    why: the reasons of the verdict in words. Never on the wire: words are made at home.
    """

    kind: str
    key: str
    name: str | None
    size: int
    files: int
    mtime: float | None = None
    torch: str | None = None
    device: str | None = None
    compile_s: float | None = None
    path: str = ""
    sha256: str | None = None
    problem: str | None = None
    orphan: str | None = None
    expires: float | None = None
    used: float | None = None
    verdict: str | None = None
    owner: str | None = None
    why: str | None = None

    def to_json(self) -> EntryRow:
        return cast("EntryRow", dict(zip(_CHECKED, self, strict=False)))

    @property
    def broken(self) -> bool:
        """Whether it is unusable. One that is only too large to be read may be good."""
        return self.problem is not None and self.problem not in UNREAD

    @property
    def put_off(self) -> bool:
        """Whether it was not read because that would have taken too long."""
        return self.problem in PUT_OFF

    @property
    def identity(self) -> tuple[str, str]:
        """What tells it from every other entry of its place: kind and path."""
        return self.kind, self.path


#: The fields of an Entry, in their order, and what each may be on the wire.
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(Entry._fields[:-1], (str, type(None))),
    **dict.fromkeys(("kind", "key", "path"), (str,)),
    **dict.fromkeys(("size", "files"), (int,)),
    **dict.fromkeys(("mtime", "compile_s", "expires", "used"), (float, int, type(None))),
}
_CHECKED = tuple(_TYPES)
_VERDICT = _CHECKED.index("verdict")
#: Which types have been found to be right, in the order of the fields: rows say the same few.
_right: set[tuple[type, ...]] = set()
#: Where the fields stand that many rows have the same few texts in, and where the numbers do.
_FEW = tuple(_CHECKED.index(name) for name in ("kind", "torch", "device", "verdict", "owner"))
_TIMES = tuple(_CHECKED.index(name) for name in ("mtime", "compile_s", "expires", "used"))


def entry_from_json(row: object) -> Entry:
    """An Entry from what came over a wire. Raises ValueError where a field is not as promised.
    Unknown fields are ignored, so that a newer engine can say more.
    """
    if not isinstance(row, dict):
        raise ValueError("a row is not an object")
    return entry_of([row.get(name) for name in _CHECKED])


def entry_of(values: list[Any]) -> Entry:
    """An Entry of its fields but ``why``, in their order. Raises ValueError as above."""
    types = tuple(map(type, values))
    if types not in _right:
        for name, found in zip(_CHECKED, types, strict=True):
            if found not in _TYPES[name]:
                raise ValueError(f"field {name} of a row has the wrong type")
        _right.add(types)
    if values[0] not in KINDS:
        values[0] = "unknown"
    if values[_VERDICT] is not None and values[_VERDICT] not in VERDICTS:
        values[_VERDICT] = "unknown"
    for at in _TIMES:
        if values[at] != values[at]:
            values[at] = None  # not a number, which cannot be put in order
    for at in _FEW:
        if values[at] is not None:
            values[at] = sys.intern(values[at])  # a large place says the same few words
    return Entry(*values)
