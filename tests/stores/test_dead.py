"""What is dead in a place, and what goes first, in caches that torch wrote."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from pathlib import Path

import pytest

from torchkeeper.artifacts.entry import Problem, tallied
from torchkeeper.artifacts.report import Report
from torchkeeper.stores import query
from torchkeeper.stores.dead import Dead, Wanted
from torchkeeper.stores.describe import Described, describe
from torchkeeper.stores.folders.folder import Folder, rests_on
from torchkeeper.stores.items import File, Item
from torchkeeper.stores.needs import Living, known_as, needed
from torchkeeper.stores.preconditions import strange_in
from torchkeeper.stores.reader import Reader

DAY = 86_400.0


def age(place: Path, days: float) -> None:
    """As if every file had been used last so many days ago."""
    then = time.time() - days * DAY
    for path in place.rglob("*"):
        os.utime(path, (then, then))


def looked(place: Path) -> Dead:
    folder = Folder(str(place))
    items = folder.items(Report())
    times, _ = folder.uses(items, Report())
    by_path = {item.identity: used for item, used in zip(items, times, strict=True)}
    living = Living(lambda: folder.whole)
    with Reader() as reader:
        batches = describe(items, folder, reader, Report(), living=living)
        found = [one for batch in batches for one in batch]
    return Dead(found, [by_path[one.item.identity] for one in found], folder.whole, True)


def going(dead: Dead, **wanted: float) -> list[Described]:
    return [dead.found[n] for n in dead.chosen(Wanted(**wanted))]  # type: ignore[arg-type]


def kinds(some: list[Described]) -> dict[str, int]:
    return dict(Counter(one.entry.kind for one in some))


def nothing_is_missed(dead: Dead, gone: list[Described]) -> None:
    """Nothing that stays needs anything that went."""
    ids = {id(one) for one in gone}
    lost = {name for one in gone for name in known_as(one.item, one.facts)}
    stays = [one for one in dead.found if id(one) not in ids]
    lost -= {name for one in stays for name in known_as(one.item, one.facts)}
    for one in stays:
        assert lost.isdisjoint(needed(one.facts)), one.entry.path


def test_a_budget_is_kept_and_nothing_goes_before_what_needs_it(fixture_cache: Path) -> None:
    age(fixture_cache, 5)
    (oldest,) = (fixture_cache / "aotautograd").glob("ab74*/*")
    graph = next(p for p in sorted((fixture_cache / "fxgraph").rglob("*")) if p.is_file())
    for path in (oldest, graph):
        then = time.time() - 40 * DAY
        os.utime(path, (then, then))
    dead = looked(fixture_cache)
    every = dead.told(range(len(dead.found)))["bytes"]
    first = going(dead, keep=every - 1)
    assert [str(fixture_cache / one.entry.path) for one in first] == [str(oldest)]
    for part in (0.9, 0.6, 0.5, 0.3, 0.1):
        limit = int(every * part)
        gone = going(dead, keep=limit)
        left = every - dead.told(n for n, one in enumerate(dead.found) if one in gone)["bytes"]
        assert left <= limit
        nothing_is_missed(dead, gone)
    assert going(dead, keep=every) == going(dead, keep=10**12) == []
    # What is not recognised, and locks, are not of a cache's bytes.
    (fixture_cache / "notes.txt").write_text("mine")
    rest = looked(fixture_cache)
    all_gone = {id(one) for one in going(rest, keep=0)}
    assert {one.entry.kind for one in rest.found if id(one) not in all_gone} == {"lock", "unknown"}


def test_what_an_entry_needs_is_used_with_it(fixture_cache: Path) -> None:
    age(fixture_cache, 40)
    assert kinds(going(looked(fixture_cache), older=30 * DAY)) == {
        "fxgraph": 7, "aotautograd": 4, "code": 32, "pgo": 1
    }  # fmt: skip
    assert going(looked(fixture_cache), older=41 * DAY) == []
    (used,) = (fixture_cache / "aotautograd").glob("ab74*/*")
    os.utime(used)
    dead = looked(fixture_cache)
    gone = going(dead, older=30 * DAY)
    # The entry, its graph, the module of that, and its kernel.
    assert kinds(gone) == {"fxgraph": 6, "aotautograd": 3, "code": 30, "pgo": 1}
    nothing_is_missed(dead, gone)


def test_code_that_nothing_else_needs_goes_along(fixture_cache: Path) -> None:
    age(fixture_cache, 1)
    dead = looked(fixture_cache)
    for one in dead.found:
        if one.entry.kind in ("fxgraph", "aotautograd"):
            one.entry = one.entry._replace(verdict="stale")
    why = dead.chosen(Wanted(stale=True))
    told = Counter((dead.found[n].entry.kind, *reasons) for n, reasons in why.items())
    assert told == {
        ("fxgraph", "stale"): 7, ("aotautograd", "stale"): 4, ("code", "needless"): 29
    }  # fmt: skip
    # Where a graph that stays could name it, it stays; and where a compile may be at work.
    kept = next(one for one in dead.found if one.entry.kind == "fxgraph")
    kept.facts["opaque"] = True
    kept.entry = kept.entry._replace(verdict="unknown")
    assert kinds(going(dead, stale=True)) == {"fxgraph": 6, "aotautograd": 4}
    kept.facts["opaque"] = False
    nothing_is_missed(dead, going(dead, stale=True))
    age(fixture_cache, 0)
    fresh = looked(fixture_cache)
    for one in fresh.found:
        if one.entry.kind in ("fxgraph", "aotautograd"):
            one.entry = one.entry._replace(verdict="stale")
    assert kinds(going(fresh, stale=True)) == {"fxgraph": 7, "aotautograd": 4}


def test_only_what_may_go_goes(fixture_cache: Path) -> None:
    age(fixture_cache, 40)
    dead = looked(fixture_cache)
    matches = query.parse("kind:code").matches
    # All code is needed by graphs that stay, but for what tries out the compiler.
    budget = dead.chosen(Wanted(keep=0), matches)
    assert {dead.found[n].facts.get("role") for n in budget} == {None}
    why = dead.chosen(Wanted(older=30 * DAY, broken=True), query.parse("kind:pgo").matches)
    assert [(dead.found[n].entry.kind, reasons) for n, reasons in why.items()] == [
        ("pgo", ["unused"])
    ]


def test_a_budget_counts_what_the_other_reasons_leave(fixture_cache: Path) -> None:
    age(fixture_cache, 1)
    graph = next(p for p in sorted((fixture_cache / "fxgraph").rglob("*")) if p.is_file())
    graph.write_bytes(graph.read_bytes()[:-10] + bytes(10))
    dead = looked(fixture_cache)
    broken = dead.chosen(Wanted(broken=True))
    assert [dead.found[n].entry.path for n in broken] == [str(graph.relative_to(fixture_cache))]
    left = dead.told(range(len(dead.found)))["bytes"] - dead.told(broken)["bytes"]
    assert dead.chosen(Wanted(broken=True, keep=left)) == broken
    more = dead.chosen(Wanted(broken=True, keep=left - 1))
    assert len(more) > 1
    assert {tuple(reasons) for n, reasons in more.items() if n not in broken} <= {
        ("budget",), ("needless",)
    }  # fmt: skip


def test_what_one_file_lists_goes_one_by_one(other_cache: Path) -> None:
    dead = looked(other_cache)
    listed = [one for one in dead.found if one.entry.path.startswith("aoti_eager/aten/cpu/abs")]
    assert len(listed) == 2
    listed[0].entry = listed[0].entry._replace(verdict="stale")
    assert going(dead, stale=True) == listed[:1]
    listed[1].entry = listed[1].entry._replace(verdict="stale")
    assert going(dead, stale=True) == listed


def test_a_file_with_two_names_takes_its_bytes_once(fixture_cache: Path) -> None:
    age(fixture_cache, 5)
    profile = next((fixture_cache / "dynamo").glob("*.pkl"))
    other = profile.with_name("code_state_other_0_.pkl")
    os.link(profile, other)
    dead = looked(fixture_cache)
    both = [n for n, one in enumerate(dead.found) if one.entry.kind == "pgo"]
    one = profile.stat().st_blocks * 512
    assert dead.told(both) == {**tallied(2), "files": 2, "bytes": one, "disk_bytes": one}
    assert one > 0


def test_a_use_is_the_last_reading_or_writing(fixture_cache: Path, tmp_path: Path) -> None:
    age(fixture_cache, 40)
    assert rests_on(str(fixture_cache)) in ("read", "day", "written")
    folder = Folder(str(fixture_cache))
    path = next((fixture_cache / "dynamo").glob("*.pkl"))
    then = time.time() - 3 * DAY
    os.utime(path, (then, path.stat().st_mtime))
    items = [item for item in folder.items(Report()) if item.kind == "pgo"]
    expected = path.stat().st_mtime if rests_on(str(fixture_cache)) == "written" else then
    path.read_bytes()  # is a use of it by the next time that it is looked at
    times, _ = folder.uses(items, Report())
    assert times == [pytest.approx(expected, abs=1)]
    # A disk that keeps no times of reading says so: /proc is never written, and never read late.
    shutil.rmtree(fixture_cache)
    assert rests_on(str(fixture_cache)) == "written"


@pytest.mark.parametrize("bytes_", [2_499, 2_500, 2_501, 0])
def test_what_is_mostly_strangers_is_told_without_counting_all(bytes_: int) -> None:
    """It is the most where it is more than half, wherever the rest lies in order; all of that is
    told of what is mostly a stranger's alone.
    """
    own = [Item("jit", f"{n}", f"{n}", [File(f"{n}", 1, 1, 1, (1, n))]) for n in range(2_500)]
    strange = [Item("unknown", "x", "x", [File("x", bytes_, 1, bytes_, (1, 9_999))])]
    for items in (own + strange, strange + own, own[:100] + strange + own[100:]):
        told = strange_in(items)
        assert told.most == (bytes_ > 2_500)
        assert (told.size, told.files) == (bytes_, 1)
        if told.most:
            assert (told.total, told.of) == (bytes_ + 2_500, 2_501)
    assert not strange_in(own).most
    assert strange_in(strange).most


def test_ages_and_sizes_have_the_units_of_filters() -> None:
    assert query.bytes_in("10G") == 10**10
    assert query.bytes_in("1.5 GiB") == 3 << 29
    assert query.bytes_in("0") == 0
    assert query.seconds_in("30d") == query.seconds_in("30") == 30 * DAY
    assert query.seconds_in("2w") == 14 * DAY
    for text in ("much", "-3", "", "10Q", "1e9", "nan"):
        for parse, code in ((query.bytes_in, "bad-size"), (query.seconds_in, "bad-age")):
            with pytest.raises(Problem) as caught:
                parse(text)
            assert (caught.value.code, caught.value.params) == (code, {"text": text})
