"""Pictures of servers: the window on one, adding one, its password, its page."""

from __future__ import annotations

from torchkeeper.gui.shots import samples
from torchkeeper.gui.shots.sample_engines import SampleEngines
from torchkeeper.gui.shots.stage import Stage, turn
from torchkeeper.gui.start import CURRENT
from torchkeeper.gui.window import Window
from torchkeeper.link.words import user_error

_LOCKED = user_error("password-needed", {"server": samples.SERVER})
_WRONG = user_error("password-wrong", {"server": samples.SERVER})


def _on_server(stage: Stage, engines: SampleEngines) -> Window:
    settings: dict[str, object] = {CURRENT: samples.SERVER, "places/added": [samples.SERVER]}
    return stage.window(engines, settings=settings)


def _window(stage: Stage) -> None:
    window = _on_server(stage, SampleEngines())
    stage.take("window-server", window)
    window.places.set_read_only(samples.SERVER, True)
    stage.take("window-server-read-only", window)
    window.places.set_read_only(samples.SERVER, False)
    window.table.select({entry.identity for entry in window.entries.shown()[2:7]})
    turn(0.1)
    window.flows.purge_selected()
    stage.opened("server-purge", window)
    window.servers.set_expiry()
    stage.opened("server-expiry", window)
    window.servers.show_server()
    stage.opened("server-page", window)
    stage.close(window)
    engines = SampleEngines(silent={"list"}, progress={"list": (41_000, 200_400, "keys")})
    window = _on_server(stage, engines)
    stage.take("window-server-reading", window)
    stage.close(window)
    window = _on_server(stage, SampleEngines([]))
    stage.take("window-server-empty", window)
    stage.close(window)
    refused = user_error("server-refused", {"server": samples.SERVER})
    window = _on_server(stage, SampleEngines(failing={"list": refused}))
    stage.take("window-server-refused", window)
    stage.close(window)


def _add(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines)
    stage.dialog("add-server", window.servers.add_server())
    dialog = window.servers.add_server()
    dialog.address.setText("rediss://ada:secret@cache.example.org:6380/2")
    dialog.test.click()
    stage.dialog("add-server-tls", dialog)
    engines.failing["facts"] = user_error("server-refused", {"server": samples.SERVER})
    dialog = window.servers.add_server()
    dialog.address.setText(samples.SERVER)
    dialog.test.click()
    stage.dialog("add-server-error", dialog)
    stage.close(window)


def _password(stage: Stage) -> None:
    window = stage.window()
    stage.dialog("password", window.servers.ask_for_password(samples.SERVER, _LOCKED))
    stage.dialog("password-wrong", window.servers.ask_for_password(samples.SERVER, _WRONG))
    stage.close(window)


SCENES = {"server": _window, "add-server": _add, "password": _password}
