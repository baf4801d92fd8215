"""Profiles in their files: reading, writing, naming and removing them through the worker, one after
the other as they were asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal

from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.pages.profiles import known as known_profiles
from torchkeeper.gui.pages.profiles.drafts import Draft, draft_of
from torchkeeper.gui.pages.profiles.known import Kept
from torchkeeper.link.profiles.profile import Profile
from torchkeeper.link.words.problems import UserError


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
