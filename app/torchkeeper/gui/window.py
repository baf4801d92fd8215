"""The main window at work: it connects its parts, and turns actions into dialogs and jobs."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QEvent, QSettings, Qt, QTimer, Signal
from PySide6.QtWidgets import QWhatsThis, QWidget

from torchkeeper.artifacts.entry import VERDICTS, Entry
from torchkeeper.client.words.found import become_of
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.gui import CURRENT
from torchkeeper.gui.actions import Actions, Does, Situation
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.chrome import summary
from torchkeeper.gui.closing import Closing
from torchkeeper.gui.context import Context, late
from torchkeeper.gui.idle import once
from torchkeeper.gui.jobs.following import Following
from torchkeeper.gui.navigator import Navigator
from torchkeeper.gui.pages import ENTRIES, FIRST
from torchkeeper.gui.pages.guide import Guide
from torchkeeper.gui.pages.making import Making
from torchkeeper.gui.places.discovery import Discovery, Opening
from torchkeeper.gui.places.listing import Listing, Watch
from torchkeeper.gui.shell import Shell
from torchkeeper.gui.table.grouping import GROUPINGS
from torchkeeper.gui.table.rows import MTIME, SERVERS
from torchkeeper.gui.widgets.notice import Host, Remedy
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.query import TIMES, Query

if TYPE_CHECKING:
    from PySide6 import QtGui

    from torchkeeper.client.engines.questions import Question
    from torchkeeper.gui.inspector.inspecting import Inspecting
    from torchkeeper.gui.places.servers import Facts
    from torchkeeper.gui.verdicts.verifications import Verifications

PAGE = "pages/current"
#: Totals over many entries are worked out at most this often.
_TOTALS_MS = 40
#: What is not seen at first is made this long after the first rows are, and without any after this
#: long at the latest.
_LATER_MS = 60
_AT_LATEST_MS = 500


class Window(Shell):
    """The window. It starts engines through ``Engines`` and never waits for them."""

    #: Every engine is gone after the window was closed.
    stopped = Signal()

    #: Made when the first rows are shown: before, there is nothing to ask more about.
    facts: Facts

    def __init__(
        self, settings: QSettings | None = None, engines: Engines | None = None,
        first: str | None = None,
    ) -> None:  # fmt: skip
        """first: the folder to show; without one, what was shown last."""
        super().__init__(settings, engines)
        self.listing = Listing(self.engines, self.entries, self)
        self._first = first or str(self.settings.value(CURRENT) or "")
        # An engine reads it while the rest of the window is made.
        self.listing.show(self._first or None)
        self._sure = False
        self._updated = 0.0
        self._watch: Watch | None = None
        self.navigator = Navigator(self, self.update_soon)
        self._inspecting: Inspecting | None = None
        self._verifications: Verifications | None = None
        #: The place that was last looked at for its verification, and what it was like.
        self._marked: tuple[str | None, str] = None, ""
        self.lay_out()
        self.actions_ = Actions(self, self._does(), self.navigator.go_to_page)
        self.context = context = self._make_context()
        self.opening = Opening(context)
        self.discovery = Discovery(context, self.opening)
        self.closing = Closing(context, self.keep_geometry, self.close_surely)
        making = Making(
            self, context, self.discovery, self.head, lambda: self.flows, self.open_menu
        )
        self.following = Following(context, self.closing, self.status, making)
        new = not any(map(self.settings.contains, (CURRENT, PAGE)))
        self.guide = Guide(context, self.inspector_frame, self.top, new=new)
        self.pages.makers = making.makers()
        self.host = Host(self, self._remedies)
        self.host.dialog_shown.connect(late(lambda: self.drops.attend))
        self.trash_label.asked.connect(self.actions_["empty-trash"].trigger)
        self.make_menus()
        self._connect()
        self.later.add(self._offer_places, self._watch_place, self._ask_for_facts)
        self.later.add(self.discovery.ask_protected, lambda: self.flows, self._follow_drags)
        self.later.add(lambda: self.here, lambda: self.verifications, lambda: self.more)
        self.later.add(lambda: self.notifier, self._explain, self.guide.begin)
        # Where one goes most: to make it then would hold up its first picture.
        self.later.add(lambda: self.pages.of(FIRST))
        if (geometry := self.settings.value("window/geometry")) is not None:
            self.restoreGeometry(geometry)
        self.inspector_frame.restore()
        self.show_place(self._first)
        if first is None:
            # With a place, somebody wants to see what it holds.
            self.show_page(str(self.settings.value(PAGE) or FIRST))
        self.update_soon()
        self.discovery.refresh()
        # Where the first rows take long, nobody waits for the rest because of them.
        QTimer.singleShot(_AT_LATEST_MS, self, self.later.start)

    def _make_context(self) -> Context:
        return Context(
            self, self.settings, self.engines, self.jobs, self.places, self.places_pane,
            self.listing, self.entries, self.table, self.pages, self.actions_, self.undo_bar,
            make_operations=lambda: self.operations,
            make_machines=lambda: self.here.machines,
            make_verifications=lambda: self.verifications,
            tell=self.error_bar.tell, over=self.error_bar.clear, say=self.status.showMessage,
            show_place=self.show_place,
            open_paths=self.open_paths, show_entries=self.navigator.show_entries,
            select_shown=self.navigator.select_shown, update_soon=self.update_soon,
            update_now=self.update_now,
        )  # fmt: skip

    def _does(self) -> Does:
        return {
            "add-folder": lambda: self.add_folder, "add-server": lambda: self.servers.add_server,
            "open-bundle": lambda: self.more.flows.open_bundle,
            "read-only": lambda: self.servers.toggle_read_only,
            "edit-server": lambda: self.servers.edit_server,
            "enter-password": lambda: self.servers.enter_password,
            "forget-password": lambda: self.servers.forget_password,
            "rename-server": lambda: self.more.flows.rename_server,
            "place-up": lambda: partial(self.more.flows.shift_place, -1),
            "place-down": lambda: partial(self.more.flows.shift_place, 1),
            "place-folder": lambda: partial(self.flows.results.reveal_path, self.place),
            "remove-place": lambda: self.more.flows.remove_place,
            "import": lambda: self.flows.import_files, "export": lambda: self.flows.export,
            "sign": lambda: self.flows.signing.sign_bundle,
            "signers": lambda: self.flows.signing.show_signers, "quit": lambda: self.close,
            "find": lambda: self.navigator.go_to_filter,
            "preferences": lambda: self.show_preferences,
            "select-all": lambda: self.navigator.select_all,
            **{f"copy-{what}": partial(partial, late(lambda: self.copier.copy), what)
               for what in ("key", "path", "json", "command")},
            "paste": lambda: self.drops.paste, "copy-place": lambda: self.more.flows.copy_place,
            "compare": lambda: self.flows.comparing.open,
            "compare-two": lambda: self.flows.comparing.compare_selected,
            "compare-nearest": lambda: self.flows.comparing.compare_nearest,
            "compare-as-a": lambda: partial(self.flows.comparing.compare_as, "A"),
            "compare-as-b": lambda: partial(self.flows.comparing.compare_as, "B"),
            "fleet-warm": lambda: self.more.warm_fleet, "add-target": lambda: self.more.add_target,
            "remove-target": lambda: self.more.remove_target,
            "warm": lambda: self.flows.warm, "verify": lambda: self.flows.verify,
            "prepare": lambda: self.flows.prepare, "copy-to": lambda: self.flows.copy,
            "run-program": lambda: self.flows.run_program,
            "purge": lambda: self.flows.purge_selected,
            "purge-shown": lambda: self.flows.purge_shown, "clean-up": lambda: self.flows.clean_up,
            "undo": lambda: self.flows.undo, "empty-trash": lambda: self.flows.empty_trash,
            "expiry": lambda: self.servers.set_expiry, "server": lambda: self.servers.show_server,
            "activity": lambda: self.following.toggle,
            "cancel-job": lambda: self.cancel_job, "show-log": lambda: self.following.show_log,
            "open-result": lambda: partial(self.flows.results.open, self.following.job),
            "show-in-folder": lambda: partial(self.flows.results.reveal, self.following.job),
            "refresh": lambda: self.refresh,
            "read-all": lambda: partial(self.listing.refresh, all_of_it=True),
            "map": lambda: self.navigator.toggle_map, "apart": lambda: self.navigator.toggle_apart,
            "inspector": lambda: self.inspector_frame.toggle,
            "sidebar": lambda: self.more.flows.toggle_sidebar,
            "environment-none": lambda: partial(self.here.environments.choose, None),
            **{f"environment-{do}": partial(
                partial, late(lambda: self.more.flows.with_environment), do)
               for do in ("use", "doctor", "prepare", "ask", "copy")},
            "environment-remove": lambda: self.more.flows.remove_environment,
            "environments": lambda: self.here.show_environments,
            "add-interpreter": lambda: self.here.add_interpreter,
            "notify": lambda: self.notifier.toggle_notify,
            "expand-all": lambda: partial(self.group_by.fold, False),
            "collapse-all": lambda: partial(self.group_by.fold, True),
            "palette": lambda: self.palette_.open, "back": lambda: self.pages.back,
            "forward": lambda: self.pages.forward,
            "next-part": lambda: self.navigator.go_to_next_part,
            "first-steps": lambda: self.guide.show_first_steps,
            "manual": lambda: self.show_manual,
            "shortcuts": lambda: self.show_shortcuts, "glossary": lambda: self.show_glossary,
            "explain": lambda: self.explain_this, "whats-this": lambda: self.ask_whats_this,
            "about": lambda: self.show_about,
            **{f"only-{one or 'any'}": partial(partial, late(lambda: self.here.show_only), one)
               for one in (*VERDICTS, "")},
            **{f"group-{by}": partial(partial, self._group, by) for by in GROUPINGS},
        }  # fmt: skip

    def _connect(self) -> None:
        self._update_timer = once(self, self.update_now)
        for change in (self.entries.changed, self.head.judged, self.table.selection_changed,
                       self.listing.changed, self.jobs.finished, self.jobs.rowsInserted,
                       self.places.dataChanged, self.places.rowsRemoved):  # fmt: skip
            change.connect(self.update_soon)
        self.places_pane.chosen.connect(self.show_place)
        self.places_pane.picked.connect(lambda: self.show_page(ENTRIES))
        self.sidebar.pages.wanted.connect(self.show_page)
        self.pages.changed.connect(self._page_changed)
        self.pages.turned.connect(lambda before: self.keep_focus(before, self.pages))
        self.places.dataChanged.connect(self._retitle)
        self.listing.locked.connect(self._ask_for_password)
        self.table.horizontalHeader().sortIndicatorChanged.connect(self._sorted)
        self.head.filtered.connect(self._filter)
        self.head.box.leave.connect(self.navigator.go_to_table)
        self.table.activated.connect(lambda *_: self.navigator.inspect())
        self.empty.asked.connect(self._asked)
        self.apart_line.bind(self.actions_["apart"])
        self.engines.recovered.connect(lambda told: self.note_bar.tell(become_of(told)))
        self.engines.cut_off.connect(late(lambda: self.flows.tell_cut_off))
        self.owners_bar.filtered.connect(self.head.box.setText)
        self.owners_bar.said.connect(lambda text: self.statusBar().showMessage(text, 4000))
        self.inspector_made.connect(self._connect_inspector)
        self.listing.incomplete.connect(self.error_bar.tell)
        self.listing.healed.connect(self.error_bar.clear)
        self.listing.changed.connect(self.discovery.help)
        self.listing.over.connect(lambda _: self._use_columns(self.place or ""))
        self.discovery.listed.connect(self.opening.ready)
        self.opening.bundles.connect(late(lambda: self.flows.open_import))
        self.opening.recipes.connect(late(lambda: self.flows.recipes.open_recipes))
        self.opening.programs.connect(late(lambda: self.flows.recipes.new_recipe_for))
        self.guide.warming.connect(lambda own: self.flows.warm(into=own))
        self.guide.showing.connect(self.show_folder)
        self.engines.trouble.connect(self.error_bar.tell)
        self.engines.reached.connect(self.places.told_way)
        self.engines.reached.connect(self.listing.told_way)
        self.engines.asks.connect(self._ask_for_ssh)
        self.engines.stopped.connect(self.stopped)
        for name, view in (("entries", self.table), ("places", self.places_pane.list)):
            # Only then: asked for one that Qt has made, PySide makes all types of widgets.
            view.customContextMenuRequested.connect(
                lambda at, name=name, view=view: self.open_menu(name, view.viewport(), at)
            )

    def _offer_places(self) -> None:
        names = "add-folder", "add-server", "open-bundle"
        self.places_pane.offer(self.tr("Add a place"), [self.actions_[name] for name in names])

    def _watch_place(self) -> None:
        def filling() -> bool:
            return any(job.traits.fills and job.place == self.place for job in self.jobs.active)

        self._watch = Watch(self, self.listing, filling)
        self._watch.update()

    def _follow_drags(self) -> None:
        from torchkeeper.gui.desktop.dragging import DragOut

        self.dragging = DragOut(self.table, self.engines, self.places_pane.list)
        self.dragging.asked.connect(lambda: self.flows.drag_out(self.dragging))
        self.dragging.said.connect(self.statusBar().showMessage)
        self.dragging.failed.connect(self.error_bar.tell)
        self.dragging.dropped.connect(self.flows.copy)

    def _explain(self) -> None:
        from torchkeeper.gui.pages import help as attached

        attached.to_window(self)
        attached.to_here(self.here)

    def _ask_for_facts(self) -> None:
        from torchkeeper.gui.places.servers import Facts

        self.facts = Facts(self.engines, self.listing, self.entries, self.table)

    def _connect_inspector(self) -> None:
        from torchkeeper.gui.inspector.inspecting import Inspecting

        self.inspector.followed.connect(self.navigator.follow)
        self.inspector.left.connect(self.focus_page)
        self._inspecting = Inspecting(self.context, self.inspector, lambda: self.flows)
        self.update_soon()

    @property
    def verifications(self) -> Verifications:
        """What places were last verified to be; made when it is first asked for."""
        if self._verifications is None:
            from torchkeeper.gui.verdicts.verifications import Verifications

            self._verifications = made = Verifications(self.engines, self)
            made.changed.connect(self._show_verified)
            self.places.rowsInserted.connect(self._look_verified)
            self.listing.over.connect(self._look_again)
            self.head.beside.clicked.connect(lambda *_: self.actions_["verify"].trigger())
            self._look_verified()
        return self._verifications

    def _look_verified(self, *_: object) -> None:
        self.verifications.look(place.path for place in self.places.places if place.exists)

    def _look_again(self, *_: object) -> None:
        seen = self.place, self.listing.mark
        if seen != self._marked or not self.listing.mark:
            self._marked = seen
            self.verifications.look([self.place or ""])

    def _show_verified(self) -> None:
        self.places.told_verified(dict(self.verifications.known))
        self.head.beside.tell(self.verifications.of(self.place or ""))
        self.update_soon()

    def take_what_came(self) -> None:
        """Take the rows that came while the window was made: its first picture shows them."""
        QCoreApplication.sendPostedEvents(self.engines, QEvent.Type.MetaCall)
        self.update_now()

    def _remedies(self, error: UserError, at: QWidget, but: str) -> list[Remedy]:
        from torchkeeper.gui.remedies import remedies  # most windows never show an error

        return remedies(error, at, but, self.actions_)

    def update_soon(self, *_: object) -> None:
        """Bring the actions, the totals and the empty state up to date, in a moment."""
        if not self._update_timer.isActive():
            rested = int((time.monotonic() - self._updated) * 1000)
            self._update_timer.start(max(0, _TOTALS_MS - rested))

    def update_now(self) -> None:
        """Bring the actions, the totals and the empty state up to date."""
        if not self.table.chosen.ready:
            return  # it says when it is, and this is done again
        selected, listing = self.table.selected(), self.listing
        self.actions_.update(self._situation(selected))
        why = self._here.unjudged if self._here is not None else ""
        known, places = self.discovery.known, self.places.rowCount()
        state = summary.empty_state(listing, self.entries, known, places, why, self.head.fault)
        if listing.place is not None and listing.what:
            self.places.looked(listing.place, listing.what)
        self._show_owners()
        focus = self.focusWidget()
        if state is None:
            self.stack.setCurrentWidget(self.table)
        else:
            icon, title, text, button, action = state
            self.empty.say(title, text, icon)
            self.empty.offer(button, action)
            self.empty.blame(listing.error, action)
            self.stack.setCurrentWidget(self.empty)
        self.keep_focus(focus, self.stack)
        self.map_splitter.stand_by(state is None)
        size = self.table.chosen.size()
        judged = self._here is not None and self._here.verdicts.counts is not None
        if self._here is not None:
            self._here.tell()
        beside = summary.apart_text(listing, self.entries)
        self.apart_line.tell(beside, shown=self.entries.shows_apart)
        self.totals.setText(summary.status_text(listing, self.entries, selected, size, judged))
        if self._inspecting is not None:
            self.inspector_frame.tell_empty(not selected)
            self._inspecting.tell(selected, self._here, self._verifications)
        self.trash_label.setText(summary.trash_text(listing.trash))
        if self._watch is not None:
            self._watch.update()
        self._updated = time.monotonic()
        if state is None or not listing.loading:
            QTimer.singleShot(_LATER_MS, self, self.later.start)

    def _situation(self, selected: Sequence[Entry]) -> Situation:
        """selected: the entries that are; a table with very many need not be asked twice."""
        chosen, job, listing = self.places_pane.place, self.following.job, self.listing
        one = self._more.environments.list.current if self._more is not None else None
        seen = self.pages.current == ENTRIES  # what is selected, and what the filter lets through
        return Situation(
            place=listing.place is not None, path=listing.place or "",
            place_added=chosen is not None and chosen.added,
            place_is_folder=listing.is_folder, scheme=listing.scheme,
            place_is_bundle=listing.what == "file" and listing.error is None,
            chosen_server=chosen is not None and chosen.server,
            read_only=self.places.read_only(listing.place or ""),
            place_up=chosen is not None and self.places.may_shift(chosen.path, -1),
            place_down=chosen is not None and self.places.may_shift(chosen.path, 1),
            sidebar=not self.sidebar.isHidden(), environment=one is not None,
            environment_has_torch=one is not None and bool(one.torch),
            environment_added=one is not None and one.added,
            target=self._more is not None and self._more.targets.list.current is not None,
            environment_used=one is not None and one is self.here.environments.chosen,
            shown=(self.entries.count if seen else self.entries.rows) > 0,
            apart=self.entries.apart_wanted, filter_valid=not seen or self.head.fault is None,
            grouping=self.entries.wanted_grouping,
            selected=len(selected) if seen else 0, comparable=summary.comparable(selected),
            undoable=self.context.undoable, offered=self.undo_bar.offered,
            trash=bool(listing.trash and listing.trash["receipts"]),
            trash_of_all=None if (every := self.context.trashes) is None else bool(every),
            put_off=bool(listing.result and listing.result["unread"]),
            job=job is not None, job_active=job is not None and job.active,
            job_fruit=job is not None and job.fruit is not None,
            notify=self._notifier is None or self._notifier.on, page=self.pages.current,
            drawer=self.following.open is not None,
            back=self.pages.can_go_back, forward=self.pages.can_go_forward,
        )  # fmt: skip

    def _group(self, by: str) -> None:
        self.group_by.group(by)
        if by == "age":
            # Also under the headings the newest comes first.
            self.table.sortByColumn(MTIME, Qt.SortOrder.DescendingOrder)

    def show_title(self, path: str) -> None:
        """Say over the table what place it is."""
        where = printable(path, 4096)
        if path and self.places.read_only(path):
            where += self.tr(" · read-only")
        if about := self.places.meant(path):
            where += f" · {about}"
        title, files = self.places.title(path) if path else "", scheme_of(path).is_files
        self.head.show_place(title, where, not files)

    def _show_owners(self) -> None:
        path = self.place or ""
        if (found := self.listing.owners) is not None:
            self.places.told_owners({path: found})
        self.owners_bar.tell(path, self.places.owners(path))

    def _retitle(self) -> None:
        if self.place is not None:
            self.show_title(self.place)

    def show_place(self, path: str) -> None:
        """Show what a place holds."""
        self.error_bar.clear()
        if self.undo_bar.place != path:
            self.undo_bar.hide()
        self.show_title(path)
        self.head.setVisible(bool(path))
        if self._verifications is not None:
            self.head.beside.tell(self._verifications.of(path))
        if path:
            self.settings.setValue(CURRENT, path)
        another = (path or None) != self.place
        if another:
            self.listing.show(None)  # then there are no rows that would have to be sorted
        self._use_columns(path)
        if another:
            self.listing.show(path or None, times=self._wants_times())
        self._show_owners()

    def _use_columns(self, place: str) -> None:
        """Have the table show what there is to say in a place, by its path or its first rows."""
        ranked = summary.ranked(place, self.entries)
        self.columns.use(scheme_of(place).keeps_times, ranked)

    def show_page(self, ident: str) -> QWidget:
        """Go to a page."""
        return self.pages.go(ident)

    def _page_changed(self, ident: str) -> None:
        self.settings.setValue(PAGE, self.pages.under)
        self.sidebar.pages.show_current(self.pages.under)
        self.error_bar.clear()
        self.inspector_frame.stand_by(ident == ENTRIES)
        # They are about the place, which is not seen on other pages.
        for widget in (self.totals, self.trash_label, *([self._here.bar] if self._here else [])):
            widget.setVisible(ident == ENTRIES)
        if self.guide.holds_focus:
            self.focus_page()  # Enter is for what is shown now
        # At once: what is about entries must not be asked for where none are seen.
        self.update_now()

    def _wants_times(self) -> bool:
        """Whether what is shown depends on when entries of a server expire or were used."""
        sorted_by = self.table.horizontalHeader().sortIndicatorSection()
        return bool(self.entries.query.fields & TIMES) or sorted_by in SERVERS

    def _filter(self, asked: Query) -> None:
        another = asked != self.entries.query
        self.entries.filter(asked)
        if another:
            self.table.go_to_top()
        if asked.fields & TIMES:
            self.listing.ask_times()

    def _sorted(self, column: int) -> None:
        # To put all in order, more must be known than of what is on the screen.
        if column in SERVERS:
            self.listing.ask_times()

    def open_paths(self, paths: Sequence[str]) -> None:
        """Open what was dropped, chosen or named, each as what it is."""
        self.opening.open(paths)

    def show_folder(self, path: str) -> None:
        """Have a folder on the list, if it is there, and show it."""
        self.opening.open([path], places=True)

    def add_folder(self) -> None:
        """Ask for a folder and put it on the list."""
        from torchkeeper.gui.dialogs.base import choose_folder

        above = os.path.dirname(self.place or "") if self.listing.scheme.local else ""
        choose_folder(self, self.tr("Add a cache folder"), above, self.show_folder)

    def _ask_for_ssh(self, question: Question) -> None:
        from torchkeeper.gui.dialogs.machine import ask

        ask(self, question)

    def _ask_for_password(self, error: UserError) -> None:
        if self.place is not None:
            self.servers.ask_for_password(self.place, error)

    def dragEnterEvent(self, event: QtGui.QDragEnterEvent) -> None:
        self.drops.enter(event)

    def dragMoveEvent(self, event: QtGui.QDragMoveEvent) -> None:
        self.drops.move(event)

    def dragLeaveEvent(self, _: QtGui.QDragLeaveEvent) -> None:
        self.drops.leave()

    def dropEvent(self, event: QtGui.QDropEvent) -> None:
        self.drops.drop(event)

    def _asked(self, action: str) -> None:
        if action == "clear-filter":
            self.head.clear_filter()
        elif action.startswith("/"):
            self.show_folder(action)
        elif action:
            self.actions_[action].trigger()

    def refresh(self) -> None:
        """Look again at what the page is about; for entries, at the place and the places."""
        self.error_bar.clear()
        if (drawer := self.following.open) is not None:
            drawer.refresh()
        if (page := self.pages.page) is not None:
            page.refresh()
        else:
            self.discovery.refresh()
            self.discovery.ask_protected()
            self.listing.refresh()

    def cancel_job(self) -> None:
        """Stop the chosen job."""
        if self.following.job is not None:
            self.operations.cancel(self.following.job)

    def show_manual(self) -> None:
        """The manual, beside the window."""
        from torchkeeper.gui.dialogs.manual import ManualDialog

        shown = next(iter(self.findChildren(ManualDialog)), None)
        dialog = shown or ManualDialog(self, self.engines)
        dialog.show()
        dialog.activateWindow()

    def show_shortcuts(self) -> None:
        """All shortcuts on one page."""
        from torchkeeper.gui.dialogs.about import ShortcutsDialog

        ShortcutsDialog(self).open()

    def show_glossary(self) -> None:
        """What the words of the window mean."""
        from torchkeeper.gui.pages.help import GlossaryDialog

        GlossaryDialog(self).open()

    def explain_this(self) -> None:
        """Explain what has the keyboard."""
        from torchkeeper.gui.pages.glossary import explain_focused

        explain_focused(self)

    def ask_whats_this(self) -> None:
        """Explain what is clicked next."""
        QWhatsThis.enterWhatsThisMode()
        text = self.tr("Click on anything to learn what it means, or press Esc")
        self.statusBar().showMessage(text, 8000)

    def show_preferences(self) -> None:
        """The settings of the window itself."""
        from torchkeeper.gui.dialogs.preferences import Does, PreferencesDialog

        notify, signing = self.notifier.toggle_notify, self.flows.signing
        does = Does(
            self.notifier.on, self.choose_theme, notify, signing.show_signers,
            self.flows.results.reveal_path,
        )  # fmt: skip
        PreferencesDialog(self, does, self.settings.fileName()).open()

    def show_about(self) -> None:
        """Version and licence."""
        from torchkeeper.gui.dialogs.about import AboutDialog

        AboutDialog(self).open()

    def closeEvent(self, event: QtGui.QCloseEvent) -> None:
        if not self._sure and self.closing.ask():
            event.ignore()
            return
        self.closing.over()
        self.keep_geometry()
        self.pages.let_go()
        self.columns.keep_if_changed()
        self.following.close()
        self.engines.stop()
        super().closeEvent(event)

    def keep_geometry(self) -> None:
        """Remember where the window is, and how large."""
        self.settings.setValue("window/geometry", self.saveGeometry())

    def close_surely(self) -> None:
        """Close without asking."""
        self._sure = True
        self.close()
