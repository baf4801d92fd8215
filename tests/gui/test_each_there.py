"""Each cache of a bundle goes to its own place on another machine, from the window."""

from __future__ import annotations

from pathlib import Path

from pytestqt.qtbot import QtBot

from tests.gui.conftest import OpenWindow, click, idle
from tests.gui.test_machines import opened, sent_there
from tests.ssh.conftest import Machine, forks, sshd, there, tk
from tests.stores.test_jit_carrying import mine
from tests.stores.test_jits import machine, serving
from torchkeeper.client.engines.process import Engine
from torchkeeper.engine.protocol import EXPORT
from torchkeeper.gui.jobs.model import State

__all__ = ["forks", "machine", "serving", "sshd", "there", "tk"]


def test_each_cache_goes_to_its_own_place_there_and_is_sent_once(
    qtbot: QtBot, there: Machine, open_window: OpenWindow, machine: Path, tmp_path: Path
) -> None:
    bundle, here = tmp_path / "b.torchcache", tmp_path / "here"
    here.mkdir()
    (new := there.home / "new").mkdir()
    with Engine() as engine:
        places = {"place": str(machine / "tilelang"), "also": [str(machine / "tvm-ffi")]}
        engine.call(EXPORT, {**places, "output": str(bundle)})
    window = open_window(here)
    place = opened(qtbot, window, there, new)
    dialog = window.flows.open_import([str(bundle)], place)
    qtbot.waitUntil(dialog.look.isVisible)
    qtbot.waitUntil(dialog.each.box.isVisible)
    assert not sent_there(there)
    dialog.each.box.click()
    assert not dialog.go.isEnabled()
    qtbot.waitUntil(dialog.go.isEnabled)
    rows = [[one.text(n) for n in (0, 1, 4, 5)] for one in dialog.each.table.items()]
    assert rows == [
        ["TileLang", f"ssh://there{there.home}/.tilelang/cache", "2", "0"],
        ["tvm-ffi", f"ssh://there{there.home}/.cache/tvm-ffi", "1", "0"],
    ]
    assert dialog.news.text().startswith("2 caches go to where there has them")
    assert len(sent_there(there)) == 1 and not (there.home / ".tilelang").exists()
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert [job.state for job in window.jobs.jobs] == [State.DONE] * 2
    assert mine(there.home / ".tilelang" / "cache") == mine(machine / "tilelang")
    assert mine(there.home / ".cache" / "tvm-ffi") == mine(machine / "tvm-ffi")
    qtbot.waitUntil(lambda: not sent_there(there))
