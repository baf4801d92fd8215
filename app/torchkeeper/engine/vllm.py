"""What vLLM keeps in a place: a key for each part of a model and each rank, with its factors."""

from __future__ import annotations

import os
import re
from collections import Counter
from typing import TYPE_CHECKING

from torchkeeper.artifacts import beside, layout, vllm
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.patterns import regex
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session, place_of
from torchkeeper.settings import processes
from torchkeeper.settings import vllm as variables
from torchkeeper.stores import processes as proc

if TYPE_CHECKING:
    from torchkeeper.engine.messages import verdicts as msg
    from torchkeeper.stores.items import File
    from torchkeeper.stores.store import Store

#: A file of a piece that is a folder, and the folder that has that.
_INSIDE = regex(rf"(?:(.*?)/)?{beside.PIECE}/.*", re.ASCII)
_GRAPH = "computation_graph.py"
#: The full path of such a folder.
_WHERE = regex(rf"(?:.*/)?([^/]+)/({layout.RANK.pattern})(?:/([^/]+))?")


def keys(session: Session, params: msg.VllmParams, report: Report) -> msg.VllmResult:
    """Rows: each key, in order. Raises Problem as ``Session.store``."""
    place = place_of(params["place"])
    folders: dict[str, list[File]] = {}
    count = 0
    with session.store(place, report) as store:
        for item in store.items(report):
            for file in item.files:
                # What a piece has of its own, in a folder, is a part of it.
                inside = _INSIDE.match(file.path)
                above = (inside[1] or "") if inside else file.path.rpartition("/")[0]
                folders.setdefault(above, []).append(file)
        root = os.path.realpath(place)
        for folder, files in sorted(folders.items()):
            report.check()
            if row := _key(store, root, folder, files):
                report.rows([row])
                count += 1
    return {"count": count}


def variables_of(
    _: Session, params: msg.VllmVariablesParams, __: Report
) -> msg.VllmVariablesResult:
    """Raises Problem as ``settings.processes.checked``."""
    processes.checked(pid := params["pid"])
    try:
        env = proc.environment(pid)
    except PermissionError:
        raise Problem("process-of-other", pid=pid) from None
    except OSError:
        raise Problem("process-gone", pid=pid) from None
    known = variables.hashed().keys() | variables.ignored()
    return {"variables": {n: x for n, x in env.items() if n in known or n.startswith("VLLM_")}}


def _key(store: Store, root: str, folder: str, files: list[File]) -> msg.VllmRow | None:
    named = {file.name: file for file in files if file.path.rpartition("/")[0] == folder}
    if (about := named.get(layout.VLLM_FACTORS)) is None:
        return None
    factors = vllm.factors(_read(store, about, vllm.MAX_FACTORS))
    if factors is None:
        return None
    where = _WHERE.fullmatch(f"{root}/{folder}".rstrip("/"))
    graph = named.get(_GRAPH)
    text = _read(store, graph, vllm.MAX_GRAPH).decode("utf-8", "replace") if graph else ""
    sources = vllm.sources(text)
    sizes = Counter[str]()
    for file in files:
        sizes[file.path[len(folder) :].lstrip("/").partition("/")[0]] += file.size
    told: list[msg.PieceTold] = [
        {"name": name, "bytes": size, "low": one.low, "high": one.high, "index": one.number}
        for name, size in sizes.items()
        if (one := vllm.piece(name))
    ]
    return {
        "path": folder,
        "folder": where[1] if where else "",
        "rank": where[2] if where else "",
        "part": (where[3] if where else "") or "",
        "named": vllm.folder(factors),
        "env": dict(factors.env),
        "hashes": factors.hashes,
        "model": vllm.model(sources),
        "sources": sources,
        "pieces": sorted(told, key=lambda one: (one["low"], one["high"], one["index"])),
        "files": len(files),
        "bytes": sum(file.size for file in files),
    }


def _read(store: Store, file: File, most: int) -> bytes:
    """The beginning of a file; nothing of one that cannot be read."""
    try:
        with store.open(file) as stream:
            data = bytearray()
            while len(data) < most and (piece := stream.read(min(most - len(data), 1 << 20))):
                data += piece
            return bytes(data)
    except OSError:
        return b""
