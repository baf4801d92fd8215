"""The profiles of the user: a list of them, and the form of the one that is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QStackedWidget, QWidget

from torchkeeper.client.profiles.profile import MOST_ABOUT, Profile, name_fault
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.chrome.bars import UndoBar
from torchkeeper.gui.dialogs.base import confirm
from torchkeeper.gui.pages.profiles import drafts as known_profiles
from torchkeeper.gui.pages.profiles.checked import Checked, Divided, Live
from torchkeeper.gui.pages.profiles.drafts import Draft, DraftList, Kept, draft_of, free
from torchkeeper.gui.pages.profiles.form import Form
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.emptystate import EmptyState
from torchkeeper.gui.widgets.notice import Notice
from torchkeeper.settings.finding import About, Finding, about_of
from torchkeeper.settings.rules import check

if TYPE_CHECKING:
    from torchkeeper.verdict.probed import Env


def merged(drafts: Sequence[Draft], every: Sequence[Kept]) -> list[Draft]:
    """The drafts there are once the files were read: what is edited stays as it is."""
    edited = {one.name: one for one in drafts if one.changed}
    found = {one.name: Draft(one.name, error=one.error) for one in every}
    found |= {x.name: draft_of(x.profile, kept=True) for x in every if x.profile is not None}
    return list((found | edited).values())


#: Characters of a name over the form.
_SHORT = 28


class ProfilesTab(QWidget):
    """Nothing is written before it is asked for. Not to be used before ``slices`` has made it."""

    #: There may be more, or less, that is in no file.
    changed = Signal()

    def __init__(self, engines: Engines) -> None:
        super().__init__()
        self._engines = engines
        self._facts: Env | None = None
        #: What the rules want to know of it, as far as its probe has told.
        self._known = About()
        self.read = False
        #: The profile to choose, once they are read.
        self.wanted = ""
        self.live = Live(engines, self)
        self.list = DraftList(self._graded)
        button = partial(forms.button, enter=False)
        hint = self.tr("Create a profile with PyTorch's defaults")
        self.new = button(self.tr("&New"), self._new, hint)
        hint = self.tr(
            "Import settings from a file: a script of exports, .env, a Dockerfile, or a Kubernetes "
            "manifest"
        )
        self.import_ = button(self.tr("&Import…"), hint=hint)
        hint = self.tr("Create another profile with these settings")
        self.duplicate = button(self.tr("&Duplicate"), self._duplicate, hint)
        hint = self.tr("Give the profile another name (F2)")
        self.rename = button(self.tr("&Rename"), self.list.edit_name, hint)
        hint = self.tr("Remove the profile; this can be undone")
        self.remove = button(self.tr("Re&move"), self._remove, hint)
        hint = self.tr("Copy or save it as a script, .env, Dockerfile or Kubernetes manifest")
        self.export = button(self.tr("E&xport…"), hint=hint)
        hint = self.tr("Go back to the last saved state")
        self.revert = button(self.tr("Undo ch&anges"), self._revert, hint)
        hint = self.tr("Save the profile")
        self.save = button(self.tr("&Save"), self.save_current, hint, primary=True)
        #: What is done with the chosen profile, for the head of the page.
        self.tools = [self.import_, self.export, self.revert, self.save]
        self.notice = Notice()
        self.undo = UndoBar()
        self.blank = EmptyState("settings")
        self.broken = Notice()
        self.title = forms.label("", "title")
        self.about = forms.line_edit(self.tr("What it is for"))
        self.about.setMaxLength(MOST_ABOUT)
        self.about.setAccessibleName(self.tr("What the profile is for"))

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

    def _lay_out(self) -> Iterator[None]:
        above = forms.row(self.new, self.duplicate, self.rename, self.remove, forms.REST)
        self._listed = forms.page(forms.column(self.list, margin=(0, 0, 8, 0)))
        self.across = forms.split(self._listed, sizes=[])
        across = self.notice, self.undo, (self.across, 1)
        self.setLayout(forms.column(above, *across, margin=(0, 12, 0, 0)))
        yield
        titled = forms.row(self.title, (self.about, 1), gap=16)
        form = forms.column(titled, (self.form, 1), margin=(8, 0, 0, 8))
        self.checked.setContentsMargins(8, 8, 0, 0)
        yield
        self.split = Divided(forms.page(form), self.checked)
        self._broken_page = forms.page(forms.column(self.broken, forms.REST, margin=(8, 0, 0, 0)))
        self.pages = QStackedWidget()
        yield
        for page in (self.blank, self.split, self._broken_page):
            self.pages.addWidget(page)
            yield
        self.blank.say(self.tr("Reading the profiles…"))
        self.across.addWidget(self.pages)
        self.across.setStretchFactor(1, 1)
        self.across.setSizes([232, 800])
        yield

    def _connect(self) -> None:
        self.blank.asked.connect(lambda _: self._new())
        self.notice.again.connect(self.read_again)
        self.list.chosen.connect(self._chosen)
        self.list.named.connect(self._named)
        self.about.textEdited.connect(self._about_edited)
        self.form.changed.connect(self._edited)
        self.live.changed.connect(self._show_found)
        self.checked.list.fix.connect(self._fix)
        self.checked.list.wanted.connect(lambda one: self.form.go_to(one.settings[0]))
        forms.on_key(self.list, QKeySequence.StandardKey.Delete, self._remove)

    def read_again(self) -> None:
        """Read the profiles; what is edited stays."""
        listener = Listener(result=self._show, failed=partial(self.notice.tell, again=True))
        self._begin(listener, known_profiles.listed)

    def _begin(self, listener: Listener, work: Callable[..., object], *given: object) -> None:
        self._engines.background(listener, work, *given)

    def _show(self, every: Sequence[Kept]) -> None:
        self.read = True
        self.notice.tell(None)
        name = self.wanted or (self.current.name if self.current else "")
        self.wanted = ""
        self.list.show_drafts(merged(self.list.drafts, every), name)

    def add(self, profile: Profile, *, keep: bool = False) -> None:
        """Begin a profile with this one; a name that is taken gets a number. keep: save it."""
        name = free(profile.name, (one.name for one in self.list.drafts))
        draft = draft_of(Profile(name, profile.values, profile.about), kept=False)
        self.list.put(draft)
        if keep:
            self._save(draft)

    @property
    def current(self) -> Draft | None:
        """The one that is chosen."""
        return self.list.current

    def _graded(self, draft: Draft) -> Sequence[Finding]:
        # What was looked up is known of the one that is chosen only.
        return self.live.found if draft is self.current else check(draft.values, self._known)

    def use(self, facts: Env | None) -> None:
        """Whose defaults are shown, and whom it is checked for."""
        if facts is not self._facts:
            self._facts, self._known = facts, about_of(facts) if facts else About()
            self.form.use_versions(self._known.torch, self._known.triton)
            self._look(at_once=True)
            self.list.paint()

    def _chosen(self) -> None:
        draft = self.current
        self.rename.setEnabled(draft is not None)
        self.remove.setEnabled(draft is not None)
        # An empty list beside what says that there is none says it twice.
        self._listed.setVisible(bool(self.list.drafts))
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
        for button in (self.duplicate, self.export):
            button.setEnabled(draft is not None and draft.error is None)
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
            self.live.look(draft.values, self._known, at_once=at_once)

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

    def _new(self) -> None:
        self.add(Profile(self.tr("profile")))
        self.list.edit_name()

    def _duplicate(self) -> None:
        if (draft := self.current) is not None:
            self.add(draft.profile)

    def _named(self, draft: Draft, name: str) -> None:
        others = {one.name for one in self.list.drafts if one is not draft}
        why = name_fault(name)
        if why or name in others:
            code = "profile-name" if why else "profile-exists"
            self.notice.tell(user_error(code, {"name": name, "why": why}))
            return

        self.notice.tell(None)
        old, draft.name = draft.name, name

        def done(_: object = None) -> None:
            if draft.kept is not None:
                draft.kept = Profile(name, draft.kept.values, draft.kept.about)
            self.list.sort_again(name)
            self._stored()

        def failed(error: UserError) -> None:
            draft.name = old
            self._stored(error)

        if draft.filed:
            self._begin(Listener(result=done, failed=failed), known_profiles.renamed, old, name)
        else:
            done()

    def _remove(self) -> None:
        if (draft := self.current) is None:
            return
        self.notice.tell(None)

        def done(_: object = None) -> None:
            if self.list.drop(draft):
                (self.list if self.list.drafts else self.new).setFocus()
                if draft.error is None:
                    text = self.tr("{} was removed").format(printable(draft.name, 64))
                    back, keep = draft.profile, draft.kept is not None
                    self.undo.offer("", text, then=lambda: self.add(back, keep=keep))
            self._stored()

        if draft.filed:
            listener = Listener(result=done, failed=self._stored)
            self._begin(listener, known_profiles.removed, draft.name)
        else:
            done()

    def _revert(self) -> None:
        if (draft := self.current) is not None:
            draft.revert()
            self.list.paint()
            self._chosen()

    def save_current(self) -> None:
        if (draft := self.current) is not None and draft.changed:
            self._save(draft)

    def discard(self) -> None:
        for draft in self.list.unsaved:
            if draft.kept is None:
                self.list.drop(draft)
            else:
                draft.revert()
        self.list.paint()
        self._chosen()

    def save_all(self, then: Callable[[], object]) -> None:
        """Keep all; ``then``: what follows where all could be kept."""
        if left := self.list.unsaved:
            self._save(left[0], lambda: self.save_all(then))
        else:
            then()

    def _save(
        self, draft: Draft, then: Callable[[], object] | None = None, *, surely: bool = False
    ) -> None:
        """Keep a draft as it is now. surely: whatever is in its file by now."""
        profile, before = draft.profile, draft.kept

        def done(_: object) -> None:
            draft.kept = profile
            self._stored()
            if then is not None:
                then()

        def failed(error: UserError) -> None:
            if error.code == "profile-changed":
                self._overtaken(draft, error, then)
            else:
                self._stored(error)

        listener = Listener(result=done, failed=failed)
        self._begin(listener, known_profiles.saved, profile, before, surely)

    def _stored(self, error: UserError | None = None) -> None:
        self.notice.tell(error)
        self.list.paint()
        self._say()

    def _overtaken(self, draft: Draft, error: UserError, then: Callable[[], object] | None) -> None:
        """Another program has written into the file: ask which of the two is to be lost."""
        title, text = self.tr("Changed by another program"), f"{error.why} {error.remedy}"

        def surely() -> None:
            self._save(draft, then, surely=True)

        def read() -> None:
            dialog.reject()
            draft.revert()
            self.read_again()

        way, over = (self.tr("&Read it again"), read), self.tr("&Overwrite")
        dialog = confirm(self, title, error.what, text, over, surely, way=way)
