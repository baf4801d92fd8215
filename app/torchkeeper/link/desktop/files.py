"""The files that tell a desktop of the app, by where they stand in a folder of shared data."""

from __future__ import annotations

import importlib.resources
from collections.abc import Callable, Sequence

from torchkeeper.link.desktop import entry

#: The application's name for the desktop (QGuiApplication.desktopFileName), and its files' type.
NAME = "torchkeeper"
TYPE = "application/x-torchcache"
#: Sides of the pictures of those desktops that draw no SVG, in pixels.
SIDES = (16, 22, 24, 32, 48, 64, 128, 256, 512)

#: Draws an SVG as a square PNG with sides of so many pixels.
Draw = Callable[[bytes, int], bytes]

_THEME = "icons/hicolor"
#: What has an icon: its folder in an icon theme, its name there, and where its SVG is.
_ICONS = (
    ("apps", NAME, "icons/torchkeeper.svg"),
    ("mimetypes", TYPE.replace("/", "-"), "desktop/application-x-torchcache.svg"),
)


def _read(name: str) -> bytes:
    return (importlib.resources.files("torchkeeper.resources") / name).read_bytes()


def made(command: Sequence[str], draw: Draw | None) -> dict[str, bytes]:
    """What each file holds, by its path; without ``draw`` there are no PNGs. Raises UserError where
    no desktop entry can start the command.
    """
    template = _read(f"desktop/{NAME}.desktop").decode()
    files = {
        f"applications/{NAME}.desktop": entry.filled(template, command).encode(),
        f"mime/packages/{NAME}.xml": _read(f"desktop/{NAME}.xml"),
        f"metainfo/{NAME}.metainfo.xml": _read(f"desktop/{NAME}.metainfo.xml"),
        f"{_THEME}/symbolic/apps/{NAME}-symbolic.svg": _read(f"desktop/{NAME}-symbolic.svg"),
    }
    for folder, name, source in _ICONS:
        svg = _read(source)
        files[f"{_THEME}/scalable/{folder}/{name}.svg"] = svg
        for side in SIDES if draw else ():
            assert draw is not None
            files[f"{_THEME}/{side}x{side}/{folder}/{name}.png"] = draw(svg, side)
    return files
