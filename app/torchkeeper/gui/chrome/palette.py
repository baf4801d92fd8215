"""The command palette: whatever the window does and has, found by its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget
from shiboken6 import isValid

from torchkeeper.client.words.problems import printable
from torchkeeper.gui import actions, theme
from torchkeeper.gui.actions import HELD, Situation, Spec
from torchkeeper.gui.background.engines import Listener
from torchkeeper.gui.chrome.picks import Pick, PickList
from torchkeeper.gui.pages import ENTRIES
from torchkeeper.gui.pages.page import Page
from torchkeeper.gui.pages.profiles import drafts
from torchkeeper.gui.pages.recipes import known
from torchkeeper.gui.verdicts.environments import state_text
from torchkeeper.gui.widgets import forms
from torchkeeper.settings.known import SETTINGS
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from PySide6.QtGui import QMouseEvent

    from torchkeeper.gui.context import Context

_tr = partial(QCoreApplication.translate, "Palette")


def _n(text: str) -> str:
    return str(QT_TRANSLATE_NOOP("Palette", text))


#: Pixels that it is wide, and lines that it is high at most; pixels beside it and over it.
_WIDE, _LINES, _EDGE, _TOP = 640, 12, 16, 48

#: When every action can be used but those of servers; and when those can.
_FOLDER = Situation(
    place=True, place_added=True, place_is_folder=True, place_is_bundle=True, chosen_server=True,
    place_up=True, place_down=True, environment=True, environment_has_torch=True,
    environment_added=True, shown=True, selected=2, comparable=1, trash=True, put_off=True,
    job=True, job_active=True, job_dialog=True, job_fruit=True, grouping="kind", back=True,
    forward=True,
)  # fmt: skip
_SERVER = _FOLDER._replace(scheme=scheme_of("redis://host"), place_is_folder=False)
#: Why an action cannot be used: what the window knows that is to be otherwise, the first first.
_WHY = {
    ("place",): _n("Choose a place first"),
    ("read_only",): HELD,
    ("place_is_folder", "scheme", "place_is_bundle"): _n("Not for the place that is shown"),
    ("shown",): _n("No entries are shown"),
    ("filter_valid",): _n("The filter is not valid"),
    ("selected",): _n("Select entries first"),
    ("selected", "shown"): _n("No entries are shown"),
    ("selected", "filter_valid"): _n("The filter is not valid"),
    ("comparable",): _n("Select one entry that has key factors first"),
    ("chosen_server",): _n("Choose a server in the sidebar first"),
    ("place_added",): _n("Only for places that you added"),
    ("place_up",): _n("No place that you added is above it"),
    ("place_down",): _n("No place that you added is below it"),
    ("environment",): _n("Go to an environment in the sidebar first"),
    ("environment_has_torch",): _n("The environment has no torch"),
    ("environment_added",): _n("Only for interpreters that you added"),
    ("environment_used",): _n("It is in use already"),
    ("trash",): _n("The trash of this place is empty"),
    ("put_off",): _n("All entries are read"),
    ("job",): _n("Choose a job first"),
    ("job_active",): _n("The chosen job does not run"),
    ("job_dialog",): _n("Only for an export, an import or a copy"),
    ("job_fruit",): _n("The chosen job wrote nothing"),
    ("grouping",): _n("The entries are not grouped"),
    ("back",): _n("This is the first page"),
    ("forward",): _n("This is the last page"),
}


def why_off(spec: Spec, now: Situation) -> str:
    """Why an action cannot be used at a moment, in a few words; empty where that is not known."""
    if spec.context == "entries" and now.page != ENTRIES:
        return _tr("Go to the entries first")
    if spec.id == "compare-two" and now.selected != _FOLDER.selected:
        return _tr("Select two entries first")
    good = _FOLDER if spec.when(_FOLDER) else _SERVER
    for fields, why in _WHY.items():
        as_now = {name: getattr(now, name) for name in fields}
        other = any(getattr(good, name) != value for name, value in as_now.items())
        if other and not spec.when(good._replace(**as_now)):
            return actions.tr(why) if why is HELD else _tr(why)
    return ""


def rank(words: Sequence[str], name: str, about: str) -> int | None:
    """How well words, in any order, say a name: the less, the better; None where one is in neither
    the name nor what is said beside it. A word begins the name, or a word of it, or is inside one.
    """
    name, total = name.casefold(), 0
    apart = re.sub(r"[\W_]+", " ", f" {name}")
    for word in words:
        if name.startswith(word):
            continue
        if f" {word}" in apart:
            total += 1
        elif word in name:
            total += 10
        elif word in about.casefold():
            total += 100
        else:
            return None
    return total


class Palette(QWidget):
    """Lies over the whole window, so that a click beside it leaves it."""

    def __init__(
        self, context: Context, menus: QMenuBar, go: Callable[[str], object],
        refuge: Callable[[], object],
    ) -> None:  # fmt: skip
        """go: goes to a page. refuge: gives the keyboard to the page where what had it is gone."""
        super().__init__(context.window)
        self._context, self._menus, self._go, self._refuge = context, menus, go, refuge
        self._before: QWidget | None = None
        #: What there is, and of that what takes a disk: it is looked up anew each time.
        self._every: list[Pick] = []
        self._looked_up: dict[str, list[Pick]] = {}
        self.field = forms.line_edit(_tr("Find an action, page, place, recipe or setting"))
        self.field.setAccessibleName(_tr("Command palette"))
        about = _tr("Type words of a name; arrows choose, Enter does it, Escape leaves")
        self.field.setAccessibleDescription(about)
        self.list = PickList(self.field, _tr("What was found"), first=True)
        self.none = forms.label("", "muted", wrap=True)
        self.none.setContentsMargins(8, 4, 8, 4)
        parts = self.field, (self.list, 1), self.none
        self.box = forms.frame("palette", forms.column(*parts, margin=8))
        self.box.setParent(self)
        self.hide()
        self.field.textChanged.connect(self._find)
        self.list.picked.connect(self._do)
        self.list.left.connect(self._left)
        context.window.installEventFilter(self)

    def open(self) -> None:
        """Show it, with nothing typed."""
        context = self._context
        self._before = context.window.focusWidget()
        context.update_now()  # what can be done is about this moment
        self._every = [*self._actions(), *self._places(), *self._environments(), *self._settings()]
        self.field.clear()
        self._find()
        self._fit()
        self.show()
        self.raise_()
        self.field.setFocus()
        for what, look in (("recipes", self._recipes), ("profiles", self._profiles)):
            work = known.listed if what == "recipes" else drafts.listed
            listener = Listener(result=partial(self._take, what, look))
            context.engines.background(listener, work)

    def _left(self, why: Qt.FocusReason | None) -> None:
        if why is Qt.FocusReason.OtherFocusReason:
            # Nobody went away: what has come to be shown behind it has taken the keyboard.
            QTimer.singleShot(0, self, self._take_back)
        else:
            self.leave()

    def _take_back(self) -> None:
        if self.isVisible() and not self.field.hasFocus():
            self._before = self._context.window.focusWidget()
            self.field.setFocus()

    def leave(self) -> None:
        """Close it; the keyboard is where it was."""
        if self.isVisible():
            at, before = self.field.hasFocus(), self._before
            self.hide()
            if at and before is not None and isValid(before) and before.isVisible():
                before.setFocus()
            elif at:
                self._refuge()

    def _do(self, pick: Pick) -> None:
        self.leave()
        if callable(pick.value):
            pick.value()

    def _find(self, *_: object, keep: bool = False) -> None:
        words = self.field.text().casefold().split()
        every = [*self._every, *(one for some in self._looked_up.values() for one in some)]
        found = [(rank(words, pick.name, pick.about), pick) for pick in every]
        fit = [(at, len(pick.name) if words else 0, pick) for at, pick in found if at is not None]
        fit.sort(key=lambda one: one[:2])
        self.list.offer([pick for *_, pick in fit], keep=keep)
        self.list.setVisible(bool(fit))
        forms.tell(self.none, "" if fit else _tr("Nothing has a name with these words."))

    def _take(self, what: str, look: Callable[..., Iterator[Pick]], found: object) -> None:
        self._looked_up[what] = list(look(found))
        if self.isVisible():
            self._find(keep=True)

    def _actions(self) -> Iterator[Pick]:
        """Everything in the menus, and in the menus in them. What is off is shown, and says why:
        who looks for it learns that it is there, and what to do first.
        """
        for action in self._menus.actions():
            if isinstance(menu := action.menu(), QMenu):
                yield from self._in_menu(menu, _plain(action.text()))

    def _in_menu(self, menu: QMenu, where: str) -> Iterator[Pick]:
        made, native = self._context.actions, QKeySequence.SequenceFormat.NativeText
        for action in menu.actions():
            if isinstance(inner := action.menu(), QMenu):
                yield from self._in_menu(inner, f"{where} › {_plain(action.text())}")
            elif (
                action.isVisible() and not action.isSeparator() and action.objectName() != "palette"
            ):
                about, off = where, not action.isEnabled()
                if action.isCheckable() and action.isChecked():
                    about = _tr("{} · on").format(where)
                if off and (spec := actions.known(action.objectName())) is not None:
                    about = " · ".join(filter(None, (where, why_off(spec, made.situation))))
                keys = action.shortcut().toString(native)
                yield Pick(_plain(action.text()), action.trigger, about, keys,
                           icon=action.icon(), off=off)  # fmt: skip

    def _places(self) -> Iterator[Pick]:
        for place in self._context.places.places:
            icon, about = theme.icon(place.icon), _tr("Place · {}").format(place.about)
            yield Pick(place.title, partial(self._show_place, place.path), about, icon=icon)

    def _show_place(self, path: str) -> None:
        self._context.places_pane.choose(path)
        self._go(ENTRIES)

    def _environments(self) -> Iterator[Pick]:
        here = self._context.environments
        for one in here.every:
            about = _tr("Environment · {}").format(printable(one.python))
            use = partial(here.choose, one.python)
            yield Pick(state_text(one), use, about, icon=theme.icon("machine"))

    def _settings(self) -> Iterator[Pick]:
        for one in SETTINGS:
            seek = partial(self._seek, "settings", one.name)
            yield Pick(one.name, seek, _tr("Setting"), icon=theme.icon("settings"))

    def _recipes(self, listed: Sequence[known.Listed]) -> Iterator[Pick]:
        for one in (recipe for some in listed for recipe in some.recipes):
            name, seek = known.name_of(one.path, one.name), partial(self._seek, "recipes", one.path)
            about = _tr("Recipe") if one.path == known.BUILTIN else _tr("Recipe · {}")
            yield Pick(name, seek, about.format(printable(one.path)), icon=theme.icon("recipes"))

    def _profiles(self, kept: Sequence[drafts.Kept]) -> Iterator[Pick]:
        for one in kept:
            seek = partial(self._seek, "settings", one.name)
            yield Pick(printable(one.name), seek, _tr("Profile"), icon=theme.icon("settings"))

    def _seek(self, ident: str, name: str) -> None:
        self._go(ident)
        if isinstance(page := self._context.pages.page, Page):
            page.seek(name)

    def _fit(self) -> None:
        over = self._context.window.rect()
        self.setGeometry(over)
        wide = min(_WIDE, over.width() - 2 * _EDGE)
        high = self.field.sizeHint().height() + self.list.height_of(_LINES) + 3 * forms.GAP
        top = min(_TOP, over.height() // 12)
        high = min(high, over.height() - 2 * top)
        self.box.setGeometry((over.width() - wide) // 2, top, wide, high)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if watched is self.parent() and event.type() == QEvent.Type.Resize and self.isVisible():
            self._fit()
        return super().eventFilter(watched, event)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if not self.box.geometry().contains(event.position().toPoint()):
            self.leave()


def _plain(text: str) -> str:
    """What a menu says, without what underlines a letter."""
    return re.sub(r"&(.)", r"\1", text)
