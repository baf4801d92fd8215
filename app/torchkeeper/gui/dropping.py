"""Files that are dropped on windows and dialogs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PySide6.QtGui import QDropEvent


def files_of(event: QDropEvent) -> list[str]:
    """The paths of the files of this machine that are dragged."""
    return [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
