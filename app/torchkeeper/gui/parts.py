"""The parts of the window that are made when they are first asked for."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from torchkeeper.gui.context import Context, late
from torchkeeper.gui.pages.table import ENTRIES
from torchkeeper.gui.shell import Shell

if TYPE_CHECKING:
    from PySide6.QtWidgets import QMenu

    from torchkeeper.gui.closing import Closing
    from torchkeeper.gui.desktop.dropping import Drops
    from torchkeeper.gui.flows import Flows
    from torchkeeper.gui.jobs.following import Following, Notifier
    from torchkeeper.gui.jobs.operations import Operations
    from torchkeeper.gui.places.discovery import Discovery
    from torchkeeper.gui.places.opening import Recent
    from torchkeeper.gui.places.servers import Servers
    from torchkeeper.gui.sidebar.deferred import DeferredSidebar
    from torchkeeper.gui.table.mimedata import RowCopier
    from torchkeeper.gui.verdicts.controller import VerdictController


class Parts(Shell):
    """What is not needed for the first picture; the window answers what it asks for."""

    context: Context
    closing: Closing
    discovery: Discovery
    following: Following
    _here: VerdictController | None = None
    _notifier: Notifier | None = None
    _more: DeferredSidebar | None = None

    @cached_property
    def operations(self) -> Operations:
        """What starts jobs; made when it is first asked for."""
        from torchkeeper.gui.jobs.operations import Operations

        made = Operations(self.engines, self.jobs, self)
        made.changed.connect(self.discovery.changed)
        self.following.attend(made)
        return made

    @cached_property
    def copier(self) -> RowCopier:
        """What puts selected entries on the clipboard; made when it is first asked for."""
        from torchkeeper.gui.table.mimedata import RowCopier

        return RowCopier(self.table, lambda: self.place)

    @cached_property
    def flows(self) -> Flows:
        """The dialogs between an action and its job; made when they are first asked for."""
        from torchkeeper.gui.flows import Flows

        made = Flows(self.context, lambda: self.following.job, self.note_bar)
        made.looked.connect(self.recent.note)
        made.results.log.connect(self.following.show_log)
        return made

    @cached_property
    def servers(self) -> Servers:
        """The dialogs about servers; made when one is first asked for."""
        from torchkeeper.gui.places.servers import Servers

        made = Servers(self.context, self.discovery)
        made.renamed.connect(self.show_title)
        return made

    @property
    def here(self) -> VerdictController:
        """What is about verdicts; made when it is first asked for."""
        if self._here is None:
            from torchkeeper.gui.verdicts.controller import VerdictController

            self._here = made = VerdictController(self.context, self.head)
            self.tools.insertWidget(self.actions_["refresh"], made.chooser)
            self.status.count(made.bar)
            # What it says is about the place.
            made.bar.setVisible(self.pages.current == ENTRIES)
            # The button is as wide as what it says.
            made.environments.changed.connect(self.fit_tools)
            made.preparing.connect(late(lambda: self.flows.prepare))
            self.fit_tools()
        return self._here

    @cached_property
    def recent(self) -> Recent:
        """The bundles that were opened or made lately; made when it is first asked for."""
        from torchkeeper.gui.places.opening import Recent

        return Recent(self.context)

    def put_recent(self, menu: QMenu) -> None:
        self.recent.put_into(menu, self.actions_["import"])

    @property
    def notifier(self) -> Notifier:
        """What tells the desktop of jobs that have ended; made when it is first asked for."""
        if self._notifier is None:
            from torchkeeper.gui.jobs.following import Notifier

            self._notifier = made = Notifier(self.context, lambda: self.closing.in_background)
            made.opened.connect(self.following.show_log)
            self.update_soon()
        return self._notifier

    @property
    def more(self) -> DeferredSidebar:
        """What the sidebar has besides pages and places; made when it is first asked for."""
        if self._more is None:
            from torchkeeper.gui.sidebar.deferred import DeferredSidebar

            self._more = made = DeferredSidebar(
                self.context, self.sidebar, self.discovery, self.flows
            )
            made.menu_asked.connect(
                lambda at: self.open_menu("environments", made.environments.list.viewport(), at)
            )
        return self._more

    @cached_property
    def drops(self) -> Drops:
        """What becomes of what is dropped; made when something is first dragged over the window."""
        from torchkeeper.gui.desktop.dropping import Drops

        made = Drops(self, self.pages, self.more.taking)
        made.said.connect(self.more.say)
        made.back.connect(self.dropped_back)
        return made

    if TYPE_CHECKING:  # what the window answers

        @property
        def place(self) -> str | None: ...

        def show_title(self, path: str) -> None: ...

        def update_soon(self, *_: object) -> None: ...

        def dropped_back(self) -> None: ...
