"""The help dialogs: all shortcuts on one page, About, and the report of a bug."""

from __future__ import annotations

from PySide6.QtCore import Qt, qVersion
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QGridLayout, QPlainTextEdit, QScrollArea, QWidget

import torchkeeper
from torchkeeper.gui import actions, theme
from torchkeeper.gui.dialogs.base import Dialog
from torchkeeper.gui.widgets import forms


class ShortcutsDialog(Dialog):
    """Every action with a shortcut, by menu."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent, "", 560)
        self.setWindowTitle(self.tr("Keyboard shortcuts"))
        grid = QGridLayout()
        grid.setHorizontalSpacing(32)
        grid.setVerticalSpacing(4)
        at = 0
        for name, title in (*actions.MENUS[:-1], actions.GROUP_MENU, actions.MENUS[-1]):
            specs = [s for s in actions.ACTIONS if s.menu == name and s.shortcut]
            if not specs:
                continue
            heading = forms.label(actions.tr(title).replace("&", ""), "section")
            heading.setContentsMargins(0, 8 if at else 0, 0, 0)
            grid.addWidget(heading, at, 0, 1, 2)
            at += 1
            for spec in specs:
                native = ", ".join(
                    QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)
                    for keys in (spec.shortcut, spec.also) if keys
                )  # fmt: skip
                grid.addWidget(
                    forms.label(actions.tr(spec.text).replace("&", "").rstrip("…")), at, 0
                )
                shown = forms.label(native, "muted")
                shown.setFont(theme.monospace())
                grid.addWidget(shown, at, 1, Qt.AlignmentFlag.AlignRight)
                at += 1
        grid.setColumnStretch(0, 1)
        whole = QWidget()
        whole.setLayout(grid)
        self.area = QScrollArea()
        self.area.setAccessibleName(self.tr("Keyboard shortcuts"))
        self.area.setAccessibleDescription(self.tr("Arrows and Page keys scroll it"))
        self.area.setWidgetResizable(True)
        self.area.setObjectName("moved")
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.area.setWidget(whole)
        self.body.addWidget(self.area, 1)
        close = forms.button(self.tr("Close"))
        close.setDefault(True)
        close.clicked.connect(self.accept)
        self.buttons(close)
        self.resize(600, min(780, self.screen().availableSize().height() - 120))
        # Arrows and Page keys move it.
        self.area.setFocus()


class AboutDialog(Dialog):
    """What this is, and which version."""

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent, "", 420)
        self.setWindowTitle(self.tr("About Torchkeeper"))
        picture = forms.label("")
        picture.setPixmap(theme.app_icon().pixmap(64, 64))
        texts = forms.column(gap=4)
        texts.addWidget(forms.label("Torchkeeper", "title"))
        texts.addWidget(
            forms.label(
                self.tr("Version {} · Qt {}").format(torchkeeper.__version__, qVersion()), "muted"
            )
        )
        texts.addSpacing(8)
        texts.addWidget(
            forms.label(self.tr("See, warm, bundle and purge torch.compile caches."), wrap=True)
        )
        texts.addWidget(forms.label(self.tr("Licence: Apache-2.0"), "muted"))
        line = forms.row(gap=16)
        line.addWidget(picture, 0, Qt.AlignmentFlag.AlignTop)
        line.addLayout(texts, 1)
        self.body.addLayout(line)
        close = forms.button(self.tr("Close"))
        close.setDefault(True)
        close.clicked.connect(self.accept)
        self.buttons(close)


# The report of a bug: what to send us.


class BugDialog(Dialog):
    """Says that this is our fault, and gives what a report needs."""

    def __init__(self, parent: QWidget | None, text: str, *, kept: bool = False) -> None:
        """kept: it can be shown again."""
        super().__init__(parent, "", 680)
        self.setWindowTitle(self.tr("Something went wrong in Torchkeeper"))
        self.body.addWidget(
            forms.label(self.tr("This is a fault of Torchkeeper, not of your cache."), "heading")
        )
        self.body.addWidget(
            forms.label(
                self.tr("The window goes on. Please report this text.")
                if kept
                else self.tr("The window goes on. Please report this text; it is shown only once."),
                "muted",
                wrap=True,
            )
        )
        view = QPlainTextEdit(text)
        view.setReadOnly(True)
        view.setAccessibleName(self.tr("The text of the report"))
        view.setAccessibleDescription(self.tr("Copy puts all of it on the clipboard"))
        view.setFont(theme.monospace())
        view.setMinimumHeight(220)
        self.body.addWidget(view)
        copy = forms.button(self.tr("Copy"))
        copy.clicked.connect(lambda: QGuiApplication.clipboard().setText(text))
        close = forms.button(self.tr("Close"))
        close.clicked.connect(self.accept)
        close.setDefault(True)
        self.buttons(copy, close)
