"""What changes when an interpreter, its torch, the compiler or the machine does, so that what was
found of them can be kept. Looks at the disk; starts nothing.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

#: Variables of a session, or how these begin, that decide nothing of what torch a program finds and
#: what that finds. Any other may: a setting of PyTorch's may ask for a variable of any name, as
#: ``CI``, ``AOT_PARTITIONER_DEBUG`` or ``INDUCTOR_PROVENANCE``.
_OF_SESSION = (
    "COLOR", "COLUMNS", "DBUS_", "DESKTOP_", "DISPLAY", "EDITOR", "GDM", "GIO_", "GNOME_", "GPG_",
    "GTK_", "HIST", "INVOCATION_ID", "JOURNAL_STREAM", "KDE_", "KITTY_", "KONSOLE_", "LESS",
    "LINES", "LS_COLORS", "MAIL", "MANAGERPID", "MOTD", "NO_COLOR", "OLDPWD", "PAGER", "PROMPT",
    "PS1", "PWD", "PYTEST_", "SESSION_", "SHELL", "SHLVL", "SSH_", "STY", "SUDO_", "SYSTEMD_",
    "TERM", "TMUX", "VIRTUAL_ENV", "VISUAL", "VSCODE_", "VTE_", "WAYLAND_", "WEZTERM_", "WINDOW",
    "XAUTHORITY", "XDG_",
)  # fmt: skip
#: Characters of a .pth file that are read.
_PTH = 1 << 14


def installed(python: str, env: Mapping[str, str]) -> tuple[Any, ...]:
    """All of that, for an interpreter that would be started with these variables."""
    return (
        tuple(_files(python, env)),
        tuple(sorted(x for x in env.items() if x[0] != "_" and not x[0].startswith(_OF_SESSION))),
        # Devices and drivers come and go with a start of the machine, most of them.
        _content("/proc/sys/kernel/random/boot_id"),
        _content("/proc/driver/nvidia/version"),
        # Not every system can hold a process to some of its processors.
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    )


def _files(python: str, env: Mapping[str, str]) -> Iterator[tuple[Any, ...]]:
    """The files and folders that change when the interpreter, its torch or the compiler does."""
    prefix, real = Path(os.path.abspath(python)).parent.parent, Path(os.path.realpath(python))
    packages = {Path(p) for p in env.get("PYTHONPATH", "").split(os.pathsep) if p}
    for where in {prefix, real.parent.parent, Path(os.path.expanduser("~/.local"))}:
        for pattern in ("lib*/python3*/site-packages", "lib/python3*/dist-packages"):
            packages.update(where.glob(pattern))
    looked_at = [real, prefix / "pyvenv.cfg"]
    for folder in sorted({*packages, *(path for one in packages for path in _led_to(one))}):
        looked_at += [folder, folder / "torch" / "version.py", folder / "triton" / "__init__.py"]
    compilers = (shutil.which(name) for name in (env.get("CXX") or "", "g++", "clang++"))
    looked_at += [Path(os.path.realpath(found)) for found in compilers if found]
    for path in looked_at:
        with contextlib.suppress(OSError):
            found = path.stat()
            yield str(path), found.st_ino, found.st_size, found.st_mtime_ns


def _led_to(packages: Path) -> Iterator[Path]:
    """The .pth files of a folder of packages, and the folders that they add (site)."""
    for file in filter(Path.is_file, packages.glob("*.pth")):
        yield file
        with contextlib.suppress(OSError), file.open(encoding="utf-8", errors="replace") as opened:
            for line in map(str.strip, opened.read(_PTH).splitlines()):
                if line and "\0" not in line and not line.startswith(("#", "import ", "import\t")):
                    yield packages / line


def _content(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
