"""What is known to go wrong with recipes before anything is compiled, said in a dialog."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.widgets import forms
from torchkeeper.link.words import say
from torchkeeper.link.words.problems import UserError, printable, user_error

if TYPE_CHECKING:
    from torchkeeper.engine.messages.compiling import CellsParams, CellsRow
    from torchkeeper.warm.shapes import SentRecipe

#: Reasons that are told.
_MOST = 3
#: Those of the place and not of a recipe, whose remedy is at hand in the dialog.
_MENDED = frozenset({"place-blank"})


class Foreseen(QWidget):
    """Asks an engine of the interpreter that is to compile (operation ``cells``), which imports
    neither torch nor anything of the user's.
    """

    changed = Signal()

    def __init__(self, engines: Engines) -> None:
        super().__init__()
        self._engines = engines
        self._ticket: int | None = None
        self._asked: object = None
        self._problems: dict[str, int] = {}
        self.said = forms.label("", "warning", wrap=True)
        self.said.setAccessibleName(self.tr("What will go wrong"))
        whole = forms.column()
        whole.addWidget(self.said)
        self.setLayout(whole)
        self.hide()

    def look(
        self, python: str, recipes: Sequence[str | SentRecipe] | None, options: CellsParams
    ) -> None:
        """Look at recipes, as a request has them; None: there is nothing to look at yet. In the
        options ``into``: a place whose path may be no good.
        """
        asked = (python, repr(recipes), repr(options)) if python and recipes is not None else None
        if asked == self._asked:
            return
        self._asked = asked
        self.let_go()
        self._problems = {}
        self._say()
        # The built-in one has nothing that could be missing; but the place may be no good.
        whole = "into" not in options and all(isinstance(one, str) for one in recipes or ())
        if asked is None or not recipes or whole:
            return
        listener = Listener(rows=self._rows, result=lambda _: self._say(), failed=self._failed)
        params: CellsParams = {**options, "recipes": recipes}
        self._ticket = self._engines.ask("cells", params, listener, python=python)

    def let_go(self) -> None:
        """Hear no more."""
        self._engines.forget(self._ticket)
        self._ticket = None

    def _rows(self, rows: list[CellsRow]) -> None:
        for row in rows:
            if problem := row["problem"]:
                error = user_error(problem["code"], problem["params"])
                remedy = error.remedy if problem["code"] in _MENDED else ""
                parts = (error.what, error.why, remedy)
                text = printable(" ".join(filter(None, parts)), 600)
                self._problems[text] = self._problems.get(text, 0) + 1

    def _failed(self, error: UserError) -> None:
        self._problems = {f"{error.what} {error.why}".strip(): 0}
        self._say()

    def _say(self) -> None:
        some = sorted(self._problems.items(), key=lambda one: -one[1])
        cells = sum(self._problems.values())
        lines = [text for text, _ in some[:_MOST]]
        if cells:
            many = say.count(cells, "cell", "cells")
            lines.insert(0, self.tr("{} would fail:").format(many))
        if len(some) > _MOST:
            lines.append(self.tr("and {} reasons more").format(len(some) - _MOST))
        self.said.setText("\n".join(lines))
        self.setVisible(bool(lines))
        self.changed.emit()
