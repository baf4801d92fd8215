"""What the parts of the window share, and what they ask of it, whoever answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, ParamSpec

from torchkeeper.client.words import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from PySide6.QtCore import QSettings
    from PySide6.QtWidgets import QWidget

    from torchkeeper.artifacts.shapes import Sized
    from torchkeeper.client.words.problems import UserError
    from torchkeeper.gui.actions import Actions
    from torchkeeper.gui.background.engines import Engines
    from torchkeeper.gui.chrome.bars import UndoBar
    from torchkeeper.gui.jobs.model import Job, JobsModel
    from torchkeeper.gui.jobs.operations import Operations
    from torchkeeper.gui.pages.stack import Pages
    from torchkeeper.gui.places.listing import Listing
    from torchkeeper.gui.places.model import PlacesModel
    from torchkeeper.gui.sidebar.placelist import PlacesPane
    from torchkeeper.gui.table.entries import EntriesModel
    from torchkeeper.gui.table.view import EntryTable
    from torchkeeper.gui.verdicts.environments import Environments, Machines
    from torchkeeper.gui.verdicts.verifications import Verifications


Given = ParamSpec("Given")


def late(found: Callable[[], Callable[Given, object]]) -> Callable[Given, object]:
    """Calls what is found; whose method it is, is made only when it is called."""

    def call(*given: Given.args, **named: Given.kwargs) -> object:
        return found()(*given, **named)

    return call


class Context(NamedTuple):
    """The window makes it once, and answers what is called."""

    #: What dialogs belong to.
    window: QWidget
    settings: QSettings
    engines: Engines
    jobs: JobsModel
    places: PlacesModel
    places_pane: PlacesPane
    listing: Listing
    entries: EntriesModel
    table: EntryTable
    pages: Pages
    actions: Actions
    undo_bar: UndoBar
    #: These are made when they are first asked for.
    make_operations: Callable[[], Operations]
    make_machines: Callable[[], Machines]
    make_verifications: Callable[[], Verifications]
    #: Say what went wrong, and that it is over; say something for so many milliseconds.
    tell: Callable[[UserError], None]
    over: Callable[[UserError], None]
    say: Callable[[str, int], None]
    show_place: Callable[[str], None]
    open_paths: Callable[[Sequence[str]], None]
    #: Go to entries, whether the filter hides them or not; False where none is there.
    show_entries: Callable[[set[tuple[str, str]]], bool]
    #: Select what the filter lets through.
    select_shown: Callable[[set[tuple[str, str]]], None]
    #: Bring actions, totals and the empty state up to date, in a moment, or at once.
    update_soon: Callable[..., None]
    update_now: Callable[[], None]

    @property
    def place(self) -> str | None:
        """The path of the place that is shown."""
        return self.listing.place

    @property
    def trashes(self) -> dict[str, Sized] | None:
        """What is in the trash of each place, on a page of all; None where one is asked about."""
        page = self.pages.page if self.actions.over != "places" else None
        if page is None or page.trashes is None:
            return None
        return {x: of for x, of in page.trashes.items() if not self.places.read_only(x)}

    @property
    def taken(self) -> list[Job]:
        """What undo is of: what this session did last; nothing if it is about a place."""
        every = self.jobs.undoable if self.actions.over != "places" else []
        return every[-1] if every else []

    def undo(self, done: Sequence[Job]) -> None:
        """Undo what they did; who asks again meanwhile means those before them."""
        self.jobs.undoable = [one for one in self.jobs.undoable if one is not done]
        for job in done:
            self.operations.undo(str(job.place), job)

    @property
    def undoable(self) -> str:
        """The same in words, or what undo is of in the place; empty where nobody knows."""
        if taken := self.taken:
            from torchkeeper.gui.jobs.model import held  # at the start there are no jobs

            return say.done_of(taken[0].did, held(taken))
        trash = self.listing.trash if not self.places.read_only(self.place or "") else None
        last = trash and trash["last"]
        return say.done_of(say.undoes(last["undid"]), say.held_of(last)) if last else ""

    @property
    def operations(self) -> Operations:
        """What starts jobs."""
        return self.make_operations()

    @property
    def environments(self) -> Environments:
        """The interpreters of this machine that are known, and the one that is used."""
        return self.machines.of(None)

    @property
    def machines(self) -> Machines:
        """The same of all machines, and of the one whose place is shown."""
        return self.make_machines()

    @property
    def verifications(self) -> Verifications:
        """What places were last verified to be."""
        return self.make_verifications()
