"""The last verification of a place: kept, checked, and never taken for one of what is there now."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from torchkeeper.client.kept import verified
from torchkeeper.client.words import verifying
from torchkeeper.warm.options import RUNS


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def result(**change: Any) -> Any:
    counts: dict[str, Any] = {"graphs": 2, "hits": 2, "misses": 0, "bypasses": 0, "rebuilt": 0}
    counts["unwritten"] = 0
    counts["autograd"] = {"hits": 1, "misses": 0}
    warm = {**counts, "seconds": 2.5}
    told = {
        **counts,
        "built": [],
        "rows": [{"id": "0/0 forward", "name": "f", "outcome": "hit"}],
        "seconds": {"cold": 20.0, "warm": 2.5},
        "ratios": {"warm_cold": 8.0},
        "runs": {"cold": {**warm, "seconds": 20.0}, "warm": warm},
        "skipped": {},
        "good": True,
        "device": "cpu",
        "threads": 2,
        "torch": "2.13.0+cpu",
        "variants": [],
        "things": {"graphs": 2},
        "whole": {"variants": 0, "good": 0},
    }
    return {**told, **change}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "place"
    for path in ("fxgraph/ab/fabc/payload", "ab/cabc.so", "locks/x.lock"):
        file = folder / path
        file.parent.mkdir(parents=True)
        file.write_text("x")
    return folder


def kept(place: Path) -> verified.Verified:
    one = verified.keep(str(place), verified.mark(str(place)), "/python", result())
    assert verified.last(str(place)) == one
    return one


def test_of_a_bundle(tmp_path: Path) -> None:
    bundle = tmp_path / "made.torchcache"
    bundle.write_bytes(b"one")
    assert verified.last(str(bundle)) is None
    one = kept(bundle)
    assert (one.place, one.python, one.result) == (str(bundle), "/python", result())
    assert not one.before_it_changed()
    bundle.write_bytes(b"other")
    again = verified.last(str(bundle))
    assert again == one
    assert again.before_it_changed()
    bundle.unlink()
    assert again.before_it_changed()


def test_of_a_folder(place: Path) -> None:
    one = kept(place)
    # Being used changes nothing: locks come and go.
    (place / "locks" / "y.lock").touch()
    (place / "precompiled_headers").mkdir()
    assert not one.before_it_changed()
    for new in ("fxgraph/ab/fabc/other", "ab/other.so", "top"):
        os.utime((place / new).parent, ns=(1, 1))  # the clock of a disk may be coarse
        before = verified.mark(str(place))
        (place / new).write_text("y")
        assert verified.mark(str(place)) != before
    assert one.before_it_changed()


def test_what_changed_meanwhile_is_not_vouched_for(place: Path) -> None:
    before = verified.mark(str(place))
    (place / "ab" / "new.so").write_text("x")
    one = verified.keep(str(place), before, "/python", result())
    assert one.mark is None
    assert one.before_it_changed()
    again = verified.last(str(place))
    assert again is not None
    assert again.before_it_changed()


@pytest.mark.parametrize(
    "change",
    [
        {"hits": -1},
        {"hits": True},
        {"hits": 10**30},
        {"hits": "7"},
        {"rebuilt": None},
        {"autograd": []},
        {"built": "x"},
        {"built": [3]},
        {"rows": [[]]},
        {"rows": [{"id": "0", "name": "f", "outcome": "<b>hit</b>"}]},
        {"seconds": {"warm": float("nan")}},
        {"seconds": {"warm": 1e300}},
        {"seconds": 3},
        {"ratios": {"warm_cold": "8"}},
        {"runs": {"warm": {}}},
        {"good": 1},
        {"torch": 2.13},
        {"threads": 2.5},
    ],
    ids=str,
)
def test_nonsense_is_no_verification(place: Path, change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not"):
        verified.checked(result(**change))
    kept(place)
    [file] = Path(verified.folder()).iterdir()
    said = json.loads(file.read_text())
    said["result"] = result(**change)
    file.write_text(json.dumps(said))
    assert verified.last(str(place)) is None


def test_only_what_a_verification_has_is_taken() -> None:
    assert verified.checked(result(more="x")) == result()
    many = [{"id": "0", "name": "n" * 5000, "outcome": "miss"}] * 2000
    rows = verified.checked(result(rows=many))["rows"]
    assert (len(rows), len(rows[0]["name"])) == (500, 1000)
    others: list[Any] = [None, [], 3, "x", {}]
    for nonsense in others:
        with pytest.raises(ValueError, match="not"):
            verified.checked(nonsense)


@pytest.mark.parametrize("at", ["1" + "0" * 400, "1e400", "-1e18", "1e18", "NaN", "true", '"now"'])
def test_times_that_are_none(place: Path, at: str) -> None:
    one = kept(place)
    [file] = Path(verified.folder()).iterdir()
    file.write_text(file.read_text().replace(repr(one.at), at))
    assert verified.last(str(place)) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, '{"at": 1}', "x" * (300 << 10)])
def test_damaged_files_are_passed_over(place: Path, text: str) -> None:
    kept(place)
    [file] = Path(verified.folder()).iterdir()
    file.write_text(text)
    assert verified.last(str(place)) is None
    kept(place)


def test_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verified, "MAX_KEPT", 3)
    for number in range(5):
        bundle = tmp_path / f"{number}.torchcache"
        bundle.touch()
        kept(bundle)
        for file in Path(verified.folder()).iterdir():
            os.utime(file, ns=(0, file.stat().st_mtime_ns - 10**9))
    there = [verified.last(str(tmp_path / f"{n}.torchcache")) is not None for n in range(5)]
    assert there == [False, False, True, True, True]


def test_nothing_is_kept_where_nothing_can_be(place: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("not a folder")
    one = verified.keep(str(place), verified.mark(str(place)), "/python", result())
    assert not one.before_it_changed()
    assert verified.last(str(place)) is None


def test_in_a_sentence() -> None:
    assert verifying.outcome(result()) == (
        "Good: of 2 graphs 2 hits, 0 misses; 0 objects built again; as it is 8.0 × as fast as cold."
    )
    ratios = {"warm_cold": 8.0, "warm_mega": 7, "prepared_cold": 9.96, "prepared_mega": 9}
    assert verifying.outcome(result(ratios=ratios)).endswith(
        "again; as it is 8.0 × as fast as cold and 7.0 × as fast as a stock mega-cache; "
        "prepared 10.0 × as fast as cold and 9.0 × as fast as a stock mega-cache."
    )
    bad = result(good=False, misses=1, rebuilt=1)
    assert "Not good: of 2 graphs 2 hits, 1 miss; 1 object built again" in verifying.outcome(bad)


def test_what_to_do_about_it() -> None:
    assert verifying.advice(result()) == []
    [said] = verifying.advice(result(good=False, rebuilt=2))
    assert "built objects again" in said
    missed = [{"id": "1/0 forward", "name": "MLP", "outcome": "miss"}]
    [said] = verifying.advice(result(good=False, misses=1, rows=missed))
    assert "(MLP)" in said
    threads, nothing = verifying.advice(result(good=False, hits=0, misses=2), made_threads=4)
    assert "OMP_NUM_THREADS=4" in threads
    assert "Nothing hit" in nothing
    missing = result(good=False, autograd={"hits": 0, "misses": 1})
    [said] = verifying.advice(missing)
    assert "AOTAutograd" in said
    assert verifying.verdict(missing) == "Not good: 1 AOTAutograd miss"
    assert "2 hits, 0 misses, 1 AOTAutograd miss; 0 objects" in verifying.outcome(missing)


def test_what_is_no_fault_is_said_beside() -> None:
    assert verifying.asides(result()) == []
    run: Any = {**result()["runs"]["warm"], "autograd": {"hits": 0, "misses": 2}, "unwritten": 2}
    told = result(runs={"warm": run}, skipped={"mega": "no-graphs", "prepared": "no-header"})
    assert (verifying.verdict(told), verifying.faults(run)) == ("Good", [])
    untold, mega, prepared = verifying.asides(told)
    assert untold.startswith("2 graphs are traced again at each start, though their code")
    assert mega.startswith("Without the run “stock mega-cache”: it holds graphs, and this")
    assert prepared.startswith("Without the run “prepared”: this program uses no precompiled")
    assert "AOTAutograd" not in verifying.outcome(told)
    # What an older version kept says nothing of either.
    old = {name: value for name, value in result().items() if name not in ("skipped", "unwritten")}
    assert verified.checked(old) == result()


def test_the_run_that_was_not_good_is_the_one_that_is_told() -> None:
    """The counts of a result are those of the last run."""
    good = result()["runs"]["warm"]
    for change, fault in (
        ({"misses": 2, "hits": 1}, "2 misses"),
        ({"hits": 0}, "nothing hit"),
        ({"autograd": {"hits": 0, "misses": 2}}, "2 AOTAutograd misses"),
        ({"rebuilt": 1}, "1 object built again"),
    ):
        told = result(good=False, runs={"warm": {**good, **change}, "prepared": good})
        assert verifying.verdict(told) == f"Not good as it is: {fault}"
        assert verifying.outcome(told).startswith("Not good as it is: of 2 graphs ")
        first, *more = verifying.advice(told)
        assert "good if the precompiled header is there" in first
        assert len(more) == 1, change
    told = result(good=False, rebuilt=3, runs={"warm": good, "prepared": {**good, "rebuilt": 3}})
    assert verifying.verdict(told) == "Not good prepared: 3 objects built again"
    assert len(verifying.advice(told)) == 1
    assert verifying.verdict(result()) == "Good"


def test_how_a_run_is_announced() -> None:
    assert [verifying.beginning(name) for name in RUNS][1].startswith("stock mega-cache: what")
    assert verifying.beginning("\x1b[2J") == "\\x1b[2J"
    assert verifying.runs(quick=False, portable=True) == ["cold", "mega", "warm"]


def test_whose_it_is(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert verifying.is_strange(str(tmp_path / "file"))
    assert verifying.is_strange(str(tmp_path / "missing"))
    assert not verifying.is_strange(str(tmp_path))
    if os.getuid() == 0:
        os.chown(tmp_path, 65534, -1)
        assert verifying.is_strange(str(tmp_path))
        os.chown(tmp_path, 0, -1)
    else:
        assert verifying.is_strange("/usr")
