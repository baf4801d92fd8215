"""The warm dialog: which interpreter compiles what into which place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtWidgets import QComboBox, QWidget

from torchkeeper.gui import forms
from torchkeeper.gui.dialogs import environment
from torchkeeper.gui.dialogs.base import Dialog, PlaceChoice
from torchkeeper.gui.engines import Engines, Listener
from torchkeeper.gui.places import Place
from torchkeeper.link.words import UserError, printable


class WarmDialog(Dialog):
    """Probes the interpreter that is chosen, in an engine of its own."""

    def __init__(
        self,
        parent: QWidget | None,
        engines: Engines,
        places: Sequence[Place],
        current: str | None,
    ) -> None:
        super().__init__(parent, "", 600)
        self.setWindowTitle(self.tr("Warm a cache"))
        self._engines = engines
        self._tickets: list[int] = []
        self._looked = False
        self._found: dict[str, dict[str, Any] | UserError | None] = {}
        self.interpreter = QComboBox()
        self.interpreter.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.interpreter.setMinimumContentsLength(40)
        self.interpreter.currentIndexChanged.connect(lambda *_: self._probe(self.python))
        self.environment = forms.label("", "muted", wrap=True)
        self.recipe = QComboBox()
        self.recipe.addItem(self.tr("Built in: a first look"), "builtin")
        self.target = PlaceChoice(places, current)
        self.target.changed.connect(self._say)
        self.cancel = forms.button(self.tr("Cancel"))
        self.cancel.clicked.connect(self.reject)
        self.go = forms.button(self.tr("Start"), primary=True)
        self.go.clicked.connect(self.accept)
        self.go.setDefault(True)
        intro = self.tr(
            "Compiles ahead of time, so that programs find the results in the cache. "
            "The compile runs in a process of its own; you can cancel it at any time."
        )
        self.body.addWidget(forms.label(intro, "muted", wrap=True))
        self.body.addSpacing(forms.GAP)
        forms.field(self.body, self.tr("Python &interpreter"), self.interpreter)
        self.body.addWidget(self.environment)
        self.body.addSpacing(forms.GAP)
        forms.field(
            self.body,
            self.tr("&Recipe"),
            self.recipe,
            self.tr(
                "An op, an MLP trained at two batch sizes, and an attention block, "
                "forward and backward."
            ),
        )
        self.body.addSpacing(forms.GAP)
        forms.field(self.body, self.tr("Into the &place"), self.target)
        self.wrong = forms.label("", "error", wrap=True)
        self.body.addWidget(self.wrong)
        self.buttons(self.cancel, self.go)
        self._tickets.append(engines.interpreters(Listener(result=self._offered)))
        self._say()

    @property
    def python(self) -> str:
        """The chosen interpreter."""
        return str(self.interpreter.currentData() or "")

    @property
    def probed(self) -> bool:
        """Whether the chosen interpreter has answered."""
        return self._found.get(self.python) is not None

    def done(self, result: int) -> None:
        for ticket in self._tickets:
            self._engines.forget(ticket)
        super().done(result)

    def _offered(self, found: dict[str, Any]) -> None:
        self._looked = True
        for one in found["interpreters"]:
            python, label = str(one["python"]), str(one["label"])
            facts = one.get("facts")
            if isinstance(facts, dict):
                self._found[python] = facts
            self.interpreter.addItem(f"{printable(python)}  ({printable(label)})", python)
        self._say()

    def _probe(self, python: str) -> None:
        if python in self._found:
            self._say()
            return
        self._found[python] = None

        def result(env: dict[str, Any]) -> None:
            self._found[python] = env
            self._say()

        def failed(error: UserError) -> None:
            self._found[python] = error
            self._say()

        listener = Listener(result=result, failed=failed)
        self._tickets.append(self._engines.ask("probe", {}, listener, python=python))
        self._say()

    def _say(self) -> None:
        found = self._found.get(self.python)
        if isinstance(found, UserError):
            self.environment.setText("\n".join(x for x in str(found).splitlines() if x))
        elif found is not None:
            self.environment.setText(environment.summary(found))
        elif self.interpreter.count():
            self.environment.setText(self.tr("Asking this interpreter for its torch…"))
        elif self._looked:
            self.environment.setText(
                self.tr("No interpreter was found. Name one in TORCHKEEPER_TORCH_PYTHON.")
            )
        else:
            self.environment.setText(self.tr("Looking for interpreters…"))
        unable = self._looked and not self.interpreter.count()
        unable = unable or (found is not None and not isinstance(found, dict))
        forms.set_role(self.environment, "error" if unable else "muted")
        able = isinstance(found, dict) and environment.can_compile(found)
        there = self.target.path is not None
        self.wrong.setText("" if there else self.target.wrong)
        self.wrong.setVisible(not there)
        self.go.setEnabled(able and there)
