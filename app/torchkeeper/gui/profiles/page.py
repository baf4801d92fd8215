"""The profiles of the user: a list of them, and the form of the one that is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QSplitter,
    QStackedWidget,
    QWidget,
)

from torchkeeper.gui import forms, icons, theme
from torchkeeper.gui.bars import UndoBar
from torchkeeper.gui.blank import Blank, Notice
from torchkeeper.gui.dialogs.pages import page_of
from torchkeeper.gui.engines import Engines, Listener
from torchkeeper.gui.profiles.checked import Checked
from torchkeeper.gui.profiles.drafts import Draft, draft_of, free
from torchkeeper.gui.profiles.form import Form
from torchkeeper.gui.profiles.known import Kept
from torchkeeper.gui.profiles.live import Live, about
from torchkeeper.gui.profiles.words import MARKS
from torchkeeper.link.profiles.profile import MOST_ABOUT, Profile, name_fault
from torchkeeper.link.words import UserError, printable, user_error
from torchkeeper.settings.finding import Finding, worst
from torchkeeper.settings.rules import check

_DRAFT = Qt.ItemDataRole.UserRole
#: Characters of a name in the list.
_NAME = 64
#: And over the form.
_SHORT = 28
#: Pixels for the findings at most at first, and of what is over their list.
_LISTED = 272
_ABOVE = 40


class ProfilesPage(QWidget):
    """Reads and writes profiles through the worker; nothing is written before it is asked for."""

    #: The list of profiles that are kept is another.
    kept_changed = Signal()
    #: A file is to be imported; a profile is to be exported.
    importing = Signal()
    exporting = Signal(object)

    def __init__(self, engines: Engines) -> None:
        super().__init__()
        self._engines = engines
        self._facts: dict[str, Any] | None = None
        self._tickets: list[int] = []
        self.drafts: list[Draft] = []
        self._moved = False
        #: Whether the profiles were read.
        self.read = False
        self.live = Live(engines, self)
        self.new = forms.button(self.tr("&New"))
        self.import_ = forms.button(self.tr("&Import…"))
        self.duplicate = forms.button(self.tr("D&uplicate"))
        self.rename = forms.button(self.tr("&Rename"))
        self.remove = forms.button(self.tr("Re&move"))
        self.export = forms.button(self.tr("&Export…"))
        self.revert = forms.button(self.tr("Undo chan&ges"))
        self.save = forms.button(self.tr("&Save"), primary=True)
        self.notice = Notice()
        self.undo = UndoBar()
        self.list = QListWidget()
        self.blank = Blank("settings", 440)
        self.broken = Notice()
        self.title = forms.label("", "title")
        self.about = QLineEdit()
        self.form = Form()
        self.checked = Checked()
        self._dress()
        self._lay_out()
        self._connect()
        self.read_again()

    def _dress(self) -> None:
        for button, hint in (
            (self.new, self.tr("Begin a profile that leaves all to PyTorch")),
            (self.import_, self.tr("Take settings from a file: a script of exports, .env, a "
                                   "Dockerfile, or a Kubernetes manifest")),
            (self.duplicate, self.tr("Begin another profile with these settings")),
            (self.rename, self.tr("Give the profile another name (F2)")),
            (self.remove, self.tr("Remove the profile; this can be undone")),
            (self.export, self.tr("Copy or save it as a script, .env, Dockerfile or Kubernetes "
                                  "manifest")),
            (self.revert, self.tr("Go back to what was last saved")),
            (self.save, self.tr("Keep the profile as it is now")),
        ):  # fmt: skip
            button.setToolTip(hint)
            button.setAutoDefault(False)
        self.list.setAccessibleName(self.tr("Profiles"))
        self.list.setEditTriggers(QAbstractItemView.EditTrigger.EditKeyPressed)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.about.setMaxLength(MOST_ABOUT)
        self.about.setPlaceholderText(self.tr("What it is for"))
        self.about.setAccessibleName(self.tr("What the profile is for"))

    def _lay_out(self) -> None:
        above = forms.row()
        for button in (self.new, self.import_, self.duplicate, self.rename, self.remove):
            above.addWidget(button)
        above.addStretch(1)
        self.above = above
        edited = QSplitter(Qt.Orientation.Vertical)
        edited.setChildrenCollapsible(False)
        form = forms.column()
        form.setContentsMargins(16, 0, 0, 8)
        titled = forms.row(gap=16)
        titled.addWidget(self.title)
        titled.addWidget(self.about, 1)
        form.addLayout(titled)
        form.addWidget(self.form, 1)
        self.checked.setContentsMargins(16, 8, 0, 0)
        edited.addWidget(page_of(form))
        edited.addWidget(self.checked)
        edited.setStretchFactor(0, 1)
        edited.setSizes([400, 200])
        self.split = edited
        broken = forms.column()
        broken.setContentsMargins(16, 0, 0, 0)
        broken.addWidget(self.broken)
        broken.addStretch(1)
        self.pages = QStackedWidget()
        self._broken_page = page_of(broken)
        for page in (edited, self.blank, self._broken_page):
            self.pages.addWidget(page)
        left = forms.column()
        left.setContentsMargins(0, 0, 16, 0)
        left.addWidget(self.list)
        both = QSplitter(Qt.Orientation.Horizontal)
        both.setChildrenCollapsible(False)
        both.addWidget(page_of(left))
        both.addWidget(self.pages)
        both.setStretchFactor(1, 1)
        both.setSizes([232, 800])
        whole = forms.column()
        whole.setContentsMargins(0, 8, 0, 0)
        whole.addLayout(above)
        for widget in (self.notice, self.undo):
            whole.addWidget(widget)
        whole.addWidget(both, 1)
        self.setLayout(whole)

    def buttons(self, line: QHBoxLayout) -> None:
        """Put the buttons for the chosen profile into the row at the bottom."""
        line.addWidget(self.export)
        line.addStretch(1)
        line.addWidget(self.revert)
        line.addWidget(self.save)

    def _connect(self) -> None:
        self.new.clicked.connect(self._new)
        self.import_.clicked.connect(self.importing)
        self.duplicate.clicked.connect(self._duplicate)
        self.rename.clicked.connect(self._rename)
        self.remove.clicked.connect(self._remove)
        self.export.clicked.connect(self._export)
        self.revert.clicked.connect(self._revert)
        self.save.clicked.connect(lambda *_: self.save_current())
        self.notice.again.connect(self.read_again)
        self.split.splitterMoved.connect(self._split_moved)
        self.list.currentItemChanged.connect(lambda *_: self._chosen())
        self.list.itemChanged.connect(self._renamed)
        self.about.textEdited.connect(self._about_edited)
        self.form.changed.connect(self._edited)
        self.live.changed.connect(self._show_found)
        self.checked.fix.connect(self._fix)
        self.checked.wanted.connect(lambda one: self.form.go_to(one.settings[0]))
        QShortcut(QKeySequence(QKeySequence.StandardKey.Delete), self.list, self._remove,
                  context=Qt.ShortcutContext.WidgetShortcut)  # fmt: skip
        theme.follow(self, self._paint, now=False)

    # Reading.

    def read_again(self) -> None:
        """Read the profiles; what is edited stays."""
        listener = Listener(result=lambda said: self._show(said["profiles"]), failed=self._unread)
        self._tickets.append(self._engines.profiles(listener))

    def _unread(self, error: UserError) -> None:
        self.notice.tell(error, again=True)

    def _show(self, every: Sequence[Kept]) -> None:
        self.read = True
        self.notice.tell(None)
        edited = {one.name: one for one in self.drafts if one.changed}
        found = []
        for one in every:
            draft = edited.pop(one.name, None)
            if draft is not None:
                draft.kept = one.profile
            elif one.profile is not None:
                draft = draft_of(one.profile, kept=True)
            else:
                draft = Draft(one.name, error=one.error)
            found.append(draft)
        self.drafts = sorted([*found, *edited.values()], key=lambda one: one.name.casefold())
        self._fill(self.current.name if self.current else "")

    def add(self, profile: Profile, *, keep: bool = False, go: bool = True) -> Draft:
        """Begin a profile with this one; a name that is taken gets a number. keep: save it."""
        name = free(profile.name, (one.name for one in self.drafts))
        draft = draft_of(Profile(name, profile.values, profile.about), kept=False)
        self.drafts = sorted([*self.drafts, draft], key=lambda one: one.name.casefold())
        self._fill(name if go or not self.current else self.current.name)
        if keep:
            self._save(draft)
        return draft

    # The list.

    @property
    def current(self) -> Draft | None:
        """The one that is chosen."""
        item = self.list.currentItem()
        draft: Draft | None = item.data(_DRAFT) if item is not None else None
        return draft

    @property
    def unsaved(self) -> list[Draft]:
        """Those with something that is in no file."""
        return [one for one in self.drafts if one.changed]

    def choose(self, name: str) -> None:
        """Choose one by its name."""
        for item in self._items():
            if item.data(_DRAFT).name == name:
                self.list.setCurrentItem(item)

    def _items(self) -> list[QListWidgetItem]:
        return [self.list.item(row) for row in range(self.list.count())]

    def _fill(self, name: str) -> None:
        self.list.blockSignals(True)
        self.list.clear()
        for draft in self.drafts:
            item = QListWidgetItem()
            item.setData(_DRAFT, draft)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
            self.list.addItem(item)
        rows = [row for row, one in enumerate(self.drafts) if one.name == name]
        if self.drafts:
            self.list.setCurrentRow(rows[0] if rows else 0)
        self.list.blockSignals(False)
        self._paint()
        self._chosen()

    def _paint(self) -> None:
        self.list.blockSignals(True)
        for item in self._items():
            draft = item.data(_DRAFT)
            item.setText(draft.name)
            font = item.font()
            font.setItalic(draft.changed)
            item.setFont(font)
            item.setIcon(self._icon(draft))
            state = self.tr("not saved") if draft.changed else ""
            item.setToolTip(forms.tip(f"{printable(draft.name, _NAME)}\n{draft.about}".strip()))
            told = ", ".join(x for x in (printable(draft.name, _NAME), state) if x)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, told)
        self.list.blockSignals(False)

    def _icon(self, draft: Draft) -> Any:
        shades = theme.shades()
        if draft.error is not None:
            return icons.icon("error", shades.error)
        found = self.live.found if draft is self.current else check(draft.values, self._known())
        severity = worst(found)
        if severity in ("error", "warning"):
            name, colour = MARKS[str(severity)]
            return icons.icon(name, getattr(shades, colour))
        return icons.icon("done", shades.good)

    def _known(self) -> Any:
        return about(self._facts)

    # The one that is chosen.

    def use(self, facts: dict[str, Any] | None) -> None:
        """Whose defaults are shown, and whom it is checked for."""
        if facts is not self._facts:
            self._facts = facts
            known = self._known()
            self.form.use_versions(known.torch, known.triton)
            self._look(at_once=True)
            self._paint()

    def _chosen(self) -> None:
        draft = self.current
        there = draft is not None
        for button in (self.rename, self.remove):
            button.setEnabled(there)
        if draft is None:
            self.blank.say(*self._nothing())
            self.pages.setCurrentWidget(self.blank)
        elif draft.error is not None:
            self.broken.tell(draft.error)
            self.pages.setCurrentWidget(self._broken_page)
        else:
            self._head()
            self.about.setText(draft.about)
            self.about.setCursorPosition(0)
            self.form.show_values(draft.values)
            self.pages.setCurrentIndex(0)
        self._look(at_once=True)
        self._say()

    def _head(self) -> None:
        if (draft := self.current) is not None:
            self.title.setText(printable(draft.name, _SHORT))

    def _nothing(self) -> tuple[str, str]:
        if not self.read:
            return self.tr("Reading the profiles…"), ""
        return self.tr("No profile yet"), self.tr(
            "A profile is a named set of the settings that steer PyTorch's caches, for warming, "
            "running and exporting. Begin one with New, or import a script of exports, a .env "
            "file, a Dockerfile or a Kubernetes manifest: drop it here."
        )

    def _say(self) -> None:
        draft = self.current
        good = draft is not None and draft.error is None
        for button in (self.duplicate, self.export):
            button.setEnabled(good)
        self.save.setEnabled(good and draft is not None and draft.changed)
        kept = draft is not None and draft.kept is not None
        self.revert.setEnabled(kept and draft is not None and draft.changed)

    def _look(self, *, at_once: bool = False) -> None:
        draft = self.current
        if draft is None or draft.error is not None:
            self.live.stop()
        else:
            self.live.look(draft.values, self._facts, at_once=at_once)

    def _show_found(self) -> None:
        found = self.live.found
        self.checked.show_findings(found, checking=self.live.checking, error=self.live.error)
        self._make_room()
        self.form.show_findings(found)
        item = self.list.currentItem()
        if item is not None:
            self.list.blockSignals(True)
            item.setIcon(self._icon(item.data(_DRAFT)))
            self.list.blockSignals(False)

    def _make_room(self) -> None:
        """Give the list what it needs and no more, until somebody gives it another height."""
        if not self._moved:
            many = self.checked.list.findings
            low = min(_LISTED, self.checked.list.needed + _ABOVE) if many else 0
            self.split.setSizes([max(1, self.split.height() - low), low])

    def _split_moved(self, *_: object) -> None:
        self._moved = True

    def _fix(self, one: Finding) -> None:
        self.form.apply(one.change)
        # Its button is gone: who has pressed it goes on at what it has changed.
        if names := list(one.change):
            self.form.go_to(names[0])

    def _edited(self) -> None:
        if (draft := self.current) is not None:
            was = draft.changed
            draft.values = dict(self.form.values)
            self._look()
            self._changed(was)

    def _about_edited(self, text: str) -> None:
        if (draft := self.current) is not None:
            was, draft.about = draft.changed, text
            self._changed(was)

    def _changed(self, was: bool) -> None:
        draft = self.current
        if draft is not None and draft.changed != was:
            self._paint()
        self._say()

    # What can be done.

    def _new(self) -> None:
        self.add(Profile(self.tr("profile")))
        self._rename()

    def _duplicate(self) -> None:
        if (draft := self.current) is not None:
            self.add(draft.profile)

    def _rename(self) -> None:
        if (item := self.list.currentItem()) is not None:
            self.list.setFocus()
            self.list.editItem(item)

    def _renamed(self, item: QListWidgetItem) -> None:
        draft, name = item.data(_DRAFT), item.text().strip()
        if name == draft.name:
            self._paint()
            return
        others = {one.name for one in self.drafts if one is not draft}
        why = name_fault(name)
        if why or name in others:
            code = "profile-name" if why else "profile-exists"
            self.notice.tell(user_error(code, {"name": name, "why": why}))
            self._paint()
            return
        self.notice.tell(None)
        old, draft.name = draft.name, name
        kept = draft.kept or draft.error
        if not kept:
            self._sort(name)
            return

        def done(_: object) -> None:
            if draft.kept is not None:
                draft.kept = Profile(name, draft.kept.values, draft.kept.about)
            self._sort(name)
            self.kept_changed.emit()

        def failed(error: UserError) -> None:
            draft.name = old
            self.notice.tell(error)
            self._paint()

        listener = Listener(result=done, failed=failed)
        self._tickets.append(self._engines.rename_profile(old, name, listener))

    def _sort(self, name: str) -> None:
        before = list(self.drafts)
        self.drafts.sort(key=lambda one: one.name.casefold())
        if self.drafts != before:
            self._fill(name)
        else:
            # Who is at another name by now goes on with that.
            self._paint()
            self._head()

    def _remove(self) -> None:
        draft = self.current
        if draft is None:
            return
        self.notice.tell(None)
        if draft.kept is None and draft.error is None:
            self._removed(draft)
            return
        listener = Listener(result=lambda _: self._removed(draft), failed=self.notice.tell)
        self._tickets.append(self._engines.remove_profile(draft.name, listener))

    def _removed(self, draft: Draft) -> None:
        if draft not in self.drafts:
            return
        row = self.drafts.index(draft)
        self.drafts.remove(draft)
        after = self.drafts[min(row, len(self.drafts) - 1)].name if self.drafts else ""
        self._fill(after)
        self.list.setFocus()
        if draft.error is None:
            text = self.tr("{} was removed").format(printable(draft.name, _NAME))
            back, keep = draft.profile, draft.kept is not None
            self.undo.offer("", text, then=lambda: self.add(back, keep=keep))
        if draft.kept is not None or draft.error is not None:
            self.kept_changed.emit()

    def _export(self) -> None:
        if (draft := self.current) is not None:
            self.exporting.emit(draft.profile)

    def _revert(self) -> None:
        if (draft := self.current) is not None:
            draft.revert()
            self._paint()
            self._chosen()

    def save_current(self) -> None:
        """Keep the one that is chosen."""
        draft = self.current
        if draft is not None and draft.changed:
            self._save(draft)

    def save_all(self, then: Callable[[], object]) -> None:
        """Keep all; ``then``: what follows where all could be kept."""
        left = self.unsaved
        if not left:
            then()
            return
        self._save(left[0], lambda: self.save_all(then))

    def _save(self, draft: Draft, then: Callable[[], object] | None = None) -> None:
        profile = draft.profile

        def done(_: object) -> None:
            draft.kept = profile
            self.notice.tell(None)
            self._paint()
            self._say()
            self.kept_changed.emit()
            if then is not None:
                then()

        listener = Listener(result=done, failed=self.notice.tell)
        before = draft.kept.name if draft.kept is not None else ""
        self._tickets.append(self._engines.save_profile(profile, before, listener))

    def let_go(self) -> None:
        """Hear no more of what was asked for; what is being written is written."""
        self.live.stop()
        for ticket in self._tickets:
            self._engines.leave(ticket, cancel=False)
