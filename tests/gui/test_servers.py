"""A Redis server as a place of the window: added, let in to, listed, left alone."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, idle, listed, settle, type_in
from tests.redis_server import Server, dump, free_port, serving
from torchkeeper.artifacts.entry import Entry, tallied
from torchkeeper.artifacts.layout import payload_name
from torchkeeper.client import secrets
from torchkeeper.client.kept import protected
from torchkeeper.client.kept import whole as kept
from torchkeeper.client.words.environments import meanings
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine.messages.dead import Removed
from torchkeeper.gui import start
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs.base import ConfirmDialog
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.dialogs.server import ServerDialog
from torchkeeper.gui.dialogs.serverpage import PasswordDialog
from torchkeeper.gui.jobs.model import State, state_text
from torchkeeper.gui.places import servers as gui_facts
from torchkeeper.gui.places.model import Place, PlacesModel
from torchkeeper.gui.places.servers import AT_ONCE, REST_MS, SELECTED
from torchkeeper.gui.table.rows import EXPIRES, MTIME, SIZE, USED, cell_text
from torchkeeper.gui.window import Window
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


def opened(qtbot: QtBot, open_window: OpenWindow, port: int) -> Window:
    """A window that has listed the server."""
    window = open_window()
    place = f"redis://127.0.0.1:{port}/0"
    window.open_paths([place])
    read(qtbot, window, place)
    return window


def graph_key(number: int) -> str:
    """The key of a graph, as PyTorch makes it of a digest."""
    name = payload_name(hashlib.sha256(b"%d" % number).hexdigest())
    return f"pt2:fx-graph-v1::f{name}:c1"


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
    trial = dialog.trial
    qtbot.waitUntil(
        lambda: "ours" in trial.facts and "PyTorch" in trial.facts["ours"].text(), timeout=PATIENCE
    )
    assert "accepts the login" in trial.said.text()
    told = {name: label.text() for name, label in trial.facts.items()}
    assert told["ours"].startswith("12 of PyTorch · ") and told["keys"] == "13"
    assert told["version"].count(".") == 2 and "no limit" in told["memory"]
    assert told["changes"] == "allowed"
    click(qtbot, dialog.go)
    place = f"redis://127.0.0.1:{port}/0"
    read(qtbot, window, place)
    assert window.listing.error is None
    entries = window.entries.shown()
    assert len(entries) == 12 and {e.kind for e in entries} >= {"fxgraph", "aotautograd"}
    assert window.stack.currentWidget() is window.table
    assert window.head.title.toolTip() == f"127.0.0.1:{port}/0"
    assert window.trash_label.button.text() == ""
    assert not window.listing.can_poll, "nobody looks at a server by himself"
    assert not window.actions_["undo"].isEnabled()
    assert settings.value("places/added") in (place, [place])
    window.table.go_to_row(0)
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


@pytest.mark.slow
def test_the_password_for_any_server_is_given_to_those_that_want_one(
    qtbot: QtBot, open_window: OpenWindow, server: Server, port: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv(secrets.VARIABLE, SECRET)
    window = opened(qtbot, open_window, port)
    assert window.entries.total > 0, "this one would refuse it"
    server("CONFIG", "SET", "requirepass", SECRET)
    locked = f"redis://localhost:{port}/0"
    window.open_paths([locked])
    read(qtbot, window, locked)
    assert (window.listing.error, window.entries.total > 0) == (None, True)
    assert window.findChildren(PasswordDialog) == []


@pytest.mark.slow
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
    assert window.empty.button is not None
    assert window.empty.button.text() == "Enter password…"
    click(qtbot, window.empty.button)
    asked("password-wrong").reject()


@pytest.mark.slow
def test_what_is_wrong_is_said_in_the_dialog(
    qtbot: QtBot, open_window: OpenWindow, locked_port: int, tmp_path: Path
) -> None:
    window = open_window()
    dialog = window.servers.add_server()

    def failure(button: QWidget) -> str:
        """The code of what the trial ends with, which is said with what to do about it."""
        seen: list[UserError] = []
        dialog.trial.failed.connect(seen.append)
        click(qtbot, button)
        qtbot.waitUntil(lambda: bool(seen), timeout=PATIENCE)
        dialog.trial.failed.disconnect(seen.append)
        assert dialog.isVisible() and dialog.trial.notice.isVisible()
        assert dialog.trial.notice.remedy.text()
        assert "wrong!" not in dialog.trial.notice.accessibleName(), "not the password itself"
        return seen[0].code

    typed(qtbot, dialog.address, "redis://host:port/0")
    assert failure(dialog.go) == "address-wrong"
    typed(qtbot, dialog.address, f"redis://127.0.0.1:{free_port()}/0")
    assert not dialog.trial.isVisible(), "that was about another address"
    assert failure(dialog.test) == "server-refused"
    assert dialog.focusWidget() is dialog.address
    typed(qtbot, dialog.address, f"redis://127.0.0.1:{locked_port}/0")
    typed(qtbot, dialog.password, "wrong!")
    assert failure(dialog.test) == "password-wrong"
    assert dialog.password.hasFocus()
    dialog.password.setText(SECRET)
    typed(qtbot, dialog.address, f"127.0.0.1:{locked_port}/99")
    assert failure(dialog.test) == "database-out-of-range"
    assert "end of the address" in dialog.trial.notice.remedy.text()
    typed(qtbot, dialog.address, f"rediss://127.0.0.1:{locked_port}/0")
    assert failure(dialog.test) == "server-no-tls"
    typed(qtbot, dialog.ca.edit, str(tmp_path / "ca.pem"))
    assert failure(dialog.test) == "certificate-file"
    assert dialog.ca.edit.hasFocus()
    typed(qtbot, dialog.ca.edit, "ca.pem")
    assert failure(dialog.go) == "address-wrong"
    assert "whole path" in dialog.trial.notice.why.text()
    dialog.reject()
    # What was tried is nobody's password.
    assert secrets.password_of(f"redis://127.0.0.1:{locked_port}/0") is None


@pytest.mark.slow
def test_what_may_be_changed_is_said(
    qtbot: QtBot, open_window: OpenWindow, server: Server, port: int
) -> None:
    server("ACL", "SETUSER", "reader", "on", f">{SECRET}", "~pt2:*", "+@read", "+info", "+ping")
    server("ACL", "SETUSER", "keeper", "on", f">{SECRET}", "~pt2:*", "+@read", "+info", "+set")
    before = dump()
    window = open_window()
    dialog = window.servers.add_server()
    facts = dialog.trial.facts
    for user, said in (
        ("reader", "none: this user may not"),
        ("keeper", "copying to it; not setting an expiry or purging (this user may not)"),
    ):
        dialog.address.setText(f"redis://{user}:{quote(SECRET, safe='')}@127.0.0.1:{port}/0")
        assert not facts
        click(qtbot, dialog.test)
        qtbot.waitUntil(lambda: "changes" in facts, timeout=PATIENCE)
        assert facts["changes"].text() == said
    dialog.reject()
    assert server("DBSIZE") == len(before) + 1, "nothing was tried on what is there"
    with serving(Path(window.settings.fileName()).parent / "second") as second:
        second("REPLICAOF", "127.0.0.1", port)
        dialog = window.servers.add_server()
        dialog.address.setText(second.url)
        click(qtbot, dialog.test)
        qtbot.waitUntil(lambda: "changes" in dialog.trial.facts, timeout=PATIENCE)
        assert dialog.trial.facts["changes"].text() == "none: it is a replica"
        dialog.reject()


@pytest.mark.slow
def test_a_server_is_edited(
    qtbot: QtBot, open_window: OpenWindow, settings: QSettings, locked_port: int
) -> None:
    window = open_window()
    old = f"redis://127.0.0.1:{locked_port}/0"
    secrets.give(old, SECRET)
    window.open_paths([old])
    read(qtbot, window, old)
    window.discovery.protect(old, True)
    dialog = window.servers.edit_server()
    assert dialog is not None
    assert dialog.address.text() == old and dialog.read_only.isChecked()
    assert dialog.password.text() == "", "nobody is shown it"
    dialog.address.setText(f"redis://127.0.0.1:{locked_port}/1")
    typed(qtbot, dialog.name, "Team cache")
    click(qtbot, dialog.test)
    facts = dialog.trial.facts
    qtbot.waitUntil(lambda: "changes" in facts, timeout=PATIENCE)
    assert facts["keys"].text() == "0"
    click(qtbot, dialog.go)
    new = f"redis://127.0.0.1:{locked_port}/1"
    read(qtbot, window, new)
    assert window.listing.error is None, "the password went with it"
    assert window.entries.total == 0
    assert [p.path for p in window.places.places if p.server] == [new]
    [place] = [p for p in window.places.places if p.server]
    assert (place.title, place.about) == ("Team cache", f"127.0.0.1:{locked_port}/1")
    assert place.read_only
    assert window.head.title.toolTip() == "Team cache"
    qtbot.waitUntil(lambda: protected.protected() == [new], timeout=PATIENCE)
    # To another host no password goes by itself, and a name can be taken back.
    dialog = window.servers.edit_server()
    assert dialog is not None
    dialog.address.setText(f"redis://localhost:{locked_port}/0")
    elsewhere = dialog.keeps_password
    dialog.address.setText(f"rediss://127.0.0.1:{locked_port}/1")
    assert (elsewhere, dialog.keeps_password) == (False, True), "over TLS it is safer"
    dialog.address.setText(new)
    dialog.name.clear()
    dialog.read_only.setChecked(False)
    click(qtbot, dialog.go)
    read(qtbot, window, new)
    settle(qtbot)
    assert window.head.title.toolTip() == f"127.0.0.1:{locked_port}/1"
    qtbot.waitUntil(lambda: protected.protected() == [], timeout=PATIENCE)
    again = PlacesModel(settings)
    assert [(p.path, p.name) for p in again.places] == [(new, "")]


@pytest.mark.slow
def test_a_forgotten_password_is_asked_for_again(
    qtbot: QtBot, open_window: OpenWindow, locked_port: int
) -> None:
    window = open_window()
    place = f"redis://127.0.0.1:{locked_port}/0"
    secrets.give(place, SECRET)
    window.open_paths([place])
    read(qtbot, window, place)
    assert window.entries.total == 12
    window.actions_["forget-password"].trigger()
    assert "is forgotten" in window.statusBar().currentMessage()
    window.actions_["refresh"].trigger()
    qtbot.waitUntil(
        lambda: any(x.isVisible() for x in window.findChildren(PasswordDialog)), timeout=PATIENCE
    )
    for dialog in window.findChildren(PasswordDialog):
        dialog.reject()


@pytest.mark.slow
def test_a_server_of_the_environment(
    qtbot: QtBot, open_window: OpenWindow, locked_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = quote(SECRET, safe="")
    monkeypatch.setenv("TORCHINDUCTOR_REDIS_URL", f"redis://:{secret}@127.0.0.1:{locked_port}/0")
    window = open_window()
    place = f"redis://127.0.0.1:{locked_port}/0"
    [found] = [p for p in window.places.places if p.server]
    assert found.path == place and found.about == "Redis · TORCHINDUCTOR_REDIS_URL"
    window.places_pane.choose(place)
    read(qtbot, window, place)
    assert window.entries.total == 12
    assert not window.actions_["remove-place"].isEnabled()
    dialog = window.servers.edit_server()
    assert dialog is not None
    assert not dialog.address.isEnabled() and "TORCHINDUCTOR_REDIS_URL" in dialog.where.text()
    typed(qtbot, dialog.name, "CI")
    click(qtbot, dialog.go)
    read(qtbot, window, place)
    assert window.head.title.toolTip() == "CI"


@pytest.mark.slow
def test_a_server_is_added_by_keys_alone(
    qtbot: QtBot, open_window: OpenWindow, locked_port: int
) -> None:
    window = open_window()
    dialog = window.servers.add_server()

    def key(which: Qt.Key) -> None:
        at = dialog.focusWidget()
        assert at is not None
        qtbot.keyClick(at, which)  # type: ignore[no-untyped-call]

    assert dialog.focusWidget() is dialog.address
    type_in(qtbot, dialog.address, f"127.0.0.1:{locked_port}")
    order = [dialog.address, dialog.user, dialog.password, dialog.name, dialog.read_only,
             dialog.test, dialog.cancel, dialog.go]  # fmt: skip
    for widget in order[1:]:
        key(Qt.Key.Key_Tab)
        assert dialog.focusWidget() is widget, widget.accessibleName()
    dialog.password.setFocus()
    dialog.password.setText(SECRET)
    key(Qt.Key.Key_Return)
    read(qtbot, window, f"redis://127.0.0.1:{locked_port}/0")
    assert window.entries.total == 12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pasted", "address", "user", "password"),
    [
        ("redis://h:1/2", "redis://h:1/2", "", ""),
        ("export TORCHINDUCTOR_REDIS_URL=redis://:a%40b@h:1/2\n", "redis://h:1/2", "", "a@b"),
        ('TORCHINDUCTOR_REDIS_URL="rediss://ada:pw@h/0"; ', "rediss://h/0", "ada", "pw"),
        ("redis-cli -u redis://ada:p:w@h:1", "redis://h:1", "ada", "p:w"),
        ("ada:pw@h:6379", "h:6379", "ada", "pw"),
        ("unix://ada:pw@/run/r.sock?db=1", "unix:///run/r.sock?db=1", "ada", "pw"),
        ("redis://h/0?password=x&protocol=3", "redis://h/0?protocol=3", "", "x"),
    ],
)
def test_what_is_pasted_is_taken_apart(
    qtbot: QtBot, open_window: OpenWindow, pasted: str, address: str, user: str, password: str
) -> None:
    dialog = open_window().servers.add_server()
    QGuiApplication.clipboard().setText(pasted)
    qtbot.keyClick(dialog.address, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)  # type: ignore[no-untyped-call]
    got = dialog.address.text(), dialog.user.text(), dialog.password.text()
    assert got == (address, user, password)
    assert isinstance(dialog.place, str)
    dialog.reject()


@pytest.mark.slow
def test_the_read_only_switch_is_remembered(
    qtbot: QtBot, open_window: OpenWindow, port: int
) -> None:
    window = opened(qtbot, open_window, port)
    place = f"redis://127.0.0.1:{port}/0"
    switch = window.actions_["read-only"]
    assert switch.isEnabled() and not switch.isChecked()
    switch.trigger()
    settle(qtbot)
    assert switch.isChecked() and window.places.read_only(place)
    assert [p.read_only for p in window.places.places if p.server] == [True]
    qtbot.waitUntil(lambda: protected.protected() == [place], timeout=PATIENCE)
    window.table.selectAll()
    settle(qtbot)
    assert window.actions_["export"].isEnabled()
    for name in ("purge", "purge-shown", "expiry"):
        assert not window.actions_[name].isEnabled(), name
        assert "read-only" in window.actions_[name].toolTip(), name
    assert "read-only" not in window.actions_["undo"].toolTip(), "it is off for another reason"
    again = open_window()
    qtbot.waitUntil(lambda: again.places.read_only(place), timeout=PATIENCE)
    switch.trigger()
    settle(qtbot)
    assert not switch.isChecked() and window.actions_["purge"].isEnabled()
    assert "(Del" in window.actions_["purge"].toolTip()
    # What another window, or a command, has said since holds too.
    again.actions_["refresh"].trigger()
    qtbot.waitUntil(lambda: not again.places.read_only(place), timeout=PATIENCE)


@pytest.mark.slow
def test_a_folder_that_is_read_only_stays_as_it_is(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    window = open_window(fixture_cache)
    place = str(fixture_cache)
    window.table.go_to_row(0)
    settle(qtbot)
    window.flows.purge_selected()
    dialog = next(x for x in window.findChildren(PurgeDialog) if x.isVisible())
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    # Said meanwhile by a command: the window does not know it yet.
    protected.protect(place, True)
    click(qtbot, dialog.go)
    qtbot.waitUntil(lambda: window.error_bar.error is not None, timeout=PATIENCE)
    assert window.error_bar.error is not None
    assert window.error_bar.error.code == "place-protected"
    idle(qtbot, window)
    window.actions_["refresh"].trigger()
    qtbot.waitUntil(lambda: window.places.read_only(place), timeout=PATIENCE)
    idle(qtbot, window)
    assert not window.actions_["purge"].isEnabled()
    other = tmp_path / "other"
    other.mkdir()
    window.open_paths([str(other)])
    listed(qtbot, window, other)
    warm = window.flows.warm()
    assert warm.target.path == str(other)
    assert warm.target.combo.findData(place) < 0
    warm.target.combo.setEditText(place)
    assert not warm.go.isEnabled() and "is read-only" in warm.wrong.text()
    warm.reject()
    window.listing.refresh()
    idle(qtbot, window)


@pytest.mark.slow
def test_a_switch_that_cannot_be_kept_goes_back(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path
) -> None:
    window = open_window(fixture_cache)
    Path(kept.file("read-only")).parent.mkdir(parents=True, exist_ok=True)
    Path(kept.file("read-only")).write_text("damaged")
    window.actions_["read-only"].trigger()
    qtbot.waitUntil(lambda: window.error_bar.error is not None, timeout=PATIENCE)
    settle(qtbot)
    assert not window.places.read_only(str(fixture_cache))
    assert not window.actions_["read-only"].isChecked()


@pytest.mark.slow
def test_what_is_on_the_screen_is_known_a_moment_later(
    qtbot: QtBot, open_window: OpenWindow, server: Server, port: int
) -> None:
    window = opened(qtbot, open_window, port)
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
    window.inspector_frame.toggle() if not window.inspector.isVisible() else None
    window.table.select({("fxgraph", graph)})
    inspector = window.inspector
    qtbot.waitUntil(lambda: inspector.detail is not None, timeout=PATIENCE)
    assert inspector.detail is not None and inspector.detail.graphs
    facts = inspector.facts.toPlainText()
    assert "On the server" in facts and "Expires" in facts


@pytest.mark.slow
def test_the_table_says_when_entries_go_and_all_can_be_put_in_that_order(
    qtbot: QtBot, open_window: OpenWindow, server: Server, port: int, fixture_cache: Path
) -> None:
    window = open_window()
    place = f"redis://127.0.0.1:{port}/0"
    paths = sorted(key for key in dump() if "fx-graph" in key)
    for number, path in enumerate(paths[:3]):
        server("EXPIRE", path, 86_400 * (3 - number))
    window.open_paths([place])
    read(qtbot, window, place)
    header = window.table.horizontalHeader()
    assert not header.isSectionHidden(EXPIRES) and not header.isSectionHidden(USED)
    assert header.isSectionHidden(MTIME), "a server does not know it"
    qtbot.waitUntil(
        lambda: all(e.expires is not None for e in window.entries.shown()), timeout=PATIENCE
    )
    known = window.entries.shown()
    assert {cell_text(e, EXPIRES) for e in known} == {"in 24 h", "in 2 d", "in 3 d", "never"}
    window.table.sortByColumn(EXPIRES, Qt.SortOrder.AscendingOrder)
    assert window.listing.times and window.listing.loading
    read(qtbot, window, place)
    assert [e.path for e in window.entries.shown()[:3]] == paths[2::-1]
    assert all(e.torch for e in window.entries.shown()[:3]), "what was known stays"
    window.actions_["refresh"].trigger()
    server("EXPIRE", paths[5], 3600)
    window.listing.times = False
    type_in(qtbot, window.head.box, "expires<30h")
    qtbot.waitUntil(lambda: window.entries.count == 2, timeout=PATIENCE)
    assert {e.path for e in window.entries.shown()} == {paths[2], paths[5]}
    window.head.clear_filter()
    window.open_paths([str(fixture_cache)])
    listed(qtbot, window, fixture_cache)
    assert header.isSectionHidden(EXPIRES) and not header.isSectionHidden(MTIME)
    assert header.sortIndicatorSection() == SIZE
    assert not window.listing.times


@pytest.mark.slow
def test_a_filter_by_expiry_holds_on_the_next_server_too(
    qtbot: QtBot, open_window: OpenWindow, server: Server, port: int, fixture_cache: Path
) -> None:
    window = open_window()
    first, second = (f"redis://127.0.0.1:{port}/{db}" for db in (0, 1))
    path = next(key for key in sorted(dump()) if "fx-graph" in key)
    server("EXPIRE", path, 3600)
    server("COPY", path, path, "DB", 1)
    window.open_paths([first])
    read(qtbot, window, first)
    type_in(qtbot, window.head.box, "expires<30h")
    qtbot.waitUntil(lambda: window.entries.count == 1, timeout=PATIENCE)
    window.open_paths([second])
    read(qtbot, window, second)
    assert [e.path for e in window.entries.shown()] == [path]
    window.head.clear_filter()
    window.table.sortByColumn(EXPIRES, Qt.SortOrder.AscendingOrder)
    window.open_paths([str(fixture_cache)])
    listed(qtbot, window, fixture_cache)
    assert (window.listing.times, window.listing._again) == (False, False)
    window.places_pane.choose(first)
    assert (window.listing.times, window.listing._again) == (True, False), "once is enough"
    read(qtbot, window, first)
    assert window.entries.shown()[0].path == path


class Questions:
    """What the engines are asked for, passed on to them."""

    def __init__(self, engines: Engines, monkeypatch: pytest.MonkeyPatch) -> None:
        self.facts: list[set[str]] = []
        ask = engines.ask

        def heard(op: str, params: Mapping[str, Any], listener: Listener, **how: Any) -> int:
            if op == "facts" and params["items"]:
                self.facts.append({path for _, path in params["items"]})
            return ask(op, params, listener, **how)

        monkeypatch.setattr(engines, "ask", heard)

    @property
    def asked(self) -> int:
        """How many entries were asked for."""
        return sum(map(len, self.facts))


@pytest.mark.slow
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


@pytest.mark.slow
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
    window = opened(qtbot, open_window, port)
    place = f"redis://127.0.0.1:{port}/0"
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


@pytest.mark.slow
def test_the_number_is_to_be_typed_before_many_entries_of_others_go(
    qtbot: QtBot, open_window: OpenWindow, server: Server, port: int
) -> None:
    server.load({graph_key(n): b"{}" for n in range(1200)})
    window = opened(qtbot, open_window, port)
    place = f"redis://127.0.0.1:{port}/0"
    window.flows.purge_shown()
    dialog = next(x for x in window.findChildren(PurgeDialog) if x.isVisible())
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    click(qtbot, dialog.go)
    confirm = next(x for x in window.findChildren(ConfirmDialog) if x.isVisible())
    assert "1,212 keys" in confirm.detail.text() and place in confirm.detail.text()
    assert confirm.cancel.isDefault() and not confirm.go.isEnabled()
    typed(qtbot, confirm.typed, "121")
    assert not confirm.go.isEnabled()
    typed(qtbot, confirm.typed, "1,212")
    # Some go meanwhile, and one is another: they are left and counted.
    server("DEL", graph_key(7))
    server("SET", graph_key(8), "longer than before")
    click(qtbot, confirm.go)
    idle(qtbot, window)
    [job] = [job for job in window.jobs.jobs if job.kind == "purge"]
    assert job.left == 2 and "2 left out" in job.note
    assert server("DBSIZE") == 2, "a changed one, and somebody else's"


@pytest.mark.slow
def test_a_purge_that_is_cancelled_says_what_had_gone(
    qtbot: QtBot, open_window: OpenWindow, server: Server, port: int
) -> None:
    server("FLUSHALL")
    server.load({graph_key(n): b"{}" for n in range(20_000)})
    window = opened(qtbot, open_window, port)
    window.flows.purge_shown()
    dialog = next(x for x in window.findChildren(PurgeDialog) if x.isVisible())
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    click(qtbot, dialog.go)
    confirm = next(x for x in window.findChildren(ConfirmDialog) if x.isVisible())
    confirm.typed.setText("20000")
    click(qtbot, confirm.go)
    [job] = [job for job in window.jobs.jobs if job.kind == "purge"]
    qtbot.waitUntil(lambda: job.done > 0 or not job.active, timeout=PATIENCE)
    window.operations.cancel(job)
    idle(qtbot, window)
    left = server("DBSIZE")
    assert isinstance(left, int) and window.entries.total == left
    if job.state is State.CANCELLED:  # it may have been faster
        assert f"Removed by then: {20_000 - left:,} of 20,000 entries" in state_text(job)


def test_a_purge_that_is_cancelled_says_what_is_gone_for_good(
    open_window: OpenWindow,
) -> None:
    window = open_window()
    job = window.jobs.add("Purge it", "purge", "redis://127.0.0.1:1/0")
    window.jobs.begin(job)
    gone: Removed = {
        "entries": 1500, "locks": 0, "headers": 0, "unknown": 0,
        "bytes": 3_000_000, "of": tallied(200_000), "sure": True,
    }  # fmt: skip
    window.operations._findings(job, [{"removed": gone}])
    window.operations._ended(job, State.CANCELLED)
    said = "Removed by then: 1,500 of 200,000 entries, 3.0 MB."
    assert state_text(job) == f"Cancelled: {said}"
    assert said in job.log


@pytest.mark.slow
def test_entries_of_a_server_can_expire(
    qtbot: QtBot, open_window: OpenWindow, server: Server, port: int
) -> None:
    window = opened(qtbot, open_window, port)
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
    idle(qtbot, window)
    assert window.undo_bar.text.text() == "1 entry expires in 2 d"
    click(qtbot, window.undo_bar.button)
    qtbot.waitUntil(lambda: server("TTL", chosen.path) == -1, timeout=PATIENCE)
    idle(qtbot, window)
    assert not window.undo_bar.isVisible()
    server("EXPIRE", chosen.path, 1000)
    dialog = window.servers.set_expiry()
    assert dialog is not None
    dialog.unit.setCurrentIndex(3)
    assert not dialog.number.isEnabled()
    click(qtbot, dialog.go)
    qtbot.waitUntil(lambda: len(window.jobs.active) == 0, timeout=PATIENCE)
    assert server("TTL", chosen.path) == -1
    idle(qtbot, window)


@pytest.mark.slow
def test_the_page_of_a_server_says_what_its_figures_mean(
    qtbot: QtBot, open_window: OpenWindow, port: int
) -> None:
    window = opened(qtbot, open_window, port)
    page = window.servers.show_server()
    assert page is not None
    qtbot.waitUntil(lambda: page.form.rowCount() > 5, timeout=PATIENCE)
    texts = {label.text() for label in page.findChildren(QLabel)}
    assert {"Version", "13", "13 (100%)", "noeviction", "What that means"} <= texts
    assert any(text.startswith("No key expires") for text in texts)
    page.reject()


def test_every_meaning_has_words() -> None:
    for meaning in MEANINGS:
        page: Any = {"meanings": [meaning]}
        assert len(meanings(page)) == 1
    page = {"meanings": ["of-tomorrow"]}
    assert meanings(page) == []


@pytest.mark.slow
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
    assert (Place(place).title, Place(place).about) == (title, where)
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
