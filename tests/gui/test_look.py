"""The look: contrast, pictures, and the report of a bug."""

from __future__ import annotations

import gc
import re
import subprocess
import sys
import weakref
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QFile, QSize
from PySide6.QtGui import QAction, QColor, QIcon, QImage, QPainter, QPixmap
from PySide6.QtWidgets import QApplication, QDialog, QLineEdit, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from tests.gui.conftest import OpenWindow, click
from tests.shots import run as shots
from torchkeeper.artifacts.entry import KINDS, VERDICTS
from torchkeeper.gui import shots as pictures
from torchkeeper.gui import theme
from torchkeeper.gui.app import Bugs
from torchkeeper.gui.dialogs.about import BugDialog
from torchkeeper.gui.theme import DARK, LIGHT, Shades, Theme
from torchkeeper.gui.window import Window


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
    pairs += [(shades.text, shades.danger_ground), (shades.text, shades.good_ground)]
    pairs += [(shades.text, shades.warning_ground)]
    pairs += [(shades.danger, ground) for ground in (*grounds, shades.danger_ground)]
    pairs += [(shades.warning, ground) for ground in grounds]
    pairs += [
        (shades.good, shades.window),
        (shades.warning, shades.window),
        (shades.on_accent, shades.accent),
    ]
    beside = (shades.muted, shades.warning, shades.danger)
    pairs += [(text, shades.selected) for text in beside]
    for text, ground in pairs:
        assert contrast(text, ground) >= 4.5, (text, ground)
    for kind in KINDS:
        assert contrast(shades.kinds[kind], shades.base) >= 3.0, kind


@pytest.mark.parametrize("shades", [LIGHT, DARK], ids=["light", "dark"])
def test_nothing_is_red_but_what_cannot_be_undone_and_code_of_strangers(shades: Shades) -> None:
    colours = {name: value for name, value in shades._asdict().items() if isinstance(value, str)}
    colours |= {f"verdict {one}": shades.verdict(one) for one in VERDICTS}
    for group in ("kinds", "syntax", "phases"):
        colours |= {f"{group} {name}": value for name, value in getattr(shades, group).items()}
    red = {name for name, value in colours.items() if _is_red(value)}
    assert red == {"danger", "danger_ground"}
    gui, by_name = Path(theme.__file__).parent, r"shades?(\(\))?\.danger|\"danger(_ground)?\""
    named = {path.name for path in gui.rglob("*.py") if re.search(by_name, path.read_text())}
    # The theme; buttons; and what is said and marked of code of strangers.
    assert named == {"theme.py", "forms.py", "importing.py", "pages.py"}


def _is_red(colour: str) -> bool:
    drawn = QColor(colour)
    return drawn.hslSaturationF() > 0.3 and not 14 < drawn.hslHue() < 346


@pytest.mark.parametrize("shades", [LIGHT, DARK], ids=["light", "dark"])
def test_style_sheets_name_no_path(qapp: QApplication, shades: Shades) -> None:
    """Qt takes none with a blank in it: all of the sheet would be without effect."""
    named = set(re.findall(r"url\(([^)]*)\)", theme._style_sheet(shades)))
    assert len(named) > 5
    assert {name for name in named if "/" in name or not QFile.exists(name)} == set()


def test_an_icon_that_is_changed_lives_on(qapp: QApplication) -> None:
    shared = theme.icon("warm")
    changed = QIcon(shared)
    changed.setIsMask(True)  # Qt copies what draws it
    gc.collect()
    drawn = changed.pixmap(QSize(18, 18), 1.0).toImage()
    assert drawn == shared.pixmap(QSize(18, 18), 1.0).toImage()


def test_an_icon_is_as_sharp_and_as_wide_as_it_is_shown(qapp: QApplication) -> None:
    shown = QPixmap(80, 36)
    shown.setDevicePixelRatio(2.0)
    shown.fill(QColor("white"))
    with QPainter(shown) as painter:
        theme.icon("warm").paint(painter, 0, 0, 40, 18)
    expected = QPixmap(80, 36)
    expected.setDevicePixelRatio(2.0)
    expected.fill(QColor("white"))
    with QPainter(expected) as painter:
        painter.drawPixmap(11, 0, theme.pixmap("warm", 18, None, 2.0))
    assert shown.toImage() == expected.toImage()
    assert theme.icon("warm").pixmap(QSize(0, 0)).isNull()


#: Every state there is a picture of, by scene. Who takes one away has to say so here.
STATES = {
    "machines": "machines machines-lost machines-overview machines-unanswered machines-refused",
    "machine-environments": "machine-environments machine-add-environment machine-no-environment "
    "machine-warm machine-run machine-runs machine-runs-lost machine-activity-lost",
    "machine-copies": "machine-copy-here machine-copy-between machine-import "
    "machine-import-sending machine-recipe",
    "machine-asks": "machine-key machine-password machine-touch",
    "guide": "guide guide-over",
    "overview": "overview menu-of-shown menu-of-reclaimed overview-selected overview-place "
    "overview-torch overview-by-kind overview-by-age overview-by-verdict",
    "overview-few": "overview-few overview-empty",
    "overview-trouble": "overview-unreachable overview-failed overview-looking",
    "table": "window window-filtered window-no-match window-wrong-filter window-selected "
    "window-long",
    "palette": "palette-all palette-purge palette-cache",
    "completing": "filter-fields-1360 filter-kinds-1360 filter-states-1360 filter-chips-1360 "
    "filter-fields-700 filter-kinds-700 filter-states-700 filter-chips-700",
    "groups": "window-by-kind window-collapsed window-by-age window-by-torch",
    "bars": "window-undo window-error window-error-remedies window-engine window-partly "
    "window-cut-off",
    "owners": "window-owners window-taken window-of-a-team",
    "jobs": "window-busy window-importing window-job-done window-job-failed",
    "activity": "activity activity-failed activity-variants activity-past activity-past-failed "
    "activity-empty activity-no-match activity-unreadable activity-clear activity-narrow "
    "activity-narrow-failed activity-laptop activity-least",
    "empty": "window-empty window-no-places window-looking window-choose window-missing "
    "window-unreadable",
    "reading": "window-reading window-silent window-counting window-progress",
    "menus": "menu-file menu-open menu-edit menu-cache menu-view menu-go menu-show menu-group "
    "menu-columns menu-theme menu-help menu-of-entries menu-of-places",
    "drag": "window-dragging drag",
    "drops": "window-drop window-drop-refused compare-drop dialog-drop",
    "treemap": "treemap-five treemap-selected treemap-kinds treemap-versions treemap-many "
    "treemap-nothing",
    "map": "window-map window-map-selected window-map-inside window-map-by-torch",
    "entry": "inspector-nothing inspector-summary inspector-graph inspector-source "
    "inspector-factors inspector-files inspector-broken inspector-orphan inspector-gone "
    "inspector-several inspector-shared",
    "small": "inspector-beside inspector-below inspector-below-a-map inspector-below-empty "
    "inspector-beside-empty "
    "inspector-below-nothing",
    "secrets": "inspector-secrets inspector-searching inspector-not-searched",
    "kinds": "inspector-precompile inspector-aoti_eager inspector-autotune inspector-ondisk "
    "inspector-code inspector-jit",
    "vllm": "inspector-keys inspector-key inspector-two-keys vllm-ranks compare-keys",
    "nothing": "inspector-kernel-files inspector-no-graph inspector-no-source "
    "inspector-no-factors inspector-reading inspector-source-failed inspector-factors-failed",
    "export": "export-free export-replace export-no-room export-no-folder export-no-path "
    "export-several export-reading export-unreadable export-nothing export-secrets export-redacted",
    "import": "import-one import-several import-bad import-same import-no-room "
    "import-new-folder import-each import-no-target import-reading import-comparing import-stale "
    "import-asking import-naming import-threads import-signed import-strange",
    "export-signed": "export-signed-key export-signed-token export-signed-agent "
    "export-no-openssh export-key-gone",
    "sign": "sign sign-again sign-damaged sign-no-key",
    "sign-over": "sign-done sign-failed export-signed-done sign-touch",
    "passphrase": "passphrase passphrase-wrong pin-wrong",
    "sidebar": "sidebar-places sidebar-few sidebar-none",
    "sidebar-many": "sidebar-many sidebar-many-end",
    "sidebar-states": "sidebar-unreachable sidebar-filling",
    "sidebar-environments": "sidebar-environments menu-of-environments sidebar-no-verdicts",
    "sidebar-drop": "sidebar-drop sidebar-drop-folder",
    "sidebar-folded": "sidebar-folded sidebar-hidden",
    "signers": "signers signers-remove signers-none signers-unreadable trust trust-key "
    "trust-wrong import-unknown-signer",
    "work": "export-starting export-working export-cancelling export-cancelled export-entries "
    "import-starting import-working import-cancelling import-cancelled",
    "results": "export-done export-left export-failed export-none import-done "
    "import-left import-prepare import-prepare-left import-portable import-nothing-new "
    "import-failed",
    "copy": "copy copy-selected copy-bundle copy-replace copy-nothing-new copy-new-folder "
    "copy-no-room copy-no-target copy-onto-itself copy-comparing copy-none copy-from-bundle",
    "copying": "copy-working copy-cancelled",
    "copied": "copy-result copy-result-left copy-result-bundle copy-result-nothing",
    "drop": "window-drop-on-place",
    "warm": "warm warm-probing warm-looking warm-broken warm-no-python",
    "variants": "variants-working variants-failed variants-outcome variants-done variants-uncached",
    "verify-variants": "verify-variants-working verify-variants",
    "recipes": "recipes recipes-one recipes-faulty recipes-filtered recipes-none-match "
    "recipes-gone recipes-empty recipes-failed",
    "editor": "recipe-form recipe-form-again recipe-good recipe-faulty",
    "warm-recipes": "warm-recipes warm-foreseen",
    "fleet": "fleet-first fleet-targets fleet-working fleet-cancelled fleet-failed fleet-done "
    "fleet-job fleet-small",
    "fleet-warm": "fleet-warm fleet-target",
    "settings": "settings settings-filtered settings-only-set settings-damaged settings-empty",
    "settings-errors": "settings-errors settings-checking settings-unwritable",
    "settings-carried": "settings-export settings-export-secret settings-import "
    "settings-import-which",
    "settings-origins": "settings-origins settings-process settings-process-gone "
    "settings-origins-asking",
    "warm-profile": "warm-profile warm-profile-wrong",
    "purge": "purge purge-at-once purge-confirm purge-waiting purge-failed purge-nothing "
    "purge-in-use purge-all-in-use purge-insisted",
    "clean": "clean clean-preview clean-asking clean-sick clean-failed clean-looking clean-nothing",
    "clean-all": "clean-all clean-all-at-once clean-all-sure",
    "clean-server": "clean-server",
    "doctor": "doctor doctor-trying doctor-looking doctor-fix doctor-fix-all doctor-fix-nothing "
    "doctor-mended doctor-failed doctor-cancelled doctor-no-torch doctor-nothing doctor-since",
    "doctor-healthy": "doctor-healthy",
    "compare": "compare-empty compare-choosing compare-one "
    "compare-settings compare-inputs compare-graph compare-none "
    "compare-reading compare-looking compare-nearest compare-alone compare-failed",
    "confirm": "empty-trash quit",
    "help": "preferences shortcuts glossary whats-this about bug",
    "manual": "manual manual-page manual-found manual-nothing",
    "server": "window-server window-server-read-only server-purge server-purge-many "
    "server-expiry server-page window-server-expiry "
    "window-server-reading window-server-empty window-server-refused window-server-locked "
    "window-server-lost server-page-failed",
    "add-server": "add-server add-server-tls add-server-machine add-server-through "
    "window-server-through add-server-error add-server-untrusted",
    "edit-server": "edit-server edit-server-tested window-server-named",
    "password": "password password-wrong",
    "verdicts": "inspector-stale inspector-conditional window-stale window-by-verdict "
    "window-verdicts-asking window-verdicts-asking-torch window-verdicts-off "
    "window-verdicts-no-torch window-verdicts-failed window-verdicts-narrow",
    "environments": "menu-environments environments environments-failed environments-without "
    "environments-old environments-asking",
    "runs": "runs menu-of-choice runs-program runs-live runs-reading runs-empty runs-forget "
    "runs-failed",
    "beside": "window-verified window-not-good window-verified-changed",
    "verify": "verify verify-starting verify-working verify-good verify-bad verify-failed",
    "prepare": "prepare prepare-no-folder prepare-working prepare-done prepare-there",
    "warmed": "warm-portable warm-working warm-done-portable",
    "few": "few-entries few-runs few-settings few-doctor few-activity",
    "many": "many-entries many-filtered many-by-kind many-map many-selected many-purge many-export "
    "many-copy many-import many-quit",
    "many-lists": "many-runs many-recipes many-settings many-doctor many-activity",
    "many-places": "many-places many-places-narrow",
    "failures": "warm-failed warm-killed warm-cancelled verify-cancelled prepare-failed "
    "copy-failed sign-cancelled copy-starting copy-cancelling",
    "waiting": "server-page-reading add-server-testing sign-reading settings-import-nothing "
    "environments-none",
    "unsaved": "settings-unsaved unsaved-settings recipe-unsaved unsaved-recipe quit-one",
    "guide-steps": "guide-look guide-verify guide-export guide-purge guide-undo guide-narrow",
}
#: What is held in every run of the tests, and is quickly taken; it has a window, a menu and a
#: dialog of each sort. All of them: test_pictures_of_everything_at_both_scales.
SOME = ("drop", "confirm", "environments")


def _names(scenes: Iterable[str], suffix: str = "") -> set[str]:
    return {
        f"{name}-{tone}{suffix}.png"
        for scene in scenes
        for name in STATES[scene].split()
        for tone in ("light", "dark")
    }


def test_every_scene_has_its_states() -> None:
    assert set(shots.SCENES) == set(STATES)


@pytest.mark.slow
def test_pictures_of_a_place(
    qtbot: QtBot, tmp_path: Path, fixture_cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pictures.run(str(tmp_path), str(fixture_cache), 1) == 0
    said = capsys.readouterr().out.split()
    assert {Path(path).name for path in said} == {"window-light.png", "window-dark.png"}


@pytest.mark.slow
def test_pictures_of_the_states(
    qtbot: QtBot, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shots.run(str(tmp_path), scale=1, scenes=SOME) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert {Path(path).name for path in said.out.split()} == _names(SOME)
    for path in map(Path, said.out.split()):
        # A picture of one colour shows nothing.
        assert _is_coloured(QImage(str(path))), path
    for name in {name.rpartition("-")[0] for name in _names(SOME)}:
        light, dark = (QImage(str(tmp_path / f"{name}-{tone}.png")) for tone in ("light", "dark"))
        assert light.size() == dark.size(), name
        assert light != dark, name


def _is_coloured(image: QImage) -> bool:
    """Whether more than three colours are in it."""
    found = set()
    for y in range(2, image.height(), 3):
        for x in range(2, image.width(), 3):
            found.add(image.pixel(x, y))
            if len(found) > 3:
                return True
    return False


@pytest.mark.slow
def test_pictures_of_everything_at_both_scales(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "tests.shots", str(tmp_path)]
    run = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert run.stderr == ""
    sizes = {Path(path).name: QImage(path).size() for path in run.stdout.split()}
    assert set(sizes) == _names(STATES) | _names(STATES, "@2x")
    for name in _names(STATES):
        assert sizes[name.replace(".png", "@2x.png")] == sizes[name] * 2, name


@pytest.mark.slow
def test_a_scene_that_there_is_not(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "tests.shots", str(tmp_path), "--scene", "sunset"]
    run = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "sunset" in run.stderr
    assert "table" in run.stderr


@pytest.mark.slow
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


@pytest.mark.slow
def test_pictures_of_a_place_that_is_not_there(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "torchkeeper", "shots", str(tmp_path), "--place", "/nowhere"]
    run = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert run.returncode == 3
    assert "There is no folder /nowhere" in run.stderr


def test_pictures_that_cannot_be_written_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert pictures.run(str(tmp_path / "file"), str(tmp_path)) == 1
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


@pytest.mark.slow
def test_the_button_that_empties_the_filter_follows_the_theme(
    qtbot: QtBot, open_window: OpenWindow
) -> None:
    window = open_window()
    box = window.head.box
    action = box.findChild(QAction, "_q_qlineeditclearaction")
    assert action is not None
    before = theme.look().theme
    try:
        for which, shades in ((Theme.DARK, DARK), (Theme.LIGHT, LIGHT)):
            theme.look().choose(which)
            drawn = action.icon().pixmap(QSize(16, 16), 1.0).toImage()
            assert drawn == theme.pixmap("close", 16, shades.muted).toImage()
    finally:
        theme.look().choose(before)
    box.setText("triton")
    button = box.findChild(QToolButton)
    assert isinstance(button, QToolButton)
    click(qtbot, button)
    assert box.text() == ""


def _choose_themes(window: Window) -> None:
    """View > Theme, each of them, and the light one at last."""
    for _ in range(2):
        for which in (Theme.DARK, Theme.LIGHT, Theme.SYSTEM, Theme.LIGHT):
            said = {Theme.DARK: "&Dark", Theme.LIGHT: "&Light"}.get(which, "Like the &system")
            action = next(x for x in window.findChildren(QAction) if x.text() == said)
            action.trigger()
            assert theme.look().theme is which
            assert action.isChecked()


@pytest.fixture
def looked() -> Iterator[None]:
    """The theme is as it was, in the end."""
    before = theme.look().theme
    yield
    theme.look().choose(before)


@pytest.mark.slow
def test_what_is_gone_is_not_painted_and_stops_nobody(
    qtbot: QtBot, open_window: OpenWindow, looked: None
) -> None:
    window = open_window()
    painted: list[str] = []
    for opened in ("glossary", "about", "environments"):
        window.actions_[opened].trigger()
        dialog = next(x for x in window.findChildren(QDialog) if x.isVisible())
        theme.follow(dialog, partial(painted.append, opened), now=False)
        action = QAction(dialog)
        theme.follow(action, partial(action.setText, opened), now=False)
        for edit in dialog.findChildren(QLineEdit):
            if edit.isClearButtonEnabled():
                edit.setClearButtonEnabled(False)  # Qt deletes the action, and keeps the field
        theme.look().choose(Theme.DARK)
        theme.look().choose(Theme.LIGHT)
        assert painted == [opened, opened]
        painted.clear()
        dialog.reject()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        _choose_themes(window)
        assert painted == []


@pytest.mark.slow
def test_one_that_cannot_be_painted_is_a_bug_that_stops_no_other(
    qtbot: QtBot, open_window: OpenWindow, looked: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = open_window()
    bugs = Bugs(window)
    bugs._window = window
    monkeypatch.setattr(sys, "excepthook", bugs.hook)
    painted: list[int] = []

    def fail() -> None:
        raise ValueError("a bug for the test")

    theme.follow(window, partial(painted.append, 1), now=False)
    theme.follow(window, fail, now=False)
    theme.follow(window, partial(painted.append, 2), now=False)
    _choose_themes(window)
    assert painted == [1, 2] * 8
    qtbot.waitUntil(lambda: window.findChild(BugDialog) is not None)
    (dialog,) = window.findChildren(BugDialog)
    dialog.reject()


def test_what_is_followed_by_nobody_else_can_go(qapp: QApplication) -> None:
    painted = QWidget()
    theme.follow(painted, painted.update)
    gone = weakref.ref(painted)
    del painted
    gc.collect()
    assert gone() is None
