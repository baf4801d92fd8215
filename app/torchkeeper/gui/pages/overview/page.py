"""The overview: all places as a map and as a list, a few plain numbers, and what could go."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QCoreApplication, QPoint, QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QSplitter, QWidget

from torchkeeper.client.overviewing import DIMENSIONS, Overview, Reclaim
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.tongue import several
from torchkeeper.client.words.verdicts import unsafe
from torchkeeper.gui.context import Context
from torchkeeper.gui.idle import once
from torchkeeper.gui.pages.glossary import explain
from torchkeeper.gui.pages.overview import parts as words
from torchkeeper.gui.pages.page import Page
from torchkeeper.gui.places.discovery import Discovery
from torchkeeper.gui.places.model import host_of, machine_of
from torchkeeper.gui.treemap.view import Treemap
from torchkeeper.gui.widgets import forms, lists
from torchkeeper.gui.widgets.emptystate import EmptyState
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.gui.widgets.plain import caption, tip


class Figure(QFrame):
    """One number: large, with what it is of, and what else there is to know of it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setObjectName("hint")
        self.name = name
        self.value = forms.label("", "figure")
        self.about = forms.label(name, "muted")
        self.more = forms.label("", "muted", wrap=True)
        # What is longer in one of them does not pull the others apart.
        labels = self.value, self.about, self.more, forms.REST
        self.setLayout(forms.column(*labels, margin=(14, 10, 14, 10), gap=2))
        self.tell("", "")

    def tell(self, value: str, more: str, hint: str = "") -> None:
        """Show a number; without one, that it is not known."""
        self.value.setText(value or "–")
        self.more.setText(more)
        # Where nothing is said the others keep their height.
        self.setToolTip(tip(hint))
        said = value or self.tr("not known")
        self.setAccessibleName(f"{self.name}: {said}" + (f", {more}" if more else ""))


_BY = "overview/by"
#: Milliseconds between two pictures of what is still being added up.
_REST_MS = 250
#: Milliseconds after which what happened to a place is looked at.
_SOON_MS = 1500
#: Pixels of height that the map and the list want at least.
_MAP = 88
#: Machines that are named.
_HOSTS = 3


class OverviewPage(Page):
    """Looks at all places when it is first entered, and when something has happened to one."""

    #: The entries of a place are to be shown, of those only what a filter lets through.
    filtered = Signal(object, str)
    #: What is dead for some reasons is to be cleaned up, in a place or (None) all; the trash of a
    #: place is to be emptied, in which there is so much.
    cleaning = Signal(list, object)
    emptying = Signal(dict)

    def __init__(self, context: Context, discovery: Discovery) -> None:
        super().__init__(QCoreApplication.translate("Overview", "Overview"))
        self._context, self._discovery = context, discovery
        self.looking = words.Looking(context.engines, context.environments, self)
        #: What was gone into, in this order: values by dimension.
        self.within: dict[str, str] = {}
        kept = str(context.settings.value(_BY) or "")
        #: What the user chose to group by; None where that was never chosen.
        self._by = kept if kept in DIMENSIONS else None
        self._outdated = True
        #: What the places of the last look are called here.
        self._titles: dict[str, str] = {}
        self._make()
        self._lay_out()
        lists.keep_up(self, self._say_about)
        self._rest = once(self, self._show, _REST_MS)
        self._soon = once(self, self._look_if_seen, _SOON_MS)
        self.looking.changed.connect(self._changed)
        context.operations.changed.connect(self._happened)
        discovery.listed.connect(self._look_if_seen)
        discovery.listed.connect(self._show)
        context.jobs.rowsInserted.connect(lambda *_: self._rest.start())
        context.jobs.finished.connect(lambda *_: self._soon.start())
        for change in (context.places.rowsInserted, context.places.rowsRemoved,
                       context.environments.changed):  # fmt: skip
            change.connect(lambda *_: self._soon.start())
        self._show()

    def _make(self) -> None:
        self.said = forms.label("", "muted", wrap=True)
        self.bar = forms.progress_bar(self.tr("Progress of the search"))
        forms.keep_room(self.bar)
        self.notice = Notice()
        self.notice.again.connect(self.refresh)
        self.by = forms.Choice()
        self.by.setAccessibleName(self.tr("Group by"))
        self.by.offer((words.dimension_words(dimension), dimension) for dimension in DIMENSIONS)
        self.by.activated.connect(self._choose_by)
        self.entries = Figure(self.tr("Entries"))
        self.bytes = Figure(self.tr("Content"))
        self.compiling = Figure(self.tr("Compile time"))
        self.usable = Figure(self.tr("Usable here"))
        self.reclaimable = Figure(self.tr("Reclaimable"))
        self.figures = self.entries, self.bytes, self.compiling, self.usable, self.reclaimable
        self.crumbs = words.Crumbs(self.tr("All places"))
        self.crumbs.gone.connect(self._go_up_to)
        hint = self.tr("Show these entries in the table")
        self.show_button = forms.button(self.tr("&Show entries"), self.show_entries, hint)
        self.list = words.PartList()
        self.map = Treemap()
        explain(self.map, "treemap")
        self.map.setAccessibleName(self.tr("The parts, as a map"))
        self.map.hint = self.tr("A double click opens it")
        self.map.opened.connect(lambda key: self._open(str(key[-1])))
        self.map.chosen.connect(lambda keys: self.list.select(str(key[-1]) for key in keys))
        self.map.up.connect(self.go_up)
        self.map.menu_asked.connect(self._menu)
        self.list.opened.connect(self._open)
        self.list.chosen.connect(lambda values: self.map.select((value,) for value in values))
        self.list.up.connect(self.go_up)
        self.list.menu_asked.connect(self._list_menu)
        self.reclaiming = words.Reclaiming(self._title, self.cleaning.emit, self.emptying.emit)
        self.problems = forms.label("", "error", wrap=True)
        self.empty = EmptyState("overview")
        self.empty.asked.connect(lambda action: self._context.actions[action].trigger())
        add = self._context.actions["add-folder"].trigger
        self.add_folder = forms.button(self.tr("Add folder…"), add)
        self.empty.beside(self.add_folder)

    def _lay_out(self) -> None:
        forms.add(self.tools, forms.label(self.tr("Group by"), "muted"), self.by)
        self.split = _Split(Qt.Orientation.Horizontal)
        self.split.setChildrenCollapsible(False)
        # Between two that have an edge of their own, a line would be one too many.
        self.split.setObjectName("framed")
        self.split.addWidget(self.map)
        self.split.addWidget(self.list)
        self.split.setStretchFactor(0, 3)
        self.split.setStretchFactor(1, 2)
        self.split.setSizes([560, 500])
        figures = forms.row(*((figure, 1) for figure in self.figures), gap=12)
        line = forms.row((self.crumbs, 1), self.show_button)
        below = (self.split, 1), self.problems, self.reclaiming
        # A small window with an error, or the guide, has no room for all of it.
        page = QWidget()
        self.stack = forms.stack(self.empty, forms.Scrolled(page))
        forms.add(self.body, self.said, self.bar, self.notice, (self.stack, 1))
        # Last: what moves on with all that is in it is styled again, widget by widget.
        page.setLayout(forms.column(figures, line, *below, gap=12))

    def entered(self) -> None:
        self._look_if_seen()

    def refresh(self) -> None:
        self._discovery.refresh()
        self._look()

    def _places(self) -> list[str]:
        return [place.path for place in self._context.places.beside() if place.exists]

    def _happened(self, _: str) -> None:
        self._outdated = True
        self.reclaiming.setEnabled(False)  # until it is looked again: its figures are old
        self._soon.start()

    def _look_if_seen(self) -> None:
        if not self.isVisible() or not self._discovery.known:
            return
        # It does not wait for an environment: what places hold is known before what is usable.
        if self._outdated or self.looking.differs(self._places()):
            self._look()
        else:
            self._show()

    def _look(self) -> None:
        self._outdated = False
        if places := self._places():
            self.looking.begin(places)
        else:
            self.looking.cancel()
            self._show()

    def _changed(self) -> None:
        if not self.looking.running:
            self._rest.stop()
            self.reclaiming.setEnabled(not self._outdated)
            self._show()
        elif not self._rest.isActive():
            self._rest.start()

    @property
    def dimension(self) -> str | None:
        """What the parts that are shown differ in; None where nothing is left to differ in."""
        if self.within:
            return words.further(self.within)
        # One place is one tile, which tells nothing.
        return self._by or ("place" if self._count("place") > 1 else "kind")

    def _choose_by(self, _: int) -> None:
        self._by = str(self.by.currentData())
        self._context.settings.setValue(_BY, self._by)
        self.within.clear()
        self._show()

    def _open(self, value: str) -> None:
        if (dimension := self.dimension) is None:
            return
        # What has only one part further on tells nothing new.
        self.within[dimension] = value
        while (following := self.dimension) is not None and self._count(following) == 1:
            found = self.looking.shown
            if following == "verdict" or found is None:
                break
            self.within[following] = found.groups(following, self.within)[0].value
        if self.dimension is None:
            self.show_entries()
            self.within.popitem()
        self._show()
        self.map.setFocus()

    def _count(self, dimension: str) -> int:
        found = self.looking.shown
        return len(found.groups(dimension, self.within)) if found is not None else 0

    def go_up(self) -> None:
        """Out of what was gone into last."""
        if self.within:
            _, value = self.within.popitem()
            self._show()
            self.map.select([(value,)])
            self.list.select([value])

    def _go_up_to(self, level: int) -> None:
        for name in list(self.within)[level:]:
            del self.within[name]
        self._show()

    def show_entries(self) -> None:
        """Show the entries of what was gone into, or of the selected part, in the table."""
        within = dict(self.within)
        dimension, selected = self.dimension, self.list.selected()
        if dimension is not None and len(selected) == 1:
            within[dimension] = selected[0]
        if "place" in within:
            self._show_in_table(within["place"], within)
            return
        places = found.groups("place", within) if (found := self.looking.shown) else []
        if len(places) == 1:
            self._show_in_table(places[0].value, within)
            return
        offers: list[lists.Offer] = []
        for place, totals in sorted(places, key=lambda one: -one.totals.bytes)[:20]:
            text = self.tr("{}: {}").format(self._title(place), say.content(totals.bytes))
            hint, slot = self.tr("Show its entries in the table"), self._show_in_table
            offers.append(("entries", caption(text), hint, partial(slot, place, within)))
        lists.choose(self.show_button, offers)

    def _show_in_table(self, place: str, within: dict[str, str]) -> None:
        self.filtered.emit(place, words.filter_of(within))

    def _menu(self, at: QPoint) -> None:
        if (tile := self.map.current) is not None:
            self._menu_of(str(tile.key[-1]), self.map.mapToGlobal(at))

    def _list_menu(self, at: QPoint) -> None:
        if (value := self.list.current) is not None:
            if value not in self.list.selected():
                # By the keys one can be at a part that is not selected.
                self.list.select([value])
                self.map.select([(value,)])
            self._menu_of(value, self.list.viewport().mapToGlobal(at))

    def _menu_of(self, value: str, at: QPoint) -> None:
        shows = self.tr("Show its entries in the table of the place"), self.show_entries
        into = self.tr("Show its parts"), partial(self._open, value)
        up = self.tr("Go up to the whole"), self.go_up if self.within else None
        offers: list[lists.Offer] = [
            ("next", self.tr("&Go into"), *into), ("entries", self.tr("&Show entries"), *shows),
            ("up", self.tr("Go &up"), *up),
        ]  # fmt: skip
        lists.choose(self, offers, self.mapFromGlobal(at)).setObjectName("of-part")

    def _title(self, place: str) -> str:
        return self._titles.get(place) or self._context.places.title(place)

    def _show(self) -> None:
        found, looking = self.looking.shown, self.looking
        self.notice.tell(looking.error, again=True)
        self.bar.setVisible(looking.running)
        number, of = looking.at[1:] if looking.at is not None else (0, 0)
        self.bar.setRange(0, of)
        self.bar.setValue(max(0, number - 1))
        self._say_about()
        nothing = found is None or not (found.places or looking.running)
        self._say_empty(found)
        self.stack.setCurrentIndex(0 if nothing else 1)
        self.trashes = {}
        self.by.setEnabled(not nothing)
        if found is None or nothing:
            return
        self._show_parts(found)
        self._show_figures(found)
        waiting = self.tr("Not known yet.")
        if not looking.running:
            waiting = self.tr("Not known yet: Clean up asks all environments.")
        self.reclaiming.show_found(found, self.within.get("place"), waiting)
        self.trashes = self.reclaiming.trashes
        self._context.update_soon()
        failed = [one for one in found.places.values() if one.failed]
        what = (one.problem.what for one in failed[:3] if one.problem is not None)
        self.problems.setText("\n".join(what))
        self.problems.setToolTip(tip("\n".join(str(one.problem) for one in failed)))
        self.problems.setVisible(bool(failed))

    def _show_parts(self, found: Overview) -> None:
        self._titles = words.apart(list(found.places), self._context.places.title)
        # What was gone into may be gone.
        looking = self.looking.running
        while self.within and not looking and not any(found.total(self.within).counts.values()):
            self.within.popitem()
        dimension = self.dimension or "verdict"
        if not (looking or self.within):
            self._by = dimension  # while it looks, only a choice changes it
        some = found.groups(dimension, self.within)
        if dimension == "place":
            some = [part for part in some if part.totals.entries]
        self.map.nothing = self.tr("Looking…") if looking else self.tr("Nothing to show")
        self.map.show_tiles(words.tiles(dimension, some, self._title))
        self.list.show_parts(dimension, some, self._title)
        names = [words.value_words(name, value, self._title) for name, value in self.within.items()]
        self.crumbs.show_path(names)
        self.by.setCurrentIndex(self.by.findData(dimension))

    def _show_figures(self, found: Overview) -> None:
        totals = found.total(self.within)
        if self.looking.running and not any(totals.counts.values()):
            # Nothing is not known to be nothing yet.
            for figure in self.figures:
                figure.tell("", "")
            return
        apart = say.apart(totals.counts)
        beside = self.tr("and {}").format(apart) if apart else ""
        count = sum(1 for one in found.places.values() if not one.failed and not one.left_out)
        places = self.tr("in {}").format(say.count(count, "place", "places"))
        about = "" if "place" in self.within else places, beside
        self.entries.tell(f"{totals.entries:,}", " · ".join(filter(None, about)))
        hint = self.tr("The size of what the entries hold. A copy carries as much.")
        more = self.tr("and {} besides entries").format(say.size(totals.apart_bytes))
        room = filter(None, (self._free(found), more if totals.apart_bytes else ""))
        self.bytes.tell(say.size(totals.bytes), " · ".join(room), hint)
        timed = self.tr("known of {}").format(say.count(totals.timed, "entry", "entries"))
        self.compiling.tell(
            words.compile_words(totals), timed if 0 < totals.timed < totals.entries else "",
            self.tr("The time of compiling that these entries record. A graph counts once, with "
                    "the FX graphs, though its AOTAutograd entry records its time, too."),
        )  # fmt: skip
        self.usable.tell(
            words.usable_words(totals), words.judged_words(totals),
            self.tr("What a program finds in the environment chosen at the top, with or without a "
                    "condition.") + (f"\n{unsafe()}" if totals.unsafe else ""),
        )  # fmt: skip
        could = found.reclaimable(self.within.get("place"))
        held = self._of_all(could) if could.some else ""
        hint = self.tr("What you can remove, for the reasons below. Each entry counts once.")
        self.reclaimable.tell(say.size(could.bytes), held, hint)

    def _of_all(self, could: Reclaim) -> str:
        """What could go is known of places alone: where less is shown, it is said of what."""
        held = f"{say.held(could.counts)}, {say.measured(could.told)}"
        if not set(self.within) - {"place"}:
            return held
        of = self.tr("{} in the place") if "place" in self.within else self.tr("{} in all places")
        return of.format(held)

    def _free(self, found: Overview) -> str:
        disks = found.disks
        free = disks[0][0] if len(disks) == 1 else None
        if (place := found.places.get(self.within.get("place", ""))) is not None:
            free = place.free_bytes
        return "" if free is None else self.tr("{} free").format(say.size(free))

    def _say_about(self) -> None:
        forms.tell(self.said, " · ".join(filter(None, (self._about(), self._not_counted()))))

    def _not_counted(self) -> str:
        """The places that are on the list, and on other machines."""
        every = self._context.places.places
        machines = [machine_of(one.path, way=True) for one in every if not one.near]
        hosts = say.together([*map(host_of, dict.fromkeys(machines))], _HOSTS)
        text = several(len(machines), "{n} place on {hosts} is not counted",
                       "{n} places on {hosts} are not counted", hosts=hosts)  # fmt: skip
        return printable(text, 200) if machines else ""

    def _about(self) -> str:
        """How old is what is shown, and for whom it is."""
        looking = self.looking
        if looking.running:
            if looking.at is None:
                return self.tr("Looking…")
            place, number, of = looking.at
            return self.tr("Looking at {} ({} of {})").format(printable(place, 120), number, of)
        if looking.shown is None or not looking.looked:
            return ""
        chosen = self._context.environments.chosen
        torch = chosen.torch if chosen is not None and looking.python == chosen.python else ""
        when = self.tr("Looked {}").format(say.ago(looking.looked))
        return f"{when} · " + self.tr("usable in torch {}").format(torch) if torch else when

    def _say_empty(self, found: Overview | None) -> None:
        if found is not None and found.places:
            return
        self.add_folder.hide()
        if not self._discovery.known or self._places():
            self.empty.say(self.tr("Looking for caches…"), "", "overview")
            self.empty.offer("")
            return
        if any(job.traits.fills for job in self._context.jobs.active):
            text = self.tr("Its contents appear here when that is done.")
            self.empty.say(self.tr("A cache is being filled"), text, "warm")
            self.empty.offer(self.tr("Show activity"), "activity")
            return
        text = self.tr("This page shows what the compile caches of this machine hold and cost, and "
                       "what you can remove. To begin, compile the recipe that comes with "
                       "Torchkeeper, or add a folder.")  # fmt: skip
        self.empty.say(self.tr("No caches yet"), text, "overview")
        self.empty.offer(self.tr("Warm…"), "warm")
        self.add_folder.show()


class _Split(QSplitter):
    """The map and the list ask for little of the height: else all would be scrolled too soon."""

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), _MAP)

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), _MAP)
