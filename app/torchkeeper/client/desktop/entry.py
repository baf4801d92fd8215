"""The desktop entry, with the program that it starts written as the specification wants it."""

from __future__ import annotations

import importlib.resources
import os
import sys
import sysconfig
from collections.abc import Callable, Sequence

from torchkeeper.client.words.problems import UserError, printable

_NAME = "torchkeeper"
#: What a quoted argument of Exec has a backslash before.
_QUOTED = str.maketrans({c: "\\" + c for c in '"`$\\'})
#: Runs what stands behind it.
_SHELL = ("/bin/sh", "-c", 'exec "$0" "$@"')


def program() -> list[str]:
    """The command that starts this very app, by absolute paths; the venv's, where it is in one."""
    asked = os.path.abspath(sys.argv[0])
    beside = os.path.join(sysconfig.get_path("scripts"), _NAME)
    for path in (asked, beside):
        # Not followed: a link may stay where it is while that to which it leads is upgraded.
        if os.path.basename(path) == _NAME and os.access(path, os.X_OK) and os.path.isfile(path):
            return [path]
    return [os.path.abspath(sys.executable), "-m", "torchkeeper"]


def filled(template: str, command: Sequence[str]) -> str:
    """The entry that starts a command. Raises UserError for a path that no entry can hold."""
    for part in command:
        if not part.isprintable():
            raise UserError(
                f"No desktop entry can start {printable(part)}.",
                "Its path has characters that such a file cannot hold.",
                "Install Torchkeeper in a folder without them.",
                code="desktop-program",
            )
    # GLib looks for a program before it makes one percent sign of two, and the specification wants
    # no “=” in the name of one; a shell minds neither.
    through = _SHELL if set(command[0]) & set("%=") else ()
    words = " ".join(_argument(part) for part in (*through, *command))
    return template.replace("@program@", words).replace("@try@", _text(command[0]))


def _argument(word: str) -> str:
    """A word of Exec: quoted, its percent signs doubled, and then escaped as any text of a file."""
    return _text('"' + word.translate(_QUOTED).replace("%", "%%") + '"')


def _text(value: str) -> str:
    """A value of the type string; only a backslash has a meaning in what is printable."""
    return value.replace("\\", "\\\\")


# The files that tell a desktop of the app, by where they stand in a folder of shared data.

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
        f"applications/{NAME}.desktop": filled(template, command).encode(),
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
