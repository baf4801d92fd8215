"""What a fleet has done outlives whatever ends it."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path

import pytest

from torchkeeper.client.words.problems import UserError
from torchkeeper.fleet.state import Done, State

NEW = frozenset({("triton", "K1"), ("fxgraph", "f1")})


def one(node: str = "n", unit: str = "u1") -> Done:
    return Done(node, unit, 2.5, 3, ["f1"])


def made(folder: Path, merged: bool = False) -> State:
    state = State(str(folder))
    with state.held():
        Path(state.bundle("u1")).write_bytes(b"bundle")
        state.came("u1", {"c1": one()}, NEW, True)
        state.came("u2", {"c2": one(unit="u2")}, frozenset(), False)
        if merged:
            state.merged("u1")
    return state


def again(folder: Path) -> State:
    state = State(str(folder))
    with state.held():
        pass
    return state


def test_what_came_is_known_again(tmp_path: Path) -> None:
    made(tmp_path)
    state = again(tmp_path)
    assert state.done == {"c1": one(), "c2": one(unit="u2")}
    assert state.new["u1"] == NEW
    assert list(state.pending) == ["u1"]
    assert Path(state.pending["u1"]).read_bytes() == b"bundle"


def test_what_there_is_no_room_for_takes_nothing_later_with_it(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    state = made(tmp_path)
    with state.held():
        size = (tmp_path / "journal.jsonl").stat().st_size
        # The same as a full disk: some of the line is written, and then no more.
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20, limits[1]))
        try:
            with pytest.raises(UserError, match="cannot be written"):
                state.came("u3", {"c3": one(unit="u3")}, frozenset(), False)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert "c3" not in state.done
        state.came("u4", {"c4": one(unit="u4")}, frozenset(), False)
    assert set(again(tmp_path).done) == {"c1", "c2", "c4"}


def test_what_is_merged_needs_no_bundle(tmp_path: Path) -> None:
    made(tmp_path, merged=True)
    state = again(tmp_path)
    assert set(state.done) == {"c1", "c2"}
    assert not state.pending
    assert not os.listdir(tmp_path / "bundles")


def test_a_proof_is_known_again(tmp_path: Path) -> None:
    made(tmp_path)
    state = State(str(tmp_path))
    with state.held():
        known = state.done["c1"]
        known.proof, known.hits, known.proved_on = "proven", 3, "m"
        state.proved("c1", known)
    found = again(tmp_path).done["c1"]
    assert (found.proof, found.hits, found.proved_on) == ("proven", 3, "m")


def test_a_bundle_that_is_gone_has_not_come(tmp_path: Path) -> None:
    os.unlink(made(tmp_path).pending["u1"])
    state = again(tmp_path)
    assert set(state.done) == {"c2"}
    assert not state.pending


def test_remains_of_a_bundle_are_removed(tmp_path: Path) -> None:
    made(tmp_path)
    half = Path(State(str(tmp_path)).bundle("0123456789abcdef"))
    half.write_bytes(b"x")
    again(tmp_path)
    assert not half.exists()
    assert len(os.listdir(tmp_path / "bundles")) == 1


def test_files_of_a_user_beside_bundles_stay(tmp_path: Path) -> None:
    """A folder that somebody names for the state may have one of that name already."""
    (tmp_path / "bundles").mkdir(mode=0o755)
    mine = {"all.torchcache", "notes.txt", "0123.torchcache"}
    for name in mine:
        (tmp_path / "bundles" / name).write_bytes(b"mine")
    again(tmp_path)
    made(tmp_path, merged=True)
    assert set(os.listdir(tmp_path / "bundles")) == mine


@pytest.mark.parametrize("name", [".", "bundles"])
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_a_state_that_others_can_change_is_not_believed(
    tmp_path: Path, name: str, mode: int
) -> None:
    made(tmp_path)
    (tmp_path / name).chmod(mode)
    with pytest.raises(UserError) as raised, State(str(tmp_path)).held():
        pass
    assert raised.value.code == "place-unwritable"
    assert len(os.listdir(tmp_path / "bundles")) == 1


def test_a_new_state_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made(tmp_path / "a/state")
    finally:
        os.umask(before)
    for folder in (tmp_path / "a/state", tmp_path / "a/state/bundles"):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_whatever_is_cut_off_the_journal_what_stands_counts(tmp_path: Path) -> None:
    """Cut at each byte, and gone on with: what came before is known, and so is what comes after."""
    made(tmp_path / "whole")
    journal = (tmp_path / "whole" / "journal.jsonl").read_bytes()
    lines = journal.split(b"\n")
    for cut in range(0, len(journal) + 1, 7):
        folder = tmp_path / f"{cut}"
        (folder / "bundles").mkdir(parents=True)
        (folder / "bundles" / os.path.basename(State(str(folder)).bundle("u1"))).write_bytes(b"x")
        (folder / "journal.jsonl").write_bytes(journal[:cut])
        state = State(str(folder))
        with state.held():
            state.came("u3", {"c3": one(unit="u3")}, frozenset(), False)
        kept = set(again(folder).done)
        assert "c3" in kept
        assert ("c1" in kept) == (cut >= len(lines[0]))


@pytest.mark.parametrize(
    "line",
    [
        b"nothing",
        b"[]",
        b"1",
        b'{"came": "u9"}',
        b'{"came": "u9", "new": 3, "cells": {}}',
        b'{"came": "u9", "new": [], "cells": {"c": {"other": 1}}}',
        b'{"proved": [], "as": {}}',
        b'{"proved": "c1", "as": {"node": "n", "unit": "u1", "proof": "<b>"}}',
        b'{"proved": "c1", "as": {"node": "n", "unit": ["u1"]}}',
        b'{"proved": "c1", "as": {"node": 1, "unit": "u1"}}',
        b'{"proved": "c1", "as": {"node": "n", "unit": "u1", "keys": 5}}',
        b'{"proved": "c1", "as": {"node": "n", "unit": "u1", "keys": [[]]}}',
        b'{"proved": "c1", "as": {"node": "n", "unit": "u1", "seconds": NaN}}',
        b'{"proved": "c1", "as": {"node": "n", "unit": "u1", "found": 1e999}}',
        b'{"proved": "c1", "as": {"node": "n", "unit": "u1", "hits": "3"}}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_a_line_that_nobody_wrote_so_is_passed_over(tmp_path: Path, line: bytes) -> None:
    made(tmp_path)
    with open(tmp_path / "journal.jsonl", "ab") as journal:
        journal.write(line + b"\n")
        journal.write(json.dumps({"merged": "u1"}).encode() + b"\n")
    state = again(tmp_path)
    assert state.done == {"c1": one(), "c2": one(unit="u2")}
    assert not state.pending


def test_two_do_not_warm_one_place(tmp_path: Path) -> None:
    first, second = State(str(tmp_path)), State(str(tmp_path))
    with first.held():
        with pytest.raises(UserError) as told, second.held():
            pass
        assert told.value.code == "fleet-busy"
    with second.held():
        pass


def test_reading_changes_nothing(tmp_path: Path) -> None:
    state = State(str(tmp_path / "none"))
    state.read()
    assert not state.done
    assert not (tmp_path / "none").exists()
