"""The doctor's page on real folders with real faults: it looks, mends, looks again, and undoes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from tests.conftest import SlowDisk
from tests.gui.conftest import PATIENCE, OpenWindow, click, idle
from tests.redis_server import serving
from tests.snapshots import snapshot
from torchkeeper.doctor.checks import CHECKS
from torchkeeper.gui.dialogs.doctor import DoctorDialog
from torchkeeper.gui.dialogs.mending import MendDialog
from torchkeeper.gui.window import Window
from torchkeeper.link import checkwords
from torchkeeper.link.process import Engine

#: What is so of the disk of whoever runs the tests, and no fault that a test has made.
OF_THE_DISK = {"folder-in-container", "folder-in-memory", "folder-on-network", "disk-nearly-full"}
DAYS = 86_400


def opened(qtbot: QtBot, window: Window, place: Path | None = None) -> DoctorDialog:
    """The dialog, once all is looked at; of a place alone, or of all."""
    window.actions_["doctor"].trigger()
    dialog = window.findChildren(DoctorDialog)[-1]
    if place is not None:
        dialog.scope.setCurrentIndex(dialog.scope.findData(str(place)))
    over(qtbot, dialog)
    return dialog


def over(qtbot: QtBot, dialog: DoctorDialog) -> None:
    found = dialog.diagnosis
    qtbot.waitUntil(
        lambda: not dialog.mender.busy and (found.result or found.error) is not None,
        timeout=PATIENCE,
    )


def codes(dialog: DoctorDialog) -> set[str]:
    return {one.finding.code for one in dialog.diagnosis.found} - OF_THE_DISK


def press(qtbot: QtBot, dialog: DoctorDialog, code: str) -> MendDialog:
    """Press the button of a finding; what is about to be done."""
    [one] = [one for one in dialog.diagnosis.found if one.finding.code == code]
    card = dialog.cards.of(one)
    assert card is not None
    assert card.button is not None
    click(qtbot, card.button)
    return previewed(qtbot, dialog)


def previewed(qtbot: QtBot, dialog: DoctorDialog) -> MendDialog:
    qtbot.waitUntil(lambda: dialog.preview is not None, timeout=PATIENCE)
    assert dialog.preview is not None
    return dialog.preview


def spoil(place: Path) -> None:
    """Cut a graph short, and leave a temporary file of a writer that is dead."""
    graph = next(p for p in sorted((place / "fxgraph").rglob("*")) if p.is_file())
    graph.write_bytes(graph.read_bytes()[:100])
    left = place / "fxgraph" / ".1234.5678.tmp"
    left.write_bytes(bytes(1000))
    before = time.time() - 3 * DAYS
    for path in (graph, left):
        os.utime(path, (before, before))


def test_what_is_broken_goes_is_looked_at_again_and_comes_back(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    spoil(fixture_cache)
    before = snapshot(fixture_cache)
    window = open_window(fixture_cache)
    total = window.entries.total
    dialog = opened(qtbot, window, fixture_cache)
    assert codes(dialog) >= {"entries-broken", "left-over"}
    assert dialog.title.text().split("; ")[0].count("warning") == 1
    assert any(text.startswith("Warnings") for text in dialog.cards.headings)
    preview = press(qtbot, dialog, "entries-broken")
    assert preview.model.count == 1
    assert "Move what is broken to the trash" in dialog.mender._plans[0].will
    preview.cancel.click()
    assert snapshot(fixture_cache) == before, "it was only shown"
    assert not dialog.mender.busy
    click(qtbot, press(qtbot, dialog, "entries-broken").go)
    over(qtbot, dialog)
    assert "entries-broken" not in codes(dialog)
    mended = dialog.mended("entries-broken")
    assert mended is not None
    assert mended.gone
    idle(qtbot, window)
    assert window.entries.total == total - 1, "the window shows it"
    assert window.jobs.jobs[0].kind == "purge"
    card = dialog.cards.of(mended)
    assert card is not None
    assert card.button is not None
    click(qtbot, card.button)
    over(qtbot, dialog)
    idle(qtbot, window)
    assert "entries-broken" in codes(dialog)
    assert dialog.mended("entries-broken") is None
    assert snapshot(fixture_cache) == before
    dialog.reject()


def test_all_that_can_be_fixed_at_once(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    spoil(fixture_cache)
    ahead = next(fixture_cache.rglob("*.main.so"))
    os.utime(ahead, (time.time() + 5 * DAYS,) * 2)
    window = open_window(fixture_cache)
    dialog = opened(qtbot, window, fixture_cache)
    wrong = {one.finding.code for one in dialog.fixable}
    assert wrong >= {"entries-broken", "left-over", "files-from-future"}
    click(qtbot, dialog.all)
    preview = previewed(qtbot, dialog)
    assert len(preview.rows) == len(dialog.fixable)
    assert preview.go.text() == "Fix"
    click(qtbot, preview.go)
    assert not dialog.all.isEnabled()
    over(qtbot, dialog)
    assert {one.told.finding.code for one in dialog.mender.mended} == wrong
    assert codes(dialog) & wrong == set()
    assert not dialog.all.isVisible()
    assert ahead.stat().st_mtime <= time.time()
    assert not list((fixture_cache / "fxgraph").glob(".*.tmp"))
    # The last that went to the trash comes back first.
    [undoable] = [one for one in dialog.mender.mended if dialog.mender.can_undo(one)]
    assert undoable is [one for one in dialog.mender.mended if one.receipt][-1]
    click(qtbot, dialog.again)
    over(qtbot, dialog)
    assert dialog.mender.mended == []
    dialog.reject()


def test_what_was_agreed_to_is_done_although_the_page_is_closed(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    spoil(fixture_cache)
    window = open_window(fixture_cache)
    dialog = opened(qtbot, window, fixture_cache)
    click(qtbot, dialog.all)
    click(qtbot, previewed(qtbot, dialog).go)
    qtbot.waitUntil(lambda: dialog.diagnosis._again is not None, timeout=PATIENCE)
    mender = dialog.mender
    dialog.reject()
    with qtbot.waitSignal(mender.destroyed, timeout=PATIENCE):
        pass
    idle(qtbot, window)
    assert [job.kind for job in window.jobs.jobs[:2]] == ["purge", "purge"]
    assert not list((fixture_cache / "fxgraph").glob(".*.tmp"))


def test_undo_brings_back_its_own_purge_and_no_other(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    """Another purge came in between, of the window or the command line."""
    spoil(fixture_cache)
    before = snapshot(fixture_cache)
    window = open_window(fixture_cache)
    dialog = opened(qtbot, window, fixture_cache)
    click(qtbot, press(qtbot, dialog, "entries-broken").go)
    over(qtbot, dialog)
    other = next(p for p in sorted((fixture_cache / "aotautograd").rglob("*")) if p.is_file())
    path = str(other.relative_to(fixture_cache))
    with Engine() as engine:
        purge = {"place": str(fixture_cache), "select": {"items": [["aotautograd", path]]}}
        plan = engine.call("plan_purge", purge)
        engine.call("purge", {"plan": plan["plan"]})
    assert not other.exists()
    mended = dialog.mended("entries-broken")
    assert mended is not None
    dialog.mender.undo(mended)
    over(qtbot, dialog)
    idle(qtbot, window)
    after = snapshot(fixture_cache)
    assert not other.exists(), "that was not this page's"
    gone = {name for name in before.keys() - after.keys() if not name.endswith(".")}
    assert all(name.startswith("aotautograd/") for name in gone)
    dialog.reject()


def test_a_healthy_place_says_so_and_what_was_checked(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    place = tmp_path / "empty"
    place.mkdir()
    window = open_window(place)
    dialog = opened(qtbot, window, place)
    assert codes(dialog) == set()
    [button] = [dialog.copy]
    click(qtbot, button)
    told = QGuiApplication.clipboard().text()
    assert f"Place: {place}\n" in told
    assert "Checked: file system, room on the disk, owner and rights" in told
    checks = dialog.diagnosis.result["checks"] if dialog.diagnosis.result else []
    assert "file-system" in checks
    if not dialog.diagnosis.found and not dialog.cards.cards:
        assert dialog.healthy.isVisible()
        assert dialog.healthy.title.text().startswith("Nothing is wrong: ")
    # What needs an environment is named as not checked.
    assert dialog.healthy.isVisible() or dialog.cards.of("left") is not None or codes(dialog)
    dialog.reject()


def test_a_disk_that_hangs_is_left_and_looked_at_again(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, slow_disk: SlowDisk
) -> None:
    spoil(fixture_cache)
    slow_disk.below(fixture_cache)
    window = open_window(fixture_cache)
    slow_disk.hang()
    window.actions_["doctor"].trigger()
    dialog = window.findChildren(DoctorDialog)[-1]
    dialog.scope.setCurrentIndex(dialog.scope.findData(str(fixture_cache)))
    qtbot.waitUntil(lambda: dialog.diagnosis.running, timeout=PATIENCE)
    assert dialog.bar.isVisible()
    assert not dialog.again.isVisible()
    began = time.monotonic()
    click(qtbot, dialog.cancel)
    assert not dialog.diagnosis.running
    assert dialog.title.text() == "Cancelled: not all was looked at"
    assert time.monotonic() - began < 10, "the disk hangs for ever"
    slow_disk.answer()
    click(qtbot, dialog.again)
    over(qtbot, dialog)
    assert "entries-broken" in codes(dialog)
    # It is closed by the keyboard, and asked for again there is one.
    QTest.keyClick(dialog, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not window.findChildren(DoctorDialog), timeout=PATIENCE)


def test_a_wrong_password_is_found_and_told_nowhere(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyTorch says nothing of it."""
    secret = "hunter2-not-a-real-password"
    with serving(tmp_path / "redis", "--requirepass", "another") as server:
        port = server.url.rpartition(":")[2].partition("/")[0]
        monkeypatch.setenv("TORCHINDUCTOR_REDIS_URL", f"redis://:{secret}@127.0.0.1:{port}/0")
        monkeypatch.setenv("TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE", "1")
        window = open_window()
        dialog = opened(qtbot, window)
        assert codes(dialog) >= {"server-password", "url-password"}
        [one] = [x for x in dialog.diagnosis.found if x.finding.code == "server-password"]
        card = dialog.cards.of(one)
        assert card is not None
        assert "?" not in card.title
        assert dialog.cards.of("left") is not None, "what needs the server is named"
        click(qtbot, dialog.copy)
        told = QGuiApplication.clipboard().text()
        assert "not checked: memory of the server of redis://" in told
        shown = [label.text() for label in dialog.findChildren(type(dialog.title))]
        assert secret not in told + "".join(shown)
        dialog.reject()


def test_another_place_in_the_window_is_looked_at_in_the_same_dialog(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window(fixture_cache)
    dialog = opened(qtbot, window)
    assert dialog.diagnosis.asked is not None
    assert str(fixture_cache) in dialog.diagnosis.asked.places
    other = tmp_path / "other"
    other.mkdir()
    window.open_paths([str(other)])
    qtbot.waitUntil(lambda: window.place == str(other), timeout=PATIENCE)
    idle(qtbot, window)
    assert opened(qtbot, window) is dialog
    assert str(other) in dialog.diagnosis.asked.places
    dialog.reject()


def test_every_check_has_a_name() -> None:
    assert set(checkwords.NAMES) == {check.name for check in CHECKS}
    places = ["/a", "redis://localhost:6379/0", "/b"]
    steps = checkwords.steps(places)
    assert steps[0] == (CHECKS[0].name, "/a")
    assert [place for _, place in steps if place] == sorted(
        (place for _, place in steps if place), key=["/a", "/b", places[1]].index
    )


def test_what_would_be_done_need_not_be_waited_for(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, slow_disk: SlowDisk
) -> None:
    spoil(fixture_cache)
    slow_disk.below(fixture_cache)
    window = open_window(fixture_cache)
    dialog = opened(qtbot, window, fixture_cache)
    slow_disk.hang()
    click(qtbot, dialog.all)
    assert dialog.title.text() == "Working out what would be done…"
    assert not dialog.again.isVisible()
    click(qtbot, dialog.cancel)
    assert not dialog.mender.busy
    assert dialog.all.isEnabled()
    slow_disk.answer()
    click(qtbot, dialog.all)
    preview = previewed(qtbot, dialog)
    assert preview.go.isVisible()
    preview.cancel.click()
    dialog.reject()


@pytest.mark.slow
@pytest.mark.torch
def test_with_a_real_environment(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, torch_python: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """What it can do, and what it cannot use. Every day: tests/doctor, and without an environment
    above.
    """
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", torch_python)
    monkeypatch.setenv("PATH", os.path.dirname(torch_python) + ":/usr/bin")
    before = snapshot(fixture_cache)
    window = open_window(fixture_cache)
    dialog = window.flows.doctor.show_doctor()
    qtbot.waitUntil(lambda: dialog.choice_of.combo.count() > 1, timeout=PATIENCE)
    dialog.choice_of.choose(torch_python)
    qtbot.waitUntil(
        lambda: bool(dialog.diagnosis.asked and dialog.diagnosis.asked.facts.get("torch")),
        timeout=PATIENCE,
    )
    qtbot.waitUntil(lambda: not dialog.diagnosis.running, timeout=4 * PATIENCE)
    assert dialog.diagnosis.untried is None
    checks = dialog.diagnosis.result["checks"] if dialog.diagnosis.result else []
    assert {"compiler", "triton", "stale"} <= set(checks)
    assert not {"no-compiler", "compiler-fails"} & codes(dialog)
    [stale] = codes(dialog) & {"all-stale", "some-stale"}
    preview = press(qtbot, dialog, stale)
    assert preview.model.count > 0
    click(qtbot, preview.go)
    over(qtbot, dialog)
    mended = dialog.mended(stale)
    assert mended is not None
    assert mended.gone
    card = dialog.cards.of(mended)
    assert card is not None
    assert card.button is not None
    click(qtbot, card.button)
    over(qtbot, dialog)
    idle(qtbot, window)
    assert stale in codes(dialog)
    assert snapshot(fixture_cache) == before
    dialog.reject()
