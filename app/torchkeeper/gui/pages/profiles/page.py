"""The page of the settings: profiles of them in a form, and where values come from."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QCoreApplication, QSettings, Qt, QTimer, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QTabWidget

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.client.words.tongue import several
from torchkeeper.gui.dialogs.envchoice import EnvironmentChoice
from torchkeeper.gui.idle import IdleTasks
from torchkeeper.gui.pages.glossary import explain
from torchkeeper.gui.pages.page import Page, go_to_field
from torchkeeper.gui.widgets import forms
from torchkeeper.settings.known import BY_NAME

if TYPE_CHECKING:
    from torchkeeper.client.profiles.profile import Profile
    from torchkeeper.gui.background.engines import Engines
    from torchkeeper.gui.dialogs.base import ConfirmDialog
    from torchkeeper.gui.pages.profiles.origins import OriginsTab
    from torchkeeper.gui.pages.profiles.tab import ProfilesTab
    from torchkeeper.gui.verdicts.environments import Environments

#: Where it is remembered how wide the list is, and which tab was shown.
_WIDTHS = "settings/list"
_TAB = "settings/tab"
#: What the tabs are made of; loading each is a step of its own.
_MODULES = (
    "client.words.findingwords", "client.profiles.profile", "settings.rules",
    "gui.pages.profiles.words", "gui.pages.profiles.editors", "gui.pages.profiles.form",
    "gui.pages.profiles.checked", "gui.pages.profiles.drafts", "gui.pages.profiles.tab",
    "settings.origins", "settings.processes", "client.words.settled",
    "gui.pages.profiles.origins",
)  # fmt: skip


class SettingsPage(Page):
    """Both tabs are about the environment above. Made at once, they would hold up the window."""

    #: It asks something, and is to be shown.
    wanted = Signal()

    def __init__(
        self, engines: Engines, settings: QSettings, environments: Callable[[], Environments]
    ) -> None:
        super().__init__(QCoreApplication.translate("SettingsPage", "Profiles"))
        explain(self, "profile")
        self._engines, self._settings, self._environments = engines, settings, environments
        self._files: list[str] = []
        self._question: ConfirmDialog | None = None
        self._profiles: ProfilesTab | None = None
        self._origins: OriginsTab | None = None
        self._later = IdleTasks(self)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.setElideMode(Qt.TextElideMode.ElideNone)
        self.tabs.tabBar().setAccessibleName(self.tr("Profiles, or where values come from"))
        self._name = forms.label(self.tr("Environment"), "heading")
        self._above = forms.row((self._name, forms.TOP), gap=12)
        forms.add(self.body, self._above, (self.tabs, 1))
        for module in _MODULES:
            self._later.add(partial(importlib.import_module, f"torchkeeper.{module}"))
        # Asked for it the first time, PySide makes all that QStyle names.
        self._later.add(self.style)
        self._later.add_slices(self._make())
        self._later.start()

    def _make(self) -> Iterator[None]:
        newest = self.tr("None: the newest known defaults")
        self.choice_of = EnvironmentChoice(self._environments(), none=newest)
        self.choice_of.setAccessibleName(self.tr("Environment"))
        self._above.addWidget(self.choice_of, 1)
        yield
        from torchkeeper.gui.pages.profiles.tab import ProfilesTab

        tab = ProfilesTab(self._engines)
        yield
        forms.add(self.tools, *tab.tools)
        yield
        self.tabs.addTab(tab, self.tr("&Profiles"))
        yield
        yield from tab.slices()
        self._profiles = tab
        tab.import_.clicked.connect(self._choose)
        tab.export.clicked.connect(self._export)
        tab.changed.connect(self._mark)
        QShortcut(QKeySequence(QKeySequence.StandardKey.Save), self, tab.save.click)
        if (widths := self._settings.value(_WIDTHS)) is not None:
            tab.across.restoreState(widths)
        yield
        from torchkeeper.gui.pages.profiles.origins import OriginsTab

        origins = OriginsTab(self._engines)
        yield
        yield from origins.slices()
        self._origins = origins
        origins.making.connect(self._made)
        yield
        forms.add(self.tools, *origins.tools)
        self.tabs.addTab(origins, self.tr("&Where values come from"))
        # Alone it was as wide as one that has no other after it.
        self.tabs.setTabText(0, "")
        self.tabs.setTabText(0, self.tr("&Profiles"))
        self.tabs.currentChanged.connect(self._show_tools)
        self._show_tools()
        yield
        if str(self._settings.value(_TAB)) == "1":
            self.tabs.setCurrentIndex(1)
        self.choice_of.changed.connect(self._use)
        self._use()
        if self.isVisible() and self.window().focusWidget() is None:
            tab.list.setFocus()

    @property
    def profiles(self) -> ProfilesTab:
        """The profiles and their form; what of it is not made yet is made at once."""
        self._later.finish()
        assert self._profiles is not None
        return self._profiles

    @property
    def origins(self) -> OriginsTab:
        """Where values come from, likewise."""
        self._later.finish()
        assert self._origins is not None
        return self._origins

    def _show_tools(self, *_: object) -> None:
        for tab in (self._profiles, self._origins):
            for button in tab.tools if tab is not None else ():
                button.setVisible(tab is self.tabs.currentWidget())

    def _use(self) -> None:
        facts = self.choice_of.facts
        self.profiles.use(facts)
        self.origins.use(self.choice_of.python if facts is not None else "")

    def _mark(self) -> None:
        """Say over all of it whether something is not saved."""
        count = len(self._profiles.list.unsaved) if self._profiles is not None else 0
        title = self.accessibleName()
        self.heading.setText(self.tr("{} · {} not saved").format(title, count) if count else title)

    def entered(self) -> None:
        # What is being made reads them at its end.
        if self._profiles is not None and self._later.over:
            self._profiles.read_again()

    def refresh(self) -> None:
        if self.tabs.currentWidget() is self.origins:
            self.origins.refresh()
        else:
            self.profiles.read_again()

    def search(self) -> bool:
        """Go to the filter of the form, or to the rows, in which typing searches."""
        if self.tabs.currentWidget() is self.origins:
            self.origins.tree.setFocus(Qt.FocusReason.ShortcutFocusReason)
        else:
            go_to_field(self.profiles.form.box)
        return True

    def left(self) -> None:
        if self._profiles is not None and self._later.over:
            self._settings.setValue(_WIDTHS, self._profiles.across.saveState())
            self._settings.setValue(_TAB, self.tabs.currentIndex())

    def let_go(self) -> None:
        super().let_go()
        self._later.stop()

    def show_setting(self, name: str, *, origin: bool) -> None:
        """Go to a setting: to where its value comes from, or to its field in the form of the
        chosen profile.
        """
        if origin:
            self.tabs.setCurrentWidget(self.origins)
            self.origins.show_setting(name)
        elif self.profiles.current is not None:
            self.tabs.setCurrentWidget(self.profiles)
            self.profiles.form.go_to(name)

    def seek(self, name: str) -> None:
        """Go to where the value of a setting comes from, or to the profile of that name."""
        if not self._later.over:
            self._later.add(partial(self.seek, name))
        elif name not in BY_NAME:
            self.tabs.setCurrentWidget(self.profiles)
            self.profiles.wanted = name
            self.profiles.read_again()
        else:
            self.tabs.setCurrentWidget(self.origins)
            self.origins.show_setting(name)

    @property
    def unsaved(self) -> bool:
        return self._profiles is not None and self._later.over and bool(self._profiles.list.unsaved)

    def leave(self, then: Callable[[], object]) -> None:
        if not self.unsaved:
            then()
            return
        self.wanted.emit()
        if self._question is not None:
            self._question.activateWindow()
            return
        from torchkeeper.gui.dialogs.base import ask

        def without() -> None:
            self.profiles.discard()
            then()

        def save() -> None:
            dialog.reject()
            self.profiles.save_all(then)

        left = self.profiles.list.unsaved
        names = say.together([printable(one.name, 64) for one in left])
        if len(left) > 5:
            names = say.count(len(left), "profile", "profiles")
        self._question = dialog = ask(self, names, without, save)
        dialog.finished.connect(self._answered)

    def _answered(self, _: int) -> None:
        self._question = None

    def _made(self, profile: Profile, lacking: list[str], left: list[str]) -> None:
        """A profile of where values come from: it is begun, and kept when somebody says so."""
        self.tabs.setCurrentWidget(self.profiles)
        self.profiles.add(profile)
        lacks = several(
            len(lacking),
            "{names} has a password, which is hidden.",
            "{names} have passwords, which are hidden.",
            names=say.together(lacking),
        )
        gone = several(
            len(left),
            "{names} is left out: it is too long, or cannot be shown.",
            "{names} are left out: they are too long, or cannot be shown.",
            names=say.together(left),
        )
        if why := [text for some, text in ((lacking, lacks), (left, gone)) if some]:
            what = self.tr("Some values were left out.")
            remedy = self.tr("Type it into its field before you save the profile.")
            self.profiles.notice.tell(UserError(what, " ".join(why), remedy))

    def open_files(self, files: Sequence[str]) -> None:
        """Show what files make, one after the other; what is agreed to is kept."""
        from torchkeeper.gui.dialogs.profilefiles import ProfileImport

        self._files += files
        if not any(one.isVisible() for one in self.findChildren(ProfileImport)):
            self._next()

    def _next(self) -> None:
        from torchkeeper.gui.dialogs.profilefiles import ProfileImport

        if not self._files:
            return
        names = [one.name for one in self.profiles.list.drafts]
        dialog = ProfileImport(self, self._engines, self._files.pop(0), names, self._take)
        # Not while it is still being closed.
        dialog.finished.connect(lambda _: QTimer.singleShot(0, self, self._next))
        dialog.open()

    def _take(self, profile: Profile) -> None:
        self.tabs.setCurrentWidget(self.profiles)
        self.profiles.add(profile, keep=True)

    def _choose(self) -> None:
        from torchkeeper.gui.dialogs.base import choose_files

        kinds = self.tr("Scripts, .env, Dockerfiles, Kubernetes and profiles (*);;All files (*)")
        choose_files(self, self.tr("Import settings"), "", kinds, self.open_files)

    def _export(self) -> None:
        from torchkeeper.gui.dialogs.profilefiles import ProfileExport

        if (draft := self.profiles.current) is not None:
            ProfileExport(self, self._engines, draft.profile).open()
