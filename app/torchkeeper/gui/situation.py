"""What the window knows when it decides which actions make sense."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.artifacts.entry import tally
from torchkeeper.gui.chrome.summary import comparable
from torchkeeper.gui.pages.table import ENTRIES
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.scheme import Scheme

if TYPE_CHECKING:
    from torchkeeper.artifacts.entry import Entry
    from torchkeeper.gui.verdicts.environments import Environment
    from torchkeeper.gui.window import Window


class Situation(NamedTuple):
    """Plain data, of one moment."""

    place: bool = False
    place_added: bool = False
    place_is_folder: bool = False
    #: What the name of the place tells of it.
    scheme: Scheme = scheme_of("")
    place_is_bundle: bool = False
    chosen_server: bool = False
    #: Whether the chosen place has one above or below it that it can change places with.
    place_up: bool = False
    place_down: bool = False
    sidebar: bool = True
    #: What is known of the environment at the keyboard in the sidebar.
    environment: bool = False
    environment_has_torch: bool = False
    environment_added: bool = False
    environment_used: bool = False
    read_only: bool = False
    shown: bool = False
    #: Whether what is no entry is shown among the others.
    apart: bool = False
    #: Whether what is shown is what the filter says; with a wrong one it is what the last said.
    filter_valid: bool = True
    selected: int = 0
    #: How many entries are selected, where those can be compared: two of one kind, or one.
    comparable: int = 0
    trash: bool = False
    #: Whether entries of the place were put off, since reading them would take long.
    put_off: bool = False
    job: bool = False
    job_active: bool = False
    grouping: str = "none"
    #: Whether the desktop is told of long jobs that have ended.
    notify: bool = True
    #: The page that is shown, and whether there is a way back from it, and forward.
    page: str = ENTRIES
    back: bool = False
    forward: bool = False
    #: Whether the chosen job has a dialog, and whether something came of it that can be opened.
    job_dialog: bool = False
    job_fruit: bool = False
    #: The path of the place that is shown, or its name where it is a server.
    path: str = ""
    #: What undo puts back: 12 entries (3.4 MB); empty where that is not known.
    undoable: str = ""

    @property
    def can_purge(self) -> bool:
        """Whether entries of the place can be removed."""
        return (self.place_is_folder or self.scheme.remote_cache) and not self.read_only

    @property
    def can_change_trash(self) -> bool:
        """Whether there is anything in the trash of the place, which may be changed."""
        return self.trash and not self.read_only


def now(
    window: Window, selected: Sequence[Entry], environment: Environment | None, *, notify: bool
) -> Situation:
    """The situation of a window.

    selected: the entries that are; a table with very many need not be asked twice.
    environment: the one at the keyboard in the sidebar.
    notify: whether the desktop is told of long jobs that have ended.
    """
    chosen, job, listing = window.places_pane.place, window.following.job, window.listing
    return Situation(
        place=listing.place is not None,
        place_added=chosen is not None and chosen.added,
        place_is_folder=listing.is_folder,
        scheme=listing.scheme,
        place_is_bundle=listing.what == "file" and listing.error is None,
        chosen_server=chosen is not None and chosen.server,
        read_only=window.places.read_only(listing.place or ""),
        place_up=chosen is not None and window.places.may_shift(chosen.path, -1),
        place_down=chosen is not None and window.places.may_shift(chosen.path, 1),
        sidebar=not window.sidebar.isHidden(),
        environment=environment is not None,
        environment_has_torch=environment is not None and bool(environment.torch),
        environment_added=environment is not None and environment.added,
        environment_used=environment is not None and environment is window.here.environments.chosen,
        shown=window.entries.count > 0,
        apart=window.entries.apart_wanted,
        filter_valid=window.head.valid,
        selected=len(selected),
        comparable=comparable(selected),
        trash=bool(listing.trash.get("receipts") or any(map(listing.trash.get, tally(())))),
        put_off=bool(listing.result.get("unread")),
        job=job is not None,
        job_active=job is not None and job.active,
        grouping=window.entries.wanted_grouping,
        notify=notify,
        page=window.pages.current,
        back=window.pages.can_go_back,
        forward=window.pages.can_go_forward,
        job_dialog=job is not None and job.has_dialog,
        job_fruit=job is not None and job.fruit is not None,
        undoable=listing.undoable,
        path=listing.place or "",
    )
