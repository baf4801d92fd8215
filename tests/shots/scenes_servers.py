"""Pictures of servers: the window on one, adding one, its password, its page."""

from __future__ import annotations

import time

from PySide6.QtWidgets import QDialog

from tests.shots import samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.stage import Stage, turn
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui import CURRENT
from torchkeeper.gui.dialogs.base import ConfirmDialog, confirm
from torchkeeper.gui.dialogs.server import ServerDialog
from torchkeeper.gui.window import Window

_LOCKED = user_error("password-needed", {"server": samples.SERVER})
_WRONG = user_error("password-wrong", {"server": samples.SERVER})
_FORBIDDEN = user_error(
    "server-forbids",
    {"server": samples.SERVER, "why": "NOPERM User ada has no permissions to run 'info'"},
)


def _on_server(stage: Stage, engines: SampleEngines) -> Window:
    settings: dict[str, object] = {CURRENT: samples.SERVER, "places/added": [samples.SERVER]}
    return stage.window(engines, settings=settings)


def _many(window: Window) -> ConfirmDialog:
    """What asks before very much goes; it is not for the pictures to make so many entries."""
    return confirm(
        window, "Remove at once", "Remove 112,400 entries for good?",
        f"124,080 keys (19.3 GB) on {samples.SERVER} are deleted, for everybody who uses it. "
        "This cannot be undone.",
        "&Remove for good", lambda: None, typed=112_400,
    )  # fmt: skip


def _window(stage: Stage) -> None:
    engines = SampleEngines()
    window = _on_server(stage, engines)
    stage.take("window-server", window)
    window.discovery.protect(samples.SERVER, True)
    stage.take("window-server-read-only", window)
    window.discovery.protect(samples.SERVER, False)
    window.table.select({entry.identity for entry in window.entries.shown()[2:7]})
    turn(0.1)
    window.flows.purge_selected()
    stage.opened("server-purge", window)
    stage.dialog("server-purge-many", _many(window))
    window.servers.set_expiry()
    stage.opened("server-expiry", window)
    window.servers.show_server()
    stage.opened("server-page", window)
    later, chosen = time.time() + 30 * 86_400 + 60, window.entries.shown()[2:7]
    keys = {entry.key for entry in chosen}
    engines.entries = [
        entry._replace(expires=later) if entry.key in keys else entry for entry in engines.entries
    ]
    window.actions_["refresh"].trigger()
    turn(0.4)
    window.table.select({entry.identity for entry in chosen})
    window.undo_bar.offer(samples.SERVER, "5 entries expire in 30 d", turn, "Clear expiry")
    stage.take("window-server-expiry", window)
    stage.close(window)
    engines = SampleEngines(silent={"list"}, progress={"list": (41_000, 200_400, "keys")})
    window = _on_server(stage, engines)
    stage.take("window-server-reading", window)
    stage.close(window)
    window = _on_server(stage, SampleEngines([]))
    stage.take("window-server-empty", window)
    stage.close(window)
    for name, error in (
        ("refused", user_error("server-refused", {"server": samples.SERVER})),
        ("locked", _LOCKED),
        ("lost", user_error("server-lost", {"server": samples.SERVER})),
    ):
        window = _on_server(stage, SampleEngines(failing={"list": error}))
        for dialog in window.findChildren(QDialog):
            dialog.reject()
        stage.take(f"window-server-{name}", window)
        stage.close(window)
    window = _on_server(stage, SampleEngines(failing={"server": _FORBIDDEN}))
    window.servers.show_server()
    stage.opened("server-page-failed", window)
    stage.close(window)


def _add(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines)
    stage.dialog("add-server", window.servers.add_server())
    dialog = window.servers.add_server()
    dialog.address.setText("rediss://ada:secret@cache.example.org:6380/2")
    dialog.test.click()
    stage.dialog("add-server-tls", dialog)
    dialog = window.servers.add_server()
    dialog.address.setText("ssh://gpu1")
    stage.dialog("add-server-machine", dialog)
    dialog = window.servers.add_server()
    dialog.address.setText("ssh://me@gpu1/redis://:secret@127.0.0.1:6379/0")
    dialog.test.click()
    stage.dialog("add-server-through", dialog)
    window.places.add("ssh://me@gpu1/redis://127.0.0.1:6379/0")
    stage.take("window-server-through", window)
    engines.failing["server"] = user_error("server-refused", {"server": samples.SERVER})
    dialog = window.servers.add_server()
    dialog.address.setText(samples.SERVER)
    dialog.test.click()
    stage.dialog("add-server-error", dialog)
    untrusted = {"server": "rediss://cache.example.org:6380/2", "why": "self-signed certificate"}
    engines.failing["server"] = user_error("certificate-untrusted", untrusted)
    dialog = window.servers.add_server()
    dialog.address.setText("rediss://cache.example.org:6380/2")
    dialog.test.click()
    stage.dialog("add-server-untrusted", dialog)
    stage.close(window)


def _edit(stage: Stage) -> None:
    engines = SampleEngines()
    window = _on_server(stage, engines)
    window.places.rename(samples.SERVER, "Team cache")
    window.show_title(samples.SERVER)
    stage.dialog("edit-server", _editing(window))
    dialog = _editing(window)
    dialog.forget.click()
    dialog.test.click()
    stage.dialog("edit-server-tested", dialog)
    window.discovery.protect(samples.SERVER, True)
    stage.take("window-server-named", window)
    stage.close(window)


def _editing(window: Window) -> ServerDialog:
    dialog = window.servers.edit_server()
    assert dialog is not None
    return dialog


def _password(stage: Stage) -> None:
    window = stage.window()
    stage.dialog("password", window.servers.ask_for_password(samples.SERVER, _LOCKED))
    stage.dialog("password-wrong", window.servers.ask_for_password(samples.SERVER, _WRONG))
    stage.close(window)


SCENES = {"server": _window, "add-server": _add, "edit-server": _edit, "password": _password}
