"""The one door for texts that Qt may take for more than text: tooltips, What's This, labels, and
what an ``&`` underlines. A name, a path or an answer of a server may say ``<img src="/dev/zero">``.
Qt guesses by its first line whether a tooltip is HTML (``Qt.mightBeRichText``), and loads then what
that names. What goes through here is never taken for HTML, has a bound, and hides nothing;
tests/test_house.py finds what goes past it.
"""

from __future__ import annotations

import re
import textwrap

from PySide6 import QtGui
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QLabel, QTextBrowser

from torchkeeper.client.words.problems import printable, visible

#: Characters of a tooltip, and of its lines: Qt breaks the lines of nothing but HTML.
_TIP, _LINE = 2000, 120
#: Characters of what stands in a menu or on a button, and of a label at most.
_CAPTION, _LABEL = 120, 10_000
#: Nobody sees it; what it stands behind begins neither a tag nor an entity.
_JOINER = "\u2060"
_BEGINS = re.compile(f"<(?!{_JOINER})|&(?=lt;)")
_BROKEN = re.compile(f"([<&]{_JOINER}|:/{{2}}{_JOINER})")


class Read(QTextBrowser):
    """A text to be read, where Copy is its own, not the window's."""

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QtGui.QKeyEvent):
            mine = QtGui.QKeySequence.StandardKey
            if event.matches(mine.Copy) or event.matches(mine.SelectAll):
                event.accept()
                return True
        return super().event(event)


def tip(text: str) -> str:
    """A text as a tooltip. To go through it twice does no harm."""
    lines = shown(text).split("\n")
    return _no_html("\n".join(x if len(x) <= _LINE else textwrap.fill(x, _LINE) for x in lines))


def caption(text: str, most: int = _CAPTION) -> str:
    """What a cache or a path says, for what has a key with Alt; Qt makes a tooltip of it."""
    return _no_html(printable(text, most)).replace("&", "&&")


def window_title(text: str) -> str:
    """A text as the title of a window, in which Qt puts a star for ``[*]``."""
    return printable(text, _CAPTION).replace("[*]", "[*][*]")


def explained(name: str, text: str) -> str:
    """A name and a text as What's This, which shows the name in bold."""
    import html  # only here: it takes some milliseconds

    heading = f"<b>{html.escape(name)}</b><br>" if name else ""
    return f"<p>{heading}{html.escape(text)}</p>"


def shown(text: str, most: int = _TIP) -> str:
    """Lines of text with what cannot be seen made visible, cut to so many characters."""
    cut = text if len(text) <= most else text[:most] + "…"
    return "\n".join(line if line.isprintable() else _visible(line) for line in cut.split("\n"))


def show_markdown(document: QtGui.QTextDocument, text: str) -> None:
    """Show a text of our own, in which no HTML is read."""
    kinds = QtGui.QTextDocument.MarkdownFeature
    document.setMarkdown(text, kinds.MarkdownDialectGitHub | kinds.MarkdownNoHTML)


class Label(QLabel):
    """A label in which nothing is ever read as HTML, nor hidden, nor without an end."""

    def __init__(self, text: str = "", role: str = "") -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        if role:
            self.setProperty("role", role)
        self.setText(text)

    def setText(self, text: str, /) -> None:
        super().setText(self._laid(shown(text, _LABEL)))

    def _laid(self, text: str) -> str:
        """The text as it is laid out."""
        return text


def _visible(line: str) -> str:
    # A joiner behind what it breaks is one of ours.
    parts = _BROKEN.split(line)
    return "".join(part if _BROKEN.fullmatch(part) else visible(part) for part in parts)


def _no_html(text: str) -> str:
    if not QtGui.Qt.mightBeRichText(text):
        return text
    return _BEGINS.sub(lambda found: found[0] + _JOINER, text)
