"""One entry in full: what an inspector shows, in pieces that fit the wire.

``detail`` tells what there is, ``text`` and ``factors`` bring the long parts when they are asked
for. The entry last read in full is kept, so that paging through it reads it once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts import layout
from torchkeeper.artifacts.entry import Entry, Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import wire
from torchkeeper.stores.describe import Described
from torchkeeper.stores.items import Item
from torchkeeper.stores.reader import Reader
from torchkeeper.stores.store import Store

if TYPE_CHECKING:
    from torchkeeper.artifacts.payload import Facts
    from torchkeeper.engine.messages.entries import (
        Detail,
        DetailResult,
        EntryFile,
        FactorsResult,
        FactorsRow,
        TextResult,
    )

#: Characters of a text in one answer; escaped they may take six bytes each.
PAGE = 100_000
#: Characters of a key factor's value in a row.
_VALUE = 2000
#: Facts that are texts of their own.
_TEXTS = ("graph", "backward_graph", "source", "config", "metadata")
#: Facts that only join entries with each other.
_INTERNAL = frozenset(
    {
        "kernels",
        "digest",
        "fx_keys",
        "triton_keys",
        "code_key",
        "code_keys",
        "code_names",
        "role",
        "opaque",
        "factors",
        "group",
        "prints",
        "warp",
        "widths",
        "own_key",
        "libs",
        "instructions",
        "requires",
    }
)


@dataclass
class Full:
    """An entry with all its facts."""

    entry: Entry
    item: Item
    facts: Facts

    def texts(self) -> dict[str, str]:
        """Its long texts by name; a source file's name is that of the file."""
        found = {name: self.facts.get(name) for name in _TEXTS}
        sources = self.facts.get("sources")
        if isinstance(sources, dict):
            found |= sources
        return {name: text for name, text in found.items() if isinstance(text, str) and text}

    def factors(self) -> list[FactorsRow]:
        """Its key factors as rows."""
        listed = self.facts.get("factors")
        return [
            {"hash": str(one[0]), "name": str(one[1]), "value": str(one[2])[:_VALUE]}
            for one in (listed if isinstance(listed, list) else [])
            if isinstance(one, (list, tuple)) and len(one) == 3
        ]


class Details:
    """Reads entries in full; remembers the last one."""

    def __init__(self) -> None:
        self._last: tuple[tuple[str, str, str], tuple[object, ...], Full] | None = None

    def of(self, reader: Reader, store: Store, kind: str, path: str, report: Report) -> Full:
        """The entry of a kind at a path. Raises Problem("entry-gone")."""
        place = store.place
        with store:
            items = store.items_beside(path, report)
            item = next((i for i in items if i.identity == (kind, path)), None)
            if item is None:
                raise Problem("entry-gone", path=path)
            state = tuple((f.path, f.size, f.mtime_ns, f.inode, f.sha256) for f in item.files)
            if self._last and self._last[:2] == ((place, kind, path), state):
                return self._last[2]
            if large := store.put_off(item):
                return Full(large.entry, item, {})
            for batch in store.read([item], reader, report, full=True):
                for one in batch:
                    entry = _as_listed(one, item, store, reader, report)
                    full = Full(entry, one.item, one.facts)
                    self._last = ((place, kind, path), state, full)
                    return full
            raise Problem("entry-gone", path=path)


def _as_listed(alone: Described, item: Item, store: Store, reader: Reader, report: Report) -> Entry:
    """The entry as a listing of the place has it, where what it needs is read before it.

    AOTAutograd's graphs know the function they are of, the torch that made them and the device.
    """
    graphs: list[Item] = []
    if item.kind == "aotautograd":
        for key in alone.facts.get("fx_keys") or ():
            if not layout.is_graph_key(key):
                continue
            beside = store.items_beside(store.graph_beside(item, key), report)
            graphs += [one for one in beside if (one.kind, one.key) == ("fxgraph", key)]
    if not graphs:
        return alone.entry
    batches = store.read([*graphs, item], reader, report)
    found = [one.entry for batch in batches for one in batch]
    return next((one for one in found if one.identity == alone.entry.identity), alone.entry)


def send_detail(full: Full, report: Report) -> DetailResult:
    """What there is to know, without the long texts."""
    about = {
        name: value
        for name, value in full.facts.items()
        if name not in _INTERNAL and name not in _TEXTS and name != "sources" and value
    }
    code = full.facts.get("code_key")
    needs = {
        "fx_keys": full.facts.get("fx_keys", []),
        "triton_keys": full.facts.get("triton_keys", []),
        "code_keys": [code] if code else [],
    }
    told: Detail = {
        "entry": full.entry.to_json(),
        "facts": _fitting(about, 200_000),
        "files": files_of(full.item, 2000),
        "needs": {name: keys[:500] for name, keys in needs.items() if keys},
        "texts": [{"name": name, "chars": len(text)} for name, text in full.texts().items()],
        "factors": len(full.factors()),
    }
    report.finding(detail=told)
    return {}


def files_of(item: Item, most: int) -> list[EntryFile]:
    """So many of its files at most."""
    return [
        {"path": f.path, "size": f.size, "mtime": f.mtime_ns / 1e9 if f.mtime_ns else None}
        for f in item.files[:most]
    ]


def _fitting(value: Any, budget: int) -> Any:
    """A value cut so that it certainly fits a line."""
    if isinstance(value, str):
        return value[: min(4000, budget)]
    if isinstance(value, list):
        return [_fitting(item, budget // 50) for item in value[:50]]
    if isinstance(value, dict):
        return {name: _fitting(inner, budget // 20) for name, inner in list(value.items())[:20]}
    return value


def page(full: Full, name: str, offset: int) -> TextResult:
    """A part of a text, with what there is of it. Raises Problem("text-unknown")."""
    text = full.texts().get(name)
    if text is None:
        raise Problem("text-unknown", name=name[:80])
    start = max(0, min(offset, len(text)))
    return {"name": name, "offset": start, "text": text[start : start + PAGE], "chars": len(text)}


def send_factors(full: Full, report: Report) -> FactorsResult:
    """The key factors as rows."""
    rows = full.factors()
    for start in range(0, len(rows), wire.MAX_ROWS):
        report.rows(rows[start : start + wire.MAX_ROWS])
    return {"count": len(rows)}
