"""Looks over every page, and over every state that there is a picture of, where names, paths and
answers are those of somebody who means harm: nothing of them is read as HTML, hides what it is, is
without an end, or underlines a letter.

As a program (``python -m tests.gui.strangers THEME [SCENE…]``) it prints what it finds as JSON; the
samples of the pictures are changed while they are imported, so that a new one is looked over by
itself. Without scenes it walks the pages.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QModelIndex, QSettings, Qt
from PySide6.QtGui import QAction
from PySide6.QtGui import Qt as Gui
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QGroupBox,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
    QToolButton,
    QWidget,
)

#: What a name says beside what it is. The first goes into what is parsed as well: text files.
MARK = "<img src=x>&lt;b>&amp;&7%1{0}[*]\u202egnp.\u2066"
WORSE = MARK + "\x00\x1b[31m\r\n\u2028\ud800\U000e0041"
LONG = WORSE + "L" * 100_000
#: What becomes so in the samples: who works there, what is compiled, and on what.
_WORDS = (
    (re.compile(r"(?<![a-z])ada(?![a-z])"), MARK),
    (re.compile("nightly|trains?(?=[-.])|build(?=@)|Team cache"), MARK),
    (re.compile("decoder_layer|attention|swiglu|H200|EPYC|triton_red"), WORSE),
    (re.compile("rotary_embed|cpp_fused|triton_poi"), LONG),
)  # fmt: skip
#: The samples that are written into files of text and parsed for what they say.
_PARSED = ("sample_recipes", "sample_profiles")
_SHOTS = "tests.shots."
#: Characters of a tooltip, a label or a cell at most.
_BOUND = 12_000
#: Rows of a model that are looked at.
_ROWS = 60
#: What stands behind what it breaks is ours, and so is what lets a long word be broken.
_OURS = re.compile("(?<=[<&])\u2060|(?<=://)\u2060|\u200b")
_EXPLAINED = re.compile("(<p>(<b>[^<]*</b><br>)?[^<]*</p>)*")
_KEY = re.compile("(?<!&)(&&)*&7")
_ROLES = Qt.ItemDataRole


class _Poison(ast.NodeTransformer):
    def __init__(self, name: str) -> None:
        self._mild = name.removeprefix(_SHOTS) in _PARSED

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        if not isinstance(node.value, str):
            return node
        text = node.value
        for word, mark in _WORDS:
            parts = word.split(text)
            said = MARK if self._mild else mark
            found = [each + said for each in word.findall(text)]
            text = "".join(a + b for a, b in zip(parts, [*found, ""], strict=True))
        return ast.copy_location(ast.Constant(text), node)


class _Loader(SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        tree = ast.parse(self.get_data(path), path)
        return compile(ast.fix_missing_locations(_Poison(fullname).visit(tree)), path, "exec")


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path) if fullname.startswith(_SHOTS) else None
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return None
        loader = _Loader(fullname, spec.loader.path)
        return importlib.util.spec_from_file_location(fullname, loader.path, loader=loader)


if __name__ == "__main__":
    sys.meta_path.insert(0, _Finder())

from tests.gui import walking  # noqa: E402
from tests.shots import run as shots  # noqa: E402
from torchkeeper.gui import theme  # noqa: E402
from torchkeeper.gui.app import application  # noqa: E402
from torchkeeper.gui.pages import COMPARE, PAGES  # noqa: E402
from torchkeeper.gui.shots import prepare_screen  # noqa: E402
from torchkeeper.gui.theme import Theme  # noqa: E402


def plain(text: str) -> str:
    """What is wrong with a text that Qt draws as it is; empty where nothing is."""
    if len(text) > _BOUND:
        return f"{len(text):,} characters"
    unseen = [c for c in _OURS.sub("", text) if not c.isprintable() and c not in "\n\t"]
    return f"unseen {unseen[0]!r}" if unseen else ""


def tipped(text: str) -> str:
    """What is wrong with a text that Qt may take for HTML."""
    return "HTML" if Gui.mightBeRichText(text) else plain(text)


def keyed(text: str) -> str:
    """What is wrong with a text in which an ``&`` underlines a letter."""
    return "a letter is underlined" if _KEY.search(text) else tipped(text)


def told(text: str) -> str:
    """What is wrong with a text of What's This."""
    if not Gui.mightBeRichText(text):
        return plain(text)
    return "" if _EXPLAINED.fullmatch(text) else "HTML of a stranger"


def _of_widget(widget: QWidget) -> Iterator[tuple[str, str, str]]:
    """What it says: what that is, the text, and what is wrong with it."""
    yield "tooltip", widget.toolTip(), tipped(widget.toolTip())
    yield "What's This", widget.whatsThis(), told(widget.whatsThis())
    for name in ("statusTip", "accessibleName", "accessibleDescription"):
        text = getattr(widget, name)()
        yield name, text, plain(text)
    if widget.isWindow():
        title = widget.windowTitle()
        yield "title", title, "a star" if title.count("[*]") % 2 else plain(title)
    if isinstance(widget, QLabel) and widget.text():
        text = widget.text()
        rich = widget.textFormat() != Qt.TextFormat.PlainText
        wrong = keyed if widget.buddy() is not None else tipped if rich else plain
        yield "label", text, wrong(text)
    if isinstance(widget, QAbstractButton):
        yield "button", widget.text(), keyed(widget.text())
    if isinstance(widget, QGroupBox):
        yield "group", widget.title(), keyed(widget.title())
    if isinstance(widget, QLineEdit):
        yield "placeholder", widget.placeholderText(), plain(widget.placeholderText())
        yield "typed", widget.text(), ""  # what is changed here has to be what it is
    if isinstance(widget, QPlainTextEdit):
        text = widget.toPlainText()
        yield "text", text, plain(text[:_BOUND]) if widget.isReadOnly() else ""
    if isinstance(widget, QTabBar):
        for number in range(widget.count()):
            yield "tab", widget.tabText(number), keyed(widget.tabText(number))
            yield "tooltip", widget.tabToolTip(number), tipped(widget.tabToolTip(number))
    if isinstance(widget, QTextEdit):
        yield "document", widget.toPlainText(), _of_document(widget)
    if isinstance(widget, (QAbstractItemView, QComboBox)) and widget.model() is not None:
        yield from _of_model(widget.model(), QModelIndex())
    for action in widget.actions():
        yield from _of_action(action)
    if isinstance(widget, QMenu):
        yield "menu", widget.title(), keyed(widget.title())


def _of_action(action: QAction) -> Iterator[tuple[str, str, str]]:
    yield "action", action.text(), keyed(action.text())
    yield "tooltip", action.toolTip(), tipped(action.toolTip())
    yield "statusTip", action.statusTip(), plain(action.statusTip())
    yield "What's This", action.whatsThis(), told(action.whatsThis())


def _of_document(edit: QTextEdit) -> str:
    if "<img" in edit.toHtml():
        return "a picture"
    document = edit.document()
    for block in (document.findBlockByNumber(n) for n in range(document.blockCount())):
        for shown in block.textFormats():
            if wrong := tipped(shown.format.toolTip()):
                return f"{wrong} in a tooltip"
    return ""


def _of_model(model: QAbstractItemModel, above: QModelIndex) -> Iterator[tuple[str, str, str]]:
    # PySide takes it for private there.
    listed = isinstance(model, QAbstractListModel)
    for column in range(1 if listed else model.columnCount(above)):
        for role in (_ROLES.DisplayRole, _ROLES.ToolTipRole, _ROLES.WhatsThisRole):
            text = model.headerData(column, Qt.Orientation.Horizontal, role)
            yield "heading", str(text or ""), told(str(text or ""))
        for row in range(min(model.rowCount(above), _ROWS)):
            index = model.index(row, column, above)
            for role, wrong in (
                (_ROLES.DisplayRole, plain),
                (_ROLES.ToolTipRole, tipped),
                (_ROLES.WhatsThisRole, told),
                (_ROLES.StatusTipRole, plain),
                (_ROLES.AccessibleTextRole, plain),
                (_ROLES.AccessibleDescriptionRole, plain),
            ):
                text = model.data(index, role)
                if isinstance(text, str):
                    yield role.name, text, wrong(text)
            if column == 0 and not listed:
                yield from _of_model(model, index)


class Strangers(walking.Walk):
    """marked: where a hostile name is said at all, by the class of the window and of the widget."""

    def __init__(self, private: str, tone: Theme) -> None:
        super().__init__(private, tone)
        self.marked: set[str] = set()

    def look(self, root: QWidget) -> list[str]:
        """What is wrong with what is said in a window, a dialog or a menu, shown or not."""
        found = []
        for widget in (root, *root.findChildren(QWidget)):
            name = type(widget).__name__
            for what, text, wrong in _of_widget(widget):
                if "img" in text:
                    where = type(widget.window()).__name__
                    self.marked.add(where if widget.parent() is None else f"{where} {name}")
                if wrong:
                    called = widget.accessibleName()[:30] or widget.objectName()
                    found.append(f"{wrong}: {what} of {name} {called!a}: {text[:160]!a}")
            if isinstance(widget, QToolButton) and widget.menu() is not None:
                widget.menu().aboutToShow.emit()
        return found

    def _menu(self, menu: QMenu) -> list[str]:
        super()._menu(menu)
        return self.look(menu)

    def _smaller(self, window: QWidget) -> list[str]:
        return []


def main() -> None:
    """As a program."""
    tone, *scenes = sys.argv[1:]
    told_: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        prepare_screen(folder, 1)
        application()
        theme.look().choose(Theme(tone))
        walk = Strangers(folder, Theme(tone))
        if not scenes:
            settings = QSettings(str(Path(folder) / "s.ini"), QSettings.Format.IniFormat)
            window = walking.opened(settings)
            window.table.go_to_row(0)
            for page in (*PAGES, COMPARE):
                window.show_page(page)
            walk.pages(window)
            walk.close(window)
        for scene in scenes:
            shots.SCENES[scene](walk)
        told_ = {"faults": walk.faults, "dialogs": sorted(walk.dialogs), "states": walk.states,
                 "marked": sorted(walk.marked)}  # fmt: skip
    print(json.dumps(told_))


if __name__ == "__main__":
    main()
