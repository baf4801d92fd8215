"""The environments as a list, each with its torch; the one that is used is marked."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QAbstractListModel, QCoreApplication, Qt, Signal
from PySide6.QtGui import QPainter

from torchkeeper.client.words import environments as words
from torchkeeper.client.words import owned
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.pages.glossary import explain
from torchkeeper.gui.places.model import host_of, machine_of
from torchkeeper.gui.sidebar import drawing
from torchkeeper.gui.sidebar.lists import Index, Section, SideList
from torchkeeper.gui.verdicts.environments import Environment, Machines, State, state_text
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip

if TYPE_CHECKING:
    from PySide6.QtCore import QModelIndex, QObject, QSettings
    from PySide6.QtWidgets import QStyleOptionViewItem

_tr = partial(QCoreApplication.translate, "EnvironmentList")
_MARKS = {
    State.KNOWN: ("machine", "text"),
    State.FAILED: ("error", "warning"),
    State.ASKING: ("running", "muted"),
    State.UNASKED: ("queued", "muted"),
    State.FOUND: ("info", "muted"),
    State.WITHOUT: ("info", "muted"),
}


class EnvironmentItems(QAbstractListModel):
    """The interpreters that are known, in their order."""

    EnvironmentRole = Qt.ItemDataRole.UserRole + 1
    ChosenRole = Qt.ItemDataRole.UserRole + 2

    def __init__(self, machines: Machines, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._machines = machines
        self._every = list(machines.shown.every)
        machines.changed.connect(self._renew)

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self._every)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._every):
            return None
        one = self._every[index.row()]
        chosen = one is self._machines.shown.chosen
        if role == Qt.ItemDataRole.DisplayRole:
            return state_text(one)
        if role == EnvironmentItems.EnvironmentRole:
            return one
        if role == EnvironmentItems.ChosenRole:
            return chosen
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip("\n".join(_about(one, chosen)))
        if role == Qt.ItemDataRole.AccessibleTextRole:
            used = [_tr("used")] if chosen else []
            return ", ".join([state_text(one), printable(one.python), *used])
        return None

    def flags(self, _: Index) -> Qt.ItemFlag:
        # The chosen one is marked, and stays so while the arrow keys go elsewhere.
        return Qt.ItemFlag.ItemIsEnabled

    def _renew(self) -> None:
        every = list(self._machines.shown.every)
        if every == self._every:
            if every:
                self.dataChanged.emit(self.index(0), self.index(len(every) - 1))
            return
        self.beginResetModel()
        self._every = every
        self.endResetModel()


def _about(one: Environment, chosen: bool) -> list[str]:
    lines = [printable(one.python), printable(one.label), state_text(one)]
    if chosen:
        lines.append(_tr("The window uses this environment"))
    elif one.torch:
        lines.append(_tr("Click to use it"))
    if one.state is State.FOUND:
        lines.append(_tr("Never started: click to start it"))
    if one.writers:
        said = owned.of_interpreter(one.python, one.writers)
        lines += [said.what, *said.why.splitlines()]
    if one.state is State.WITHOUT:
        lines.append(printable(words.without_torch(one.facts or {}), 400))
    if one.error is not None:
        lines += str(one.error).splitlines()
    return list(filter(None, lines))


def _where(python: str) -> str:
    """Where an interpreter is, shorter: of a virtual environment its folder."""
    if machine := machine_of(python):
        return _where(python[len(machine) :])
    folder, _, name = python.rpartition("/bin/")
    inside = name.startswith("python") and folder not in ("/usr", "/usr/local", "")
    home = os.path.expanduser("~")
    path = folder if inside else python
    return printable("~" + path[len(home) :] if path.startswith(home + "/") else path)


class EnvironmentDelegate(drawing.TwoLines):
    """An environment in two lines: its torch, and where its interpreter is."""

    def __init__(self, view: EnvironmentList) -> None:
        super().__init__(view)
        self._view = view

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        one = index.data(EnvironmentItems.EnvironmentRole)
        if not isinstance(one, Environment):
            return
        shades = theme.shades()
        chosen = bool(index.data(EnvironmentItems.ChosenRole))
        box, at, first, second = self.rooms(option)
        painter.save()
        drawing.ground(painter, self._view, option, box, False, self._view.frame_of(index))
        name, role = _MARKS[one.state]
        drawing.mark(painter, self._view, at, name, "accent" if chosen and one.torch else role)
        if chosen:
            first = drawing.mark_at_right(painter, self._view, first, "done", "accent")
        failed = one.state is State.FAILED
        colour = shades.warning if failed else shades.text if one.torch else shades.muted
        font = painter.font()
        font.setWeight(font.Weight.DemiBold if chosen else font.Weight.Normal)
        painter.setFont(font)
        modes = Qt.TextElideMode
        drawing.words(painter, first, state_text(one), colour, modes.ElideRight)
        font.setWeight(font.Weight.Normal)
        painter.setFont(font)
        drawing.words(painter, second, _where(one.python), shades.muted, modes.ElideMiddle)
        painter.restore()


class EnvironmentList(SideList):
    """The environments; a click or Enter chooses one."""

    wanted = Signal(str)

    def __init__(self, machines: Machines) -> None:
        super().__init__("environments", _tr("Environments"))
        self.keys = frozenset({Qt.Key.Key_Delete, Qt.Key.Key_C})
        self.items = EnvironmentItems(machines, self)
        self.setItemDelegate(EnvironmentDelegate(self))
        self.hold(self.items)
        self.clicked.connect(self._want)
        self.activated.connect(self._want)

    @property
    def current(self) -> Environment | None:
        """The one at the keyboard, or that was clicked last."""
        one = self.currentIndex().data(EnvironmentItems.EnvironmentRole)
        return one if isinstance(one, Environment) else None

    def _want(self, index: QModelIndex) -> None:
        if isinstance(one := index.data(EnvironmentItems.EnvironmentRole), Environment):
            self.wanted.emit(one.python)


class EnvironmentsPane(Section):
    """The list of environments, and the button that adds one."""

    def __init__(self, machines: Machines, settings: QSettings) -> None:
        super().__init__("environments", _tr("Environments"), settings)
        self._machines = machines
        explain(self, "environment")
        self.list = EnvironmentList(machines)
        self.note = forms.label("", "muted", wrap=True)
        self.note.setContentsMargins(16, 0, 16, 8)
        forms.add(self.body, self.list, self.note)
        machines.changed.connect(self._say)
        self._say()

    def _say(self) -> None:
        text, environments = "", self._machines.shown
        of = _tr("Environments of {}").format(host_of(environments.machine))
        self.fold.setText(of if environments.machine else _tr("Environments"))
        if environments.off:
            text = _tr("Verdicts are off: choose an environment to see them.")
        elif not environments.every and environments.found:
            text = _tr("No Python with a torch was found. Drop one here, or add one with +.")
        elif not environments.every:
            text = environments.waits or _tr("Looking for torch…")
        forms.tell(self.note, text)
