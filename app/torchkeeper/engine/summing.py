"""Entries in groups, by kind, torch version, age and verdict; and what a selection takes, and what
compiling it took, by kind.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import KINDS, counted, measured, tallied
from torchkeeper.artifacts.jits import known as jits
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session, chosen_of, place_of
from torchkeeper.stores.describe import Described

if TYPE_CHECKING:
    from torchkeeper.engine.messages.places import SumKind, SumParams, SumResult

#: How long ago entries were last changed, by the seconds that are less than that.
AGES = (("day", 86_400.0), ("week", 604_800.0), ("month", 2_592_000.0), ("quarter", 7_776_000.0),
        ("older", math.inf))  # fmt: skip
#: Versions of torch that are told apart in a place; what payloads claim may be any text.
_TORCHES, _LENGTH = 200, 80
#: kind, torch, age, verdict, and which compiler's it is (``jits.COMPILERS``), "" for other kinds.
Group = tuple[str, str, str, str, str]


class Sum:
    """Entries in groups: {group: [entries, bytes, seconds of compiling, entries that tell them]}.
    An AOTAutograd entry tells its graphs' seconds as well: they count once where these are here.
    """

    def __init__(self, now: float) -> None:
        self._now = now
        self.groups: dict[Group, list[float]] = {}
        self._graphs: dict[str, float] = {}
        self._torches: dict[str, str] = {}

    def add(self, one: Described, verdict: str | None = None) -> None:
        """One entry more. Graphs come before what names them."""
        entry = one.entry
        by = jits.compiler(entry.name) if entry.kind == "jit" else ""
        group = entry.kind, self._torch(entry.torch), self._age(entry.mtime), verdict or "", by
        told = self.groups.setdefault(group, [0, 0, 0.0, 0])
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
        told = self.groups.setdefault((kind, "", "", "", ""), [0, 0, 0.0, 0])
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
        for name, limit in AGES:
            if age < limit:
                return name
        return AGES[-1][0]


def add_up(session: Session, params: SumParams, report: Report) -> SumResult:
    """What a selection comes to; files and bytes are of the entries, but in the row of a kind. A
    graph that is selected with what names it counts once. The values of a server are fetched: its
    keys tell no times.
    """
    with session.store(place_of(params["place"]), report) as store:
        chosen = chosen_of(session, store, params.get("select", {}), report)
    sums, files = Sum(time.time()), dict.fromkeys(KINDS, 0)
    # A server has its keys in no order, and graphs come before what names them.
    for one in sorted(chosen, key=lambda one: one.entry.kind == "aotautograd"):
        sums.add(one)
        files[one.entry.kind] += one.entry.files
    totals: dict[str, list[float]] = {}
    for (kind, *_), group in sums.groups.items():
        totals[kind] = [x + y for x, y in zip(totals.get(kind, [0, 0, 0.0, 0]), group, strict=True)]
    rows: list[SumKind] = [
        {
            "kind": kind, **tallied(int(entries), kind), "files": files[kind],
            **measured(int(size), on_disk=False), "compile_s": seconds, "timed": int(timed),
        }
        for kind in KINDS if kind in totals for entries, size, seconds, timed in [totals[kind]]
    ]  # fmt: skip
    own = [row for row in rows if row["entries"]]
    return {
        **counted({kind: int(total[0]) for kind, total in totals.items()}),
        "files": sum(row["files"] for row in own),
        **measured(sum(row["bytes"] for row in own), on_disk=False),
        "compile_s": sum((row["compile_s"] for row in rows), 0.0),
        "timed": sum(row["timed"] for row in rows),
        "kinds": rows,
    }
