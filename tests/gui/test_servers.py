"""A Redis server as a place of the window: added, let in to, listed, left alone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, idle, settle, type_in
from tests.redis_server import Server, dump, free_port, serving
from torchkeeper.artifacts.entry import Entry
from torchkeeper.gui import facts as gui_facts
from torchkeeper.gui import start
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.dialogs.server import PasswordDialog, ServerDialog
from torchkeeper.gui.engines import Engines, Listener
from torchkeeper.gui.facts import AT_ONCE, REST_MS, SELECTED
from torchkeeper.gui.jobs import State, state_text
from torchkeeper.gui.places import Place
from torchkeeper.gui.window import Window
from torchkeeper.link import secrets
from torchkeeper.link.serverpage import meanings
from torchkeeper.stores.redis.server import MEANINGS

SECRET = "p@ss/wörd:1"


@pytest.fixture(autouse=True)
def nothing_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """No password of another test, of the environment or of a keyring is known."""
    monkeypatch.setattr(secrets, "_given", {})
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A server with what torch 2.9.1 wrote into one, and a key of somebody else's."""
    with serving(tmp_path / "redis") as made:
        made.load({**dump(), "session:42": b"somebody else's"})
        yield made


@pytest.fixture
def port(server: Server) -> int:
    """Its port."""
    return server.port


@pytest.fixture
def locked_port(server: Server) -> int:
    """The same behind a password."""
    assert server("CONFIG", "SET", "requirepass", SECRET) == b"OK"
    return server.port


def read(qtbot: QtBot, window: Window, place: str) -> None:
    """Wait until a server is listed."""
    qtbot.waitUntil(lambda: window.place == place and not window.listing.loading, timeout=PATIENCE)
    settle(qtbot)


def typed(qtbot: QtBot, field: QLineEdit, text: str) -> None:
    field.clear()
    type_in(qtbot, field, text)


def test_a_server_that_is_added_is_listed_and_remembered(
    qtbot: QtBot, open_window: OpenWindow, settings: QSettings, port: int
) -> None:
    window = open_window()
    dialog = window.servers.add_server()
    assert not dialog.go.isEnabled() and not dialog.files.isVisible()
    typed(qtbot, dialog.address, f"127.0.0.1:{port}")
    click(qtbot, dialog.test)
    qtbot.waitUntil(lambda: "lets you in" in dialog.said.text(), timeout=PATIENCE)
    click(qtbot, dialog.go)
    place = f"redis://127.0.0.1:{port}/0"
    read(qtbot, window, place)
    assert window.listing.error is None
    entries = window.entries.shown()
    assert len(entries) == 12 and {e.kind for e in entries} >= {"fxgraph", "aotautograd"}
    assert window.stack.currentWidget() is window.table
    assert window.head.title.toolTip() == f"127.0.0.1:{port}/0"
    assert window.trash_label.text() == ""
    assert not window.listing.can_poll, "nobody looks at a server by himself"
    assert not window.actions_["undo"].isEnabled()
    assert settings.value("places/added") in (place, [place])
    window.table.selectRow(0)
    settle(qtbot)
    window.actions_["copy-path"].trigger()
    assert QGuiApplication.clipboard().text() == entries[0].path
    assert entries[0].path.startswith("pt2:")
    window.actions_["copy-command"].trigger()
    assert QGuiApplication.clipboard().text() == f"torchkeeper show {place} {entries[0].key}"


def test_the_password_of_a_pasted_address_is_seen_by_nobody(
    qtbot: QtBot, open_window: OpenWindow, settings: QSettings, locked_port: int
) -> None:
    window = open_window()
    dialog = window.servers.add_server()
    dialog.address.setText(f"redis://:p%40ss%2Fw%C3%B6rd%3A1@127.0.0.1:{locked_port}/0")
    assert dialog.address.text() == f"redis://127.0.0.1:{locked_port}/0"
    assert dialog.password.text() == SECRET
    assert dialog.password.echoMode() is QLineEdit.EchoMode.Password
    qtbot.waitUntil(lambda: "no keyring" in dialog.keep.toolTip(), timeout=PATIENCE)
    assert not dialog.keep.isEnabled()
    click(qtbot, dialog.go)
    read(qtbot, window, f"redis://127.0.0.1:{locked_port}/0")
    assert window.entries.total == 12
    settings.sync()
    kept = Path(settings.fileName()).read_text()
    assert "127.0.0.1" in kept and "p@ss" not in kept and "p%40ss" not in kept
    assert "p@ss" not in window.windowTitle() + window.head.path.text()


def test_a_password_is_asked_for_and_right_on_the_second_try(
    qtbot: QtBot, open_window: OpenWindow, locked_port: int
) -> None:
    window = open_window()
    place = f"redis://127.0.0.1:{locked_port}/0"
    window.open_paths([place])

    def asked(code: str) -> PasswordDialog:
        def there() -> list[PasswordDialog]:
            found = window.findChildren(PasswordDialog)
            error = window.listing.error
            return [x for x in found if x.isVisible() and error and error.code == code]

        qtbot.waitUntil(lambda: bool(there()), timeout=PATIENCE)
        return there()[0]

    dialog = asked("password-needed")
    assert window.stack.currentWidget() is window.empty
    assert not dialog.go.isEnabled()
    typed(qtbot, dialog.password, "wrong")
    click(qtbot, dialog.go)
    dialog = asked("password-wrong")
    dialog.password.setText(SECRET)
    click(qtbot, dialog.go)
    qtbot.waitUntil(lambda: window.entries.total == 12, timeout=PATIENCE)
    read(qtbot, window, place)
    assert window.listing.error is None and window.stack.currentWidget() is window.table
    # Whoever says no is not asked again before he wants to be.
    window.engines.give(place, "changed", Listener())
    window.refresh()
    dialog = asked("password-wrong")
    dialog.reject()
    settle(qtbot)
    assert window.empty.button.text() == "Enter password…"
    click(qtbot, window.empty.button)
    asked("password-wrong").reject()


def test_what_is_wrong_is_said_in_the_dialog(
    qtbot: QtBot, open_window: OpenWindow, locked_port: int
) -> None:
    window = open_window()
    dialog = window.servers.add_server()
    typed(qtbot, dialog.address, "redis://host:port/0")
    click(qtbot, dialog.go)
    assert dialog.isVisible() and dialog.said.property("role") == "error"
    assert dialog.said.text()
    typed(qtbot, dialog.address, f"redis://127.0.0.1:{free_port()}/0")
    assert not dialog.said.isVisible()
    click(qtbot, dialog.test)
    qtbot.waitUntil(lambda: dialog.said.property("role") == "error", timeout=PATIENCE)
    typed(qtbot, dialog.address, f"redis://127.0.0.1:{locked_port}/0")
    typed(qtbot, dialog.password, "wrong")
    click(qtbot, dialog.test)
    qtbot.waitUntil(lambda: dialog.said.property("role") == "error", timeout=PATIENCE)
    assert "wrong" not in dialog.said.text().partition("\n")[2], "not the password itself"
    dialog.address.setText("rediss://localhost")
    assert dialog.files.isVisible()
    typed(qtbot, dialog.ca.edit, "ca.pem")
    click(qtbot, dialog.go)
    assert "whole path" in dialog.said.text()
    dialog.reject()


def test_the_read_only_switch_is_remembered(
    qtbot: QtBot, open_window: OpenWindow, settings: QSettings, port: int
) -> None:
    window = open_window()
    place = f"redis://127.0.0.1:{port}/0"
    window.open_paths([place])
    read(qtbot, window, place)
    switch = window.actions_["read-only"]
    assert switch.isEnabled() and not switch.isChecked()
    switch.trigger()
    settle(qtbot)
    assert switch.isChecked() and window.places.read_only(place)
    assert [p.read_only for p in window.places.places if p.server] == [True]
    settings.sync()
    assert place in (settings.value("places/read-only") or [])
    window.table.selectAll()
    settle(qtbot)
    assert window.actions_["export"].isEnabled()
    assert not window.actions_["purge"].isEnabled()
    switch.trigger()
    settle(qtbot)
    assert not switch.isChecked() and window.actions_["purge"].isEnabled()


def test_what_is_on_the_screen_is_known_a_moment_later(
    qtbot: QtBot, open_window: OpenWindow, server: Server, port: int
) -> None:
    window = open_window()
    place = f"redis://127.0.0.1:{port}/0"
    window.open_paths([place])
    read(qtbot, window, place)
    first = [e.identity for e in window.entries.shown()]
    graph = next(e.path for e in window.entries.shown() if e.kind == "fxgraph")
    server("EXPIRE", graph, 7200)

    def graphs() -> list[Entry]:
        return [e for e in window.entries.shown() if e.kind == "fxgraph"]

    qtbot.waitUntil(lambda: all(e.torch and e.compile_s for e in graphs()), timeout=PATIENCE)
    assert [e.identity for e in window.entries.shown()] == first, "nothing has moved"
    window.actions_["refresh"].trigger()
    qtbot.waitUntil(lambda: any(e.expires for e in graphs()), timeout=PATIENCE)
    assert all(e.torch for e in graphs()), "what was known stays"
    expires = next(e.expires for e in graphs() if e.path == graph)
    assert expires is not None and 7000 < expires - time.time() <= 7200
    window.wing.toggle() if not window.inspector.isVisible() else None
    window.table.select({("fxgraph", graph)})
    inspector = window.inspector
    qtbot.waitUntil(lambda: inspector.detail is not None, timeout=PATIENCE)
    assert inspector.detail is not None and inspector.detail.graphs
    facts = inspector.facts.toPlainText()
    assert "On the server" in facts and "Expires" in facts


class Questions:
    """What the engines are asked for, passed on to them."""

    def __init__(self, engines: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
        self.facts: list[set[str]] = []
        ask = engines.ask

        def heard(op: str, params: dict[str, Any], listener: Listener, **how: Any) -> int:
            if op == "facts" and params["items"]:
                self.facts.append({path for _, path in params["items"]})
            return ask(op, params, listener, **how)

        monkeypatch.setattr(engines, "ask", heard)

    @property
    def asked(self) -> int:
        """How many entries were asked for."""
        return sum(map(len, self.facts))


def test_only_what_is_to_be_seen_is_asked_for_and_that_is_kept(
    qtbot: QtBot, open_window: OpenWindow, server: Server, port: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    letters = "abcdefghijklmnopqrstuvwxyz234567"
    keys = (f"f{letters[n // 32 % 32]}{letters[n % 32]}{letters[n // 1024]}" for n in range(3000))
    server.load({f"pt2:fx-graph-v1::{key}{'a' * 48}:c1": b"{}" for key in keys})
    window = open_window()
    questions = Questions(window.engines, monkeypatch)
    place = f"redis://127.0.0.1:{port}/0"
    window.open_paths([place])
    qtbot.waitUntil(lambda: window.entries.total == 3012, timeout=PATIENCE)
    bar, known = window.table.verticalScrollBar(), window.listing.known

    def all_known() -> bool:
        return {e.identity for e in window.table.seen()} <= set(known)

    for step in range(120):
        bar.setValue(bar.maximum() * step // 119)
        qtbot.wait(3)
    qtbot.waitUntil(all_known, timeout=PATIENCE)
    assert questions.asked < 1500, "what was scrolled past is not asked for"
    assert max(map(len, questions.facts)) <= AT_ONCE
    before = questions.asked
    bar.setValue(0)
    qtbot.waitUntil(all_known, timeout=PATIENCE)
    bar.setValue(bar.maximum())
    qtbot.wait(3 * REST_MS)
    assert questions.asked - before <= 2 * len(window.table.seen()), "what is known is kept"
    window.table.selectAll()
    wanted = {e.identity for e in window.table.selected(SELECTED)}
    qtbot.waitUntil(lambda: wanted <= set(known), timeout=PATIENCE)
    before = questions.asked
    qtbot.wait(3 * REST_MS)
    assert questions.asked == before, "of a large selection the first are enough"
    assert len(wanted) == SELECTED


def test_facts_that_could_not_be_had_are_asked_for_again_later(
    qtbot: QtBot, open_window: OpenWindow, server: Server, port: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(gui_facts, "AGAIN_MS", 600)
    window = open_window()
    questions = Questions(window.engines, monkeypatch)
    place = f"redis://127.0.0.1:{port}/0"
    server("CONFIG", "SET", "requirepass", "")
    window.open_paths([place])
    read(qtbot, window, place)
    qtbot.waitUntil(lambda: len(window.listing.known) == 12, timeout=PATIENCE)
    window.listing.known.clear()
    window.facts._asked.clear()
    server("CONFIG", "SET", "requirepass", SECRET)
    before = len(questions.facts)
    window.facts._soon()
    qtbot.waitUntil(lambda: len(questions.facts) == before + 2, timeout=PATIENCE)
    unlocked = server.commands(("AUTH", SECRET), ("CONFIG", "SET", "requirepass", ""))
    assert unlocked[1] == b"OK"
    qtbot.waitUntil(lambda: len(window.listing.known) == 12, timeout=PATIENCE)
    assert len(questions.facts) <= before + 6, "and not all the time"


def test_a_purge_of_a_server_asks_and_cannot_be_undone(
    qtbot: QtBot, open_window: OpenWindow, server: Server, port: int
) -> None:
    window = open_window()
    place = f"redis://127.0.0.1:{port}/0"
    window.open_paths([place])
    read(qtbot, window, place)
    chosen = window.entries.shown()[:3]
    window.table.select({e.identity for e in chosen})
    settle(qtbot)
    window.actions_["purge"].trigger()
    dialog = next(x for x in window.findChildren(PurgeDialog) if x.isVisible())
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    assert "3 entries" in dialog.title.text() and place in dialog.text.text()
    assert "cannot be undone" in dialog.hint.text() and not dialog.at_once.isVisible()
    click(qtbot, dialog.go)
    confirm = next(x for x in window.findChildren(ConfirmDialog) if x.isVisible())
    assert confirm.cancel.isDefault() and place in confirm.detail.text()
    click(qtbot, confirm.go)
    qtbot.waitUntil(lambda: window.entries.total == 9, timeout=PATIENCE)
    idle(qtbot, window)
    assert not window.undo_bar.isVisible()
    assert server("EXISTS", *(e.path for e in chosen)) == 0
    assert server("DBSIZE") == 10, "nothing else has gone"


def test_a_purge_that_is_cancelled_says_what_is_gone_for_good(
    open_window: OpenWindow,
) -> None:
    window = open_window()
    job = window.jobs.add("Purge it", "purge", "redis://127.0.0.1:1/0")
    window.jobs.begin(job)
    gone = {"entries": 1500, "bytes": 3_000_000, "of": 200_000, "sure": True}
    window.operations._findings(job, [{"removed": gone}])
    window.operations._ended(job, State.CANCELLED)
    said = "Removed by then: 1,500 of 200,000 entries, 3.0 MB."
    assert state_text(job) == f"Cancelled: {said}"
    assert said in job.log


def test_entries_of_a_server_can_expire(
    qtbot: QtBot, open_window: OpenWindow, server: Server, port: int
) -> None:
    window = open_window()
    place = f"redis://127.0.0.1:{port}/0"
    window.open_paths([place])
    read(qtbot, window, place)
    chosen = window.entries.shown()[0]
    window.table.select({chosen.identity})
    settle(qtbot)
    assert window.actions_["expiry"].isEnabled()
    dialog = window.servers.set_expiry()
    assert dialog is not None
    dialog.number.setValue(2)
    click(qtbot, dialog.go)
    qtbot.waitUntil(lambda: len(window.jobs.active) == 0, timeout=PATIENCE)
    left = server("TTL", chosen.path)
    assert isinstance(left, int) and 2 * 86400 - 60 < left <= 2 * 86400
    assert server("TTL", "session:42") == -1
    dialog = window.servers.set_expiry()
    assert dialog is not None
    dialog.unit.setCurrentIndex(3)
    assert not dialog.number.isEnabled()
    click(qtbot, dialog.go)
    qtbot.waitUntil(lambda: len(window.jobs.active) == 0, timeout=PATIENCE)
    assert server("TTL", chosen.path) == -1
    idle(qtbot, window)


def test_the_page_of_a_server_says_what_its_figures_mean(
    qtbot: QtBot, open_window: OpenWindow, port: int
) -> None:
    window = open_window()
    place = f"redis://127.0.0.1:{port}/0"
    window.open_paths([place])
    read(qtbot, window, place)
    page = window.servers.show_server()
    assert page is not None
    qtbot.waitUntil(lambda: page.form.rowCount() > 5, timeout=PATIENCE)
    texts = {label.text() for label in page.findChildren(QLabel)}
    assert {"Version", "13", "13 (100 %)", "noeviction", "What that means"} <= texts
    assert any(text.startswith("No key expires") for text in texts)
    page.reject()


def test_every_meaning_has_words() -> None:
    for meaning in MEANINGS:
        assert len(meanings({"meanings": [meaning]})) == 1
    assert meanings({"meanings": ["of-tomorrow"]}) == [] == meanings({"meanings": None})


def test_the_window_opens_on_a_server(qtbot: QtBot, settings: QSettings, port: int) -> None:
    place = f"redis://127.0.0.1:{port}/0"
    assert start.folder_of([place]) == place
    window = Window(settings, Engines(start.started(place)), place)
    window.show()
    window.open_paths([place])
    read(qtbot, window, place)
    assert window.entries.total == 12
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    window.deleteLater()


@pytest.mark.parametrize(
    ("place", "title", "where"),
    [
        ("redis://localhost:6379/0", "localhost:6379/0", "Redis"),
        ("rediss://ada@cache.example:6380/2", "ada@cache.example:6380/2", "Redis over TLS"),
        ("redis://[::1]:6379/0", "[::1]:6379/0", "Redis"),
        ("unix:///run/redis/redis.sock?db=1", "redis.sock/1", "Redis in /run/redis"),
        ("/tmp/cache", "cache", "/tmp"),
    ],
)
def test_a_place_has_a_title(place: str, title: str, where: str) -> None:
    assert (Place(place).title, Place(place).where) == (title, where)
    assert "/" not in Place(place).file_name


def test_the_dialog_offers_only_what_can_be(qtbot: QtBot, open_window: OpenWindow) -> None:
    window = open_window()
    dialog = window.servers.add_server()
    assert isinstance(dialog, ServerDialog)
    dialog.address.setText("unix:///run/redis.sock?db=1&password=secret")
    assert dialog.address.text() == "unix:///run/redis.sock?db=1"
    assert dialog.password.text() == "secret"
    typed(qtbot, dialog.user, "ada")
    assert dialog.place == "unix://ada@/run/redis.sock?db=1"
    dialog.reject()
