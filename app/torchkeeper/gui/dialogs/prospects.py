"""What of some files would be of use here, asked for while the user looks at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from torchkeeper.client.words import verdicts
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.verdicts.environments import State
from torchkeeper.gui.verdicts.judging import Judging

if TYPE_CHECKING:
    from torchkeeper.engine.messages.verdicts import JudgeResult
    from torchkeeper.verdict.probed import Env

#: Characters of a sentence about a file.
_LONG = 400


class Prospects(QObject):
    """Has one file after the other judged in the environment that is chosen. Nobody waits for it:
    where it cannot be told, nothing is said.
    """

    changed = Signal()

    def __init__(self, engines: Engines, choice: EnvironmentChoice, parent: QObject) -> None:
        """choice: whom to ask."""
        super().__init__(parent)
        self._choice = choice
        self._judging = Judging(engines, self)
        self._files: list[str] = []
        self._about: Env | None = None
        #: What was found of each file (engine/checking.py); None of what cannot be judged.
        self.found: dict[str, JudgeResult | None] = {}
        choice.changed.connect(self._look)

    def begin(self, files: Sequence[str]) -> None:
        """Have these files judged, which can be read."""
        self._files = list(files)
        self._look()

    def _look(self) -> None:
        chosen = self._choice.one
        facts = chosen.facts if chosen is not None and chosen.torch else None
        if facts is not self._about:
            self._judging.forget()
            self._about, self.found = facts, {}
            self.changed.emit()
        if facts is not None:
            self._next()

    def _next(self) -> None:
        chosen = self._choice.one
        waiting = [file for file in self._files if file not in self.found]
        if not waiting or chosen is None or self._judging.busy:
            return
        file = waiting[0]

        def told(counts: JudgeResult | None) -> None:
            self.found[file] = counts
            self.changed.emit()
            self._next()

        def failed(_: UserError) -> None:
            told(None)

        self._judging.ask(file, chosen, told, failed)

    def forget(self) -> None:
        """Ask no more."""
        self._files = []
        self._judging.forget()

    @property
    def waited_for(self) -> bool:
        """Whether something is still to come."""
        chosen = self._choice.one
        if chosen is None or not self._files:
            return False
        asking = chosen.state in (State.ASKING, State.UNASKED) and not chosen.torch
        return asking or (bool(chosen.torch) and any(f not in self.found for f in self._files))

    def of(self, file: str) -> str:
        """What of a file would be of use, in a sentence; empty where that is not known."""
        counts = self.found.get(file)
        if counts:
            judged = {name: n for name, n in counts["verdicts"].items() if name != "none"}
            if not judged:
                return ""
            said = printable(verdicts.summary({**counts, "verdicts": judged}), _LONG)
            return self.tr("With {}: {}").format(self._here(), said)
        waiting = self.waited_for and file in self._files and file not in self.found
        return self.tr("Asking what of it is of use here…") if waiting else ""

    @property
    def warning(self) -> str:
        """That nothing in any of the files is of use here; empty where something may be."""
        told = [self.found.get(file) for file in self._files]
        known = [counts for counts in told if counts]
        chosen = self._choice.one
        if not known or len(known) < len(told) or chosen is None:
            return ""
        return printable(verdicts.warning(verdicts.together(known), chosen.torch), _LONG)

    def _here(self) -> str:
        chosen = self._choice.one
        return self.tr("torch {}").format(printable(chosen.torch if chosen else "", 40))
