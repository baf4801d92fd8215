"""Everything the window says can be translated: shown by a language in which every text stands in
brackets, made by the very command that translators use.
"""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QLocale, QSettings, Qt, QTranslator
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QComboBox,
    QGroupBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QTabWidget,
    QWidget,
)
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE
from tests.shots.sample_engines import SampleEngines
from torchkeeper.client.words import say, tongue
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.app import translate
from torchkeeper.gui.pages import COMPARE, PAGES
from torchkeeper.gui.window import Window

ROOT = Path(__file__).parents[2]
COMMAND = ROOT / "packaging" / "translations"
#: Names that are the same in every language, and notations.
SAME = {
    "Torchkeeper", "torch", "Triton", "GPU", "Redis", "AOTAutograd", "Autotune", "Hugging Face",
    "Python", "PyTorch", "CUDA", "ROCm", "JSON", "None", "torchkeeper",
}  # fmt: skip

#: What reads like words.
PROSE = re.compile(r"[A-Za-z]{2,}[,:;]? [a-z]{2,}")
#: Commands that were run and interpreters with their labels, as the samples have them; what past
#: runs and jobs said in the language of their time; and what Qt says.
KEPT = re.compile(r"train\.py|nightly\.torchcache|bin/python|inputs\[0\]|scrollen")


@pytest.fixture(scope="module")
def collected() -> dict[str, Any]:
    """The command's own functions."""
    return runpy.run_path(str(COMMAND))


@pytest.fixture(scope="module")
def bracketed(collected: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a translation that puts everything into brackets."""
    folder = tmp_path_factory.mktemp("translations")
    texts = {
        (context, text, counted): [f"⟦{text}⟧"] * (2 if counted else 1)
        for context, text, counted in collected["sources"]()
    }
    source = folder / "torchkeeper_de.ts"
    source.write_text(collected["document"]("de", texts), encoding="utf-8")
    assert collected["known"](source) == texts, "what is translated is kept"
    release = Path(sys.executable).with_name("pyside6-lrelease")
    subprocess.run([release, "-silent", source], check=True)
    return folder


@pytest.fixture
def spoken(qapp: QApplication, bracketed: Path) -> Iterator[None]:
    """That language is spoken."""
    before = set(qapp.findChildren(QTranslator))
    assert translate(qapp, QLocale("de_DE"), str(bracketed))
    yield
    tongue.use(None)
    for translator in set(qapp.findChildren(QTranslator)) - before:
        qapp.removeTranslator(translator)
        translator.deleteLater()


def texts(widget: QWidget) -> Iterator[tuple[str, str]]:
    """What a widget says, and how."""
    yield "tooltip", widget.toolTip()
    yield "name", widget.accessibleName()
    yield "description", widget.accessibleDescription()
    if isinstance(widget, (QLabel, QAbstractButton)):
        yield "text", widget.text()
    if isinstance(widget, QLineEdit):
        yield "placeholder", widget.placeholderText()
    if isinstance(widget, QGroupBox):
        yield "title", widget.title()
    if isinstance(widget, QComboBox) and not widget.isEditable():
        for row in range(widget.count()):
            yield "item", widget.itemText(row)
    if isinstance(widget, QTabWidget):
        for number in range(widget.count()):
            yield "tab", widget.tabText(number)
    if isinstance(widget, QHeaderView) and widget.model() is not None:
        for section in range(widget.count()):
            yield "heading", str(widget.model().headerData(section, widget.orientation(),
                                 Qt.ItemDataRole.DisplayRole) or "")  # fmt: skip


def bare(text: str) -> str:
    """What of a text stands in no brackets, and is no mark-up."""
    text = re.sub(r"<[^>]*>", "", text)
    while (less := re.sub(r"⟦[^⟦⟧]*⟧", "", text)) != text:
        text = less
    return text


def untranslated(root: QWidget, own: set[str]) -> set[str]:
    """What is written in our sources, and shown as it is written; and words of a sentence that is
    put together around what is translated.
    """
    found = set()
    for widget in [root, *root.findChildren(QWidget)]:
        for how, text in texts(widget):
            glued = PROSE.search(bare(text)) and not KEPT.search(text)
            if glued or (text in own and "⟦" not in text):
                found.add(f"{type(widget).__name__} {how}: {text}")
    for action in root.findChildren(QAction):
        if action.text() in own:
            found.add(f"action: {action.text()}")
    return found


@pytest.mark.slow
def test_the_window_says_nothing_that_cannot_be_translated(
    qtbot: QtBot, settings: QSettings, spoken: None, collected: dict[str, Any]
) -> None:
    own = {text for _, text, _ in collected["sources"]() if len(text) > 3} - SAME
    # The names of variables are what they are.
    own = {text for text in own if not re.fullmatch(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+", text)}
    window = Window(settings, SampleEngines())
    window.show()
    qtbot.waitUntil(lambda: window.later.over and window.entries.rowCount() > 0, timeout=PATIENCE)
    wrong = {}
    said = 0
    for page in (*PAGES, COMPARE):
        window.show_page(page)
        qtbot.wait(200)
        wrong[page] = untranslated(window, own)
        said += sum("⟦" in text for x in window.findChildren(QWidget) for _, text in texts(x))
    assert window.actions_["overview"].text() == "⟦&Overview⟧"
    window.close_surely()
    qtbot.waitUntil(lambda: not window.engines.running, timeout=PATIENCE)
    window.deleteLater()
    assert said > 300, "or nothing was looked at"
    assert {page: found for page, found in wrong.items() if found} == {}


#: Methods and functions that show a text to people.
SHOW = {
    "setText", "setWindowTitle", "setToolTip", "setStatusTip", "setAccessibleName", "setSuffix",
    "setAccessibleDescription", "setPlaceholderText", "setTitle", "addAction", "addMenu", "addTab",
    "showMessage", "setWhatsThis", "setIconText", "label", "button", "icon_button", "field", "say",
    "confirm", "choose_folder", "choose_files", "choose_file", "setTabText",
    "setInformativeText", "setPrefix", "tell",
}  # fmt: skip
#: Notations, which are not words.
NOTATIONS = {"Torchkeeper", "[batch, 64] float32\n[batch, 64] bool\n3",
             "batch = 1, 8, 32; cached = 512"}  # fmt: skip


@pytest.mark.slow
def test_no_text_is_shown_as_it_is_written() -> None:
    found = []
    for path in sorted((ROOT / "app" / "torchkeeper" / "gui").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            for argument in node.args if name in SHOW else ():
                parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
                for part in parts:
                    value = part.value if isinstance(part, ast.Constant) else None
                    text = value if isinstance(value, str) and value not in NOTATIONS else ""
                    # What is no sentence is the name of an icon, a role or an action.
                    if re.search(r"[A-Z][a-z]|[a-z]{2} [a-z]{2}", text):
                        found.append(f"{path.name}:{node.lineno}: {text}")
    assert found == []


@pytest.mark.slow
def test_errors_and_figures_are_translated(spoken: None) -> None:
    error = user_error("place-missing", {"place": "/nowhere"})
    assert error.what.startswith("⟦") and "/nowhere" in error.what
    assert error.remedy == "" or error.remedy.startswith("⟦")
    assert say.count(2, "entry", "entries") == "2 ⟦entries⟧"
    assert say.ago(0, 7200) == "⟦2 h ago⟧"


def test_without_a_translation_it_is_english(qapp: QApplication, tmp_path: Path) -> None:
    assert not translate(qapp, QLocale("fr_FR"), str(tmp_path))
    assert say.count(2, "entry", "entries") == "2 entries"


def test_what_could_not_be_filled_in_is_found(collected: dict[str, Any]) -> None:
    good = {("Client", "{n} files in {place}", True): ["Eine in {place}", "In {place} {n}"]}
    assert collected["wrong"](good) == []
    bad = {("Client", "in {place}", False): ["in {ort}"], ("Client", "in", False): ["in }"]}
    assert collected["wrong"](bad) == ["'in {place}': {ort}", "'in': }"]


def test_the_command_names_a_language(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, COMMAND, "../x"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "packaging/translations LANGUAGE" in done.stderr) == (2, True)
