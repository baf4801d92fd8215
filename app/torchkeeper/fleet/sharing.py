"""What nodes have compiled in this run, for others of their kind: bundles, each of which a node is
sent once. So that a unit begins with few of them, several are merged into one, and several of those
again.

PyTorch's own remote cache, in the compile jobs, is not used for it (torch 2.13). The switch of FX
graphs is in no key (``_cache_config_ignore_prefix`` in torch/_inductor/config.py), but that of
AOTAutograd is in its keys (``save_config`` in _functorch/_aot_autograd/autograd_cache.py), so that
programs without it would find nothing. A graph that is found on the server is not written to the
folder (``_lookup_graph`` in _inductor/codecache.py), and would be missing from what is gathered. No
server has the objects of the C++ compiler. And every entry would have the server's password, as it
has every variable TORCH*.
"""

from __future__ import annotations

import os
import secrets
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain

from torchkeeper.client.words.problems import UserError
from torchkeeper.fleet.gathering import Name
from torchkeeper.stores.names import SUFFIX

#: Bundles that are merged into one; bytes of those that a unit begins with.
TOGETHER, MOST = 8, 1 << 30
#: Seconds between two looks whether it is to end.
_TURN = 0.2


@dataclass(frozen=True)
class _Bundle:
    file: str
    names: frozenset[Name]


class Shared:
    """The bundles of each kind of node. Those that come are added one after the other, once they
    are in the place. merge: writes what some hold to another.
    """

    def __init__(self, scratch: str, merge: Callable[[Sequence[str], str], None]) -> None:
        self._scratch, self._merge = scratch, merge
        self._changed = threading.Condition()
        #: How many have come of each kind, and how many of those were added.
        self._came, self._added = Counter[str](), Counter[str]()
        #: Of each kind, those that came as they are, those that are merged of them, and so on.
        self._levels = dict[str, tuple[tuple[_Bundle, ...], ...]]()

    def expect(self, kind: str) -> None:
        """One has come, and is to be added."""
        with self._changed:
            self._came[kind] += 1

    def add(self, kind: str, file: str, names: frozenset[Name]) -> None:
        """Keep what a bundle holds for the next units, whatever becomes of it. What there is no
        room for is compiled once more.
        """
        kept, levels = self._new(), list(self._levels.get(kind, ()))
        try:
            shutil.copyfile(file, kept)
        except OSError:
            with suppress(OSError):
                os.unlink(kept)
        else:
            self._put(_Bundle(kept, names), levels)
        with self._changed:
            self._levels[kind] = tuple(levels)
            self._added[kind] += 1
            self._changed.notify_all()

    def _put(self, new: _Bundle, levels: list[tuple[_Bundle, ...]]) -> None:
        for at in range(len(levels) + 1):
            some = (*(levels[at] if at < len(levels) else ()), new)
            levels[at : at + 1] = [some]
            if len(some) < TOGETHER:
                break
            levels[at] = ()
            made = self._new()
            try:
                self._merge([one.file for one in some], made)
            except UserError:
                break  # what they hold is in the place, or in the state
            new = _Bundle(made, frozenset(chain.from_iterable(one.names for one in some)))

    def of(self, kind: str, stop: threading.Event) -> tuple[list[str], frozenset[Name]]:
        """The bundles for a node of a kind, and what is in them: of much what came last. Waits for
        those that have come by now.
        """
        with self._changed:
            came = self._came[kind]
            while self._added[kind] < came and not stop.is_set():
                self._changed.wait(_TURN)
            levels = self._levels.get(kind, ())
        files, names, size = list[str](), set[Name](), 0
        for one in (one for level in levels for one in reversed(level)):
            with suppress(OSError):
                size += os.path.getsize(one.file)
            if size > MOST:
                break
            files.append(one.file)
            names |= one.names
        return files[::-1], frozenset(names)

    def _new(self) -> str:
        return os.path.join(self._scratch, f"{secrets.token_hex(8)}{SUFFIX}")
