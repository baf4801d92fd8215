"""The manual beside the window: its pages, what finds words in them, and the text."""

from __future__ import annotations

from PySide6 import QtGui
from PySide6.QtCore import QCoreApplication, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QTextBlock, QTextCursor, QTextFormat
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QTextEdit, QWidget

from torchkeeper.client import manual
from torchkeeper.client.manual import Manual, Page
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.gui.widgets.plain import Read, show_markdown, tip

#: Words of a search that are marked in a page at most.
_MARKED = 500
#: Pixels: a picture is as wide at most; around the cells of a table, and at both sides of code.
_PICTURE, _CELL, _INDENT = 680, 5, 12
#: What may be given to a browser.
_WEB = ("http", "https")


class ManualDialog(Dialog):
    """Stays beside the window, which can be used meanwhile."""

    def __init__(self, parent: QWidget | None, engines: Engines) -> None:
        super().__init__(parent, 640)
        self.setWindowModality(Qt.WindowModality.NonModal)
        self.setWindowTitle(self.tr("Manual"))
        self._manual = Manual({}, {})
        self._before: list[str] = []
        self.search = forms.line_edit(self.tr("Find in the manual"))
        self.search.setAccessibleName(self.tr("Find in the manual"))
        self.search.setAccessibleDescription(self.tr("Only pages with these words are listed"))
        forms.clearable(self.search)
        self.list = QListWidget()
        self.list.setAccessibleName(self.tr("Pages of the manual"))
        self.none = forms.label(self.tr("No page has these words."), "muted", wrap=True)
        self.none.hide()
        self.view = ManualView()
        self.notice = Notice()
        self.where = forms.label("", "muted")
        self.where.setAccessibleName(self.tr("Where the link leads"))
        self.back = forms.button(self.tr("&Back"), self._go_back, enter=False)
        close = forms.button(self.tr("Close"), self.accept, enter=False)
        left = forms.page(forms.column(self.search, self.none, (self.list, 1)))
        card = forms.frame("card", forms.column(self.view, margin=1, gap=0))
        split = forms.split(left, card, sizes=(220, 850))
        split.setStretchFactor(1, 1)
        forms.add(self.body, self.notice, (split, 1))
        forms.add(self.body, forms.row((self.where, 1), self.back, close))
        self.resize_within(1120, 760)
        self.search.textChanged.connect(self._list)
        self.list.currentItemChanged.connect(lambda item, _: self._chosen(item))
        self.view.anchorClicked.connect(self._follow)
        self.view.highlighted.connect(self._tell_where)
        forms.on_key(self.search, Qt.Key.Key_Down, self.list.setFocus)
        QtGui.QShortcut(QtGui.QKeySequence.StandardKey.Back, self, self._go_back)
        self._ask(engines)
        self.search.setFocus()

    def _ask(self, engines: Engines) -> None:
        self._show_ways()
        listener = Listener(result=self._is_read, failed=self.notice.tell)
        Latest(engines, self).call(listener, manual.read)

    def _is_read(self, whole: Manual) -> None:
        self._manual = self.view.manual = whole
        self._list()

    def _list(self, *_: object) -> None:
        """List the pages that have the words; the one that is shown stays so if it has them."""
        words = self.search.text().split()
        found = self._manual.having(words)
        self.list.blockSignals(True)
        self.list.clear()
        for page in found:
            item = QListWidgetItem(page.title, self.list)
            item.setData(Qt.ItemDataRole.UserRole, page.path)
            item.setToolTip(tip(page.about))
        self.list.blockSignals(False)
        self.none.setVisible(bool(self._manual.pages) and not found)
        self.view.mark(words)
        if found and self.view.path not in {page.path for page in found}:
            self.list.setCurrentRow(0)
        else:
            self._point()

    def _chosen(self, item: QListWidgetItem | None) -> None:
        if item is not None:
            self.go(str(item.data(Qt.ItemDataRole.UserRole)))

    def go(self, path: str, heading: str = "") -> None:
        """Show a page by its path in the source tree, from a heading on."""
        page = self._manual.pages.get(path)
        if page is None:
            said = self.tr("{} is a file of Torchkeeper’s sources, not a page of the manual.")
            self.where.setText(said.format(printable(path)))
            return
        if self.view.path != path:
            if self.view.path:
                self._before.append(self.view.path)
            self.view.show_page(page)
            self.view.mark(self.search.text().split())
        self.view.go_to(heading)
        self._point()
        self._show_ways()

    def _go_back(self) -> None:
        if self._before:
            path = self._before.pop()
            self.view.path = ""  # what is left is not come back to
            self.go(path)

    def _show_ways(self) -> None:
        self.where.setText("")
        self.back.setEnabled(bool(self._before))

    def _point(self) -> None:
        """Have the list show which page is shown."""
        self.list.blockSignals(True)
        role = Qt.ItemDataRole.UserRole
        rows = range(self.list.count())
        shown = (row for row in rows if self.list.item(row).data(role) == self.view.path)
        self.list.setCurrentRow(next(shown, -1))
        self.list.blockSignals(False)

    def _follow(self, url: QUrl) -> None:
        led = manual.lead(self.view.path, url.toString())
        if led is not None:
            self.go(*led)
        elif url.scheme() not in _WEB or not QDesktopServices.openUrl(url):
            said = self.tr("No browser answered. The address is {}")
            self.where.setText(said.format(printable(url.toString())))

    def _tell_where(self, url: QUrl) -> None:
        """Say where a link leads, before somebody follows it."""
        led = manual.lead(self.view.path, url.toString())
        page = self._manual.pages.get(led[0]) if led else None
        said = self.tr("Opens the browser: {}").format(url.toString())
        if led is not None:
            said = page.title if page is not None else led[0]
        self.where.setText("" if url.isEmpty() else printable(said))


class ManualView(Read):
    """The text of a page. What it shows was read before: it loads nothing, from nowhere."""

    def __init__(self) -> None:
        super().__init__()
        self.manual = Manual({}, {})
        #: Of the page that is shown, in the source tree.
        self.path = ""
        self._page: Page | None = None
        self.setAccessibleName(QCoreApplication.translate("ManualView", "Text of the manual"))
        self.setOpenLinks(False)
        self.setUndoRedoEnabled(False)
        self.setAcceptDrops(False)
        self.document().setDocumentMargin(20)
        theme.follow(self, self._draw)

    def show_page(self, page: Page) -> None:
        """Show a page from its beginning."""
        self._page, self.path = page, page.path
        self._draw()

    def go_to(self, heading: str) -> None:
        """Scroll to what links call a heading; without one to the beginning."""
        self.verticalScrollBar().setValue(0)
        if not heading:
            return
        blocks = [x for x in self._blocks() if x.blockFormat().headingLevel()]
        for block, anchor in zip(blocks, manual.anchors(x.text() for x in blocks), strict=True):
            if anchor == heading:
                self._scroll_to(block, 0)

    def _scroll_to(self, block: QTextBlock, above: int) -> None:
        """Have a block stand so many pixels below the top."""
        top = self.document().documentLayout().blockBoundingRect(block).top()
        self.verticalScrollBar().setValue(int(top) - above)

    def mark(self, words: list[str]) -> None:
        """Mark words wherever they stand, and go to the first of them."""
        marks: list[QTextEdit.ExtraSelection] = []
        look = QtGui.QTextCharFormat()
        look.setBackground(QtGui.QColor(theme.shades().selected))
        for word in words:
            at = self.document().find(word)
            while not at.isNull() and len(marks) < _MARKED:
                one = QTextEdit.ExtraSelection()
                one.cursor = at
                one.format = look
                marks.append(one)
                at = self.document().find(word, at)
        self.setExtraSelections(marks)
        if marks:
            first = min((x.cursor for x in marks), key=QTextCursor.position)
            self._scroll_to(first.block(), self.viewport().height() // 3)

    def loadResource(self, _kind: int, name: QUrl | str, /) -> object:
        """A picture of the manual; of anything else, nothing."""
        led = manual.lead(self.path, QUrl(name).toString())
        data = self.manual.pictures.get(led[0]) if led is not None else None
        picture = QtGui.QImage.fromData(data) if data is not None else QtGui.QImage()
        if picture.width() > _PICTURE:
            picture = picture.scaledToWidth(_PICTURE, Qt.TransformationMode.SmoothTransformation)
        return picture

    def _draw(self) -> None:
        if self._page is None:
            return
        at = self.verticalScrollBar().value()
        show_markdown(self.document(), self._page.text)
        for block in self._blocks():
            self._dress(block)
        for frame in self.document().rootFrame().childFrames():
            if isinstance(frame, QtGui.QTextTable):
                _dress_table(frame)
        self.verticalScrollBar().setValue(at)

    def _blocks(self) -> list[QTextBlock]:
        blocks, block = [], self.document().begin()
        while block.isValid():
            blocks.append(block)
            block = block.next()
        return blocks

    def _dress(self, block: QTextBlock) -> None:
        """Give a block the colours of the theme, and room."""
        shades, look = theme.shades(), block.blockFormat()
        cursor = QTextCursor(block)
        if look.hasProperty(QTextFormat.Property.BlockCodeFence):
            look.setBackground(QtGui.QColor(shades.raised))
            look.setNonBreakableLines(False)
            look.setLeftMargin(_INDENT)
            look.setRightMargin(_INDENT)
        elif look.headingLevel():
            look.setTopMargin(20 if block.blockNumber() else 0)
            look.setBottomMargin(8)
        elif block.textList() is None and cursor.currentTable() is None:
            look.setBottomMargin(10)
        cursor.setBlockFormat(look)
        parts = block.begin()
        found: list[tuple[int, int, QtGui.QTextCharFormat]] = []
        while not parts.atEnd():
            part = parts.fragment()
            found.append((part.position(), part.length(), part.charFormat()))
            parts += 1
        for start, length, form in found:
            more = QtGui.QTextCharFormat()
            if form.fontFixedPitch():
                more.setFontFamilies(theme.monospace().families())
            if form.isAnchor():
                more.setForeground(QtGui.QColor(shades.accent))
            cursor.setPosition(start)
            cursor.setPosition(start + length, QTextCursor.MoveMode.KeepAnchor)
            cursor.mergeCharFormat(more)


def _dress_table(table: QtGui.QTextTable) -> None:
    """Thin lines, and a head that stands out."""
    shades, form = theme.shades(), table.format()
    form.setBorderCollapse(True)
    form.setBorder(1)
    form.setBorderStyle(QtGui.QTextFrameFormat.BorderStyle.BorderStyle_Solid)
    form.setBorderBrush(QtGui.QColor(shades.line))
    form.setCellPadding(_CELL)
    form.setCellSpacing(0)
    form.setTopMargin(8)
    form.setBottomMargin(12)
    table.setFormat(form)
    for column in range(table.columns()):
        cell = table.cellAt(0, column)
        head = cell.format()
        head.setBackground(QtGui.QColor(shades.raised))
        cell.setFormat(head)
