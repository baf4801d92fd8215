"""The environment that is chosen, the verdicts of what is shown, and the actions about both."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QObject, Signal

from torchkeeper.artifacts.entry import VERDICTS
from torchkeeper.client.words import environments as words
from torchkeeper.client.words import verdicts
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.chrome.statusline import Counts, VerdictBar
from torchkeeper.gui.idle import Slices, once
from torchkeeper.gui.places.listing import Listing
from torchkeeper.gui.places.model import host_of
from torchkeeper.gui.table.entries import Told
from torchkeeper.gui.table.view import EntryTable
from torchkeeper.gui.verdicts.asking import Judging
from torchkeeper.gui.verdicts.environments import (
    Chooser,
    Environment,
    Environments,
    Machines,
    State,
)

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import JudgedFinding
    from torchkeeper.engine.messages.verdicts import JudgeResult
    from torchkeeper.gui.chrome.head import Head
    from torchkeeper.gui.context import Context
    from torchkeeper.gui.dialogs.environments import EnvironmentsDialog


#: So many entries of a server are judged unasked: all their values are to be fetched for that.
FEW = 200
#: Milliseconds between two questions about a place that changes, and the part of the time that
#: questions may take at most.
_REST_MS, _SHARE = 1500, 0.2


class Verdicts(QObject):
    """Has the engine judge what the table shows, and puts what it says into the rows."""

    changed = Signal()

    def __init__(
        self, engines: Engines, listing: Listing, table: EntryTable, machines: Machines
    ) -> None:
        super().__init__(table)
        self._listing, self._table, self._model = listing, table, table.entries
        self._machines = machines
        self._judging = Judging(engines, self)
        #: What the verdicts in the rows are of, and those that are being asked for: the place, the
        #: facts of the environment, and which state of the place.
        self._known: tuple[Any, ...] | None = None
        self._asked: tuple[Any, ...] | None = None
        #: The place and the facts that verdicts in the rows are about, if there may be any.
        self._about: tuple[Any, ...] | None = None
        self._listings = 0
        self._insisted: str | None = None
        self._said: list[tuple[str, verdicts.Why]] = []
        self._queue: deque[JudgedFinding] = deque()
        self._slices = Slices(self)
        self._began = self._ended = self._took = 0.0
        #: How many there are of each verdict (engine/checking.py), once that is known.
        self.counts: JudgeResult | None = None
        self.error: UserError | None = None
        self._rest = once(self, self._ask)
        listing.over.connect(self._listed)
        listing.changed.connect(self._look)
        machines.changed.connect(self._look)
        self._look()

    @property
    def environment(self) -> Environment | None:
        """What the verdicts are about: an interpreter whose torch is known."""
        chosen = self._machines.shown.chosen
        return chosen if chosen is not None and chosen.torch else None

    @property
    def asking(self) -> bool:
        return self._asked is not None

    @property
    def to_insist(self) -> bool:
        """Whether the place is a server so large that it is judged only when asked for."""
        return self.environment is not None and self._listed_well() and not self._worth_asking()

    def insist(self) -> None:
        """Judge a server, however large it is."""
        self._insisted = self._listing.place
        self._look()

    def _listed(self, _: bool) -> None:
        self._listings += 1
        self._look()

    def _listed_well(self) -> bool:
        listing = self._listing
        shown = listing.place is not None and not listing.loading and bool(listing.result)
        return shown and self._model.total > 0

    def _worth_asking(self) -> bool:
        few = not self._listing.scheme.lazy or self._model.rows <= FEW
        return few or self._insisted == self._listing.place

    def _state(self) -> tuple[Any, ...] | None:
        """What there is to judge; None where nothing is."""
        env = self.environment
        if env is None or not self._listed_well() or not self._worth_asking():
            return None
        # A folder says whether it is as it was; of another place every reading counts.
        return self._listing.place, id(env.facts), self._listing.mark or self._listings

    def _look(self) -> None:
        env, place = self.environment, self._listing.place
        if self._listing.result and not (here := self._machines.shown).off:
            here.find()  # of another machine: there is a way to it now
        if self.error is not None and self._listing.loading:
            self._known = self.error = None  # a refresh tries again
        about = (place, None if env is None else id(env.facts))
        # Of what is gone nothing is true: what comes back has rows of its own.
        empty = not self._listing.loading and bool(self._listing.result) and not self._model.total
        if self._about is not None and (self._about != about or empty):
            self._forget()
        state = self._state()
        if state is None or state in (self._known, self._asked):
            return
        if self._asked is None and not self._rest.isActive():
            first = self._known is None and self.error is None
            rest = max(_REST_MS / 1000, self._took / _SHARE) - (time.monotonic() - self._ended)
            self._rest.start(0 if first else max(0, round(1000 * rest)))

    def _forget(self) -> None:
        """No verdict is true any more: of another place, or in another environment."""
        self._judging.forget()
        self._rest.stop()
        self._queue.clear()
        self._said = []
        self._slices.stop()
        # The rows of another place are gone.
        if self._about is not None and self._about[0] == self._listing.place:
            self._slices.start(self._model.forget_verdicts(self._table.seen_lines()))
        self._about = self._known = self._asked = self.counts = self.error = None
        self.changed.emit()

    def _ask(self) -> None:
        state, env = self._state(), self.environment
        if state is None or env is None or state == self._known:
            return
        if self._slices.busy:
            self._rest.start(_REST_MS // 10)  # what is no longer true goes first
            return
        self._about, self._asked, self._said = state[:2], state, []
        self._began = time.monotonic()
        self._judging.ask(str(state[0]), env, self._over, self._failed, self._found, self._anew)
        self.changed.emit()

    def _anew(self) -> None:
        self._said = []
        self._queue.clear()

    def _found(self, told: list[JudgedFinding]) -> None:
        self._queue.extend(told)
        if not self._slices.busy:
            self._slices.start(self._take())

    def _take(self) -> Iterator[None]:
        while self._queue:
            judged = self._queue.popleft()
            self._said += map(verdicts.told, judged["said"])
            told: list[Told] = [
                ((kind, path), *self._said[n])
                for kind, path, n in judged["of"]
                if 0 <= n < len(self._said)
            ]
            self._model.judge(told, self._table.seen_lines())
            yield

    def _over(self, counts: JudgeResult) -> None:
        def ends() -> None:
            self.counts, self.error = counts, None
            self._end()
            self._look()

        # What was found before is worked in first.
        self._slices.start(self._take(), ends)

    def _failed(self, error: UserError) -> None:
        # As for what is shown: that stays, and the next reading asks again.
        self.error = error
        self._end()

    def _end(self) -> None:
        self._known, self._asked, self._said = self._asked, None, []
        self._ended = time.monotonic()
        self._took = self._ended - self._began
        self._model.judged()
        self.changed.emit()


#: Milliseconds after which it is said that verdicts are on their way.
_SOON_MS = 400


class VerdictController(QObject):
    """The part of the window that is about verdicts; made when the first rows are shown."""

    preparing = Signal(str)

    def __init__(self, context: Context, head: Head) -> None:
        super().__init__(context.window)
        self._context, self._head = context, head
        listing = context.listing
        self.machines = Machines(context.engines, context.settings, lambda: listing.place, self)
        self.machines.failed.connect(self._failed)
        self.machines.to_start.connect(self._to_start)
        listing.changed.connect(self.machines.look)
        more = [context.actions[name] for name in ("add-interpreter", "environments")]
        self.chooser = Chooser(self.machines, more)
        self.bar = VerdictBar()
        self.verdicts = Verdicts(context.engines, listing, context.table, self.machines)
        #: What was last counted of what is shown, as ``VerdictBar.tell`` takes it.
        self._counted = Counts({}, {}, {})
        self._soon = once(self, self._say, _SOON_MS)
        self.verdicts.changed.connect(self._changed)
        listing.changed.connect(self._say)
        self.machines.changed.connect(self._say)
        self.bar.wanted.connect(self.show_only)
        self.bar.insisted.connect(self.verdicts.insist)
        head.box.textChanged.connect(self.bar.mark)
        head.filtered.connect(self._look_for)
        context.table.horizontalHeader().sortIndicatorChanged.connect(self._look_for)
        context.entries.changed.connect(self._look_for)
        if not (near := self.machines.of(None)).off:
            near.find()
        self._say()

    @property
    def environments(self) -> Environments:
        """Those of the machine whose place is shown."""
        return self.machines.shown

    def _changed(self) -> None:
        if self.verdicts.asking:
            self._soon.start()
        else:
            self._soon.stop()
            self._say()

    def _say(self) -> None:
        self.tell()
        self._context.entries.tell_unjudged(self.tr("no environment"), self.lacking)
        self._context.update_soon()

    def tell(self) -> None:
        """Have the status bar count the verdicts of what is shown."""
        verdicts, said = self.verdicts, ""
        if verdicts.asking and verdicts.counts is None:
            said = (
                self.tr("checking which entries are usable here…")
                if not self._soon.isActive()
                else ""
            )
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
        verdicts, lacking = self.verdicts, self.lacking
        if verdicts.counts is not None:
            return ""
        if lacking or verdicts.error is None:
            return lacking or self.tr("Torchkeeper is asking the environment.")
        return str(verdicts.error)

    @property
    def lacking(self) -> str:
        """Why nothing can be judged before another environment is chosen; else empty."""
        environments, chosen = self.environments, self.environments.chosen
        if environments.off:
            return self.tr("Verdicts are off. Choose an environment at the top right.")
        if chosen is None and environments.found:
            if environments.machine:
                text = self.tr("They need an environment of {} with torch. “Add interpreter…” at "
                               "the top right takes the path of one there.")  # fmt: skip
                return text.format(host_of(environments.machine))
            return self.tr("They need an interpreter with torch, and none was found. Add one at "
                           "the top right.")  # fmt: skip
        if chosen is not None and chosen.state is State.FAILED:
            return str(chosen.error)
        if chosen is not None and chosen.state is State.WITHOUT:
            text = self.tr("{}: {}. Choose another environment at the top right.")
            why = printable(words.without_torch(chosen.facts or {}), 400)
            return text.format(printable(chosen.python), why)
        return ""

    def _look_for(self, *_: object) -> None:
        """Verdicts of a large server are asked for when somebody wants to know."""
        if self.verdicts.to_insist and self._context.entries.by_verdict:
            self.verdicts.insist()

    def _failed(self, error: object) -> None:
        # An open dialog says it itself.
        from torchkeeper.gui.dialogs.environments import EnvironmentsDialog

        shown = self._context.window.findChildren(EnvironmentsDialog)
        if isinstance(error, UserError) and not shown:
            self._context.tell(error)

    def show_only(self, verdict: str) -> None:
        """Show only entries with a verdict; with an empty one, those with any."""
        box = self._head.box
        words = [word for word in box.text().split() if word not in _STATES]
        box.setText(" ".join([*words, f"is:{verdict}"] if verdict else words))

    def add_interpreter(self) -> None:
        """Ask for an interpreter, put it on the list, and use it."""
        from torchkeeper.gui.dialogs.environments import choose_interpreter

        def added(python: str) -> None:
            environments.add(python, lambda one: environments.choose(one.python))

        environments = self.environments
        choose_interpreter(self._context.window, environments.machine, added)

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
