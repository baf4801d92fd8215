"""The dialogs about the app itself: its shortcuts and settings, About, and the report of a bug."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import Qt, qVersion
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QCheckBox, QGridLayout, QScrollArea, QWidget

from torchkeeper.artifacts.version import VERSION
from torchkeeper.client.kept import runs, whole
from torchkeeper.client.profiles import keeping
from torchkeeper.client.signers import signers_file
from torchkeeper.client.words.problems import printable
from torchkeeper.gui import actions, theme
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.theme import Theme
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.forms import Choice
from torchkeeper.gui.widgets.notice import Elided
from torchkeeper.gui.widgets.plain import tip


class ShortcutsDialog(Dialog):
    """Every action with a shortcut, by menu."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent, 560)
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        grid = QGridLayout()
        grid.setHorizontalSpacing(32)
        grid.setVerticalSpacing(4)
        at, native = 0, QKeySequence.SequenceFormat.NativeText
        for name, title in (*actions.MENUS[:-1], actions.GROUP_MENU, actions.MENUS[-1]):
            specs = [s for s in actions.ACTIONS if s.menu == name and s.shortcut]
            if not specs:
                continue
            heading = forms.label(actions.tr(title).replace("&", ""), "section")
            heading.setContentsMargins(0, 8 if at else 0, 0, 0)
            grid.addWidget(heading, at, 0, 1, 2)
            at += 1
            for spec in specs:
                shortcuts = (QKeySequence(keys) for keys in (spec.shortcut, spec.also) if keys)
                text = actions.tr(spec.text).replace("&", "").rstrip("…")
                grid.addWidget(forms.label(text), at, 0)
                shown = forms.label(", ".join(one.toString(native) for one in shortcuts), "muted")
                shown.setFont(theme.monospace())
                grid.addWidget(shown, at, 1, Qt.AlignmentFlag.AlignRight)
                at += 1
        grid.setColumnStretch(0, 1)
        self.area = QScrollArea()
        self.area.setAccessibleName(self.tr("Keyboard shortcuts"))
        self.area.setAccessibleDescription(self.tr("Arrows and Page keys scroll it"))
        self.area.setWidgetResizable(True)
        self.area.setObjectName("moved")
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setWidget(forms.page(grid))
        self.body.addWidget(self.area, 1)
        close = forms.button(self.tr("Close"), self.accept)
        close.setDefault(True)
        self.buttons(close)
        self.resize(600, min(780, self.screen().availableSize().height() - 120))
        self.area.setFocus()


class AboutDialog(Dialog):
    """What this is, and which version."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent, 420)
        self.setWindowTitle(self.tr("About Torchkeeper"))
        picture = forms.label("")
        picture.setPixmap(theme.app_icon().pixmap(64, 64))
        version = self.tr("Version {} · Qt {}").format(VERSION, qVersion())
        what = self.tr("See, warm, bundle and purge torch.compile caches.")
        texts = forms.column(forms.label("Torchkeeper", "title"), gap=4)
        licence = forms.label(self.tr("Licence: Apache-2.0"), "muted")
        forms.add(texts, forms.label(version, "muted"), 8, forms.label(what, wrap=True), licence)
        self.body.addLayout(forms.row((picture, forms.TOP), (texts, 1), gap=16))
        close = forms.button(self.tr("Close"), self.accept)
        close.setDefault(True)
        self.buttons(close)


class BugDialog(Dialog):
    """Says that this is our fault, and gives what a report needs."""

    def __init__(self, parent: QWidget | None, text: str, *, kept: bool = False) -> None:
        """kept: it can be shown again."""
        super().__init__(parent, 680)
        self.setWindowTitle(self.tr("Something went wrong in Torchkeeper"))
        fault = self.tr("This is a fault of Torchkeeper, not of your cache.")
        what = self.tr("The window keeps working. Please report this text; it is shown only once.")
        if kept:
            what = self.tr("The window keeps working. Please report this text.")
        forms.add(self.body, forms.label(fault, "heading"), forms.label(what, "muted", wrap=True))
        view = forms.read_only_text(self.tr("The text of the report"), text)
        view.setAccessibleDescription(self.tr("Copy puts the whole text on the clipboard"))
        view.setFont(theme.monospace())
        view.setMinimumHeight(220)
        self.body.addWidget(view)
        copy = forms.button(self.tr("Copy"), lambda: QGuiApplication.clipboard().setText(text))
        close = forms.button(self.tr("Close"), self.accept)
        close.setDefault(True)
        self.buttons(close, copy)


class Does(NamedTuple):
    """What makes each setting so at once. notifies: whether the desktop is told of jobs now."""

    notifies: bool
    look: Callable[[Theme], object]
    notify: Callable[[], object]
    signers: Callable[[QWidget], object]
    reveal: Callable[[str], object]


class PreferencesDialog(Dialog):
    """The settings of the window itself, those of PyTorch being profiles. What is chosen is so at
    once: there is nothing to save.
    """

    def __init__(self, parent: QWidget, does: Does, own: str) -> None:
        """own: the file in which the window keeps its settings."""
        super().__init__(parent, 640)
        self.setWindowTitle(self.tr("Settings"))
        self.theme = Choice(20)
        self.theme.offer((one.called.replace("&", ""), one.value) for one in Theme)
        theme.follow(self, self._show_theme)
        self.theme.activated.connect(lambda *_: does.look(Theme(self.theme.currentData())))
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
