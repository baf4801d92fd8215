"""What is of use here: the environment that is chosen, the verdicts of what is shown, and the
actions about both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from torchkeeper.artifacts.entry import VERDICTS
from torchkeeper.gui.chrome.verdictbar import Counts, VerdictBar
from torchkeeper.gui.later import once
from torchkeeper.gui.pages.table import ENTRIES
from torchkeeper.gui.verdicts.chooser import Chooser
from torchkeeper.gui.verdicts.environments import Environment, Environments
from torchkeeper.gui.verdicts.shown import Verdicts

if TYPE_CHECKING:
    from torchkeeper.engine.messages.verdicts import JudgeResult
    from torchkeeper.gui.chrome.panes import Head
    from torchkeeper.gui.context import Context
    from torchkeeper.gui.dialogs.environments import EnvironmentsDialog

#: Milliseconds after which it is said that verdicts are on their way.
_SOON_MS = 400


class Here(QObject):
    """The part of the window that is about verdicts; made when the first rows are shown."""

    #: An environment is to be prepared.
    preparing = Signal(str)

    def __init__(self, context: Context, head: Head) -> None:
        super().__init__(context.window)
        self._context, self._head = context, head
        self.environments = Environments(context.engines, context.settings, self)
        self.environments.failed.connect(self._failed)
        self.environments.to_start.connect(self._to_start)
        actions = context.actions
        self.chooser = Chooser(
            self.environments, [actions["add-interpreter"], actions["environments"]]
        )
        self.bar = VerdictBar()
        # What it says is about the place.
        self.bar.setVisible(context.pages.current == ENTRIES)
        self.verdicts = Verdicts(
            context.engines, context.listing, context.entries, context.table, self.environments
        )
        #: What was last counted of what is shown, as ``VerdictBar.tell`` takes it.
        self._counted = Counts({}, {}, {})
        self._soon = once(self, self._say, _SOON_MS)
        self.verdicts.changed.connect(self._changed)
        context.listing.changed.connect(self._say)
        self.environments.changed.connect(self._say)
        self.bar.wanted.connect(self.show_only)
        self.bar.insisted.connect(self.verdicts.insist)
        head.box.textChanged.connect(self.bar.mark)
        head.filtered.connect(self._look_for)
        context.table.horizontalHeader().sortIndicatorChanged.connect(self._look_for)
        context.entries.changed.connect(self._look_for)
        if not self.environments.off:
            self.environments.find()
        self._say()

    def _changed(self) -> None:
        if self.verdicts.asking:
            self._soon.start()
        else:
            self._soon.stop()
            self._say()

    def _say(self) -> None:
        self.tell()
        self._context.update_soon()

    def tell(self) -> None:
        """Have the status bar count the verdicts of what is shown."""
        verdicts, said = self.verdicts, ""
        if verdicts.asking and verdicts.counts is None:
            said = self.tr("asking what is of use here…") if not self._soon.isActive() else ""
        elif verdicts.error is not None:
            said = self.tr("no verdicts: {}").format(verdicts.error.what)
        counts = self._count(verdicts.counts) if verdicts.counts is not None else None
        self.bar.tell(counts, said, verdicts.to_insist)

    def _count(self, every: JudgeResult) -> Counts:
        """The verdicts of what is shown; ``every``: of all that the place holds."""
        entries = self._context.entries
        totals = entries.totals()
        # Very many are added up a moment later, which the window hears.
        if totals is not None:
            verdicts = {name: totals.verdicts[name] for name in VERDICTS if totals.verdicts[name]}
            made_by = every["made_by"]
            if totals.counts["entries"] != entries.total:
                made_by = {name: n for name in made_by if (n := totals.torches[name])}
            self._counted = Counts(verdicts, made_by, {})
        return self._counted._replace(there=every["verdicts"])

    @property
    def unjudged(self) -> str:
        """Why there are no verdicts; empty where there are."""
        verdicts, environments = self.verdicts, self.environments
        if verdicts.counts is not None:
            return ""
        if environments.off:
            return self.tr("None are asked for. Choose an environment at the top, on the right.")
        if verdicts.error is not None:
            return str(verdicts.error)
        if environments.found and environments.chosen is None:
            return self.tr("They need an interpreter with a torch, and none was found. Add one at "
                           "the top, on the right.")  # fmt: skip
        return self.tr("It is being asked what is of use here.")

    def _look_for(self, *_: object) -> None:
        """Verdicts of a large server are asked for when somebody wants to know."""
        if self.verdicts.to_insist and self._context.entries.by_verdict:
            self.verdicts.insist()

    def _failed(self, error: object) -> None:
        # An open dialog says it itself.
        from torchkeeper.gui.dialogs.environments import EnvironmentsDialog
        from torchkeeper.link.words.problems import UserError

        shown = self._context.window.findChildren(EnvironmentsDialog)
        if isinstance(error, UserError) and not shown:
            self._context.tell(error)

    # Actions.

    def show_only(self, verdict: str) -> None:
        """Show only entries with a verdict; with an empty one, those with any."""
        box = self._head.box
        words = [word for word in box.text().split() if word not in _STATES]
        box.setText(" ".join([*words, f"is:{verdict}"] if verdict else words))

    def add_interpreter(self) -> None:
        """Ask for an interpreter, put it on the list, and have verdicts be about it."""
        from torchkeeper.gui.dialogs.environments import choose_interpreter

        def added(python: str) -> None:
            self.environments.add(python, lambda one: self.environments.choose(one.python))

        choose_interpreter(self._context.window, added)

    def show_environments(self) -> EnvironmentsDialog:
        """Every interpreter that is known, and what it says."""
        from torchkeeper.gui.dialogs.environments import EnvironmentsDialog

        dialog = EnvironmentsDialog(self._context.window, self.environments)
        dialog.preparing.connect(self.preparing)
        dialog.open()
        return dialog

    def _to_start(self, one: Environment) -> None:
        """Show what was found, and who else can change it; a button there starts it."""
        from torchkeeper.gui.dialogs.environments import EnvironmentsDialog

        shown = self._context.window.findChildren(EnvironmentsDialog)
        (shown[-1] if shown else self.show_environments()).go_to(one.python)


_STATES = frozenset(f"is:{verdict}" for verdict in VERDICTS)
