"""The desktop's file manager, asked over the session bus to show a file.

As of the interface org.freedesktop.FileManager1 (freedesktop.org, “File manager D-Bus interface”).
"""

from __future__ import annotations

from pathlib import Path

_NAME, _PATH = "org.freedesktop.FileManager1", "/org/freedesktop/FileManager1"


def shows(path: str, *, folder: bool) -> bool:
    """Show a file in its folder, or what is in a ``folder``; whether a file manager does. Waits as
    long as one may take to start (``dbus.PATIENCE``).
    """
    try:
        from torchkeeper.client.desktop.dbus import Bus, address

        there = address()
        if there is None:
            return False
        bus = Bus.reach(there)
    except (ImportError, OSError, ValueError):  # jeepney is there on Linux alone
        return False
    try:
        uri = Path(path).absolute().as_uri()
        bus.call(_NAME, _PATH, _NAME, "ShowFolders" if folder else "ShowItems", "ass", [uri], "")
    except (OSError, ValueError):
        return False
    finally:
        bus.line.close()
    return True
