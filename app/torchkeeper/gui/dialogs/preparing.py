"""The prepare dialog: builds ahead of time what the first compile of an environment builds."""

from __future__ import annotations

import os
from collections.abc import Callable

from PySide6.QtWidgets import QLineEdit, QWidget

from torchkeeper.gui.dialogs.base import choose_folder
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.dialogs.pages import ChoicePage
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.jobs.model import Job, JobsModel
from torchkeeper.gui.pages.help.ideas import explain
from torchkeeper.gui.verdicts.environments import Environments
from torchkeeper.gui.widgets import forms

#: The interpreter, and the temporary folder or None for the usual one.
Start = Callable[[str, str | None], Job]


class PrepareDialog(WorkDialog):
    """Asks which environment, and where its programs keep temporary files."""

    fits = True

    def __init__(
        self,
        parent: QWidget | None,
        environments: Environments,
        jobs: JobsModel,
        start: Start,
        python: str = "",
    ) -> None:
        """python: the interpreter to begin with."""
        super().__init__(parent, jobs, 640)
        self.setWindowTitle(self.tr("Prepare an environment"))
        explain(self, "header")
        self._start = start
        self.environment = EnvironmentChoice(environments)
        self.environment.choose(python)
        self.folder = QLineEdit()
        self.folder.setPlaceholderText(self.tr("The usual one: TMPDIR, else /tmp"))
        self.folder.textChanged.connect(lambda *_: self._say())
        self.browse = forms.button(self.tr("&Browse…"), enter=False)
        self.browse.clicked.connect(self._browse)
        self.wrong = forms.label("", "error", wrap=True)
        self.cancel = forms.button(self.tr("Cancel"), enter=False)
        self.cancel.clicked.connect(self.reject)
        self.go = forms.button(self.tr("Prepare"), primary=True)
        self.go.clicked.connect(self._go)
        self._lay_out()
        self.environment.changed.connect(self._say)
        self._say()

    def _lay_out(self) -> None:
        intro = forms.label(
            self.tr("On a CPU, the first compile in each temporary folder precompiles the C++ "
                    "headers of PyTorch: about 149 MB and several seconds, even if every object is "
                    "in the cache. This builds them now, where PyTorch will look."), wrap=True,
        )  # fmt: skip
        body = forms.column()
        body.addWidget(forms.label(self.tr("A head start for the first compile"), "title"))
        body.addWidget(intro)
        body.addSpacing(forms.GAP)
        forms.field(body, self.tr("&Environment"), self.environment)
        body.addSpacing(forms.GAP)
        name = forms.label(self.tr("&Temporary folder of its programs"), "heading")
        name.setBuddy(self.folder)
        self.folder.setAccessibleName(self.tr("Temporary folder of its programs"))
        help_text = self.tr("PyTorch keeps headers in the temporary folder, wherever the cache is.")
        self.folder.setAccessibleDescription(help_text)
        line = forms.row()
        line.addWidget(self.folder, 1)
        line.addWidget(self.browse)
        body.addWidget(name)
        body.addLayout(line)
        body.addWidget(self.wrong)
        body.addWidget(forms.label(help_text, "muted", wrap=True))
        body.addStretch(1)
        self.add_choice(ChoicePage(body, self.cancel, self.go), self.go)

    @property
    def into(self) -> str | None:
        """The temporary folder that was given; None for the usual one."""
        typed = os.path.expanduser(self.folder.text().strip())
        return os.path.normpath(typed) if typed else None

    def _say(self) -> None:
        into = self.into
        there = into is None or os.path.isabs(into)
        self.wrong.setText("" if there else self.tr("Give the whole path of a folder."))
        self.wrong.setVisible(not there)
        self.go.setEnabled(there and self.environment.facts is not None)

    def _browse(self) -> None:
        choose_folder(self, self.tr("Temporary folder"), self.into or "", self.folder.setText)

    def _go(self) -> None:
        if self.environment.facts is not None:
            self.follow(self._start(self.environment.python, self.into))

    def choose_again(self) -> None:
        super().choose_again()
        self.setWindowTitle(self.tr("Prepare an environment"))
        self.go.setFocus()
