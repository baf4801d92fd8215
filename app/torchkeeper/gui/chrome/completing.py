"""What helps to write a filter: fields, values and how many have them, and what is asked most."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QPoint, Qt
from PySide6.QtWidgets import QToolButton

from torchkeeper.artifacts.entry import KINDS, VERDICTS, Problem
from torchkeeper.artifacts.jits.known import compiler
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.chrome.picks import Pick, PickList
from torchkeeper.gui.idle import Slices, pieces
from torchkeeper.gui.table.rows import SIZE, select_rows
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.stores.query import FIELDS, STATES, TERM, Query, parse

if TYPE_CHECKING:
    from torchkeeper.gui.chrome.head import Head
    from torchkeeper.gui.table.view import EntryTable

_tr = partial(QCoreApplication.translate, "Completing")
#: Fields with values of their own that entries have, and values of the others.
_HELD = ("kind", "torch", "device", "owner")
_VALUES = {
    "is": (*VERDICTS, *(state for state in STATES if state not in VERDICTS)),
    "size": ("10k", "100k", "1M", "10M", "100M", "1G"), "age": ("1d", "7d", "30d", "90d", "1y"),
    "files": ("1", "3", "10"), "compile": ("1", "5", "30", "60"), "used": ("1d", "7d", "90d"),
    "expires": ("1d", "7d", "30d", "never"),
}  # fmt: skip
#: What a field is compared by, where that is not “:”; and lines that are shown at once.
_BY = {"size": ">", "age": ">", "files": ">", "compile": ">", "used": ">", "expires": "<"}
_LINES = 10
#: The function in a name such as ``forward(x)``; its inputs or its operations follow.
_MODEL = re.compile(r'[^"(:]+(?:\(|:(?= ))')
_PART = re.compile(r'(-?)(?:([a-z]+)([:<>=]+)((?:[^\s",]*,)*))?([^\s",]*)$')


def model_of(name: str) -> str:
    """The term that finds all of the function in this name; empty where there is none."""
    found = _MODEL.match(name)
    return f'"{found[0]}"' if found else ""


class Completing:
    """Offers under the filter, and the buttons below it."""

    def __init__(self, head: Head, table: EntryTable) -> None:
        self._head, self._box, self._table, self._model = head, head.box, table, table.entries
        self.list = PickList(self._box, _tr("Suggestions for the filter"), first=False)
        self.frame = forms.frame("card", forms.column(self.list, margin=4))
        self.frame.setParent(head.window())
        self.frame.hide()
        self._slices = Slices(self.list)
        #: How many entries have each value of a field, for what else the filter says.
        self.counts: Counter[str] | None = None
        self._counted = ("", "")
        self._box.textEdited.connect(lambda _: self.complete())
        self.list.picked.connect(self._take)
        self.list.left.connect(lambda _: self.frame.hide())
        self._model.changed.connect(self._forget)
        self._term = ""
        self.stale = self._chip(_tr("Stale here"), _tr("Show entries that no program finds here"))
        self.largest = self._chip(
            _tr("Largest"), _tr("Show the largest entries, which take half of all room")
        )
        self.model = self._chip(_tr("This model"), _tr("Show the entries of the same model"))
        self.stale.clicked.connect(lambda: self._toggle("is:stale"))
        self.largest.clicked.connect(self._show_largest)
        self.model.clicked.connect(lambda: self._toggle(self._of_model()))
        chips = self.stale, self.largest, self.model
        head.below.setLayout(forms.row(*chips, forms.REST, gap=4))
        self._box.textChanged.connect(self._show_chips)
        table.selection_changed.connect(self._show_chips)
        self._show_chips()

    def complete(self) -> None:
        """Offer what may come where the cursor is."""
        at = self._box.cursorPosition()
        text = self._box.text()
        found = _PART.search(text[:at])
        picks: list[Pick] = []
        quoted = text[:at].count('"') % 2
        if found is not None and not quoted and (found[2] in FIELDS if found[2] else found[5]):
            rest = text[: found.start()] + text[at:]
            picks = list(self._values(found, rest) if found[2] else self._fields(found))
        only = len(picks) == 1 and picks[0].value == (found and found[0])
        self.list.offer([] if only else picks, keep=True)
        self._place(bool(picks) and not only and self._box.hasFocus())

    def _fields(self, found: re.Match[str]) -> Iterator[Pick]:
        for field in FIELDS:
            if field.startswith(found[5].lower()):
                name = field + _BY.get(field, ":")
                some = ", ".join(_VALUES.get(field, KINDS if field == "kind" else ())[:3])
                yield Pick(name, found[1] + name, some)

    def _values(self, found: re.Match[str], rest: str) -> Iterator[Pick]:
        field, counts = found[2], self._count(found[2], found[3], rest)
        values: Sequence[str] = _VALUES.get(field, ())
        if field in _HELD:
            there = counts if counts is not None else self._model.kinds if field == "kind" else {}
            values = sorted(there, key=lambda value: -there[value])
        for value in values:
            if value.startswith(found[5]):
                whole = f'"{value}"' if " " in value else value
                number = "" if counts is None else f"{counts[value]:,}"
                about = say.kind_words(value) if field == "kind" else ""
                term = f"{found[1]}{field}{found[3]}{found[4]}{whole}"
                yield Pick(printable(value, 80), term, about, number)

    def _count(self, field: str, by: str, rest: str) -> Counter[str] | None:
        """How many have each value; None while they are counted, of very many in a moment."""
        if self._counted != (field + by, rest):
            self._counted, self.counts = (field + by, rest), None
            try:
                query = parse(rest)
            except Problem:
                query = parse("")
            if field == "kind" and not query.tests and "jit" not in self._model.kinds:
                self.counts = self._model.kinds  # they are counted already
            else:
                self._slices.start(self._counting(field, by, query), self.complete)
        return self.counts

    def _counting(self, field: str, by: str, query: Query) -> Iterator[None]:
        found = Counter[str]()
        tests = {}
        for value in _VALUES.get(field, ()):
            with_colon = ":" if field == "is" or value == "never" else by
            try:
                [tests[value]] = parse(f"{field}{with_colon}{value}").tests
            except Problem:
                return
        apart = self._model.shows_apart or field == "kind"
        for piece in pieces(list(self._model.every_row)):
            entries = [row.entry for row in select_rows(piece, query, apart)]
            if field in _HELD:
                said = [getattr(entry, field) for entry in entries]
                found.update(chain.from_iterable(one.split(",") for one in said if one))
            if field == "kind":
                names = (entry.name for entry in entries if entry.kind == "jit")
                found.update(filter(None, map(compiler, names)))
            for value, test in tests.items():
                found[value] += sum(test(entries))
            yield
        self.counts = found

    def _forget(self) -> None:
        if not self._slices.busy:
            self._counted = "", ""

    def _take(self, pick: Pick) -> None:
        at, text, term = self._box.cursorPosition(), self._box.text(), str(pick.value)
        found = _PART.search(text[:at])
        before = text[: found.start() if found is not None else at]
        more = "" if term[-1] in ":<>=" else " "
        self._box.setText(before + term + more + text[at:].lstrip())
        self._box.setCursorPosition(len(before + term + more))
        self._box.setModified(True)
        self.complete()

    def _place(self, shown: bool) -> None:
        box, window = self._box, self._head.window()
        lines = min(_LINES, len(self.list.picks)) * max(24, self.list.sizeHintForRow(0))
        at = box.mapTo(window, QPoint(0, box.height() + 2))
        self.frame.setGeometry(at.x(), at.y(), box.width(), lines + 2 * forms.GAP + 4)
        self.frame.setVisible(shown)
        self.frame.raise_()

    def _chip(self, text: str, hint: str) -> QToolButton:
        made = QToolButton()
        made.setText(text)
        made.setToolTip(tip(hint))
        made.setCheckable(True)
        made.setObjectName("chip")
        return made

    def _of_model(self) -> str:
        return model_of(next((entry.name or "" for entry in self._table.selected(1)), ""))

    def _show_chips(self, *_: object) -> None:
        model = self._of_model()
        self.stale.setChecked(self._at("is:stale") is not None)
        self.largest.setChecked(self._at(self._term) is not None)
        self.model.setChecked(self._at(model) is not None)
        self.model.setEnabled(bool(model))

    def _at(self, term: str) -> tuple[int, int] | None:
        """Where a term begins and ends in the filter; None where it is not there."""
        every = TERM.finditer(self._box.text())
        return next((one.span() for one in every if one[0] == term), None)

    def _toggle(self, term: str) -> None:
        text = self._box.text()
        if (there := self._at(term)) is not None:
            text = text[: there[0]].rstrip() + text[there[1] :]
        else:
            text = f"{text} {term}"
        self._box.setText(text.strip())
        self._show_chips()

    def _show_largest(self) -> None:
        if self._at(self._term) is not None:
            self._toggle(self._term)
        else:
            self._slices.start(self._weighing(), self._put_largest)

    def _weighing(self) -> Iterator[None]:
        """Find the size from which on entries hold half of all bytes, to three digits."""
        held = Counter[int]()
        query, apart = self._model.query, self._model.shows_apart
        for piece in pieces(list(self._model.every_row)):
            for row in select_rows(piece, query, apart):
                size = row.entry.size
                held[size - size % 10 ** max(0, len(str(size)) - 3)] += size
            yield
        above, total = 0, sum(held.values())
        least = next((x for x in sorted(held, reverse=True)
                      if (above := above + held[x]) * 2 >= total), 0)  # fmt: skip
        power = min((len(str(least)) - 1) // 3, 4)
        self._term = f"size>={least / 1000**power:.3g}{' kMGT'[power].strip()}"

    def _put_largest(self) -> None:
        self._toggle(self._term)
        header, down = self._table.horizontalHeader(), Qt.SortOrder.DescendingOrder
        if (header.sortIndicatorSection(), header.sortIndicatorOrder()) != (SIZE, down):
            self._table.sortByColumn(SIZE, down)
