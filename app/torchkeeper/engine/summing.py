"""Entries in groups: by kind, torch version, age and verdict, without the entries themselves."""

from __future__ import annotations

import math

from torchkeeper.stores.describe import Described

#: How long ago entries were last changed, by the seconds that are less than that.
AGES = (("day", 86_400.0), ("week", 604_800.0), ("month", 2_592_000.0), ("quarter", 7_776_000.0),
        ("older", math.inf))  # fmt: skip
#: Versions of torch that are told apart in a place; what payloads claim may be any text.
_TORCHES, _LENGTH = 200, 80
#: kind, torch, age, verdict.
Group = tuple[str, str, str, str]


class Sum:
    """Entries in groups: {group: [entries, bytes, seconds of compiling, entries that tell them]}.

    An AOTAutograd entry tells the seconds of its graphs as well; where these are here, only what
    it took besides is counted.
    """

    def __init__(self, now: float) -> None:
        self._now = now
        self.groups: dict[Group, list[float]] = {}
        self._graphs: dict[str, float] = {}
        self._torches: dict[str, str] = {}

    def add(self, one: Described, verdict: str | None = None) -> None:
        """One entry more. Graphs come before what names them."""
        entry = one.entry
        group = entry.kind, self._torch(entry.torch), self._age(entry.mtime), verdict or ""
        told = self.groups.get(group)
        if told is None:
            told = self.groups[group] = [0, 0, 0.0, 0]
        told[0] += 1
        told[1] += entry.size
        seconds = entry.compile_s
        if seconds is None or not 0 <= seconds < math.inf:
            return
        if entry.kind == "fxgraph":
            self._graphs.setdefault(entry.key, seconds)
        elif entry.kind == "aotautograd":
            keys = dict.fromkeys(one.facts.get("fx_keys") or ())
            seconds = max(0.0, seconds - sum(self._graphs.get(key, 0.0) for key in keys))
        told[2] += seconds
        told[3] += 1

    def add_unread(self, kind: str, size: int) -> None:
        """One of which only its key is known."""
        told = self.groups.setdefault((kind, "", "", ""), [0, 0, 0.0, 0])
        told[0] += 1
        told[1] += size

    def _torch(self, version: str | None) -> str:
        if version is None:
            return ""
        if version not in self._torches and len(self._torches) < _TORCHES:
            self._torches[version] = version[:_LENGTH]
        return self._torches.get(version, "")

    def _age(self, mtime: float | None) -> str:
        if mtime is None:
            return ""
        age = self._now - mtime
        return next((name for name, limit in AGES if age < limit), AGES[-1][0])
