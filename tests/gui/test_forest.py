"""People's own files in a cache: the window leaves them, unless their rows are chosen and asked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.forest import grow_old, plant
from tests.gui import test_cleaning as cleaning
from tests.gui import test_doctor as doctor
from tests.gui.conftest import PATIENCE, OpenWindow, click, idle, settle
from tests.snapshots import snapshot
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.window import Window


def purging(qtbot: QtBot, window: Window, action: str) -> PurgeDialog:
    window.actions_[action].trigger()
    dialog = next(x for x in window.findChildren(PurgeDialog) if x.isVisible())
    qtbot.waitUntil(lambda: dialog.plan is not None, timeout=PATIENCE)
    return dialog


def test_all_that_is_shown_is_nothing_of_a_users_own(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    mine = set(plant(fixture_cache, 3, seed=3))
    grow_old(fixture_cache)
    before = snapshot(fixture_cache)
    window = open_window(fixture_cache)
    window.actions_["apart"].trigger()
    settle(qtbot)
    dialog = purging(qtbot, window, "purge-shown")
    assert {e.kind for e in dialog.model.shown()} == {
        "fxgraph", "aotautograd", "code", "pgo", "lock"
    }  # fmt: skip
    assert dialog.strange.isVisible() and not dialog.strange.also.isVisible()
    assert f"{len(mine)} unknown files stay" in dialog.strange.what.text()
    click(qtbot, dialog.go)
    idle(qtbot, window)
    after = snapshot(fixture_cache)
    assert {path: after[path] for path in mine} == {path: before[path] for path in mine}
    assert not (fixture_cache / "aotautograd").exists() or mine


def test_chosen_rows_of_a_users_own_are_asked_for_by_themselves(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    (fixture_cache / "notes.md").write_text("mine\n")
    window = open_window(fixture_cache)
    window.actions_["apart"].trigger()
    settle(qtbot)
    window.table.select({("unknown", "notes.md")})
    settle(qtbot)
    dialog = purging(qtbot, window, "purge")
    assert dialog.title.text() == "All of these are unknown files"
    assert not dialog.go.isEnabled()
    assert dialog.strange.also.isVisible() and not dialog.strange.also.isChecked()
    dialog.strange.also.setChecked(True)
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    assert "1 unknown file goes, too" in dialog.strange.what.text()
    assert (fixture_cache / "notes.md").exists()
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert not (fixture_cache / "notes.md").exists()


def test_a_folder_of_projects_is_no_cache(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    plant(fixture_cache, 12, seed=4)
    (fixture_cache / "video.mp4").write_bytes(bytes(8 << 20))
    grow_old(fixture_cache)
    before = snapshot(fixture_cache)
    window = open_window(fixture_cache)
    window.actions_["purge-shown"].trigger()
    dialog = next(x for x in window.findChildren(PurgeDialog) if x.isVisible())
    qtbot.waitUntil(lambda: "is not a cache" in dialog.title.text(), timeout=PATIENCE)
    assert not dialog.go.isEnabled()
    dialog.cancel.click()
    idle(qtbot, window)
    assert snapshot(fixture_cache) == before


@pytest.mark.slow
@pytest.mark.parametrize(("projects", "copies"), [(30, 4), (2_000, 150)])
def test_nothing_of_a_project_is_named_or_goes(
    qtbot: QtBot,
    open_window: OpenWindow,
    fixture_cache: Path,
    clean_291: Path,
    projects: int,
    copies: int,
) -> None:
    for number in range(copies):  # so that the cache is the most of the folder
        shutil.copytree(clean_291, fixture_cache / f"model{number}" / "inductor_cache")
    mine = set(plant(fixture_cache, projects, seed=5))
    assert len(mine) > 10 * projects
    grow_old(fixture_cache)
    before = snapshot(fixture_cache)

    def whole() -> None:
        now = snapshot(fixture_cache)
        changed = sorted(path for path in mine if now.get(path) != before[path])
        assert changed[:5] == []

    window = open_window(fixture_cache)
    assert {entry.kind for entry in window.entries.shown()} <= {
        "fxgraph", "aotautograd", "code", "pgo",
    }  # fmt: skip
    page = doctor.opened(qtbot, window, fixture_cache)
    said = " ".join(f"{one.finding.params}" for one in page.diagnosis.found)
    named = sorted(path for path in mine if "/" in path and path in said)
    assert named[:5] == []
    if page.fixable:
        click(qtbot, page.all)
        click(qtbot, doctor.previewed(qtbot, page).go)
        doctor.over(qtbot, page)
        whole()
    window.show_page("entries")
    dialog = cleaning.opened(qtbot, window)
    for reason in ("unused", "budget"):
        cleaning.tick(qtbot, dialog, reason)
    assert "Nothing" not in cleaning.counts(dialog)["stale"]
    shown = cleaning.preview(qtbot, dialog, "stale", fixture_cache)
    assert [entry.key for entry in shown.model.shown() if entry.key in mine][:5] == []
    assert shown.model.total > 10 * copies
    click(qtbot, shown.cancel)
    cleaning.told(qtbot, dialog)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    whole()
    # What is left is mostly theirs: now nothing goes any more.
    window.actions_["purge-shown"].trigger()
    last = next(x for x in window.findChildren(PurgeDialog) if x.isVisible())
    qtbot.waitUntil(lambda: "is not a cache" in last.title.text(), timeout=PATIENCE)
    last.cancel.click()
    window.actions_["empty-trash"].trigger()
    qtbot.waitUntil(
        lambda: any(x.isVisible() for x in window.findChildren(ConfirmDialog)), timeout=PATIENCE
    )
    [sure] = [x for x in window.findChildren(ConfirmDialog) if x.isVisible()]
    click(qtbot, sure.go)
    idle(qtbot, window)
    whole()
