"""Asking engines on behalf of a dialog: the latest question of its kind is the one that counts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.later import once

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import Space, TargetResult

#: Milliseconds without a key press before what was typed is looked at.
_TYPING_MS = 250


class Latest(QObject):
    """Asks one thing at a time, in an engine of its own; a newer question ends the one before."""

    def __init__(self, engines: Engines, parent: QObject) -> None:
        super().__init__(parent)
        self._engines = engines
        self._ticket: int | None = None
        self._next: Callable[[], None] | None = None
        self._timer = once(self, self._on, _TYPING_MS)

    @property
    def busy(self) -> bool:
        """Whether an answer is to come."""
        return self._ticket is not None or self._next is not None

    def ask(
        self,
        op: str,
        params: Mapping[str, object],
        result: Callable[[Any], None],
        failed: Callable[[UserError], None],
        *,
        soon: bool = True,
        **more: Any,
    ) -> None:
        """Ask; with ``soon`` not before the typing pauses. ``more``: as a Listener, or what
        a request has besides.
        """
        self.forget()

        def over(then: Callable[[Any], None], what: Any) -> None:
            self._ticket = None
            then(what)

        def begin() -> None:
            hold, before = more.pop("hold", ()), more.pop("before", ())
            listener = Listener(
                result=lambda found: over(result, found),
                failed=lambda error: over(failed, error),
                **more,
            )
            self._ticket = self._engines.ask(op, params, listener, hold=hold, before=before)

        self._next = begin
        if soon:
            self._timer.start()
        else:
            self._on()

    def _on(self) -> None:
        begin, self._next = self._next, None
        if begin:
            begin()

    def forget(self) -> None:
        """Nobody wants to know any more."""
        self._timer.stop()
        self._next = None
        self._engines.forget(self._ticket)
        self._ticket = None


def room_text(needed: int, space: Space, tr: Callable[[str], str]) -> tuple[str, str]:
    """Whether there is room where something is to be written, and the role of the label."""
    why, free = space["why"], space["free"]
    if why:
        return tr("It cannot be written: {}.").format(why), "error"
    if free is None:
        return "", ""
    if needed > free:
        return (
            # Not refused: a file system that compresses may take it.
            tr("It may not fit: it needs {}, and {} are free.").format(
                say.size(needed), say.size(free)
            ),
            "warning",
        )
    return tr("{} are free there.").format(say.size(free)), ""


def file_text(
    path: str, needed: int, there: TargetResult, tr: Callable[[str], str]
) -> tuple[str, str]:
    """Whether a bundle can be written at a path, and the role of the label."""
    what = there["what"]
    if what == "folder":
        return tr("That is a folder. Give the name of a file in it."), "error"
    if what == "other":
        return tr("Something that is not a file is there."), "error"
    if not there["space"]["exists"]:
        return tr("There is no folder {}.").format(printable(os.path.dirname(path))), "error"
    return room_text(needed, there["space"], tr)


def replace_text(there: TargetResult, tr: Callable[[str], str]) -> str:
    """What a box says by which a file that is there is given up."""
    return tr("&Replace the file that is there ({}, {})").format(
        say.size(there["size"] or 0), say.ago(there["mtime"] or 0)
    )
