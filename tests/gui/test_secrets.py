"""What the window does about secrets that would leave, and about what PyTorch never writes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, OpenWindow, click, idle
from tests.gui.test_dragging import drag, mouse
from tests.gui.test_exporting import ask
from tests.gui.test_flows import open_dialog
from torchkeeper.client.engines.process import Engine
from torchkeeper.gui.dialogs.copying import CopyDialog
from torchkeeper.gui.dialogs.exporting import ExportDialog
from torchkeeper.gui.dialogs.importing import ImportDialog
from torchkeeper.gui.jobs.model import State

PASSWORD = b"hunter2-not-a-real-password"


@pytest.fixture
def leaking(kept_291: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(kept_291, tmp_path / "leaking"))


def test_export_asks_what_is_to_become_of_secrets(
    qtbot: QtBot, open_window: OpenWindow, leaking: Path, tmp_path: Path
) -> None:
    window = open_window(leaking)
    output = tmp_path / "o.torchcache"
    dialog = ask(qtbot, window, output)
    assert dialog.secrets.isVisible()
    assert dialog.secrets.heading.text() == "7 passwords or keys found in 7 entries"
    said = dialog.secrets.list.toPlainText()
    assert len(said.splitlines()) == 7
    assert "byte 4,205: redis://:…@127.0.0.1" in said
    assert "/srv/train/make_cache.py" in dialog.secrets.private.text()
    assert not dialog.go.isEnabled()
    assert "Choose what to do with them" in dialog.go.toolTip()
    dialog.secrets.choice.setCurrentIndex(0)
    assert dialog.go.isEnabled()
    click(qtbot, dialog.go)
    idle(qtbot, window)
    [job] = window.jobs.jobs
    assert (job.state, job.result["leaks"]["redacted"]) == (State.DONE, 7)
    assert PASSWORD not in output.read_bytes()
    assert PASSWORD.decode() not in "\n".join(job.log)
    assert "Secrets were redacted in 7 entries." in job.log


@pytest.mark.slow
def test_so_does_copy_but_not_where_nobody_else_reads(
    qtbot: QtBot, open_window: OpenWindow, leaking: Path, tmp_path: Path
) -> None:
    window = open_window(leaking)
    window.actions_["copy-to"].trigger()
    dialog = open_dialog(qtbot, window, CopyDialog)
    dialog.target.choose(str(tmp_path / "mine"))
    qtbot.waitUntil(lambda: dialog.known, timeout=PATIENCE)
    assert not dialog.secrets.isVisible()
    assert dialog.go.isEnabled()
    dialog.target.choose(str(tmp_path / "new.torchcache"))
    qtbot.waitUntil(lambda: dialog.known and dialog.secrets.isVisible(), timeout=PATIENCE)
    assert not dialog.go.isEnabled()
    dialog.secrets.choice.setCurrentIndex(1)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    [job] = window.jobs.jobs
    assert (job.state, job.result["entries"]) == (State.DONE, 37)
    assert PASSWORD not in (tmp_path / "new.torchcache").read_bytes()


def test_a_drag_is_no_way_around_it(
    qtbot: QtBot, open_window: OpenWindow, leaking: Path, tmp_path: Path
) -> None:
    window = open_window(leaking)
    graphs = {e.identity for e in window.entries.shown() if e.kind == "fxgraph"}
    window.table.select(graphs)
    failed: list[object] = []
    window.dragging.failed.connect(failed.append)
    row = next(n for n in range(60) if window.entries.shown()[n].kind == "fxgraph")
    at = drag(window, row)
    qtbot.waitUntil(lambda: bool(failed), timeout=PATIENCE)
    why = "Nothing was dragged out, because secrets were found."
    assert window.statusBar().currentMessage() == why, "while the button is held"
    mouse(window, QEvent.Type.MouseMove, at + QPoint(0, 20))
    mouse(window, QEvent.Type.MouseButtonRelease, at, held=False)
    assert window.statusBar().currentMessage() == why, "and not that it was let go of too soon"
    assert getattr(failed[0], "code", "") == "dragged-secrets"
    idle(qtbot, window)
    made = Path(os.environ["HOME"]).rglob("*.torchcache")
    assert not any(PASSWORD in path.read_bytes() for path in made)
    assert window.error_bar.what.text() == why
    assert "asks before it puts them into a bundle" in window.error_bar.why.text()
    [button] = window.error_bar.remedies.buttons
    assert button.text() == "Export…"
    click(qtbot, button)
    dialog = open_dialog(qtbot, window, ExportDialog)
    dialog.needed.setChecked(False)
    qtbot.waitUntil(
        lambda: dialog.plan is not None and dialog.plan["entries"] == len(graphs), timeout=PATIENCE
    )
    assert dialog.secrets.isVisible() and dialog.secrets.undecided
    dialog.reject()


def wait_for(qtbot: QtBot, dialog: ImportDialog) -> None:
    qtbot.waitUntil(lambda: dialog.ready and dialog.known, timeout=PATIENCE)


def test_what_pytorch_never_writes_wants_a_word(
    qtbot: QtBot, open_window: OpenWindow, fixture_cache: Path, tmp_path: Path
) -> None:
    hostile = b"\x80\x04}\x8c\x01a\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85Rs."
    (fixture_cache / "dynamo" / "code_state_evil_0_.pkl").write_bytes(hostile)
    bundle = tmp_path / "b.torchcache"
    with Engine() as engine:
        engine.call("export", {"place": str(fixture_cache), "output": str(bundle)})
    window = open_window(fixture_cache)
    for file, odd in ((bundle, True), (None, False)):
        if file is None:
            (fixture_cache / "dynamo" / "code_state_evil_0_.pkl").unlink()
            file = tmp_path / "good.torchcache"
            with Engine() as engine:
                engine.call("export", {"place": str(fixture_cache), "output": str(file)})
        dialog = window.flows.open_import([str(file)])
        dialog.target.choose(str(tmp_path / "into"))
        wait_for(qtbot, dialog)
        assert dialog.anyway.isVisible() == odd
        assert ("os.system" in dialog.strange.text()) == odd
        assert "Code that it can run: FX graph: 7 pickles" in dialog.trust.text()
        assert dialog.go.isEnabled() != odd
        dialog.anyway.setChecked(True)
        assert dialog.go.isEnabled()
        dialog.reject()
