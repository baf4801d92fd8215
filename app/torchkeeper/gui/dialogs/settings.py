"""The settings: profiles of them in a form, and where those of an environment or a process come
from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QSizePolicy, QStackedWidget, QTabWidget, QWidget

from torchkeeper.gui import forms
from torchkeeper.gui.dialogs.base import choose_files
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.dialogs.pages import page_of
from torchkeeper.gui.dialogs.profileexport import ProfileExport
from torchkeeper.gui.dialogs.profileimport import ProfileImport
from torchkeeper.gui.dialogs.unsaved import UnsavedDialog
from torchkeeper.gui.dropping import files_of
from torchkeeper.gui.engines import Engines
from torchkeeper.gui.environments import Environments
from torchkeeper.gui.profiles.origins import OriginsPage
from torchkeeper.gui.profiles.page import ProfilesPage
from torchkeeper.link import say
from torchkeeper.link.profiles.profile import Profile
from torchkeeper.link.words import UserError, printable

if TYPE_CHECKING:
    from PySide6.QtGui import QDragEnterEvent, QDropEvent


class SettingsDialog(UnsavedDialog):
    """Both pages are about the environment that is chosen above them; the window stays usable
    beside it.
    """

    grows = False

    def __init__(
        self, parent: QWidget | None, engines: Engines, environments: Environments
    ) -> None:
        super().__init__(parent, "", 960)
        self.setWindowTitle(self.tr("Settings"))
        self.setWindowModality(Qt.WindowModality.NonModal)
        self.setAcceptDrops(True)
        self._engines = engines
        #: Files that are still to be imported.
        self._files: list[str] = []
        self.choice_of = EnvironmentChoice(environments, self.tr("Any: the newest known defaults"))
        self.page = ProfilesPage(engines)
        self.origins = OriginsPage(engines)
        self.tabs = QTabWidget()
        self.close_button = forms.button(self.tr("Close"))
        self._lay_out()
        self.choice_of.changed.connect(self._use)
        self.page.importing.connect(self._choose)
        self.page.exporting.connect(self._export)
        self.origins.making.connect(self._made)
        self.close_button.clicked.connect(self.reject)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Save), self, self.page.save.click)
        self._use()
        room = self.screen().availableSize()
        self.resize(min(1200, room.width() - 40), min(860, room.height() - 80))
        self.page.list.setFocus()

    def _lay_out(self) -> None:
        line = forms.row(gap=12)
        name = forms.label(self.tr("En&vironment"), "heading")
        name.setBuddy(self.choice_of)
        self.choice_of.setAccessibleName(self.tr("Environment"))
        name.setContentsMargins(0, 7, 0, 0)
        line.addWidget(name, 0, Qt.AlignmentFlag.AlignTop)
        line.addWidget(self.choice_of, 1)
        self.body.addLayout(line)
        self.tabs.setDocumentMode(True)
        self.tabs.addTab(self.page, self.tr("&Profiles"))
        self.tabs.addTab(self.origins, self.tr("&Where values come from"))
        self.body.addWidget(self.tabs, 1)
        self.close_button.setAutoDefault(False)
        # The buttons of the page that is shown.
        self.below = QStackedWidget()
        self.below.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        for page in (self.page, self.origins):
            row = forms.row()
            page.buttons(row)
            self.below.addWidget(page_of(row))
        self.tabs.currentChanged.connect(self.below.setCurrentIndex)
        below = forms.row()
        below.addWidget(self.below, 1)
        below.addWidget(self.close_button)
        self.body.addLayout(below)

    def _use(self) -> None:
        facts = self.choice_of.facts
        self.page.use(facts)
        self.origins.use(self.choice_of.python if facts is not None else "")

    def _made(self, profile: Profile, lacking: list[str], left: list[str]) -> None:
        """A profile of where values come from: it is begun, and kept when somebody says so."""
        self.tabs.setCurrentWidget(self.page)
        self.page.add(profile)
        why = []
        if lacking:
            why.append(self.tr("{} has a password, which nobody is shown.").format(
                ", ".join(lacking)))  # fmt: skip
        if left:
            why.append(self.tr("{} is left out: it cannot be shown whole, or is too long.").format(
                ", ".join(left)))  # fmt: skip
        if why:
            self.page.notice.tell(
                UserError(
                    self.tr("Not everything was taken along."),
                    " ".join(why),
                    self.tr("Type it into its field before you save the profile."),
                )
            )

    # Import and export.

    def open_files(self, files: Sequence[str]) -> None:
        """Show what files make, one after the other; what is agreed to is kept."""
        self._files += files
        if not any(one.isVisible() for one in self.findChildren(ProfileImport)):
            self._next()

    def _next(self) -> None:
        if not self._files:
            return
        file = self._files.pop(0)
        dialog = ProfileImport(
            self, self._engines, file, [one.name for one in self.page.drafts], self._take
        )
        # Not while it is still being closed.
        dialog.finished.connect(lambda _: QTimer.singleShot(0, self, self._next))
        dialog.open()

    def _take(self, profile: Profile) -> None:
        self.tabs.setCurrentWidget(self.page)
        self.page.add(profile, keep=True)

    def _choose(self) -> None:
        kinds = self.tr("Scripts, .env, Dockerfiles, Kubernetes and profiles (*);;All files (*)")
        choose_files(self, self.tr("Import settings"), "", kinds, self.open_files)

    def _export(self, profile: Profile) -> None:
        ProfileExport(self, self._engines, profile).open()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        if files := files_of(event):
            event.acceptProposedAction()
            # The source of the drag waits until this returns.
            QTimer.singleShot(0, self, lambda: self.open_files(files))

    # The end.

    @property
    def unsaved(self) -> bool:
        return bool(self.page.unsaved)

    def done(self, result: int) -> None:
        self.page.let_go()
        self.origins.let_go()
        super().done(result)

    def unsaved_names(self) -> str:
        left = self.page.unsaved
        if len(left) > 5:
            return say.count(len(left), "profile", "profiles")
        return ", ".join(printable(one.name, 64) for one in left)

    def save_unsaved(self, then: Callable[[], object]) -> None:
        self.page.save_all(then)
