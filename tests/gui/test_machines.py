"""Places on another machine in the window: a real sshd, a real ssh, and engines there."""

from __future__ import annotations

import os
import select
import shutil
import socket
import subprocess
import sys
import time
import tomllib
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QFileDialog, QPushButton
from pytestqt.qtbot import QtBot

from tests.cli.test_carrying import moved
from tests.cli.test_warm import processes_under
from tests.client.test_keys import make
from tests.gui.conftest import PATIENCE, OpenWindow, click, idle, settle, type_in
from tests.gui.test_copying import aim, ask, hold_over
from tests.gui.test_copying import table as copied_table
from tests.gui.test_dragging import drag, mouse, offers, scratch
from tests.gui.test_flows import open_dialog
from tests.gui.test_importing import table
from tests.gui.test_inspector import GRAPH, choose, first
from tests.gui.test_programs import PROGRAM
from tests.gui.test_programs import WAITING as WAITS
from tests.gui.test_runs import cells
from tests.gui.test_signing import begin, phrase, signature
from tests.pace import LONG
from tests.redis_server import dump, serving
from tests.snapshots import snapshot
from tests.ssh.conftest import Machine, config, forks, keygen, sshd, there, tk
from tests.ssh.test_breaking import cut
from tests.ssh.test_mux import lying
from tests.ssh.test_running import NOTES
from tests.stores.bundles.test_bundle import make as make_bundle
from torchkeeper.client import programs, secrets, terminal
from torchkeeper.client.engines import interpreters, line, probes
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.engines.questions import Asking, Question
from torchkeeper.client.kept import history, runs
from torchkeeper.client.kept.history import Past
from torchkeeper.client.recipes import files, sending
from torchkeeper.engine import protocol
from torchkeeper.gui import theme
from torchkeeper.gui.activity.shown import mark, words
from torchkeeper.gui.background import ways
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.dialogs.cleaning import CleanDialog
from torchkeeper.gui.dialogs.copying import CopyDialog
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.dialogs.environments import PathDialog
from torchkeeper.gui.dialogs.machine import QuestionDialog
from torchkeeper.gui.dialogs.preparing import PrepareDialog
from torchkeeper.gui.dialogs.programs import ProgramDialog
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.dialogs.warming import WarmDialog
from torchkeeper.gui.jobs.model import Job, Selection, State
from torchkeeper.gui.pages.comparing.page import ComparePage
from torchkeeper.gui.pages.doctor.page import DoctorPage
from torchkeeper.gui.pages.overview.page import OverviewPage
from torchkeeper.gui.pages.runs import RunsPage
from torchkeeper.gui.places.model import PlacesModel, Way
from torchkeeper.gui.start import started
from torchkeeper.gui.table.rows import VERDICT, Row
from torchkeeper.gui.window import Window

__all__ = ["forks", "lying", "sshd", "there", "tk"]


def shown(qtbot: QtBot, window: Window, place: str) -> None:
    """Wait until the window has read a place, or knows why not."""
    qtbot.waitUntil(lambda: window.place == place and not window.listing.loading)
    settle(qtbot)


def opened(qtbot: QtBot, window: Window, there: Machine, folder: Path) -> str:
    """A place there, once the window shows it."""
    place = there.place(folder)
    window.open_paths([place])
    shown(qtbot, window, place)
    return place


def failed(window: Window) -> str:
    """Why the place that is shown could not be read: the code."""
    return window.listing.error.code if window.listing.error else ""


def barred(window: Window) -> str:
    """What the error bar says: the code."""
    return window.error_bar.error.code if window.error_bar.error else ""


def way(window: Window, place: str) -> Way:
    row = window.places.row_of(place)
    found = window.places.index(row).data(PlacesModel.WayRole)
    assert isinstance(found, Way)
    return found


def question(qtbot: QtBot, window: Window) -> QuestionDialog:
    """The question that ssh asks, once it does."""

    def asked() -> list[QuestionDialog]:
        return [one for one in window.findChildren(QuestionDialog) if one.isVisible()]

    qtbot.waitUntil(lambda: bool(asked()))
    return asked()[0]


def test_a_place_there_is_listed(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    here = window.entries.total
    place = there.place(fixture_cache)
    told: list[str] = []
    window.engines.reached.connect(lambda *_: told.append(way(window, place).short))
    window.open_paths([place])
    shown(qtbot, window, place)
    assert failed(window) == ""
    assert told == ["connecting…", ""]
    assert window.entries.total == here > 0
    assert way(window, place) == Way("", "Connected to there", "text")
    row = window.places.place_at(window.places.index(window.places.row_of(place)))
    assert row is not None
    assert (row.title, row.about) == (fixture_cache.name, f"there · {fixture_cache.parent}")
    assert not row.server and row.added
    # As a folder here: it is filtered, and an entry is inspected by the engine there.
    window.head.box.setText("kind:fxgraph")
    settle(qtbot)
    assert window.entries.count == 7
    window.head.clear_filter()
    settle(qtbot)
    window.actions_["inspector"].trigger()
    inspector = choose(qtbot, window, first(window, "aotautograd", "make_cache.forward"))
    assert not inspector.notice.isVisible()
    qtbot.waitUntil(lambda: inspector.sharing.found is not None)
    inspector.tabs.setCurrentIndex(GRAPH)
    qtbot.waitUntil(lambda: "torch.ops.aten" in inspector.graph.edit.toPlainText())
    assert there.sessions() == 1, "all engines there share a connection"


def test_what_is_there_is_used_as_what_is_here(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window()
    opened(qtbot, window, there, fixture_cache)
    window.update_now()
    for ident in ("copy-to", "run-program", "purge-shown"):
        assert window.actions_[ident].isEnabled(), ident
    # No verdict of this machine's environments is said of what is there.
    assert window.here.verdicts.environment is None


@pytest.mark.parametrize("wrong", ["ssh://-oProxyCommand=x/y", "ssh://there:x/y"])
def test_a_wrong_name_is_no_place(qtbot: QtBot, open_window: OpenWindow, wrong: str) -> None:
    window = open_window()
    data = QMimeData()
    data.setText(wrong)
    QGuiApplication.clipboard().setMimeData(data)
    window.actions_["paste"].trigger()
    qtbot.waitUntil(lambda: window.error_bar.error is not None)
    assert barred(window) == "ssh-address-wrong"
    assert window.places.row_of(wrong) < 0


def test_a_machine_that_is_not_reached_says_so_and_holds_up_nothing(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path
) -> None:
    config(there, Port=1)
    window = open_window(fixture_cache)
    place = opened(qtbot, window, there, fixture_cache)
    assert failed(window) == "ssh-refused"
    assert way(window, place).short == "no connection" and way(window, place).role == "warning"
    assert window.empty.isVisible()
    # That stands beside the scroll bar, not below it.
    bar, places = window.sidebar.area.verticalScrollBar(), window.places_pane.list
    window.resize(window.width(), 380)
    qtbot.waitUntil(bar.isVisible)
    settle(qtbot)
    item = places.visualRect(window.places.index(window.places.row_of(place)))
    assert item.width() <= window.sidebar.area.viewport().width()
    config(there)
    window.actions_["refresh"].trigger()
    shown(qtbot, window, place)
    assert failed(window) == "" and window.entries.total > 0
    window.open_paths([str(fixture_cache)])
    shown(qtbot, window, str(fixture_cache))
    assert window.entries.total > 0


def test_a_way_that_breaks_is_told_and_found_again(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window()
    place = opened(qtbot, window, there, fixture_cache)
    total = window.entries.total
    overview = window.show_page("overview")
    assert isinstance(overview, OverviewPage)
    qtbot.waitUntil(lambda: "1 place on there is not counted" in overview.said.text())
    window.show_page("entries")
    line.to("ssh://there")._process.kill()
    qtbot.waitUntil(lambda: window.error_bar.error is not None)
    assert barred(window) == "ssh-lost"
    assert way(window, place).short == "no connection"
    # What was read stays.
    assert window.entries.total == total
    again = window.error_bar.remedies.buttons[0]
    assert again.text() == "Connect now"
    click(qtbot, again)
    qtbot.waitUntil(lambda: way(window, place).short == "" and not window.listing.loading)
    settle(qtbot)
    assert barred(window) == "" and window.entries.total == total
    assert there.sessions() == 2


def test_a_way_that_breaks_is_sought_again_by_itself(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    place = opened(qtbot, window, there, fixture_cache)
    total = window.entries.total
    window.update_now()
    told: list[object] = []
    window.engines.reached.connect(lambda _, state: told.append(state))
    config(there, Port=1)
    line.to("ssh://there")._process.kill()
    # The machine lets nobody in for a while; what was read stays, with its time.
    qtbot.waitUntil(lambda: window.listing.failures >= 3)
    assert failed(window) == "" and window.entries.total == total
    assert window.error_bar.error is not None and "as of " in window.error_bar.error.remedy
    qtbot.waitUntil(lambda: "no connection" in window.totals.text())
    assert way(window, place).short in ("no connection", "connecting…")
    assert all(getattr(state, "code", "") != "ssh-denied" for state in told)
    config(there)
    qtbot.waitUntil(lambda: window.listing.broken is None)
    settle(qtbot)
    assert barred(window) == "" and window.entries.total == total
    assert way(window, place).short == "" and "no connection" not in window.totals.text()


@pytest.mark.slow
def test_a_way_that_nobody_asked_for_asks_for_nothing(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window()
    place = opened(qtbot, window, there, fixture_cache)
    config(there, UserKnownHostsFile=tmp_path / "known")
    line.to("ssh://there")._process.kill()
    broken = "ssh-key-unknown"
    qtbot.waitUntil(lambda: bool(window.listing.broken and window.listing.broken.code == broken))
    assert not window.listing.can_poll, "it is not tried again by itself"
    assert not window.findChildren(QuestionDialog)
    window.actions_["refresh"].trigger()
    click(qtbot, question(qtbot, window).go)
    shown(qtbot, window, place)
    assert window.listing.broken is None and window.entries.total > 0


def test_a_new_key_is_shown_and_asked_about(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    known = tmp_path / "known"
    config(there, UserKnownHostsFile=known)
    window = open_window()
    place = there.place(fixture_cache)
    window.open_paths([place])
    dialog = question(qtbot, window)
    assert dialog.words.text().endswith("ED25519 key fingerprint is")
    listed = subprocess.check_output(["ssh-keygen", "-lf", there.folder / "host.pub"], text=True)
    mark = dialog.fingerprint
    assert mark.text() == listed.split()[1].strip() and mark.width() >= mark.sizeHint().width()
    assert mark.height() < 2 * mark.fontMetrics().height(), "it is on one line"
    assert mark.font().family() == theme.monospace().family()
    mark.setFocus()
    qtbot.keyClick(mark, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)  # type: ignore[no-untyped-call]
    assert mark.selectedText() == mark.text()
    dialog.cancel.setFocus()
    assert "there" in dialog.what.text()
    # Whoever goes on typing trusts nobody.
    qtbot.keyClick(dialog.focusWidget() or dialog, Qt.Key.Key_Return)  # type: ignore[no-untyped-call]
    shown(qtbot, window, place)
    assert failed(window) == "ssh-key-unknown"
    assert not known.exists()
    window.actions_["refresh"].trigger()
    click(qtbot, question(qtbot, window).go)
    shown(qtbot, window, place)
    assert failed(window) == "" and window.entries.total > 0
    assert known.exists()


def test_a_passphrase_is_asked_for_and_goes_to_ssh(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    shutil.copy(there.folder / "user", key)
    key.chmod(0o600)
    change = ["ssh-keygen", "-q", "-p", "-P", "", "-N", "apple pie", "-f", str(key)]
    subprocess.run(change, check=True)
    config(there, IdentityFile=key)
    window = open_window()
    place = there.place(fixture_cache)
    window.open_paths([place])
    click(qtbot, question(qtbot, window).cancel)
    shown(qtbot, window, place)
    assert failed(window) == "ssh-denied" and window.listing.error is not None
    assert "Connect now" in window.listing.error.remedy
    note = window.more.environments.note
    qtbot.waitUntil(lambda: note.text() == "They are known once there is connected.")
    assert window.here.chooser.text() == "No connection"
    window.actions_["refresh"].trigger()
    first = question(qtbot, window)
    assert first.text is not None and "passphrase" in first.words.text()
    type_in(qtbot, first.text, "wrong")
    click(qtbot, first.go)
    assert first.wrong.isHidden()
    qtbot.waitUntil(lambda: question(qtbot, window) is not first)
    dialog = question(qtbot, window)
    assert dialog.text is not None and "was not accepted" in dialog.wrong.text()
    type_in(qtbot, dialog.text, "apple pie")
    click(qtbot, dialog.go)
    shown(qtbot, window, place)
    assert failed(window) == "" and window.entries.total > 0
    assert not [one for one in window.findChildren(QuestionDialog) if one.isVisible()]
    # By itself it does not come back: that is said, once the machine answers.
    config(there, IdentityFile=key, Port=1)
    line.to("ssh://there")._process.kill()
    qtbot.waitUntil(lambda: window.listing.failures >= 2)
    assert "by itself" in window.error_bar.remedy.text()
    config(there, IdentityFile=key)
    qtbot.waitUntil(lambda: barred(window) == "ssh-denied")
    assert window.error_bar.what.text() == "there answers again, and ssh wants an answer of yours."
    assert "Connect now" in window.error_bar.remedy.text()
    click(qtbot, window.error_bar.remedies.buttons[0])
    again = question(qtbot, window)
    assert again.text is not None
    type_in(qtbot, again.text, "apple pie")
    click(qtbot, again.go)
    qtbot.waitUntil(lambda: window.listing.broken is None and not window.listing.loading)
    assert barred(window) == "" and way(window, place).short == ""


def test_a_changed_key_ends_with_what_ssh_says(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    known = tmp_path / "known"
    known.write_text(f"[127.0.0.1]:{there.port} {keygen(tmp_path / 'other')}")
    config(there, UserKnownHostsFile=known)
    window = open_window()
    opened(qtbot, window, there, fixture_cache)
    error = window.listing.error
    assert error is not None and error.code == "ssh-key-changed"
    assert "IDENTIFICATION HAS CHANGED" in error.why


def test_undone_when_the_window_closes_while_ssh_asks(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    config(there, UserKnownHostsFile=tmp_path / "known")
    window = open_window()
    window.open_paths([there.place(fixture_cache)])
    question(qtbot, window)
    window.close_surely()
    QApplication.processEvents()


def test_a_purge_there_is_undone(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window()
    opened(qtbot, window, there, fixture_cache)
    total = window.entries.total
    window.head.box.setText("kind:fxgraph")
    settle(qtbot)
    window.actions_["purge-shown"].trigger()
    [dialog] = window.findChildren(PurgeDialog)
    qtbot.waitUntil(dialog.go.isEnabled)
    assert " files in ssh://there/" in dialog.text.text()
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert not list(fixture_cache.glob("fxgraph/*/*/*"))
    assert window.listing.trash is not None and window.listing.trash["entries"] == 7
    window.actions_["undo"].trigger()
    idle(qtbot, window)
    qtbot.waitUntil(lambda: window.entries.total == total)
    assert len(list(fixture_cache.glob("fxgraph/*/*/*"))) > 0


def test_an_export_comes_here_and_an_import_goes_there(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window()
    place = opened(qtbot, window, there, fixture_cache)
    chosen = Selection.of(window.entries.shown())
    bundle = tmp_path / "from-there.torchcache"
    job = window.operations.export(place, chosen, str(bundle), secrets="allow")
    qtbot.waitUntil(lambda: not job.active)
    assert job.error is None and job.state is State.DONE, job.error
    assert zipfile.is_zipfile(bundle) and job.fruit == str(bundle)
    into = there.place("new")
    (there.home / "new").mkdir()
    window.open_paths([into])
    shown(qtbot, window, into)
    assert window.entries.total == 0 and window.empty.isVisible()
    dialog = window.flows.open_import([str(bundle)])
    qtbot.waitUntil(lambda: dialog.ready and not dialog.environment.waiting)
    settle(qtbot)
    qtbot.waitUntil(dialog.go.isEnabled)
    assert dialog.target.path == into
    click(qtbot, dialog.go)
    qtbot.waitUntil(lambda: len(window.jobs.jobs) == 2 and not window.jobs.active)
    assert window.jobs.jobs[0].error is None
    qtbot.waitUntil(lambda: window.entries.total > 0)
    assert list((there.home / "new").glob("fxgraph/*/*/*"))


def sent_there(there: Machine) -> list[Path]:
    """The bundles among the temporary files there."""
    return [one for one in (there.folder / "tmp").rglob("*.torchcache") if one.is_file()]


def test_an_import_there_says_what_is_new_as_one_here_does(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    bundle, here = tmp_path / "b.torchcache", tmp_path / "here"
    make_bundle(fixture_cache, bundle)
    here.mkdir()
    some = shutil.copytree(fixture_cache, there.home / "some")
    for path in [p for p in (some / "aotautograd").rglob("*") if p.is_file()]:
        path.unlink()
    (there.home / "new").mkdir()
    window = open_window(here)
    place = opened(qtbot, window, there, some)
    window.open_paths([there.place("new")])
    shown(qtbot, window, there.place("new"))
    dialog = window.flows.open_import([str(bundle)], place)

    def known(into: str) -> str:
        dialog.target.choose(into)
        qtbot.waitUntil(lambda: dialog.known or dialog.look.isVisible())
        if dialog.look.isVisible():
            assert dialog.go.isEnabled() and not sent_there(there), "nobody has said so"
            assert dialog.news.text() == "What of it is new on there is known once it is there."
            click(qtbot, dialog.look)
        qtbot.waitUntil(lambda: dialog.known)
        assert not dialog.look.isVisible()
        settle(qtbot)
        return dialog.news.text()

    assert known(place) == "4 new (" + dialog.news.text()[7:]
    assert " there already" in dialog.news.text() and "are free there" in dialog.room.text()
    assert table(dialog)["FX graph"][2:] == ["–", "7", "–"]
    assert table(dialog)["AOTAutograd"][2:] == ["4", "–", "–"]
    assert dialog.go.text() == "I&mport 4 entries"
    assert len(sent_there(there)) == 1
    assert dialog.environment._environments.machine == "ssh://there"
    # Each target has environments of its machine; what was sent goes with what wanted it.
    assert known(str(here)).startswith("19 new (")
    assert dialog.environment._environments.machine == ""
    qtbot.waitUntil(lambda: not sent_there(there))
    assert known(there.place("new")).startswith("19 new (")
    dialog.reject()
    qtbot.waitUntil(lambda: not sent_there(there))
    assert not list((there.home / "new").iterdir())
    dialog = window.flows.open_import([str(bundle)], place)
    assert known(place).startswith("4 new (")
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert window.jobs.jobs[0].result["entries"] == 4, list(window.jobs.jobs[0].log)
    qtbot.waitUntil(lambda: not sent_there(there))
    again = window.operations.repeat(window.jobs.jobs[0])
    if again is not None:
        qtbot.waitUntil(lambda: not again.active)
        assert again.error is None and again.result["exists"] == 44, again.result
    # Without that it is sent by the job alone.
    dialog = window.flows.open_import([str(bundle)])
    assert dialog.target.path == there.place("new")
    qtbot.waitUntil(dialog.go.isEnabled)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert window.jobs.jobs[0].result["entries"] == 19
    assert not sent_there(there)


@pytest.mark.slow
def test_an_import_there_is_compared_again_where_that_has_failed(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "b.torchcache"
    make_bundle(fixture_cache, bundle)
    (there.home / "new").mkdir()
    window = open_window()
    opened(qtbot, window, there, Path("new"))
    config(there, Port=1)
    cut()
    dialog = window.flows.open_import([str(bundle)])
    qtbot.waitUntil(dialog.look.isVisible)
    click(qtbot, dialog.look)
    qtbot.waitUntil(lambda: dialog.known)
    assert dialog.compared is None and not dialog.go.isEnabled()
    assert dialog.go.toolTip() == "ssh://there takes no connection."
    config(there)
    click(qtbot, dialog.look)
    qtbot.waitUntil(lambda: dialog.compared is not None)
    assert dialog.go.text() == "I&mport 19 entries"
    dialog.reject()
    idle(qtbot, window)


@pytest.mark.slow
@pytest.mark.torch
def test_an_import_there_names_objects_for_the_environment_there(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, filled: Path, warm_cache: Path,
    tmp_path: Path, torch_python: str,
) -> None:  # fmt: skip
    builders, count = moved(warm_cache, probes.probe(torch_python)["native"])
    bundle = tmp_path / "b.torchcache"
    with Engine() as engine:
        params = {"place": str(warm_cache), "output": str(bundle), "builders": builders}
        engine.call(protocol.EXPORT, params)
    for name in ("one", "two"):
        (there.home / name).mkdir()
    window = open_window()
    opened(qtbot, window, there, Path("one"))
    qtbot.waitUntil(lambda: window.here.environments.found)
    add(qtbot, window, torch_python)
    qtbot.waitUntil(lambda: bool(window.here.environments.chosen))
    wanted = {p: a[1] for p, a in snapshot(filled, times=False).items() if a[1]}
    for name in ("one", "two"):
        dialog = window.flows.open_import([str(bundle)])
        dialog.target.choose(there.place(name))
        qtbot.waitUntil(dialog.go.isEnabled)
        if name == "one":  # the other is sent and named by the job
            # What would be used there is judged here.
            qtbot.waitUntil(lambda dialog=dialog: "usable" in dialog.verdicts.text())  # type: ignore[misc]
            assert not sent_there(there)
            click(qtbot, dialog.look)
            qtbot.waitUntil(lambda dialog=dialog: dialog.known)  # type: ignore[misc]
            assert f"{count} objects renamed for the environment" in dialog.news.text()
            assert dialog.environment.python == f"ssh://there{torch_python}"
        click(qtbot, dialog.go)
        idle(qtbot, window)
        job = window.jobs.jobs[0]
        assert job.error is None and job.result["renamed"] == count, list(job.log)
        placed = {p: a[1] for p, a in snapshot(there.home / name, times=False).items() if a[1]}
        assert placed == {p: c for p, c in wanted.items() if not p.endswith(".lock")}


def test_what_comes_from_there_is_signed_here(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    keys, out = Path(os.environ["HOME"]) / ".ssh", tmp_path / "out"
    keys.mkdir(mode=0o700)
    key = make(keys / "id_ed25519", phrase="a passphrase")
    out.mkdir()
    window = open_window()
    opened(qtbot, window, there, fixture_cache)
    begin(qtbot, window, out / "b.torchcache", key)
    phrase(qtbot, window, "a passphrase")
    idle(qtbot, window)
    job = window.jobs.jobs[0]
    assert job.state is State.DONE, list(job.log)
    assert job.result["signature"]["fingerprint"] == signature(out / "b.torchcache").fingerprint
    assert job.result["size"] == (out / "b.torchcache").stat().st_size
    assert job.fruit == str(out / "b.torchcache")
    # Cancelled at the passphrase, it never had its name.
    begin(qtbot, window, out / "c.torchcache", None)
    phrase(qtbot, window, "")
    click(qtbot, window.following.drawer.cancel_button)
    idle(qtbot, window)
    assert os.listdir(out) == ["b.torchcache"]
    shutil.copy(out / "b.torchcache", there.home / "b.torchcache")
    opened(qtbot, window, there, Path("b.torchcache"))
    window.update_now()
    assert not window.actions_["sign"].isEnabled()
    assert "what comes here" in window.actions_["sign"].toolTip()


@pytest.mark.slow
def test_rows_there_are_dragged_out_as_a_file_here(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("tempfile.tempdir", os.environ["HOME"])
    taken = offers(monkeypatch, Qt.DropAction.CopyAction)
    window = open_window()
    opened(qtbot, window, there, fixture_cache)
    window.head.box.setText("kind:fxgraph")
    settle(qtbot)
    window.table.selectAll()
    settle(qtbot)
    at = drag(window)
    mouse(window, QEvent.Type.MouseButtonRelease, at, held=False)
    qtbot.waitUntil(lambda: not window.dragging.preparing)
    idle(qtbot, window)
    assert not taken and not scratch()
    drag(window)
    qtbot.waitUntil(lambda: bool(taken), timeout=PATIENCE)
    [(path, data)] = taken
    assert path.parent.parent == Path(os.environ["HOME"]) and path.stat().st_size == len(data)
    with Engine() as engine:
        [kind] = engine.call(protocol.DU, {"place": str(path)})["kinds"]
    assert (kind["kind"], kind["entries"]) == ("fxgraph", 7)
    assert barred(window) == ""
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    assert not scratch() and not list((there.folder / "tmp").rglob("*.torchcache"))


@pytest.mark.slow
def test_a_copy_goes_between_machines(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    """On one, to here and to another, by way of this one and directly; without its ssh it fails."""
    text = there.config.read_text()
    there.config.write_text(text + text.replace("Host there", "Host other"))
    window = open_window()
    opened(qtbot, window, there, fixture_cache)
    window.head.box.setText("kind:fxgraph")
    settle(qtbot)

    def copy(into: str, direct: bool = False) -> tuple[str, Job]:
        window.actions_["copy-to"].trigger()
        dialog = open_dialog(qtbot, window, CopyDialog)
        dialog.needed.setChecked(False)
        dialog.target.combo.setEditText(into)
        qtbot.waitUntil(lambda: dialog.known and dialog.go.isEnabled())
        assert dialog.direct.isVisible() == into.startswith("ssh://other"), into
        dialog.direct.setChecked(direct)
        said = dialog.news.text()
        click(qtbot, dialog.go)
        idle(qtbot, window)
        return said, window.jobs.jobs[0]

    for n, (into, news) in enumerate((
        (f"ssh://there{there.home}/new", "7 new ("),
        (str(tmp_path / "here"), "7 entries to this machine ("),
        (f"ssh://other{there.home}/newer", "7 entries to other ("),
    )):  # fmt: skip
        said, job = copy(into)
        assert said.startswith(news), said
        assert job.state is State.DONE, list(job.log)
        assert (job.result["entries"], len(job.placed)) == (7, 7), n
        folder = Path("/" + into.partition("//")[2].partition("/")[2]) if n != 1 else Path(into)
        assert len(list(folder.glob("fxgraph/*/*/*"))) == 7
    into, program = f"ssh://other{there.home}/direct", there.bin / "ssh"
    _, job = copy(into, direct=True)
    assert job.state is State.FAILED and job.error is not None
    assert job.error.code == "ssh-direct" and "Leave “direct” out" in job.error.remedy
    program.symlink_to(str(shutil.which("ssh")))
    try:
        _, job = copy(into, direct=True)
    finally:
        program.unlink()
    assert job.state is State.DONE and job.result["entries"] == 7, list(job.log)
    bundle = there.home / "b.torchcache"
    _, job = copy(there.place("b.torchcache"))
    assert job.state is State.DONE and bundle.is_file(), list(job.log)
    opened(qtbot, window, there, bundle)
    said, job = copy(str(there.place("last")))
    assert said.startswith("7 new (") and job.result["entries"] == 7, list(job.log)
    assert window.place == there.place(bundle)
    assert not [one for one in (there.folder / "tmp").rglob("*") if one.is_file()]


@pytest.mark.slow
def test_a_bundle_of_here_is_compared_there_before_it_is_copied(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "b.torchcache"
    make_bundle(fixture_cache, bundle)
    some = shutil.copytree(fixture_cache, there.home / "some")
    for path in [p for p in (some / "aotautograd").rglob("*") if p.is_file()]:
        path.unlink()
    window = open_window()
    window.places.add(str(bundle), bundle=True)
    window.places_pane.choose(str(bundle))
    shown(qtbot, window, str(bundle))
    dialog = ask(qtbot, window, there.place("some"))
    assert "entries to there (" in dialog.news.text() and not sent_there(there)
    assert dialog.go.isEnabled()
    click(qtbot, dialog.look)
    qtbot.waitUntil(lambda: dialog.known and not dialog.look.isVisible())
    settle(qtbot)
    assert dialog.news.text().startswith("4 new (") and "there already" in dialog.news.text()
    assert copied_table(dialog)["FX graph"][2:] == ["–", "7", "–"]
    assert len(sent_there(there)) == 1
    click(qtbot, dialog.go)
    idle(qtbot, window)
    job = window.jobs.jobs[0]
    assert job.state is State.DONE and job.result["entries"] == 4, list(job.log)
    assert not sent_there(there)


@pytest.mark.slow
def test_entries_go_between_a_machine_and_a_server(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, kept_291: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Chosen in the dialog, and dropped on it in the list; others read there, so that secrets are
    asked about.
    """
    monkeypatch.setattr(secrets, "_given", {})
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setattr("tempfile.tempdir", os.environ["HOME"])
    with serving(tmp_path / "redis", "--requirepass", "a word") as server:
        window = open_window()
        window.places.add(server.url)
        place = opened(qtbot, window, there, kept_291)
        window.head.box.setText("kind:fxgraph")
        settle(qtbot)
        dialog = ask(qtbot, window, server.url)
        assert dialog.news.text().startswith(f"7 entries to {server.url} ("), dialog.news.text()
        assert not dialog.direct.isVisible() and dialog.secrets.undecided
        dialog.secrets.choose("allow")
        click(qtbot, dialog.go)
        idle(qtbot, window)
        job = window.jobs.jobs[0]
        assert job.error is not None and job.error.code == "password-needed", list(job.log)
        dialog.close()
        window.engines.give(server.url, "a word", Listener())
        window.table.selectAll()
        settle(qtbot)
        drag(window)
        at = hold_over(window, server.url)
        assert aim(window) == server.url
        mouse(window, QEvent.Type.MouseButtonRelease, at, held=False)
        dialog = open_dialog(qtbot, window, CopyDialog)
        qtbot.waitUntil(lambda: dialog.known and dialog.target.path == server.url)
        dialog.needed.setChecked(False)
        qtbot.waitUntil(lambda: dialog.known)
        dialog.secrets.choose("allow")
        click(qtbot, dialog.go)
        idle(qtbot, window)
        job = window.jobs.jobs[0]
        assert job.state is State.DONE, (job.error, list(job.log))
        assert (job.result["entries"], job.result["what"]) == (7, "server")
        window.open_paths([server.url])
        shown(qtbot, window, server.url)
        assert window.entries.total == 7
        into = there.place("new")
        dialog = ask(qtbot, window, into)
        assert dialog.news.text().startswith("7 entries to there ("), dialog.news.text()
        dialog.secrets.choose("allow")
        click(qtbot, dialog.go)
        idle(qtbot, window)
        job = window.jobs.jobs[0]
        assert job.state is State.DONE, (job.error, list(job.log))
        files = {one.name: one.read_bytes() for one in kept_291.glob("fxgraph/*/*/*")}
        new = (there.home / "new").glob("fxgraph/*/*/*")
        assert files == {one.name: one.read_bytes() for one in new}
        assert window.places.row_of(into) >= 0 and place != into
        assert not scratch()


def test_a_cancelled_transfer_leaves_nothing(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window()
    place = opened(qtbot, window, there, fixture_cache)
    bundle = tmp_path / "cancelled.torchcache"
    job = window.operations.export(place, Selection.of(window.entries.shown()), str(bundle))
    window.operations.cancel(job)
    qtbot.waitUntil(lambda: not job.active)
    assert job.state is State.CANCELLED
    idle(qtbot, window)
    assert not bundle.exists()
    # Nor does an import that fails once the files are there, while the way to there stands.
    files = [tmp_path / name for name in ("whole.torchcache", "none.torchcache")]
    job = window.operations.export(place, Selection(), str(files[0]), secrets="allow")
    qtbot.waitUntil(lambda: not job.active)
    files[1].write_bytes(bytes(2_000_000))
    job = window.operations.import_files([str(one) for one in files], there.place("new"))
    qtbot.waitUntil(lambda: not job.active)
    assert job.state is State.FAILED and not (there.home / "new").exists()
    tmp = there.folder / "tmp"
    qtbot.waitUntil(lambda: not [one for one in tmp.rglob("*") if one.suffix == ".torchcache"])
    assert not list(tmp.glob("torchkeeper-parts-*"))
    assert list(tmp.glob("torchkeeper-far-*"))


def test_one_is_added_where_a_server_is(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path
) -> None:
    caches = [there.home / name for name in ("inductor", "kernels")]
    there.rc.write_text(f"export TORCHINDUCTOR_CACHE_DIR={caches[0]} TRITON_CACHE_DIR={caches[1]}")
    window = open_window()
    place = there.place(fixture_cache)
    dialog = window.servers.add_server()
    type_in(qtbot, dialog.address, "ssh://ada:pw@there/x")
    click(qtbot, dialog.go)
    assert "password" in str(dialog.trial.notice.error) and dialog.isVisible()
    # A machine alone stands for the caches that it has.
    dialog.address.clear()
    type_in(qtbot, dialog.address, "ssh://there/")
    click(qtbot, dialog.go)
    qtbot.waitUntil(lambda: barred(window) == "no-cache-there")
    assert "ssh://there/~/folder" in window.error_bar.remedy.text()
    assert not window.places.rowCount() or window.places.places[0].near
    shutil.copytree(fixture_cache, caches[0])
    caches[1].mkdir()
    window.open_paths(["ssh://there"])
    shown(qtbot, window, there.place(caches[0]))
    assert window.entries.total > 0 and "2 caches of there" in window.statusBar().currentMessage()
    assert [one.path for one in window.places.places if one.added] == [*map(there.place, caches)]
    for row in (1, 0):
        window.places.remove(window.places.row_of(there.place(caches[row])))
    dialog = window.servers.add_server()
    type_in(qtbot, dialog.address, place)
    for field in (dialog.user, dialog.password, dialog.name):
        assert not field.isEnabled() and field.placeholderText()
    assert not dialog.keep.isEnabled() and "ssh" in dialog.keep.toolTip()
    assert not dialog.test.isEnabled() and dialog.test.toolTip()
    click(qtbot, dialog.go)
    shown(qtbot, window, place)
    assert failed(window) == "" and window.entries.total > 0
    gone = there.place("gone")
    window.open_paths([gone])
    shown(qtbot, window, gone)
    assert window.listing.error is not None
    assert "torchkeeper places ssh://there” lists the caches of that" in window.listing.error.remedy
    window.places.remove(window.places.row_of(gone))
    row = window.places.row_of(place)
    assert [one.path for one in window.places.places if one.added] == [place] and row >= 0


def test_a_server_that_another_machine_reaches_is_a_server(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(secrets, "_given", {})
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    with serving(tmp_path / "redis", "--requirepass", "a word") as server:
        server.commands(("AUTH", "a word"), *(("SET", *pair) for pair in dump().items()))
        window = open_window()
        dialog = window.servers.add_server()
        dialog.address.setText(f"export X='ssh://me@there/{server.url}'")
        assert dialog.address.text() == f"ssh://me@there/{server.url}"
        dialog.address.clear()
        type_in(qtbot, dialog.address, f"ssh://there/redis://:a%20word@127.0.0.1:{server.port}")
        assert dialog.address.text() == f"ssh://there/redis://127.0.0.1:{server.port}"
        assert (dialog.user.text(), dialog.password.text()) == ("", "a word")
        click(qtbot, dialog.test)
        qtbot.waitUntil(lambda: dialog.trial.facts.get("ours") is not None)
        qtbot.waitUntil(lambda: "PyTorch" in dialog.trial.facts["ours"].text())
        click(qtbot, dialog.go)
        place = f"ssh://there/{server.url}"
        shown(qtbot, window, place)
        assert failed(window) == "" and window.entries.total == 12
        assert there.sessions() == 1, "what was tried and what is listed share a connection"
        row = window.places.place_at(window.places.index(window.places.row_of(place)))
        assert row is not None and row.server and not row.near
        assert (row.title, row.about) == (f"127.0.0.1:{server.port}/0", "there · Redis")
        assert way(window, place).line == "Connected to there"
        window.update_now()
        assert window.actions_["purge-shown"].isEnabled()
        line.to("ssh://there")._process.kill()
        qtbot.waitUntil(lambda: line._lines.of["ssh://there"].failure is not None)
        window.listing.refresh()
        shown(qtbot, window, place)
        assert failed(window) == "" and there.sessions() == 2


def test_a_machine_that_floods_the_window_is_heard_now_and_then(
    qtbot: QtBot, lying: Callable[[str], str], open_window: OpenWindow, fixture_cache: Path
) -> None:
    """It says ten thousand times that it is done, and then is."""
    window = open_window(fixture_cache)
    lying(
        "hello(); i = asked()['id']\n"
        "for n in range(10000): message(type='progress', id=i, done=n, total=n, unit='files')\n"
        "message(type='result', id=i, result={})"
    )
    told: list[object] = []
    over: list[object] = []
    begun = time.monotonic()
    listener = Listener(
        progress=lambda *far: told.append(far), result=over.append, failed=over.append
    )
    window.engines.ask(protocol.PLACES, {}, listener, python="ssh://there", shared=True)
    qtbot.waitUntil(lambda: bool(over))
    assert over == [{}]
    assert told[-1] == (9999, 9999, "files")
    assert len(told) < 50 * (time.monotonic() - begun)


def test_a_machine_that_says_nothing_is_called_so_and_given_up(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(terminal, "SLOW", 1.0)
    monkeypatch.setattr(line, "GIVEN_UP", 4.0)
    monkeypatch.setattr(ways, "_LOOK_MS", 100)
    window = open_window(fixture_cache)
    told: list[Way] = []
    place = there.place(fixture_cache)
    window.engines.reached.connect(lambda *_: told.append(way(window, place)))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        config(there, Port=silent.getsockname()[1])
        window.open_paths([place])
        shown(qtbot, window, place)
    assert failed(window) == "ssh-silent"
    assert list(dict.fromkeys(one.short for one in told)) == [
        "connecting…", "no answer yet", "no connection",
    ]  # fmt: skip
    assert "Connecting to there: it has said nothing for 2 seconds" in [one.line for one in told]


def test_the_engine_that_is_started_ahead_is_not_asked_about_another_machine() -> None:
    ahead = started("ssh://there/cache")
    assert ahead is not None
    assert ahead.take("list", {"place": "ssh://there/cache", "unless": ""}) is None
    ahead.engine.close_and_wait()


def test_a_question_is_plain_and_bounded_and_its_answer_one_line() -> None:
    asked: list[Question] = []
    asking = Asking("ssh://there", asked.append)
    helper, env = asking.variables["SSH_ASKPASS"], {**os.environ, **asking.variables}
    stranger = "\x1b[31m<b>Password</b>\r\n" * 4000
    pipe = subprocess.PIPE
    with subprocess.Popen([helper, stranger], env=env, stdout=pipe) as process:
        until = time.monotonic() + LONG
        while not asked and time.monotonic() < until:
            time.sleep(0.01)
        [one] = asked
        assert one.text.startswith("\\x1b[31m<b>Password</b>") and one.about == "ssh://there"
        assert len(one.text) <= 2000 and one.text.count("\n") < 20
        assert one.text.replace("\n", "").isprintable()
        one.answer("secret\nmore")
        assert process.stdout is not None and process.stdout.read() == b"secret\n"
    asked.clear()
    with subprocess.Popen([helper, "again?"], env=env, stdout=pipe) as process:
        while not asked and time.monotonic() < until:
            time.sleep(0.01)
        asked[0].answer(None)
        assert process.wait(LONG) == 1
    folder = asking.variables["TORCHKEEPER_ASK"]
    while os.path.exists(folder) and time.monotonic() < until:
        time.sleep(0.01)
    assert not os.path.exists(folder)


def judged(qtbot: QtBot, window: Window) -> dict[str, int]:
    """Wait until all verdicts are there; how many of each."""
    verdicts = window.here.verdicts
    qtbot.waitUntil(lambda: verdicts.counts is not None and not verdicts.asking)
    settle(qtbot)
    assert verdicts.counts is not None
    return verdicts.counts["verdicts"]


def add(qtbot: QtBot, window: Window, path: str) -> None:
    """Add an environment there, as a user does."""
    window.actions_["add-interpreter"].trigger()
    [dialog] = [one for one in window.findChildren(PathDialog) if one.isVisible()]
    type_in(qtbot, dialog.path, path)
    click(qtbot, dialog.go)
    environments = window.here.environments
    qtbot.waitUntil(lambda: environments.of(f"ssh://there{path}") is not None)


def cell(window: Window, role: Qt.ItemDataRole = Qt.ItemDataRole.DisplayRole) -> str:
    """What stands in the verdict column of the first graph."""
    for row in range(window.entries.rowCount()):
        line = window.entries.lines[row]
        if isinstance(line, Row) and line.entry.kind == "fxgraph":
            return str(window.entries.index(row, VERDICT).data(role))
    raise AssertionError("there is none")


def test_the_environments_are_those_of_the_machine_that_is_shown(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    window.here.environments.find()
    qtbot.waitUntil(lambda: window.here.environments.found)
    here = [one.python for one in window.here.environments.every]
    place = opened(qtbot, window, there, fixture_cache)
    environments = window.here.environments
    python3 = f"ssh://there{there.bin}/python3"
    qtbot.waitUntil(lambda: environments.found and not environments.asking)
    settle(qtbot)
    assert [one.python for one in environments.every] == [python3]
    # None has a torch: that is said where verdicts would be, and what to do.
    assert window.here.chooser.text() == "No torch"
    assert cell(window) == "no torch"
    assert window.here.bar.said.text() == (
        "no verdicts: choose an environment with torch at the top right"
    )
    assert "“Add interpreter…” at the top right" in cell(window, Qt.ItemDataRole.ToolTipRole)
    assert "environment of there with torch" in window.here.unjudged
    assert "No interpreter on there has torch" in EnvironmentChoice(environments, "x").about.text()
    listed = window.more.environments
    assert listed.fold.text() == "Environments of there" and listed.list.items.rowCount() == 1
    add(qtbot, window, "/nowhere/bin/python")
    qtbot.waitUntil(lambda: window.here.chooser.text() == "Torch does not answer")
    settle(qtbot)
    assert cell(window) == "no torch"
    assert "/nowhere/bin/python" in cell(window, Qt.ItemDataRole.ToolTipRole)
    # Each machine has its own.
    window.open_paths([str(fixture_cache)])
    shown(qtbot, window, str(fixture_cache))
    assert [one.python for one in window.here.environments.every] == here
    assert listed.list.items.rowCount() == len(here)
    assert "Verdicts are off" in listed.note.text() and cell(window) == "off"
    assert listed.fold.text() == "Environments"
    window.open_paths([place])
    shown(qtbot, window, place)
    assert window.here.chooser.text() == "Torch does not answer"
    assert interpreters.added("ssh://there") == ["ssh://there/nowhere/bin/python"]
    assert interpreters.added() == []
    dialog = window.here.show_environments()
    assert dialog.windowTitle() == "Environments of there" and not dialog.prepare.isEnabled()
    dialog.go_to("ssh://there/nowhere/bin/python")
    click(qtbot, dialog.remove)
    qtbot.waitUntil(lambda: len(environments.every) == 1)
    assert interpreters.added("ssh://there") == []


@pytest.mark.slow
@pytest.mark.torch
def test_verdicts_of_a_place_there_are_those_of_an_environment_there(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, warm_cache: Path, fixture_cache: Path,
    torch_python: str,
) -> None:  # fmt: skip
    with Engine() as engine:
        known = probes.know(engine, [torch_python])
        here = engine.call(protocol.JUDGE, {"place": str(warm_cache), "envs": known})
    window = open_window(fixture_cache)
    place = opened(qtbot, window, there, warm_cache)
    qtbot.waitUntil(lambda: window.here.environments.found)
    add(qtbot, window, torch_python)
    counts = judged(qtbot, window)
    assert counts == here["verdicts"] and counts["usable"] > 0
    assert window.here.bar.buttons["usable"].text().startswith(f"{counts['usable']:,} ")
    assert window.here.chooser.text().startswith("Environment: torch ")
    assert cell(window) == "Usable" and window.here.unjudged == ""
    window.actions_["inspector"].trigger()
    inspector = choose(qtbot, window, first(window, "fxgraph"))
    assert inspector.summary.verdict.title.text() == "Usable"
    assert f"ssh://there{torch_python}" in inspector.summary.verdict.python.toolTip()
    # What differs from the nearest entry is told from there.
    window.update_now()
    window.actions_["compare-nearest"].trigger()
    page = window.pages.page
    assert isinstance(page, ComparePage)
    qtbot.waitUntil(lambda: page.found is not None)
    assert page.found is not None and page.found["a"]["place"] == place
    # Another window begins with the same one, and its facts are kept.
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running)
    second = open_window()
    shown(qtbot, second, opened(qtbot, second, there, warm_cache))
    assert judged(qtbot, second) == counts


@pytest.mark.slow
@pytest.mark.torch
def test_what_is_stale_in_all_environments_there_is_cleaned_up(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path, torch_python: str
) -> None:
    window = open_window()
    opened(qtbot, window, there, fixture_cache)
    qtbot.waitUntil(lambda: window.here.environments.found)
    add(qtbot, window, torch_python)
    assert judged(qtbot, window)["stale"] == 11
    window.update_now()
    window.actions_["clean-up"].trigger()
    [dialog] = window.findChildren(CleanDialog)
    qtbot.waitUntil(dialog.go.isEnabled)
    [plan] = dialog.found.plans.values()
    assert plan["because"]["stale"]["entries"] == 11
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert not list(fixture_cache.glob("fxgraph/*/*/*"))
    window.actions_["undo"].trigger()
    idle(qtbot, window)
    assert list(fixture_cache.glob("fxgraph/*/*/*"))


@pytest.mark.slow
@pytest.mark.torch
def test_a_recipe_is_warmed_there_and_a_warm_up_is_cancelled_or_cut_off(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, tmp_path: Path, header_folder: Path,
    torch_python: str,
) -> None:  # fmt: skip
    there.rc.write_text(f"export TMPDIR={header_folder}\n")
    (there.home / "cache").mkdir()
    (tmp_path / "models.py").write_text(
        "import time\n\ndef double(x):\n    return x * 2 + 1\n\n"
        "def slow(x):\n    time.sleep(600)\n    return x\n"
    )
    recipes = {}
    for name in ("double", "slow"):
        recipes[name] = tmp_path / f"{name}.toml"
        told = f'[callable]\nfunction = "models.py:{name}"\ninputs = [{{ shape = [4, 8] }}]\n'
        recipes[name].write_text(told)
    window = open_window()
    place = opened(qtbot, window, there, there.home / "cache")
    qtbot.waitUntil(lambda: window.here.environments.found)
    add(qtbot, window, torch_python)
    qtbot.waitUntil(lambda: bool(window.here.environments.chosen))
    window.update_now()
    assert window.actions_["warm"].isEnabled()

    def warm(name: str) -> Job:
        dialog = window.flows.warm([str(recipes[name])])
        qtbot.waitUntil(dialog.go.isEnabled)
        assert dialog.target.path == place and not dialog.then.isEnabled()
        assert dialog.choice_of.python == f"ssh://there{torch_python}"
        click(qtbot, dialog.go)
        return window.jobs.jobs[0]

    job = warm("double")
    qtbot.waitUntil(lambda: not job.active)
    assert job.error is None and job.state is State.DONE, job.error
    assert any(one.startswith("Graph ") for one in job.log)
    assert job.result["misses"] == 1
    idle(qtbot, window)
    qtbot.waitUntil(lambda: window.entries.total > 0)
    assert judged(qtbot, window)["usable"] >= 1
    window.update_now()
    assert window.actions_["verify"].isEnabled()
    verify = window.flows.verify([str(recipes["double"])])
    assert verify is not None
    qtbot.waitUntil(verify.go.isEnabled)
    for name in ("cold", "prepared"):
        verify.runs[name].setChecked(False)
    click(qtbot, verify.go)
    job = window.jobs.jobs[0]
    qtbot.waitUntil(lambda: not job.active)
    assert job.error is None and job.result["good"] and job.result["misses"] == 0, job.error
    window.actions_["prepare"].trigger()
    [prepare] = window.findChildren(PrepareDialog)
    qtbot.waitUntil(prepare.go.isEnabled)
    assert prepare.environment.python == f"ssh://there{torch_python}"
    click(qtbot, prepare.go)
    job = window.jobs.jobs[0]
    qtbot.waitUntil(lambda: not job.active)
    assert job.error is None and job.result["folder"].startswith(str(header_folder)), job.error
    idle(qtbot, window)
    job = warm("slow")
    qtbot.waitUntil(lambda: any("slow" in one for one in job.log))
    window.operations.cancel(job)
    qtbot.waitUntil(lambda: not job.active)
    assert job.state is State.CANCELLED
    qtbot.waitUntil(lambda: not processes_under(there.home / "cache"))
    # A connection that breaks is told; what runs there goes on, is followed, and can be ended.
    job = warm("slow")
    qtbot.waitUntil(lambda: any("slow" in one for one in job.log))
    line.to("ssh://there")._process.kill()
    qtbot.waitUntil(lambda: not job.active)
    assert job.state is State.FAILED
    assert job.error is not None and job.error.code == "ssh-lost"
    window.listing.refresh()
    qtbot.waitUntil(lambda: job.active and bool(job.variants))
    window.operations.cancel(job)
    qtbot.waitUntil(lambda: not job.active)
    qtbot.waitUntil(lambda: not processes_under(there.home / "cache"))


def test_the_doctor_is_about_the_machine_that_is_shown(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, fixture_cache: Path
) -> None:
    left = fixture_cache / "cache" / ".999999999.140234567890.tmp"
    left.parent.mkdir(exist_ok=True)
    left.touch()
    os.utime(left, (time.time() - 9999,) * 2)
    window = open_window()
    place = opened(qtbot, window, there, fixture_cache)
    page = window.context.pages.go("doctor")
    assert isinstance(page, DoctorPage)
    qtbot.waitUntil(lambda: page.diagnosis.result is not None)
    settle(qtbot)
    assert page.diagnosis.asked is not None and page.diagnosis.asked.at == "ssh://there"
    by_code = {one.finding.code: one for one in page.diagnosis.found}
    assert by_code["left-over"].finding.place == place
    page.mender.plan([by_code["left-over"]])
    qtbot.waitUntil(lambda: page.preview is not None)
    assert page.preview is not None
    click(qtbot, page.preview.go)
    qtbot.waitUntil(lambda: bool(page.mender.mended) and not page.mender.busy)
    assert page.mender.mended[0].gone and not left.exists()
    # There is one way to look again, also where there is nothing to be seen.
    config(there, Port=1)
    cut()
    page.run()
    qtbot.waitUntil(lambda: page.diagnosis.error is not None)
    ways = {
        one.text().replace("&", "") for one in page.findChildren(QPushButton) if one.isVisible()
    }
    again = {"Run again", "Try again", "Connect now", "Check now"}
    assert page.notice.isVisible() and ways & again == {"Run again"}, ways
    config(there)
    click(qtbot, page.again)
    qtbot.waitUntil(lambda: page.diagnosis.result is not None)
    # Of this machine, where one of its places is shown.
    window.open_paths([str(fixture_cache)])
    shown(qtbot, window, str(fixture_cache))
    window.context.pages.go("doctor")
    qtbot.waitUntil(lambda: page.diagnosis.asked is not None and not page.diagnosis.asked.at)
    idle(qtbot, window)


@pytest.fixture
def begun(there: Machine, tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Begins a warm-up there that waits for a file, and cuts the connection; the job."""
    go = str(there.home / "go")
    lines = ["import os, time", f"while not os.path.exists({go!r}):", "    time.sleep(0.02)"]
    (tmp_path / "waits.py").write_text("\n".join(lines))
    (tmp_path / "waits.toml").write_text(
        '[triton]\nkernel = "waits.py:add"\nsignature = { x = "*fp32" }\ntargets = ["cuda:90"]\n'
    )

    def begin() -> str:
        with Engine(f"ssh://there{sys.executable}") as engine:
            sent = sending.send("ssh://there", files.wire([str(tmp_path / "waits.toml")]))
            engine.send(protocol.WARM, {**sent, "into": there.place("cache")})
            while not engine.job:
                select.select([engine], [], [])
                assert all(message.type != "error" for message in engine.receive())
            job = engine.job
            cut()
        return job

    yield begin
    (there.home / "go").touch()


def test_jobs_that_go_on_there_are_listed_followed_and_ended(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, begun: Callable[[], str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    first, second = begun(), begun()
    # A window before this one has begun the first, and another one, of which nothing is left there.
    place, on = f"ssh://there{there.home}/cache", "Goes on there; no connection"
    left = Past("left", "warm", "Warm it", place, "failed", False, 1.0, 2.0, on, there=first)
    history.keep([left, replace(left, id="gone", there="0" * len(first))])
    (there.home / "other").mkdir()
    window = open_window()
    drawer = window.following.drawer
    drawer.go_in()
    qtbot.waitUntil(lambda: len(drawer.rows.items) == 2)
    assert [mark(one) for one in drawer.rows.items] == [("running", "warning")] * 2
    drawer.shut()
    opened(qtbot, window, there, Path("other"))
    sessions = there.sessions()
    drawer.go_in()

    def running() -> dict[str, Past]:
        some = [one for one in drawer.rows.items if isinstance(one, Past)]
        return {one.id: one for one in some if one.state == "running"}

    qtbot.waitUntil(lambda: running().keys() == {first, second})
    (gone,) = (one for one in drawer.rows.items if one.state == "failed")
    assert isinstance(gone, Past) and gone.id == "gone" and mark(gone)[0] == "error"
    assert there.sessions() == sessions, "looking makes no connection"
    one = running()[first]
    assert (one.place, one.kind) == (f"ssh://there{there.home}/cache", "warm")
    # One is followed, as a job of this window, and comes to its end.
    drawer.choose(one)
    assert drawer.follow.isVisible() and drawer.cancel_button.isVisible()
    assert not drawer.forget.isVisible()
    click(qtbot, drawer.follow)
    job = drawer.job
    assert job is not None and job.there == first and job.active
    qtbot.waitUntil(lambda: running().keys() == {second} and bool(job.variants))
    # The other one is ended unseen.
    drawer.choose(running()[second])
    click(qtbot, drawer.cancel_button)
    qtbot.waitUntil(lambda: not running())
    assert job.active
    (there.home / "go").touch()
    qtbot.waitUntil(lambda: not job.active)
    assert job.state is State.FAILED and job.error is not None, job.state
    qtbot.waitUntil(lambda: not any(drawer.rows.there.values()))
    line.close_all()
    assert not list((there.home / ".cache/torchkeeper/jobs").iterdir())
    # How it has ended is kept instead of that it went on.
    qtbot.waitUntil(lambda: [x.there for x in history.kept().jobs if x.id == "left"] == [""])
    assert {one.id for one in history.kept().jobs} == {"left", "gone"}


@pytest.mark.slow
def test_a_job_that_is_cut_off_goes_on_and_is_cancelled_after(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, begun: Callable[[], str], tmp_path: Path
) -> None:
    (there.home / "cache").mkdir()
    window = open_window()
    place = opened(qtbot, window, there, Path("cache"))
    recipe, python = str(tmp_path / "waits.toml"), f"ssh://there{sys.executable}"
    job = window.operations.warm(python, [recipe], place)
    qtbot.waitUntil(lambda: bool(job.there))
    ident, began = job.there, job.started
    config(there, Port=1)
    cut()
    qtbot.waitUntil(lambda: not job.active)
    assert job.goes_on and job.error is not None and job.error.code == "ssh-lost"
    assert f"torchkeeper jobs ssh://there --follow {ident}" in job.error.remedy
    config(there)
    drawer = window.following.drawer
    drawer.go_in()
    window.listing.refresh()
    qtbot.waitUntil(lambda: job.active and bool(job.variants))
    assert window.jobs.jobs == (job,) and job.there == ident and drawer.job is job
    assert began is not None and job.started is not None and job.started >= began
    click(qtbot, drawer.cancel_button)
    qtbot.waitUntil(lambda: not job.active)
    (same,) = window.jobs.jobs
    assert same.state is State.CANCELLED
    assert not any("warm.job" in one for one in processes_under(there.home))
    # Who stops the jobs and closes the window means those there, too.
    last = window.operations.warm(python, [recipe], place)
    qtbot.waitUntil(lambda: bool(last.variants))
    window.closing.stop_jobs()
    qtbot.waitUntil(lambda: not any("detached" in one for one in processes_under(there.home)))


def ended_there(there: Machine) -> list[bool]:
    """Whether the jobs there have told what came of them."""
    told = (there.home / ".cache/torchkeeper/jobs").glob("*/told")
    return ['"type":"result"' in one.read_text().replace(" ", "") for one in told]


def run(qtbot: QtBot, window: Window, text: str) -> Job:
    """A program that is typed and started by its dialog, on the machine that is shown."""
    window.actions_["run-program"].trigger()
    (dialog,) = (one for one in window.findChildren(ProgramDialog) if one.isVisible())
    dialog.line.setText(text)
    qtbot.waitUntil(dialog.go.isEnabled)
    click(qtbot, dialog.go)
    return window.jobs.jobs[0]


def test_a_program_runs_there_and_goes_on_without_the_connection(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, recorded: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    there.rc.write_text("export OF_THERE=yes\n")
    cache = shutil.copytree(recorded / "cache", there.home / "cache")
    (there.home / "project").mkdir()
    (trace,) = (recorded / "shape").iterdir()
    (there.home / "project/serve.py").write_text(
        "import os\nprint(os.getcwd(), os.environ['OF_THERE'])\n" + NOTES + WAITS
    )
    window = open_window()
    place = opened(qtbot, window, there, cache)
    asks = window.flows.run_program()
    assert asks.windowTitle().startswith("Run a program on there") and asks.folder.text() == "~"
    for folder, said in (("~/none", "does not exist"), ("serve", "Give the whole path")):
        asks.folder.setText(folder)
        qtbot.waitUntil(lambda said=said: said in asks.said.text())  # type: ignore[misc]
        assert not asks.go.isEnabled()
    asks.folder.setText("~/project")
    text = f"TORCHINDUCTOR_CACHE_DIR={cache} python3 ./serve.py {trace} 3 "
    asks.line.setText(text + str(there.home / "go"))
    qtbot.waitUntil(asks.go.isEnabled)
    assert "goes on if the connection breaks" in asks.said.text()
    click(qtbot, asks.go)
    page, job = window.pages.page, window.jobs.jobs[0]
    assert isinstance(page, RunsPage)
    qtbot.waitUntil(lambda: page.graphs.topLevelItemCount() == 1)
    assert job.active and job.place == place
    assert list(job.log) == [f"{there.home}/project yes", "the program"]
    (run_,) = cells(page.list)
    assert run_[1].startswith("there: python3 ./serve.py") and run_[7] == "runs"
    config(there, Port=1)
    cut()
    qtbot.waitUntil(lambda: job.goes_on)
    assert job.error is not None and job.error.code == "ssh-lost"
    qtbot.waitUntil(lambda: f"--follow {job.there}" in page.note.text())
    assert cells(page.list)[0][7] == "goes on" and "once it has ended" in page.save.toolTip()
    assert "took" not in page.head.text()
    assert not page.rerun.isEnabled(), "it would be there twice"
    drawer = window.following.drawer
    drawer.go_in()
    assert drawer.rows.items[0] is job and drawer.follow.isVisible()
    assert not drawer.again.isVisible() and not drawer.change.isVisible()
    assert words(job) == "Goes on there; no connection"
    # It ends meanwhile; once there is a connection, it is followed, kept, and still one run.
    (there.home / "go").touch()
    qtbot.waitUntil(lambda: not any("serve.py" in one for one in processes_under(there.home)))
    qtbot.waitUntil(lambda: any(ended_there(there)))
    config(there)
    window.listing.refresh()
    qtbot.waitUntil(lambda: not job.goes_on and not job.active)
    (same,) = window.jobs.jobs
    assert same is job and same.state is State.DONE and same.error is None, same.error
    assert same.result and same.ended == same.over and not drawer.follow.isVisible()
    assert list(job.log)[:2] == [f"{there.home}/project yes", "the program"]
    assert drawer.detail.log.text().count("the program\n") == 1
    assert barred(window) != "ssh-lost"
    (kept,) = runs.kept().runs
    assert (kept.code, kept.place, kept.machine) == (3, place, "ssh://there")
    assert kept.command[:2] == ("python3", "./serve.py")
    window.show_page("runs")
    qtbot.waitUntil(lambda: [one.id for one in page.selected()] == [kept.id])
    settle(qtbot)
    assert [one[7] for one in cells(page.list)] == ["3"]
    assert job.run is not None and list(job.run.words[:2]) == ["python3", "./serve.py"]
    assert page.save.isEnabled(), page.save.toolTip()
    (graph,) = kept.graphs
    key, (there_already,) = str(graph["key"]), cache.glob("fxgraph/*/*")
    shutil.copytree(there_already, cache / "fxgraph" / key[1:3] / key)
    window.listing.refresh()
    qtbot.waitUntil(lambda: key in {row.entry.key for row in window.entries.every_row})
    settle(qtbot)
    assert page.nearest.isEnabled()
    click(qtbot, page.nearest)
    qtbot.waitUntil(lambda: window.pages.current == "compare")
    # The next one is asked for on the same machine, and is ended with the job.
    window.show_page("runs")
    click(qtbot, page.rerun)
    (asks,) = (one for one in window.findChildren(ProgramDialog) if one.isVisible())
    assert "there" in asks.windowTitle() and asks.folder.text() == "~/project"
    asks.line.setText(text + str(tmp_path / "never"))
    qtbot.waitUntil(asks.go.isEnabled)
    click(qtbot, asks.go)
    last = window.jobs.jobs[0]
    qtbot.waitUntil(lambda: len(last.graphs) == 1)
    settle(qtbot)
    click(qtbot, page.cancel)
    qtbot.waitUntil(lambda: not last.active)
    assert last.state is State.CANCELLED
    assert not any("serve.py" in one for one in processes_under(there.home))


def test_a_program_that_another_window_began_there_becomes_a_recipe(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, recorded: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    cache = shutil.copytree(recorded / "cache", there.home / "cache")
    (trace,) = (recorded / "shape").iterdir()
    (there.home / "serve.py").write_text(NOTES + WAITS)
    words = [str(trace), "3", str(there.home / "go"), "--token=hunter2hunter2", *["x" * 400] * 70]
    text = f"TORCHINDUCTOR_CACHE_DIR={cache} python3 serve.py {' '.join(words)}"
    with Engine("ssh://there") as engine:
        engine.send(protocol.RUN, programs.prepared(text, "~", "", "", "", "ssh://there"))
        while not engine.job:
            select.select([engine], [], [])
            assert all(message.type != "error" for message in engine.receive())
        cut()
    window = open_window()
    place = opened(qtbot, window, there, cache)
    drawer = window.following.drawer
    drawer.go_in()
    qtbot.waitUntil(lambda: any(isinstance(one, Past) for one in drawer.rows.items))
    drawer.choose(next(one for one in drawer.rows.items if isinstance(one, Past)))
    click(qtbot, drawer.follow)
    job = drawer.job
    assert job is not None and job.active
    (there.home / "go").touch()
    qtbot.waitUntil(lambda: not job.active)
    assert job.state is State.DONE and job.place == place, job.error
    window.show_page("runs")
    page = window.pages.page
    assert isinstance(page, RunsPage)
    qtbot.waitUntil(page.save.isEnabled)
    settle(qtbot)
    click(qtbot, page.save)
    (asks,) = (one for one in window.findChildren(QFileDialog) if one.isVisible())
    recipe = tmp_path / "serve.toml"
    asks.fileSelected.emit(str(recipe))
    asks.close()
    qtbot.waitUntil(recipe.exists)
    told = tomllib.loads(recipe.read_text())
    # The whole command, as that machine tells it: without what looks like a secret.
    shown = [*words[:3], "--token=…", *words[4:]]
    (item,) = told["script"]
    assert item == {"command": ["python", "serve.py", *shown], "folder": str(there.home)}
    assert told["machine"] == "ssh://there"
    assert "something that looked like a secret is left" in recipe.read_text()
    idle(qtbot, window)


def test_a_recipe_of_another_machine_is_asked_about_before_it_runs_elsewhere(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text('machine = "ssh://there"\n[callable]\nfunction = "torch.hub:load"\n')
    window = open_window(fixture_cache)
    begun: list[str] = []
    verify = window.flows.verify([str(recipe)])
    for dialog in (window.flows.warm([str(recipe)]), verify):
        assert dialog is not None
        choice = dialog.recipe
        qtbot.waitUntil(lambda choice=choice: choice.made is not None)  # type: ignore[misc]
        assert choice.said.text() == "1 variant · recorded on there"
        assert choice.trusted("ssh://there", "Run", lambda: begun.append("there")) is None
        assert begun.pop() == "there"
        for machine in ("", "ssh://me@there"):
            asked = choice.trusted(machine, "Run", lambda: begun.append("elsewhere"))
            assert asked is not None and not begun
            assert asked.question.text() == "Do you trust ssh://there?"
            assert "says what it runs: torch.hub:load. " in asked.detail.text()
            asked.reject()
            assert not begun
        asked = choice.trusted("", "Run", lambda: begun.append("here"))
        assert asked is not None
        click(qtbot, asked.go)
        assert begun.pop() == "here"
        dialog.reject()
    window.flows.recipes.open_recipes([str(recipe)])
    page = window.flows.recipes.page
    assert page is not None
    qtbot.waitUntil(lambda: page.selected() == [str(recipe)])
    assert "1 variant · recorded on there" in page.facts.text()


@pytest.mark.slow
@pytest.mark.torch
def test_a_recipe_of_a_program_there_is_warmed_there(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, tmp_path: Path, torch_python: str,
    header_folder: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (there.home / "train.py").write_text(PROGRAM)
    (there.home / "cache").mkdir()
    there.rc.write_text(
        f"export TORCHINDUCTOR_COMPILE_THREADS=1 TMPDIR={header_folder}\n"
        "export TORCHINDUCTOR_CACHE_DIR=~/cache\n"
    )
    window = open_window()
    place = opened(qtbot, window, there, there.home / "cache")
    qtbot.waitUntil(lambda: window.here.environments.found)
    add(qtbot, window, torch_python)
    qtbot.waitUntil(lambda: bool(window.here.environments.chosen))
    job = run(qtbot, window, "python train.py 8")
    page = window.pages.page
    assert isinstance(page, RunsPage)
    qtbot.waitUntil(lambda: not job.active)
    assert job.error is None and job.run is not None and job.place == place, job.error
    qtbot.waitUntil(page.warm.isEnabled)
    settle(qtbot)
    click(qtbot, page.warm)
    (asks,) = (one for one in window.findChildren(QFileDialog) if one.isVisible())
    recipe = tmp_path / "recipes" / "train.toml"
    recipe.parent.mkdir()
    asks.fileSelected.emit(str(recipe))
    asks.close()
    dialogs = window.findChildren
    qtbot.waitUntil(lambda: any(one.isVisible() for one in dialogs(WarmDialog)))
    (dialog,) = (one for one in dialogs(WarmDialog) if one.isVisible())
    (item,) = tomllib.loads(recipe.read_text())["callable"]
    assert item["function"] == f"{there.home}/train.py:layer"
    assert "names files of ssh://there" in recipe.read_text()
    assert dialog.target.path == place
    dialog.target.choose(there.place("other"))
    qtbot.waitUntil(dialog.go.isEnabled)
    click(qtbot, dialog.go)
    warmed = window.jobs.jobs[0]
    qtbot.waitUntil(lambda: not warmed.active)
    assert warmed.error is None and warmed.result["misses"] == 1, warmed.error
    graphs = [(there.home / name).glob("fxgraph/*/*") for name in ("cache", "other")]
    own, warm = (sorted(one.name for one in some) for some in graphs)
    assert own == warm != []
    # Here it is warmed only once somebody trusts that machine.
    here = tmp_path / "here"
    here.mkdir()
    window.open_paths([str(here)])
    shown(qtbot, window, str(here))
    window.here.environments.find()
    qtbot.waitUntil(lambda: window.here.environments.found)
    window.here.environments.add(torch_python)
    qtbot.waitUntil(lambda: window.here.environments.of(torch_python) is not None)
    dialog = window.flows.warm([str(recipe)])
    qtbot.waitUntil(lambda: dialog.choice_of.one is not None)
    dialog.choice_of.choose(torch_python)
    qtbot.waitUntil(dialog.go.isEnabled)
    jobs = len(window.jobs.jobs)
    click(qtbot, dialog.go)
    (asked,) = dialog.findChildren(ConfirmDialog)
    assert len(window.jobs.jobs) == jobs
    click(qtbot, asked.go)
    assert len(window.jobs.jobs) == jobs + 1
    qtbot.waitUntil(lambda: not window.jobs.active)
