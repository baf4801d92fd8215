"""One entry in full, in pieces that fit the wire; the one last read is kept, to page through it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts import layout
from torchkeeper.artifacts.entry import Entry, Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.artifacts.shapes import JOINING, Facts
from torchkeeper.stores.describe import Described
from torchkeeper.stores.items import Item
from torchkeeper.stores.reader import Reader
from torchkeeper.stores.store import Store

if TYPE_CHECKING:
    from torchkeeper.engine.messages import entries as msg

#: Characters of a text in one answer; escaped they may take six bytes each.
PAGE = 100_000
#: Characters of a key factor's value in a row.
_VALUE = 2000
#: Kinds whose key factors are recorded.
GRAPHS = ("fxgraph", "aotautograd")
#: Facts that are texts of their own.
_TEXTS = ("graph", "backward_graph", "source", "config", "metadata")
#: Facts that are told otherwise, or not at all.
_INTERNAL = JOINING | {"factors", "instructions", "requires", "sources", *_TEXTS}


@dataclass
class Full:
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

    def factors(self) -> list[msg.FactorsRow]:
        found = factors_of(self.facts)
        return [{"hash": of, "name": name, "value": value[:_VALUE]} for of, name, value in found]


def factors_of(facts: Mapping[str, object]) -> list[tuple[str, str, str]]:
    """(hash, name, value) of each key factor, uncut; none where none are recorded."""
    listed = facts.get("factors")
    return [
        (str(one[0]), str(one[1]), str(one[2]))
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
    """The entry as a listing of the place has it: AOTAutograd's graphs, which are read before it,
    know the function they are of, the torch that made them and the device.
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


def send_detail(full: Full, report: Report) -> msg.DetailResult:
    """What there is to know, without the long texts."""
    about = {name: value for name, value in full.facts.items() if name not in _INTERNAL and value}
    code = full.facts.get("code_key")
    needs = {
        "fx_keys": full.facts.get("fx_keys", []),
        "triton_keys": full.facts.get("triton_keys", []),
        "code_keys": [code] if code else [],
    }
    told: msg.Detail = {
        "entry": full.entry.to_json(),
        "facts": _fitting(about, 200_000),
        "files": files_of(full.item, 2000),
        "needs": {name: keys[:500] for name, keys in needs.items() if keys},
        "texts": [{"name": name, "chars": len(text)} for name, text in full.texts().items()],
        "factors": len(full.factors()),
    }
    report.finding(detail=told)
    return {}


def files_of(item: Item, most: int) -> list[msg.EntryFile]:
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


def page(full: Full, name: str, offset: int) -> msg.TextResult:
    """A part of a text, with what there is of it. Raises Problem("text-unknown")."""
    text = full.texts().get(name)
    if text is None:
        raise Problem("text-unknown", name=name[:80])
    start = max(0, min(offset, len(text)))
    return {"name": name, "offset": start, "text": text[start : start + PAGE], "chars": len(text)}


def send_factors(full: Full, report: Report) -> msg.FactorsResult:
    rows = full.factors()
    report.rows(rows)
    return {"count": len(rows)}
