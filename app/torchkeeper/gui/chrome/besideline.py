"""The last verification of the place that is shown, as a line under its name."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QToolButton

from torchkeeper.gui import icons, theme
from torchkeeper.gui.verdicts.verifications import Beside
from torchkeeper.gui.widgets.plain import tip

#: Pixels that its mark is wide.
_MARK = 16


class BesideLine(QToolButton):
    """Says it in a line, as long as there is one; pressed, the place is verified again."""

    def __init__(self) -> None:
        super().__init__()
        self._beside: Beside | None = None
        self._room = 0
        self.setObjectName("beside")
        self.setAutoRaise(True)
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.setIconSize(QSize(_MARK, _MARK))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.hide()
        theme.follow(self, self._say, now=False)

    def tell(self, beside: Beside | None) -> None:
        """Say what the last verification came to; None without one."""
        self._beside = beside
        self.setVisible(beside is not None)
        self._say()

    def fit(self, width: int) -> None:
        """Take no more pixels than that."""
        self._room = width
        self._say()

    def _say(self) -> None:
        if (beside := self._beside) is None:
            return
        self.setIcon(icons.icon(beside.icon, getattr(theme.shades(), beside.role)))
        text, elide = beside.line, Qt.TextElideMode.ElideRight
        self.setText(self.fontMetrics().elidedText(text, elide, self._room - _MARK - 12))
        self.setToolTip(tip(f"{text}\n{beside.more}".rstrip()))
        self.setAccessibleName(text)
