"""The profiles of the user: a list of them, and the form of the one that is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QLineEdit, QSplitter, QStackedWidget, QWidget

from torchkeeper.client.profiles.profile import MOST_ABOUT, Profile, name_fault
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.chrome.bars import UndoBar
from torchkeeper.gui.dialogs.base import confirm
from torchkeeper.gui.dialogs.pages import page_of
from torchkeeper.gui.pages.profiles import drafts as known_profiles
from torchkeeper.gui.pages.profiles.checked import Checked, Divided, Live, about
from torchkeeper.gui.pages.profiles.drafts import Draft, DraftList, Kept, draft_of, free
from torchkeeper.gui.pages.profiles.form import Form
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.emptystate import EmptyState
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.settings.finding import Finding
from torchkeeper.settings.rules import About, check

if TYPE_CHECKING:
    from torchkeeper.verdict.probed import Env


# Profiles in their files: reading, writing, naming and removing them through the worker, one after
# the other as they were asked for.


def merged(drafts: Sequence[Draft], every: Sequence[Kept]) -> list[Draft]:
    """The drafts there are once the files were read: what is edited stays as it is."""
    edited = {one.name: one for one in drafts if one.changed}
    found = []
    for one in every:
        if (draft := edited.pop(one.name, None)) is None:
            draft = Draft(one.name, error=one.error)
            if one.profile is not None:
                draft = draft_of(one.profile, kept=True)
        found.append(draft)
    return [*found, *edited.values()]


class Storing(QObject):
    """What is in the files of drafts; whatever fails is told."""

    #: There are other profiles in files, or they are called otherwise.
    changed = Signal()
    failed = Signal(object)
    #: Another program has written into the file of a draft since it was read: the draft, the
    #: UserError, and what is to follow once it is saved.
    overtaken = Signal(object, object, object)

    def __init__(self, engines: Engines, parent: QObject) -> None:
        super().__init__(parent)
        self._engines = engines
        self._tickets: list[int] = []

    def read(
        self, then: Callable[[Sequence[Kept]], None], failed: Callable[[UserError], None]
    ) -> None:
        """Read what there is."""
        listener = Listener(result=then, failed=failed)
        self._tickets.append(self._engines.background(listener, known_profiles.listed))

    def save(
        self, draft: Draft, then: Callable[[], object] | None = None, *, surely: bool = False
    ) -> None:
        """Keep a draft as it is now. surely: whatever is in its file by now."""
        profile, before = draft.profile, draft.kept

        def done(_: object) -> None:
            draft.kept = profile
            self.changed.emit()
            if then is not None:
                then()

        def failed(error: UserError) -> None:
            if error.code == "profile-changed":
                self.overtaken.emit(draft, error, then)
            else:
                self.failed.emit(error)

        listener = Listener(result=done, failed=failed)
        self._tickets.append(
            self._engines.background(listener, known_profiles.saved, profile, before, surely)
        )

    def rename(self, draft: Draft, name: str, then: Callable[[], object]) -> None:
        """Call a draft otherwise, and its file, where it has one."""
        old, draft.name = draft.name, name
        if draft.kept is None and draft.error is None:
            then()
            return

        def done(_: object) -> None:
            if draft.kept is not None:
                draft.kept = Profile(name, draft.kept.values, draft.kept.about)
            then()
            self.changed.emit()

        def failed(error: UserError) -> None:
            draft.name = old
            self.failed.emit(error)

        listener = Listener(result=done, failed=failed)
        self._tickets.append(self._engines.background(listener, known_profiles.renamed, old, name))

    def remove(self, draft: Draft, then: Callable[[], object]) -> None:
        """Remove the file of a draft, where it has one."""
        if draft.kept is None and draft.error is None:
            then()
            return

        def done(_: object) -> None:
            then()
            self.changed.emit()

        listener = Listener(result=done, failed=self.failed.emit)
        self._tickets.append(self._engines.background(listener, known_profiles.removed, draft.name))

    def let_go(self) -> None:
        """Hear no more of what was asked for; what is being written is written."""
        for ticket in self._tickets:
            self._engines.leave(ticket, cancel=False)


#: Characters of a name over the form.
_SHORT = 28


class ProfilesTab(QWidget):
    """Reads and writes profiles through the worker; nothing is written before it is asked for.

    Its parts are made by ``slices``; before, it is not to be used.
    """

    #: A file is to be imported; a profile is to be exported.
    importing = Signal()
    exporting = Signal(object)
    #: There may be more, or less, that is in no file.
    changed = Signal()

    def __init__(self, engines: Engines) -> None:
        super().__init__()
        self._engines = engines
        self._facts: Env | None = None
        #: Whether the profiles were read.
        self.read = False
        self.live = Live(engines, self)
        self.storing = Storing(engines, self)
        self.new = forms.button(self.tr("&New"))
        self.import_ = forms.button(self.tr("&Import…"))
        self.duplicate = forms.button(self.tr("&Duplicate"))
        self.rename = forms.button(self.tr("&Rename"))
        self.remove = forms.button(self.tr("Re&move"))
        self.export = forms.button(self.tr("E&xport…"))
        self.revert = forms.button(self.tr("&Undo changes"))
        self.save = forms.button(self.tr("&Save"), primary=True)
        self.notice = Notice()
        self.undo = UndoBar()
        self.list = DraftList(self._graded)
        self.blank = EmptyState("settings")
        self.broken = Notice()
        self.title = forms.label("", "title")
        self.about = QLineEdit()
        self._dress()

    def slices(self) -> Iterator[None]:
        """Make what takes long, some of it in each slice."""
        self.form = Form()
        yield
        self.checked = Checked()
        yield
        yield from self._lay_out()
        yield from self.form.slices()
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
            button.setToolTip(tip(hint))
            button.setAutoDefault(False)
        self.about.setMaxLength(MOST_ABOUT)
        self.about.setPlaceholderText(self.tr("What it is for"))
        self.about.setAccessibleName(self.tr("What the profile is for"))

    def _lay_out(self) -> Iterator[None]:
        above = forms.row()
        for button in (self.new, self.duplicate, self.rename, self.remove):
            above.addWidget(button)
        above.addStretch(1)
        whole = forms.column()
        whole.setContentsMargins(0, 12, 0, 0)
        whole.addLayout(above)
        for widget in (self.notice, self.undo):
            whole.addWidget(widget)
        left = forms.column()
        left.setContentsMargins(0, 0, 8, 0)
        left.addWidget(self.list)
        self.across = QSplitter(Qt.Orientation.Horizontal)
        self.across.setObjectName("framed")
        self.across.setChildrenCollapsible(False)
        self._listed = page_of(left)
        self.across.addWidget(self._listed)
        whole.addWidget(self.across, 1)
        self.setLayout(whole)
        yield
        form = forms.column()
        form.setContentsMargins(8, 0, 0, 8)
        titled = forms.row(gap=16)
        titled.addWidget(self.title)
        titled.addWidget(self.about, 1)
        form.addLayout(titled)
        form.addWidget(self.form, 1)
        self.checked.setContentsMargins(8, 8, 0, 0)
        yield
        self.split = Divided(page_of(form), self.checked)
        broken = forms.column()
        broken.setContentsMargins(8, 0, 0, 0)
        broken.addWidget(self.broken)
        broken.addStretch(1)
        self.pages = QStackedWidget()
        self._broken_page = page_of(broken)
        yield
        for page in (self.blank, self.split, self._broken_page):
            self.pages.addWidget(page)
            yield
        self.blank.say(self.tr("Reading the profiles…"))
        self.across.addWidget(self.pages)
        self.across.setStretchFactor(1, 1)
        self.across.setSizes([232, 800])
        yield

    @property
    def tools(self) -> list[QWidget]:
        """What is done with the chosen profile, for the head of the page."""
        return [self.import_, self.export, self.revert, self.save]

    def _connect(self) -> None:
        self.new.clicked.connect(self._new)
        self.blank.asked.connect(lambda _: self._new())
        self.import_.clicked.connect(self.importing)
        self.duplicate.clicked.connect(self._duplicate)
        self.rename.clicked.connect(self.list.edit_name)
        self.remove.clicked.connect(self._remove)
        self.export.clicked.connect(self._export)
        self.revert.clicked.connect(self._revert)
        self.save.clicked.connect(lambda *_: self.save_current())
        self.notice.again.connect(self.read_again)
        self.list.chosen.connect(self._chosen)
        self.list.named.connect(self._named)
        self.storing.changed.connect(self._stored)
        self.storing.failed.connect(self._unstored)
        self.storing.overtaken.connect(self._overtaken)
        self.about.textEdited.connect(self._about_edited)
        self.form.changed.connect(self._edited)
        self.live.changed.connect(self._show_found)
        self.checked.fix.connect(self._fix)
        self.checked.wanted.connect(lambda one: self.form.go_to(one.settings[0]))
        QShortcut(QKeySequence(QKeySequence.StandardKey.Delete), self.list, self._remove,
                  context=Qt.ShortcutContext.WidgetShortcut)  # fmt: skip

    # Reading.

    def read_again(self) -> None:
        """Read the profiles; what is edited stays."""
        self.storing.read(self._show, lambda error: self.notice.tell(error, again=True))

    def _show(self, every: Sequence[Kept]) -> None:
        self.read = True
        self.notice.tell(None)
        name = self.current.name if self.current else ""
        self.list.show_drafts(merged(self.drafts, every), name)

    def add(self, profile: Profile, *, keep: bool = False) -> None:
        """Begin a profile with this one; a name that is taken gets a number. keep: save it."""
        name = free(profile.name, (one.name for one in self.drafts))
        draft = draft_of(Profile(name, profile.values, profile.about), kept=False)
        self.list.put(draft)
        if keep:
            self.storing.save(draft)

    # The list.

    @property
    def drafts(self) -> list[Draft]:
        """All that there are."""
        return self.list.drafts

    @property
    def current(self) -> Draft | None:
        """The one that is chosen."""
        return self.list.current

    @property
    def unsaved(self) -> list[Draft]:
        """Those with something that is in no file."""
        return self.list.unsaved

    def _graded(self, draft: Draft) -> Sequence[Finding]:
        # What was looked up is known of the one that is chosen only.
        return self.live.found if draft is self.current else check(draft.values, self._known())

    def _known(self) -> About:
        return about(self._facts)

    # The one that is chosen.

    def use(self, facts: Env | None) -> None:
        """Whose defaults are shown, and whom it is checked for."""
        if facts is not self._facts:
            self._facts = facts
            known = self._known()
            self.form.use_versions(known.torch, known.triton)
            self._look(at_once=True)
            self.list.paint()

    def _chosen(self) -> None:
        draft = self.current
        for button in (self.rename, self.remove):
            button.setEnabled(draft is not None)
        # An empty list beside what says that there is none says it twice.
        self._listed.setVisible(bool(self.drafts))
        if draft is None:
            self.blank.say(*self._nothing())
            self.blank.offer(self.tr("New profile") if self.read else "")
            self.pages.setCurrentWidget(self.blank)
        elif draft.error is not None:
            self.broken.tell(draft.error)
            self.pages.setCurrentWidget(self._broken_page)
        else:
            self.about.setText(draft.about)
            self.about.setCursorPosition(0)
            self.form.show_values(draft.values)
            self.pages.setCurrentWidget(self.split)
        self._look(at_once=True)
        self._say()

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
        changed = draft is not None and draft.changed
        self.save.setEnabled(changed)
        self.revert.setEnabled(changed and draft is not None and draft.kept is not None)
        self.title.setText(printable(draft.name, _SHORT) if draft is not None else "")
        self.changed.emit()

    def _look(self, *, at_once: bool = False) -> None:
        draft = self.current
        if draft is None or draft.error is not None:
            self.live.stop()
        else:
            self.live.look(draft.values, self._facts, at_once=at_once)

    def _show_found(self) -> None:
        found = self.live.found
        self.checked.show_findings(found, checking=self.live.checking, error=self.live.error)
        self.form.show_findings(found)
        self.list.paint_current()
        self.split.fit()

    def _fix(self, one: Finding) -> None:
        self.form.apply(one.change)
        # Its button is gone: who has pressed it goes on at what it has changed.
        if names := list(one.change):
            self.form.go_to(names[0])

    def _edited(self) -> None:
        if (draft := self.current) is not None:
            was, draft.values = draft.changed, dict(self.form.values)
            self._look()
            self._changed(was)

    def _about_edited(self, text: str) -> None:
        if (draft := self.current) is not None:
            was, draft.about = draft.changed, text
            self._changed(was)

    def _changed(self, was: bool) -> None:
        if self.current is not None and self.current.changed != was:
            self.list.paint()
        self._say()

    # What can be done.

    def _new(self) -> None:
        self.add(Profile(self.tr("profile")))
        self.list.edit_name()

    def _duplicate(self) -> None:
        if (draft := self.current) is not None:
            self.add(draft.profile)

    def _named(self, draft: Draft, name: str) -> None:
        others = {one.name for one in self.drafts if one is not draft}
        why = name_fault(name)
        if why or name in others:
            code = "profile-name" if why else "profile-exists"
            self.notice.tell(user_error(code, {"name": name, "why": why}))
            return

        def done() -> None:
            self.list.sort_again(name)
            self._say()

        self.notice.tell(None)
        self.storing.rename(draft, name, done)

    def _remove(self) -> None:
        if (draft := self.current) is not None:
            self.notice.tell(None)
            self.storing.remove(draft, lambda: self._removed(draft))

    def _removed(self, draft: Draft) -> None:
        if not self.list.drop(draft):
            return
        self.list.setFocus()
        if draft.error is None:
            text = self.tr("{} was removed").format(printable(draft.name, 64))
            back, keep = draft.profile, draft.kept is not None
            self.undo.offer("", text, then=lambda: self.add(back, keep=keep))

    def _export(self) -> None:
        if (draft := self.current) is not None:
            self.exporting.emit(draft.profile)

    def _revert(self) -> None:
        if (draft := self.current) is not None:
            draft.revert()
            self.list.paint()
            self._chosen()

    def save_current(self) -> None:
        """Keep the one that is chosen."""
        if (draft := self.current) is not None and draft.changed:
            self.storing.save(draft)

    def discard(self) -> None:
        """Go back to what is in files."""
        for draft in self.unsaved:
            if draft.kept is None:
                self.list.drop(draft)
            else:
                draft.revert()
        self.list.paint()
        self._chosen()

    def save_all(self, then: Callable[[], object]) -> None:
        """Keep all; ``then``: what follows where all could be kept."""
        left = self.unsaved
        if left:
            self.storing.save(left[0], lambda: self.save_all(then))
        else:
            then()

    def _stored(self) -> None:
        self.notice.tell(None)
        self.list.paint()
        self._say()

    def _unstored(self, error: UserError) -> None:
        self.notice.tell(error)
        self.list.paint()
        self._say()

    def _overtaken(self, draft: Draft, error: UserError, then: Callable[[], object] | None) -> None:
        """Another program has written into the file: ask which of the two is to be lost."""
        dialog = confirm(
            self,
            self.tr("Changed meanwhile"),
            error.what,
            f"{error.why} {error.remedy}",
            self.tr("&Overwrite"),
            lambda: self.storing.save(draft, then, surely=True),
        )

        def read() -> None:
            dialog.reject()
            draft.revert()
            self.read_again()

        again = forms.button(self.tr("&Read it again"))
        again.clicked.connect(read)
        dialog.add_way(again)

    def let_go(self) -> None:
        """Hear no more of what was asked for; what is being written is written."""
        self.live.stop()
        self.storing.let_go()
