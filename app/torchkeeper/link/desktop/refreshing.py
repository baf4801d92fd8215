"""What has to be run after files for desktops were put somewhere, or taken away.

Desktops read what these programs make of the files, not the files. Where one is missing, the next
package that is installed runs it, or nobody needs it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import NamedTuple

#: Seconds one of them may take; where thousands of types and icons are, it takes a few.
_PATIENCE = 120


class Refresher(NamedTuple):
    """A program, the folder that it looks into, and the names of what it makes there."""

    argv: tuple[str, ...]
    folder: str
    makes: frozenset[str]


ALL = (
    Refresher(
        ("update-mime-database",), "mime",
        frozenset(
            ("XMLnamespaces", "aliases", "application", "generic-icons", "globs", "globs2", "icons",
             "magic", "mime.cache", "subclasses", "treemagic", "types", "version")
        ),
    ),
    Refresher(
        ("update-desktop-database", "-q"), "applications", frozenset(("mimeinfo.cache",))
    ),
    # The theme itself lies elsewhere, in the system's folder.
    Refresher(
        ("gtk-update-icon-cache", "-q", "-f", "-t"), "icons/hicolor",
        frozenset(("icon-theme.cache",)),
    ),
)  # fmt: skip


class Refreshed(NamedTuple):
    """What was run, what is not there to be run, and of what failed the reason, by program."""

    ran: list[str]
    missing: list[str]
    failed: dict[str, str]


def refresh(root: str) -> Refreshed:
    """Run what there is to run for the files in a folder."""
    done = Refreshed([], [], {})
    for one in ALL:
        name = one.argv[0]
        folder = os.path.join(root, *one.folder.split("/"))
        if not os.path.isdir(folder):
            continue
        found = shutil.which(name)
        if found is None:
            done.missing.append(name)
            continue
        why = _run([found, *one.argv[1:], folder])
        if why is None:
            done.ran.append(name)
        else:
            done.failed[name] = why
    return done


def _run(argv: list[str]) -> str | None:
    """Why it failed, in a line; None where it has not."""
    try:
        ran = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_PATIENCE,
        )
    except subprocess.TimeoutExpired:
        return f"it was stopped after {_PATIENCE} seconds"
    except OSError as e:
        return e.strerror or str(e)
    if ran.returncode == 0:
        return None
    said = ran.stderr.decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"it ended with {ran.returncode}"
