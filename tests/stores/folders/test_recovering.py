"""What was cut off is brought to its end by the next one that comes."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.snapshots import snapshot
from tests.stores.folders.test_trash import plan
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import JOURNAL, TRASH
from torchkeeper.artifacts.report import Report
from torchkeeper.client.words.found import become_of
from torchkeeper.client.words.problems import user_error
from torchkeeper.stores.copying import copy
from torchkeeper.stores.describe import describe
from torchkeeper.stores.folders import guard, journal, locks, merging, receipts, trash
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.guard import brought_to_end, changing, cut_off, recover
from torchkeeper.stores.folders.journal import Journal, in_folder
from torchkeeper.stores.items import File, located
from torchkeeper.stores.reader import Reader
from torchkeeper.stores.shapes import CutOff


class Heard(Report):
    """Keeps what is found."""

    def __init__(self) -> None:
        self.found: list[dict[str, Any]] = []

    def finding(self, **what: Any) -> None:
        """Note it."""
        self.found.append(what)

    @property
    def recovered(self) -> CutOff:
        """The one thing that was brought to its end."""
        told: CutOff
        [told] = [one["recovered"] for one in self.found if "recovered" in one]
        return told


def begin(root: Path, what: str, *noted: journal.Step, **about: object) -> Journal:
    """A journal of an operation that has gone so far, and no further."""
    root.mkdir(parents=True, exist_ok=True)
    made = Journal(str(root), what, None, **{"since": "0", **about})
    made.open()
    made.note(*noted)
    made.leave()
    [path] = [path for path in in_folder(str(root)) if made.id in path]
    os.chmod(path, 0o600)  # as of one that was killed
    return made


def write(path: Path, text: str = "x") -> list[int]:
    """A file that somebody has placed; its stamp."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return journal.stamp_of(str(path))


def test_steps_are_those_that_were_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    for size in (1, 100, 1 << 18):
        monkeypatch.setattr(journal, "_PACKED", size)
        steps, noted = journal.Steps(), list[journal.Step]()
        for number in range(50):
            some: list[journal.Step] = [["new", f"{number}\udcff"], ["kernel", {"a": [number]}]]
            steps.add(2, "".join(f"{json.dumps(step)}\n" for step in some).encode())
            noted += some
        assert (len(steps), list(steps), list(reversed(steps))) == (100, noted, noted[::-1])
        assert [steps.since(mark) for mark in (0, 97, 100)] == [noted, noted[97:], []]


def test_a_journal_is_no_entry_and_leaves_no_time(fixture_cache: Path) -> None:
    before = snapshot(fixture_cache)
    items = Folder(str(fixture_cache)).items(Report())
    made = Journal(str(fixture_cache), "import")
    assert not in_folder(str(fixture_cache))
    made.note(["new", "x"])
    assert in_folder(str(fixture_cache))
    folder = Folder(str(fixture_cache))
    assert folder.items(Report()) == items
    assert folder.items_beside("x", Report()) == [i for i in items if "/" not in i.path]
    made.close()
    assert snapshot(fixture_cache) == before


def test_an_import_is_taken_back(tmp_path: Path) -> None:
    kept, mine, theirs = (tmp_path / name for name in ("a/kept.py", "a/mine.py", "a/theirs.py"))
    write(kept)
    stamp = write(mine)
    begin(
        tmp_path, "import",
        ["folder", "a"], ["there", "a"], ["folder", "b"], ["folder", "b/c"],
        ["new", "b/c/.torchkeeper-1.tmp"], ["new", "a/.torchkeeper-2.tmp"],
        ["file", "a/.torchkeeper-2.tmp", "a/mine.py", stamp, None],
        ["file", "a/.torchkeeper-3.tmp", "a/theirs.py", stamp, None],
    )  # fmt: skip
    write(tmp_path / "b/c/.torchkeeper-1.tmp")
    write(theirs)
    heard = Heard()
    [told] = recover(str(tmp_path), heard)
    assert (told.outcome, told.files) == ("taken-back", 1)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "kept.py", "theirs.py"]
    assert "was cut off (begun 20" in become_of(heard.recovered)
    assert "). 1 file of it was taken back. 1 file stays, because others" in become_of(
        heard.recovered
    )
    assert recover(str(tmp_path), heard) == []


def test_what_made_way_comes_back(tmp_path: Path) -> None:
    noted = [
        ["file", "x/.torchkeeper-1.tmp", "x/y", [1, 1, 1], "x/.torchkeeper-2.tmp"],
    ]  # fmt: skip
    begin(tmp_path, "import", *noted)
    write(tmp_path / "x/.torchkeeper-2.tmp", "broken")
    assert recover(str(tmp_path), Report())
    assert (tmp_path / "x/y").read_text() == "broken"
    # PyTorch has made it anew meanwhile.
    begin(tmp_path, "import", *noted)
    write(tmp_path / "x/.torchkeeper-2.tmp", "broken")
    write(tmp_path / "x/y", "sound")
    assert recover(str(tmp_path), Report())
    assert (tmp_path / "x/y").read_text() == "sound"
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["y"]


def test_a_kernel_is_taken_back_but_for_what_triton_added(tmp_path: Path) -> None:
    kernel = tmp_path / "K"
    stamps = {name: write(kernel / name) for name in ("k.json", "__grp__k.json")}
    step = ["kernel", "tmp.torchkeeper-1", "K", journal.stamp_of(str(kernel)), stamps]
    write(kernel / "k.cubin")
    begin(tmp_path, "import", step)
    assert recover(str(tmp_path), Report())
    assert [path.name for path in kernel.iterdir()] == ["k.cubin"]


def test_an_import_that_was_at_its_end_is_completed(tmp_path: Path) -> None:
    stamp = write(tmp_path / "a/b")
    write(tmp_path / "a/.torchkeeper-2.tmp")
    (tmp_path / "c").mkdir()
    step = ["file", "a/.torchkeeper-1.tmp", "a/b", stamp, "a/.torchkeeper-2.tmp"]
    begin(tmp_path, "import", ["folder", "c"], step, ["done"])
    heard = Heard()
    with changing(str(tmp_path), heard):
        assert not in_folder(str(tmp_path))
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b"]
    assert heard.recovered["outcome"] == "completed"
    assert become_of(heard.recovered).endswith(" It is completed now.")


@pytest.mark.parametrize("now", [False, True])
def test_a_purge_is_put_back(fixture_cache: Path, now: bool) -> None:
    before = snapshot(fixture_cache)
    planned = plan(fixture_cache)

    class Stops(Report):
        def progress(self, done: int, total: int | None, unit: str) -> None:
            if done == 9:
                os._exit(7)

    child = os.fork()
    if not child:
        trash.purge(planned, now, Stops(), lambda _item, _problem: None)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert snapshot(fixture_cache) != before
    heard = Heard()
    brought_to_end(str(fixture_cache), heard)
    assert snapshot(fixture_cache) == before
    assert (heard.recovered["outcome"], heard.recovered["entries"]) == ("put-back", 9)
    assert receipts.in_trash(str(fixture_cache)) == []


def test_undo_puts_back_what_was_cut_off_and_nothing_older(fixture_cache: Path) -> None:
    trash.purge(plan(fixture_cache, "code"), False, Report(), lambda _item, _problem: None)
    [older] = receipts.in_trash(str(fixture_cache))
    name = receipts.new_name()
    begin(fixture_cache, "purge", receipt=name, now=False)
    bin_ = receipts.make(str(fixture_cache), name, located([File("fxgraph/x", 0)]))
    write(Path(bin_) / "files/fxgraph/aa/faa/x")
    heard = Heard()
    done = trash.undo(str(fixture_cache), heard, lambda _item, _problem: None)
    assert done.files == 1
    assert (fixture_cache / "fxgraph/aa/faa/x").exists()
    assert receipts.in_trash(str(fixture_cache)) == [older]


def test_an_emptying_and_an_undo_are_completed(fixture_cache: Path) -> None:
    before = snapshot(fixture_cache)
    trash.purge(plan(fixture_cache), False, Report(), lambda _item, _problem: None)
    [receipt] = receipts.in_trash(str(fixture_cache))
    begin(fixture_cache, "undo", receipt=receipt["receipt"])
    assert recover(str(fixture_cache), Report())
    assert snapshot(fixture_cache) == before
    trash.purge(plan(fixture_cache), False, Report(), lambda _item, _problem: None)
    [receipt] = receipts.in_trash(str(fixture_cache))
    begin(fixture_cache, "empty", receipts=[receipt["receipt"], "../../x", 7])
    assert recover(str(fixture_cache), Report())
    assert not (fixture_cache / TRASH).exists()


def test_a_list_is_put_right_or_all_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, where = tmp_path / "p", "aoti_eager/aten/cpu/abs.json"
    item, other = ({"kernel_path": name, "meta_info": [name]} for name in ("a.so", "b.so"))
    stamp = write(place / "aoti_eager/aten/cpu/lib/a.so")
    file = ["file", "x/.torchkeeper-1.tmp", "aoti_eager/aten/cpu/lib/a.so", stamp, None]
    (place / where).write_text(json.dumps([item]))
    begin(place, "import", file, ["list", where, item, [other]])
    monkeypatch.setattr(merging, "write", _full)
    with pytest.raises(Problem, match="place-unfinished") as caught, changing(str(place)):
        pass
    assert "No space" in str(caught.value.params["why"])
    assert (place / "aoti_eager/aten/cpu/lib/a.so").exists()
    monkeypatch.undo()
    brought_to_end(str(place), Report())
    assert json.loads((place / where).read_text()) == [other]
    assert not (place / "aoti_eager/aten/cpu/lib/a.so").exists()


def _full(_path: str, _items: object) -> None:
    raise OSError(28, "No space left on device")


def test_a_journal_of_somebody_else_is_not_believed(tmp_path: Path) -> None:
    stamp = write(tmp_path / "a/b")
    begin(tmp_path, "import", ["file", "a/.torchkeeper-1.tmp", "a/b", stamp, None])
    [path] = in_folder(str(tmp_path))
    os.chmod(path, 0o666)
    heard = Heard()
    with changing(str(tmp_path), heard):
        assert (tmp_path / "a/b").exists()
    assert become_of(heard.recovered).startswith(f"{path} records a change")
    os.unlink(path)
    for make in (os.mkdir, os.mkfifo, lambda path: os.symlink("a/b", path)):
        make(path)
        assert [one.outcome for one in recover(str(tmp_path), Report())] == ["not-believed"]
        os.rmdir(path) if os.path.isdir(path) else os.unlink(path)


def test_a_journal_leads_nowhere(tmp_path: Path) -> None:
    outside, place = tmp_path / "outside", tmp_path / "place"
    stamp = write(outside / ".torchkeeper-x.tmp")
    place.mkdir()
    (place / "link").symlink_to(outside)
    name = ".torchkeeper-x.tmp"
    begin(
        place, "import",
        ["new", f"../outside/{name}"], ["new", f"link/{name}"], ["new", str(outside / name)],
        ["new", "link"], ["new"], ["new", 7], ["odd", "x"], [], ["new", "x", "y"],
        ["file", "x", f"../outside/{name}", stamp, None],
        ["file", "x", f"link/{name}", stamp, f"link/{name}"],
        ["kernel", "x", "link", journal.stamp_of(str(outside)), {name: stamp, "../x": stamp}],
        ["kernel", "x", "y", None, None], ["list", "../outside/a.json", {}, [{}]],
        above=["/", 7, str(tmp_path)],
    )  # fmt: skip
    [path] = in_folder(str(place))
    with Path(path).open("a") as out:
        out.write('"text"\n{"a": 1}\n["new", {"a": 1}]\nnot json\n["new", "cut off')
    assert recover(str(place), Report())
    assert [path.name for path in outside.iterdir()] == [name]
    assert (place / "link").is_symlink()
    assert not list(place.glob(f"{JOURNAL}*"))


def test_a_journal_that_says_nothing_is_removed(tmp_path: Path) -> None:
    begin(tmp_path, "import")
    [path] = in_folder(str(tmp_path))
    Path(path).write_bytes(b'{"version": 1, "wh')
    heard = Heard()
    brought_to_end(str(tmp_path), heard)
    assert heard.found == []
    assert list(tmp_path.iterdir()) == []


def test_whoever_looks_does_not_wait(fixture_cache: Path) -> None:
    with changing(str(fixture_cache)):
        begin(fixture_cache, "import", ["new", "x"])
        assert cut_off(str(fixture_cache)) == []
        assert in_folder(str(fixture_cache))
    [one] = cut_off(str(fixture_cache))
    assert one.outcome == "waiting"
    assert in_folder(str(fixture_cache))


def test_what_runs_is_not_mended_where_locks_do_not_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stamp = write(tmp_path / "a/b")
    step = ["file", "x", "a/b", stamp, None]
    running = Journal(str(tmp_path), "import")
    running.note(step)
    heard = Heard()
    assert cut_off(str(tmp_path)) == []
    with pytest.raises(Problem, match="place-busy") as raised, changing(str(tmp_path)):
        pass
    assert (tmp_path / "a/b").exists()
    told = user_error("place-busy", raised.value.params)
    assert re.fullmatch(rf"An import began there at 20.*, in process {os.getpid()}\.", told.why)
    assert user_error("place-busy", {"place": "/c", "job": "x\x1b", "made": 1e999}).why == ""
    # It has given up, and its process goes on.
    running.leave()
    assert [one.outcome for one in recover(str(tmp_path), heard)] == ["taken-back"]
    # On another machine, or before this one was started: what is not shared tells.
    stamp = write(tmp_path / "a/b")
    begin(tmp_path, "import", ["file", "x", "a/b", stamp, None], boot="another")
    monkeypatch.setattr(locks, "is_local", lambda _device: False)
    with pytest.raises(Problem, match="place-busy"):
        brought_to_end(str(tmp_path), heard)
    assert (tmp_path / "a/b").exists()
    [path] = in_folder(str(tmp_path))
    os.utime(path, (1, time.time() - 3700))
    brought_to_end(str(tmp_path), heard)
    assert not (tmp_path / "a/b").exists()
    stamp = write(tmp_path / "a/b")
    begin(tmp_path, "import", ["file", "x", "a/b", stamp, None], boot="another")
    monkeypatch.undo()
    brought_to_end(str(tmp_path), heard)
    assert not (tmp_path / "a/b").exists()


def test_what_is_at_work_inside_is_left_alone(tmp_path: Path) -> None:
    inside = Journal(str(tmp_path / "sub"), "import")
    theirs = Path(inside.temporary_file(str(tmp_path / "sub/x")))
    write(theirs)
    inside.note(["new", f"x/{theirs.name}"])
    cut = begin(tmp_path, "import")
    lost = Path(cut.temporary_file(str(tmp_path / "y/z")))
    write(lost)
    folder = Path(cut.temporary_folder(str(tmp_path / "y")))
    write(folder / "k.json")
    assert recover(str(tmp_path), Report())
    assert theirs.exists()
    assert not (tmp_path / "y").exists()


def test_the_same_again_into_a_folder_that_the_first_had_made(
    fixture_cache: Path, tmp_path: Path
) -> None:
    target = tmp_path / "new" / "place"
    target.mkdir(parents=True)
    begin(target, "import", above=[str(tmp_path / "new"), str(target)])
    store = Folder(str(fixture_cache))
    reader = Reader()
    batches = describe(store.items(Report()), store, reader, Report())
    chosen = [one for batch in batches for one in batch if one.entry.kind == "code"]
    reader.close()
    heard = Heard()
    done = copy(store, chosen, str(target), heard, lambda _item, _problem: None)
    assert done.entries == len(chosen) > 0
    assert heard.recovered["outcome"] == "taken-back"
    # Whoever only looks finds that nothing was there.
    begin(target / "deeper", "import", above=[str(target / "deeper")])
    brought_to_end(str(target / "deeper"), heard)
    assert not (target / "deeper").exists()
    # A folder that was moved meanwhile is no longer the one that was made.
    begin(tmp_path / "moved" / "here", "import", above=[str(target / "deeper")])
    brought_to_end(str(tmp_path / "moved" / "here"), heard)
    assert (tmp_path / "moved" / "here").exists()


def test_a_file_system_that_gives_files_to_others_has_no_journals(
    fixture_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = snapshot(fixture_cache)
    monkeypatch.setattr(journal, "_is_ours", lambda _at: False)
    mode = os.stat(os.devnull).st_mode
    unwritten = Journal(str(fixture_cache), "import")
    unwritten.note(["new", "x"])
    unwritten.sync()
    assert not journal.lies_in(str(fixture_cache))
    unwritten.leave()
    assert os.stat(os.devnull).st_mode == mode
    trash.purge(plan(fixture_cache), False, Report(), lambda _item, _problem: None)
    trash.undo(str(fixture_cache), Report(), lambda _item, _problem: None)
    assert snapshot(fixture_cache) == before


def test_a_lock_of_a_folder_that_is_gone_is_none(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with changing(str(place)):
        os.rename(place, tmp_path / "old")
        place.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(guard, "PATIENCE", 0)
            with changing(str(place)):
                assert _busy(str(place))


def _busy(place: str) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "PATIENCE", 0)
        try:
            with changing(place):
                return False
        except Problem as problem:
            return problem.code == "place-busy"


def test_a_half_is_not_taken_for_the_whole_without_a_word(
    fixture_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(fixture_cache, "purge", receipt=receipts.new_name(), now=False)
    monkeypatch.setattr(journal, "remove", _refused)
    with pytest.raises(Problem, match="place-unfinished") as caught:
        brought_to_end(str(fixture_cache), Report())
    assert caught.value.params["why"] == "Read-only file system"
    monkeypatch.undo()
    brought_to_end(str(fixture_cache), Report())
    (fixture_cache / f"{JOURNAL}4711-1-abcdef.jsonl").write_text("")
    heard = Heard()
    brought_to_end(str(fixture_cache), heard)
    assert "another user" in become_of(heard.recovered)


def _refused(_path: str, _nonce: str) -> None:
    raise OSError(30, "Read-only file system")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_trash_of_somebody_else_is_not_believed(fixture_cache: Path) -> None:
    planted = fixture_cache / TRASH / "99991231T000000.000000-aaaa" / "files" / "fxgraph" / "evil"
    write(planted)
    for path in (fixture_cache / TRASH, *(fixture_cache / TRASH).rglob("*")):
        os.chown(path, 4711, 4711)
    with pytest.raises(Problem, match="nothing-to-undo"):
        trash.undo(str(fixture_cache), Report(), lambda _item, _problem: None)
    with pytest.raises(Problem, match="trash-foreign"):
        trash.purge(plan(fixture_cache, "pgo"), False, Report(), lambda _item, _problem: None)
    assert trash.purge(plan(fixture_cache, "pgo"), True, Report(), lambda *_: None).entries
    assert planted.exists()
    assert not list(fixture_cache.glob("fxgraph/evil"))
    # One who owns the folder may do with it what he wants.
    os.chown(fixture_cache, 4711, 4711)
    assert receipts.in_trash(str(fixture_cache))


def test_names_of_temporary_files_are_all_different() -> None:
    made = Journal("/", "import")
    names = {made.temporary_file("/") for _ in range(20_000)}
    assert len(names) == 20_000
    assert all(journal.is_temporary(os.path.basename(name), made.id) for name in names)
