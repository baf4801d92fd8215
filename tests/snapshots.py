"""What a folder looks like, to be compared before and after."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Container
from pathlib import Path

from torchkeeper.artifacts.layout import TRASH
from torchkeeper.stores.folders.receipts import FILES, PLACED


def of_imports(root: Path) -> set[Path]:
    """The receipts of imports that replaced nothing, and a trash where nothing else is in it."""
    found = set[Path]()
    for trash in root.rglob(TRASH):
        every = set(trash.iterdir())
        noted = {x for x in every if (x / PLACED).exists() and not any((x / FILES).glob("*"))}
        found |= noted | {trash} if every == noted else noted
    return found


def below(root: Path) -> list[Path]:
    """What is below a folder, without its trash."""
    return sorted(x for x in root.rglob("*") if TRASH not in x.relative_to(root).parts)


def snapshot(
    root: Path, times: bool = True, only: Container[str] | None = None
) -> dict[str, tuple[object, ...]]:
    """Every path below a folder, or ``only`` some, with its type, mode, content, and with ``times``
    its mtime. What imports note for undo in the trash is left out.
    """
    found: dict[str, tuple[object, ...]] = {}
    noted = of_imports(root)
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if Path(folder, name) not in noted]
        for name in [*folders, *files, "."]:
            path = Path(folder) / name
            called = os.path.normpath(path.relative_to(root))
            if only is not None and called not in only:
                continue
            status = path.lstat()
            content = ""
            if stat.S_ISREG(status.st_mode):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            elif stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            about: tuple[object, ...] = (status.st_mode, content)
            if times:
                about = (*about, status.st_mtime_ns)
            found[called] = about
    return found
