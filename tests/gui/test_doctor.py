"""The doctor's page on real folders with real faults: it looks, mends, looks again, and undoes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel
from pytestqt.qtbot import QtBot

from tests.conftest import SlowDisk
from tests.gui.conftest import PATIENCE, OpenWindow, click, idle
from tests.redis_server import serving
from tests.snapshots import snapshot
from torchkeeper.client import diagnosing
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.profiles.profile import Profile
from torchkeeper.doctor.checks import CHECKS
from torchkeeper.gui.dialogs.purging import MendDialog
from torchkeeper.gui.pages.doctor.diagnosis import Mended
from torchkeeper.gui.pages.doctor.page import DoctorPage
from torchkeeper.gui.pages.profiles.page import SettingsPage
from torchkeeper.gui.window import Window

#: What is so of the disk of whoever runs the tests, and no fault that a test has made.
OF_THE_DISK = {"folder-in-container", "folder-in-memory", "folder-on-network", "disk-nearly-full"}
DAYS = 86_400


def asked_for(window: Window) -> DoctorPage:
    """The page, as the action shows it."""
    window.actions_["doctor"].trigger()
    page = window.pages.page
    assert isinstance(page, DoctorPage)
    return page


def opened(qtbot: QtBot, window: Window, place: Path | None = None) -> DoctorPage:
    """The page, once all is looked at; of a place alone, or of all."""
    page = asked_for(window)
    if place is not None:
        page.scope.setCurrentIndex(page.scope.findData(str(place)))
    over(qtbot, page)
    return page


def over(qtbot: QtBot, page: DoctorPage) -> None:
    found = page.diagnosis
    qtbot.waitUntil(
        lambda: not page.mender.busy and (found.result or found.error) is not None,
        timeout=PATIENCE,
    )


def codes(page: DoctorPage) -> set[str]:
    return {one.finding.code for one in page.diagnosis.found} - OF_THE_DISK


def mended_of(page: DoctorPage, code: str) -> Mended | None:
    """What was mended of a code; None where nothing was."""
    found = (one for one in page.mender.mended if one.told.finding.code == code)
    return next(found, None)


def press(qtbot: QtBot, page: DoctorPage, code: str) -> MendDialog:
    """Press the button of a finding; what is about to be done."""
    [one] = [one for one in page.diagnosis.found if one.finding.code == code]
    card = page.cards.of(one)
    assert card is not None
    assert card.button is not None
    click(qtbot, card.button)
    return previewed(qtbot, page)


def previewed(qtbot: QtBot, page: DoctorPage) -> MendDialog:
    qtbot.waitUntil(lambda: page.preview is not None, timeout=PATIENCE)
    assert page.preview is not None
    return page.preview


def spoil(place: Path) -> None:
    """Cut a graph short, and leave a temporary file of a writer that is dead."""
    graph = next(p for p in sorted((place / "fxgraph").rglob("*")) if p.is_file())
    graph.write_bytes(graph.read_bytes()[:100])
    left = place / "cache" / ".1234.140234567890.tmp"
    left.parent.mkdir(exist_ok=True)
    left.write_bytes(bytes(1000))
    before = time.time() - 3 * DAYS
    for path in (graph, left):
        os.utime(path, (before, before))


@pytest.mark.slow
def test_what_is_broken_goes_is_looked_at_again_and_comes_back(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    spoil(fixture_cache)
    before = snapshot(fixture_cache)
    window = open_window(fixture_cache)
    total = window.entries.total
    page = opened(qtbot, window, fixture_cache)
    assert codes(page) >= {"entries-broken", "left-over"}
    assert page.summary.text().split("; ")[0].count("warning") == 1
    assert any(one.text().startswith("Warnings") for one in page.cards.findChildren(QLabel))
    # The keyboard begins at what was found, not at what is done with all of it.
    window.show_page("entries")
    window.actions_["doctor"].trigger()
    assert window.focusWidget() is page.cards.cards[0].button
    preview = press(qtbot, page, "entries-broken")
    assert preview.model.count == 1
    assert "Move what is broken to the trash" in page.mender._plans[0].will
    preview.cancel.click()
    assert snapshot(fixture_cache) == before, "it was only shown"
    assert not page.mender.busy
    [one] = [one for one in page.diagnosis.found if one.finding.code == "entries-broken"]
    of_it = page.cards.of(one)
    assert of_it is not None and window.focusWidget() is of_it.button, "where one was before"
    preview = press(qtbot, page, "entries-broken")
    assert preview.go.isDefault(), "it can be undone"
    click(qtbot, preview.go)
    over(qtbot, page)
    assert "entries-broken" not in codes(page)
    mended = mended_of(page, "entries-broken")
    assert mended is not None
    assert mended.gone
    idle(qtbot, window)
    assert window.entries.total == total - 1, "the window shows it"
    assert window.jobs.jobs[0].kind == "purge"
    card = page.cards.of(mended)
    assert card is not None
    assert card.button is not None
    assert window.focusWidget() is card.button, "Enter would undo it"
    click(qtbot, card.button)
    over(qtbot, page)
    idle(qtbot, window)
    assert "entries-broken" in codes(page)
    assert mended_of(page, "entries-broken") is None
    assert snapshot(fixture_cache) == before


@pytest.mark.slow
def test_at_the_first_visit_the_keyboard_goes_to_what_stops_it_and_then_to_what_was_found(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    spoil(fixture_cache)
    window = open_window(fixture_cache)
    page = asked_for(window)
    qtbot.waitUntil(lambda: window.focusWidget() is page.cancel, timeout=PATIENCE)
    over(qtbot, page)
    qtbot.waitUntil(lambda: page.cards.isAncestorOf(window.focusWidget()), timeout=PATIENCE)
    assert window.focusWidget() is page.first
    # Whoever has it looked at again stays where that is asked for.
    page.again.setFocus()
    click(qtbot, page.again)
    over(qtbot, page)
    assert window.focusWidget() is page.again


@pytest.mark.slow
def test_all_that_can_be_fixed_at_once(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    spoil(fixture_cache)
    ahead = next(fixture_cache.rglob("*.main.so"))
    os.utime(ahead, (time.time() + 5 * DAYS,) * 2)
    window = open_window(fixture_cache)
    page = opened(qtbot, window, fixture_cache)
    wrong = {one.finding.code for one in page.fixable}
    assert wrong >= {"entries-broken", "left-over", "files-from-future"}
    click(qtbot, page.all)
    preview = previewed(qtbot, page)
    assert len(preview.rows) == len(page.fixable)
    assert preview.go.text() == "&Fix"
    click(qtbot, preview.go)
    assert not page.all.isEnabled()
    over(qtbot, page)
    assert {one.told.finding.code for one in page.mender.mended} == wrong
    assert codes(page) & wrong == set()
    assert not page.all.isVisible()
    assert ahead.stat().st_mtime <= time.time()
    assert not list((fixture_cache / "fxgraph").glob(".*.tmp"))
    # The last that went to the trash comes back first.
    [undoable] = [one for one in page.mender.mended if page.mender.can_undo(one)]
    assert undoable is [one for one in page.mender.mended if one.receipt][-1]
    click(qtbot, page.again)
    over(qtbot, page)
    assert page.mender.mended == []


@pytest.mark.slow
def test_what_was_agreed_to_is_done_although_another_page_is_shown(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    spoil(fixture_cache)
    window = open_window(fixture_cache)
    page = opened(qtbot, window, fixture_cache)
    click(qtbot, page.all)
    click(qtbot, previewed(qtbot, page).go)
    window.show_page("entries")
    over(qtbot, page)
    idle(qtbot, window)
    assert [job.kind for job in window.jobs.jobs[:2]] == ["purge", "purge"]
    assert not list((fixture_cache / "fxgraph").glob(".*.tmp"))
    window.pages.back()
    assert [one.gone for one in page.mender.mended] == [True, True]
    assert "has changed since" not in page.when.text(), "it has changed it itself, and looked"


@pytest.mark.slow
def test_undo_brings_back_its_own_purge_and_no_other(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    """Another purge came in between, of the window or the command line."""
    spoil(fixture_cache)
    before = snapshot(fixture_cache)
    window = open_window(fixture_cache)
    page = opened(qtbot, window, fixture_cache)
    click(qtbot, press(qtbot, page, "entries-broken").go)
    over(qtbot, page)
    other = next(p for p in sorted((fixture_cache / "aotautograd").rglob("*")) if p.is_file())
    path = str(other.relative_to(fixture_cache))
    with Engine() as engine:
        purge = {"place": str(fixture_cache), "select": {"items": [["aotautograd", path]]}}
        plan = engine.call("plan_purge", purge)
        engine.call("purge", {"plan": plan["plan"]})
    assert not other.exists()
    mended = mended_of(page, "entries-broken")
    assert mended is not None
    page.mender.undo(mended)
    over(qtbot, page)
    idle(qtbot, window)
    after = snapshot(fixture_cache)
    assert not other.exists(), "that was not this page's"
    gone = {name for name in before.keys() - after.keys() if not name.endswith(".")}
    assert all(name.startswith("aotautograd/") for name in gone)


@pytest.mark.slow
def test_a_healthy_place_says_so_and_what_was_checked(
    qtbot: QtBot, open_window: OpenWindow, tmp_path: Path
) -> None:
    place = tmp_path / "empty"
    place.mkdir()
    window = open_window(place)
    page = opened(qtbot, window, place)
    assert codes(page) == set()
    [button] = [page.copy]
    click(qtbot, button)
    told = QGuiApplication.clipboard().text()
    assert f"Place: {place}\n" in told
    assert "Checked: file system, room on the disk, owner and rights" in told
    checks = page.diagnosis.result["checks"] if page.diagnosis.result else []
    assert "file-system" in checks
    if not page.diagnosis.found and not page.cards.cards:
        assert page.blank.isVisible()
        assert page.blank.title.text().startswith("Nothing is wrong: ")
    # What needs an environment is named as not checked.
    assert page.blank.isVisible() or page.cards.of("left") is not None or codes(page)


@pytest.mark.slow
def test_a_disk_that_hangs_is_left_and_looked_at_again(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, slow_disk: SlowDisk
) -> None:
    spoil(fixture_cache)
    slow_disk.below(fixture_cache)
    window = open_window(fixture_cache)
    slow_disk.hang()
    page = asked_for(window)
    page.scope.setCurrentIndex(page.scope.findData(str(fixture_cache)))
    qtbot.waitUntil(lambda: page.diagnosis.running, timeout=PATIENCE)
    assert page.bar.isVisible()
    assert not page.again.isVisible()
    page.cancel.setFocus()
    click(qtbot, page.cancel)
    assert not page.diagnosis.running
    assert window.focusWidget() is page.again, "it stands where Cancel stood"
    assert page.summary.text() == "Cancelled before all checks were done"
    slow_disk.answer()  # until here it hangs
    click(qtbot, page.again)
    over(qtbot, page)
    assert "entries-broken" in codes(page)


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
        page = opened(qtbot, window)
        assert codes(page) >= {"server-password", "url-password"}
        [one] = [x for x in page.diagnosis.found if x.finding.code == "server-password"]
        card = page.cards.of(one)
        assert card is not None
        assert "?" not in card.title
        assert page.cards.of("left") is not None, "what needs the server is named"
        click(qtbot, page.copy)
        told = QGuiApplication.clipboard().text()
        assert "not checked: memory of the server of redis://" in told
        shown = [label.text() for label in page.findChildren(type(page.summary))]
        assert secret not in told + "".join(shown)


@pytest.mark.slow
def test_what_was_found_stays_and_is_looked_at_again_when_asked(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window(fixture_cache)
    page = opened(qtbot, window)
    asked = page.diagnosis.asked
    assert asked is not None
    assert str(fixture_cache) in asked.places
    assert page.when.text() == "Looked just now"
    page.diagnosis.at -= 240
    window.show_page("entries")
    assert opened(qtbot, window) is page
    assert page.diagnosis.asked is asked, "nobody has asked for another look"
    assert page.when.text() == "Looked 4 min ago"
    other = tmp_path / "other"
    other.mkdir()
    window.open_paths([str(other)])
    qtbot.waitUntil(lambda: window.place == str(other), timeout=PATIENCE)
    idle(qtbot, window)
    opened(qtbot, window)
    assert page.diagnosis.asked is asked
    assert "Something has changed since" in page.when.text()
    window.actions_["refresh"].trigger()
    over(qtbot, page)
    assert str(other) in page.diagnosis.asked.places
    assert page.when.text() == "Looked just now"
    # What a job changes since is said, and looked at again.
    page.scope.setCurrentIndex(page.scope.findData(str(fixture_cache)))
    over(qtbot, page)
    before = page.diagnosis.at
    window.operations.changed.emit(str(fixture_cache))
    assert "Something has changed since" in page.when.text()
    qtbot.waitUntil(lambda: page.diagnosis.at > before, timeout=PATIENCE)
    assert page.when.text() == "Looked just now"


@pytest.mark.slow
def test_a_finding_goes_by_itself_once_it_is_not_so_any_more(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    spoil(fixture_cache)
    window = open_window(fixture_cache)
    page = opened(qtbot, window)
    code = "entries-broken"
    one = next(one for one in page.diagnosis.found if one.finding.code == code)
    card = page.cards.of(one)
    assert card is not None
    assert card.seen.text() == "Seen just now"
    page.diagnosis.at -= 240
    page.diagnosis._seen = dict.fromkeys(page.diagnosis._seen, page.diagnosis.at)
    page._say_when()
    assert card.seen.text() == "Seen 4 min ago"
    # Another program mends it, and the place that the window shows is listed again.
    with Engine() as engine:
        select = {"broken": True}
        plan = engine.call("plan_purge", {"place": str(fixture_cache), "select": select})
        assert plan["entries"]
        engine.call("purge", {"place": str(fixture_cache), "plan": plan["plan"]})
    window.listing.refresh()
    qtbot.waitUntil(
        lambda: code not in [one.finding.code for one in page.diagnosis.found], timeout=PATIENCE
    )
    assert page.when.text().startswith("Looked just now")


@pytest.mark.slow
def test_a_look_goes_on_while_another_page_is_shown_and_leads_to_its_place(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    spoil(fixture_cache)
    other = tmp_path / "other"
    other.mkdir()
    window = open_window(other)
    window.open_paths([str(fixture_cache)])
    qtbot.waitUntil(lambda: window.place == str(fixture_cache), timeout=PATIENCE)
    page = asked_for(window)
    page.scope.setCurrentIndex(page.scope.findData(str(fixture_cache)))
    assert page.diagnosis.running
    window.places_pane.choose(str(other))
    window.show_page("entries")
    over(qtbot, page)
    window.pages.back()
    [one] = [one for one in page.diagnosis.found if one.finding.code == "entries-broken"]
    card = page.cards.of(one)
    assert card is not None
    assert card.shows is not None
    click(qtbot, card.shows)
    qtbot.waitUntil(lambda: window.pages.current == "entries", timeout=PATIENCE)
    assert window.place == str(fixture_cache)


def test_every_check_has_a_name() -> None:
    assert set(diagnosing.CHECKS_CALLED) == {check.name for check in CHECKS}
    places = ["/a", "redis://localhost:6379/0", "/b"]
    steps = diagnosing.steps(places)
    assert steps[0] == (CHECKS[0].name, "/a")
    assert [place for _, place in steps if place] == sorted(
        (place for _, place in steps if place), key=["/a", "/b", places[1]].index
    )


@pytest.mark.slow
def test_what_would_be_done_need_not_be_waited_for(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, slow_disk: SlowDisk
) -> None:
    spoil(fixture_cache)
    slow_disk.below(fixture_cache)
    window = open_window(fixture_cache)
    page = opened(qtbot, window, fixture_cache)
    slow_disk.hang()
    click(qtbot, page.all)
    assert page.summary.text() == "Preparing the fixes…"
    assert not page.again.isVisible()
    click(qtbot, page.cancel)
    assert not page.mender.busy
    assert page.all.isEnabled()
    slow_disk.answer()
    click(qtbot, page.all)
    preview = previewed(qtbot, page)
    assert preview.go.isVisible()
    preview.cancel.click()


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
    page = asked_for(window)
    qtbot.waitUntil(lambda: len(window.here.environments.every) > 0, timeout=PATIENCE)
    window.here.environments.choose(torch_python)
    qtbot.waitUntil(
        lambda: bool(page.diagnosis.asked and page.diagnosis.asked.facts.get("torch")),
        timeout=PATIENCE,
    )
    qtbot.waitUntil(lambda: not page.diagnosis.running, timeout=4 * PATIENCE)
    assert page.diagnosis.untried is None
    checks = page.diagnosis.result["checks"] if page.diagnosis.result else []
    assert {"compiler", "triton", "stale"} <= set(checks)
    assert not {"no-compiler", "compiler-fails"} & codes(page)
    [stale] = codes(page) & {"all-stale", "some-stale"}
    preview = press(qtbot, page, stale)
    assert preview.model.count > 0
    click(qtbot, preview.go)
    over(qtbot, page)
    mended = mended_of(page, stale)
    assert mended is not None
    assert mended.gone
    card = page.cards.of(mended)
    assert card is not None
    assert card.button is not None
    click(qtbot, card.button)
    over(qtbot, page)
    idle(qtbot, window)
    assert stale in codes(page)
    assert snapshot(fixture_cache) == before


@pytest.mark.slow
def test_a_finding_of_a_setting_leads_to_it(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE", "1")
    window = open_window()
    page = opened(qtbot, window)
    [one] = [x for x in page.diagnosis.found if x.finding.code == "remote-autograd-alone"]
    card = page.cards.of(one)
    assert card is not None
    assert card.sets is not None
    click(qtbot, card.sets)
    settings = window.pages.page
    assert isinstance(settings, SettingsPage)
    qtbot.waitUntil(lambda: settings.profiles.read, timeout=PATIENCE)
    # Without an environment there is nothing to ask: with a profile, its field is gone to.
    settings.profiles.add(Profile("one"))
    window.pages.back()
    click(qtbot, card.sets)
    field = settings.profiles.form.field("TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE")
    assert field is not None
    qtbot.waitUntil(lambda: QApplication.focusWidget() is field.editor.focusProxy())
