"""The command palette: whatever the window does and has, found by its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QMenu, QMenuBar, QWidget
from shiboken6 import isValid

from torchkeeper.client.words.problems import printable
from torchkeeper.gui import actions, theme
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
_FOLDER = actions.Situation(
    place=True, place_added=True, place_is_folder=True, place_is_bundle=True, chosen_server=True,
    place_up=True, place_down=True, environment=True, environment_has_torch=True,
    environment_added=True, shown=True, selected=2, comparable=1, trash=True, undoable="?",
    put_off=True, job=True, job_active=True, job_fruit=True, grouping="kind", back=True,
    forward=True,
)  # fmt: skip
_SERVER = _FOLDER._replace(scheme=scheme_of("redis://host"), place_is_folder=False)
#: Why an action cannot be used: what the window knows that is to be otherwise, the first first.
_WHY = {
    "place": _n("Choose a place first"),
    "read_only": actions.HELD,
    "place_is_folder scheme place_is_bundle": _n("Not available for this place"),
    "shown": _n("No entries are shown"),
    "filter_valid": _n("The filter is not valid"),
    "selected comparable": _n("Select the entries for it first"),
    "shown selected": _n("No entries are shown"),
    "filter_valid selected": _n("The filter is not valid"),
    "chosen_server place_added "
    "place_up place_down": _n("Not available for the place in the sidebar"),
    "environment environment_has_torch": _n("Select an environment with torch in the sidebar"),
    "environment_added environment_used": _n("Not available for the selected environment"),
    "trash trash_of_all": _n("The trash is empty"),
    "trash undoable": _n("There is nothing to undo"),
    "put_off": _n("All entries are read"),
    "job job_active job_fruit": _n("Not available for the chosen job"),
    "grouping": _n("The entries are not grouped"),
    "back forward": _n("There is no such page"),
}  # fmt: skip


def why_off(spec: actions.Spec, now: actions.Situation) -> str:
    """Why an action cannot be used at a moment, in a few words; empty where that is not known."""
    if spec.context == "entries" and now.page != ENTRIES:
        return _tr("Go to the entries first")
    good = _FOLDER if spec.when(_FOLDER) else _SERVER
    for fields, why in _WHY.items():
        as_now = {name: getattr(now, name) for name in fields.split()}
        if not spec.when(good._replace(**as_now)):
            return actions.tr(why) if why is actions.HELD else _tr(why)
    return ""


def rank(words: Sequence[str], name: str, about: str, told: str = "") -> int | None:
    """How well words, in any order, say a name: the less, the better; None where one is in neither
    the name nor what is said beside it or elsewhere. A word begins the name, or a word of it, or is
    inside one.
    """
    name, about, told = name.casefold(), about.casefold(), told.casefold()
    apart = re.sub(r"[\W_]+", " ", f" {name}")
    marks = [
        0 if name.startswith(x) else 1 if f" {x}" in apart else 10 if x in name
        else 100 if x in about else 1000
        for x in words if x in name or x in about or x in told
    ]  # fmt: skip
    return sum(marks) if len(marks) == len(words) else None


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
        self._kept: dict[str, list[Pick]] = {}
        self.field = forms.line_edit(_tr("Find an action, page, place, recipe or setting"))
        self.field.setAccessibleName(_tr("Command palette"))
        about = _tr("Type words of a name; arrow keys choose, Enter runs, Escape closes")
        self.field.setAccessibleDescription(about)
        self.list = PickList(self.field, _tr("What was found"), first=True)
        self.none = forms.label("", "muted", wrap=True)
        self.none.setContentsMargins(8, 4, 8, 4)
        parts = self.field, (self.list, 1), (self.none, forms.TOP)
        self.box = forms.frame("card", forms.column(*parts, margin=8))
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
        self._every = [*self._in_menu(self._menus, ""), *self._others()]
        self.field.clear()
        self._find()
        self._fit()
        self.show()
        self.raise_()
        self.field.setFocus()
        context.engines.background(Listener(result=self._take_recipes), known.listed)
        context.engines.background(Listener(result=self._take_profiles), drafts.listed)

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
        every = chain(self._every, *self._kept.values())
        found = [(rank(words, pick.name, pick.about, pick.told), pick) for pick in every]
        fit = [(at, pick) for at, pick in found if at is not None]
        if words:  # the first is what Enter does
            fit.sort(key=lambda one: (one[1].off, one[0], one[0] < 1000 and len(one[1].name)))
        self.list.offer([pick for _, pick in fit], keep=keep)
        self.list.setVisible(bool(fit))
        forms.tell(self.none, "" if fit else _tr("Nothing has a name with these words."))

    def _take_recipes(self, listed: Sequence[known.Listed]) -> None:
        recipes = (one for some in listed for one in some.recipes)
        names = [(one.path, known.name_of(one.path, one.name)) for one in recipes]
        self._take("recipes", names, _tr("Recipe"))

    def _take_profiles(self, kept: Sequence[drafts.Kept]) -> None:
        names = [(one.name, printable(one.name)) for one in kept]
        self._take("settings", names, _tr("Profile"))

    def _take(self, page: str, names: Sequence[tuple[str, str]], about: str) -> None:
        self._kept[page] = [self._sought(page, ident, name, about) for ident, name in names]
        if self.isVisible():
            self._find(keep=True)

    def _in_menu(self, menu: QMenu | QMenuBar, where: str) -> Iterator[Pick]:
        """Everything in the menus, and in the menus in them. What is off is shown, and says why:
        who looks for it learns that it is there, and what to do first.
        """
        now, native = self._context.actions.situation, QKeySequence.SequenceFormat.NativeText
        for action in menu.actions():
            name, ident, off = _plain(action.text()), action.objectName(), not action.isEnabled()
            if isinstance(inner := action.menu(), QMenu):
                yield from self._in_menu(inner, f"{where} › {name}" if where else name)
            elif action.isVisible() and name and ident != "palette":
                why = why_off(actions.BY_ID[ident], now) if off and ident in actions.BY_ID else ""
                on = _tr("on") if action.isCheckable() and action.isChecked() else ""
                about, keys = " · ".join(filter(None, (where, on, why))), action.shortcut()
                right, told = keys.toString(native), action.statusTip()
                yield Pick(name, action.trigger, about, right, action.icon(), off, told)

    def _others(self) -> Iterator[Pick]:
        places, here = self._context.places.places, self._context.machines.shown
        for place in places:
            icon, about = theme.icon(place.icon), _tr("Place · {}").format(place.about)
            yield Pick(place.title, partial(self._show_place, place.path), about, icon=icon)
        for one in here.every:
            about = _tr("Environment · {}").format(printable(one.python))
            use = partial(here.choose, one.python)
            yield Pick(state_text(one), use, about, icon=theme.icon("machine"))
        for each in SETTINGS:
            yield self._sought("settings", each.name, each.name, _tr("Setting"))

    def _sought(self, page: str, ident: str, name: str, about: str) -> Pick:
        return Pick(name, partial(self._seek, page, ident), about, icon=theme.icon(page))

    def _show_place(self, path: str) -> None:
        self._context.places_pane.choose(path)
        self._go(ENTRIES)

    def _seek(self, ident: str, name: str) -> None:
        self._go(ident)
        if isinstance(page := self._context.pages.page, Page):
            page.seek(name)

    def _fit(self) -> None:
        over = self._context.window.rect()
        self.setGeometry(over)
        wide = min(_WIDE, over.width() - 2 * _EDGE)
        lines = _LINES * max(24, self.list.sizeHintForRow(0))
        high = self.field.sizeHint().height() + lines + 4 * forms.GAP
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
