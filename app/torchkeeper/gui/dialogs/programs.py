"""“Run a program…”: its command line, where it runs, and with which environment and profile."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import quote

from PySide6.QtCore import QSettings, Signal
from PySide6.QtWidgets import QWidget

from torchkeeper.client import programs
from torchkeeper.client.kept.runs import discreet
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.dialogs.base import Dialog, Typed, choose_folder
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.dialogs.warming import ProfileChoice
from torchkeeper.gui.places.model import host_of
from torchkeeper.gui.verdicts.environments import Environments
from torchkeeper.gui.widgets import forms
from torchkeeper.stores.ssh import parse
from torchkeeper.warm import processes

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import TargetParams, TargetResult


class ProgramDialog(Dialog):
    """It is closed when the program is started: what comes of it is on the page of the runs."""

    #: The command line, the folder, the interpreter and the profile; "" for none of these two.
    decided = Signal(str, str, str, str)

    def __init__(
        self, parent: QWidget, engines: Engines, environments: Environments, settings: QSettings,
        text: str = "",
    ) -> None:  # fmt: skip
        """environments: those of the machine that it runs on. text: the command line to begin with,
        in place of the last one.
        """
        super().__init__(parent, 640, "environment", "profile")
        self._machine, self._settings = environments.machine, settings
        title = self.tr("Run a program on {}").format(host_of(self._machine))
        self.setWindowTitle(title if self._machine else self.tr("Run a program"))
        #: Where the last command, its folder and its profile are remembered.
        self._at = f"run/at/{quote(self._machine, safe='')}" if self._machine else "run"
        self.line = forms.line_edit("python train.py --epochs 1")
        self.line.setText(text or self._kept("command"))
        self.line.selectAll()
        self.folder = forms.line_edit(self.tr("The folder that it starts in"))
        home = "~" if self._machine else os.path.expanduser("~")
        self.folder.setText(self._kept("folder") or home)
        self.environment = EnvironmentChoice(environments, "run", self.tr("As the command says"))
        self.profile = ProfileChoice(engines, self._kept("profile"))
        self.said = forms.label("", "muted", wrap=True)
        self.said.setAccessibleName(self.tr("What runs"))
        self.go = forms.button(self.tr("&Run"), self._run, primary=True)
        self._lay_out()
        self.line.textChanged.connect(self._say)
        #: What is at the folder, which is looked for beside.
        self._what = ""
        self._latest = Typed(engines, self)
        self.folder.textChanged.connect(lambda *_: self._look())
        for choice in (self.environment, self.profile):
            choice.changed.connect(self._say)
        self._look(soon=False)

    def _kept(self, name: str) -> str:
        return str(self._settings.value(f"{self._at}/{name}") or "")

    def _lay_out(self) -> None:
        browse = forms.button(self.tr("Ot&her folder…"), self._browse, enter=False)
        browse.setVisible(not self._machine)
        where = forms.row((self.folder, 1), browse)
        forms.field(self.body, self.tr("&Command"), self.line, self.tr(
            "Type it as in a shell. No shell runs it: “|”, “>” and shell variables have "
            "no effect."))  # fmt: skip
        name = forms.name_of(self.folder, self.tr("Working &folder"))
        forms.add(self.body, forms.GAP, name, where, forms.GAP)
        forms.field(self.body, self.tr("&Environment"), self.environment)
        forms.add(self.body, forms.GAP)
        forms.field(self.body, self.tr("&Profile"), self.profile)
        forms.add(self.body, forms.GAP, self.said, forms.REST)
        # Room for two lines from the start: the buttons stay where they are.
        self.said.setMinimumHeight(2 * self.said.fontMetrics().lineSpacing())
        self.buttons(forms.button(self.tr("Cancel"), self.reject, enter=False), self.go)
        self.go.setDefault(True)

    @property
    def python(self) -> str:
        """The interpreter that runs the command; "" where the command says that itself."""
        words, python = self._words(), self.environment.python
        # Who names an interpreter by its path means that one.
        named = words and processes.is_python(words[0]) and "/" in words[0]
        return python if python and words and not named and processes.under(python, words) else ""

    def _words(self) -> list[str]:
        try:
            return programs.parsed(self.line.text()).words
        except UserError:
            return []

    @property
    def _path(self) -> str:
        text = self.folder.text().strip()
        return text if self._machine else os.path.expanduser(text)

    @property
    def _placed(self) -> bool:
        return self._path == "~" or self._path.startswith(("/", "~/"))

    def _look(self, *, soon: bool = True) -> None:
        self._what = ""
        self._latest.forget()

        def found(there: TargetResult) -> None:
            self._what = there["what"]
            self._say()

        if self._placed:
            path = parse(self._machine).at(self._path) if self._machine else self._path
            asked: TargetParams = {"path": path}
            self._latest.ask(protocol.TARGET, asked, Listener(result=found), soon, shared=True)
        self._say()

    def _say(self, *_: object) -> None:
        said, role = self._told()
        forms.set_role(self.said, role)
        self.said.setText(said)
        good = role != "error" and self.profile.good and not self.environment.waiting
        self.go.setEnabled(bool(self._words()) and good)

    def _told(self) -> tuple[str, str]:
        try:
            programs.parsed(self.line.text())
        except UserError as error:
            return f"{error.what} {error.why}", "error"
        if not self._placed:
            return self.tr("Give the whole path of the working folder."), "error"
        if self._what in ("missing", "file", "other"):
            gone = self.tr("The working folder does not exist.")
            return gone if self._what == "missing" else self.tr("This is no folder."), "error"
        if self._words() and self.environment.python and not self.python:
            said = self.tr("This command does not use the environment: only “python …”, “-m …” and "
                           "“FILE.py …” run in it.")  # fmt: skip
            return said, "muted"
        after = self.tr("After the run, “Save as recipe” on Runs keeps what it compiled.")
        there = self.tr("It has the variables of your account on {}, and goes on if the connection "
                        "breaks.").format(host_of(self._machine))  # fmt: skip
        return f"{there} {after}" if self._machine else after, "muted"

    def _browse(self) -> None:
        title = self.tr("Choose the working folder")
        choose_folder(self, title, self.folder.text(), self.folder.setText)

    def _run(self) -> None:
        text, words = self.line.text().strip(), self._words()
        folder = self._path if self._machine else os.path.abspath(self._path)
        # What looks like a password is not written down.
        kept = text if list(discreet(words)) == words and discreet([text]) == (text,) else ""
        for name, value in (("command", kept), ("folder", folder), ("profile", self.profile.name)):
            self._settings.setValue(f"{self._at}/{name}", value)
        python = self.python
        self.accept()
        self.decided.emit(text, folder, python, self.profile.name)
