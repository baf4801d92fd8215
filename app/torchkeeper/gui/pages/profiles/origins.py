"""Where each value comes from, of an environment or a process, and what is wrong with them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QIcon, QPixmap, QShowEvent
from PySide6.QtWidgets import QCheckBox, QTreeWidgetItem, QWidget

from torchkeeper.client.profiles.profile import Profile, impossible
from torchkeeper.client.words import say, settled, tongue
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.client.words.settled import Running, Settled
from torchkeeper.engine import protocol
from torchkeeper.gui import theme
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.pages.profiles import words
from torchkeeper.gui.pages.profiles.checked import Checked, Divided
from torchkeeper.gui.pages.profiles.editors import apart
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.emptystate import EmptyState
from torchkeeper.gui.widgets.lists import Table, columns
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.settings import masks
from torchkeeper.settings.finding import SEVERITIES
from torchkeeper.settings.known import BY_NAME

if TYPE_CHECKING:
    from torchkeeper.engine.messages.verdicts import ProcessesResult
    from torchkeeper.settings.processes import Process

#: Pixels that are seen of the list at least.
_LEAST = 60
_NAME = Qt.ItemDataRole.UserRole
#: Characters of a command in the choice.
_COMMAND = 100


def profile_of(found: Settled, name: str) -> tuple[Profile, list[str], list[str]]:
    """What variables and code set there, as a profile; the variables whose password it lacks, as
    nobody is shown that; and those that it lacks altogether, as they are no address without what is
    hidden, or too long for a profile. What is as PyTorch has it is left to PyTorch.
    """
    values, lacking, left = {}, [], []
    for one in found.shown(True):
        if one.by not in ("variable", "code") or one.value is None or one.computed or not one.sure:
            continue
        variable = one.variable if one.by == "variable" and one.variable else one.name
        text = one.value
        hidden = masks.is_masked(one.name, text)
        if hidden:
            text = apart(text)[0].replace(f"{masks.HIDDEN}@", "")
        if one.cut or impossible(text) or masks.is_masked(one.name, text):
            left.append(variable)
            continue
        if hidden:
            lacking.append(variable)
        values[variable] = text
    return Profile(name, values), lacking, left


class OriginsTab(QWidget):
    """Asks only while it is seen: an interpreter takes seconds to say what its torch holds."""

    #: A profile is to be made of this: what ``profile_of`` returns.
    making = Signal(object, object, object)

    def __init__(self, engines: Engines) -> None:
        super().__init__()
        self._settings, self._processes = Latest(engines, self), Latest(engines, self)
        self._python = ""
        self._looked = False
        #: What was asked last: an interpreter, or the number of a process.
        self._asked: str | int | None = None
        self.found: Settled | None = None
        self._going = ""
        self.processes: list[Process] = []
        self.of = forms.Choice(characters=40)
        hint = self.tr("Look for processes, and ask again")
        self.again = forms.button(self.tr("&Refresh"), self.refresh, hint, enter=False)
        self.all = QCheckBox(self.tr("Show &all settings"))
        self.about = forms.label("", "muted", wrap=True)
        self.notice = Notice()
        self.make = forms.button(self.tr("&Make a profile of this"), self._make, enter=False)
        #: What is done with what is shown, for the head of the page.
        self.tools = [self.again, self.make]

    def slices(self) -> Iterator[None]:
        """Make what takes long, some of it in each slice."""
        headings = self.tr("Setting"), self.tr("Value"), self.tr("From")
        self.tree = Table(self.tr("Settings, their values, and where these come from"), headings)
        self.tree.setMinimumHeight(_LEAST)
        self.unseen = forms.label("", "muted", wrap=True)
        yield
        self.blank = EmptyState("settings")
        yield
        self.checked = Checked(mends=False)
        yield
        self._lay_out()
        yield
        self._connect()
        self._fill_choice([])

    def _lay_out(self) -> None:
        name = forms.name_of(self.of, self.tr("Settings &of"))
        self.tree.setAllColumnsShowFocus(True)
        self.tree.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        columns(self.tree, (424, 0, 320), 1)
        line = forms.row((self.about, 1), (self.all, forms.TOP), gap=16)
        listed = forms.column(line, (self.tree, 1), self.unseen, margin=(0, 0, 0, 8))
        self.checked.setContentsMargins(0, 8, 0, 0)
        self.split = Divided(forms.page(listed), self.checked)
        self.pages = forms.stack(self.split, self.blank)
        whole = forms.row(name, (self.of, 1), gap=12), self.notice, (self.pages, 1)
        self.setLayout(forms.column(*whole, margin=(0, 8, 0, 0)))

    def _connect(self) -> None:
        self.of.activated.connect(lambda *_: self._ask())
        self.notice.again.connect(self.refresh)
        self.all.toggled.connect(lambda *_: self._show_rows())
        self.checked.list.wanted.connect(lambda one: self.go_to(one.settings[0]))
        theme.follow(self, self._paint, now=False)

    def use(self, python: str) -> None:
        """The environment that is chosen; "" for none."""
        if python != self._python:
            self._python = python
            self._name_first()
            if self.of.currentData() is None:
                self.found = self._asked = None
                self._ask_if_seen()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._ask_if_seen()

    def _ask_if_seen(self) -> None:
        if self.isVisible():
            if not self._looked:
                self._look()
            if self._asked is None:
                self._ask()

    def refresh(self) -> None:
        """Look for processes, and ask again."""
        self._look()
        self._ask()

    def _look(self) -> None:
        self._looked = True
        rows: list[Any] = []

        def told(result: ProcessesResult) -> None:
            self._tell(settled.processes_from(rows, result))

        listener = Listener(rows=rows.extend, result=told, failed=lambda _: self._tell(Running([])))
        self._processes.ask(protocol.PROCESSES, {}, listener, shared=True, aside=True)

    def _tell(self, running: Running) -> None:
        self._fill_choice(running.processes)
        self.of.setToolTip(tip(settled.hidden_words(running)))

    def _fill_choice(self, processes: list[Process]) -> None:
        before = self.of.currentData()
        self.processes = processes
        choices: list[tuple[str, object]] = [("", None)]
        name = self.tr("Process {}: {}  ({})")
        for one in processes:
            torch = f"torch {printable(one.torch, 40)}" if one.torch else self.tr("torch unknown")
            command = printable(" ".join(one.command), _COMMAND)
            choices.append((name.format(one.pid, command, torch), one.pid))
        self.of.offer(choices, before)
        self._name_first()
        if before is not None and self.of.currentData() is None:
            self._ask_if_seen()

    def _name_first(self) -> None:
        now = self.tr("The environment above: a program started now")
        none = self.tr("Choose an environment above, or a running process here")
        self.of.setItemText(0, now if self._python else none)

    def _ask(self) -> None:
        self._settings.forget()
        self.found = None
        self.make.setEnabled(False)
        self.notice.tell(None)
        pid = self.of.currentData()
        self._asked = self._python if pid is None else pid
        self.pages.setCurrentWidget(self.blank)
        if pid is None and not self._python:
            text = self.tr("Choose an environment above, or a running process, to see its settings "
                           "and where each value comes from.")  # fmt: skip
            self.blank.say(self.tr("Nothing is chosen"), text)
        elif pid is None:
            self.blank.say(self.tr("Asking the interpreter…"),
                           self.tr("It imports its torch, which takes some seconds."))  # fmt: skip
            listener = self._hears(settled.environment_from)
            self._settings.ask(protocol.SETTINGS, {}, listener, python=self._python)
        else:
            self.blank.say(self.tr("Looking at the process…"))
            listener, op = self._hears(settled.process_from), protocol.PROCESS_SETTINGS
            self._settings.ask(op, {"pid": pid}, listener, shared=True, aside=True)

    def _hears(self, read: Callable[[Any], Settled]) -> Listener:
        return Listener(result=lambda told: self._show(read(told)), failed=self._failed)

    def _failed(self, error: UserError) -> None:
        self.blank.say("")
        self.notice.tell(error, again=True)

    def _show(self, found: Settled) -> None:
        self.found = found
        self.pages.setCurrentWidget(self.split)
        self.about.setText(self._about(found))
        forms.tell(self.unseen, "\n".join(settled.unseen(found)))
        self.checked.show_findings(found.findings, checking=False)
        self.split.fit()
        self._show_rows()
        self.make.setEnabled(True)
        if self._going:
            name, self._going = self._going, ""
            self.go_to(name)

    def _about(self, found: Settled) -> str:
        if (one := found.process) is None:
            text = self.tr("torch {}, Triton {}: the settings of a program started now, "
                           "from here")  # fmt: skip
            return text.format(found.torch or "?", found.triton or "?")
        parts = [printable(one.python, 400)]
        if one.started:
            parts.append(self.tr("started {}").format(say.when(one.started)))
        if one.elsewhere:
            parts.append(
                self.tr("in a container, or with its own mounts: its paths differ from those here")
            )
        for folder in one.folders:
            path, files = printable(folder.path, 400), say.count(folder.files, "file", "files")
            parts.append(self.tr("uses {} ({} {})").format(path, files, folder.why))
        return " · ".join(parts)

    def _show_rows(self) -> None:
        found = self.found
        self.tree.clear()
        if found is None:
            return
        for one in found.shown(self.all.isChecked()):
            said = settled.value_words(one), settled.by_words(one, found)
            item = QTreeWidgetItem([one.name, *said])
            item.setData(0, _NAME, one.name)
            item.setToolTip(0, tip(tongue.tr(BY_NAME[one.name].does)))
            item.setToolTip(1, tip(item.text(1)))
            # All that is known of what makes the value so.
            over = map(settled.override_words, one.overrides)
            item.setToolTip(2, tip("\n".join((item.text(2), *over))))
            if one.by not in ("default", "absent"):
                font = item.font(0)
                font.setBold(True)
                item.setFont(0, font)
            self.tree.addTopLevelItem(item)
        self._paint()

    def _paint(self) -> None:
        if self.found is None:
            return
        shades = theme.shades()
        grave: dict[str, str] = {}
        for one in sorted(self.found.findings, key=lambda x: -SEVERITIES.index(x.severity)):
            grave |= dict.fromkeys(one.settings, one.severity)
        for item in self.tree.items():
            name, colour = words.MARKS.get(grave.get(item.data(0, _NAME), ""), ("", ""))
            item.setIcon(0, theme.icon(name, getattr(shades, colour)) if name else _nothing())

    def show_setting(self, name: str) -> None:
        """Go to the row of a setting of the environment that is chosen, once that has answered."""
        self._going = name
        if self.of.currentData() is not None:
            self.of.setCurrentIndex(0)
            self._ask()
        elif self.found is not None:
            self._show(self.found)

    def go_to(self, name: str) -> None:
        self.all.setChecked(self.all.isChecked() or not self._row(name))
        if (item := self._row(name)) is not None:
            self.tree.setCurrentItem(item)
            self.tree.setFocus()

    def _row(self, name: str) -> QTreeWidgetItem | None:
        return next((one for one in self.tree.items() if one.data(0, _NAME) == name), None)

    def _make(self) -> None:
        if (found := self.found) is not None:
            one = found.process
            name = f"process-{one.pid}" if one is not None else self.tr("environment")
            self.making.emit(*profile_of(found, name))


@functools.cache
def _nothing() -> QIcon:
    """As wide as a mark: what has none stands in line."""
    made = QPixmap(16, 16)
    made.fill(Qt.GlobalColor.transparent)
    return QIcon(made)
