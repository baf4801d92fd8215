"""The manual in the window: its pages, links, search, and that nothing is loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QEvent, QSettings, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QImage, QTextTable
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from tests.gui.conftest import PATIENCE, click, type_in
from tests.shots.sample_engines import SampleEngines
from torchkeeper.client import manual
from torchkeeper.client.manual import INDEX, Manual, Page
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui import taborder, theme
from torchkeeper.gui.dialogs.manual import ManualDialog
from torchkeeper.gui.window import Window

PLACES = "resources/manual/places.md"


@pytest.fixture
def window(qtbot: QtBot, settings: QSettings) -> Iterator[Window]:
    made = Window(settings, SampleEngines())
    made.show()
    yield made
    made.close_surely()
    made.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def dialog(qtbot: QtBot, window: Window) -> ManualDialog:
    window.actions_["manual"].trigger()
    [made] = window.findChildren(ManualDialog)
    qtbot.waitUntil(lambda: made.list.count() > 0, timeout=PATIENCE)
    return made


def listed(dialog: ManualDialog) -> list[str]:
    return [dialog.list.item(row).text() for row in range(dialog.list.count())]


def press(dialog: ManualDialog, text: str) -> None:
    """Follow the first link whose text begins so, as a click does."""
    cursor = dialog.view.document().find(text)
    assert cursor.charFormat().isAnchor(), text
    dialog.view.anchorClicked.emit(QUrl(cursor.charFormat().anchorHref()))


def test_it_opens_at_its_index_and_lists_every_page(dialog: ManualDialog) -> None:
    assert (dialog.view.path, dialog.list.currentRow()) == (INDEX, 0)
    assert listed(dialog) == [page.title for page in manual.read().pages.values()]
    assert {"Places", "Security"} <= set(listed(dialog))


def test_the_window_can_be_used_meanwhile_and_has_one(window: Window, dialog: ManualDialog) -> None:
    assert dialog.windowModality() == Qt.WindowModality.NonModal
    window.actions_["manual"].trigger()
    assert window.findChildren(ManualDialog) == [dialog]


def test_a_link_leads_to_a_page_and_back_comes_back(qtbot: QtBot, dialog: ManualDialog) -> None:
    assert not dialog.back.isEnabled()
    press(dialog, "Places")
    assert dialog.view.path == PLACES
    assert dialog.list.currentItem().text() == "Places"
    assert "A place is where entries live" in dialog.view.toPlainText()
    click(qtbot, dialog.back)
    assert dialog.view.path == INDEX
    assert not dialog.back.isEnabled()


def test_a_link_to_a_document_beside_the_manual_shows_it(dialog: ManualDialog) -> None:
    dialog.go("resources/manual/bundles.md")
    press(dialog, "SECURITY.md")
    assert (dialog.view.path, dialog.list.currentItem().text()) == ("SECURITY.md", "Security")


def test_a_link_to_a_heading_scrolls_there(dialog: ManualDialog) -> None:
    dialog.resize(700, 400)
    dialog.go(PLACES, "removing")
    assert dialog.view.verticalScrollBar().value() > 0
    dialog.go(PLACES)
    assert dialog.view.verticalScrollBar().value() == 0


def test_a_link_to_a_file_that_is_no_page_says_so(dialog: ManualDialog) -> None:
    dialog.go("packaging/run")
    assert "packaging/run is a file of Torchkeeper’s sources" in dialog.where.text()
    assert dialog.view.path == INDEX


def test_search_lists_pages_with_all_words_and_marks_them(
    qtbot: QtBot, dialog: ManualDialog
) -> None:
    type_in(qtbot, dialog.search, "trash UNDO")
    pages = manual.read().pages.values()
    expected = [x.title for x in pages if "trash" in x.text.lower() and "undo" in x.text.lower()]
    assert "Places" in listed(dialog) == expected != [x.title for x in pages]
    marked = {one.cursor.selectedText().lower() for one in dialog.view.extraSelections()}
    assert marked == {"trash", "undo"}
    dialog.search.setText("zebra crossing")
    assert listed(dialog) == []
    assert dialog.none.isVisible()
    dialog.search.clear()
    assert len(listed(dialog)) == len(pages)
    assert not dialog.none.isVisible()
    assert dialog.view.extraSelections() == []


def test_only_an_address_of_the_web_goes_to_a_browser(
    dialog: ManualDialog, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def open_url(url: QUrl) -> bool:
        opened.append(url.toString())
        return "broken" not in url.toString()

    monkeypatch.setattr(QDesktopServices, "openUrl", open_url)
    dialog.go("CHANGELOG.md")
    assert opened == [], "showing a page opens nothing"
    dialog.view.highlighted.emit(QUrl("https://semver.org"))
    assert dialog.where.text() == "Opens the browser: https://semver.org"
    press(dialog, "Semantic Versioning")
    dialog.view.anchorClicked.emit(QUrl("file:///etc/passwd"))
    dialog.view.anchorClicked.emit(QUrl("javascript:alert(1)"))
    assert [url.partition(":")[0] for url in opened] == ["https"]
    dialog.view.anchorClicked.emit(QUrl("https://broken.example"))
    assert dialog.where.text() == "No browser answered. The address is https://broken.example"


def test_pictures_are_of_the_manual_and_html_is_text(dialog: ManualDialog) -> None:
    with open(theme._FOLDER + "/manual.svg", "rb") as file:
        drawn = file.read()
    text = '# P\n\n![a](a.svg) ![b](/etc/hosts) ![c](https://x.test/c.png) <img src="/etc/hosts">\n'
    path = "resources/manual/p.md"
    dialog.view.manual = Manual({}, {"resources/manual/a.svg": drawn})
    dialog.view.show_page(Page("p", path, "P", "", text))
    names = ["a.svg", "/etc/hosts", "https://x.test/c.png"]
    loaded = [dialog.view.loadResource(2, QUrl(name)) for name in names]
    assert [isinstance(x, QImage) and not x.isNull() for x in loaded] == [True, False, False]
    assert '<img src="/etc/hosts">' in dialog.view.toPlainText()


@pytest.mark.slow
def test_both_themes_colour_text_links_code_and_tables(dialog: ManualDialog) -> None:
    try:
        for chosen in (theme.Theme.DARK, theme.Theme.LIGHT):
            theme.look().choose(chosen)
            dialog.go(INDEX)
            link = dialog.view.document().find("Places").charFormat()
            assert link.foreground().color().name() == theme.shades().accent
            frames = dialog.view.document().rootFrame().childFrames()
            [table] = [x for x in frames if isinstance(x, QTextTable)]
            assert table.format().borderBrush().color().name() == theme.shades().line
            dialog.go(PLACES)
            code = dialog.view.document().find("torchkeeper ls PLACE").block().blockFormat()
            assert code.background().color().name() == theme.shades().raised
    finally:
        theme.look().choose(theme.Theme.SYSTEM)


def test_tab_goes_round_as_it_is_read(dialog: ManualDialog) -> None:
    close = dialog.findChildren(type(dialog.back))[-1]
    dialog.go(PLACES)
    stops = list(taborder.stops(dialog))
    assert stops == [dialog.search, dialog.list, dialog.view, dialog.back, close]
    assert all(stop.accessibleName() or stop.text() for stop in stops)  # type: ignore[attr-defined]


def test_why_it_cannot_be_read_is_told(window: Window, qtbot: QtBot) -> None:
    said = {"folder": "/nowhere", "why": "Permission denied"}
    assert isinstance(window.engines, SampleEngines)
    window.engines.failing["manual"] = user_error("manual-unreadable", said)
    window.actions_["manual"].trigger()
    [dialog] = window.findChildren(ManualDialog)
    qtbot.waitUntil(dialog.notice.isVisible, timeout=PATIENCE)
    assert dialog.notice.why.text() == "/nowhere: Permission denied."
