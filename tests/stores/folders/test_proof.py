"""A journal is carried out only where this user began it; no link leads a recovery elsewhere."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import tarfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.snapshots import snapshot
from tests.stores.folders.test_recovering import Heard, begin, write
from tests.stores.folders.test_trash import plan
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import JOURNAL, TRASH, payload_path
from torchkeeper.artifacts.report import Report
from torchkeeper.cli.asking import completing
from torchkeeper.client.words.found import become_of, unproven
from torchkeeper.engine.protocol import TABLE
from torchkeeper.engine.serve import perform
from torchkeeper.engine.session import Session
from torchkeeper.stores.folders import journal, locks, receipts, trash
from torchkeeper.stores.folders.guard import BELIEVE, FORGET, brought_to_end, changing, cut_off
from torchkeeper.stores.folders.journal import Journal, in_folder
from torchkeeper.stores.items import File, located


def records() -> list[str]:
    folder = Path(os.environ["XDG_STATE_HOME"], "torchkeeper", "begun")
    return sorted(os.listdir(folder)) if folder.is_dir() else []


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def purged(cache: Path) -> str:
    """The receipt of a purge of everything in a cache."""
    trash.purge(plan(cache), False, Report(), lambda _item, _problem: None)
    [receipt] = receipts.in_trash(str(cache))
    return receipt["receipt"]


def unpacked(place: Path, what: str, steps: list[Any], **about: object) -> None:
    """A folder as a stranger's archive has it, whose journal belongs to whoever unpacks it."""
    made = place.with_name("made")
    made.mkdir()
    head = {"version": 2, "what": what, "id": "abcdef", "nonce": "0" * 32, "pid": 1, **about}
    lines = [json.dumps(line) for line in (head, *steps)]
    name = f"{JOURNAL}{os.geteuid()}-1795459786351938903-abcdef.jsonl"
    (made / name).write_text("\n".join(lines) + "\n")
    (made / name).chmod(0o400)
    with tarfile.open(place.with_name("a.tar"), "w") as out:
        out.add(made, "place")
    with tarfile.open(place.with_name("a.tar")) as packed:
        packed.extractall(place.parent, filter="tar")
    (place.parent / "place").rename(place)


def look(place: Path) -> list[dict[str, Any]]:
    """What every operation that only looks finds in a place."""
    heard, session = Heard(), Session()
    for op, params in (
        ("list", {}), ("du", {}), ("trash", {}), ("plan_purge", {}), ("recover", {"dry": True}),
    ):  # fmt: skip
        perform(TABLE[op], session, {"place": str(place), **params}, heard)
    session.close()
    return heard.found


@pytest.mark.parametrize("what", ["empty", "purge"])
def test_the_trash_of_another_cache_is_not_emptied_through_a_link(
    fixture_cache: Path, tmp_path: Path, what: str
) -> None:
    receipt = purged(fixture_cache)
    before = snapshot(fixture_cache)
    evil = tmp_path / "evil"
    about: dict[str, object] = {"receipts": [receipt], "receipt": receipt, "now": True}
    unpacked(evil, what, [["done"]], **about)
    (evil / TRASH).symlink_to(fixture_cache / TRASH)
    write(evil / "zz" / f"c{'z' * 51}.best_config", '{"XBLOCK": 128}')
    assert any("cut_off" in one for one in look(evil))
    assert snapshot(fixture_cache) == before
    heard = Heard()
    with changing(str(evil), heard):
        assert heard.recovered["outcome"] == "not-believed"
    assert snapshot(fixture_cache) == before
    # Nor where somebody insists, and nor if we had begun it: no link is followed.
    brought_to_end(str(evil), Report(), BELIEVE)
    assert snapshot(fixture_cache) == before
    begin(evil, what, ["done"], **about)
    [told] = brought_to_end(str(evil), Report())
    assert (told.outcome, told.files) == ("completed", 0)
    assert snapshot(fixture_cache) == before


def test_a_receipt_that_is_a_link_or_holds_one_leads_nowhere(tmp_path: Path) -> None:
    place, other = tmp_path / "place", tmp_path / "other"
    kept = write(other / "files" / "xx" / "kept.py")
    name = receipts.new_name()
    (place / TRASH).mkdir(parents=True)
    (place / TRASH / name).symlink_to(other)
    begin(place, "empty", receipts=[name])
    brought_to_end(str(place), Report())
    assert (other / "files/xx/kept.py").exists()
    (place / TRASH / name).unlink()
    (place / TRASH / name).mkdir()
    (place / TRASH / name / "files").symlink_to(other / "files")
    begin(place, "undo", receipt=name)
    brought_to_end(str(place), Report())
    assert not (place / "xx").exists() and (other / "files/xx/kept.py").exists()
    # A link in place of a folder, where an import had placed something.
    (place / "xx").symlink_to(other / "files" / "xx")
    begin(place, "import", ["file", "xx/.torchkeeper-1.tmp", "xx/kept.py", kept, None],
          ["folder", "xx"])  # fmt: skip
    brought_to_end(str(place), Report())
    assert (other / "files/xx/kept.py").exists() and (place / "xx").is_symlink()


def test_to_look_changes_nothing_and_says_what_completes_it(fixture_cache: Path) -> None:
    name = receipts.new_name()
    begin(fixture_cache, "purge", receipt=name, now=False)
    bin_ = receipts.make(str(fixture_cache), name, located([File("fxgraph/x", 0)]))
    graph = payload_path("fxgraph", f"f{'a' * 51}", "0" * 64)
    write(Path(bin_) / "files" / graph)
    before = snapshot(fixture_cache)
    found = look(fixture_cache)
    assert snapshot(fixture_cache) == before
    told = [one["cut_off"] for one in found if "cut_off" in one]
    assert {one["outcome"] for one in told} == {"waiting"}
    assert "The list may show it half done." in become_of(told[0])
    assert completing(told[0]).startswith(f"“torchkeeper recover {fixture_cache}”")
    heard = Heard()
    result = perform(TABLE["recover"], Session(), {"place": str(fixture_cache)}, heard)
    assert [one["outcome"] for one in result["recovered"]] == ["put-back"]
    assert (fixture_cache / graph).exists()
    assert heard.recovered["entries"] == 1 and records() == []


def test_what_changes_a_place_completes_first_what_was_cut_off(fixture_cache: Path) -> None:
    purged(fixture_cache)
    place = str(fixture_cache)
    changes: list[Callable[[], object]] = [
        lambda: trash.undo(place, Report(), lambda _item, _problem: None),
        lambda: trash.purge(plan(fixture_cache), False, Report(), lambda _item, _problem: None),
        lambda: trash.empty(place, Report(), lambda _item, _problem: None),
    ]
    for change in changes:
        begin(fixture_cache, "import", ["new", "x"])
        change()
        assert not in_folder(str(fixture_cache)) and records() == []


def copied(place: Path, to: Path) -> Path:
    shutil.copytree(place, to)
    return to


def archived(place: Path, to: Path) -> Path:
    with tarfile.open(to.with_name("a.tar"), "w") as out:
        out.add(place, to.name)
    with tarfile.open(to.with_name("a.tar")) as packed:
        packed.extractall(to.parent, filter="tar")
    return to


@pytest.mark.parametrize("brought", [copied, archived])
def test_what_was_copied_or_restored_is_not_believed_and_can_be_dealt_with(
    tmp_path: Path, brought: Callable[[Path, Path], Path]
) -> None:
    place = tmp_path / "place"
    stamp = write(place / "a/b")
    begin(place, "import", ["file", "a/.torchkeeper-1.tmp", "a/b", stamp, None])
    copy = brought(place, tmp_path / "copy")
    other = brought(place, tmp_path / "other")
    [told] = cut_off(str(copy))
    assert (told.outcome, told.what) == ("not-believed", "import")
    assert "nothing shows that you began the change in this folder" in become_of(told.to_json())
    as_told: Any = asdict(told)
    assert "--forget" in completing(as_told)
    for _ in range(2):  # it stays until somebody says what is to become of it
        assert [one.outcome for one in brought_to_end(str(copy), Report())] == ["not-believed"]
    assert [one.outcome for one in brought_to_end(str(copy), Report(), FORGET)] == ["forgotten"]
    assert [path.name for path in copy.rglob("*")] == ["a", "b"]
    assert [one.outcome for one in brought_to_end(str(other), Report(), BELIEVE)] == ["taken-back"]
    assert not in_folder(str(other))
    # The folder itself is believed, also under another name.
    place.rename(tmp_path / "moved")
    assert [one.outcome for one in brought_to_end(str(tmp_path / "moved"), Report())] == [
        "taken-back"
    ]
    assert not (tmp_path / "moved/a/b").exists() and records() == []


def test_a_journal_that_was_changed_is_not_believed(tmp_path: Path) -> None:
    """Who has seen the number of a journal cannot have it say that something else was begun."""
    begin(tmp_path / "place", "undo", receipt=receipts.new_name())
    [path] = in_folder(str(tmp_path / "place"))
    text = Path(path).read_text().replace('"what": "undo"', '"what": "empty"')
    Path(path).write_text(text)
    assert [one.outcome for one in cut_off(str(tmp_path / "place"))] == ["not-believed"]


def test_the_number_of_a_device_counts_only_while_it_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(tmp_path / "place", "import", ["new", "x"])
    [name] = records()
    path = tmp_path / "state/torchkeeper/begun" / name
    said = json.loads(path.read_text())
    device, number = said["root"]
    for which in ("root", "journal"):
        said[which][0] = device + 1
    path.write_text(json.dumps(said))
    disk = bool(os.major(device))
    outcomes = [one.outcome for one in cut_off(str(tmp_path / "place"))]
    assert outcomes == ["not-believed" if disk else "waiting"]
    monkeypatch.setattr(locks, "boot", lambda: "since then it was started again")
    assert [one.outcome for one in cut_off(str(tmp_path / "place"))] == ["waiting"]
    said["root"][1] = number + 1
    path.write_text(json.dumps(said))
    assert [one.outcome for one in cut_off(str(tmp_path / "place"))] == ["not-believed"]


def test_killed_before_it_said_what_it_was_nothing_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "place"
    place.mkdir()

    def killed(*_: object) -> None:
        os._exit(7)

    for where in ((journal, "keep"), (journal, "_proof_write"), (journal, "_write")):
        child = os.fork()
        if not child:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(*where, killed)
                Journal(str(place), "import").note(["new", "x"])
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert len(in_folder(str(place))) == 1 and cut_off(str(place)) == []
        with changing(str(place)) as told:
            assert told == [] and os.listdir(place) == []
    # The record that was left goes with the next one.
    assert len(records()) == 1
    made = Journal(str(place), "import")
    made.open()
    assert len(records()) == 1
    made.close()
    assert records() == []


def test_very_old_records_go_and_nobody_elses_files(tmp_path: Path) -> None:
    begin(tmp_path / "away", "import", ["new", "x"])
    [old] = records()
    folder = tmp_path / "state/torchkeeper/begun"
    os.utime(folder / old, (1, time.time() - 200 * 86400))
    (folder / "notes.json").write_text("mine")
    os.utime(folder / "notes.json", (1, 1))
    begin(tmp_path / "place", "import", ["new", "x"])
    assert old not in records() and len(records()) == 2
    assert (folder / "notes.json").exists()


@pytest.mark.parametrize("spoilt", ["no folder", "a link", "of everybody"])
def test_without_a_folder_for_the_proof_it_is_said_and_nothing_is_lost(
    fixture_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spoilt: str
) -> None:
    before = snapshot(fixture_cache)
    folder = tmp_path / "state/torchkeeper/begun"
    if spoilt == "no folder":
        (tmp_path / "state").write_text("a file")
    elif spoilt == "a link":
        folder.parent.mkdir(parents=True)
        (tmp_path / "real").mkdir(0o700)
        folder.symlink_to(tmp_path / "real")
    else:
        folder.mkdir(parents=True)
        folder.chmod(0o777)
    monkeypatch.setenv("HOME", str(tmp_path / "state" / "torchkeeper" / "begun" / "no home"))
    monkeypatch.setattr(pwd, "getpwuid", _nobody)
    if spoilt != "no folder":
        monkeypatch.delenv("HOME")
    heard = Heard()
    planned = plan(fixture_cache)

    class Stops(Report):
        def progress(self, done: int, total: int | None, unit: str) -> None:
            if done == 9:
                os._exit(7)

    child = os.fork()
    if not child:
        trash.purge(planned, True, Stops(), lambda _item, _problem: None)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    brought_to_end(str(fixture_cache), heard)
    assert heard.recovered["outcome"] == "not-believed"
    # All that was taken is in the trash, and undo finds it; or who knows of it has it put back.
    brought_to_end(str(fixture_cache), Report(), BELIEVE)
    assert snapshot(fixture_cache) == before
    told = Heard()
    made = Journal(str(fixture_cache), "import", told)
    made.open()
    made.close()
    [said] = [one["unproven"] for one in told.found]
    assert "cannot keep a record" in unproven(said)


def _nobody(_uid: int) -> pwd.struct_passwd:
    raise KeyError


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_root_writes_nothing_into_the_home_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 4711, 4711)
    monkeypatch.setenv("HOME", str(tmp_path / "theirs"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "theirs" / "state"))
    (tmp_path / "mine").mkdir()
    mine = pwd.struct_passwd(("root", "x", 0, 0, "", str(tmp_path / "mine"), ""))
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: mine)
    begin(tmp_path / "place", "import", ["new", "x"])
    assert list((tmp_path / "theirs").iterdir()) == []
    assert len(list((tmp_path / "mine").glob(".local/state/torchkeeper/begun/*.json"))) == 1
    assert [one.outcome for one in cut_off(str(tmp_path / "place"))] == ["waiting"]


def test_a_place_that_is_no_folder_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(Problem, match="place-missing"):
        perform(TABLE["recover"], Session(), {"place": str(tmp_path / "none")}, Report())
