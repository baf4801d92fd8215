"""What the window does with servers: adds them, logs in, asks for what their keys do not tell."""

from __future__ import annotations

import time
from itertools import chain, islice
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

from torchkeeper.artifacts.entry import Entry
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.engine import protocol
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.idle import once
from torchkeeper.gui.jobs.model import Job, Selection
from torchkeeper.gui.places.listing import Listing
from torchkeeper.gui.places.model import machine_of
from torchkeeper.gui.table.entries import EntriesModel
from torchkeeper.gui.table.view import EntryTable

if TYPE_CHECKING:
    from torchkeeper.engine.messages.places import FactsParams
    from torchkeeper.gui.context import Context
    from torchkeeper.gui.dialogs.server import ServerDialog
    from torchkeeper.gui.dialogs.serverpage import ExpiryDialog, PasswordDialog, ServerPage
    from torchkeeper.gui.places.discovery import Discovery
    from torchkeeper.gui.places.model import Place


_SAID_MS = 8000


class Servers(QObject):
    """From an action about a server to what comes of it."""

    #: The place that is shown may be called otherwise.
    renamed = Signal(str)

    def __init__(self, context: Context, discovery: Discovery) -> None:
        super().__init__(context.window)
        self._context, self._discovery = context, discovery
        self._asking: PasswordDialog | None = None
        #: What jobs under way are to let expire, and in how many seconds.
        self._expiring: dict[int, tuple[Selection, float]] = {}
        context.operations.succeeded.connect(self._done)

    def add_server(self) -> ServerDialog:
        """Ask where a server is, and put it on the list."""
        return self._ask_where(None)

    def edit_server(self) -> ServerDialog | None:
        """Ask where the chosen server is from now on, and how to log in."""
        chosen = self._context.places_pane.place
        return self._ask_where(chosen) if chosen is not None and chosen.server else None

    def _ask_where(self, place: Place | None) -> ServerDialog:
        from torchkeeper.gui.dialogs.server import ServerDialog

        # A server that is added once more is chosen, as a folder is.
        others = [] if place is None else [other.path for other in self._context.places.places]
        dialog = ServerDialog(self._context.window, self._context.engines, place, others)
        dialog.accepted.connect(lambda: self._take(dialog))
        dialog.open()
        return dialog

    def _take(self, dialog: ServerDialog) -> None:
        context, place, old = self._context, dialog.place, dialog.old
        if place == machine_of(place):
            context.open_paths([place])
            return
        if old is not None and old.path != place:
            self._move(old.path, place, dialog.keeps_password)
        if dialog.password.text():
            self._give(place, dialog.password.text(), dialog.keep.isChecked())
        known = context.place == place
        context.places.add(place)
        if old is not None or dialog.name.text().strip():
            context.places.rename(place, dialog.name.text().strip())
        read_only = dialog.read_only.isChecked()
        # A server that was read-only stays so when it is added once more.
        if read_only != context.places.read_only(place) and (read_only or old is not None):
            self._discovery.protect(place, read_only)
        if known:
            self.renamed.emit(place)
            context.listing.refresh()
        else:
            context.places_pane.choose(place)
            context.show_place(place)

    def _move(self, old: str, new: str, with_password: bool) -> None:
        context = self._context
        if with_password:
            context.engines.move_password(old, new)
        else:
            # It was given for another server, or for a better secured one.
            context.engines.forget_password(old)
        if context.places.read_only(old):
            self._discovery.protect(old, False)
        context.places.rename(old, "")
        context.places.move(old, new)

    def forget_password(self) -> None:
        chosen = self._context.places_pane.place
        if chosen is not None and chosen.server:
            self._context.engines.forget_password(chosen.path)
            text = self.tr("The password of {} is forgotten").format(chosen.title)
            self._context.say(text, _SAID_MS)

    def enter_password(self) -> PasswordDialog | None:
        context, place = self._context, self._context.place
        if place is None:
            return None
        error = context.listing.error or user_error("password-needed", {"server": place})
        return self.ask_for_password(place, error)

    def ask_for_password(self, place: str, error: UserError) -> PasswordDialog:
        """Ask for the password of the server that is shown, then read it again."""
        from torchkeeper.gui.dialogs.serverpage import PasswordDialog

        if self._asking is not None:
            self._asking.reject()
        context = self._context
        title = context.places.title(place)
        dialog = PasswordDialog(context.window, context.engines, place, error, title)
        self._asking = dialog
        dialog.accepted.connect(lambda: self._unlock(dialog))
        dialog.finished.connect(self._asked)
        dialog.open()
        return dialog

    def _asked(self) -> None:
        self._asking = None

    def _unlock(self, dialog: PasswordDialog) -> None:
        self._give(dialog.place, dialog.password.text(), dialog.keep.isChecked())
        if self._context.place == dialog.place:
            self._context.listing.refresh()

    def _give(self, place: str, password: str, keep: bool) -> None:
        def kept(kept: bool) -> None:
            if keep and not kept:
                why = self.tr("The system's keyring is locked, or refused it.")
                until = self.tr("It is used until the window is closed.")
                what = self.tr("The password could not be kept.")
                self._context.tell(UserError(what, why, until, code="keyring-refused"))

        self._context.engines.give(place, password, Listener(result=kept), keep=keep)

    def show_server(self) -> ServerPage | None:
        from torchkeeper.gui.dialogs.serverpage import ServerPage

        context, place = self._context, self._context.place
        if place is None:
            return None
        dialog = ServerPage(context.window, context.engines, place, context.places.title(place))
        dialog.open()
        return dialog

    def set_expiry(self) -> ExpiryDialog | None:
        """Ask when the selected entries are to expire, then do."""
        from torchkeeper.gui.dialogs.serverpage import ExpiryDialog

        context, place = self._context, self._context.place
        chosen = context.table.selected()
        if place is None or not chosen:
            return None
        selection = Selection.of(chosen)
        dialog = ExpiryDialog(context.window, place, len(chosen))
        dialog.accepted.connect(lambda: self._expire(place, selection, dialog.seconds))
        dialog.open()
        return dialog

    def _expire(self, place: str, selection: Selection, seconds: float | None) -> None:
        job = self._context.operations.expire(place, selection, seconds)
        if seconds is not None:
            self._expiring[job.id] = selection, seconds

    def _done(self, job: Job) -> None:
        bar = self._context.undo_bar
        if job.kind == protocol.TTL and bar.place == job.place:
            bar.hide()
        if job.id not in self._expiring or job.place is None:
            return
        selection, seconds = self._expiring.pop(job.id)
        place, count = job.place, job.result.get("entries")
        if not isinstance(count, int) or not count or self._context.place != place:
            return
        verb = self.tr("expires {}") if count == 1 else self.tr("expire {}")
        until = verb.format(say.until(time.time() + seconds))
        text = f"{say.count(count, 'entry', 'entries')} {until}"
        bar.offer(place, text, lambda: self._context.operations.expire(place, selection, None),
                  self.tr("Clear expir&y"))  # fmt: skip

    def toggle_read_only(self) -> None:
        """Allow changes in the place that is shown, or none."""
        # At first it is shown before it is on the list.
        if (place := self._context.place) is not None:
            self._discovery.protect(place, not self._context.places.read_only(place))


#: Milliseconds between what changes the picture and the question for what is in it then; and
#: entries that are asked for at once.
REST_MS = 100
AT_ONCE = 64
#: Of a selection so many are asked for; what all of a large server is cannot be known.
SELECTED = 256
#: Milliseconds until what could not be found out is asked for again.
AGAIN_MS = 5000


class Facts(QObject):
    """Asks for the entries of a server that are on the screen or selected, each once a listing: one
    question at a time, for what is to be seen then; what was scrolled past is never asked for.
    """

    def __init__(
        self, engines: Engines, listing: Listing, model: EntriesModel, table: EntryTable
    ) -> None:
        super().__init__(table)
        self._engines, self._listing, self._model, self._table = engines, listing, model, table
        self._place: str | None = None
        self._ticket: int | None = None
        self._asked: set[tuple[str, str]] = set()
        self._wanting: list[tuple[str, str]] = []
        self._rest = once(self, self._ask)
        listing.changed.connect(self._changed)
        listing.over.connect(self._listed)
        for moved in (table.verticalScrollBar().valueChanged, table.selection_changed,
                      model.changed, model.layoutChanged, model.rowsInserted):  # fmt: skip
            moved.connect(self._soon)
        self._changed()

    def _soon(self, *_: object) -> None:
        # A timer that began anew would wait for the end of all scrolling.
        if self._listing.scheme.lazy and not self._rest.isActive():
            self._rest.start(REST_MS)

    def _changed(self) -> None:
        if self._listing.place != self._place:
            self._place = self._listing.place
            self._engines.forget(self._ticket)
            self._asked.clear()
            self._rest.stop()
        self._soon()

    def _listed(self, _: bool) -> None:
        self._asked.clear()
        self._soon()

    def _wanted(self) -> list[tuple[str, str]]:
        shown = chain(self._table.seen(), self._table.selected(SELECTED))
        fresh = (e.identity for e in shown if e.identity not in self._asked)
        # Some are seen and selected.
        return list(islice(dict.fromkeys(fresh), AT_ONCE))

    def _ask(self) -> None:
        listing, place = self._listing, self._listing.place
        busy = self._engines.waits(self._ticket) or listing.error is not None
        if place is None or busy or not listing.scheme.lazy or not (wanted := self._wanted()):
            return
        self._asked.update(wanted)
        self._wanting = wanted
        params: FactsParams = {"place": place, "items": wanted}
        lost = self._failed
        listener = Listener(rows=self._rows, result=self._soon, failed=lost, cancelled=lost)
        # Beside the listing, which may take long.
        self._ticket = self._engines.ask(protocol.FACTS, params, listener, shared=True, aside=True)

    def _rows(self, entries: list[Entry]) -> None:
        for entry in entries:
            self._listing.known[entry.identity] = entry
        self._model.renew(entries, self._table.seen_lines())

    def _failed(self, _: UserError | None = None) -> None:
        self._asked.difference_update(self._wanting)
        self._rest.start(AGAIN_MS)
