"""What of some entries nobody else should read, and what becomes of it when they are to leave. Also
files with some of their bytes replaced while they are read.

A first look finds what looks like a secret, a second one where else the same secrets
stand, in whatever form (artifacts.leaks). What a secret is replaced by is as long as it
was, so that a pickle stays one. A payload whose file is named after its content is named anew;
PyTorch looks graphs up by their folder, and takes what it finds there.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import itertools
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, cast

from torchkeeper.artifacts import layout
from torchkeeper.artifacts.entry import PORTABLE, Problem
from torchkeeper.artifacts.leakforms import Fact, Leak
from torchkeeper.artifacts.leaks import FILL, SMALL, Echoes, Extent, Scanner, texts_of_pickle
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.describe import Described, describe
from torchkeeper.stores.items import CHUNK, File, Item, Raw, Source, Taken, portable_stream
from torchkeeper.stores.pouring import unreadable
from torchkeeper.stores.reader import MAX_PAYLOAD, Reader

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Leaks, Private, Secret, Secrets, Where
    from torchkeeper.stores.items import Left, Offered


class Patch(NamedTuple):
    """Bytes to stand at an offset."""

    start: int
    bytes: bytes

    @property
    def end(self) -> int:
        return self.start + len(self.bytes)


def joined(patches: Sequence[Patch]) -> list[Patch]:
    """Patches in order, none on another: of two that meet, what is later stands on the earlier."""
    found: list[Patch] = []
    for patch in sorted(patches):
        if found and patch.start < found[-1].end:
            last = found.pop()
            behind = last.bytes[patch.end - last.start :]
            patch = Patch(last.start, last.bytes[: patch.start - last.start] + patch.bytes + behind)
        found.append(patch)
    return found


#: By path and sha256 of what is asked for: another's file, and its patches, in order and apart.
_Files = dict[tuple[str, str | None], tuple[File, Sequence[Patch]]]


class Patched:
    """A source with ``files`` that are those of another, patched. Other files are that source's."""

    def __init__(self, source: Source, files: _Files) -> None:
        self._source, self._files = source, files

    def open(self, file: File) -> BinaryIO:
        if (found := self._files.get((file.path, file.sha256))) is None:
            return self._source.open(file)
        original, patches = found
        return patched(self._source.open(original), patches)


def patched(stream: BinaryIO, patches: Sequence[Patch]) -> BinaryIO:
    """A stream that is read from its beginning, patched; closing it closes that."""
    return cast(BinaryIO, io.BufferedReader(_Raw(stream, patches), CHUNK))


class _Raw(Raw):
    def __init__(self, stream: BinaryIO, patches: Sequence[Patch]) -> None:
        super().__init__()
        self._stream, self._patches = stream, patches
        self._ends = [patch.end for patch in patches]
        self._at = 0

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer)).cast("B")
        data = self._stream.read(len(view))
        start, end = self._at, self._at + len(data)
        view[: len(data)] = data
        for number in range(bisect_right(self._ends, start), len(self._patches)):
            one = self._patches[number]
            if one.start >= end:
                break
            first, last = max(one.start, start), min(one.end, end)
            view[first - start : last - start] = one.bytes[first - one.start : last - one.start]
        self._at = end
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


#: The kinds whose payload may be changed: their keys are not made of it, as those of code are.
_REDACTABLE = frozenset({"fxgraph", "aotautograd", "pgo", "precompile", "autotune"})
#: Those of which each is a pickle.
_PICKLES = frozenset({"fxgraph", "aotautograd", "pgo", "precompile"})
#: Secrets of one file that are remembered; one with more is full of something else.
_MAX_LEAKS = 10_000
#: Findings that are told, private facts of one sort, and characters of each.
_MAX_TOLD = 500
_MAX_FACTS = 50
#: Bytes that a stream counts for besides its own, so that not too many wait.
_EACH = 64
#: Contents that are remembered because nothing was found in them: some programs have a cache for
#: each of their processes.
_MAX_NOTHING = 100_000
#: Seconds between two messages of how far the search is.
_EVERY = 0.05


class Alarm(Exception):
    """A secret in what is searched while it is written: that is to be thrown away."""


class _About(NamedTuple):
    """Whose bytes are searched: of an entry a file, or None, and what it is called there; and the
    private facts that are known of the entry.
    """

    item: Item
    file: File | None
    name: str
    facts: set[tuple[str, str]]


class _Search:
    """Searches streams, small ones together, each as if it was alone. hear: is told what was found,
    and where. The same bytes are searched once if nothing is in them.
    """

    def __init__(
        self, own: dict[str, str], hear: Callable[[_About, Iterable[Leak | Fact]], None]
    ) -> None:
        self._own, self._hear, self._scanner = own, hear, Scanner(own)
        self._waiting: list[tuple[_About, bytes, str]] = []
        self._waits = 0  # bytes
        #: The sha256 of small streams in which nothing was found.
        self.nothing: set[str] = set()

    def whole(self, about: _About, data: bytes, digest: str = "") -> None:
        """Search all of a stream; digest: its sha256, if that is known."""
        if len(data) >= SMALL:
            return self.pieces(about, (data,))
        digest = digest or hashlib.sha256(data).hexdigest()
        if digest not in self.nothing:
            self._waiting.append((about, data, digest))
            self._waits += len(data) + _EACH
            if self._waits >= SMALL:
                self.end()
        return None

    def pieces(self, about: _About, pieces: Iterable[bytes]) -> None:
        """Search a stream that is given piece by piece."""
        self.end()  # what is told comes in order
        scanner = Scanner(self._own)
        every = itertools.chain(pieces, (b"",))
        self._hear(about, (one for some in every for one in scanner.feed(some, not some)))

    def end(self) -> None:
        """Search what waits."""
        waiting, self._waiting, self._waits = self._waiting, [], 0
        nothing = {digest for _, _, digest in waiting}
        for number, found in self._scanner.each([data for _, data, _ in waiting]):
            about, _, digest = waiting[number]
            if some := list(found):
                nothing.discard(digest)
                self._hear(about, some)
        if len(self.nothing) < _MAX_NOTHING:
            self.nothing |= nothing


@dataclass
class _Seen:
    """What was found in one entry: what is to be patched, by path; and what cannot be."""

    item: Item
    patches: dict[str, list[Patch]] = field(default_factory=dict)
    fixed: bool = False


@dataclass
class Told:
    """What was found in all entries."""

    secrets: int = 0
    entries: int = 0
    redacted: int = 0
    fixed: int = 0
    private: dict[tuple[str, str], Private] = field(default_factory=dict)

    def to_json(self) -> Leaks:
        """What an engine says of it; the private facts are sorted, the most frequent first."""
        return {
            "secrets": self.secrets,
            "entries": self.entries,
            "redacted": self.redacted,
            "fixed": self.fixed,
            "private": sorted(self.private.values(), key=lambda one: (one["what"], -one["times"])),
        }


class Screen:
    """Looks at entries that are to leave, and holds back what should not. choice: what is to become
    of them. own: names of this user and this machine (artifacts.leaks). dry: with no choice, only
    tell. kinds: those that the target takes.
    """

    def __init__(
        self,
        report: Report,
        left: Left,
        reader: Reader,
        choice: Secrets | None = None,
        own: dict[str, str] | None = None,
        dry: bool = False,
        kinds: frozenset[str] = PORTABLE,
    ) -> None:
        self.told = Told()
        self._report, self._left, self._reader = report, left, reader
        self._choice, self._own, self._dry, self._kinds = choice, own or {}, dry, kinds
        #: Why items could not be searched to their end, by their identity.
        self._unsearched: dict[int, Problem] = {}
        self.waits, self.alarmed = choice is None, False
        self._leaving = _Search(self._own, self._alarm)
        self._begun: _About

    def described(
        self, chosen: Sequence[Described], source: Source
    ) -> tuple[list[Described], Source]:
        """Entries as they may leave, and whence their bytes come. Raises Problem("secrets-found")
        where some hold secrets and nobody has said what to do.
        """
        some = [one.item for one in chosen if not (one.entry.broken or one.entry.put_off)]
        self.told, self._unsearched = Told(), {}
        made, held = self._screened(some, source)
        found = []
        for one in chosen:
            if id(one.item) in held:
                continue
            item = made.items.get(id(one.item))
            if item is None:
                found.append(one)
                continue
            again = made.facts[id(one.item)]
            entry = one.entry._replace(sha256=item.files[0].sha256, name=again.entry.name)
            if one.entry.path == one.item.path:
                entry = entry._replace(path=item.path)
            found.append(replace(one, entry=entry, item=item, facts=again.facts, unhashed=False))
        return found, made.source

    def offered(self, offered: Offered) -> Offered:
        """The same, of entries as another place can take them."""
        items = offered.items()
        made, held = self._screened(items, offered)
        kept = [made.items.get(id(item), item) for item in items if id(item) not in held]
        if not made.items:
            return Taken(kept, made.source)
        distinct: dict[tuple[str, ...], Item] = {}
        for item in kept:  # without those that have become another's equal
            digests = [file.sha256 or str(id(item)) for file in item.files]
            distinct.setdefault((item.kind, item.path, *digests), item)
        return Taken(list(distinct.values()), made.source)

    # While entries are written to where nobody sees them, and nobody has said what to do with
    # secrets (``waits``), or while they are listed, each is read once: ``begin``, its files, and at
    # the end ``clear``. All of these raise Alarm at a secret, or it is ``alarmed`` where these are
    # allowed; then ``described`` is to be asked.

    def begin(self, item: Item) -> None:
        """An entry is written; what of it is no file is searched."""
        self._begun = _About(item, None, "", set())
        for _, name, text in _streams(item, None):
            self._leaving.whole(self._begun._replace(name=name), text.read())

    def search(self, file: File, data: bytes, digest: str) -> None:
        """A file of the entry that was begun, which has this sha256."""
        if digest in self._leaving.nothing or self.alarmed:
            return
        self._leaving.whole(self._begun._replace(file=file, name=file.name), data, digest)

    def searching(self, file: File) -> Callable[[bytes | memoryview], None]:
        """The same of one that is given piece by piece, and at the end an empty one."""
        about, scanner = self._begun._replace(file=file, name=file.name), Scanner(self._own)
        return lambda piece: self._alarm(about, scanner.feed(piece, not piece))

    def clear(self) -> bool:
        self._leaving.end()
        if not self.alarmed:
            self._report.finding(leaks=self.told.to_json())
        return not self.alarmed

    def _alarm(self, about: _About, found: Iterable[Leak | Fact]) -> None:
        if self._kept(about, found):
            self.alarmed = True
            if self.waits:
                raise Alarm

    def _screened(self, items: Sequence[Item], source: Source) -> tuple[_Made, set[int]]:
        items = [item for item in items if item.kind in self._kinds]
        seen = self._look(items, source)
        self._report.finding(leaks=self.told.to_json())
        made, held = _Made(source), set[int]()
        if self._choice == "allow":
            return made, held
        for item in items:
            # Whoever copies it might be able to read what holds a secret.
            if problem := self._unsearched.get(id(item)):
                held.add(id(item))
                self._left(item, problem)
        if not seen or (self._choice is None and self._dry):
            return made, held
        if self._choice is None:
            told = self.told
            raise Problem(
                "secrets-found", secrets=told.secrets, entries=told.entries, fixed=told.fixed
            )
        files: _Files = {}
        for one in seen:
            if id(one.item) in held:
                continue
            problem = Problem("has-secrets")
            if self._choice == "redact":
                problem = Problem("secret-fixed", kind=one.item.kind)
                if not one.fixed:
                    try:
                        self._redact(one, source, files, made)
                        self.told.redacted += 1
                        continue
                    except Problem as said:
                        problem = said
            held.add(id(one.item))
            self._left(one.item, problem)
        made.source = Patched(source, files)
        self._report.finding(leaks=self.told.to_json())
        return made, held

    def _redact(self, seen: _Seen, source: Source, files: _Files, made: _Made) -> None:
        """Raises Problem("entry-vanished" | "redaction-breaks")."""
        item = seen.item
        old = item.files[0]
        patches = joined(seen.patches[old.path])
        before, after = hashlib.sha256(), hashlib.sha256()
        try:
            with source.open(old) as stream:
                for piece in self._pieces(stream):
                    before.update(piece)
            with patched(source.open(old), patches) as stream:
                for piece in self._pieces(stream):
                    after.update(piece)
        except OSError as e:
            raise Problem("entry-vanished", why=e.strerror or str(e)) from e
        digest = after.hexdigest()
        folder, slash, name = old.path.rpartition("/")
        if name == layout.payload_name(before.hexdigest()):
            name = layout.payload_name(digest)
        file = old._replace(path=folder + slash + name, sha256=digest)
        files[file.path, digest] = old, patches
        path = file.path if item.path == old.path else item.path
        new = Item(item.kind, item.key, path, [file], item.about, None, item.torch)
        [[again]] = describe([new], Patched(source, files), self._reader, self._report)
        if again.entry.broken:
            del files[file.path, digest]
            raise Problem("redaction-breaks")
        made.items[id(item)] = new
        made.facts[id(item)] = again

    def _look(self, items: Sequence[Item], source: Source) -> list[_Seen]:
        """The entries that hold secrets; those that could not be searched are ``_unsearched``."""
        values: dict[bytes, None] = {}
        found: dict[int, _Seen] = {}

        def hear(about: _About, some: Iterable[Leak | Fact]) -> None:
            if leaks := self._kept(about, some):
                with self._searching(about.item):
                    seen = found.setdefault(id(about.item), _Seen(about.item))
                    values.update(dict.fromkeys(self._note(seen, about, leaks, source)))

        search, told = _Search(self._own, hear), 0.0
        for number, item in enumerate(items):
            self._report.check()
            if (now := time.monotonic()) - told > _EVERY:
                told = now
                self._report.progress(number, len(items), "entries searched")
            facts: set[tuple[str, str]] = set()
            with self._searching(item):
                for file, name, stream in _streams(item, source):
                    about = _About(item, file, name, facts)
                    with stream:
                        pieces = self._pieces(stream, file.size if file else 0)
                        first, second = next(pieces, b""), next(pieces, b"")
                        if second:
                            search.pieces(about, itertools.chain((first, second), pieces))
                        else:
                            search.whole(about, first)
        search.end()
        echoes = Echoes(values)
        for item in items if echoes else ():
            with self._searching(item):
                self._listen(item, source, echoes, found)
        self.told.entries += len(found)
        self.told.fixed += sum(seen.fixed for seen in found.values())
        return [found[id(item)] for item in items if id(item) in found]

    @contextlib.contextmanager
    def _searching(self, item: Item) -> Iterator[None]:
        """An item whose bytes are not to be had meanwhile has not been searched."""
        try:
            yield
        except FileNotFoundError as e:
            self._unsearched[id(item)] = unreadable(e)
        except OSError as e:
            self._unsearched[id(item)] = Problem("not-searched", why=e.strerror or str(e))

    def _kept(self, about: _About, found: Iterable[Leak | Fact]) -> list[Leak]:
        """The secrets that were found; facts are counted."""
        leaks: dict[tuple[int, int], Leak] = {}
        for one in found:
            if isinstance(one, Fact):
                self._fact(one, _where(about.item, about.name, one.start), about.facts)
            elif len(leaks) < _MAX_LEAKS:
                leaks.setdefault((one.start, one.end), one)
        return list(leaks.values())

    def _note(self, seen: _Seen, about: _About, leaks: list[Leak], source: Source) -> list[bytes]:
        """Remember what was found in a file; returns the secrets themselves."""
        item, file, name, _ = about
        fixed = _is_fixed(item, file) or len(leaks) >= _MAX_LEAKS
        data = _whole(file, source) if file and not fixed and item.kind in _PICKLES else None
        if data is not None:
            leaks = _within(leaks, list(texts_of_pickle(data, self._report.check)))
        texts = data if data is not None else _whole(file, source) if file else item.about
        grouped: dict[tuple[str, str, bytes], list[Leak]] = {}
        for leak in leaks:
            value = texts[leak.start : leak.end] if texts else b""
            grouped.setdefault((leak.what, leak.name, value), []).append(leak)
            if file:
                patch = Patch(leak.start, FILL * (leak.end - leak.start))
                seen.patches.setdefault(file.path, []).append(patch)
        for some in grouped.values():
            self._tell(item, name, some[0], len(some), fixed)
        seen.fixed = seen.fixed or fixed
        return [value for _, _, value in grouped if value]

    def _listen(self, item: Item, source: Source, echoes: Echoes, found: dict[int, _Seen]) -> None:
        """Find what is known to be secret where nothing around it says so."""
        for file, name, stream in _streams(item, source):
            path = file.path if file else ""
            seen = found.get(id(item))
            known = joined(seen.patches.get(path, [])) if seen else []
            more: dict[str, list[Leak]] = {}
            with stream:
                for echo in echoes.find(self._pieces(stream)):
                    if any(p.start <= echo.start and echo.end <= p.end for p in known):
                        continue
                    seen = seen or found.setdefault(id(item), _Seen(item))
                    seen.patches.setdefault(path, []).append(Patch(echo.start, echo.instead))
                    leak = Leak("again", echo.form, echo.start, echo.end, "…")
                    more.setdefault(echo.form, []).append(leak)
            if more and seen:
                fixed = _is_fixed(item, file)
                seen.fixed = seen.fixed or fixed
                for some in more.values():
                    self._tell(item, name, some[0], len(some), fixed)

    def _pieces(self, stream: BinaryIO, size: int = CHUNK) -> Iterator[bytes]:
        """All of a stream, of which about so many bytes are expected. Raises OSError."""
        # A buffer of CHUNK for each of a hundred thousand small files would take its time.
        step = min(CHUNK, max(size + 1, 1 << 14))
        done = 0
        while data := stream.read(step):
            self._report.check()
            yield data
            done += len(data)
            if len(data) < step and done >= size:
                break

    def _tell(self, item: Item, name: str, leak: Leak, times: int, fixed: bool) -> None:
        self.told.secrets += 1
        if self.told.secrets <= _MAX_TOLD:
            secret: Secret = {
                **_where(item, name, leak.start),
                "what": leak.what,
                "name": leak.name,
                "excerpt": leak.excerpt,
                "times": times,
                "redactable": not fixed,
            }
            self._report.finding(secret=secret)

    def _fact(self, fact: Fact, where: Where, known: set[tuple[str, str]]) -> None:
        name = what, value = fact.what, fact.value
        private = self.told.private
        if name not in private:
            if sum(one["what"] == what for one in private.values()) >= _MAX_FACTS:
                return
            private[name] = {"what": what, "value": value, "entries": 0, "times": 0, **where}
        private[name]["times"] += 1
        if name not in known:
            known.add(name)
            private[name]["entries"] += 1


@dataclass
class _Made:
    """What became of items, by their identity: new ones, and what is read of them."""

    source: Source
    items: dict[int, Item] = field(default_factory=dict)
    facts: dict[int, Described] = field(default_factory=dict)


def _whole(file: File, source: Source) -> bytes:
    """Raises OSError."""
    with source.open(file) as stream:
        return stream.read(MAX_PAYLOAD)


def _is_fixed(item: Item, file: File | None) -> bool:
    """Whether nothing of a file, or of what is none, can be replaced."""
    return file is None or item.kind not in _REDACTABLE or len(item.files) != 1


def _where(item: Item, file: str, offset: int) -> Where:
    return {"kind": item.kind, "key": item.key, "path": item.path, "file": file, "offset": offset}


def _within(leaks: Iterable[Leak], extents: Sequence[Extent]) -> list[Leak]:
    """Secrets without what comes after the text that they are in: opcodes may look like text."""
    found = []
    for leak in leaks:
        around = [e for e in extents if e.start <= leak.start < e.end]
        end = min((e.end for e in around), default=leak.end)
        found.append(leak._replace(end=min(leak.end, end)))
    return found


def _streams(item: Item, source: Source | None) -> Iterator[tuple[File | None, str, BinaryIO]]:
    """What of an item goes to another place: each file, its name, and its bytes there; None for
    what is no file: a key that somebody chose, and the text of an item of a list. Without a source,
    that alone. Raises OSError.
    """
    if item.kind == "pgo":
        yield None, "key", io.BytesIO(item.key.encode("utf-8", "surrogatepass"))
    listed = item.list_path
    if item.about:
        yield None, listed.rpartition("/")[2], io.BytesIO(item.about)
    if source is None:
        return
    for file in item.files:
        if not file.regular or (item.about and file.path == listed):
            continue
        yield file, file.name, portable_stream(item.kind, file, source.open(file))
