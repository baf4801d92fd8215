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
from torchkeeper.artifacts.entry import PORTABLE, Problem
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

#: The kinds whose payloads a mega-cache holds, in the order of its sections.
_MEGA = ("fxgraph", "aotautograd", "autotune", "pgo")
#: The kinds that lie under files/. Autotune results are in both: a mega-cache serves torch.
_FILES = frozenset({"code", "triton", "autotune"})
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
    chosen: list[Described], source: Source, output: str, report: Report, left: Left
) -> Exported:
    """Write the entries to a bundle at ``output``, which appears when it is whole.

    What a bundle cannot hold, what is broken, and what changes meanwhile goes to ``left``. Where
    nothing is left to write, nothing is written: what is there stays.
    Raises Problem("output-unwritable") and passes Cancelled on; nothing stays behind then.
    """
    folder = os.path.dirname(os.path.abspath(output))
    if os.path.lexists(output) and not os.path.isfile(output):
        # A rename would replace a device or a folder by the bundle.
        raise Problem("output-unwritable", file=output, why="It is not a regular file")
    taken = [one for one in chosen if _holdable(one, left)]
    total = sum(one.item.size for one in taken)
    try:
        handle, partial = tempfile.mkstemp(dir=folder, prefix=".torchkeeper-", suffix=".tmp")
    except OSError as e:
        raise Problem("output-unwritable", file=output, why=e.strerror) from e
    try:
        with os.fdopen(handle, "w+b") as stream:
            done = _Progress(report, total)
            exported = _write(taken, source, stream, folder, done, left)
        if not exported.entries:
            os.unlink(partial)
            return exported
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(partial, 0o666 & ~umask)
        os.replace(partial, output)
    except BaseException as e:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        if isinstance(e, OSError):
            raise Problem("output-unwritable", file=output, why=e.strerror or str(e)) from e
        raise
    return exported


class _Progress:
    def __init__(self, report: Report, total: int) -> None:
        self._report = report
        self._total = total
        self._done = 0

    def add(self, count: int) -> None:
        self._done += count
        self._report.check()
        self._report.progress(min(self._done, self._total), self._total, "bytes")


def _holdable(one: Described, left: Left) -> bool:
    if one.entry.kind not in PORTABLE:
        left(one.item, Problem("kind-not-portable", kind=one.entry.kind))
        return False
    if one.entry.broken or one.entry.sha256 is None:
        left(one.item, Problem("entry-broken", problem=one.entry.problem or "file-unreadable"))
        return False
    try:
        # Whoever imports it must be able to place it.
        if one.entry.kind in _MEGA:
            layout.payload_path(one.entry.kind, _mega_key(one), one.entry.sha256)
    except Problem as problem:
        left(one.item, problem)
        return False
    return True


def _write(
    taken: list[Described],
    source: Source,
    stream: BinaryIO,
    folder: str,
    done: _Progress,
    left: Left,
) -> Exported:
    exported = Exported()
    # Sorted, so that the same entries give the same bytes whatever the folder's order was.
    taken = sorted(taken, key=lambda d: (d.entry.kind, d.entry.key, d.entry.sha256 or ""))
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        mega = [one for one in taken if one.entry.kind in _MEGA]
        if mega:
            with tempfile.TemporaryFile(dir=folder) as whole:
                for one in _mega_cache(mega, source, whole, done, left):
                    _account(exported, one, manifest.MEGA_CACHE, ())
                with archive.open(_info(manifest.MEGA_CACHE), "w", force_zip64=True) as member:
                    while data := whole.read(CHUNK):
                        done.add(0)
                        member.write(data)
        for one in taken:
            if one.entry.kind in _FILES:
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
    mega: list[Described], source: Source, whole: BinaryIO, done: _Progress, left: Left
) -> list[Described]:
    """Write the mega-cache; returns what is in it."""
    writer = megacache.Writer(whole)
    written = []
    for kind in _MEGA:
        writer.section(megacache.TYPE_OF_KIND[kind])
        for one in mega:
            if one.entry.kind == kind:
                try:
                    writer.artifact(_mega_key(one), _checked_payload(one, source, done))
                except Problem as problem:
                    left(one.item, problem)
                else:
                    written.append(one)
    writer.close()
    return written


def _checked_payload(one: Described, source: Source, done: _Progress) -> Iterator[bytes]:
    """The payload. Raises Problem("entry-vanished"), and at its end ("entry-changed")."""
    digest = hashlib.sha256()
    for data in _chunks(one.item.files[0], source):
        digest.update(data)
        yield data
        done.add(len(data) if one.entry.kind not in _FILES else 0)
    if digest.hexdigest() != one.entry.sha256:
        raise Problem("entry-changed")


def _chunks(file: File, source: Source) -> Iterator[bytes]:
    """A file of the source. Raises Problem("entry-vanished"): other errors are the target's."""
    try:
        with source.open(file) as stream:
            yield from iter(lambda: stream.read(CHUNK), b"")
    except OSError as e:
        raise Problem("entry-vanished", why=e.strerror or str(e)) from e


def _mega_key(one: Described) -> str:
    return one.item.path if one.entry.kind == "autotune" else one.entry.key


def _files(
    one: Described,
    source: Source,
    archive: zipfile.ZipFile,
    exported: Exported,
    folder: str,
    done: _Progress,
    left: Left,
) -> None:
    """Write the files of an entry, after checking that they are still what was listed."""
    with contextlib.ExitStack() as stack:
        held = []
        try:
            for file in one.item.files:
                layout.checked_path(one.entry.kind, file.path)
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
            path = manifest.FILES + file.path
            size = spool.tell()
            spool.seek(0)
            with archive.open(_info(path), "w", force_zip64=size > 1 << 30) as member:
                while data := spool.read(CHUNK):
                    member.write(data)
            listed.append(ListedFile(path, size, digest))
        listed.sort(key=lambda file: file.path)
        _account(exported, one, manifest.FILES + one.item.path, tuple(listed))


def _copy(item: Item, file: File, source: Source, spool: IO[bytes], done: _Progress) -> str:
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
