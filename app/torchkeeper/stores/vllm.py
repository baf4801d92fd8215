"""The keys of vLLM's in a place: for each part of a model and each rank its factors, what its graph
names, and its pieces.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchkeeper.artifacts import beside, layout, vllm
from torchkeeper.artifacts.patterns import regex

if TYPE_CHECKING:
    from torchkeeper.artifacts.report import Report
    from torchkeeper.stores.items import File, Item, Source

#: A file of a piece that is a folder, and the folder that has that.
_INSIDE = regex(rf"(?:(.*?)/)?{beside.PIECE}/.*", re.ASCII)
_GRAPH = "computation_graph.py"
#: The full path of such a folder.
_WHERE = regex(rf"(?:.*/)?([^/]+)/({layout.RANK.pattern})(?:/([^/]+))?")


@dataclass(frozen=True)
class Key:
    """path: the folder in the place. folder: what that of the key is called, rank, part: those
    below; "" where no path tells. sources: the files that its graph names. pieces: each by its
    name, with its bytes. listed: the folders that its list has the pieces in. files, size: of all
    that lies there.
    """

    path: str
    folder: str
    rank: str
    part: str
    factors: vllm.Factors
    sources: list[str]
    pieces: list[tuple[str, vllm.Piece, int]]
    listed: set[str]
    files: int
    size: int


def keys(
    items: Iterable[Item],
    source: Source,
    root: str,
    report: Report,
    damaged: Callable[[str], None] | None = None,
) -> Iterator[Key]:
    """Those among some items, by their paths. root: the full path of the place. damaged: hears of
    each file of factors that is none, or is not whole.
    """
    folders: dict[str, list[File]] = {}
    for item in items:
        for file in item.files:
            # What a piece has of its own, in a folder, is a part of it.
            inside = _INSIDE.match(file.path)
            above = (inside[1] or "") if inside else file.path.rpartition("/")[0]
            folders.setdefault(above, []).append(file)
    for folder, files in sorted(folders.items()):
        report.check()
        named = {file.name: file for file in files if file.path.rpartition("/")[0] == folder}
        if (about := named.get(layout.VLLM_FACTORS)) is None:
            continue
        factors = vllm.factors(_read(source, about, vllm.MAX_FACTORS))
        if factors is None:
            if damaged:
                damaged(about.path)
            continue
        graph = named.get(_GRAPH)
        text = _read(source, graph, vllm.MAX_GRAPH).decode("utf-8", "replace") if graph else ""
        where = _WHERE.fullmatch(f"{root}/{folder}".rstrip("/"))
        index = named.get(layout.VLLM_INDEX)
        above, rank, part = where.groups("") if where else ("", "", "")
        yield Key(
            folder,
            str(above),
            str(rank),
            str(part),
            factors,
            vllm.sources(text),
            _pieces(folder, files),
            vllm.listed_in(_read(source, index, vllm.MAX_INDEX)) if index else set(),
            len(files),
            sum(file.size for file in files),
        )


def _pieces(folder: str, files: Iterable[File]) -> list[tuple[str, vllm.Piece, int]]:
    sizes = Counter[str]()
    for file in files:
        sizes[file.path[len(folder) :].lstrip("/").partition("/")[0]] += file.size
    found = [(name, one, size) for name, size in sizes.items() if (one := vllm.piece(name))]
    return sorted(found, key=lambda one: one[1])


def _read(source: Source, file: File, most: int) -> bytes:
    """The beginning of a file; nothing of one that cannot be read."""
    data = bytearray()
    try:
        with source.open(file) as stream:
            while len(data) < most and (piece := stream.read(min(most - len(data), 1 << 20))):
                data += piece
    except OSError:
        return b""
    return bytes(data)
