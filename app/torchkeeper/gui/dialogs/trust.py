"""The notice over what comes from others: it is code."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from torchkeeper.gui.widgets import forms


def trust_notice(what: str, advice: str | QWidget, mild: bool = False) -> QWidget:
    """A notice that cannot be overlooked; ``advice``: what to think of before going on. mild: about
    what is the user's own, where it is no alarm.
    """
    texts = forms.column(gap=2)
    texts.addWidget(forms.label(what, "heading"))
    texts.addWidget(advice if isinstance(advice, QWidget) else forms.label(advice, wrap=True))
    line = forms.row(gap=12)
    line.setContentsMargins(12, 10, 12, 10)
    line.addWidget(
        forms.picture("shield", 28, "muted" if mild else "error"), 0, Qt.AlignmentFlag.AlignTop
    )
    line.addLayout(texts, 1)
    return forms.frame("hint" if mild else "notice", line)
