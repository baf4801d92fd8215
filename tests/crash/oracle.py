"""What lies in a folder, told so that two that mean the same are equal."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from pathlib import Path, PurePath

from torchkeeper.artifacts.layout import JOURNAL, TRASH
from torchkeeper.stores.folders.receipts import PLACED

#: Seconds since the epoch; what is older has the time that it was given, what is newer is new.
NEW = 1_500_000_000
#: What an export or a signing that was killed may leave beside its bundle until the next one.
SCRATCH = ".torchkeeper-"

_LINES = 6

State = dict[str, tuple[object, ...]]


def age(root: Path) -> None:
    """Give everything in a folder an old time of its own."""
    paths = sorted(root.rglob("*"), reverse=True)  # what is in a folder before that
    for number, path in enumerate([*paths, root]):
        os.utime(path, (10**9 + number, 10**9 + 2 * number), follow_symlinks=False)


def state(root: Path, folder_times: bool = True, scratch: bool = True) -> State:
    """Every path with its type, mode, content and time.

    Receipts of the trash go by their order instead of their names, and their texts, which have the
    time of day in them, are not compared; times that are new are equal. Of a list the items count,
    whose order PyTorch does not mind, and of what an import has placed the lines, whose order undo
    does not mind. Without ``folder_times`` those of folders are not compared,
    without ``scratch`` that is left out, and so is a journal.
    """
    found: State = {}
    receipts = sorted(name for name in os.listdir(root / TRASH)) if (root / TRASH).is_dir() else []
    for folder, folders, files in os.walk(root):
        for name in [*folders, *files]:
            path = os.path.join(folder, name)
            if not scratch and _is_scratch(name):
                continue
            status = os.lstat(path)
            content = ""
            named = os.path.relpath(path, root)
            parts = named.split("/")
            if parts[0] == TRASH and len(parts) > 1:
                parts[1] = str(receipts.index(parts[1]))
                named = "/".join(parts)
            timed = folder_times or not stat.S_ISDIR(status.st_mode)
            if stat.S_ISREG(status.st_mode) and parts[0::2] != [TRASH, "receipt.json"]:
                content = _content(path)
                timed = not is_list(path)
            new = status.st_mtime >= NEW or not timed
            found[named] = (status.st_mode, content, "new" if new else status.st_mtime_ns)
    return found


def _is_scratch(name: str) -> bool:
    return name.startswith(SCRATCH) and name.endswith((".tmp", ".jsonl"))


def outside(found: State) -> State:
    """What is not in the trash, without the times of folders: whether one is new depends on whether
    what lies in it went and came.
    """
    here = {path: about for path, about in found.items() if path.split("/")[0] != TRASH}
    folders = {path for path in here if stat.S_ISDIR(int(str(here[path][0])))}
    return {path: about[:2] if path in folders else about for path, about in here.items()}


def untimed(found: State) -> State:
    """A state without the times of folders in the trash: a receipt says what they are to be."""
    trash = {path for path in found if path.startswith(f"{TRASH}/")}
    folders = {path for path in trash if stat.S_ISDIR(int(str(found[path][0])))}
    return {path: about[:2] if path in folders else about for path, about in found.items()}


def files_of(found: State) -> set[tuple[str, object]]:
    """Each file by its path and what is in it, wherever it lies; but for lists, and what is written
    down of it.
    """
    contents: set[tuple[str, object]] = set()
    for path, (mode, content, _) in found.items():
        parts = path.split("/")
        if parts[0] == TRASH:
            parts = parts[3:] if parts[2:3] == ["files"] else []
        if (
            parts
            and not path.startswith(JOURNAL)
            and stat.S_ISREG(int(str(mode)))
            and not is_list(path)
        ):
            contents.add(("/".join(parts), content))
    return contents


def is_list(path: str) -> bool:
    """Whether a file lists several entries."""
    return "aoti_eager/" in path and "/lib/" not in path and path.endswith(".json")


def _content(path: str) -> str:
    with open(path, "rb") as stream:
        if path.endswith(f"/{PLACED}"):
            return hashlib.sha256(b"".join(sorted(stream))).hexdigest()
        if not is_list(path):
            return hashlib.file_digest(stream, "sha256").hexdigest()
        try:
            items = sorted(json.dumps(item, sort_keys=True) for item in json.load(stream))
        except ValueError:
            return "no list"
    return hashlib.sha256(json.dumps(items).encode()).hexdigest()


def furnished(found: State, wanted: State) -> State:
    """A state without the folders that are not wanted and hold nothing but such."""
    kept = {path for path, (mode, _, _) in found.items() if not stat.S_ISDIR(int(str(mode)))}
    kept |= {str(folder) for path in kept for folder in PurePath(path).parents}
    return {path: about for path, about in found.items() if path in kept or path in wanted}


def differences(found: State, wanted: State) -> str:
    """What is too much, what is missing and what is another, in some lines."""
    lines = []
    for path in sorted({*found, *wanted}):
        if path not in wanted:
            lines.append(f"+ {path}")
        elif path not in found:
            lines.append(f"- {path}")
        elif found[path] != wanted[path]:
            lines.append(f"? {path} {_short(found[path])} instead of {_short(wanted[path])}")
    if len(lines) > _LINES:
        lines[_LINES:] = [f"and {len(lines) - _LINES} more"]
    return "\n".join(lines)


def _short(about: tuple[object, ...]) -> str:
    mode, content, modified = about
    return f"{mode:o} {str(content)[:8]} {modified}"
