"""The pages one over the other: each is made when it is first shown, and the way back is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from torchkeeper.gui.pages import COMPARE, ENTRIES, PAGES
from torchkeeper.gui.pages.page import Page

#: Pages that the way back remembers.
_MOST = 50


class Pages(QStackedWidget):
    """Shows one page at a time, of which ``entries`` is there from the start."""

    changed = Signal(str)
    #: Another page is seen, and what had the focus before may be gone.
    turned = Signal(object)

    def __init__(self, entries: QWidget) -> None:
        super().__init__()
        self._made: dict[str, QWidget] = {ENTRIES: entries}
        #: What makes each of the others.
        self.makers: Mapping[str, Callable[[], QWidget]] = {}
        self._way: list[str] = [ENTRIES]
        self._at = 0
        self.addWidget(entries)

    @property
    def current(self) -> str:
        """The id of the page that is shown."""
        return self._way[self._at]

    @property
    def under(self) -> str:
        """The page that is shown; where that is a view, the one that it leads back to."""
        return next(one for one in reversed(self._way[: self._at + 1]) if one in PAGES)

    @property
    def page(self) -> Page | None:
        """The page that is shown, None where that is the entries'."""
        return self._as_page(self._made[self.current])

    def made(self) -> Iterator[Page]:
        """The pages that are there: those that somebody has looked at, and what is made ahead."""
        yield from (page for _, page in self.by_id())

    def by_id(self) -> Iterator[tuple[str, Page]]:
        """The same, each with its id."""
        for ident, widget in self._made.items():
            if (page := self._as_page(widget)) is not None:
                yield ident, page

    def of(self, ident: str) -> QWidget:
        """A page by its id; made when it is first asked for. Raises KeyError where none is it."""
        if ident not in self._made:
            self._made[ident] = page = self.makers[ident]()
            self.addWidget(page)
        return self._made[ident]

    def minimumSizeHint(self) -> QSize:
        # What others need is of no matter: they are not seen.
        shown = self.currentWidget()
        return shown.minimumSizeHint() if shown is not None else super().minimumSizeHint()

    def go(self, ident: str) -> QWidget:
        """Show a page, from which there is a way back; one that is no page is the entries'."""
        ident = ident if ident in (*PAGES, COMPARE) else ENTRIES
        if ident != self.current:
            del self._way[self._at + 1 :]
            self._way.append(ident)
            del self._way[1 : 1 - _MOST]
            self._show(len(self._way) - 1)
        elif (page := self.page) is not None:
            page.entered()
        return self.of(ident)

    @property
    def can_go_back(self) -> bool:
        return self._at > 0

    @property
    def can_go_forward(self) -> bool:
        return self._at < len(self._way) - 1

    def back(self) -> None:
        if self.can_go_back:
            self._show(self._at - 1)

    def forward(self) -> None:
        if self.can_go_forward:
            self._show(self._at + 1)

    def let_go(self) -> None:
        """The window closes."""
        for page in self.made():
            page.let_go()

    def _show(self, at: int) -> None:
        before = self.page
        focus = self.window().focusWidget()
        self._at = at
        self.setCurrentWidget(self.of(self.current))
        self.turned.emit(focus)
        self.updateGeometry()
        if before is not None:
            before.left()
        if (page := self.page) is not None:
            page.entered()
        self.changed.emit(self.current)

    @staticmethod
    def _as_page(widget: QWidget) -> Page | None:
        # Loaded with the first page: the entries' is none.
        from torchkeeper.gui.pages.page import Page

        return widget if isinstance(widget, Page) else None
