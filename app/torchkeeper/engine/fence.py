"""What an engine may be asked by a key that is let in for some folders alone (``torchkeeper
serve``, a forced command of sshd). Whoever asks is a stranger who speaks the protocol: what is not
named here is refused.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torchkeeper.artifacts.entry import Problem
from torchkeeper.engine import protocol

#: What looks: it changes no place. A bundle is made in the private folder of the connection.
LOOKS = frozenset({
    protocol.LIST, protocol.DU, protocol.SUM, protocol.HOLD, protocol.SHOW, protocol.DETAIL,
    protocol.NEEDS, protocol.TEXT, protocol.FACTORS, protocol.RUNNABLE, protocol.PROBE,
    protocol.KNOW, protocol.CHECK, protocol.JUDGE, protocol.EXPLAIN, protocol.PLAN_EXPORT,
    protocol.EXPORT, protocol.TRASH, protocol.TARGET, protocol.LEAKS, protocol.ORIGIN,
    protocol.NAMES, protocol.NAMED, protocol.COMPARE, protocol.VLLM,
})  # fmt: skip
#: What changes a place.
CHANGES = frozenset({
    protocol.PLAN_PURGE, protocol.PURGE, protocol.UNDO, protocol.EMPTY_TRASH, protocol.RECOVER,
    protocol.IMPORT, protocol.COPY,
})  # fmt: skip
#: Parameters that name places and files: all texts in them, names of values included.
PLACED = frozenset({
    "place", "also", "into", "output", "files", "file", "nearest", "manifests", "vouched",
})  # fmt: skip
#: Parameters that name an entry by its path in a place.
WITHIN = frozenset({"path", "items"})
#: Parameters whose texts name no file that is opened.
PLAIN = frozenset({
    "key", "kind", "name", "filter", "unless", "envs", "python", "builders", "secrets", "receipt",
    "insisted", "env", "select", "other", "needs", "replace", "dry", "alone", "rows", "plan", "now",
    "cache",
})  # fmt: skip


class Fence(NamedTuple):
    """only: the folders, as absolute real paths. private: the folder of the connection, for bundles
    on their way. read_only: nothing in them is changed. pythons: the environments that may be
    started.
    """

    only: tuple[str, ...]
    private: str
    read_only: bool
    pythons: tuple[str, ...] = ()

    def to_json(self) -> str:
        return json.dumps(self)

    @classmethod
    def from_json(cls, text: str) -> Fence:
        only, private, read_only, pythons = json.loads(text)
        return cls(tuple(only), private, read_only, tuple(pythons))

    def check(self, op: str, params: Mapping[str, object]) -> None:
        """Raises Problem("not-served") for an operation, or a parameter, that is not let in, and
        ("place-not-served") for a place outside of the folders.
        """
        if op not in LOOKS and (self.read_only or op not in CHANGES):
            raise Problem("not-served", what=op)
        self._check(op, params)

    def _check(self, op: str, params: Mapping[str, object]) -> None:
        for name, value in params.items():
            if name in PLACED or (name, op) == ("path", protocol.TARGET):
                # An export takes the place of whatever file is there: in a folder, a user's own.
                for place in _texts(value):
                    self._inside(place, () if name == "output" else self.only)
            elif name in WITHIN:
                for path in _texts(value):
                    if os.path.isabs(path) or os.pardir in path.split(os.sep):
                        raise Problem("place-not-served", place=path)
            elif name == "unknown" and value:
                # What no cache has written is not what the key is for. It may be a link, which a
                # purge and an undo could move while something is written beyond it.
                raise Problem("not-served", what=name)
            elif isinstance(value, Mapping) and name in ("select", "other"):
                self._check(op, value)
            elif name not in PLAIN and not isinstance(value, bool | int | float | None):
                raise Problem("not-served", what=name)

    def _inside(self, place: str, only: tuple[str, ...]) -> None:
        # Where links lead is what counts: a folder may hold one that leads out of it.
        # And a name with “..” may be another one to whoever does not follow them.
        plain = os.path.isabs(place) and "\0" not in place and os.pardir not in place.split(os.sep)
        real = os.path.realpath(place) if plain else ""
        if not any(real == one or real.startswith(f"{one}/") for one in (*only, self.private)):
            raise Problem("place-not-served", place=place)


def _texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value, names included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, one in value.items():
            yield name
            yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
