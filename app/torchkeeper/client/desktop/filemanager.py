"""The desktop's file manager, asked over the session bus to show a file.

As of the interface org.freedesktop.FileManager1 (freedesktop.org, “File manager D-Bus interface”).
"""

from __future__ import annotations

import contextlib
from pathlib import Path

_NAME, _PATH = "org.freedesktop.FileManager1", "/org/freedesktop/FileManager1"


def shows(path: str, *, folder: bool) -> bool:
    """Whether a file manager shows a file, or what is in a ``folder``. Waits up to PATIENCE."""
    try:
        from torchkeeper.client.desktop.dbus import Bus, address

        bus = Bus.reach(address())
        with contextlib.closing(bus.line):
            uri, what = Path(path).absolute().as_uri(), "ShowFolders" if folder else "ShowItems"
            bus.call(_NAME, _PATH, _NAME, what, "ass", [uri], "")
    except (ImportError, OSError, ValueError):  # jeepney is there on Linux alone
        return False
    return True
