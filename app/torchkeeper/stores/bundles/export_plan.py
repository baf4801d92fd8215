"""What a bundle would hold and how big it would be, to the byte, without writing it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torchkeeper
from torchkeeper.artifacts import manifest, megacache
from torchkeeper.artifacts.builds import MadeIn
from torchkeeper.artifacts.entry import KINDS, Entry
from torchkeeper.artifacts.manifest import Listed, ListedFile
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.bundles.building import Makers, Record
from torchkeeper.stores.bundles.export import (
    FILES,
    MEGA,
    Left,
    bundled,
    common_origin,
    holdable,
    told_name,
)
from torchkeeper.stores.bundles.members import MAY_BE_BIG
from torchkeeper.stores.describe import Described, Singly
from torchkeeper.stores.items import CHUNK, File, Source, is_group, portable_bytes
from torchkeeper.stores.offering import mega_key

#: From here on zipfile writes sizes and offsets in eight bytes (ZIP64_LIMIT), and member counts.
_BIG = (1 << 31) - 1
_MANY = (1 << 16) - 1


class OfKind(NamedTuple):
    """How much of a kind."""

    kind: str
    entries: int
    files: int
    bytes: int


@dataclass(frozen=True)
class Planned:
    """What would go into a bundle.

    bytes: of the entries; size: of the whole bundle; room: what the disk needs while it is
    written. kinds: in the order of KINDS. torches, devices: how many entries were made by and for
    which, the most first; None is not among them. made_in: as the bundle will say. objects,
    described: as of ``building.Record``.
    """

    entries: int
    files: int
    bytes: int
    size: int
    room: int
    kinds: list[OfKind]
    torches: list[tuple[str, int]]
    devices: list[tuple[str, int]]
    made_in: MadeIn | None
    objects: int = 0
    described: int = 0


def plan(
    chosen: Iterable[Described],
    source: Source,
    report: Report,
    left: Left,
    makers: Makers | None = None,
) -> Planned:
    """What exporting these entries comes to. What would stay out goes to ``left``."""
    record = Record(makers)
    alone = Singly(source)
    taken = holdable(chosen, alone, left)
    mega = _mega_cache(taken)
    members = [(manifest.MEGA_CACHE, mega, True)] if mega else []
    listed = []
    for one in taken:
        report.check()
        files = tuple(_files(one, alone)) if one.entry.kind in FILES else ()
        members += [(file.path, file.size, file.size > MAY_BE_BIG) for file in files]
        entry = one.entry
        path = bundled(entry.kind, one.item.path) if files else manifest.MEGA_CACHE
        sha256 = entry.sha256 or ""
        size = sum(file.size for file in files) if files else entry.size
        built = record.add(one.item, alone, files)
        name = told_name(one)
        listed.append(Listed(entry.kind, entry.key, sha256, size, path, files, built, name))
    made_in = common_origin(one.facts.get("made_in") for one in taken)
    made_by = f"torchkeeper {torchkeeper.__version__}"
    # A digest is as long as any other.
    digest = "0" * 64 if mega else None
    whole = manifest.Manifest(made_by, made_in, tuple(listed), record.native, digest)
    about = sum(map(len, whole.pieces()))
    size = _zip([*members, (manifest.NAME, about, False)])
    entries = [one.entry for one in taken]
    return Planned(
        entries=len(taken),
        files=sum(len(one.item.files) for one in taken),
        bytes=sum(entry.size for entry in entries),
        size=size,
        room=size,
        kinds=_kinds(entries),
        torches=Counter(entry.torch for entry in entries if entry.torch).most_common(),
        devices=Counter(entry.device for entry in entries if entry.device).most_common(),
        made_in=made_in,
        objects=record.objects,
        described=record.described,
    )


def _kinds(entries: list[Entry]) -> list[OfKind]:
    found: dict[str, OfKind] = {}
    for entry in entries:
        _, count, files, size = found.get(entry.kind) or OfKind(entry.kind, 0, 0, 0)
        found[entry.kind] = OfKind(entry.kind, count + 1, files + entry.files, size + entry.size)
    return [found[kind] for kind in KINDS if kind in found]


def _files(one: Described, source: Source) -> Iterator[ListedFile]:
    """The files as the manifest will list them; a digest is as long as any other."""
    for file in sorted(one.item.files):
        size = _portable_size(one.item.kind, file, source)
        yield ListedFile(bundled(one.item.kind, file.path), size, "0" * 64)


def _portable_size(kind: str, file: File, source: Source) -> int:
    if not is_group(kind, file.name) or file.size > CHUNK:
        return file.size
    try:
        with source.open(file) as stream:
            return len(portable_bytes(kind, file.name, stream.read(CHUNK)))
    except OSError:
        return file.size


def _mega_cache(taken: list[Described]) -> int:
    """The size of the mega-cache; 0 where there is none."""
    sections = []
    for kind in MEGA:
        ones = [one for one in taken if one.entry.kind == kind]
        if ones:
            artifacts = [(mega_key(one), one.entry.size) for one in ones]
            sections.append((megacache.TYPE_OF_KIND[kind], artifacts))
    return megacache.size_of(sections) if sections else 0


def _zip(members: list[tuple[str, int, bool]]) -> int:
    """The size of a zip of stored members (name, size, whether its header has room for more).

    Local header 30 bytes, entry of the directory 46, its end 22; eight-byte numbers come on top.
    """
    at, directory = 0, 0
    for name, size, roomy in members:
        length = len(name.encode())
        big = 2 * (size > _BIG) + (at > _BIG)
        directory += 46 + length + (4 + 8 * big if big else 0)
        at += 30 + length + 20 * roomy + size
    wide = len(members) > _MANY or at > _BIG or directory > _BIG
    return at + directory + 22 + (56 + 20 if wide else 0)
