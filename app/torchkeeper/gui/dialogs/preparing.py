"""The prepare dialog; and what dialogs that compile ask alike: how, for what, and which recipes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from PySide6.QtCore import QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import QCheckBox, QListWidget, QWidget

from torchkeeper.client.engines import far
from torchkeeper.client.recipes import strange
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.dialogs.base import ConfirmDialog, choose_files, choose_folder, confirm
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.jobs.model import Asked, Job
from torchkeeper.gui.pages.glossary import explain
from torchkeeper.gui.pages.recipes import known
from torchkeeper.gui.verdicts.environments import Environments
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.verdict.probed import Env
from torchkeeper.warm.options import MOST_THREADS

#: The interpreter, and the temporary folder or None for the usual one.
Start = Callable[[str, str | None], Job]
#: Variants that are named.
_MOST = 1000
_FILE, _FOLDER, _PROGRAM = "file…", "folder…", "program…"


class PrepareDialog(WorkDialog):
    """Asks which environment, and where its programs keep temporary files."""

    fits = True

    def __init__(
        self, parent: QWidget, environments: Environments, start: Start, first: str
    ) -> None:
        """first: the interpreter to begin with."""
        super().__init__(parent, 640, "header")
        self.setWindowTitle(self.tr("Prepare an environment"))
        self._start, self._machine = start, environments.machine
        self.environment = EnvironmentChoice(environments, "prepare")
        self.environment.choose(first)
        self.folder = forms.line_edit(self.tr("The usual one: TMPDIR, else /tmp"))
        self.folder.textChanged.connect(lambda *_: self._say())
        self.browse = forms.button(self.tr("&Browse…"), self._browse, enter=False)
        self.browse.setVisible(not self._machine)
        self.wrong = forms.label("", "error", wrap=True)
        self.go = forms.button(self.tr("&Prepare"), self._go, primary=True)
        self.environment.changed.connect(self._say)
        intro = forms.label(
            self.tr("On a CPU, the first compile in each temporary folder precompiles the C++ "
                    "headers of PyTorch: about 149 MB and several seconds, even if every object is "
                    "in the cache. This builds them now, where PyTorch will look."), wrap=True,
        )  # fmt: skip
        body = forms.column(forms.label(self.tr("A head start for the first compile"), "title"))
        forms.add(body, intro, forms.GAP)
        forms.field(body, self.tr("&Environment"), self.environment)
        body.addSpacing(forms.GAP)
        name = forms.name_of(self.folder, self.tr("&Temporary folder of its programs"))
        help_text = self.tr("PyTorch keeps headers in the temporary folder, wherever the cache is.")
        self.folder.setAccessibleDescription(help_text)
        helped = forms.label(help_text, "muted", wrap=True)
        line = forms.row((self.folder, 1), self.browse)
        forms.add(body, name, line, self.wrong, helped, forms.REST)
        self.add_choice(body, self.go)
        self.folder.setFocus()
        self._say()

    @property
    def into(self) -> str | None:
        """The temporary folder that was given; None for the usual one."""
        typed = self.folder.text().strip()
        typed = typed if self._machine else os.path.expanduser(typed)
        return os.path.normpath(typed) if typed else None

    def _say(self) -> None:
        into = self.into
        there = into is None or os.path.isabs(into)
        forms.tell(self.wrong, "" if there else self.tr("Give the whole path of a folder."))
        self.go.setEnabled(there and self.environment.facts is not None)

    def _browse(self) -> None:
        choose_folder(self, self.tr("Temporary folder"), self.into or "", self.folder.setText)

    def _go(self) -> None:
        if self.environment.facts is not None:
            into = self.into and far.name_of(self._machine, self.into)
            self.follow(self._start(self.environment.python, into))


class CompileOptions(QWidget):
    """Both are key factors: programs find the entries only where they run the same way."""

    changed = Signal()

    def __init__(self, threads_help: str, portable_help: str) -> None:
        """What each is good for in this dialog."""
        super().__init__()
        self._fitting: int | None = None
        self._touched = False
        self.spin = forms.Number(0, MOST_THREADS)
        self.spin.setFixedSize(240, forms.field_height())
        self.spin.setAccelerated(True)
        self.spin.valueChanged.connect(self._touch)
        self.box = QCheckBox(self.tr("P&ortable: without the precompiled header"))
        self.box.setAccessibleDescription(portable_help)
        self.box.toggled.connect(lambda *_: self.changed.emit())
        self.about = forms.label(portable_help, "muted", wrap=True)
        self.about.setContentsMargins(forms.CHECK, 0, 0, 0)
        whole = forms.column()
        forms.field(whole, self.tr("&Threads"), self.spin, threads_help)
        forms.add(whole, 4, self.box, self.about)
        self.setLayout(whole)
        self.say(None)

    def suggest(self, threads: int | None, portable: bool) -> None:
        """What fits: this number where programs have another by themselves, and the switch."""
        self._fitting = threads
        self.box.setChecked(portable)

    def say(self, facts: Env | None) -> None:
        """Name the number that programs use in an environment, where it is known."""
        own = facts.get("threads") if facts else None
        usual = self.tr("As programs here: {}").format(f"{own:,}") if own and own > 0 else ""
        self.spin.setSpecialValueText(usual or self.tr("As programs here"))
        if not self._touched and self._fitting and own is not None:
            self.spin.setValue(0 if own == self._fitting else self._fitting)
            self._touched = False

    def _touch(self) -> None:
        self._touched = True
        self.changed.emit()

    @property
    def params(self) -> Asked:
        """What a request says of it: nothing of what is as usual."""
        told: Asked = {"threads": threads} if (threads := self.spin.value()) else {}
        if self.box.isChecked():
            told["portable"] = True
        return told


class DeviceChoice(forms.Choice):
    """What is compiled for, where a recipe does not say: one of those that an interpreter has."""

    def __init__(self) -> None:
        super().__init__(20)
        self._wanted = ""
        self.addItem(self.tr("The best one available"), "")
        self.setToolTip(self.tr("A device that a recipe names comes first"))

    def suggest(self, device: str) -> None:
        """Begin with this device, once it is known that an interpreter has it."""
        self._wanted = device
        self._take(device)

    def _take(self, device: str) -> None:
        row = self.findData(device)
        if device and row >= 0:
            self._wanted = ""
            self.setCurrentIndex(row)

    def say(self, facts: Env | None) -> None:
        """Offer the devices of an interpreter."""
        found = [(self.itemText(0), "")]
        seen: dict[str, int] = {}
        for one in facts.get("devices", ()) if facts else ():
            kind = one["type"]
            number = seen[kind] = seen.get(kind, -1) + 1
            device = kind if kind == "cpu" else f"{kind}:{number}"
            name = printable(one["name"], 60)
            found.append((f"{printable(device, 40)}  ({name})" if name else device, device))
        if [self.itemData(row) for row in range(self.count())] == [data for _, data in found]:
            return
        with QSignalBlocker(self):
            self.offer(found, self.device)
            self._take(self._wanted)

    @property
    def device(self) -> str:
        """The chosen one; empty for the best."""
        return str(self.currentData() or "")


class RecipeChoice(forms.Compound):
    """The built-in recipe, one of the list, or files and folders; and what the chosen one makes."""

    #: Other recipes were chosen, or more is known of them.
    changed = Signal()
    #: A program is to be run, of which a recipe can be made then.
    running = Signal()

    def __init__(
        self, engines: Engines, names: Sequence[str] = (), rows: int = 4, into: str = ""
    ) -> None:
        """names: the chosen recipes. Without any, until somebody chooses: what was last warmed
        ``into`` the place, else the built-in one. rows: of the list of variants.
        """
        super().__init__()
        self._looked, self._list = Latest(engines, self), Latest(engines, self)
        #: What is chosen: BUILTIN, files and folders.
        self.names = list(names) or [known.BUILTIN]
        self._into, self._free = into, not names
        self._listed: Sequence[known.Listed] = ()
        self.made: known.Made | None = None
        self.error: UserError | None = None
        explain(self, "recipe")
        self.combo = forms.Choice(24)
        self.said = forms.label("", "muted", wrap=True)
        forms.keep_room(self.said, 1)
        self.notice = Notice()
        self.variants = QListWidget()
        self.variants.setAccessibleName(self.tr("Variants that will be compiled"))
        self.variants.setUniformItemSizes(True)
        self.variants.setSelectionMode(QListWidget.SelectionMode.NoSelection)
        self.variants.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.variants.setFixedHeight(rows * 22 + 10)
        self.setLayout(forms.column(self.combo, self.said, self.notice, self.variants, gap=4))
        self.setFocusProxy(self.combo)
        self._fill([])
        self.combo.activated.connect(self._picked)
        # Where the list cannot be read, which the dialog of recipes says, files can be chosen.
        self._list.call(Listener(result=self._fill), known.listed)
        self._look()

    def choose(self, names: Sequence[str], free: bool = False) -> None:
        """free: whether they are a suggestion, which another place changes."""
        self.names, self._free = list(names) or [known.BUILTIN], free
        self._show_chosen()
        self._look()

    def into(self, place: str) -> None:
        """Unless somebody has chosen, take what was last warmed into this place, if anything."""
        self._into = place
        last = known.last_into(self._listed, place) if self._free else ""
        if last and [last] != self.names:
            self.choose([last], free=True)

    def trusted(self, machine: str, verb: str, then: Callable[[], object]) -> ConfirmDialog | None:
        """Call ``then``, after asking where the chosen recipes were recorded on another machine
        than the one that runs them. verb: what is done with them.
        """
        recipes = self.made.wire if self.made else ()
        if not (why := strange.warning(recipes, machine)):
            then()
            return None
        machines = ", ".join(strange.machines(recipes, machine))
        title = self.tr("A recipe of another machine")
        question = self.tr("Do you trust {}?").format(printable(machines, 200))
        return confirm(self, title, question, why, verb, then)

    def _fill(self, listed: Sequence[known.Listed]) -> None:
        with QSignalBlocker(self.combo):
            self.combo.clear()
            self.combo.addItem(known.name_of(known.BUILTIN), [known.BUILTIN])
            for one in listed:
                if one.path != known.BUILTIN:
                    name = one.recipes[0].name if not one.folder and one.recipes else ""
                    text = f"{known.name_of(one.path, name)}  ({printable(one.path, 400)})"
                    self.combo.addItem(text, [one.path])
            self.combo.insertSeparator(self.combo.count())
            self.combo.addItem(self.tr("Choose files…"), _FILE)
            self.combo.addItem(self.tr("Choose a folder…"), _FOLDER)
            self.combo.addItem(self.tr("Your own program: run it first…"), _PROGRAM)
        self._listed = listed
        self._show_chosen()
        self.into(self._into)

    def _show_chosen(self) -> None:
        rows = (n for n in range(self.combo.count()) if self.combo.itemData(n) == self.names)
        if (row := next(rows, -1)) < 0:
            text = printable(self.names[0], 400)
            if len(self.names) > 1:
                text = self.tr("{} files and folders").format(len(self.names))
            self.combo.insertItem(1, text, list(self.names))
            row = 1
        self.combo.setCurrentIndex(row)

    def _picked(self, row: int) -> None:
        data = self.combo.itemData(row)
        if isinstance(data, list):
            self.choose(data)
            return
        # Nothing of that is chosen yet.
        self._show_chosen()
        if data == _FILE:
            kinds = self.tr("Recipes (*.toml);;All files (*)")
            choose_files(self, self.tr("Choose recipes"), "", kinds, self.choose)
        elif data == _FOLDER:
            title = self.tr("Choose a folder of recipes")
            choose_folder(self, title, "", lambda path: self.choose([path]))
        else:
            self.running.emit()

    def _look(self) -> None:
        self._told(None)
        listener = Listener(result=self._told, failed=lambda error: self._told(None, error))
        self._looked.call(listener, known.made, list(self.names))

    def _told(self, made: known.Made | None, error: UserError | None = None) -> None:
        self.made, self.error = made, error
        self.notice.tell(error)
        self.variants.clear()
        self.variants.setVisible(made is not None and len(made.variants) > 1)
        self.said.setVisible(error is None)
        if made is None:
            self.said.setText(self.tr("Looking at it…"))
        elif self.names == [known.BUILTIN]:
            self.said.setText(known.builtin_help())
        else:
            count = say.count(len(made.variants), "variant", "variants")
            several = made.recipes > 1
            of = self.tr("{} of {}").format(count, say.count(made.recipes, "recipe", "recipes"))
            machines = map(known.recorded_on, strange.machines(made.wire))
            self.said.setText(" · ".join([of if several else count, *machines]))
            texts = (f"{r} · {n}" if several and not n.startswith(r) else n
                     for r, n, _ in made.variants[:_MOST])  # fmt: skip
            forms.list_up(self.variants, [printable(text, 200) for text in texts])
            if len(made.variants) > _MOST:
                self.variants.addItem(
                    self.tr("and {} more").format(f"{len(made.variants) - _MOST:,}")
                )
        # Not while a signal of its own is under way.
        QTimer.singleShot(0, self, self.changed.emit)
