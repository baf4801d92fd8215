"""Help within the window: every term has words, and is explained where one meets it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QWhatsThis, QWidget
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, sample_window, settle, type_in
from tests.shots import sample_overview, samples
from tests.shots.sample_engines import SampleEngines
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.dialogs.verifying import VerifyDialog
from torchkeeper.gui.pages import glossary
from torchkeeper.gui.pages.help import GlossaryDialog
from torchkeeper.gui.table.rows import COLUMNS, VERDICT
from torchkeeper.gui.treemap.view import Treemap
from torchkeeper.gui.verdicts.environments import KEY
from torchkeeper.gui.window import Window

EVERY = [term for _, some in glossary.TERMS for term in some]


@pytest.fixture
def window(qtbot: QtBot, settings: QSettings) -> Iterator[Window]:
    """The window over the samples, with verdicts and the inspector."""
    engines = SampleEngines()
    engines.overviewed = sample_overview.few()
    settings.setValue(KEY, samples.PYTHON)
    settings.setValue("inspector/shown", "true")
    with sample_window(qtbot, settings, engines, 1640, 900) as made:
        usable = made.here.bar.buttons["usable"]
        qtbot.waitUntil(usable.isVisible, timeout=PATIENCE)
        yield made


def test_every_idea_has_a_short_text() -> None:
    assert len({term.id for term in EVERY}) == len(EVERY) >= 18
    for term in EVERY:
        assert 60 < len(term.text) <= 500, term.id
        assert 1 <= term.text.count(". ") + term.text.endswith(".") <= 4, term.id
        assert "<" not in term.text and term.name


@pytest.mark.slow
def test_each_is_explained_by_something_that_is_seen(qtbot: QtBot, window: Window) -> None:
    wanted = {glossary.whats_this(term.id): term.id for term in EVERY}
    said = ""
    for ident in ("overview", "compare", "entries"):
        page = window.show_page(ident)
        if ident == "overview":
            (treemap,) = page.findChildren(Treemap)
            qtbot.waitUntil(treemap.isVisible, timeout=PATIENCE)
        elif ident == "entries":
            window.table.go_to_row(2)
        settle(qtbot)
        seen = [w for w in window.findChildren(QWidget) if w.isVisible() and w.whatsThis()]
        said += "".join(widget.whatsThis() for widget in seen)
    header = window.table.horizontalHeader()
    role, across = Qt.ItemDataRole.WhatsThisRole, Qt.Orientation.Horizontal
    for column in range(len(COLUMNS)):
        if not header.isSectionHidden(column):
            said += str(window.entries.headerData(column, across, role))
    for action in window.tools.actions():
        said += action.whatsThis()
    assert [ident for text, ident in wanted.items() if text not in said] == []


def test_a_click_in_that_mode_explains(qtbot: QtBot, window: Window) -> None:
    window.actions_["entries"].trigger()
    window.actions_["whats-this"].trigger()
    assert QWhatsThis.inWhatsThisMode()
    assert "press Esc" in window.statusBar().currentMessage()
    QWhatsThis.leaveWhatsThisMode()
    index = window.entries.index(0, VERDICT)
    assert "<b>Verdict</b>" in index.data(Qt.ItemDataRole.WhatsThisRole)
    QWhatsThis.leaveWhatsThisMode()
    QWhatsThis.hideText()


@pytest.mark.slow
def test_the_keyboard_asks_of_what_has_it(
    qtbot: QtBot, window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(QWhatsThis, "showText", lambda at, text, widget: said.append(text))

    def ask(at: QWidget) -> str:
        said.clear()
        at.window().activateWindow()
        qtbot.waitUntil(at.window().isActiveWindow, timeout=PATIENCE)
        at.setFocus()
        qtbot.keyClick(at, Qt.Key.Key_F1, Qt.KeyboardModifier.ShiftModifier)  # type: ignore[no-untyped-call]
        return "".join(said)

    window.show_page("entries")
    window.table.go_to_row(0)
    window.table.setCurrentIndex(window.entries.index(0, VERDICT))
    assert glossary.whats_this("verdict") in ask(window.table)
    assert glossary.whats_this("filter") in ask(window.head.box)
    assert "Words match name and key" in ask(window.head.box), "and what it does"
    compare = window.show_page("compare")
    buttons = [x for x in compare.findChildren(QWidget) if x.isVisible() and x.isEnabled()
               and x.accessibleName() == "Go to entries"]  # fmt: skip
    assert glossary.whats_this("key-factor") in ask(buttons[0]), "what it is part of"
    window.show_page("entries")
    window.actions_["verify"].trigger()
    [verify] = window.findChildren(VerifyDialog)
    verify.runs["cold"].click()  # which makes it
    assert glossary.whats_this("mega-cache") in ask(verify.runs["mega"])
    assert glossary.whats_this("verification") in ask(verify.cancel)
    verify.reject()


def test_where_nothing_is_known_it_says_so(
    qtbot: QtBot, window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(QWhatsThis, "showText", lambda at, text, widget: said.append(text))
    window.show_page("runs")
    assert isinstance(window.pages.page, QWidget)
    window.pages.page.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    window.pages.page.setFocus()
    window.actions_["explain"].trigger()
    assert not QWhatsThis.inWhatsThisMode(), "that needs a mouse"
    assert "This control has no explanation." in said[0]
    # What has no text of its own is explained by the page that it is on.
    for ident, term in (("recipes", "recipe"), ("settings", "profile")):
        page = window.show_page(ident)
        page.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        page.setFocus()
        window.actions_["explain"].trigger()
        assert glossary.whats_this(term) in said[-1]


def test_all_are_on_one_page(qtbot: QtBot, window: Window) -> None:
    window.actions_["glossary"].trigger()
    (dialog,) = window.findChildren(GlossaryDialog)
    said = dialog.view.toPlainText()
    assert all(term.name in said and term.text in said for term in EVERY)
    type_in(qtbot, dialog.search, "save_cache")
    assert "Mega-cache" in dialog.view.toPlainText()
    assert "Orphan" not in dialog.view.toPlainText()
    dialog.search.setText("no such term")
    assert dialog.view.toPlainText().strip() == "No term has these words."
    dialog.accept()


@pytest.mark.slow
def test_options_of_dialogs_are_explained(qtbot: QtBot, window: Window) -> None:
    window.show_page("entries")
    window.table.go_to_row(0)
    settle(qtbot)
    window.actions_["purge"].trigger()
    [purge] = window.findChildren(PurgeDialog)
    assert purge.at_once.whatsThis() == glossary.whats_this("trash")
    purge.reject()
    window.actions_["verify"].trigger()
    [verify] = window.findChildren(VerifyDialog)
    assert verify.runs["mega"].whatsThis() == glossary.whats_this("mega-cache")
    verify.reject()
