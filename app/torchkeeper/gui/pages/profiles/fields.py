"""One setting in the form: what it is, its editor, whether it is set, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from torchkeeper.gui import theme
from torchkeeper.gui.pages.profiles import words
from torchkeeper.gui.pages.profiles.editors import editor_of
from torchkeeper.gui.widgets import forms
from torchkeeper.gui.widgets.plain import tip
from torchkeeper.link.words import tongue
from torchkeeper.link.words.findingwords import said
from torchkeeper.settings.finding import SEVERITIES, Finding
from torchkeeper.settings.setting import Setting

if TYPE_CHECKING:
    from PySide6.QtGui import QPaintEvent

#: Pixels of the column with the editors, and of the mark beside a field.
_EDITORS = 288
_MARK = 4
#: Findings that are told under a field; the list has all.
_MOST = 3


class Mark(QWidget):
    """A bar at the side: a colour of the theme, or nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.role = ""
        self.setFixedWidth(_MARK)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)
        theme.follow(self, self.update, now=False)

    def show_role(self, role: str) -> None:
        """The colour, by its name in the theme; "" for none."""
        if role != self.role:
            self.role = role
            self.update()

    def paintEvent(self, _: QPaintEvent) -> None:
        if not self.role:
            return
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(getattr(theme.shades(), self.role)))
            painter.drawRoundedRect(QRectF(self.rect()), _MARK / 2, _MARK / 2)


class Field(QWidget):
    """A setting, and the editor of its variable."""

    #: Somebody has changed it: the variable, and its text or None.
    changed = Signal(str, object)

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.setting = setting
        self._found: list[Finding] = []
        self._told: list[QWidget] = []
        self._absent = False
        self.mark = Mark()
        self.name = forms.label(setting.name)
        self.name.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.does = forms.label(tongue.tr(setting.does), "muted", wrap=True)
        self.editor = editor_of(setting)
        self.editor.changed.connect(self._edited)
        self.name.setBuddy(self.editor.focusProxy() or self.editor)
        self.reset = forms.icon_button("undo", "")
        self.reset.clicked.connect(self._reset)
        policy = self.reset.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.reset.setSizePolicy(policy)
        self.own = forms.label("", "muted")
        self.findings = forms.column(gap=2)
        self._lay_out()
        self.use_version(None)

    def _lay_out(self) -> None:
        about = forms.column(gap=2)
        about.addWidget(self.does)
        about.addStretch(1)
        edited = forms.row(gap=4)
        self.editor.setFixedWidth(_EDITORS)
        edited.addWidget(self.editor)
        edited.addWidget(self.reset, 0, Qt.AlignmentFlag.AlignTop)
        right = forms.column(gap=2)
        right.addLayout(edited)
        right.addWidget(self.own)
        right.addStretch(1)
        grid = QGridLayout()
        grid.setContentsMargins(0, 6, 0, 6)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(2)
        grid.addWidget(self.mark, 0, 0, 3, 1)
        # Long names have no room beside the editor in a narrow window.
        grid.addWidget(self.name, 0, 1, 1, 2)
        grid.addLayout(about, 1, 1)
        grid.addLayout(right, 1, 2)
        grid.addLayout(self.findings, 2, 1, 1, 2)
        grid.setColumnStretch(1, 1)
        self.setLayout(grid)

    @property
    def text(self) -> str | None:
        """What its variable is set to; None where it is not."""
        return self.editor.text

    def show_text(self, text: str | None) -> None:
        """Show what it is; nobody has changed it then."""
        self.editor.show_text(text)
        self._say()

    def use_version(self, version: str | None) -> None:
        """Whose defaults are shown."""
        self.editor.use_version(version)
        absent = words.absent(self.setting, version)
        self.own.setText(absent or words.own(self.setting, version))
        self._absent = bool(absent)
        leave = self.tr("Leave it to PyTorch: {}")
        self.reset.setToolTip(tip(leave.format(words.own(self.setting, version))))
        self.reset.setAccessibleName(self.tr("Reset {}").format(self.setting.name))
        self._say()

    def show_findings(self, found: Sequence[Finding]) -> None:
        """Say what is wrong with it, the worst first."""
        if list(found) != self._found:
            self._found = list(found)
            for widget in self._told:
                self.findings.removeWidget(widget)
                widget.deleteLater()
            self._told = [_line(one) for one in self._found[:_MOST]]
            for widget in self._told:
                self.findings.addWidget(widget)
            self._say()

    def _edited(self) -> None:
        self._say()
        self.changed.emit(self.setting.name, self.text)

    def _reset(self) -> None:
        self.editor.show_text(None)
        self.editor.setFocus()
        self._edited()

    def _say(self) -> None:
        is_set = self.text is not None
        self.reset.setVisible(is_set)
        differs = is_set and self.own.text() != words.owner(self.setting)
        self.own.setVisible(differs or self._absent)
        forms.set_role(self.name, "heading" if is_set else "")
        worst = min((SEVERITIES.index(one.severity) for one in self._found), default=2)
        role = ("error", "warning", "accent" if is_set else "")[worst]
        self.mark.show_role(role)
        state = self.tr("Set in this profile.") if is_set else self.tr("Left to PyTorch.")
        told = [said(one).what for one in self._found[:_MOST]]
        self.editor.describe(self.setting.name, " ".join([self.does.text(), state, *told]))


def _line(one: Finding) -> QWidget:
    icon, role = words.MARKS[one.severity]
    made = QWidget()
    line = forms.row(gap=6)
    line.addWidget(forms.picture(icon, 16, role), 0, Qt.AlignmentFlag.AlignTop)
    text: QLabel = forms.label(said(one).what, role, wrap=True)
    line.addWidget(text, 1)
    made.setLayout(line)
    return made
