"""The sums of an overview: by any dimension, within others, and of what came wrong."""

from __future__ import annotations

import pytest

from torchkeeper.artifacts.entry import holds, measured, tallied
from torchkeeper.artifacts.shapes import Fault
from torchkeeper.client.overviewing import DIMENSIONS, Overview, Reclaim
from torchkeeper.engine.messages.places import GroupRow, PlaceLooked, ReclaimRow


def row(
    place: str = "/a", kind: str = "fxgraph", *, torch: str = "2.9.1", age: str = "day",
    verdict: str = "usable", entries: int = 1, size: int = 10, compile_s: float = 1.5,
    timed: int = 1, compiler: str = "",
) -> GroupRow:  # fmt: skip
    return {"place": place, "kind": kind, "torch": torch, "age": age, "verdict": verdict,
            **tallied(entries, kind), **measured(size, on_disk=False), "compile_s": compile_s,
            "timed": timed, "compiler": compiler}  # fmt: skip


def could(
    reason: str, entries: int, size: int, place: str = "/a", why: Fault | None = None
) -> ReclaimRow:
    return {"reclaim": reason, "place": place, **tallied(entries), "files": 0,
            **measured(size, on_disk=True), "why": why}  # fmt: skip


def looked(place: str, free: int | None = None, problem: Fault | None = None) -> PlaceLooked:
    return {"place": place, **holds({}), "trash_bytes": 0, "free_bytes": free, "total_bytes": 9,
            "disk": "1", "rests": None, "problem": problem}  # fmt: skip


@pytest.fixture
def sums() -> Overview:
    found = Overview()
    found.add([row(), row(kind="triton", torch="", verdict="stale", compile_s=0.0, timed=0)])
    found.add([row(place="/b", torch="2.10.0", age="older", verdict="conditional", entries=3)])
    found.add([row(place="/b", kind="code", verdict="", age="", entries=5, size=50, timed=0)])
    found.add([row(entries=2, size=5)])
    for place in ("/b", "/a"):
        found.told(looked(place))
    return found


def values(sums: Overview, by: str, **within: str) -> list[tuple[str, int]]:
    return [(part.value, part.totals.entries) for part in sums.groups(by, within)]


def test_entries_of_other_compilers_are_told_apart(sums: Overview) -> None:
    for name, count in (("flashinfer", 1), ("deepgemm", 2), ("later", 4), ("", 1)):
        sums.add([row(kind="jit", verdict="", entries=count, compiler=name)])
    # What this version does not know, and what names no compiler, is of the kind.
    sums.add([row(compiler="deepgemm")])
    assert values(sums, "kind") == [("fxgraph", 7), ("code", 5), ("triton", 1), ("deepgemm", 2),
                                    ("flashinfer", 1), ("jit", 5)]  # fmt: skip
    assert sums.total({"kind": "deepgemm"}).entries == 2


def test_parts_by_each_dimension(sums: Overview) -> None:
    assert values(sums, "place") == [("/b", 8), ("/a", 4)], "in the order in which they were told"
    assert values(sums, "kind") == [("fxgraph", 6), ("code", 5), ("triton", 1)]
    assert values(sums, "torch") == [("2.10.0", 3), ("2.9.1", 8), ("", 1)], "newest first"
    assert values(sums, "age") == [("day", 4), ("older", 3), ("", 5)]
    assert values(sums, "verdict") == [("usable", 3), ("conditional", 3), ("stale", 1), ("", 5)]
    for by in DIMENSIONS:
        assert sum(count for _, count in values(sums, by)) == sums.totals.entries == 12
    with pytest.raises(ValueError, match="not in tuple"):
        sums.groups("colour")


def test_parts_within_others(sums: Overview) -> None:
    assert values(sums, "kind", place="/a") == [("fxgraph", 3), ("triton", 1)]
    assert values(sums, "torch", place="/a", kind="fxgraph") == [("2.9.1", 3)]
    assert values(sums, "kind", torch="") == [("triton", 1)]
    assert values(sums, "kind", place="/c") == []
    assert sums.total({"place": "/b", "age": "older"}).entries == 3


def test_the_share_is_of_what_was_judged(sums: Overview) -> None:
    totals = sums.totals
    assert (totals.judged, totals.usable) == (7, 6)
    assert totals.share == pytest.approx(6 / 7)
    assert (totals.judged_bytes, totals.usable_bytes) == (35, 25)
    assert totals.share_bytes == pytest.approx(25 / 35)
    assert (totals.compile_s, totals.timed) == (6.0, 3)
    code = sums.total({"kind": "code"})
    assert (code.share, code.share_bytes) == (None, None)
    assert Overview().totals.share is None


def test_what_torch_takes_and_should_not_is_counted_and_never_usable(sums: Overview) -> None:
    assert sums.totals.unsafe == 0
    sums.add([row(verdict="unsafe", entries=4, place="/b"), row(verdict="unsafe")])
    assert (sums.totals.unsafe, sums.totals.judged, sums.totals.usable) == (5, 12, 6)
    assert sums.total({"place": "/b"}).unsafe == 4


def figures(one: Reclaim) -> tuple[int, int]:
    """Entries and bytes of what could go."""
    return one.counts["entries"], one.bytes


def test_what_could_go_and_what_nobody_knows() -> None:
    sums = Overview()
    unknown: Fault = {"code": "use-unknown", "params": {"server": "redis://h"}}
    sums.add([could("stale", 2, 200), could("unused", 1, 10), could("total", 2, 200)])
    sums.add([could("trash", 4, 40), could("unused", 0, 0, "redis://h", unknown)])
    sums.add([could("stale", 1, 1, "redis://h"), could("total", 1, 1, "redis://h")])
    assert list(sums.reclaim()) == ["stale", "unused", "trash"]
    assert figures(sums.reclaim()["stale"]) == (3, 201)
    assert figures(sums.reclaim()["unused"]) == (1, 10)
    assert sums.reclaim()["unused"].why is None
    why = sums.reclaim("redis://h")["unused"].why
    assert why is not None
    assert why.code == "use-unknown"
    assert figures(sums.reclaimable()) == (7, 241)
    assert figures(sums.reclaimable("/a")) == (6, 240)


def test_places_are_counted_left_out_or_failed() -> None:
    sums = Overview()
    sums.told(looked("/a", 5))
    same: Fault = {"code": "place-same", "params": {"place": "/b", "other": "/a"}}
    sums.told(looked("/b", problem=same))
    sums.told(looked("/c", problem={"code": "place-missing", "params": {"place": "/c"}}))
    # What is free changes while places are looked at.
    sums.told(looked("/d", 4))
    state = [(one.place, one.left_out, one.failed) for one in sums.places.values()]
    assert state == [
        ("/a", False, False), ("/b", True, False), ("/c", False, True), ("/d", False, False)
    ]  # fmt: skip
    assert str(sums.places["/b"].problem).startswith("/b is another name of /a.")
    assert sums.disks == [(4, 9)]


def test_what_only_a_newer_engine_knows_is_counted_as_unknown() -> None:
    sums = Overview()
    sums.add([row(kind="x", age="y", verdict="z", entries=2, size=4, compile_s=0.0, timed=0)])
    sums.add([could("colour", 1, 1)])
    assert sums.groups("kind") == [], "it is counted apart from entries"
    totals = sums.totals
    assert (totals.unknown, totals.entries) == (2, 0)
    assert (totals.bytes, totals.apart_bytes) == (0, 4)
    assert sums.reclaim() == {}
