"""The look: contrast, pictures, and the report of a bug."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot

from tests.gui.conftest import OpenWindow
from torchkeeper.artifacts.entry import KINDS
from torchkeeper.gui import shots
from torchkeeper.gui.bug_dialog import BugDialog
from torchkeeper.gui.bugs import Bugs
from torchkeeper.gui.theme import DARK, LIGHT, Shades


def _light(colour: str) -> float:
    drawn = QColor(colour)
    total = 0.0
    parts = ((0.2126, drawn.redF()), (0.7152, drawn.greenF()), (0.0722, drawn.blueF()))
    for weight, part in parts:
        total += weight * (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4)
    return total


def contrast(a: str, b: str) -> float:
    """The contrast ratio of WCAG."""
    high, low = sorted((_light(a), _light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("shades", [LIGHT, DARK], ids=["light", "dark"])
def test_text_can_be_read(shades: Shades) -> None:
    grounds = (shades.window, shades.base, shades.raised, shades.hover)
    pairs = [(text, ground) for ground in grounds for text in (shades.text, shades.muted)]
    pairs += [(shades.text, ground) for ground in (shades.selected, shades.selected_quiet)]
    pairs += [(shades.text, shades.error_ground), (shades.text, shades.good_ground)]
    pairs += [(shades.error, ground) for ground in (*grounds, shades.error_ground)]
    pairs += [(shades.warning, shades.window), (shades.on_accent, shades.accent)]
    pairs += [(shades.muted, shades.selected)]
    for text, ground in pairs:
        assert contrast(text, ground) >= 4.5, (text, ground)
    for kind in KINDS:
        assert contrast(shades.kinds[kind], shades.base) >= 3.0, kind


def test_pictures_of_everything(
    qtbot: QtBot, tmp_path: Path, fixture_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shots.run(str(tmp_path / "place"), str(fixture_cache), 1) == 0
    said = capsys.readouterr().out.split()
    assert [Path(path).name for path in said] == ["window-light.png", "window-dark.png"]
    assert shots.run(str(tmp_path / "shots"), scale=1) == 0
    said = capsys.readouterr().out.split()
    names = {Path(path).name for path in said}
    assert all(Path(path).stat().st_size > 1000 for path in said)
    for name in ("window", "import", "purge", "warm", "empty-trash", "shortcuts", "about"):
        assert {f"{name}-light.png", f"{name}-dark.png"} <= names


def test_pictures_at_both_scales(tmp_path: Path, fixture_cache: Path) -> None:
    argv = [sys.executable, "-m", "torchkeeper", "shots", str(tmp_path), "--place"]
    run = subprocess.run([*argv, str(fixture_cache)], capture_output=True, text=True, check=True)
    assert run.stderr == ""
    sizes = {Path(path).name: QImage(path).size().toTuple() for path in run.stdout.split()}
    assert set(sizes) == {
        f"window-{tone}{scale}.png" for tone in ("light", "dark") for scale in ("", "@2x")
    }
    for tone in ("light", "dark"):
        width, height = sizes[f"window-{tone}.png"]
        assert sizes[f"window-{tone}@2x.png"] == (2 * width, 2 * height)


def test_pictures_that_cannot_be_written_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert shots.run(str(tmp_path / "file")) == 1
    assert "file" in capsys.readouterr().err


def test_a_bug_is_reported_once(
    qtbot: QtBot, open_window: OpenWindow, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    window = open_window()
    bugs = Bugs(window)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    bugs._window = window
    for _ in range(3):
        try:
            raise ValueError("a bug for the test")
        except ValueError as e:
            bugs.hook(type(e), e, e.__traceback__)
    qtbot.waitUntil(lambda: window.findChild(BugDialog) is not None)
    assert len(window.findChildren(BugDialog)) == 1
    assert len(caplog.records) == 3
    caplog.clear()
    window.findChildren(BugDialog)[0].reject()
