"""The settings of the window: its theme, notifications, trust, and where things are kept."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from PySide6.QtWidgets import QCheckBox, QWidget

from torchkeeper.client.kept import runs, whole
from torchkeeper.client.profiles import keeping
from torchkeeper.client.signers import signers_file
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import theme
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.notice import Elided
from torchkeeper.gui.widgets.plain import tip


class Does(NamedTuple):
    """What applies each setting at once. notifies: whether the desktop is told of jobs now."""

    notifies: bool
    look: Callable[[theme.Theme], object]
    notify: Callable[[], object]
    signers: Callable[[QWidget], object]
    reveal: Callable[[str], object]


class PreferencesDialog(Dialog):
    """The settings of the window; those of PyTorch are profiles. A choice applies at once."""

    def __init__(self, parent: QWidget, does: Does, own: str) -> None:
        """own: the file in which the window keeps its settings."""
        super().__init__(parent, 640)
        self.setWindowTitle(self.tr("Settings"))
        self.theme = forms.Choice(20)
        self.theme.offer((one.called.replace("&", ""), one.value) for one in theme.Theme)
        theme.follow(self, self._show_theme)
        self.theme.activated.connect(lambda *_: does.look(theme.Theme(self.theme.currentData())))
        self.notify = QCheckBox(self.tr("&Notify when a job ends"))
        self.notify.setChecked(does.notifies)
        self.notify.clicked.connect(does.notify)
        about = self.tr("When it took more than ten seconds and the window is not in front.")
        self.notify.setAccessibleDescription(about)
        told = forms.label(about, "muted", wrap=True)
        told.setContentsMargins(forms.CHECK, 0, 0, 0)
        self.signers = forms.button(
            self.tr("Trusted &signers…"), lambda: does.signers(self), enter=False
        )
        trust = self.tr("Whose bundles are imported without asking, and whether only theirs are.")
        look = self.tr("Like the system: light or dark, as the desktop is.")
        forms.field(self.body, self.tr("&Theme"), self.theme, look)
        forms.add(self.body, forms.GAP, forms.label(self.tr("Jobs"), "heading"), self.notify, told)
        forms.add(self.body, forms.GAP, forms.label(self.tr("Trust"), "heading"))
        forms.add(self.body, forms.row((forms.label(trust, wrap=True), 1), self.signers, gap=16))
        forms.add(self.body, forms.GAP, forms.label(self.tr("Where things are kept"), "heading"))
        #: The button of each path that shows it in the file manager.
        self.kept: dict[str, QWidget] = {}
        for name, path in (
            (self.tr("This window"), own),
            (self.tr("Profiles"), keeping.folder()),
            (self.tr("Trusted signers"), signers_file()),
            (self.tr("Runs and jobs"), os.path.dirname(runs.folder())),
            (self.tr("Temporary copies"), whole.cache_folder()),
        ):
            self._add_path(name, path, does.reveal)
        steers = self.tr("PyTorch’s cache settings are under Go > Profiles.")
        forms.add(self.body, forms.GAP, forms.label(steers, "muted", wrap=True), forms.REST)
        close = forms.button(self.tr("Close"), self.accept, primary=True)
        close.setDefault(True)
        self.buttons(close)

    def _show_theme(self) -> None:
        self.theme.setCurrentIndex(self.theme.findData(theme.look().theme.value))

    def _add_path(self, name: str, path: str, reveal: Callable[[str], object]) -> None:
        called, where = forms.label(name), Elided("muted")
        called.setFixedWidth(150)
        where.setText(printable(path))
        where.setToolTip(tip(printable(path)))
        where.setAccessibleName(f"{name}: {where.text()}")
        hint = self.tr("Show in the file manager: {}").format(name)
        self.kept[path] = shows = forms.icon_button("folder", hint, partial(reveal, path))
        shows.setAccessibleDescription(where.text())
        self.body.addLayout(forms.row(called, (where, 1), shows))
