"""Undo of an import: exactly what it has placed goes, to the trash, and comes back from there."""

from __future__ import annotations

import functools
import json
import multiprocessing
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.snapshots import below, snapshot
from tests.stores.folders.test_recovering import Heard
from tests.stores.folders.test_trash import Left, plan, purge, undo
from tests.stores.test_copying import carry, files
from torchkeeper.artifacts import aoti_eager
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import TRASH
from torchkeeper.artifacts.report import Report
from torchkeeper.client.words.found import no_undo
from torchkeeper.stores.folders import journal, placed, receipts, trash
from torchkeeper.stores.folders.guard import brought_to_end


@pytest.fixture
def target(kept_291: Path, tmp_path: Path) -> Path:
    """A folder that has some entries of its own."""
    carry(kept_291, tmp_path / "t", "pgo autotune")
    trash.empty(str(tmp_path / "t"), Report(), Left())
    return tmp_path / "t"


def test_what_an_import_placed_goes_and_comes_back(
    kept_291: Path, target: Path, tmp_path: Path
) -> None:
    carry(kept_291, tmp_path / "b.torchcache")
    before = files(target)
    done, _ = carry(tmp_path / "b.torchcache", target)
    after = files(target)
    assert done.entries and done.exists and done.receipt
    last = receipts.totals(str(target))["last"]
    assert last and (last["undid"], last["entries"]) == ("import", done.entries)
    gone, left = undo(target)
    assert (gone.undid, gone.entries, left) == ("import", done.entries, [])
    assert files(target) == before
    folders = [path for path in below(target) if path.is_dir()]
    assert all(any(folder.iterdir()) for folder in folders)
    back, left = undo(target)
    assert (back.undid, back.entries, left) == ("purge", done.entries, [])
    assert files(target) == after
    with pytest.raises(Problem, match="nothing-to-undo"):
        undo(target)
    assert not (target / TRASH).exists()


def test_what_has_changed_or_gone_meanwhile_stays_as_it_is(
    kept_291: Path, target: Path, tmp_path: Path
) -> None:
    before = files(target)
    done, _ = carry(kept_291, target, "code")
    changed, gone = sorted(path for path in set(files(target)) - set(before) if path[-3:] == ".py")[
        :2
    ]
    (target / changed).write_text("# mine")
    (target / gone).unlink()
    withdrawn, left = undo(target)
    assert left == ["entry-changed"]
    assert withdrawn.entries < done.entries
    stays = {path for path in files(target) if path not in before}
    assert {path.partition(".")[0] for path in stays} == {changed.partition(".")[0]}
    assert (target / changed).read_text() == "# mine"


def test_a_file_that_was_there_stays_where_the_rest_of_its_entry_came(
    triton_cache: Path, tmp_path: Path
) -> None:
    carry(triton_cache, tmp_path / "t")
    trash.empty(str(tmp_path / "t"), Report(), Left())
    missing = next(path for path in sorted((tmp_path / "t").rglob("*.ttir")))
    missing.unlink()
    before = files(tmp_path / "t")
    done, _ = carry(triton_cache, tmp_path / "t")
    assert (done.entries, done.files) == (1, len(list(missing.parent.iterdir())))
    gone, left = undo(tmp_path / "t")
    # Its group file had made way, as it led to a file that was gone.
    assert (gone.files, left) == (2, [])
    assert files(tmp_path / "t") == before


def test_what_had_to_give_way_is_back(kept_291: Path, tmp_path: Path) -> None:
    carry(kept_291, tmp_path / "t")
    trash.empty(str(tmp_path / "t"), Report(), Left())
    payload = next(p for p in sorted((tmp_path / "t" / "fxgraph").rglob("*")) if p.is_file())
    payload.write_bytes(b"cut off")
    done, _ = carry(kept_291, tmp_path / "t")
    assert done.entries == 1
    assert payload.read_bytes() != b"cut off"
    gone, left = undo(tmp_path / "t")
    assert (gone.undid, gone.entries, left) == ("import", 1, [])
    assert payload.read_bytes() == b"cut off"
    # Both are kept: what the import brought does not replace what is there.
    _, left = undo(tmp_path / "t")
    assert left == ["path-taken"]


def test_what_gave_way_and_has_no_place_any_more_stays_in_the_trash(
    kept_291: Path, tmp_path: Path
) -> None:
    carry(kept_291, tmp_path / "t")
    trash.empty(str(tmp_path / "t"), Report(), Left())
    graphs = [p for p in sorted((tmp_path / "t" / "fxgraph").rglob("*")) if p.is_file()]
    spoilt, missing = graphs[:2]
    spoilt.write_bytes(b"cut off")
    missing.unlink()
    carry(kept_291, tmp_path / "t")
    spoilt.write_bytes(b"of PyTorch since")
    gone, left = undo(tmp_path / "t")
    assert (gone.undid, gone.entries, sorted(left)) == (
        "import",
        1,
        ["entry-changed", "path-taken"],
    )
    assert spoilt.read_bytes() == b"of PyTorch since" and not missing.exists()
    [gave_way, moved] = receipts.folders_of(str(tmp_path / "t"))
    assert not receipts.is_import(gave_way) and not receipts.is_import(moved)
    [kept] = [path for path in Path(gave_way, "files").rglob("*") if path.is_file()]
    assert kept.read_bytes() == b"cut off"


def test_later_purges_are_undone_first(kept_291: Path, tmp_path: Path) -> None:
    carry(kept_291, tmp_path / "t")
    whole = files(tmp_path / "t")
    purge(tmp_path / "t", "fxgraph")
    assert undo(tmp_path / "t")[0].undid == "purge"
    assert files(tmp_path / "t") == whole
    assert undo(tmp_path / "t")[0].undid == "import"
    assert files(tmp_path / "t") == {}


def test_an_import_of_which_nothing_is_there_is_passed_over(kept_291: Path, tmp_path: Path) -> None:
    carry(kept_291, tmp_path / "t", "pgo")
    carry(kept_291, tmp_path / "t", "code")
    purge(tmp_path / "t", "code", now=True)
    assert undo(tmp_path / "t")[0].undid == "import"
    assert files(tmp_path / "t") == {}


def test_what_a_process_has_open_stays_and_can_be_undone_later(
    kept_291: Path, tmp_path: Path
) -> None:
    carry(kept_291, tmp_path / "t")
    built = next((tmp_path / "t").rglob("*.so"))
    ready, other = multiprocessing.Pipe()
    child = os.fork()
    if not child:
        with built.open("rb"):
            other.send(True)
            signal.pause()
    try:
        assert ready.recv()
        _, left = undo(tmp_path / "t")
        assert left == ["entry-in-use"]
        assert built.exists()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert undo(tmp_path / "t") and undo(tmp_path / "t")
    only = receipts.folders_of(str(tmp_path / "t"))
    assert not any(map(receipts.is_import, only)) or undo(tmp_path / "t")[0].undid == "import"


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Kill what is done when its journal is told the so-maniest time; whether it came so far."""
    child = os.fork()
    if not child:
        count = 0
        write = journal._write

        def dying(handle: int, data: bytes) -> None:
            nonlocal count
            count += 1
            write(handle, data)
            if count == step:
                os.kill(os.getpid(), signal.SIGKILL)

        journal._write = dying
        work()
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_an_undo_that_was_killed_is_done_by_the_next_one(kept_291: Path, tmp_path: Path) -> None:
    carry(kept_291, tmp_path / "t", "pgo")
    before = files(tmp_path / "t")
    done, _ = carry(kept_291, tmp_path / "t", "fxgraph")
    step, told = 1, set[str]()
    while True:
        place = tmp_path / str(step)
        shutil.copytree(tmp_path / "t", place)
        if not killed_at(step, functools.partial(undo, place)):
            break
        heard = Heard()
        again = trash.undo(str(place), heard, Left())
        told.add(heard.recovered["outcome"])
        assert (again.undid, again.entries) == ("import", done.entries), step
        assert files(place) == before
        step += 1
    assert step > 3 and told == {"put-back", "completed"}


def test_one_that_was_killed_leaves_a_receipt_of_what_stays(kept_291: Path, tmp_path: Path) -> None:
    step = 1
    kept = 0
    while killed_at(step, functools.partial(carry, kept_291, tmp_path / str(step), "fxgraph")):
        place = tmp_path / str(step)
        [told] = brought_to_end(str(place), Report())
        imports = [x for x in receipts.folders_of(str(place)) if receipts.is_import(x)]
        assert len(imports) == (told.outcome == "completed")
        kept += len(imports)
        if not imports:
            assert not place.exists() or files(place) == {}
            assert not (place / TRASH).exists()
        else:
            assert undo(place)[0].undid == "import"
            assert files(place) == {}
        step += 1
    assert step > 5 and kept == 1


def test_items_come_off_a_list_that_others_are_in(other_kinds: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "s" / "aoti_eager", tmp_path / "t"
    shutil.copytree(other_kinds / "cache" / "aoti_eager", source)
    shutil.copytree(source, target / "aoti_eager")
    of_abs = target / "aoti_eager" / "aten" / "cpu" / "abs.json"
    first, second = json.loads(of_abs.read_text())
    of_abs.write_text(json.dumps([second]))
    (of_abs.with_name("add.Tensor.json")).unlink()
    done, _ = carry(source.parent, target)
    assert done.entries == 2
    gone, left = undo(target)
    assert (gone.entries, left) == (2, [])
    assert json.loads(of_abs.read_text()) == [second]
    assert not of_abs.with_name("add.Tensor.json").exists()
    back, left = undo(target)
    assert (back.entries, left) == (2, [])
    both = [aoti_eager.digest(one) for one in json.loads(of_abs.read_text())]
    assert sorted(both) == sorted(map(aoti_eager.digest, [first, second]))


def test_receipts_do_not_add_up_for_ever(
    kept_291: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placed, "KEPT", 2)
    for kind in ("pgo", "autotune", "code", "fxgraph"):
        carry(kept_291, tmp_path / "t", kind)
    assert len(receipts.folders_of(str(tmp_path / "t"))) == 2
    undo(tmp_path / "t")
    assert not list((tmp_path / "t" / "fxgraph").rglob("*"))


@pytest.mark.parametrize("line", [b"[", b"{}", b'["../x", "code", "0"]', b'["x", 1, []]', b"\xff"])
def test_a_receipt_that_makes_no_sense_takes_nothing(
    line: bytes, kept_291: Path, tmp_path: Path
) -> None:
    carry(kept_291, tmp_path / "t")
    [bin_] = receipts.folders_of(str(tmp_path / "t"))
    Path(bin_, receipts.PLACED).write_bytes(line + b"\n")
    (tmp_path / "x").write_text("mine")
    before = snapshot(tmp_path / "t")
    with pytest.raises(Problem, match="nothing-to-undo"):
        undo(tmp_path / "t")
    assert snapshot(tmp_path / "t").keys() == before.keys()
    assert (tmp_path / "x").read_text() == "mine"


def test_emptying_the_trash_forgets_imports(kept_291: Path, tmp_path: Path) -> None:
    carry(kept_291, tmp_path / "t")
    told = receipts.totals(str(tmp_path / "t"))
    assert (told["receipts"], told["files"], told["bytes"]) == (0, 0, 0)
    assert trash.empty(str(tmp_path / "t"), Report(), Left()).files == 0
    assert not (tmp_path / "t" / TRASH).exists()
    assert plan(tmp_path / "t").items


@pytest.mark.parametrize("kind", ["file", "somebody else's"])
def test_where_the_trash_cannot_be_used_an_import_stands_and_says_so(
    kind: str, kept_291: Path, tmp_path: Path
) -> None:
    trash_ = tmp_path / "t" / TRASH
    trash_.parent.mkdir()
    if kind == "file":
        trash_.write_text("mine")
    elif os.geteuid() != 0:
        pytest.skip("only root can give files away")
    else:
        trash_.mkdir()
        os.chown(trash_, 4711, 4711)
    told = Heard()
    done, left = carry(kept_291, tmp_path / "t", "pgo", report=told)
    assert (done.receipt, left.codes) == (None, [])
    assert done.entries and len(files(tmp_path / "t")) >= done.files
    [said] = [no_undo(one["no_undo"]) for one in told.found if "no_undo" in one]
    assert said.startswith("What was put into ") and "The trash of " in said
