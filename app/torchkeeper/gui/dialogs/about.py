"""The help dialogs: all shortcuts on one page, About, and the report of a bug."""

from __future__ import annotations

from PySide6.QtCore import Qt, qVersion
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QGridLayout, QScrollArea, QWidget

from torchkeeper.artifacts.version import VERSION
from torchkeeper.gui import actions, theme
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.widgets import forms


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
        copy = forms.button(self.tr("&Copy"), lambda: QGuiApplication.clipboard().setText(text))
        close = forms.button(self.tr("Close"), self.accept)
        close.setDefault(True)
        self.buttons(close, copy)
