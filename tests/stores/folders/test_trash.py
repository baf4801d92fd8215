"""Purging and undoing: exactly what was previewed, and every byte back."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.snapshots import snapshot
from tests.stores.folders.test_looks import kernel
from torchkeeper.artifacts.entry import Problem, tally
from torchkeeper.artifacts.layout import TRASH
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.client.words.problems import removed_by_then
from torchkeeper.stores.folders import guard, receipts, trash
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.guard import changing
from torchkeeper.stores.folders.inside import Inside
from torchkeeper.stores.folders.receipts import Purged
from torchkeeper.stores.items import File, Item, OnDisk, located


class Left:
    def __init__(self) -> None:
        self.codes: list[str] = []

    def __call__(self, item: Item, problem: Problem) -> None:
        self.codes.append(problem.code)


def plan(place: Path, kind: str = "") -> trash.Plan:
    folder = Folder(str(place))
    items = [item for item in folder.items(Report()) if kind in ("", item.kind)]
    return trash.Plan(folder.root, items)


def purge(place: Path, kind: str = "", now: bool = False) -> Purged:
    left = Left()
    done = trash.purge(plan(place, kind), now, Report(), left)
    assert left.codes == []
    return done


def undo(place: Path) -> tuple[Purged, list[str]]:
    left = Left()
    return trash.undo(str(place), Report(), left), left.codes


def test_everything_back_times_and_modes_included(fixture_cache: Path) -> None:
    (fixture_cache / "fxgraph").chmod(0o710)
    for number, path in enumerate(sorted(fixture_cache.rglob("*"), reverse=True)):
        os.utime(path, (10**9 + number, 10**9 + number))
    os.utime(fixture_cache, (5, 6))
    before = snapshot(fixture_cache)
    done = purge(fixture_cache)
    assert [p.name for p in fixture_cache.iterdir()] == [TRASH]
    back, left = undo(fixture_cache)
    assert left == []
    assert (back.entries, back.files, back.bytes) == (done.entries, done.files, done.bytes)
    assert snapshot(fixture_cache) == before


def test_times_that_no_64_bits_hold_come_back(triton_cache: Path) -> None:
    for path in triton_cache.rglob("*"):
        os.utime(path, (1e12, 1e12))  # as far as the file system can keep it
    before = snapshot(triton_cache)
    purge(triton_cache)
    assert undo(triton_cache)[1] == []
    assert snapshot(triton_cache) == before


def test_purges_are_undone_latest_first(fixture_cache: Path) -> None:
    before = snapshot(fixture_cache)
    purge(fixture_cache, "fxgraph")
    between = snapshot(fixture_cache / "aotautograd")
    purge(fixture_cache, "aotautograd")
    assert len(receipts.in_trash(str(fixture_cache))) == 2
    undo(fixture_cache)
    assert snapshot(fixture_cache / "aotautograd") == between
    assert not (fixture_cache / "fxgraph").exists()
    undo(fixture_cache)
    assert snapshot(fixture_cache) == before
    with pytest.raises(Problem, match="nothing-to-undo"):
        undo(fixture_cache)


def test_allocated_bytes_count_hard_links_once(fixture_cache: Path) -> None:
    path = next(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file())
    single = OnDisk(plan(fixture_cache, "fxgraph").items).bytes
    os.link(path, path.with_name("c" * 51))
    again = plan(fixture_cache, "fxgraph")
    assert OnDisk(again.items).bytes == single
    expected = {f.stat().st_ino: f.stat().st_blocks * 512 for f in
                (fixture_cache / "fxgraph").rglob("*") if f.is_file()}  # fmt: skip
    assert OnDisk(again.items).bytes == sum(expected.values())


def test_what_changed_since_the_preview_stays(fixture_cache: Path) -> None:
    planned = plan(fixture_cache, "fxgraph")
    paths = sorted(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file())
    paths[0].write_bytes(b"written anew")
    os.utime(paths[1], (1, 1))
    paths[2].unlink()
    left = Left()
    done = trash.purge(planned, False, Report(), left)
    assert left.codes == ["entry-changed"] * 2
    assert done.entries == len(paths) - 3
    assert paths[0].read_bytes() == b"written anew"


def test_undo_never_overwrites(fixture_cache: Path) -> None:
    path = next(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file())
    old = path.read_bytes()
    purge(fixture_cache, "fxgraph")
    path.parent.mkdir(parents=True)
    path.write_bytes(b"PyTorch was faster")
    done, left = undo(fixture_cache)
    assert left == ["path-taken"]
    assert path.read_bytes() == b"PyTorch was faster"
    assert done.files == 6
    path.unlink()
    done, left = undo(fixture_cache)
    assert (done.files, left) == (1, [])
    assert path.read_bytes() == old
    assert not (fixture_cache / TRASH).exists()


def test_now_removes_at_once(fixture_cache: Path) -> None:
    purge(fixture_cache, "code", now=True)
    assert not (fixture_cache / TRASH).exists()
    with pytest.raises(Problem, match="nothing-to-undo"):
        undo(fixture_cache)


def test_emptying(fixture_cache: Path) -> None:
    done = purge(fixture_cache)
    totals = receipts.in_trash(str(fixture_cache))
    assert sum(receipt["entries"] for receipt in totals) == done.entries
    gone = trash.empty(str(fixture_cache), Report(), Left())
    assert (gone.entries, gone.files, gone.bytes) == (done.entries, done.files, done.bytes)
    assert list(fixture_cache.iterdir()) == []
    assert trash.empty(str(fixture_cache), Report(), Left()).files == 0


def test_cancel_between_entries_can_be_undone(fixture_cache: Path) -> None:
    class Stops(Report):
        count = 0

        def check(self) -> None:
            self.count += 1
            if self.count > 5:
                raise Cancelled

    before = snapshot(fixture_cache)
    with pytest.raises(Cancelled):
        trash.purge(plan(fixture_cache), False, Stops(), Left())
    assert snapshot(fixture_cache) != before
    undo(fixture_cache)
    assert snapshot(fixture_cache) == before


def test_an_undo_that_is_cancelled_before_it_moves_something_changes_nothing(
    triton_cache: Path,
) -> None:
    class Cancelling(Report):
        def check(self) -> None:
            raise Cancelled

    done = purge(triton_cache)
    before = snapshot(triton_cache)
    with pytest.raises(Cancelled):
        trash.undo(str(triton_cache), Cancelling(), Left())
    assert snapshot(triton_cache) == before
    assert undo(triton_cache)[0].files == done.files


def test_a_killed_purge_can_be_undone(fixture_cache: Path) -> None:
    before = snapshot(fixture_cache)
    script = """if True:
        import os, sys
        from torchkeeper.artifacts.report import Report
        from torchkeeper.stores.folders import receipts, trash
        from torchkeeper.stores.folders.folder import Folder
        class Dies(Report):
            def progress(self, done, total, unit):
                if done == 20:
                    os.kill(os.getpid(), 9)
        folder = Folder(sys.argv[1])
        trash.purge(trash.Plan(folder.root, folder.items(Report())), False, Dies(), print)
    """
    done = subprocess.run([sys.executable, "-c", script, str(fixture_cache)], check=False)
    assert done.returncode == -9
    assert len(receipts.in_trash(str(fixture_cache))) == 1
    undo(fixture_cache)
    assert snapshot(fixture_cache) == before


def test_a_hostile_receipt_leads_nowhere(fixture_cache: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    os.utime(outside, (1, 1))
    purge(fixture_cache, "fxgraph")
    receipt = next((fixture_cache / TRASH).rglob("receipt.json"))
    evil = {"folders": {"../outside": [0o777, 5, 5], str(outside): [0o777, 5, 5], "x": "y"},
            "made": "never"}  # fmt: skip
    receipt.write_text(json.dumps(evil))
    done, left = undo(fixture_cache)
    assert (done.files, left) == (7, [])
    assert outside.stat().st_mtime == 1
    # A trash that is a link is no trash.
    purge(fixture_cache, "fxgraph")
    shutil.move(fixture_cache / TRASH, outside / "t")
    (fixture_cache / TRASH).symlink_to(outside / "t")
    assert receipts.in_trash(str(fixture_cache)) == []
    with pytest.raises(Problem, match="trash-not-folder"):
        trash.purge(plan(fixture_cache, "code"), False, Report(), Left())


def test_undo_does_not_follow_links(fixture_cache: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    purge(fixture_cache, "fxgraph")
    (fixture_cache / "fxgraph").symlink_to(outside)
    done, left = undo(fixture_cache)
    assert (done.files, left) == (0, ["link-in-place"] * 7)
    assert list(outside.iterdir()) == []
    (fixture_cache / "fxgraph").unlink()
    assert undo(fixture_cache)[0].files == 7


def test_links_themselves_can_be_purged(fixture_cache: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (fixture_cache / "link").symlink_to(secret)
    before = snapshot(fixture_cache)
    purge(fixture_cache, "unknown")
    assert not (fixture_cache / "link").is_symlink()
    assert secret.exists()
    undo(fixture_cache)
    assert snapshot(fixture_cache) == before


def test_one_at_a_time(fixture_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "PATIENCE", 0.1)
    with (
        changing(str(fixture_cache)),
        pytest.raises(Problem, match="place-busy"),
        changing(str(fixture_cache)),
    ):
        pytest.fail("two held one place")


def test_two_processes_purge_one_folder(fixture_cache: Path) -> None:
    before = snapshot(fixture_cache)
    script = """if True:
        import sys
        from torchkeeper.artifacts.report import Report
        from torchkeeper.stores.folders import receipts, trash
        from torchkeeper.stores.folders.folder import Folder
        folder = Folder(sys.argv[1])
        plan = trash.Plan(folder.root, folder.items(Report()))
        sys.stdin.read()
        print(trash.purge(plan, False, Report(), lambda *_: None).files)
    """
    command = [sys.executable, "-c", script, str(fixture_cache)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    both = [subprocess.Popen(command, **pipes) for _ in range(2)]  # type: ignore[call-overload]
    time.sleep(0.5)
    moved = [int(process.communicate()[0]) for process in both]
    assert sum(moved) == sum(1 for about in before.values() if about[1])
    for _ in receipts.in_trash(str(fixture_cache)):
        undo(fixture_cache)
    assert snapshot(fixture_cache) == before


def test_what_somebody_put_into_the_trash_is_not_emptied(fixture_cache: Path) -> None:
    purge(fixture_cache, "pgo")
    own = fixture_cache / TRASH / "mine" / "thesis.txt"
    own.parent.mkdir()
    own.write_text("thesis")
    assert len(receipts.in_trash(str(fixture_cache))) == 1
    trash.empty(str(fixture_cache), Report(), Left())
    assert receipts.in_trash(str(fixture_cache)) == []
    assert own.read_text() == "thesis"


def test_what_somebody_put_into_a_receipt_stays(fixture_cache: Path, triton_cache: Path) -> None:
    shutil.copytree(triton_cache, fixture_cache / "triton" / "0")
    (fixture_cache / "notes").write_text("purged by name")
    files = purge(fixture_cache).files
    [receipt] = (fixture_cache / TRASH).iterdir()
    kernel = next((receipt / "files" / "triton" / "0").iterdir())
    for path in (receipt, receipt / "files", receipt / "files" / "fxgraph", kernel):
        (path / "own.txt").write_text("thesis")
    told = Left()
    assert trash.empty(str(fixture_cache), Report(), told).files == files
    assert told.codes == ["not-purged"] * 4
    for _ in range(2):
        stay = sorted(path.name for path in fixture_cache.rglob("*") if path.is_file())
        assert stay == ["own.txt"] * 4
        # Nothing of it counts as cut off, and none is put back.
        assert not guard.cut_off(str(fixture_cache))
        with pytest.raises(Problem, match="nothing-to-undo"):
            undo(fixture_cache)


def test_what_cannot_be_removed_now_is_no_stranger(
    fixture_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (fixture_cache / "notes").write_text("purged by name")
    purge(fixture_cache, "unknown")
    unlink = os.unlink

    def refused(path: str, **where: Any) -> None:
        if path == "notes":
            raise PermissionError(1, "Operation not permitted", path)
        unlink(path, **where)

    monkeypatch.setattr(os, "unlink", refused)
    with pytest.raises(Problem, match="trash-unremovable"):
        trash.empty(str(fixture_cache), Report(), Left())
    monkeypatch.undo()
    told = Left()
    trash.empty(str(fixture_cache), Report(), told)
    assert told.codes == []
    assert not (fixture_cache / TRASH).exists()


def test_what_an_earlier_version_purged_comes_back(fixture_cache: Path) -> None:
    (fixture_cache / "notes").write_text("purged by name")
    before = snapshot(fixture_cache)
    purge(fixture_cache)
    (receipt,) = (fixture_cache / TRASH).glob("*/receipt.json")
    said = json.loads(receipt.read_text())
    assert said.pop("others") == ["notes"]
    receipt.write_text(json.dumps(said))
    undo(fixture_cache)
    assert snapshot(fixture_cache) == before


def test_a_trash_that_leads_out_gives_nothing(fixture_cache: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "thesis.txt").write_text("thesis")
    receipt = fixture_cache / TRASH / "99990101T000000.000000-ffff"
    receipt.mkdir(parents=True)
    (receipt / "files").symlink_to(victim)
    with pytest.raises(Problem, match="nothing-to-undo"):
        undo(fixture_cache)
    assert (victim / "thesis.txt").exists()
    shutil.rmtree(receipt, ignore_errors=True)
    (receipt / "files").mkdir(parents=True)
    os.mkfifo(receipt / "receipt.json")
    assert [r["made"] for r in receipts.in_trash(str(fixture_cache))] == [None]
    (receipt / "receipt.json").unlink()
    for made in ("1" + "0" * 400, "1e999", "-5", "true", '"now"', "NaN"):
        (receipt / "receipt.json").write_text(f'{{"made": {made}}}')
        (one,) = receipts.in_trash(str(fixture_cache))
        assert one["made"] in (None, 1.0)


def test_a_conflict_does_not_block_older_purges(fixture_cache: Path) -> None:
    purge(fixture_cache, "pgo")
    purge(fixture_cache, "fxgraph")
    for trashed in (fixture_cache / TRASH).rglob("fxgraph/*/*/*"):
        path = fixture_cache / Path(*trashed.parts[trashed.parts.index("fxgraph") :])
        path.parent.mkdir(parents=True)
        path.write_bytes(b"anew")
    done, left = undo(fixture_cache)
    assert done.files == 1
    assert left == ["path-taken"] * 7
    assert list((fixture_cache / "dynamo").glob("*.pkl"))


def test_an_undo_that_was_killed_is_finished(fixture_cache: Path) -> None:
    before = snapshot(fixture_cache)
    purge(fixture_cache, "pgo")
    (trashed,) = (fixture_cache / TRASH).rglob("*.pkl")
    os.link(trashed, fixture_cache / "dynamo" / trashed.name)
    done, left = undo(fixture_cache)
    assert (done.files, left) == (1, [])
    assert snapshot(fixture_cache) == before


def test_set_group_id_comes_back(fixture_cache: Path) -> None:
    (fixture_cache / "fxgraph").chmod(0o2775)
    before = snapshot(fixture_cache)
    purge(fixture_cache, "fxgraph")
    undo(fixture_cache)
    assert snapshot(fixture_cache) == before


def test_an_entry_goes_whole_or_not_at_all(triton_cache: Path) -> None:
    planned = plan(triton_cache)
    next(triton_cache.rglob("*.cubin")).touch()
    left = Left()
    done = trash.purge(planned, False, Report(), left)
    assert (done.entries, left.codes) == (1, ["entry-changed"])
    (kept,) = [p for p in triton_cache.iterdir() if p.name != TRASH]
    assert len(list(kept.iterdir())) == 8


def renames(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is renamed from now on."""
    found: list[str] = []
    rename = os.rename

    def heard(source: str, *target: Any, **where: Any) -> None:
        rename(source, *target, **where)
        found.append(os.path.basename(source))

    monkeypatch.setattr(os, "rename", heard)
    return found


def test_a_folder_of_which_all_goes_is_renamed_at_once(
    triton_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = triton_cache / "triton" / "0"
    here.mkdir(parents=True)
    keys = sorted(path.name for path in triton_cache.iterdir() if path.name != "triton")
    for number, key in enumerate(keys):
        (triton_cache / key).rename(here / key)
        (here / key).chmod(0o750)
        os.utime(here / key, (5, 6 + number))
    (triton_cache / "triton").chmod(0o2770)
    before = snapshot(triton_cache)
    found = renames(monkeypatch)
    files = purge(triton_cache).files
    assert sorted(found) == keys
    [trashed] = (triton_cache / TRASH).glob("*/files")
    assert sum(path.is_file() for path in trashed.rglob("*")) == files
    assert [(trashed / "triton/0" / key).stat().st_mode & 0o777 for key in keys] == [0o750] * 2
    found.clear()
    assert undo(triton_cache)[0].files == files
    # The second is that of the receipt, which is removed.
    assert [found[0], len(found)] == ["triton", 2]
    assert snapshot(triton_cache) == before


@pytest.mark.parametrize("anew", [False, True])
def test_what_comes_into_a_folder_while_it_moves_stays(
    triton_cache: Path, monkeypatch: pytest.MonkeyPatch, anew: bool
) -> None:
    before, planned = snapshot(triton_cache), plan(triton_cache)
    here = triton_cache / planned.items[0].path
    rename = Inside.rename

    def meanwhile(inside: Inside, path: str, other: str) -> None:
        first = path == here.name and not (here / "new").exists()
        if first:
            (here / "new").write_text("new")
            (here / "tmp.pid_1_a").mkdir()
            (here / "tmp.pid_1_a" / "k.json").write_text("half")
        rename(inside, path, other)
        if first and anew:
            here.mkdir()
            (here / "newer").write_text("newer")

    monkeypatch.setattr(Inside, "rename", meanwhile)
    left = Left()
    done = trash.purge(planned, False, Report(), left)
    assert (done.files, left.codes) == (OnDisk(planned.items).files, [])
    new = {"new", "tmp.pid_1_a", "tmp.pid_1_a/k.json", *(["newer"] if anew else [])}
    assert {str(path.relative_to(here)) for path in here.rglob("*")} == new
    monkeypatch.undo()
    assert undo(triton_cache) == (done, []) or undo(triton_cache)[1] == []
    now = snapshot(triton_cache, times=False)
    old = {path: about[:2] for path, about in before.items()}
    assert now.keys() - old.keys() == {f"{here.name}/{path}" for path in new}
    assert {path: now[path] for path in old} == old


def test_what_has_come_into_the_place_of_what_came_with_a_folder_stays(
    triton_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = plan(triton_cache)
    here = triton_cache / planned.items[0].path
    again = triton_cache / planned.items[0].files[0].path
    rename = Inside.rename

    def meanwhile(inside: Inside, path: str, other: str) -> None:
        if path == here.name and not (here / "new").exists():
            (here / "new").write_text("old")
            (here / "tmp").write_text("written again")
            (here / "tmp").replace(again)
        rename(inside, path, other)
        if path == here.name:
            here.mkdir()
            (here / "new").write_text("new")

    monkeypatch.setattr(Inside, "rename", meanwhile)
    done = trash.purge(planned, False, Report(), Left())
    assert done.files == OnDisk(planned.items).files
    assert (here / "new").read_text() == "new"
    assert again.read_text() == "written again"
    monkeypatch.undo()
    back, left = undo(triton_cache)
    assert (back.files, left) == (OnDisk(planned.items).files - 1, ["path-taken"])
    assert (here / "new").read_text() == "new"
    [kept] = (triton_cache / TRASH).rglob("new")
    assert kept.read_text() == "old"


def test_what_has_come_in_place_of_a_folder_before_it_moves_stays(
    triton_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = plan(triton_cache)
    here, away = triton_cache / planned.items[0].path, tmp_path / "away"
    rename = Inside.rename

    def meanwhile(inside: Inside, path: str, other: str) -> None:
        if path == here.name and not away.exists():
            here.rename(away)
            here.mkdir()
            for file in planned.items[0].files:
                (here / file.name).hardlink_to(away / file.name)
            monkeypatch.setattr(trash._Purging, "_take_each", lambda *_: None)
        rename(inside, path, other)

    monkeypatch.setattr(Inside, "rename", meanwhile)
    done = trash.purge(planned, False, Report(), Left())
    assert done.files == OnDisk(planned.items).files - len(planned.items[0].files)
    assert len(list(here.iterdir())) == len(list(away.iterdir())) == len(planned.items[0].files)


def test_a_folder_in_which_something_else_is_stays(triton_cache: Path) -> None:
    before, planned = snapshot(triton_cache), plan(triton_cache)
    one, other = (triton_cache / item.path for item in planned.items)
    (one / "mine").mkdir()
    (other / "thesis.txt").write_text("thesis")
    left = Left()
    assert trash.purge(planned, False, Report(), left).files == OnDisk(planned.items).files
    assert [path.name for path in one.iterdir()] == ["mine"]
    assert [path.name for path in other.iterdir()] == ["thesis.txt"]
    undo(triton_cache)
    (one / "mine").rmdir()
    (other / "thesis.txt").unlink()
    assert snapshot(triton_cache, times=False) == {p: a[:2] for p, a in before.items()}


def test_files_that_went_one_by_one_come_back_as_folders(
    fixture_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (fixture_cache / "fxgraph").chmod(0o710)
    before = snapshot(fixture_cache)
    files = [path for path in fixture_cache.rglob("*") if path.is_file()]
    paths = [str(path.relative_to(fixture_cache)) for path in files]
    name = receipts.new_name()
    bin_ = Path(receipts.make(str(fixture_cache), name, located(File(path, 0) for path in paths)))
    for path in paths:
        (bin_ / "files" / path).parent.mkdir(parents=True, exist_ok=True)
        (fixture_cache / path).rename(bin_ / "files" / path)
    for folder in fixture_cache.iterdir():
        if folder.name != TRASH:
            shutil.rmtree(folder)
    found = renames(monkeypatch)
    assert undo(fixture_cache)[0].files == len(files)
    assert {*found[:-1]} == {path.split("/")[0] for path in paths if "/" in path}
    assert snapshot(fixture_cache) == before


def test_folders_that_are_forgotten_can_be_in_use(tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "x").write_text(str(number))
    with Inside(str(tmp_path)) as inside:
        walk = inside.walk("7")
        *_, handle = next(walk)
        assert all(inside.is_file(f"{number}/x") for number in range(40))
        assert os.stat("x", dir_fd=handle).st_size == 1
        # What was moved is not taken for what has its name now.
        inside.rename("1", "a")
        inside.rename("2", "1")
        assert inside.stat("1/x").st_ino == (tmp_path / "1/x").stat().st_ino
        walked = {folder for folder, *_ in inside.walk()}
        assert walked == {"", "a", "1", *map(str, range(3, 40)), "0"}


def test_what_is_being_built_stays(fixture_cache: Path) -> None:
    built = next(fixture_cache.rglob("*.main.so"))
    stem = built.name.partition(".")[0]
    script = "import fcntl, sys; f = open(sys.argv[1]); fcntl.flock(f, fcntl.LOCK_EX); print(1, "
    script += "flush=True); sys.stdin.read()"
    lock = fixture_cache / "locks" / f"{stem}.lock"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    command = [sys.executable, "-c", script, str(lock)]
    with subprocess.Popen(command, **pipes) as builder:  # type: ignore[call-overload]
        builder.stdout.readline()
        (built.parent / f".{builder.pid}.140000000000.tmp").touch()
        left = Left()
        trash.purge(plan(fixture_cache), False, Report(), left)
        assert left.codes == ["in-use"] * 3
        assert built.exists()
        assert lock.exists()


def test_folders_that_a_process_may_look_into_stay(fixture_cache: Path) -> None:
    def folders() -> set[Path]:
        found = {path for path in fixture_cache.rglob("*") if path.is_dir()}
        return {path for path in found if TRASH not in path.parts}

    before, there = snapshot(fixture_cache), folders()
    insisted = replace(plan(fixture_cache, "fxgraph"), insisted=True)
    assert trash.purge(insisted, False, Report(), Left()).entries > 0
    assert folders() == there
    assert not [path for path in (fixture_cache / "fxgraph").rglob("*") if path.is_file()]
    undo(fixture_cache)
    assert snapshot(fixture_cache) == before


@pytest.mark.slow
def test_deep_folders(tmp_path: Path) -> None:
    place = tmp_path / "place"
    path = place
    for _ in range(400):
        path = path / "d"
    path.mkdir(parents=True)
    (path / "x").touch()
    before = snapshot(place)
    purge(place)
    undo(place)
    assert snapshot(place) == before


def test_a_purge_that_is_cancelled_says_what_is_in_the_trash(fixture_cache: Path) -> None:
    before = snapshot(fixture_cache)
    found: list[dict[str, Any]] = []

    class Stops(Report):
        number = 0

        def finding(self, **what: Any) -> None:
            found.append(what)

        def check(self) -> None:
            self.number += 1
            if self.number > 5:
                raise Cancelled

    kinds = [item.kind for item in plan(fixture_cache).items]
    of = tally(kinds)
    whole = of["entries"]
    assert 5 < whole < len(kinds), "locks are no entries"
    with pytest.raises(Cancelled):
        trash.purge(plan(fixture_cache), False, Stops(), lambda _item, _problem: None)
    [told] = [one["removed"] for one in found if "removed" in one]
    assert (told["entries"], told["of"], told["trash"]) == (5, of, True)
    said = f"Moved to the trash by then: 5 of {whole} entries and 0 of {of['locks']} locks"
    assert removed_by_then(told).startswith(said)
    undone = trash.undo(str(fixture_cache), Report(), lambda _item, _problem: None)
    assert undone.bytes == told["bytes"] and snapshot(fixture_cache) == before
    # Of locks alone nothing is said of entries.
    found.clear()
    locks = plan(fixture_cache)
    locks = trash.Plan(locks.root, [item for item in locks.items if item.kind == "lock"])
    with pytest.raises(Cancelled):
        trash.purge(locks, True, Stops(), lambda _item, _problem: None)
    [told] = [one["removed"] for one in found if "removed" in one]
    said = f"Removed by then: 5 of {of['locks']} locks, 0 B."
    assert removed_by_then(told) == said and of["locks"] > 5


@pytest.mark.parametrize("now", [False, True])
@pytest.mark.parametrize("many", [False, True])
def test_what_is_moved_away_meanwhile_stays_there(tmp_path: Path, now: bool, many: bool) -> None:
    above, keep = tmp_path / "p" / "a" / "b", tmp_path / "keep"
    for number in range(5):
        path = above / (f"{number}/x" if many else f"x{number}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")

    class Moving(Report):
        def progress(self, done: int, total: int | None, unit: str) -> None:
            if done == 2 and unit == "entries":
                above.rename(keep)

    done = trash.purge(plan(tmp_path / "p"), now, Moving(), Left())
    assert (done.files, len([p for p in keep.rglob("*") if p.is_file()])) == (2, 3)


def test_what_is_written_into_the_working_folder_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        (tmp_path / "p" / name).mkdir(parents=True)
        (tmp_path / "p" / name / "x").write_text("x")
    planned = plan(tmp_path / "p")
    monkeypatch.chdir(tmp_path / "p" / os.path.dirname(planned.items[0].path))

    class Writing(Report):
        def progress(self, done: int, total: int | None, unit: str) -> None:
            if done == 1:
                Path("thesis").write_text("thesis")

    trash.purge(planned, True, Writing(), Left())
    assert [path.name for path in tmp_path.rglob("thesis")] == ["thesis"]


def test_how_far_an_undo_is_with_whole_folders_is_said(triton_cache: Path) -> None:
    planned, heard, looked = plan(triton_cache), list[tuple[int, int]](), list[int]()
    trash.purge(planned, False, Report(), Left())

    class Hearing(Report):
        def progress(self, done: int, total: int | None, unit: str) -> None:
            if unit == "files" and total is None:
                looked.append(done)
            elif unit == "files" and total is not None:
                heard.append((done, total))

    trash.undo(str(triton_cache), Hearing(), Left())
    assert looked == sorted(looked) and looked[-1] > 0
    assert len(heard) >= len(planned.items)
    assert heard == sorted(heard) and {total for _, total in heard} == {OnDisk(planned.items).files}


@pytest.mark.slow
def test_of_each_file_that_goes_and_comes_back_little_is_held(tmp_path: Path) -> None:
    for number in range(600):
        key = f"{'A' * 49}{number:03}".translate(str.maketrans("0123456789", "ABCDEFGHIJ"))
        kernel(tmp_path / key, "add")
        for ending in ("cubin", "llir", "ptx", "ttgir", "ttir"):
            (tmp_path / key / f"add.{ending}").touch()
    files = sum(path.is_file() for path in tmp_path.rglob("*"))
    peaks = list[float]()
    for act in ("purge", "undo"):
        tracemalloc.start()
        try:
            done = purge(tmp_path) if act == "purge" else undo(tmp_path)[0]
            assert done.files == files
            peaks.append(tracemalloc.get_traced_memory()[1] / files)
        finally:
            tracemalloc.stop()
    assert max(peaks) < 250, peaks  # an object of a file takes that with its path
