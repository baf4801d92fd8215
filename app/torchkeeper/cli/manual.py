"""Pages of the manual on a terminal: headings stand out, tables fit, code is as it is written."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from torchkeeper.cli import contract, output
from torchkeeper.client import manual
from torchkeeper.client.words.problems import printable

#: What a word may have been meant for, of those that are known: a sentence, or "".
Mistyped = Callable[[str, Iterable[str]], str]
#: The words that stand for the list of all pages, and for a table that is no page.
TOPICS, STATUSES = "topics", "exit-status"
#: Characters of a line at most, of a column at least, and between columns.
_WIDEST, _NARROWEST, _GAP = 100, 12, 2

#: The end of a page's file, which tells it from a command of the same name.
_SUFFIX = ".md"

_BOLD, _CODE, _FAINT, _PLAIN = "\33[1m", "\33[36m", "\33[2m", "\33[0m"
_STYLES = re.compile("\33\\[[0-9;]*m")
_INLINE = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<bold>.+?)\*\*|(?<!\w)\*(?P<word>[^*]+)\*(?!\w)"
    r"|!\[(?P<picture>[^\]]*)\]\([^)]*\)|\[(?P<text>[^\]]+)\]\((?P<target>[^)\s]+)\)"
)
_ITEM = re.compile(r"(\s*)([-*+]|\d+\.) +(.*)")
_ROW = re.compile(r"(?<!\\)\|")


def show(topic: str, commands: Collection[str], mistyped: Mistyped) -> None:
    """Print a page, as plain Markdown where no terminal is; or the list of all. Raises UserError.

    commands: names that help takes for something else. mistyped: says what a word may have been
    meant for, of those that are known.
    """
    if topic == STATUSES:
        output.lines(contract.lines())
        return
    whole = manual.read()
    topics = {f"{x}{_SUFFIX}" if x in commands else x: page for x, page in whole.topics().items()}
    if topic == TOPICS:
        rows = [[name, page.about or page.title] for name, page in topics.items()]
        rows.append([STATUSES, "What a command ends with"])
        output.table(["TOPIC", "SUBJECT"], rows, frozenset())
        output.note("“torchkeeper help TOPIC” prints a page.")
        return
    page = whole.topics().get(topic.lower().removesuffix(_SUFFIX))
    if page is None:
        said = f"There is no command or page of the manual “{printable(topic)}”."
        where = "“torchkeeper help” lists the commands, “torchkeeper help topics” the pages."
        if found := [page.topic for page in whole.having([topic])]:
            where = f"These pages have the word: {', '.join(found)}. {where}"
        guess = mistyped(topic, [*commands, *topics, STATUSES])
        raise output.misuse(said, "", f"{guess} {where}".strip())
    if sys.stdout.isatty():
        width = min(shutil.get_terminal_size().columns, _WIDEST)
        # Not by ``output``, which shows what a terminal would obey: this is our own.
        names = {one.path: name for name, one in topics.items()}
        sys.stdout.writelines(f"{line}\n" for line in Terminal(page, names, width).lines())
    else:
        output.lines(page.text.splitlines())


class Terminal:
    """A page as lines for a terminal that is so many characters wide."""

    def __init__(self, page: manual.Page, names: Mapping[str, str], width: int) -> None:
        """names: what help calls each page, by its path."""
        self._page, self._names, self._width = page, names, max(width, 2 * _NARROWEST)
        self._styled = os.environ.get("TERM") != "dumb"
        self._coloured = self._styled and not os.environ.get("NO_COLOR")

    def lines(self) -> Iterator[str]:
        """The lines, from top to bottom."""
        rest = self._page.text.splitlines()
        while rest:
            first = rest[0]
            if first.startswith("```"):
                end = next((n for n, x in enumerate(rest[1:], 1) if x.startswith("```")), len(rest))
                yield from (f"    {line}" for line in rest[1:end])
                rest = rest[end + 1 :]
            elif first.startswith("#"):
                yield self._style(_BOLD, self._inline(first.lstrip("#").strip()))
                rest = rest[1:]
            elif first.startswith("|"):
                end = next((n for n, x in enumerate(rest) if not x.startswith("|")), len(rest))
                rows = [_ROW.split(row.strip().strip("|")) for row in rest[:end]]
                yield from self._table([[cell.strip() for cell in row] for row in rows])
                rest = rest[end:]
            elif not first.strip():
                yield ""
                rest = rest[1:]
            else:
                item = _ITEM.match(first)
                end = _end(rest)
                yield from self._paragraph(rest[:end], item)
                rest = rest[end:]

    def _paragraph(self, some: Sequence[str], item: re.Match[str] | None) -> Iterator[str]:
        """Lines that belong together, of text or of an item of a list, filled anew."""
        mark = f"{item[1]}{item[2]} " if item else ""
        text = " ".join([item[3] if item else some[0], *(line.strip() for line in some[1:])])
        filled = _filled(self._inline(text), self._width - len(mark))
        for number, line in enumerate(filled):
            yield (" " * len(mark) if number else mark) + line

    def _table(self, rows: Sequence[Sequence[str]]) -> Iterator[str]:
        """Rows of Markdown, the second of which is a line; the widest columns are made to fit."""
        shown = [[self._inline(cell) for cell in row] for n, row in enumerate(rows) if n != 1]
        columns = max(map(len, shown))
        shown = [[*row, *[""] * (columns - len(row))] for row in shown]
        widths = [max(_width(row[n]) for row in shown) for n in range(columns)]
        room = max(self._width - _GAP * (columns - 1), columns * _NARROWEST)
        while sum(widths) > room:
            widths[widths.index(max(widths))] -= 1
        for number, row in enumerate(shown):
            cells = [_filled(cell, width) for cell, width in zip(row, widths, strict=True)]
            for at in range(max(map(len, cells))):
                parts = [cell[at] if at < len(cell) else "" for cell in cells]
                if not number:
                    parts = [self._style(_BOLD, part) for part in parts]
                padded = (x + " " * (w - _width(x)) for x, w in zip(parts, widths, strict=True))
                yield (" " * _GAP).join(padded).rstrip()

    def _inline(self, text: str) -> str:
        """Text whose Markdown is styles."""
        return _INLINE.sub(self._part, text).replace("\\|", "|")

    def _part(self, found: re.Match[str]) -> str:
        if found["code"] is not None:
            return self._style(_CODE, found["code"]) if self._coloured else found[0]
        if found["picture"] is not None:
            return self._style(_FAINT, f"(picture: {found['picture']})")
        if found["text"] is None:
            return self._style(_BOLD, found["bold"] or found["word"])
        text, led = self._inline(found["text"]), manual.lead(self._page.path, found["target"])
        if led is None:
            return text if text == found["target"] else f"{text} ({found['target']})"
        if led[0] not in self._names or led[0] == self._page.path:
            return text
        return f"{text} {self._style(_FAINT, f'(help {self._names[led[0]]})')}"

    def _style(self, style: str, text: str) -> str:
        """Each word in a style: a line may end after any."""
        if not self._styled or not text:
            return text
        return " ".join(f"{style}{word}{_PLAIN}" for word in text.split(" "))


def _end(lines: Sequence[str]) -> int:
    """How many lines from the first on are of one paragraph, or of one item."""
    for number, line in enumerate(lines[1:], 1):
        if not line.strip() or line.startswith(("#", "|", "```")) or _ITEM.match(line):
            return number
    return len(lines)


def _width(text: str) -> int:
    return len(_STYLES.sub("", text))


def _filled(text: str, width: int) -> list[str]:
    """The words of a text in lines of at most so many characters; one line where it has none."""
    lines = [""]
    for word in text.split():
        pieces = [word]
        if _width(word) > width:  # only an address or a name is as long, and loses its style
            pieces = textwrap.wrap(_STYLES.sub("", word), width) or [""]
        for piece in pieces:
            if lines[-1] and _width(lines[-1]) + 1 + _width(piece) > width:
                lines.append(piece)
            else:
                lines[-1] = f"{lines[-1]} {piece}".lstrip()
    return lines
