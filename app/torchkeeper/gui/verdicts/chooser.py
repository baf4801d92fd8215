"""Which environment the verdicts are about: a button of the toolbar with a menu."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton

from torchkeeper.client.words import environments as words
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.dialogs import environment
from torchkeeper.gui.verdicts.environments import Environment, Environments, State
from torchkeeper.gui.widgets.plain import caption, tip

#: Characters of a path in the menu; its end tells more than its beginning.
_PATH = 56


class Chooser(QToolButton):
    """Says which torch is asked, and lets another be chosen."""

    def __init__(self, environments: Environments, more: Sequence[QAction]) -> None:
        """more: what the menu offers besides."""
        super().__init__()
        self.setObjectName("environment")
        self._environments, self._more = environments, list(more)
        self._group: QActionGroup | None = None
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setIconSize(QSize(18, 18))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMenu(QMenu(self))
        self.menu().setToolTipsVisible(True)
        self.menu().aboutToShow.connect(self._open)
        environments.changed.connect(self._say)
        environments.changed.connect(self._fill_shown)
        theme.follow(self, self._say)

    def _say(self) -> None:
        text, more, icon = self._words(self._environments.chosen)
        self.setText(text)
        self.setToolTip(tip(more))
        self.setAccessibleName(self.tr("Environment of the verdicts: {}").format(text))
        self.setIcon(theme.icon(icon, theme.shades().warning if icon == "warning" else None))

    def _words(self, chosen: Environment | None) -> tuple[str, str, str]:
        if self._environments.off:
            return self.tr("No verdicts"), self.tr("Choose whose torch is asked"), "machine"
        if chosen is None:
            if self._environments.found:
                tip = self.tr("No interpreter with a torch was found: add one")
                return self.tr("No torch"), tip, "warning"
            return self.tr("Looking for torch…"), "", "machine"
        python = printable(chosen.python)
        if chosen.torch:
            text = self.tr("Here: torch {}").format(printable(chosen.torch, 40))
            tip = self.tr("Verdicts are about this environment:")
            facts = environment.summary(chosen.facts or {})
            return text, f"{tip}\n{python}\n{facts}", "machine"
        if chosen.state is State.FAILED:
            tip = "\n".join(x for x in str(chosen.error).splitlines() if x)
            return self.tr("Torch does not answer"), tip, "warning"
        if chosen.state is State.FOUND:
            tip = self.tr("It was found and not started: nobody has named it")
            return self.tr("Torch not started"), f"{python}\n{tip}", "warning"
        if chosen.state is State.WITHOUT:
            why = printable(words.without_torch(chosen.facts or {}), 400)
            return self.tr("No torch"), f"{python}\n{why}", "warning"
        return self.tr("Asking torch…"), self.tr("{} is asked what it is").format(python), "machine"

    def _open(self) -> None:
        self._environments.find()
        self._fill()

    def _fill_shown(self) -> None:
        if self.menu().isVisible():
            self._fill()

    def _fill(self) -> None:
        menu = self.menu()
        menu.clear()
        if self._group is not None:
            self._group.deleteLater()
        group = self._group = QActionGroup(menu)
        environments, chosen = self._environments, self._environments.chosen

        def add(text: str, hint: str, python: str | None, on: bool) -> None:
            action = QAction(text, group)
            action.setToolTip(tip(hint))
            action.setCheckable(True)
            action.setChecked(on)
            action.triggered.connect(lambda: environments.choose(python))
            menu.addAction(action)

        for one in environments.every:
            python = one.python
            add(caption(entry_text(one)), printable(python), python, one is chosen)
        if environments.every:
            menu.addSeparator()
        hint = self.tr("Ask no environment what is of use in it")
        add(self.tr("&No verdicts"), hint, None, environments.off)
        menu.addSeparator()
        menu.addActions(self._more)


def entry_text(one: Environment) -> str:
    """An environment in a line: its torch, and where it is."""
    return f"{state_text(one)}   {short_path(one.python)}"


def short_path(path: str) -> str:
    """A path that fits a menu, in which nothing is a mnemonic."""
    shown = printable(path)
    return ("…" + shown[-_PATH:] if len(shown) > _PATH else shown).replace("&", "&&")


def state_text(one: Environment) -> str:
    """What is known of an environment, in a few words."""
    tr = environment.tr
    if one.torch:
        return tr("torch {}").format(printable(one.torch, 40))
    if one.state is State.WITHOUT and (one.facts or {}).get("torch_error"):
        return tr("torch is broken")
    return {
        State.UNASKED: tr("not asked yet"),
        State.FOUND: tr("not started yet"),
        State.ASKING: tr("asking…"),
        State.FAILED: tr("does not answer"),
        State.WITHOUT: tr("no torch"),
    }.get(one.state, "")
