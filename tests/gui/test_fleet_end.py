"""How a fleet ends with its window, how another start goes on, and a bundle that is signed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from tests.fleet.conftest import BAD, KERNELS
from tests.gui.conftest import PATIENCE, OpenWindow, click, idle
from tests.gui.test_fleet import ADD, page_of
from tests.gui.test_leaving import asked
from tests.ssh.conftest import keygen
from torchkeeper.artifacts.report import Report
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.matrix.cells import WARM
from torchkeeper.stores.bundles import signing

SOME = "[32, 64, 128, 256, 512, 1024]"


@pytest.fixture
def recipes(tmp_path: Path, torch_python: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", torch_python)
    folder = tmp_path / "recipes"
    folder.mkdir()
    (folder / "kernels.py").write_text(KERNELS)
    (folder / "add.toml").write_text(ADD)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("how", ["stop", "logout"])
def test_a_fleet_ends_with_its_window_and_goes_on_with_the_next(
    qtbot: QtBot, open_window: OpenWindow, recipes: Path, tmp_path: Path, own_home: Path, how: str
) -> None:
    (recipes / "add.toml").write_text(ADD.replace("[64, 128]", SOME))
    window, place = open_window(), tmp_path / "place"
    job = window.flows.fleet._begin([str(recipes)], ["local"], str(place), {"prove": False})
    qtbot.waitUntil(lambda: job.cells.counts[WARM] > 0 or not job.active, timeout=PATIENCE)
    done = job.cells.counts[WARM]
    assert 0 < done < 12
    if how == "stop":
        window.close()
        dialog = asked(window)
        assert "Warm place on several machines" in dialog.detail.text()
        with qtbot.waitSignal(window.stopped, timeout=PATIENCE):
            click(qtbot, dialog.go)
    else:  # as SIGTERM does it
        with qtbot.waitSignal(window.stopped, timeout=PATIENCE):
            window.close_surely()
    again = open_window()
    page = page_of(again)
    qtbot.waitUntil(page.redo.isVisible, timeout=PATIENCE)
    assert page.name.text() == "Cancelled: what was done stays in place"
    assert page.job is not None and page.job.cells.counts[WARM] >= done
    assert len(page.job.cells.rows) == 12
    assert not again.jobs.jobs
    click(qtbot, page.redo)
    idle(qtbot, again)
    [ended] = again.jobs.jobs
    assert ended.state is State.DONE, ended.error
    assert ended.result["there"] >= done and ended.cells.counts[WARM] == 12


@pytest.mark.slow
def test_a_bundle_is_signed_once_it_is_whole(
    qtbot: QtBot, open_window: OpenWindow, recipes: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    window, bundle = open_window(), tmp_path / "all.torchcache"
    page, folder = page_of(window), Path(os.environ["HOME"]) / ".ssh"
    folder.mkdir(mode=0o700)
    keygen(folder / "id_ed25519")
    (recipes / "bad.toml").write_text(BAD)
    dialog = window.flows.fleet.warm([str(recipes)])
    dialog.into.choose(str(tmp_path / "folder"))
    assert not dialog.key.isVisible(), "only a bundle is signed"
    dialog.into.choose(str(bundle))
    assert dialog.key.isVisible()
    qtbot.waitUntil(lambda: not dialog.key.busy, timeout=PATIENCE)
    row = dialog.key.combo.findData(str(folder / "id_ed25519"))
    dialog.key.combo.setCurrentIndex(row)
    dialog.key.combo.activated.emit(row)
    qtbot.waitUntil(dialog.go.isEnabled, timeout=PATIENCE)
    click(qtbot, dialog.go)
    idle(qtbot, window)
    assert "not signed, as not every cell" in page.where.text()
    assert signing.signature_of(str(bundle), None, Report()).status == "none"
    (recipes / "bad.toml").unlink()
    click(qtbot, page.redo)
    idle(qtbot, window)
    job = window.jobs.jobs[0]
    assert job.state is State.DONE, job.error
    signed = signing.signature_of(str(bundle), None, Report())
    assert signed.status == "unknown" and signed.fingerprint
    qtbot.waitUntil(lambda: str(signed.fingerprint) in page.where.text(), timeout=PATIENCE)
    before = bundle.read_bytes()
    window.flows.fleet.again(job)
    idle(qtbot, window)
    assert bundle.read_bytes() == before, "what is signed and has not changed is not signed again"
    assert window.jobs.jobs[0].result["signature"]["fingerprint"] == signed.fingerprint
