"""Before the window: an engine starts, and lists what will be shown, while Qt is loaded."""

from __future__ import annotations

import builtins
import os
import sys

from torchkeeper.client import handover
from torchkeeper.client.desktop import display
from torchkeeper.client.engines.process import Ahead, Engine
from torchkeeper.client.paths import what_at_once
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.gui import CURRENT, NAME
from torchkeeper.stores.names import scheme_of


def run(files: list[str], alone: bool = False) -> int:
    """Open the window on these files and folders, or on what was shown last; where one is open, in
    that, unless ``alone``. Returns the exit code at its end. Raises UserError as ``display.check``.
    """
    display.check()
    seat = handover.claim()
    if seat is not None and not seat.first and not alone:
        if handover.hand_over(seat, handover.of(files)):
            sys.stderr.write("torchkeeper: The window that is open has taken it.\n")
            return 0
        seat = handover.claim()  # it may have gone meanwhile
    first = folder_of(files)
    ahead = None
    try:
        with display.needed():
            ahead = started(first)
            load_qt()
            from torchkeeper.gui import app
    except UserError:
        if ahead:
            ahead.engine.close_and_wait()
        raise

    return app.run(files, ahead, first, seat)


def load_qt() -> None:
    """Load what all of Qt needs. Raises ImportError."""
    from PySide6 import QtCore  # noqa: F401

    # PySide puts its own in the place of Python's: it reads the source of every module that is
    # imported from then on, and keeps it, to see whether it switches PySide's "features" on. None
    # of ours does, and reading all of them takes as long as to make the widgets.
    builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)


def folder_of(files: list[str]) -> str | None:
    """The last of these that is a folder, or does not answer at once, or a server: its path."""
    for file in reversed(files):
        if not scheme_of(file).local:
            return file
        if what_at_once(file) in ("folder", "silent"):
            return os.path.abspath(file)
    return None


def started(folder: str | None) -> Ahead | None:
    """An engine that is listing this folder, or else what was shown last; None if none starts."""
    try:
        ahead = Ahead(Engine())
    except UserError:
        return None  # the window tries again, and says why not
    if folder is None:
        from PySide6.QtCore import QSettings

        folder = str(QSettings(NAME, NAME).value(CURRENT) or "")
    # For a server it may need a password, which takes long to find, as does another machine.
    scheme = scheme_of(folder or "")
    if folder and not (scheme.may_want_password or scheme.elsewhere):
        # Exactly what gui.places.listing is going to ask for first.
        ahead.ask(protocol.LIST, {"place": folder, "unless": ""})
    return ahead
