"""Editing in a line of a list: what somebody types is not replaced by what the list shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QLineEdit, QStyledItemDelegate, QWidget

if TYPE_CHECKING:
    from PySide6.QtCore import QModelIndex, QPersistentModelIndex


class EditingDelegate(QStyledItemDelegate):
    """Leaves an editor alone in which somebody has typed.

    Qt tells the editor of a line to show the model's value again whenever anything of that line
    changes, such as an icon (QAbstractItemView::dataChanged).
    """

    def setEditorData(self, editor: QWidget, index: QModelIndex | QPersistentModelIndex) -> None:
        """Qt's."""
        if not (isinstance(editor, QLineEdit) and editor.isModified()):
            super().setEditorData(editor, index)
