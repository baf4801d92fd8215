"""Puts files for desktops into a folder of shared data, and takes away exactly what it has put. A
receipt beside them names each with its sha256: what somebody else wrote, or has changed since, is
neither replaced nor removed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import importlib.resources
import json
import os
import shutil
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from torchkeeper.client.kept import whole
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.stores.atomic import atomic_write

# Desktops read what these programs make of the files, not the files. Where one is missing, the next
# package that is installed runs it, or nobody needs it.

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
    for (name, *options), within, _ in ALL:
        folder = os.path.join(root, *within.split("/"))
        if not os.path.isdir(folder):
            continue
        if (found := shutil.which(name)) is None:
            done.missing.append(name)
        elif (why := _run([found, *options, folder])) is None:
            done.ran.append(name)
        else:
            done.failed[name] = why
    return done


def _run(argv: list[str]) -> str | None:
    """Why it failed, in a line; None where it has not."""
    try:
        ran = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired:
        return f"it was stopped after {_PATIENCE} seconds"
    except OSError as e:
        return e.strerror or str(e)
    if ran.returncode == 0:
        return None
    said = ran.stderr.decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"it ended with {ran.returncode}"


RECEIPT = "torchkeeper/desktop-files.json"
#: Where our files stand: nothing else in a receipt is believed.
_TOPS = ("applications/", "mime/packages/", "metainfo/", "icons/hicolor/")
#: Bytes of a receipt, and of a file that may be ours.
_MOST = 1 << 20


@dataclass
class Placed:
    """What was done, or would be; ``left``: why a file is left as it is."""

    root: str
    written: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    left: dict[str, str] = field(default_factory=dict)
    refreshed: Refreshed = field(default_factory=lambda: Refreshed([], [], {}))


class _Receipt(NamedTuple):
    """Files by path, with their sha256, and folders that were made for them."""

    files: dict[str, str]
    folders: list[str]


def install(
    root: str, files: Mapping[str, bytes], dry_run: bool = False, *, shared: bool = False
) -> Placed:
    """Write the files, and take away what only an earlier one wrote. shared: every user of the
    machine can read them, whatever the umask, which is the whole process's. Raises UserError where
    one cannot be written; what is there by then can be removed.
    """
    placed, before = Placed(root), _read(root)
    wanted, kept = dict[str, bytes](), dict[str, str]()
    for name, data in files.items():
        there, digest = _digest(root, name), hashlib.sha256(data).hexdigest()
        ours = before.files.get(name)
        if there == digest:
            placed.unchanged.append(name)
            if ours is not None:
                kept[name] = digest
        elif there is None or there == ours:
            placed.written.append(name)
            wanted[name], kept[name] = data, digest
        else:
            placed.left[name] = _why(ours)
    stale = [name for name in before.files if name not in files]
    if dry_run:
        placed.removed = [n for n in stale if _digest(root, n) == before.files[n]]
        return placed
    if wanted or stale:
        with _readable(shared):
            with _writing(root):
                _write(root, wanted, kept, before)
            _unlink(root, {name: before.files[name] for name in stale}, placed)
            placed.refreshed = refresh(root)
    return placed


@contextlib.contextmanager
def _readable(shared: bool) -> Iterator[None]:
    """What is made meanwhile, by us and by the programs that are run, can be read by others."""
    before = os.umask(0o022) if shared else None  # nobody else may write to what all users have
    try:
        yield
    finally:
        if before is not None:
            os.umask(before)


def _why(ours: str | None) -> str:
    return "somebody else wrote it" if ours is None else "it was changed since"


def _write(root: str, wanted: Mapping[str, bytes], kept: dict[str, str], before: _Receipt) -> None:
    """Write the receipt first: what is cut off can be removed all the same."""
    made = {
        folder for name in (*wanted, RECEIPT) for folder in _above(name)
        if not os.path.isdir(os.path.join(root, folder))
    }  # fmt: skip
    folders = sorted(made | set(before.folders))
    stale = {name: digest for name, digest in before.files.items() if name not in kept}
    os.makedirs(os.path.join(root, os.path.dirname(RECEIPT)), exist_ok=True)
    # Where a file is replaced, its old digest is in nobody's hands for a moment; the new one is.
    _note(root, _Receipt({**stale, **kept}, folders))
    for name, data in wanted.items():
        path = os.path.join(root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with atomic_write(path, 0o644) as stream:
            stream.write(data)
    _note(root, _Receipt(kept, folders))


def _note(root: str, receipt: _Receipt) -> None:
    whole.write(os.path.join(root, RECEIPT), {"version": 1, **receipt._asdict()})


def remove(root: str, dry_run: bool = False, *, shared: bool = False) -> Placed:
    """Take away what was put there. shared: as of ``install``. Raises UserError."""
    placed, receipt = Placed(root), _read(root)
    _unlink(root, receipt.files, placed, dry_run)
    if dry_run:
        return placed
    if placed.removed:
        with _readable(shared):
            placed.refreshed = refresh(root)
    with _writing(root), contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(root, RECEIPT))
        _clear(root, receipt.folders)
    return placed


def _unlink(root: str, files: Mapping[str, str], placed: Placed, dry_run: bool = False) -> None:
    for name, digest in files.items():
        there = _digest(root, name)
        if there == digest:
            if not dry_run:
                with _writing(root):
                    os.unlink(os.path.join(root, name))
            placed.removed.append(name)
        elif there is not None:
            placed.left[name] = _why(digest)


def _clear(root: str, folders: Iterable[str]) -> None:
    """Take away the folders made, where nothing is left but what programs made of our files."""
    makes = {one.folder: one.makes for one in ALL}
    for folder in sorted(folders, key=len, reverse=True):
        path = os.path.join(root, folder)
        try:
            within = set(os.listdir(path))
            if within and within <= makes.get(folder, frozenset()):
                # Folders first: one that is not empty is somebody else's, as is then all of it.
                inner = {name for name in within if os.path.isdir(os.path.join(path, name))}
                for name in inner:
                    os.rmdir(os.path.join(path, name))
                for name in within - inner:
                    os.unlink(os.path.join(path, name))
            os.rmdir(path)
        except OSError:
            continue  # somebody else uses it, or it is gone


def _above(name: str) -> list[str]:
    """The folders that a file is in, as far as the root."""
    parts = name.split("/")[:-1]
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def _digest(root: str, name: str) -> str | None:
    """The sha256 of a file; None where nothing is; "" for what can be none of ours."""
    path = os.path.join(root, name)
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return ""
        return hashlib.sha256(whole.read(path, _MOST)).hexdigest()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as e:
        if e.errno == errno.EFBIG:
            return ""
        raise _unreadable(path, e) from e


def _read(root: str) -> _Receipt:
    """The receipt, checked: it decides what is removed."""
    path = os.path.join(root, RECEIPT)
    try:
        said = json.loads(whole.read(path, _MOST))
    except (FileNotFoundError, NotADirectoryError):
        return _Receipt({}, [])
    except OSError as e:
        raise _unreadable(path, e) from e
    except (ValueError, RecursionError) as e:
        raise _senseless(path) from e
    match said:
        case {"files": dict() as files, "folders": list() as folders, "version": 1}:
            known = all(map(_known, (*files, *(f"{folder}/" for folder in folders))))
            if known and all(isinstance(digest, str) for digest in files.values()):
                return _Receipt(files, folders)
    raise _senseless(path)


def _known(name: str) -> bool:
    """Whether a file, or a folder with a slash behind it, can be one of ours."""
    above = {f"{folder}/" for top in (*_TOPS, RECEIPT) for folder in _above(top)}
    parts = {*name.removesuffix("/").split("/")}
    inside = name.startswith(_TOPS) and not {"", ".", ".."} & parts and "\0" not in name
    return name in above or inside


@contextlib.contextmanager
def _writing(root: str) -> Iterator[None]:
    try:
        yield
    except OSError as e:
        raise UserError(
            f"{printable(e.filename or root)} cannot be written.",
            f"{e.strerror or e}.",
            "Check its owner and permissions; without --system it is your own folder.",
            code="desktop-unwritable",
        ) from e


def _unreadable(path: str, e: OSError) -> UserError:
    return UserError(
        f"{printable(path)} cannot be read.", f"{e.strerror or e}.",
        "Check its owner and permissions.", code="desktop-unreadable",
    )  # fmt: skip


def _senseless(path: str) -> UserError:
    return UserError(
        f"{printable(path)} makes no sense.",
        "It says what install-desktop wrote, and was changed since.",
        "Remove that file to begin again. The files that it lists stay.",
        code="desktop-receipt",
    )


#: The application's name for the desktop (QGuiApplication.desktopFileName), and its files' type.
NAME = "torchkeeper"
TYPE = "application/x-torchcache"
#: What a quoted argument of Exec has a backslash before.
_QUOTED = str.maketrans({c: "\\" + c for c in '"`$\\'})
#: Runs what stands behind it.
_SHELL = ("/bin/sh", "-c", 'exec "$0" "$@"')


def program() -> list[str]:
    """The command that starts this very app, by absolute paths; the venv's, where it is in one."""
    beside = os.path.join(sysconfig.get_path("scripts"), NAME)
    for path in (os.path.abspath(sys.argv[0]), beside):
        # Not followed: a link may stay where it is while that to which it leads is upgraded.
        if os.path.basename(path) == NAME and os.access(path, os.X_OK) and os.path.isfile(path):
            return [path]
    return [os.path.abspath(sys.executable), "-m", "torchkeeper"]


def filled(template: str, command: Sequence[str]) -> str:
    """The entry that starts a command. Raises UserError for a path that no entry can hold."""
    if part := next((one for one in command if not one.isprintable()), ""):
        raise UserError(
            f"No desktop entry can start {printable(part)}.",
            "Its path has characters that such a file cannot hold.",
            "Install Torchkeeper in a folder without them.",
            code="desktop-program",
        )
    # GLib looks for a program before it makes one percent sign of two, and the specification wants
    # no “=” in the name of one; a shell minds neither.
    through = _SHELL if set(command[0]) & set("%=") else ()
    # A word of Exec is quoted, its percent signs are doubled, then it is escaped as any text is: of
    # what is printable only a backslash has a meaning.
    words = " ".join(f'"{part.translate(_QUOTED)}"' for part in (*through, *command))
    program, first = (text.replace("\\", "\\\\") for text in (words.replace("%", "%%"), command[0]))
    return template.replace("@program@", program).replace("@try@", first)


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


def _entry_read(name: str) -> bytes:
    return (importlib.resources.files("torchkeeper.resources") / name).read_bytes()


def made(command: Sequence[str], draw: Draw | None) -> dict[str, bytes]:
    """What each file holds, by its path; PNGs with ``draw``. Raises UserError as ``filled``."""
    template = _entry_read(f"desktop/{NAME}.desktop").decode()
    files = {
        f"applications/{NAME}.desktop": filled(template, command).encode(),
        f"mime/packages/{NAME}.xml": _entry_read(f"desktop/{NAME}.xml"),
        f"metainfo/{NAME}.metainfo.xml": _entry_read(f"desktop/{NAME}.metainfo.xml"),
        f"{_THEME}/symbolic/apps/{NAME}-symbolic.svg": _entry_read(f"desktop/{NAME}-symbolic.svg"),
    }
    for folder, name, source in _ICONS:
        svg = _entry_read(source)
        files[f"{_THEME}/scalable/{folder}/{name}.svg"] = svg
        if draw is not None:
            for side in SIDES:
                files[f"{_THEME}/{side}x{side}/{folder}/{name}.png"] = draw(svg, side)
    return files
