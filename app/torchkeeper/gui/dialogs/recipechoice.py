"""The recipes that can be chosen in a dialog."""

from __future__ import annotations

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QComboBox


def _tr(text: str) -> str:
    return QCoreApplication.translate("Recipes", text)


def recipes() -> QComboBox:
    """A box with all recipes; the data of each is its name."""
    made = QComboBox()
    made.addItem(_tr("Built in: a first look"), "builtin")
    made.setToolTip(help_text())
    return made


def help_text() -> str:
    """What there is in the built-in recipe."""
    return _tr(
        "An op, an MLP trained at two batch sizes, and an attention block, forward and backward."
    )
