"""The import dialog: what is new there, one job for all files, cancel without a trace, Open."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, idle, listed, settle, told
from tests.gui.test_exporting import big_cache, held_in_the_middle
from tests.snapshots import snapshot
from tests.stores.bundles.test_bundle import make
from tests.stores.bundles.test_signing import sign
from torchkeeper.client import signers
from torchkeeper.client.engines.process import Engine
from torchkeeper.engine.protocol import EXPORT
from torchkeeper.gui.dialogs.importing import ImportDialog
from torchkeeper.gui.dialogs.pages import ChoicePage
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.window import Window


@pytest.fixture(scope="module")
def good(clean_291: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("bundle") / "good.torchcache"
    make(clean_291, output)
    return output


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("big")
    output = folder / "big.torchcache"
    make(big_cache(folder / "cache"), output)
    return output


def look(qtbot: QtBot, window: Window, into: Path, *files: Path) -> ImportDialog:
    """The dialog over files, once it knows what of them is new."""
    dialog = window.flows.open_import([str(file) for file in files])
    why = dialog.choice.why
    assert not dialog.go.isEnabled() and why.isVisible(), "it says why, and not only in a tip"
    assert why.text() == dialog.go.toolTip() == "Torchkeeper is still reading the files."
    dialog.target.combo.setEditText(str(into))
    qtbot.waitUntil(lambda: dialog.known, timeout=PATIENCE)
    return dialog


def table(dialog: ImportDialog) -> dict[str, list[str]]:
    shown = dialog._detail
    items = [shown.topLevelItem(row) for row in range(shown.topLevelItemCount())]
    return {item.text(0): [item.text(n) for n in range(1, 6)] for item in items if item is not None}


@pytest.mark.slow
def test_says_what_is_new_by_kind_and_follows_the_target(
    qtbot: QtBot, open_window: OpenWindow, good: Path, fixture_cache: Path, tmp_path: Path
) -> None:
    for path in [p for p in (fixture_cache / "aotautograd").rglob("*") if p.is_file()]:
        path.unlink()
    built, other = sorted(fixture_cache.rglob("*.main.so"))[:2]
    built.write_bytes(other.read_bytes())
    before = snapshot(fixture_cache)
    window = open_window()
    dialog = window.flows.open_import([str(good)])
    where = dialog.target.mapTo(dialog, QPoint())
    dialog.resize(740, 688)  # what a screen of 768 lines has
    dialog.target.combo.setEditText(str(fixture_cache))
    qtbot.waitUntil(lambda: dialog.known, timeout=PATIENCE)
    settle(qtbot)
    assert dialog.target.mapTo(dialog, QPoint()) == where, "it stays while the file is read"
    assert dialog.left.text() == (
        "One entry stays out: something else is there under the same name, and stays."
    )
    for part in (dialog.environment, dialog.news, dialog.left):
        assert part.visibleRegion().boundingRect() == part.rect(), "nothing is over it"
    assert table(dialog)["AOTAutograd"][2:] == ["4", "–", "–"]
    assert table(dialog)["FX graph"][2:] == ["–", "7", "–"]
    assert table(dialog)["Code"][4] == "1"
    assert dialog.news.text().startswith("4 new (")
    assert " of content)" in dialog.news.text()
    assert "1 differs and stays as it is" in dialog.news.text()
    assert "are free there" in dialog.room.text()
    assert dialog.go.text() == "I&mport 4 entries"
    # Enter imports nothing by itself; it goes to what does.
    qtbot.keyClick(dialog.target.combo, Qt.Key.Key_Return)  # type: ignore[no-untyped-call]
    assert dialog.focusWidget() is dialog.go and not window.jobs.jobs
    # Another target, another answer; what is typed is looked at when the typing pauses.
    dialog.target.combo.setEditText(str(tmp_path / "not" / "yet"))
    assert not dialog.known
    assert table(dialog)["FX graph"][2:] == ["", "", ""]
    qtbot.waitUntil(lambda: dialog.known, timeout=PATIENCE)
    assert dialog.news.text().startswith("19 new (")
    assert dialog.room.text().startswith("The folder will be created.")
    dialog.target.combo.setEditText(str(good))
    qtbot.waitUntil(lambda: dialog.known, timeout=PATIENCE)
    assert "is not a folder" in dialog.news.text()
    assert not dialog.go.isEnabled()
    dialog.reject()
    assert snapshot(fixture_cache) == before
    assert not (tmp_path / "not").exists()


@pytest.mark.slow
def test_where_nothing_is_new_it_says_so(
    qtbot: QtBot, open_window: OpenWindow, good: Path, fixture_cache: Path
) -> None:
    window = open_window()
    dialog = look(qtbot, window, fixture_cache, good)
    assert dialog.news.text() == "Nothing is new · 44 there already"
    assert not dialog.go.isEnabled()
    # Why it is off is seen beside the button, wherever the rest is scrolled to.
    assert dialog.go.toolTip() == dialog.news.text()
    (page,) = dialog.findChildren(ChoicePage)
    assert page.why.isVisible() and page.why.text() == dialog.go.toolTip()
    dialog.reject()


@pytest.mark.slow
def test_many_files_are_one_job(
    qtbot: QtBot, open_window: OpenWindow, good: Path, kernels: Path, tmp_path: Path
) -> None:
    more, again = tmp_path / "kernels.torchcache", tmp_path / "again.torchcache"
    make(kernels, more)
    shutil.copy(good, again)
    window = open_window()
    dialog = look(qtbot, window, tmp_path / "t", good, more, again)
    assert dialog.news.text().startswith("21 new (")
    assert "19 there already" in dialog.news.text(), "the copy brings nothing new"
    click(qtbot, dialog.go)
    idle(qtbot, window)
    [job] = window.jobs.jobs
    assert job.state is State.DONE, list(job.log)
    assert job.title == "Import 3 files"
    assert (job.result["entries"], job.result["exists"], job.result["doubles"]) == (21, 0, 19)
    assert job.done == job.total == sum(file.bytes for file in dialog.files)


@pytest.mark.slow
def test_open_shows_the_place_with_the_new_entries_selected(
    qtbot: QtBot, open_window: OpenWindow, good: Path, fixture_cache: Path, tmp_path: Path
) -> None:
    for path in [p for p in (fixture_cache / "aotautograd").rglob("*") if p.is_file()]:
        path.unlink()
    (tmp_path / "first").mkdir()
    window = open_window(tmp_path / "first")
    dialog = look(qtbot, window, fixture_cache, good)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert window.place == str(tmp_path / "first"), "nothing changes under one's hands"
    assert window.places.row_of(str(fixture_cache)) >= 0
    window.head.box.setText("kind:fxgraph")
    settle(qtbot)
    click(qtbot, window.following.drawer.open)
    listed(qtbot, window, fixture_cache)
    qtbot.waitUntil(lambda: len(window.table.selected()) == 4, timeout=PATIENCE)
    assert {entry.kind for entry in window.table.selected()} == {"aotautograd"}
    # The same by the actions, also where the place is shown already, under headings.
    window.table.clearSelection()
    window.actions_["group-kind"].trigger()
    window.actions_["collapse-all"].trigger()
    window.actions_["open-result"].trigger()
    qtbot.waitUntil(lambda: len(window.table.selected()) == 4, timeout=PATIENCE)


@pytest.mark.slow
@pytest.mark.parametrize("new", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_cancelled_in_the_middle_it_leaves_no_trace(
    qtbot: QtBot, open_window: OpenWindow, good: Path, big: Path, tmp_path: Path, new: bool
) -> None:
    """The first file is in already when the second is cancelled: it goes too."""
    home = tmp_path / "home-of-it"
    home.mkdir()
    target = home / "new" / "target"
    if not new:
        target.mkdir(parents=True)
        (target / "mine").write_text("mine")
    before = snapshot(home, times=False)
    window = open_window()
    dialog = look(qtbot, window, target, good, big)
    assert snapshot(home, times=False) == before
    with held_in_the_middle(qtbot, window, dialog.go) as job:
        assert list(target.rglob(".torchkeeper-*")), "it was writing"
        click(qtbot, window.following.drawer.cancel_button)
    idle(qtbot, window)
    assert job.state is State.CANCELLED
    assert snapshot(home, times=False) == before
    assert window.places.row_of(str(target)) < 0
    assert told(window).startswith("Cancelled.")
    click(qtbot, window.following.drawer.change)
    qtbot.waitUntil(lambda: dialog.known, timeout=PATIENCE)
    assert dialog.go.isEnabled()
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not window.findChildren(ImportDialog))


@pytest.mark.slow
def test_a_dialog_closed_while_it_reads_leaves_no_engine(
    qtbot: QtBot, open_window: OpenWindow, big: Path, tmp_path: Path
) -> None:
    window = open_window()
    dialog = window.flows.open_import([str(big)])
    dialog.target.combo.setEditText(str(tmp_path / "t"))
    qtbot.waitUntil(lambda: dialog.ready, timeout=PATIENCE)
    qtbot.waitUntil(lambda: "Comparing" in dialog.news.text(), timeout=PATIENCE)
    dialog.reject()
    qtbot.waitUntil(
        lambda: all(line.shared for line in window.engines.worker._lines), timeout=PATIENCE
    )
    assert not (tmp_path / "t").exists()


@pytest.mark.slow
def test_a_refusal_has_a_result_and_what_was_left_can_be_copied(
    qtbot: QtBot, open_window: OpenWindow, good: Path, fixture_cache: Path
) -> None:
    for path in [p for p in (fixture_cache / "aotautograd").rglob("*") if p.is_file()]:
        path.unlink()
    built, other = sorted(fixture_cache.rglob("*.main.so"))[:2]
    built.write_bytes(other.read_bytes())
    window = open_window()
    dialog = look(qtbot, window, fixture_cache, good)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    detail = window.following.drawer.detail
    assert detail.tabs.tabText(detail.tabs.indexOf(detail.left)) == "Left out (1)"
    assert "\nLeft out:\n1 × Something else is there" in told(window)
    assert built.name.split(".")[0] in detail.left.text()
    assert "entries (" in told(window)
    assert "there already" in told(window)


@pytest.mark.slow
def test_a_bundle_that_is_shown_is_what_to_import_and_no_place_to_import_into(
    qtbot: QtBot, open_window: OpenWindow, good: Path, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    window.places.add(str(good), bundle=True)
    window.places_pane.choose(str(good))
    listed(qtbot, window, good)
    window.actions_["import"].trigger()
    [chooser] = window.findChildren(QFileDialog)
    assert chooser.selectedFiles() == [str(good)]
    chooser.accept()
    qtbot.waitUntil(lambda: bool(window.findChildren(ImportDialog)), timeout=PATIENCE)
    [dialog] = window.findChildren(ImportDialog)
    assert isinstance(dialog, ImportDialog)
    offered = [dialog.target.combo.itemText(n) for n in range(dialog.target.combo.count())]
    assert str(good) not in offered
    assert str(fixture_cache) in offered
    dialog.reject()
    # It is still known to be one when the window is opened again.
    again = open_window()
    place = again.places.places[again.places.row_of(str(good))]
    qtbot.waitUntil(lambda: again.places.places[again.places.row_of(str(good))].bundle)
    assert place.added


def test_what_was_replaced_since_it_was_looked_at_is_not_imported(
    qtbot: QtBot, open_window: OpenWindow, good: Path, big: Path, tmp_path: Path
) -> None:
    file, into = tmp_path / "b.torchcache", tmp_path / "into"
    shutil.copy(good, file)
    dialog = look(qtbot, open_window(), into, file)
    shutil.copy(big, file)
    click(qtbot, dialog.go)
    qtbot.waitUntil(lambda: dialog.job is not None and dialog.job.state is State.FAILED)
    assert dialog.job is not None
    assert "has changed" in str(dialog.job.error)
    assert not into.exists()


def test_says_who_signed_it_and_holds_to_what_is_required(
    qtbot: QtBot, open_window: OpenWindow, good: Path, tmp_path: Path
) -> None:
    key, file, into = tmp_path / "key", tmp_path / "signed.torchcache", tmp_path / "into"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    shutil.copy(good, file)
    sign(file, key, tmp_path / "signing")
    window = open_window()
    window.places.add(str(tmp_path))
    dialog = look(qtbot, window, into, file)
    assert "not among your signers: ssh-ed25519 SHA256:" in dialog._made_in.text()
    assert "from people you trust" in dialog.trust.text()
    signers.require(True)
    try:
        click(qtbot, dialog.go)
        qtbot.waitUntil(lambda: dialog.job is not None and dialog.job.state is State.FAILED)
        assert dialog.job is not None
        assert "signed by a key that is not among" in str(dialog.job.error)
        assert not into.exists()
        dialog.reject()
        signers.trust("team@example.org", f"{key}.pub")
        dialog = look(qtbot, window, into, file)
        assert "Signed by team@example.org" in dialog._made_in.text()
        assert "team@example.org, whom you trust" in dialog.trust.text()
        click(qtbot, dialog.go)
        window.following.show(dialog.job)
        qtbot.waitUntil(lambda: dialog.job is not None and dialog.job.state is State.DONE)
        assert into.exists()
        drawer = window.following.drawer
        assert drawer.job is dialog.job and drawer.again.isVisible()
        assert not drawer.change.isVisible(), "its dialog is not kept"
        # The next goes there, too, unless a place is shown that can take it.
        idle(qtbot, window)
        window.places.add(str(file), bundle=True)
        for shown, target in ((file, into), (tmp_path, tmp_path)):
            window.places_pane.choose(str(shown))
            listed(qtbot, window, shown)
            again = window.flows.open_import([str(file)])
            assert again.target.path == str(target)
            again.reject()
    finally:
        signers.require(False)
        Path(signers.signers_file()).unlink(missing_ok=True)


def test_each_cache_goes_to_its_own_place(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, kernels: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    bundle, inductor, triton = tmp_path / "server.torchcache", tmp_path / "i", tmp_path / "t"
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(inductor))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(triton))
    with Engine() as engine:
        places = {"place": str(fixture_cache), "also": [str(kernels)]}
        engine.call(EXPORT, {**places, "output": str(bundle), "secrets": "allow"})
    window = open_window()
    dialog = look(qtbot, window, inductor, bundle)
    qtbot.waitUntil(lambda: bool(dialog.each.rows), timeout=PATIENCE)
    assert not dialog.each.on and dialog.each.box.isVisible()
    dialog.each.box.click()
    shown = [[one.text(n) for n in range(3)] for one in dialog.each.table.items()]
    assert shown == [
        ["PyTorch", str(inductor), "TORCHINDUCTOR_CACHE_DIR, which is not there yet"],
        ["Triton", str(triton), "TRITON_CACHE_DIR, which is not there yet"],
    ]
    assert not dialog.target.isEnabled()
    assert dialog.news.text().startswith("2 caches go to where this machine has them")
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    # What is new is said of each place before anything is placed; the others are objects of which
    # nobody knows where they were built.
    told = [[one.text(n) for n in (4, 5)] for one in dialog.each.table.items()]
    assert told == [["19", "0"], ["2", "0"]]
    assert "21 new, 0 there already" in dialog.news.text()
    assert dialog.go.text() == "I&mport 21 entries"
    assert dialog.compared is None, "that is of one place"
    assert not inductor.exists() and not triton.exists()
    click(qtbot, dialog.go)
    idle(qtbot, window)
    jobs = {job.place: job for job in window.jobs.jobs}
    assert set(jobs) == {str(inductor), str(triton)}
    assert {job.state for job in jobs.values()} == {State.DONE}
    assert {one.name for one in triton.iterdir() if one.is_dir()} >= {
        one.name for one in kernels.iterdir() if one.is_dir()
    }
    assert jobs[str(inductor)].result["entries"] > 0
    assert {str(inductor), str(triton)} <= {one.path for one in window.places.places}


def test_where_all_is_of_one_cache_the_choice_is_not_there(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "one.torchcache"
    make(fixture_cache, bundle)
    dialog = look(qtbot, open_window(), tmp_path / "other", bundle)
    qtbot.waitUntil(lambda: bool(dialog.each.rows), timeout=PATIENCE)
    assert not dialog.each.isVisible()
    dialog.reject()
