"""Writing a bundle from a store: the same entries give the same bytes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, BinaryIO

import torchkeeper
from torchkeeper.artifacts import layout, manifest, megacache
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.manifest import Listed, ListedFile
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.describe import Described
from torchkeeper.stores.items import (
    CHUNK,
    File,
    Item,
    Source,
    is_group,
    payload_digest,
    portable_bytes,
)
from torchkeeper.stores.offering import homes, mega_key
from torchkeeper.stores.progress import Progress

#: The kinds whose payloads a mega-cache holds, in the order of its sections.
MEGA = ("fxgraph", "aotautograd", "autotune", "pgo", "precompile")
#: The kinds that lie under files/. Autotune results are in both: a mega-cache serves torch.
FILES = frozenset({"code", "triton", "autotune"})
_EPOCH = (1980, 1, 1, 0, 0, 0)

Left = Callable[[Item, Problem], None]


@dataclass
class Exported:
    """What went into a bundle."""

    entries: int = 0
    files: int = 0
    bytes: int = 0
    listed: list[Listed] = field(default_factory=list)


def export(
    chosen: list[Described],
    source: Source,
    output: str,
    report: Report,
    left: Left,
    replace: bool = True,
) -> Exported:
    """Write the entries to a bundle at ``output``, which appears when it is whole.

    What a bundle cannot hold, what is broken, and what changes meanwhile goes to ``left``. Where
    nothing is left to write, nothing is written: what is there stays. Without ``replace``, a file
    that is there stays too.
    Raises Problem("output-unwritable" | "output-exists") and passes Cancelled on; nothing stays
    behind then.
    """
    folder = os.path.dirname(os.path.abspath(output))
    if os.path.lexists(output) and not os.path.isfile(output):
        # A rename would replace a device or a folder by the bundle.
        raise Problem("output-unwritable", file=output, why="It is not a regular file")
    if not replace and os.path.lexists(output):
        raise Problem("output-exists", file=output)
    taken = holdable(chosen, left)
    try:
        handle, partial = tempfile.mkstemp(dir=folder, prefix=".torchkeeper-", suffix=".tmp")
    except OSError as e:
        raise Problem("output-unwritable", file=output, why=e.strerror) from e
    try:
        with os.fdopen(handle, "w+b") as stream:
            # Every byte is handled twice: read and checked, then written.
            done = _Halves(report, sum(one.item.size for one in taken))
            exported = _write(taken, source, stream, folder, done, left)
            done.end()
        if not exported.entries:
            os.unlink(partial)
            return exported
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(partial, 0o666 & ~umask)
        _publish(partial, output, replace)
    except BaseException as e:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        if isinstance(e, OSError):
            raise Problem("output-unwritable", file=output, why=e.strerror or str(e)) from e
        raise
    return exported


class _Halves(Progress):
    """Counts a byte when it has been read and written, and half of it before."""

    def __init__(self, report: Report, total: int) -> None:
        super().__init__(report, total)
        self._odd = 0

    def add(self, count: int) -> None:
        """So many bytes read, or written."""
        half, self._odd = divmod(count + self._odd, 2)
        super().add(half)


def _publish(partial: str, output: str, replace: bool) -> None:
    """Give the bundle its name. Raises Problem("output-exists"), and OSError."""
    if not replace:
        try:
            # Unlike a rename, a link never replaces what has come meanwhile.
            os.link(partial, output)
        except FileExistsError:
            raise Problem("output-exists", file=output) from None
        except OSError:
            if os.path.lexists(output):
                raise Problem("output-exists", file=output) from None
        else:
            os.unlink(partial)
            return
    os.replace(partial, output)


def holdable(chosen: Iterable[Described], left: Left) -> list[Described]:
    """Those that a bundle can hold, in the order it holds them; the others go to ``left``."""
    taken = []
    seen: set[tuple[str, str]] = set()
    for one in chosen:
        try:
            # Two of a place's may have one home, where caches lie inside it.
            home = one.entry.kind, layout.locate(homes(one)[0]).entry_path
            if home in seen:
                raise Problem("same-place")
            seen.add(home)
        except Problem as problem:
            left(one.item, problem)
        else:
            taken.append(one)
    # Sorted, so that the same entries give the same bytes whatever the folder's order was.
    return sorted(taken, key=lambda d: (d.entry.kind, d.entry.key, d.entry.sha256 or ""))


def _write(
    taken: list[Described],
    source: Source,
    stream: BinaryIO,
    folder: str,
    done: Progress,
    left: Left,
) -> Exported:
    exported = Exported()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        mega = [one for one in taken if one.entry.kind in MEGA]
        if mega:
            with tempfile.TemporaryFile(dir=folder) as whole:
                for one in _mega_cache(mega, source, whole, done, left):
                    _account(exported, one, manifest.MEGA_CACHE, ())
                with archive.open(_info(manifest.MEGA_CACHE), "w", force_zip64=True) as member:
                    while data := whole.read(CHUNK):
                        member.write(data)
                        done.add(len(data))
        for one in taken:
            if one.entry.kind in FILES:
                _files(one, source, archive, exported, folder, done, left)
        made = manifest.Manifest(
            f"torchkeeper {torchkeeper.__version__}",
            common_origin(one.facts.get("made_in") for one in taken),
            tuple(exported.listed),
        )
        archive.writestr(_info(manifest.NAME), made.to_bytes())
    return exported


def _account(exported: Exported, one: Described, path: str, files: tuple[ListedFile, ...]) -> None:
    entry = one.entry
    if entry.kind == "autotune" and not files:
        return  # listed once, with its file
    exported.entries += 1
    exported.files += len(one.item.files)
    exported.bytes += entry.size
    sha256 = entry.sha256 or ""
    exported.listed.append(Listed(entry.kind, entry.key, sha256, entry.size, path, files))


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.external_attr = 0o644 << 16
    info.create_system = 3
    return info


def _mega_cache(
    mega: list[Described], source: Source, whole: BinaryIO, done: Progress, left: Left
) -> list[Described]:
    """Write the mega-cache; returns what is in it."""
    writer = megacache.Writer(whole)
    written = []
    for kind in MEGA:
        writer.section(megacache.TYPE_OF_KIND[kind])
        for one in mega:
            if one.entry.kind == kind:
                done.begin(one.item)
                try:
                    writer.artifact(mega_key(one), _checked_payload(one, source, done))
                except Problem as problem:
                    left(one.item, problem)
                else:
                    written.append(one)
    writer.close()
    return written


def _checked_payload(one: Described, source: Source, done: Progress) -> Iterator[bytes]:
    """The payload. Raises Problem("entry-vanished"), and at its end ("entry-changed")."""
    digest = hashlib.sha256()
    for data in _chunks(one.item.files[0], source):
        digest.update(data)
        yield data
        done.add(len(data))
    if digest.hexdigest() != one.entry.sha256:
        raise Problem("entry-changed")


def _chunks(file: File, source: Source) -> Iterator[bytes]:
    """A file of the source. Raises Problem("entry-vanished"): other errors are the target's."""
    try:
        with source.open(file) as stream:
            yield from iter(lambda: stream.read(CHUNK), b"")
    except OSError as e:
        raise Problem("entry-vanished", why=e.strerror or str(e)) from e


def bundled(path: str) -> str:
    """The path in the bundle of a file that is at a path of the place."""
    return manifest.FILES + layout.canonical(path)


def _files(
    one: Described,
    source: Source,
    archive: zipfile.ZipFile,
    exported: Exported,
    folder: str,
    done: Progress,
    left: Left,
) -> None:
    """Write the files of an entry, after checking that they are still what was listed."""
    done.begin(one.item)
    with contextlib.ExitStack() as stack:
        held = []
        try:
            for file in one.item.files:
                # What is small stays in memory: an entry's files are checked before any is written.
                spool = stack.enter_context(
                    tempfile.SpooledTemporaryFile(max_size=4 << 20, dir=folder)
                )
                held.append((file, spool, _copy(one.item, file, source, spool, done)))
        except Problem as problem:
            left(one.item, problem)
            return
        parts = [(file.name, digest) for file, _, digest in held]
        if payload_digest(parts) != one.entry.sha256:
            left(one.item, Problem("entry-changed"))
            return
        listed = []
        for file, spool, digest in held:
            path = bundled(file.path)
            size = spool.tell()
            spool.seek(0)
            with archive.open(_info(path), "w", force_zip64=size > 1 << 30) as member:
                while data := spool.read(CHUNK):
                    member.write(data)
                    done.add(len(data))
            listed.append(ListedFile(path, size, digest))
        listed.sort(key=lambda file: file.path)
        _account(exported, one, bundled(one.item.path), tuple(listed))


def _copy(item: Item, file: File, source: Source, spool: IO[bytes], done: Progress) -> str:
    digest = hashlib.sha256()
    chunks = _chunks(file, source)
    if is_group(item.kind, file.name):
        chunks = iter([portable_bytes(item.kind, file.name, b"".join(chunks))])
    for data in chunks:
        digest.update(data)
        spool.write(data)
        done.add(len(data))
    return digest.hexdigest()


def common_origin(made_in: Iterable[dict[str, Any] | None]) -> dict[str, Any] | None:
    """The environment the FX graphs say they were made in; None where they do not tell or agree.

    torch decides: of entries by several torch versions nothing is said. Other facts that differ
    are None.
    """
    said = [facts for facts in made_in if facts]
    versions = {repr(facts.get("torch")) for facts in said}
    if not said or len(versions) > 1 or said[0].get("torch") is None:
        return None
    common = {}
    for name in sorted(said[0]):
        values = [facts.get(name) for facts in said]
        common[name] = values[0] if all(value == values[0] for value in values) else None
    return common
