"""Who needs whom: AOTAutograd entries, the FX graphs they name, the code and kernels of those.

What names what: an AOTAutograd entry the keys of its graphs (``fx_graph_cache_info``), or holds
the graphs itself; an FX graph its generated module (``cache_key`` in
torch/_inductor/output_code.py) and the kernels it bundles (torch/_inductor/triton_bundler.py); the
text of that module the C++ kernels and Triton sources; an autotune result the kernel it chose;
the lists of eager kernels their libraries.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

from torchkeeper.artifacts.layout import eager_folder, is_code_stem
from torchkeeper.stores.items import Item

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Facts

#: What an entry is known by: its kind and key; of a C++ kernel also "kernel" and its digest.
Name = tuple[str, str]
#: What is known of the entries of the kinds in TELLING.
Told = Sequence[tuple[Item, "Facts"]]
#: Kinds that name others, or are known by more than their key.
TELLING = frozenset({"fxgraph", "aotautograd", "code", "autotune"})
#: Seconds after which a lock or a temporary file is nobody's any more.
OLD = 86400.0
#: Seconds for which what nothing names may be of a graph that is being compiled: PyTorch writes
#: the code first and the graph last.
YOUNG = 3600.0


def needed(facts: Facts) -> dict[Name, None]:
    """What an entry needs, by name, in order."""
    names = [("fxgraph", key) for key in facts.get("fx_keys") or ()]
    codes = *(facts.get("code_keys") or ()), *(facts.get("code_names") or ())
    names += [("code", key) for key in codes]
    if key := facts.get("code_key"):
        names.append(("code", key))
    names += [("kernel", digest) for _, digest in facts.get("kernels") or ()]
    names += [("triton", key) for key in facts.get("triton_keys") or ()]
    return dict.fromkeys(names)


def known_as(item: Item, facts: Facts) -> set[Name]:
    """The names by which others need an entry."""
    names = {(item.kind, item.key)}
    if item.kind == "code" and (digest := facts.get("digest")):
        names.add(("kernel", digest))
    return names


class Living:
    """What the graphs of one place name; which entries nothing needs.

    To be asked about every entry once, graphs before what they name (items.in_order).
    Nothing is called an orphan that could be needed by something unread: code is judged only
    where every graph could be read and none is packed into something else, and only code that is
    written for FX graphs alone, or for eager kernels; nothing that a compile may be at work on.
    """

    def __init__(self, whole: Callable[[], bool], now: float | None = None) -> None:
        """whole: whether everything in the place could be seen."""
        self._whole = whole
        self._now = time.time() if now is None else now
        self._graphs: set[str] = set()
        self._named: set[Name] = set()
        self._blind = False
        self._cached = False
        #: Of eager kernels: folders with lists that cannot be read, and with libraries in a list.
        self._unread_lists: set[str] = set()
        self._listed: set[str] = set()

    def orphan(self, item: Item, facts: Facts) -> str | None:
        """Why nothing needs this entry, as a code for ``client.words.problems``, or None."""
        kind = item.kind
        if kind == "triton":
            return "triton-incomplete" if facts.get("problem") == "triton-incomplete" else None
        if kind == "lock":
            return "left-behind" if self._age(item) > OLD else None
        if kind == "code":
            return self._code(item, facts)
        if kind in ("fxgraph", "aotautograd"):
            return self._graph(item, facts)
        if kind == "precompile":
            # It holds graphs of its own, of which nobody knows the code.
            self._blind = True
        if kind == "aoti_eager":
            libraries = [file.path for file in item.files if file.name.endswith(".so")]
            self._listed.update(path.rpartition("/")[0] for path in libraries)
            if not item.about and not facts.get("name"):
                self._unread_lists.add(item.path.rpartition("/")[0])
        return None

    def _graph(self, item: Item, facts: Facts) -> str | None:
        self._cached = True
        names = needed(facts)
        self._named.update(names)
        if not names or facts.get("opaque"):
            self._blind = True
        if item.kind == "fxgraph":
            self._graphs.add(item.key)
            return None
        gone = set(facts.get("fx_keys") or ()) - self._graphs
        return "graph-gone" if gone and self._age(item) > YOUNG and self._whole() else None

    def _library(self, item: Item, lists: str) -> str | None:
        """Of a library no list names, and of what libraries were built from that are gone."""
        if lists in self._unread_lists or self._age(item) <= YOUNG or not self._whole():
            return None
        built = any(file.name.endswith(".so") for file in item.files)
        beside = item.files[0].path.rpartition("/")[0] in self._listed
        return "library-unlisted" if built or not beside else None

    def _code(self, item: Item, facts: Facts) -> str | None:
        if lists := eager_folder(item.path):
            return self._library(item, lists)
        if not is_code_stem(item.key):
            return None
        known = facts.get("role") and self._cached and not self._blind and self._whole()
        if not known or self._age(item) <= YOUNG:
            return None
        return "code-unnamed" if self._named.isdisjoint(known_as(item, facts)) else None

    def _age(self, item: Item) -> float:
        """Seconds since any of its files changed; very many where nobody knows."""
        times = [file.mtime_ns for file in item.files if file.mtime_ns is not None]
        return self._now - max(times) / 1e9 if times else inf


@dataclass(frozen=True)
class Relatives:
    """What an entry needs, and what needs it; ``missing`` is what it needs and is not there. A C++
    kernel that is missing is not told: its key is known only where it is built. unread: about how
    many entries may need it as well, and could not be looked at.
    """

    needs: list[Item]
    missing: list[Name]
    needed_by: list[Item]
    unread: int = 0


def relatives(told: Told, items: Iterable[Item], of: Item) -> Relatives:
    """The relatives of an item; ``items`` are all of its place."""
    nothing: Facts = {}
    own = next((facts for item, facts in told if item.identity == of.identity), nothing)
    wanted, names = needed(own), known_as(of, own)
    digests = {name for name in wanted if name[0] == "kernel"}
    found = [item for item in items if (item.kind, item.key) in wanted]
    if digests:
        found += [
            item
            for item, facts in told
            if item.kind == "code" and ("kernel", facts.get("digest")) in digests
        ]
    there = {(item.kind, item.key) for item in found}
    missing = [name for name in wanted if name not in there and name not in digests]
    needed_by = [item for item, facts in told if not names.isdisjoint(needed(facts))]
    return Relatives(found, missing, needed_by)
