"""From items to entries: hash the bytes, have them read, join what belongs together."""

from __future__ import annotations

import hashlib
import io
import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Protocol

from torchkeeper.artifacts import aoti_eager, builds, code, fxgraph
from torchkeeper.artifacts import entry as entries
from torchkeeper.artifacts.entry import COUNTED_APART, PORTABLE, READ, Entry, Problem
from torchkeeper.artifacts.jits import known as jits
from torchkeeper.artifacts.layout import is_code_stem, is_named_by_content, payload_name
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders.index import Index
from torchkeeper.stores.items import CHUNK, File, Item, Packed, payload_digest, portable_bytes
from torchkeeper.stores.needs import Living
from torchkeeper.stores.reader import MAX_PAYLOAD, Budget, Reader, Reading, held

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Facts
    from torchkeeper.stores.items import Source

#: A source is read this far: enough for names, and a 100 MB constant in it does no harm.
MAX_SOURCE = 1 << 20
#: Entries described at once; small, so that the first rows come soon.
BATCH = 64
#: Known entries between two looks at whether to go on.
_OFTEN = 16
#: Bytes of contents that wait for a reader at once, besides the one entry that may be larger.
BATCH_BYTES = 16 << 20
#: Problems that may lie in the moment: a busy machine, permissions, somebody else's memory.
_PASSING = frozenset({"reader-starved", "reader-crashed", "file-unreadable", "file-hollow"})
#: Problems of what is read once more when somebody wants all of a place read.
_ASKED = entries.PUT_OFF | {"reader-stuck"}
#: Bytes from which on a file is hashed only when the rest of its place is listed, and the kinds
#: whose entries tell nothing about others.
HEAVY = 64 << 20
_LATE = frozenset({"code", "triton", "ondisk", "jit"})
#: A profile or a list of configurations is some kilobytes.
MAX_SMALL = 4 << 20
#: Kinds of which a part of a file is enough.
_PARTLY = frozenset({"code", "triton", "jit"})
#: The kinds whose bytes a copy alone needs to read.
_CARRIED = frozenset({"code", "triton", "jit"})
#: All GEMM choices of a system are in one file.
MAX_CHOICES = 32 << 20


@dataclass(slots=True)
class Described:
    """An entry, its item, and everything its reader said. origin: the item as its own place has it,
    where that is under other names. unhashed: whether it has no sha256 yet because that is found
    while it is copied.
    """

    entry: Entry
    item: Item
    facts: Facts
    origin: Item | None = None
    unhashed: bool = False


@dataclass(frozen=True)
class Carried:
    """How much of code and kernels is read when they are to be copied, which hashes them anyway.
    facts: whether code is read all the same: what it is and needs decides what is copied.
    """

    facts: bool = True


class Search(Protocol):
    """Searches what is read of entries that are begun (screening.Screen)."""

    def begin(self, item: Item) -> None: ...
    def search(self, file: File, data: bytes, digest: str) -> None: ...
    def searching(self, file: File) -> Callable[[bytes | memoryview], None]: ...


class _About(NamedTuple):
    """What is known of an entry that tells about others."""

    name: str | None = None
    torch: str | None = None
    device: str | None = None


_NOTHING = _About()


def _nothing() -> Facts:
    return {}


@dataclass
class _Known:
    """What entries read earlier tell about later ones: graphs about their code."""

    graphs: dict[str, _About] = field(default_factory=dict)
    modules: dict[str, _About] = field(default_factory=dict)
    kernels: dict[str, _About] = field(default_factory=dict)


def describe(
    items: Iterable[Item],
    source: Source,
    reader: Reader,
    report: Report,
    full: bool = False,
    index: Index | None = None,
    living: Living | None = None,
    carried: Carried | None = None,
    budget: Budget | None = None,
    search: Search | None = None,
) -> Iterator[list[Described]]:
    """The entries of a store, in batches. What the index knows is not read again.

    What there is no time for in the ``budget`` is unread (``Entry.put_off``), and the index keeps
    that; without a budget it is read all the same. With ``carried``, the entries are to be copied:
    what that reads anyway is not read here. ``search`` is given all that is read.

    ``items`` must be in an order in which graphs come before what they name (items.in_order).
    With ``living``, which wants all items of a place, entries say why nothing needs them.
    Files that vanish meanwhile are left out; everything else that goes wrong with an entry
    becomes its ``problem``.
    """
    known = _Known()
    index = index if index and not full else None
    waiting: list[_Loaded] = []
    batches = _batches(items, source, index, carried, budget, report, search)
    for loaded in itertools.chain(batches, ([],)):
        # While the reader is at one batch, the next is loaded; but a large one is alone in memory.
        heavy = sum(one.size for one in _readings(loaded)) > 2 * BATCH_BYTES
        for batch, coming in ((waiting, loaded), (loaded, [])) if heavy else ((waiting, loaded),):
            facts = iter(reader.facts(_readings(batch), report, full, budget))
            reader.begin(_readings(coming), full)
            found = []
            for one in batch:
                if one.reading:
                    one.facts = next(facts)
                    one.reading = None
                found.append(_describe(one, one.facts, known, living))
                if index and not one.kept and not one.partly and _is_lasting(one):
                    index.add(one.item, found[-1].entry, one.problem, one.facts)
            if found:
                yield found
        waiting = [] if heavy else loaded


def unread(item: Item) -> Described:
    """What is known of an item of which nothing was read."""
    problem = None
    for file in () if isinstance(item, Packed) else item.files:  # of these all are regular
        if not file.regular:
            problem = "value-wrong-type" if file.mode else "value-forbidden"
            break
    entry = Entry(item.kind, item.key, None, item.size, item.count, path=item.path, problem=problem)
    return Described(entry, item, {})


def _is_lasting(one: _Loaded) -> bool:
    """Whether it was worth finding, and will still be true if the files are the same."""
    return one.item.kind in READ and not {one.problem, one.facts.get("problem")} & _PASSING


def _readings(batch: list[_Loaded]) -> list[Reading]:
    return [one.reading for one in batch if one.reading]


def _batches(
    items: Iterable[Item],
    source: Source,
    index: Index | None,
    carried: Carried | None,
    budget: Budget | None,
    report: Report,
    search: Search | None,
) -> Iterator[list[_Loaded]]:
    """The items loaded, so few at a time that they fit; what takes long to be hashed comes last."""
    loaded: list[_Loaded] = []
    waiting = 0
    late: list[Item] = []
    every = itertools.chain(((i, False) for i in items), ((i, True) for i in late))
    for number, (item, last) in enumerate(every):
        files = item.files
        single = len(files) == 1 and files[0][6]
        short = entries.too_short(item.kind, files[0][1]) if single else None
        kept = index.get(item) if index and not short and item.kind in READ else None
        if kept and budget is None and {kept.problem, kept.facts.get("problem")} & _ASKED:
            kept = None
        if not kept or number % _OFTEN == 0:
            report.check()
        one: _Loaded | None
        if kept:
            same = item.look in (None, kept.look)
            one = _Loaded(item, kept.sha256, None, kept.problem, kept.facts, same, False, files)
        elif short:
            # There may be very many, and neither their bytes nor an index says more of them.
            one = _Loaded(item, None, None, short, kept=True)
        elif item.kind not in READ:
            one = _load(item, files, source, report, None, None)
        elif (
            not (last or carried)
            and item.kind in _LATE
            and any(file.size >= HEAVY and file.inode is not None for file in files)
        ):
            late.append(item)
            continue
        else:
            if budget:
                budget.meet(files, source)
            if budget and budget.over:
                one = _Loaded(item, None, None, "entry-unread")
            elif carried and item.kind in _CARRIED:
                one = _glance(item, files, source, carried)
            else:
                one = _load(item, files, source, report, budget, search)
        if one is None:
            continue
        one.files = files
        loaded.append(one)
        waiting += one.reading.size if one.reading else 0
        if len(loaded) >= BATCH or waiting > BATCH_BYTES:
            yield loaded
            loaded, waiting = [], 0
    if loaded:
        yield loaded


@dataclass(slots=True)
class _Loaded:
    item: Item
    sha256: str | None
    reading: Reading | None
    problem: str | None
    facts: Facts = field(default_factory=_nothing)
    kept: bool = False
    partly: bool = False
    files: list[File] = field(default_factory=list)


def _load(
    item: Item,
    files: list[File],
    source: Source,
    report: Report,
    budget: Budget | None,
    search: Search | None,
) -> _Loaded | None:
    """Hash an item's files and keep what a reader should see; None if all files are gone."""
    every = files
    regular = all(file[6] for file in every)
    if item.kind not in READ or not regular:
        # Links that torch makes are known by where they are; nothing is read through them.
        odd = item.kind == "unknown" and not regular
        return _Loaded(item, None, None, "not-a-file" if odd else None)
    parts: list[tuple[str, str]] = []
    contents: dict[str, bytes] = {}
    problem = None
    gone = 0
    search = search if item.kind in PORTABLE else None
    if search:
        search.begin(item)
    if item.about:
        # Of a file that lists several, what it says of this one stands for it.
        name = aoti_eager.text_path(item.path).rpartition("/")[2]
        parts.append((name, hashlib.sha256(item.about).hexdigest()))
        contents[name] = item.about
        files = _libraries(item)
    for file in files:
        if budget and not budget.hashes(file.size):
            hollow = held(file, source) < file.size
            return _Loaded(item, None, None, "file-hollow" if hollow else "entry-unread")
        name = file.name
        wanted = _wanted(item.kind, name)
        try:
            digest, data, head = _read(item.kind, name, file, source, wanted, report, search)
        except FileNotFoundError:
            gone += 1
            continue
        except OSError:
            problem = "file-unreadable"
            continue
        if file.sha256 not in (None, digest):
            problem = "checksum-wrong"
        parts.append((name, digest))
        if data is not None:
            contents[name] = data
        elif wanted:
            problem = "payload-too-large"
        if name.endswith(".so") and not builds.complete(head, file.size):
            problem = "object-truncated"
    if gone == len(every):
        return None
    whole = len(parts) == len(files) + bool(item.about) and item.kind in PORTABLE
    sha256 = payload_digest(parts) if whole else None
    reading = None
    if contents or item.kind in _PARTLY:
        reading = Reading(item.kind, _told(item, every), contents)
    return _Loaded(item, sha256, reading, problem)


def _glance(item: Item, files: list[File], source: Source, carried: Carried) -> _Loaded | None:
    """As ``_load``, of what is not wanted but for a copy; its sha256 is what is promised, if so."""
    if not all(file[6] for file in files):
        return _Loaded(item, None, None, "not-a-file")
    names = [file.name for file in files]
    problem = None
    contents: dict[str, bytes] = {}
    gone = 0
    for file, name in zip(files, names, strict=True):
        object_ = name.endswith(".so")
        wanted = _wanted(item.kind, name) if carried.facts or item.kind != "code" else 0
        wanted = 0 if object_ and item.kind == "code" else wanted
        if not wanted and not object_:
            continue
        try:
            with source.open(file) as stream:
                data = stream.read(min(file.size + 1, wanted) or builds.HEADER)
        except FileNotFoundError:
            gone += 1
        except OSError:
            problem = "file-unreadable"
        else:
            if wanted:
                contents[name] = data
            elif object_ and not builds.complete(data, file.size):
                problem = "object-truncated"
    if gone == len(files):
        return None
    promised = [(name, x.sha256) for x, name in zip(files, names, strict=True) if x.sha256]
    sha256 = payload_digest(promised) if len(promised) == len(files) else None
    reading = None
    if contents or item.kind in ("triton", "jit"):
        reading = Reading(item.kind, _told(item, files), contents)
    return _Loaded(item, sha256, reading, problem, partly=True)


def _told(item: Item, files: list[File]) -> list[str]:
    """The names that a reader is told: a compiler's folder tells more than the files in it."""
    return [file.path if item.kind == "jit" else file.name for file in files]


def _wanted(kind: str, name: str) -> int:
    """How many bytes of a file a reader should see."""
    if kind == "jit":
        return jits.wanted(name)
    if kind in ("code", "triton"):
        if name.endswith(".so"):
            return code.MAX_OBJECT
        return MAX_SOURCE if name.endswith(code.SOURCES if kind == "code" else ".json") else 0
    if kind == "aoti_eager" and is_code_stem(name.partition(".")[0]):
        return code.MAX_OBJECT if name.endswith(".so") else 0
    if kind in ("pgo", "aoti_eager"):
        return MAX_SMALL
    return MAX_CHOICES if kind == "autotune" else MAX_PAYLOAD


def _read(
    kind: str,
    name: str,
    file: File,
    source: Source,
    wanted: int,
    report: Report,
    search: Search | None,
) -> tuple[str, bytes | None, bytes]:
    """(sha256, up to ``wanted`` bytes or None where a whole payload is larger, first bytes)."""
    with source.open(file) as stream:
        step = min(CHUNK, file.size) + 1
        data = stream.read(step)
        whole = kind not in _PARTLY and not name.endswith(".so")
        if len(data) == file.size < step:  # in one piece, as nearly all of very many are
            data = portable_bytes(kind, name, data)
            kept = data[:wanted] if wanted and not (whole and len(data) > wanted) else None
            sha256 = hashlib.sha256(data).hexdigest()
            if search:
                search.search(file, data, sha256)
            return sha256, kept, data[: builds.HEADER]
        hear = search.searching(file) if search else None
        digest = hashlib.sha256()
        some = io.BytesIO()  # which grows in place, and gives away what it holds
        head = data[: builds.HEADER]
        size = 0
        while data:
            report.check()
            digest.update(data)
            if hear:
                hear(data)
            if size < wanted:
                some.write(data[: wanted - size])
            size += len(data)
            data = stream.read(CHUNK)
        if hear:
            hear(b"")
        if not wanted or (whole and size > wanted):
            return digest.hexdigest(), None, head
        return digest.hexdigest(), some.getvalue(), head


def _describe(one: _Loaded, facts: Facts, known: _Known, living: Living | None) -> Described:
    item, kind, files, sha256 = one.item, one.item.kind, one.files, one.sha256
    _learn(item, facts, known)
    joined = _joined(item, facts, known)
    problem, name = one.problem or facts.get("problem"), joined.name or facts.get("name")
    if kind in COUNTED_APART:
        name = name or (files[0].name if len(files) == 1 else item.key)
    times = [file[2] for file in files if file[2] is not None]
    own, other = facts.get("device"), joined.device
    # A module says "cuda" of AMD's GPUs, too, if no kernel of it tells; its graph knows more.
    device = other if own == "cuda" and other == "hip" else own or other
    # By position, for the million of them.
    entry = Entry(
        kind, item.key, name or None, sum([file[1] for file in files]), len(files),
        max(times) / 1e9 if times else None, facts.get("torch") or joined.torch or item.torch,
        device, facts.get("compile_s"), item.path, sha256,
        problem or _misnamed(kind, files[0].name, sha256),
        living.orphan(item, facts) if living else None,
    )  # fmt: skip
    return Described(entry, item, facts, None, one.partly and sha256 is None)


def _misnamed(kind: str, name: str, sha256: str | None) -> str | None:
    """A payload whose content is not what its name says was altered after it was written."""
    if sha256 and is_named_by_content(kind, name) and name != payload_name(sha256):
        return "payload-name-mismatch"
    return None


def _learn(item: Item, facts: Facts, known: _Known) -> None:
    if not facts or item.kind not in ("fxgraph", "aotautograd", "code"):
        return
    about = _About(facts.get("name"), facts.get("torch"), facts.get("device"))
    if item.kind == "fxgraph":
        known.graphs.setdefault(item.key, about)
        if code_key := facts.get("code_key"):
            known.modules.setdefault(code_key, about)
    about = about if item.kind != "code" else known.modules.get(item.key, about)
    for kernel, digest in facts.get("kernels", ()):
        own = about._replace(name=fxgraph.part(about.name, kernel))
        # One that several graphs share is of none of them.
        if known.kernels.setdefault(digest, own).name != own.name:
            known.kernels[digest] = own._replace(name=kernel)


def _joined(item: Item, facts: Facts, known: _Known) -> _About:
    if item.kind == "aotautograd":
        needed = [known.graphs[key] for key in facts.get("fx_keys", ()) if key in known.graphs]
        if needed:
            name = needed[0].name
            if name and (direction := facts.get("direction")):
                name = f"{name.removesuffix(' (backward)')} ({direction})"
            return needed[0]._replace(name=name)
    if item.kind == "code":
        return known.modules.get(item.key, known.kernels.get(facts.get("digest") or "", _NOTHING))
    return _NOTHING


# Entries that a folder keeps in one list, each on its own, as every other place has them: eager
# kernels. The text of an item stands where its list would (artifacts.aoti_eager).


class Singly:
    """A source of bytes that has the texts of items besides."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._texts: dict[str, bytes] = {}
        self._files: dict[str, File] = {}

    def of(self, one: Described) -> Described:
        """An entry on its own, at its paths in a cache of PyTorch alone; others as they are. Raises
        Problem as ``aoti_eager.checked`` and ``aoti_eager.paths``.
        """
        item = one.item
        if not item.about:
            return one
        path = homes(item)[0]
        files = [File(path, len(item.about), sha256=hashlib.sha256(item.about).hexdigest())]
        for file in _libraries(item):
            _, home = aoti_eager.paths(item.path, file.path)
            files.append(file._replace(path=home))
            self._files[home] = file
        aoti_eager.checked(item.about, path, [file.path for file in files[1:]])
        self._texts[path] = item.about
        made = Item(item.kind, item.key, path, files, sha256=one.entry.sha256)
        entry = one.entry._replace(size=made.size, files=len(files))
        return replace(one, entry=entry, item=made, origin=one.origin or item)

    def open(self, file: File) -> BinaryIO:
        if file.path in self._texts:
            return io.BytesIO(self._texts[file.path])
        return self._source.open(self._files.get(file.path, file))


def homes(item: Item) -> list[str]:
    """Where the text of an item lies, and the files of its library, in a cache of PyTorch alone.
    Raises Problem as ``aoti_eager.paths``, and "name-refused" for an item without a library.
    """
    if not item.about:
        # What has come from elsewhere is so already; what is a list, nobody could take apart.
        aoti_eager.located([file.path for file in item.files])
        return [file.path for file in item.files]
    pairs = [aoti_eager.paths(item.path, file.path) for file in _libraries(item)]
    if not pairs:
        raise Problem("name-refused", kind=item.kind, name=item.path[:200])
    return [pairs[0][0], *(library for _, library in pairs)]


def _libraries(item: Item) -> list[File]:
    """The files of an item but for its list."""
    return [file for file in item.files if file.path != item.list_path]
