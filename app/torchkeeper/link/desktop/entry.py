"""The desktop entry, with the program that it starts written as the specification wants it."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Sequence

from torchkeeper.link.words.problems import UserError, printable

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
