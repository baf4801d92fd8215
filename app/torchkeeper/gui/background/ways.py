"""The ways to other machines, in the worker's thread: each is sought before an engine there is
asked, however long that takes, and ssh may ask for something meanwhile.
"""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal

from torchkeeper.client.engines.questions import WANTS
from torchkeeper.client.words.problems import UserError
from torchkeeper.gui.background.lookups import aside

if TYPE_CHECKING:
    from torchkeeper.client.engines.line import Line
    from torchkeeper.client.engines.questions import Question


#: Seconds after which a connection is given up that nobody has asked for.
_PATIENCE = 30.0
#: How often it is looked whether anything comes of what is sought.
_LOOK_MS = 5000


def _give_up(machine: str) -> None:
    """End the way that is sought."""
    from torchkeeper.client.engines import line

    if way := line.standing(machine):
        way.close()


class Ways(QObject):
    """Which there are. What needs line is loaded where a machine is named: that takes long."""

    #: There is news of the way to a machine: None while it is sought, or for how many seconds
    #: nothing has come of that, "" where it is there, or why there is none.
    reached = Signal(str, object)
    #: ssh asks for something: a ``questions.Question``.
    asks = Signal(object)
    #: A machine, and the way there, or why there is none.
    _found = Signal(str, object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        #: None while one is sought.
        self._ways: dict[str, Line | None] = {}
        #: The machines to which one is sought without asking anybody for anything.
        self.unasked: set[str] = set()
        self._found.connect(self._arrive)
        self._watch = QTimer(self)
        self._watch.timeout.connect(self._look)

    def has(self, machine: str, unasked: bool = False) -> bool:
        """Whether there is one; else it is sought, and ``reached`` says what came of it."""
        if machine in self._ways and ((way := self._ways[machine]) is None or not way.failure):
            if way is None and machine in self.unasked and not unasked:
                aside(partial(_give_up, machine))  # what was asked for begins anew
            return way is not None
        self._ways[machine] = None
        if unasked:
            self.unasked.add(machine)
        self.reached.emit(machine, None)
        self._watch.start(_LOOK_MS)
        asked: list[Question] = []

        def ask(question: Question) -> None:
            asked.append(question)
            self.asks.emit(question)

        def seek() -> None:
            from torchkeeper.client.engines import line
            from torchkeeper.client.engines.questions import Asking

            Asking.by = ask
            try:
                found: object = line.to(machine, silent=unasked)
                line.to(machine).hello(_PATIENCE if unasked else None)
            except UserError as e:
                found = e
                if asked and e.code in WANTS:
                    again = self.tr("“Connect now” has ssh ask again. A key in ssh-agent needs no "
                                    "answer.")  # fmt: skip
                    found = UserError(e.what, e.why, again, code=e.code, params=e.params)
            with contextlib.suppress(RuntimeError):  # the window is gone meanwhile
                self._found.emit(machine, found)

        aside(seek)
        return False

    def _look(self) -> None:
        """Say what is sought in vain so far."""
        from torchkeeper.client import terminal
        from torchkeeper.client.engines import line

        sought = [machine for machine, way in self._ways.items() if way is None]
        if not sought:
            self._watch.stop()
        for machine in sought:
            if (way := line.standing(machine)) and way.still > terminal.SLOW:
                self.reached.emit(machine, round(way.still))

    def _arrive(self, machine: str, way: Line | UserError) -> None:
        if isinstance(way, UserError):
            del self._ways[machine]
            self.reached.emit(machine, way)
        else:
            self._ways[machine] = way
            self.reached.emit(machine, "")
        self.unasked.discard(machine)

    def look(self, machine: str) -> None:
        """Say so where the way to a machine has broken."""
        if (way := self._ways.get(machine)) is not None and way.failure:
            del self._ways[machine]
            self.reached.emit(machine, way.failure)

    def close(self) -> None:
        """End every connection. Waits, but not for long."""
        self._watch.stop()  # once this thread has ended, nobody can
        if self._ways:
            from torchkeeper.client.engines import line

            line.close_all()
