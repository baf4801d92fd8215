"""Profiles as they are edited: what is kept of each, and what somebody has made of it since."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QListWidgetItem

from torchkeeper.client.profiles.profile import Profile
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.gui import theme
from torchkeeper.gui.pages.profiles.words import MARKS
from torchkeeper.gui.widgets.lists import EditingDelegate
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.settings.finding import Finding, worst


@dataclass(eq=False)
class Draft:
    """A profile under way. kept: as in its file, if it has one. error: why that cannot be read."""

    name: str
    values: dict[str, str] = field(default_factory=dict, repr=False)
    about: str = ""
    kept: Profile | None = field(default=None, repr=False)
    error: UserError | None = None

    @property
    def profile(self) -> Profile:
        """As it is now."""
        return Profile(self.name, dict(self.values), self.about)

    @property
    def filed(self) -> bool:
        return self.kept is not None or self.error is not None

    @property
    def changed(self) -> bool:
        """Whether something is not in its file."""
        return self.error is None and self.profile != self.kept

    def revert(self) -> None:
        """As it is in its file."""
        if self.kept is not None:
            self.values, self.about = dict(self.kept.values), self.kept.about


def draft_of(profile: Profile, *, kept: bool) -> Draft:
    """A draft that begins with a profile; kept: which is in its file so."""
    return Draft(profile.name, dict(profile.values), profile.about, profile if kept else None)


def free(name: str, taken: Iterable[str]) -> str:
    """A name that no other has: this one, or one with a number."""
    used = {one.casefold() for one in taken}
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    return next(one for one in names if one.casefold() not in used)


_DRAFT = Qt.ItemDataRole.UserRole
#: Characters of a name.
_NAME = 64


def _order(draft: Draft) -> str:
    return draft.name.casefold()


class DraftList(QListWidget):
    """The drafts by name; a name is edited in its line."""

    chosen = Signal()
    named = Signal(object, str)

    def __init__(self, graded: Callable[[Draft], Sequence[Finding]]) -> None:
        super().__init__()
        self._graded = graded
        self.drafts: list[Draft] = []
        self.setAccessibleName(self.tr("Profiles"))
        self.setItemDelegate(EditingDelegate(self))
        self.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.currentItemChanged.connect(lambda *_: self.chosen.emit())
        self.itemChanged.connect(self._typed)
        theme.follow(self, self.paint, now=False)

    @property
    def current(self) -> Draft | None:
        """The one that is chosen."""
        item = self.currentItem()
        draft: Draft | None = item.data(_DRAFT) if item is not None else None
        return draft

    @property
    def unsaved(self) -> list[Draft]:
        """Those with something that is in no file."""
        return [one for one in self.drafts if one.changed]

    def choose(self, name: str) -> None:
        for item in self._items():
            if item.data(_DRAFT).name == name:
                self.setCurrentItem(item)

    def show_drafts(self, drafts: Sequence[Draft], name: str = "") -> None:
        """Show these, and choose the one of that name, else the first."""
        self.drafts = sorted(drafts, key=_order)
        with QSignalBlocker(self):
            self.clear()
            for draft in self.drafts:
                item = QListWidgetItem()
                item.setData(_DRAFT, draft)
                item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
                self.addItem(item)
            rows = (row for row, one in enumerate(self.drafts) if one.name == name)
            self.setCurrentRow(next(rows, 0))
        self.paint()
        self.chosen.emit()

    def put(self, draft: Draft) -> None:
        """One more, which is chosen."""
        self.show_drafts([*self.drafts, draft], draft.name)

    def drop(self, draft: Draft) -> bool:
        """One less; whether it was there. The one after it is chosen."""
        if draft not in self.drafts:
            return False
        row = self.drafts.index(draft)
        left = [one for one in self.drafts if one is not draft]
        self.show_drafts(left, left[min(row, len(left) - 1)].name if left else "")
        return True

    def sort_again(self, name: str) -> None:
        """One is called otherwise: the order is another, where need be."""
        if self.drafts != sorted(self.drafts, key=_order):
            self.show_drafts(self.drafts, name)
        else:
            # Who is at another name by now goes on with that.
            self.paint()

    def edit_name(self) -> None:
        if (item := self.currentItem()) is not None:
            self.setFocus()
            self.editItem(item)

    def paint(self) -> None:
        """Show the names, what is not saved, and how good each is."""
        with QSignalBlocker(self):
            for item in self._items():
                draft, font = item.data(_DRAFT), item.font()
                item.setText(draft.name)
                font.setItalic(draft.changed)
                item.setFont(font)
                item.setIcon(self._icon(draft))
                name = printable(draft.name, _NAME)
                item.setToolTip(tip(f"{name}\n{draft.about}".strip()))
                told = f"{name}, {self.tr('not saved')}" if draft.changed else name
                item.setData(Qt.ItemDataRole.AccessibleTextRole, told)

    def paint_current(self) -> None:
        """Show how good the one is that is chosen."""
        if (item := self.currentItem()) is not None:
            with QSignalBlocker(self):
                item.setIcon(self._icon(item.data(_DRAFT)))

    def _items(self) -> list[QListWidgetItem]:
        return [self.item(row) for row in range(self.count())]

    def _icon(self, draft: Draft) -> QIcon:
        shades = theme.shades()
        if draft.error is not None:
            return theme.icon("error", shades.warning)
        severity = worst(list(self._graded(draft)))
        graded = severity in ("error", "warning")
        name, colour = MARKS[str(severity)] if graded else ("done", "good")
        return theme.icon(name, getattr(shades, colour))

    def _typed(self, item: QListWidgetItem) -> None:
        draft, name = item.data(_DRAFT), item.text().strip()
        if name != draft.name:
            self.named.emit(draft, name)
        self.paint()


# What the window knows of profiles. Everything here waits for disks, and is called in a thread that
# may (``gui.background.lookups``).

#: One after the other: who renames a profile and saves it then does it in that order.
_WRITING = threading.Lock()


@dataclass(frozen=True)
class Kept:
    """A profile that is kept; error: why it cannot be read."""

    name: str
    profile: Profile | None = None
    error: UserError | None = None


@dataclass(frozen=True)
class Offered:
    """What a file holds: the profile that it makes, and what is left of it: (name, why)."""

    path: str
    profile: Profile = field(repr=False)
    left: tuple[tuple[str, str], ...] = ()
    #: Whether settings are among that.
    untold: bool = False


@dataclass(frozen=True)
class Written:
    """A profile in one of the formats: the text, and how it may be seen by others."""

    text: str = field(repr=False)
    shown: str
    #: Whether a password goes along.
    secret: bool


def listed() -> list[Kept]:
    """The profiles that are kept, by name. Raises UserError."""
    from torchkeeper.client.profiles import keeping

    found = []
    for name in keeping.names():
        try:
            found.append(Kept(name, keeping.load(name)))
        except UserError as e:
            found.append(Kept(name, error=e))
    return found


def settings(name: str, machine: str = "") -> dict[str, str]:
    """What a compile is told of a profile: texts by variable, which may hold a password. Raises
    UserError, "profile-without-caches" where nothing that is compiled would be kept. machine:
    another one, which is told no password.
    """
    from torchkeeper.client.profiles import keeping
    from torchkeeper.client.profiles import profile as applying

    profile = keeping.load(name)
    applying.check_goes(profile, machine)
    applying.check_caches(profile)
    return applying.sent(profile)


def saved(profile: Profile, before: Profile | None, surely: bool) -> None:
    """Keep a profile. before: as it is in its file, None where it has none yet. surely: whatever is
    in that by now. Raises UserError, "profile-changed" where the file is another than before.
    """
    from torchkeeper.client.profiles import keeping

    with _WRITING:
        there = keeping.names()
        if before is not None and before.name in there:
            if not surely and _is_other(before):
                raise user_error("profile-changed", {"name": before.name})
            if before.name != profile.name:
                keeping.rename(before.name, profile.name)
        keeping.save(profile, replace=before is not None)


def _is_other(before: Profile) -> bool:
    from torchkeeper.client.profiles import keeping

    try:
        return keeping.load(before.name) != before
    except UserError:
        return True


def renamed(old: str, new: str) -> None:
    """Call a profile that is kept otherwise. Raises UserError."""
    from torchkeeper.client.profiles import keeping

    with _WRITING:
        keeping.rename(old, new)


def removed(name: str) -> None:
    """Keep a profile no more. Raises UserError."""
    from torchkeeper.client.profiles import keeping

    with _WRITING:
        keeping.remove(name)


def offered(path: str, form: str = "", container: str = "") -> Offered:
    """What a file in any of the formats comes to. form: what it is read as, "" to guess; container:
    whose settings, of several in a manifest. Raises UserError.
    """
    from torchkeeper.client.profiles.formats import read_any

    read = read_any(path, format=form or None, container=container or None)
    return Offered(path, read.profile, tuple(read.left), bool(read.untold))


def written(profile: Profile, form: str, from_secret: str = "") -> Written:
    """A profile in a format. from_secret: NAME/KEY of the Secret of a cluster that has its
    password, "" where the password goes along. Raises UserError.
    """
    from torchkeeper.client.profiles import formats
    from torchkeeper.client.profiles.profile import masked, with_password

    text = formats.write(profile, form, from_secret or None)
    if from_secret or not with_password(profile):
        return Written(text, text, secret=False)
    shown = formats.write(replace(profile, values=masked(profile)), form)
    return Written(text, shown, secret=True)


def put(path: str, text: str, secret: bool) -> str:
    """Write an export into a file, which only the user can read where it is new or has a password;
    its path. Raises UserError("profile-unwritable").
    """
    from torchkeeper.client.kept import whole
    from torchkeeper.client.profiles import keeping

    try:
        whole.write_text(path, text, keeping.mode_of(path, secret))
    except OSError as e:
        why = e.strerror or str(e)
        raise user_error("profile-unwritable", {"file": path, "why": why}) from e
    return path
