"""What a fleet has done so far, in a folder of its own: a journal of JSON lines, each on the disk
before the next thing happens, and the bundles that have come and are not in the place yet. Whatever
is killed, the same command goes on from here. What of it cannot be read counts as not done.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import stat
import threading
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from torchkeeper.client.kept import whole
from torchkeeper.client.words.problems import failing_as, user_error
from torchkeeper.stores.folders import locks
from torchkeeper.stores.names import SUFFIX

if TYPE_CHECKING:
    from torchkeeper.engine.messages.fleet import CellFinding

_JOURNAL, _BUNDLES, _LOCK = "journal.jsonl", "bundles", "lock"
#: What the bundles of units are called: another file in their folder is somebody's.
_BUNDLE = re.compile(r"[0-9a-f]{16}" + re.escape(SUFFIX))
#: What ``folder_of`` calls a folder.
_FLEET = re.compile(r"[0-9a-f]{16}")
#: Bytes of a journal.
_MOST = 1 << 30


#: Kind and key of an entry.
Name = tuple[str, str]


@dataclass
class Done:
    """A cell that was compiled. keys: the entries that it looked up, of graphs the keys, of others
    also their kinds (``key_of``); unit: of the bundle that has what was new; seconds: that it took;
    shared: how many of its graphs others had compiled in that run. found, hits, misses, rebuilt,
    proved_on: of its proof.
    """

    node: str
    unit: str
    seconds: float = 0.0
    graphs: int = 0
    keys: list[str] = field(default_factory=list)
    proved_on: str = ""
    found: float = 0.0
    hits: int = 0
    misses: int = 0
    rebuilt: int = 0
    proof: str = ""
    shared: int = 0

    def tell(self, row: CellFinding) -> None:
        """What is known of a cell that was compiled, and maybe proven."""
        row["node"], row["seconds"], row["graphs"] = self.node, self.seconds, self.graphs
        row["state"], row["shared"] = self.proof or "warm", self.shared
        if self.proof:
            row["proved_on"], row["found"] = self.proved_on, self.found
            row["hits"], row["misses"], row["rebuilt"] = self.hits, self.misses, self.rebuilt

    @property
    def named(self) -> frozenset[Name]:
        """The entries that it looked up."""
        parts = (key.rpartition(":") for key in self.keys)
        return frozenset((kind or "fxgraph", key) for kind, _, key in parts)


def key_of(kind: str, key: str) -> str:
    """An entry, as ``Done.keys`` has it."""
    return key if kind == "fxgraph" else f"{kind}:{key}"


_LIKE = Done("", "")


def _done(told: Mapping[str, Any]) -> Done:
    """A cell as a line tells it. Raises TypeError and ValueError for what nobody has done."""
    one = Done(**told)
    for name, like in asdict(_LIKE).items():
        value = getattr(one, name)
        if type(value) is not type(like):
            raise TypeError(name)
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(name)
    if not all(isinstance(key, str) for key in one.keys):
        raise TypeError("keys")
    if one.proof not in ("", "proven", "partly"):
        raise ValueError("proof")
    return one


def folder_of(place: str) -> str:
    """Where the state of a place's fleet is kept, unless another folder is named."""
    name = hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return os.path.join(_fleets(), name)


def _fleets() -> str:
    from platformdirs import user_data_dir

    return os.path.join(user_data_dir("torchkeeper"), "fleets")


def fleets() -> list[str]:
    """The folders of all places that have one there."""
    folder, names = _fleets(), list[str]()
    with contextlib.suppress(OSError):
        names = sorted(filter(_FLEET.fullmatch, os.listdir(folder)))
    return [os.path.join(folder, name) for name in names]


class State:
    """The state in a folder. done: by the idents of cells; pending: the bundles that are not in the
    place yet, by unit; new: what each unit had that its node lacked, as kinds and keys; ours: what
    of that the place did not have, so that nobody else has put it there.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.done = dict[str, Done]()
        self.pending = dict[str, str]()
        self.new = dict[str, frozenset[Name]]()
        self.ours = dict[str, frozenset[Name]]()
        self._handle: int | None = None
        self._journal: int | None = None
        # One thread merges while others hear what has come.
        self._keeping = threading.Lock()

    def read(self) -> None:
        """Read what is there; without ``held`` nothing is changed. Raises UserError for a journal
        that cannot be read, or is too large.
        """
        path = os.path.join(self.folder, _JOURNAL)
        data = b""
        # One that is there and cannot be read is not begun anew: all would be compiled once more.
        with (
            failing_as("fleet-journal-unreadable", file=path),
            contextlib.suppress(FileNotFoundError),
        ):
            data = whole.read(path, _MOST)
        # A line that was being written when the power went is none.
        for line in data.split(b"\n"):
            with contextlib.suppress(
                ValueError, TypeError, KeyError, AttributeError, RecursionError
            ):
                self._take(json.loads(line))

    def _take(self, told: Mapping[str, Any]) -> None:
        if "came" in told:
            unit = str(told["came"])
            if not unit.isalnum():
                return
            cells = {str(ident): _done(one) for ident, one in told["cells"].items()}
            self.new[unit] = _named(told["new"])
            if told.get("bundle"):
                self.pending[unit] = os.path.join(self.folder, _BUNDLES, f"{unit}{SUFFIX}")
            self.done.update(cells)
        elif "merged" in told:
            self.ours[str(told["merged"])] = _named(told.get("placed", ()))
            self.pending.pop(str(told["merged"]), None)
        elif "pruned" in told:
            gone = _named(told["pruned"])
            for known in (self.new, self.ours):
                known.update({unit: names - gone for unit, names in known.items()})
        elif "proved" in told:
            self.done[str(told["proved"])] = _done(told["as"])

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Nobody else changes it meanwhile. Raises UserError where somebody does, or may."""
        with failing_as("place-unwritable", place=self.folder):
            os.makedirs(os.path.dirname(os.path.abspath(self.folder)), exist_ok=True)
            for folder in (self.folder, os.path.join(self.folder, _BUNDLES)):
                _own(folder)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._handle = os.open(os.path.join(self.folder, _LOCK), flags, 0o600)
        try:
            if locks.taken(self._handle):
                raise user_error("fleet-busy", {"folder": self.folder})
            self.read()
            self._tidy()
            with failing_as("place-unwritable", place=self.folder):
                path = os.path.join(self.folder, _JOURNAL)
                self._journal = os.open(path, flags | os.O_APPEND, 0o600)
                if os.fstat(self._journal).st_size:
                    os.write(self._journal, b"\n")  # behind what may be half a line
            yield
        finally:
            for handle in (self._journal, self._handle):
                if handle is not None:
                    os.close(handle)
            self._journal = self._handle = None

    def _tidy(self) -> None:
        """Bundles of units that nobody knows are remains, and those that are gone have not come."""
        here = os.path.join(self.folder, _BUNDLES)
        known = set(self.pending.values())
        for name in filter(_BUNDLE.fullmatch, os.listdir(here)):
            if (path := os.path.join(here, name)) not in known:
                _remove(path)
        for unit, path in list(self.pending.items()):
            if not os.path.isfile(path):
                self.drop(unit)

    def drop(self, unit: str) -> None:
        """Take a unit whose bundle is of no use for one that has not come."""
        file = self.pending.pop(unit)
        if self._journal is not None:
            _remove(file)
        self.done = {name: one for name, one in self.done.items() if one.unit != unit}

    def bundle(self, unit: str) -> str:
        """Where the bundle of a unit goes; it is one when ``came`` was told."""
        return os.path.join(self.folder, _BUNDLES, f"{unit}{SUFFIX}")

    def came(
        self, unit: str, cells: Mapping[str, Done], new: frozenset[Name], bundle: bool
    ) -> None:
        """What a unit has done is here. Raises UserError where that cannot be kept."""
        told = {"came": unit, "cells": {name: asdict(one) for name, one in cells.items()},
                "new": sorted(new), "bundle": bundle}  # fmt: skip
        self._keep(told)

    def merged(self, unit: str, placed: frozenset[Name] = frozenset()) -> None:
        """Its entries are in the place, which did not have those that were placed, and its bundle
        is not needed any more.
        """
        path = self.pending.get(unit)
        self._keep({"merged": unit, "placed": sorted(placed)})
        if path:
            _remove(path)

    def pruned(self, names: Collection[Name]) -> None:
        """These are not in the place any more, as nothing that is asked for needs them."""
        self._keep({"pruned": sorted(names)})

    def proved(self, ident: str, how: Done) -> None:
        self._keep({"proved": ident, "as": asdict(how)})

    def _keep(self, told: Mapping[str, Any]) -> None:
        data = json.dumps(told).encode() + b"\n"
        with self._keeping, failing_as("place-unwritable", place=self.folder):
            assert self._journal is not None
            size = os.fstat(self._journal).st_size
            if size + len(data) > _MOST:
                why = f"It would have more than {_MOST >> 20} MiB"
                file = os.path.join(self.folder, _JOURNAL)
                raise user_error("fleet-journal-unreadable", {"file": file, "why": why})
            try:
                while data:
                    data = data[os.write(self._journal, data) :]
                os.fsync(self._journal)
            except OSError:
                # Half a line would take the next one with it.
                os.ftruncate(self._journal, size)
                raise
            self._take(told)


def _named(told: Any) -> frozenset[Name]:
    return frozenset((str(kind), str(key)) for kind, key in told)


def _own(folder: str) -> None:
    """Make a folder that only this user can change: what a fleet believes lies in it. Raises
    OSError for another.
    """
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.stat(folder)
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(None, "Others can change what is in it")


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(path)
