"""The ways to other machines, in the worker's thread: each is sought before an engine there is
asked, however long that takes, and ssh may ask for something meanwhile.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from torchkeeper.client.words.problems import UserError
from torchkeeper.gui.background.lookups import aside

if TYPE_CHECKING:
    from torchkeeper.client.engines.line import Line


class Ways(QObject):
    """Which there are. What needs line is loaded where a machine is named: that takes long."""

    #: There is news of the way to a machine: None while it is sought, "" where it is there, or why
    #: there is none.
    reached = Signal(str, object)
    #: ssh asks for something: a ``questions.Question``.
    asks = Signal(object)
    #: A machine, and the way there, or why there is none.
    _found = Signal(str, object)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        #: None while one is sought.
        self._ways: dict[str, Line | None] = {}
        self._found.connect(self._arrive)

    def has(self, machine: str) -> bool:
        """Whether there is one; else it is sought, and ``reached`` says what came of it."""
        if machine in self._ways and ((way := self._ways[machine]) is None or not way.failure):
            return way is not None
        self._ways[machine] = None
        self.reached.emit(machine, None)

        def seek() -> None:
            from torchkeeper.client.engines import line
            from torchkeeper.client.engines.questions import Asking

            Asking.by = self.asks.emit
            try:
                found: object = line.to(machine)
                line.to(machine).hello()
            except UserError as e:
                found = e
            with contextlib.suppress(RuntimeError):  # the window is gone meanwhile
                self._found.emit(machine, found)

        aside(seek)
        return False

    def _arrive(self, machine: str, way: Line | UserError) -> None:
        if isinstance(way, UserError):
            del self._ways[machine]
            self.reached.emit(machine, way)
        else:
            self._ways[machine] = way
            self.reached.emit(machine, "")

    def look(self, machine: str) -> None:
        """Say so where the way to a machine has broken."""
        if (way := self._ways.get(machine)) is not None and way.failure:
            del self._ways[machine]
            self.reached.emit(machine, way.failure)

    def close(self) -> None:
        """End every connection. Waits, but not for long."""
        if self._ways:
            from torchkeeper.client.engines import line

            line.close_all()
