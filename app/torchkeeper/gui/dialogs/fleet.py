"""The dialog that warms recipes on several machines: what, where, and into which place."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QSettings, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QListWidget, QListWidgetItem, QWidget

from torchkeeper.client.engines import far
from torchkeeper.client.kept.targets import Kept
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui import theme
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.dialogs.base import Dialog, choose_folder, choose_target
from torchkeeper.gui.dialogs.leaving import KeyChoice
from torchkeeper.gui.dialogs.preparing import RecipeChoice
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.jobs.model import Asked, Job
from torchkeeper.gui.places import targets as words
from torchkeeper.gui.places.model import Place
from torchkeeper.gui.places.targets import Targets
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.placing.targets import LOCAL
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.ssh import SCHEME

#: The recipes, the targets, the place, and prove and slots.
Start = Callable[[list[str], list[str], str, Asked], Job]

_OF = Qt.ItemDataRole.UserRole
#: Cells at a time on each node, at most; lines of the list of targets; the height of one.
_SLOTS, _LINES, _LINE = 64, 6, 30
#: Characters that a choice has room for at least.
_SHORT = 14


class TargetChoice(forms.Compound):
    """The targets that are kept, each to be ticked, and a line for another."""

    changed = Signal()

    def __init__(self, targets: Targets, machines: Sequence[str], wanted: Sequence[str]) -> None:
        """machines: those of places, as ``ssh://gpu1``. wanted: what is ticked at first."""
        super().__init__()
        self._targets, self._machines = targets, machines
        self._ticked = set(wanted) or {LOCAL}
        self._wanted = tuple(wanted)
        self.list = QListWidget()
        self.list.setUniformItemSizes(True)
        self.list.setIconSize(QSize(18, 18))
        self.list.setFixedHeight(_LINES * _LINE + 8)
        self.list.setSelectionMode(QListWidget.SelectionMode.NoSelection)
        self.list.itemChanged.connect(self._tick)
        self.another = forms.line_edit(self.tr("ssh://host, http://head:8265, slurm"))
        self.another.setAccessibleName(self.tr("Another target"))
        self.another.returnPressed.connect(self._add)
        self.another.textChanged.connect(lambda *_: self._say())
        add = self.tr("A&dd")
        self.add = forms.button(add, self._add, self.tr("Add it to the list"), enter=False)
        self.wrong = forms.label("", "error", wrap=True)
        line = forms.row((self.another, 1), self.add)
        self.setLayout(forms.column(self.list, line, self.wrong, gap=6))
        self.setFocusProxy(self.list)
        targets.changed.connect(self._fill)
        theme.follow(self, self._fill)
        self._say()

    @property
    def chosen(self) -> list[str]:
        """The targets that are ticked, in the order of the list."""
        return [one.name for one in self._every() if one.name in self._ticked]

    @property
    def whole(self) -> bool:
        """Whether nothing is typed that was not added."""
        return not self.another.text().strip()

    def _every(self) -> list[Kept]:
        every = [Kept(LOCAL, "local"), *self._targets.every]
        known = {one.name for one in every}
        beside = [*self._machines, *self._wanted, *sorted(self._ticked)]
        for name in dict.fromkeys(beside):
            if name not in known:
                kind = "host" if name.startswith(SCHEME) else "other"
                every.append(Kept(name, kind))
                known.add(name)
        return every

    def _fill(self) -> None:
        at = self.list.currentRow()
        with QSignalBlocker(self.list):
            self.list.clear()
            for one in self._every():
                title = words.title(one.name)
                item = QListWidgetItem(f"{title}   ({words.about(one)})")
                icon = {"group": "group", "other": "fleet"}.get(one.kind, "machine")
                item.setIcon(theme.icon(icon))
                item.setData(_OF, one.name)
                item.setToolTip(tip(printable(one.name, 200)))
                item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable)
                ticked = one.name in self._ticked
                item.setCheckState(Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked)
                self.list.addItem(item)
        self.list.setCurrentRow(max(at, 0), lists.KEEP)
        self.changed.emit()

    def _tick(self, item: QListWidgetItem) -> None:
        name = str(item.data(_OF))
        if item.checkState() == Qt.CheckState.Checked:
            self._ticked.add(name)
        else:
            self._ticked.discard(name)
        self.changed.emit()

    def _say(self) -> None:
        self.add.setEnabled(not self.whole)
        self.wrong.hide()
        self.changed.emit()

    def _add(self) -> None:
        name = words.typed(self.another.text())
        if not name:
            return

        def added(name: str) -> None:
            self._ticked.add(name)
            self.another.clear()
            self._fill()

        def failed(error: UserError) -> None:
            forms.tell(self.wrong, f"{error.what} {error.why}")
            self.wrong.show()
            forms.alert(self.wrong)

        self._targets.add(name, added, failed)


class TargetDialog(Dialog):
    """Asks for one target that is kept from then on."""

    def __init__(self, parent: QWidget, targets: Targets) -> None:
        super().__init__(parent, 520, "fleet")
        self.setWindowTitle(self.tr("Add a target"))
        self._targets = targets
        self.name = forms.line_edit(self.tr("ssh://gpu1"))
        self.wrong = forms.label("", "error", wrap=True)
        hint = self.tr(
            "A machine is ssh://host, or ssh://gpu[01-16] for several. A Ray cluster is "
            "http://head:8265, and slurm is the scheduler of this machine."
        )
        forms.field(self.body, self.tr("&Target"), self.name, hint)
        forms.add(self.body, self.wrong)
        self.cancel = forms.button(self.tr("Cancel"), self.reject, enter=False)
        self.go = forms.button(self.tr("&Add"), self._go, primary=True)
        self.go.setDefault(True)
        self.buttons(self.cancel, self.go)
        self.name.textChanged.connect(self._say)
        self.name.setFocus()
        self._say()

    def _say(self, *_: object) -> None:
        self.wrong.hide()
        self.go.setEnabled(bool(self.name.text().strip()))

    def _go(self) -> None:
        def failed(error: UserError) -> None:
            forms.tell(self.wrong, f"{error.what} {error.why}")
            self.wrong.show()
            forms.alert(self.wrong)

        self._targets.add(words.typed(self.name.text()), lambda _: self.accept(), failed)


class IntoChoice(forms.Compound):
    """A place that is known, or one that is typed or chosen now: a folder, a bundle or a server."""

    changed = Signal()

    def __init__(self, places: Sequence[Place], first: str) -> None:
        """first: the path to begin with."""
        super().__init__()
        self.combo = forms.Choice(_SHORT)
        self.combo.setEditable(True)
        self.combo.setInsertPolicy(self.combo.InsertPolicy.NoInsert)
        self._read_only = {one.path for one in places if one.read_only}
        for one in places:
            if one.path not in self._read_only:
                self.combo.addItem(printable(one.path), one.path)
        self.choose(first)
        self.combo.editTextChanged.connect(lambda *_: self.changed.emit())
        self.bundle = forms.button(self.tr("&Bundle…"), self._bundle, enter=False)
        self.folder = forms.button(self.tr("&Folder…"), self._folder, enter=False)
        self.setLayout(forms.row((self.combo, 1), self.bundle, self.folder))
        self.setFocusProxy(self.combo)

    @property
    def path(self) -> str | None:
        """The place; None while there is none that may be."""
        text = self.combo.currentText()
        row = self.combo.findText(text)
        path = str(self.combo.itemData(row)) if row >= 0 else os.path.expanduser(text.strip())
        if path in self._read_only or not path:
            return None
        if scheme_of(path).local:
            return os.path.normpath(path) if os.path.isabs(path) else None
        return path

    @property
    def wrong(self) -> str:
        """Why there is no path."""
        if self.combo.currentText().strip() in self._read_only:
            return self.tr("This place is read-only: nothing is changed in it.")
        return self.tr("Give the whole path of a bundle or a folder, or an address.")

    def choose(self, path: str) -> None:
        """Choose a path, adding it where it is not among the places."""
        self.combo.choose(path)

    def _bundle(self) -> None:
        kinds = self.tr("Torchkeeper bundles (*.torchcache)")
        choose_target(self, self.tr("Gather in a bundle"), self.path or "", kinds, self.choose)

    def _folder(self) -> None:
        above = os.path.dirname(self.path or "")
        choose_folder(self, self.tr("Choose a folder"), above, self.choose)


class FleetDialog(WorkDialog):
    """Asks what is warmed on which machines, and where it is gathered."""

    fits = True

    def __init__(
        self,
        parent: QWidget,
        engines: Engines,
        settings: QSettings,
        targets: Targets,
        places: Sequence[Place],
        start: Start,
        *,
        recipes: Sequence[str] = (),
        on: Sequence[str] = (),
        into: str = "",
        prove: bool = True,
        share: bool = False,
        python: str = "",
    ) -> None:
        """recipes, on, into, prove, share, python: what to begin with."""
        super().__init__(parent, 960, "fleet", "recipe", "bundle")
        self.setWindowTitle(self.tr("Warm on several machines"))
        self._start = start
        self.recipe = RecipeChoice(engines, recipes, rows=6)
        machines = (far.machine_of(one.path) for one in places)
        self.targets = TargetChoice(targets, list(filter(None, dict.fromkeys(machines))), on)
        self.into = IntoChoice(places, into)
        self.wrong = forms.label("", "error", wrap=True)
        self.key = KeyChoice(engines, settings)
        self.key.combo.setMinimumContentsLength(_SHORT)  # it stands beside the place
        self.prove = QCheckBox(self.tr("Pro&ve it: each cell is tried on another node"))
        self.prove.setChecked(prove)
        hint = self.tr(
            "A node that did not compile it runs it with only the gathered cache. Where "
            "there is one node of a kind, that one does it, from an empty folder."
        )
        self.prove.setAccessibleDescription(hint)
        self._hint = forms.label(hint, "muted", wrap=True)
        self._hint.setContentsMargins(forms.CHECK, 0, 0, 0)
        self.share = QCheckBox(self.tr("S&hare as it goes: what one compiled, others find"))
        self.share.setChecked(share)
        hint = self.tr("A graph that two recipes have is compiled once for each kind of machine")
        self.share.setToolTip(hint)
        self.slots = forms.Number(0, _SLOTS)
        self.slots.setSpecialValueText(self.tr("Default"))
        self.slots.setFixedHeight(forms.field_height())
        self.python = forms.line_edit(self.tr("Each one’s own"))
        self.python.setText(python)
        self.note = forms.label("", "muted", wrap=True)
        forms.keep_room(self.note, 1)
        self.go = forms.button(self.tr("&Start"), self._go, primary=True)
        self._lay_out()
        for choice in (self.recipe, self.targets, self.into, self.key):
            choice.changed.connect(self._say)
        self.prove.toggled.connect(self._say)
        self._say()

    def _lay_out(self) -> None:
        intro = self.tr(
            "Each variant is compiled once for each kind of machine, and what comes of it is "
            "gathered in one place. What is there already is not compiled again. You can cancel "
            "at any time; the same again goes on from there."
        )
        title = forms.label(self.tr("One cache, compiled where it is used"), "title", wrap=True)
        left, right = forms.column(), forms.column()
        forms.field(left, self.tr("&Recipe"), self.recipe)
        left.addStretch(1)
        hint = self.tr(
            "Other machines are reached by ssh, with your own configuration and keys. "
            "Nothing is installed there."
        )
        forms.field(right, self.tr("&Targets"), self.targets, hint)
        right.addStretch(1)
        body = forms.column(title, forms.label(intro, "muted", wrap=True), forms.GAP)
        forms.add(body, forms.row((left, 1), (right, 1), gap=32), forms.GAP)
        hint = self.tr(
            "A bundle (.torchcache) holds entries for several kinds of machines; an "
            "import takes what fits."
        )
        where, signs = forms.column(), forms.column()
        forms.field(where, self.tr("Gather &into"), self.into, hint)
        forms.add(where, self.wrong)
        where.addStretch(1)
        hint = self.tr("Once, at the end, if every cell is what you ask for.")
        forms.field(signs, self.tr("Si&gn with"), self.key, hint)
        signs.addStretch(1)
        self._signs = forms.page(signs)
        forms.add(body, forms.row((where, 1), (self._signs, 1), gap=32), forms.GAP)
        proof = forms.column(self.prove, self._hint, self.share, gap=4)
        proof.addStretch(1)
        several = forms.column()
        forms.field(several, self.tr("Cells at a ti&me"), self.slots)
        several.addStretch(1)
        hint = self.tr("Without one: what you added for a machine, else its python3.")
        interpreter = forms.column()
        forms.field(interpreter, self.tr("&Python on each node"), self.python, hint)
        interpreter.addStretch(1)
        more = forms.row((several, 2), (interpreter, 3))
        forms.add(body, forms.row((proof, 1), (more, 1), gap=32), forms.GAP, self.note)
        self.add_choice(body, self.go)
        self.recipe.setFocus()

    @property
    def _signable(self) -> bool:
        """Whether the place is a bundle of this machine: nothing else can be signed."""
        path = self.into.path or ""
        return scheme_of(path).becomes(path) == "bundle" and not far.machine_of(path)

    def _say(self, *_: object) -> None:
        made, on, path = self.recipe.made, self.targets.chosen, self.into.path
        forms.tell(self.wrong, "" if path else self.into.wrong)
        self._signs.setVisible(self._signable)
        why_not = self.key.why_not if self._signable else ""
        self.go.setEnabled(made is not None and bool(on) and path is not None and not why_not)
        variants = say.count(len(made.variants), "variant", "variants") if made else "…"
        if not on:
            self.note.setText(self.tr("Tick at least one target."))
            return
        said = self.tr("{} on {}, once for each kind of machine there.")
        said = said.format(variants, words.together(on))
        if not self.targets.whole:
            said += " " + self.tr("What you typed as another target is not added yet.")
        self.note.setText(said)

    def _go(self) -> None:
        path, on = self.into.path, self.targets.chosen
        if path is None or not on:
            return
        options: Asked = {"prove": self.prove.isChecked(), "share": self.share.isChecked()}
        if self._signable:
            self.key.keep()
            options["key"] = self.key.value
        if slots := self.slots.value():
            options["slots"] = slots
        if python := self.python.text().strip():
            options["python"] = python
        begin = partial(self._start, self.recipe.names, on, path, options)
        alone = on[0] if len(on) == 1 else ""
        machine = far.machine_of(alone) if alone.startswith(SCHEME) else ""
        self.recipe.trusted(machine, self.tr("&Warm it"), lambda: self.follow(begin()))
