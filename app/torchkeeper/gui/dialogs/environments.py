"""The environments dialog: every interpreter that is known, and what it said of itself."""

from __future__ import annotations

import json
from collections.abc import Callable

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QGuiApplication, QIcon, QTextCursor
from PySide6.QtWidgets import QFileDialog, QHeaderView, QMenu, QTreeWidgetItem, QWidget
from shiboken6 import isValid

from torchkeeper.client.words import environments as words
from torchkeeper.client.words import owned
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.dialogs.base import Dialog, file_dialog
from torchkeeper.gui.inspector.details import FactsView, Section, Value
from torchkeeper.gui.places.model import host_of
from torchkeeper.gui.verdicts.environments import Environment, Environments, State, state_text, tr
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.verdict.probed import Env

#: Facts of the torch; those about the machine stand under a title of their own.
_OF_TORCH = ("python", "torch", "torch git", "torch key", "triton", "system hash", "key factors")
#: Facts that are read letter by letter.
_FIXED = frozenset({"torch git", "torch key", "triton", "system hash", "vector"})
#: Characters of a fact that are shown.
_LONG = 2000
_PYTHON = Qt.ItemDataRole.UserRole


class EnvironmentsDialog(Dialog):
    """Lists interpreters, asks them, adds and removes some, and chooses the one that is used."""

    #: An environment is to be prepared: its interpreter.
    preparing = Signal(str)

    def __init__(self, parent: QWidget | None, environments: Environments) -> None:
        super().__init__(parent, 760, "environment")
        # As the action that opens it.
        self.setObjectName("environments")
        self.setWindowTitle(self.tr("Environments"))
        if machine := environments.machine:
            self.setWindowTitle(self.tr("Environments of {}").format(host_of(machine)))
        self._environments = environments
        self._shown: tuple[str, object] = "", None
        self._lay_out()
        environments.changed.connect(self._fill)
        environments.changed.connect(self._ask_all)
        environments.failed.connect(self.notice.tell)
        theme.follow(self, self._fill, now=False)
        self._fill()
        chosen = environments.chosen
        self.go_to(chosen.python if chosen else "")
        environments.find()
        environments.ask_all()

    def _lay_out(self) -> None:
        intro = self.tr(
            "An entry works only with the torch and the machine that made it. Verdicts say which "
            "entries one of these interpreters can use."
        )
        self.notice = Notice()
        forms.add(self.body, forms.label(intro, "muted", wrap=True), self.notice)
        self.tree = lists.Table(self.tr("Interpreters"), [self.tr("Torch"), self.tr("Interpreter")])
        self.tree.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        header = self.tree.header()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Fixed)
        header.resizeSection(0, 204)
        header.setSectionResizeMode(1, QHeaderView.ResizeMode.Stretch)
        self.tree.currentItemChanged.connect(lambda *_: self._show())
        self.title = forms.label("", "heading", wrap=True)
        self.said = forms.label("", "muted", wrap=True)
        self.problem = Notice()
        self.problem.again.connect(self._again)
        self.facts = FactsView(self.tr("Facts of the interpreter"))
        self.facts.setObjectName("card")
        texts = self.title, self.said, self.problem, (self.facts, 1)
        right = forms.column(*texts, gap=4, margin=(8, 0, 0, 0))
        # Where there are no facts, the rest stays at the top.
        right.addStretch(0)
        left = forms.page(forms.column(self.tree, margin=(0, 0, 8, 0)))
        both = forms.split(left, forms.page(right), sizes=[450, 520])
        both.setStretchFactor(1, 1)
        forms.add(self.body, 4, (both, 1))
        self.add = forms.button(self.tr("&Add interpreter…"), self._add, enter=False)
        self.remove = forms.button(self.tr("&Remove"), self._remove, enter=False)
        self.remove.setToolTip(self.tr("Remove it from the list; its files stay"))
        self.again = forms.button(self.tr("As&k again"), self._again, enter=False)
        self.copy = forms.button(self.tr("&Copy"), enter=False)
        menu = QMenu(self.copy)
        self.copy_text = menu.addAction(self.tr("As &text"), lambda: self._copy(False))
        self.copy_text.setStatusTip(self.tr("Copy the facts as text, one per line"))
        self.copy_json = menu.addAction(self.tr("As &JSON"), lambda: self._copy(True))
        self.copy_json.setStatusTip(self.tr("Copy the facts as env --json prints them"))
        theme.follow(menu, self._dress_copies)
        self.copy.setMenu(menu)
        self.prepare = forms.button(self.tr("&Prepare…"), self._prepare, enter=False)
        self.prepare.setToolTip(
            self.tr("Build the C++ header ahead of the first compile of this environment")
        )
        self.use = forms.button(self.tr("&Use it"), self._use, enter=False)
        self.close_ = forms.button(self.tr("Close"), self.accept)
        self.close_.setDefault(True)
        line = forms.row(self.add, self.remove, forms.REST, margin=(0, forms.GAP, 0, 0))
        forms.add(line, self.close_, self.copy, self.again, self.prepare, self.use)
        self.body.addLayout(line)
        self.resize_within(1020, 640)

    @property
    def current(self) -> Environment | None:
        """The interpreter whose facts are shown."""
        item = self.tree.currentItem()
        return self._environments.of(str(item.data(0, _PYTHON))) if item is not None else None

    def _fill(self) -> None:
        every, chosen = self._environments.every, self._environments.chosen
        before = self.current
        if [item.data(0, _PYTHON) for item in self.tree.items()] != [one.python for one in every]:
            with QSignalBlocker(self.tree):
                self.tree.clear()
                for one in every:
                    item = QTreeWidgetItem(["", printable(one.python)])
                    item.setData(0, _PYTHON, one.python)
                    self.tree.addTopLevelItem(item)
            self.go_to(before.python if before else "")
        for item, one in zip(self.tree.items(), every, strict=True):
            text = state_text(one)
            item.setText(0, text)
            item.setIcon(0, _mark(one))
            item.setToolTip(1, tip(f"{printable(one.python)}\n{printable(one.label)}"))
            font = item.font(0)
            font.setBold(one is chosen)
            item.setFont(0, font)
            used = self.tr(", used") if one is chosen else ""
            spoken = f"{printable(one.python)}, {text}{used}"
            item.setData(1, Qt.ItemDataRole.AccessibleTextRole, spoken)
        self._show()

    def go_to(self, python: str) -> None:
        """Show what an interpreter says; without it the first."""
        items = self.tree.items()
        found = next((item for item in items if item.data(0, _PYTHON) == python), None)
        if found is not None or items:
            self.tree.setCurrentItem(found or items[0])

    def _show(self) -> None:
        one = self.current
        for button in (self.again, self.copy, self.prepare, self.use, self.remove):
            button.setEnabled(one is not None)
        self.facts.setVisible(one is not None and one.facts is not None)
        self.problem.setVisible(False)
        if one is None:
            looking, found = self.tr("Looking for interpreters…"), self._environments.found
            self.title.setText(self.tr("No interpreter was found") if found else looking)
            add = self.tr("Add the Python of an environment that has torch. Without one, "
                          "Torchkeeper cannot compile, or tell which entries hit.")  # fmt: skip
            self.said.setText(add if found else "")
            return
        asking = one.state is State.ASKING
        self.title.setText(printable(one.python))
        self.said.setText(self._about(one))
        self.remove.setEnabled(one.added)
        self.again.setEnabled(not asking)
        found = one.state is State.FOUND
        self.again.setText(self.tr("&Start it") if found else self.tr("As&k again"))
        start = self.tr(
            "Start the interpreter, now and whenever Torchkeeper asks it: it runs as you"
        )
        anew = self.tr("Start the interpreter and ask it again; this takes some seconds")
        self.again.setToolTip(tip(start if found else anew))
        self.copy.setEnabled(one.facts is not None)
        self.prepare.setEnabled(bool(one.torch) and not self._environments.machine)
        self.use.setEnabled(bool(one.torch) and one is not self._environments.chosen)
        if one.error is not None and not asking:
            self.problem.tell(one.error, again=True)
        elif one.writers:
            self.problem.tell(owned.of_interpreter(one.python, one.writers))
        self.facts.show_sections(sections(one.facts) if one.facts else [])
        if self._shown != (one.python, one.facts):
            self._shown = one.python, one.facts
            self.facts.moveCursor(QTextCursor.MoveOperation.Start)

    def _about(self, one: Environment) -> str:
        parts = [printable(one.label)]
        if one is self._environments.chosen:
            parts.append(self.tr("used"))
        if one.state is State.ASKING:
            parts.append(self.tr("Torchkeeper is asking it, which takes some seconds…"))
        elif one.state is State.FOUND:
            parts.append(self.tr("found, not started: starting it runs code of its folder, and "
                                 "nobody has added it"))  # fmt: skip
        elif one.state is State.WITHOUT:
            parts.append(printable(words.without_torch(one.facts or {}), 400))
        return " · ".join(parts)

    def _ask_all(self) -> None:
        """Who looks at the list wants to know what each is."""
        if self.isVisible():
            self._environments.ask_all()

    def _add(self) -> None:
        self.notice.tell(None)
        choose_interpreter(self, self._environments.machine, self._add_one)

    def _add_one(self, python: str) -> None:
        def added(one: Environment) -> None:
            if isValid(self):  # it may have been closed meanwhile
                self.go_to(one.python)

        self._environments.add(python, added)

    def _remove(self) -> None:
        if self.current is not None:
            self.notice.tell(None)
            self._environments.remove(self.current.python)

    def _again(self) -> None:
        one = self.current
        if one is not None and not one.starts:
            self._environments.add(one.python)  # which has it started
        elif one is not None:
            self._environments.ask(one, again=True)

    def _use(self) -> None:
        if self.current is not None:
            self._environments.choose(self.current.python)

    def _prepare(self) -> None:
        if self.current is not None:
            self.preparing.emit(self.current.python)

    def _dress_copies(self) -> None:
        for action in (self.copy_text, self.copy_json):
            action.setIcon(theme.icon("copy"))

    def _copy(self, as_json: bool) -> None:
        """Copy what is shown, in words or as ``torchkeeper env --json`` prints it."""
        if (one := self.current) is not None and one.facts is not None:
            lines = map(printable, words.lines(one.python, one.facts))
            told = {"interpreter": one.python, **one.facts}
            QGuiApplication.clipboard().setText(json.dumps(told) if as_json else "\n".join(lines))


class PathDialog(Dialog):
    """Takes the path of an interpreter on another machine."""

    def __init__(self, parent: QWidget, machine: str) -> None:
        super().__init__(parent, 520, "environment")
        self.setWindowTitle(self.tr("Add an interpreter"))
        self.path = forms.line_edit("/opt/venv/bin/python")
        self.cancel = forms.button(self.tr("Cancel"), self.reject, enter=False)
        self.go = forms.button(self.tr("&Add"), self.accept, primary=True)
        self.go.setEnabled(False)
        self.go.setDefault(True)
        self.path.textChanged.connect(lambda x: self.go.setEnabled(x.startswith(("/", "~/"))))
        told = self.tr("The Python of an environment there, from / or ~/. Torchkeeper starts it as "
                       "the account that you log in with.")  # fmt: skip
        name = self.tr("&Path on {}").format(host_of(machine))
        forms.field(self.body, name, self.path, told)
        self.body.addStretch(1)
        self.buttons(self.cancel, self.go)
        self.path.setFocus()


def choose_interpreter(parent: QWidget, machine: str, then: Callable[[str], object]) -> None:
    """Ask for a Python, which is a file without an ending."""
    if machine:
        asked = PathDialog(parent, machine)
        asked.accepted.connect(lambda: then(asked.path.text()))
        asked.open()
        return
    mode = QFileDialog.FileMode.ExistingFile
    dialog = file_dialog(parent, parent.tr("Add an interpreter"), "", mode)
    # The interpreter of a virtual environment is a link: it is not to be followed.
    dialog.setOption(QFileDialog.Option.DontResolveSymlinks)
    dialog.fileSelected.connect(then)
    dialog.open()


def _mark(one: Environment) -> QIcon:
    shades = theme.shades()
    name, colour = {
        State.KNOWN: ("done", shades.good),
        State.FAILED: ("error", shades.warning),
        State.ASKING: ("running", shades.muted),
        State.UNASKED: ("queued", shades.muted),
        State.FOUND: ("info", shades.muted),
        State.WITHOUT: ("info", shades.muted),
    }[one.state]
    return theme.icon(name, colour)


def sections(facts: Env) -> list[Section]:
    """What a probe found, as the facts of the inspector are shown."""
    torch, machine = Section(""), Section(tr("Machine"))
    if not facts.get("torch"):
        torch.add(tr("Python"), printable(str(facts.get("python") or ""), 80))
        machine.add(tr("Platform"), printable(str(facts.get("platform") or ""), _LONG))
    else:
        for name, value in words.told(facts):
            shown = Value(printable(value, _LONG), fixed=name in _FIXED)
            (torch if name in _OF_TORCH else machine).add(name[:1].upper() + name[1:], shown)
    caches = Section(tr("Cache folders and switches"))
    for name, value, by in words.settings(facts):
        told = [Value(printable(value, _LONG), fixed=True)]
        if by:
            told.append(Value(tr("by {}").format(printable(by, 80)), muted=True))
        caches.add((name[:1].upper() + name[1:]).replace("_", " "), *told)
    return [section for section in (torch, machine, caches) if section.rows]
