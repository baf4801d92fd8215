"""The targets of fleets that the user keeps, as the window knows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, QObject, Signal

from torchkeeper.client.kept import targets as kept
from torchkeeper.client.kept.targets import Gone, Kept
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.places.model import host_of
from torchkeeper.placing.targets import LOCAL
from torchkeeper.stores.ssh import SCHEME

_tr = partial(QCoreApplication.translate, "Targets")
#: Names that are told of a group.
_NAMED = 3
_SCHEMES = ("ssh://", "ray://", "http://", "https://")


class Changed(NamedTuple):
    """The list as it is now, and what was taken off it."""

    every: Sequence[Kept]
    gone: Gone


def changed(add: str = "", remove: str = "", back: Gone | None = None) -> Changed:
    """Change the list, and say how it is then. Raises UserError for what is no target."""
    gone = Gone()
    if add:
        from torchkeeper.placing.targets import target

        target(add).close()
        kept.add(add)
    if remove:
        gone = kept.remove(remove)
    if back:
        kept.put_back(back)
    return Changed(kept.targets(), gone)


def typed(text: str) -> str:
    """The target that somebody means who types so: a bare name with a dot or an @ is a host."""
    text = text.strip()
    if text and not text.startswith(_SCHEMES) and any(mark in text for mark in "@.["):
        return f"{SCHEME}{text}"
    return text


def title(name: str) -> str:
    """What a target is called."""
    if name == LOCAL:
        return _tr("This machine")
    return printable(host_of(name) if name.startswith(SCHEME) else name, 80)


def together(names: Sequence[str], most: int = 4) -> str:
    """Targets in a sentence."""
    return say.together([_tr("this machine") if x == LOCAL else title(x) for x in names], most)


def about(one: Kept) -> str:
    """What kind of target one is, in a few words."""
    if one.name == LOCAL:
        return _tr("no connection needed")
    if one.kind == "group":
        names = say.together([title(x) for x in one.of], _NAMED)
        return _tr("group: {}").format(names)
    if one.kind == "host":
        groups = ", ".join(printable(x, 64) for x in one.of)
        return _tr("by ssh · in {}").format(groups) if groups else _tr("by ssh")
    return _tr("cluster") if "://" in one.name else _tr("scheduler of this machine")


class Targets(QObject):
    """Reads the list in the worker's thread, and changes it there."""

    changed = Signal()
    failed = Signal(object)

    def __init__(self, engines: Engines, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engines = engines
        self.every: Sequence[Kept] = ()
        #: Whether what there is was read.
        self.read = False

    def refresh(self) -> None:
        self._change(lambda _: None)

    def add(self, name: str, then: Callable[[str], object] = lambda _: None,
            failed: Callable[[UserError], None] | None = None) -> None:  # fmt: skip
        """Keep a target; ``then`` hears what it is called, ``failed`` why it is none."""
        self._change(lambda _: then(name), failed, add=name)

    def remove(self, name: str, then: Callable[[Gone], object]) -> None:
        """Take a target off the list; ``then`` hears what puts it back."""
        self._change(then, remove=name)

    def put_back(self, gone: Gone) -> None:
        self._change(lambda _: None, back=gone)

    def _change(
        self, then: Callable[[Gone], object], failed: Callable[[UserError], None] | None = None,
        add: str = "", remove: str = "", back: Gone | None = None,
    ) -> None:  # fmt: skip
        def heard(now: Changed) -> None:
            self.every, self.read = now.every, True
            self.changed.emit()
            then(now.gone)

        listener = Listener(result=heard, failed=failed or self._failed)
        self._engines.background(listener, changed, add, remove, back)

    def _failed(self, error: UserError) -> None:
        self.failed.emit(error)
