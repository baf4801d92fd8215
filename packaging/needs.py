"""What Qt and the C++ compiler need from the system, and which Debian package has it.

Prints one line per missing thing: the package (`-` where none is known), a tab, what is missing.
Arguments: the interpreter that has, or will have, torch; without it, the one that runs this. Then
the extras of pyproject.toml that are to be installed: the tests need more than the app.
Standard library only, because it runs before anything is installed.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# What the libraries and platform plugins of PySide6-Essentials 6.12 ask for (`objdump -p`) and
# its wheel does not bring, in Debian 12's names. Later releases answer to these names too.
LIBRARIES = {
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libzstd.so.1": "libzstd1",
    "libz.so.1": "zlib1g",
    "libdbus-1.so.3": "libdbus-1-3",
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libX11.so.6": "libx11-6",
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxcb.so.1": "libxcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
}

FONTS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")

# Both, because Debian's own interpreter answers /usr/local outside a virtual environment.
ASK_HEADERS = (
    "import sys, sysconfig as s; print(sys.version_info[1]);"
    "print(s.get_path('include')); print(s.get_path('include', 'posix_prefix'))"
)


def libraries() -> Iterator[tuple[str, str]]:
    # Loaded, not looked up: only so is LD_LIBRARY_PATH or a private prefix taken into account.
    for name, package in LIBRARIES.items():
        try:
            ctypes.CDLL(name)
        except OSError:
            yield package, name


def fonts() -> Iterator[tuple[str, str]]:
    for folder in FONTS:
        for _, _, files in os.walk(Path(folder).expanduser()):
            if any(file.endswith((".ttf", ".otf", ".ttc")) for file in files):
                return
    yield "fonts-dejavu-core", "a font"


def compiler() -> Iterator[tuple[str, str]]:
    chosen = os.environ.get("CXX")
    if not shutil.which(chosen.split()[0] if chosen and chosen.split() else "g++"):
        yield ("-", f"the C++ compiler {chosen} that CXX names") if chosen else ("g++", "g++")


def python_headers(python: str) -> Iterator[tuple[str, str]]:
    asked = subprocess.run(
        [python, "-c", ASK_HEADERS], capture_output=True, text=True, check=True, cwd="/"
    )
    minor, *folders = asked.stdout.splitlines()
    if not any(Path(folder, "Python.h").is_file() for folder in folders):
        ours = any(folder.startswith("/usr/include") for folder in folders)
        yield f"python3.{minor}-dev" if ours else "-", f"Python.h for {python}"


def venv() -> Iterator[tuple[str, str]]:
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        yield f"python3.{sys.version_info[1]}-venv", "python's venv module"


def servers(extras: list[str]) -> Iterator[tuple[str, str]]:
    if "test" in extras and not shutil.which("ssh-keygen"):
        yield "openssh-client", "ssh-keygen, with which the tests sign bundles"
    if "test" in extras and not shutil.which("redis-server"):
        yield "redis-server", "redis-server, which the tests start"


#: The desktop's own tools, which the tests have look at what the app tells a desktop.
DESKTOP = {
    "desktop-file-validate": "desktop-file-utils",
    "update-mime-database": "shared-mime-info",
    "appstreamcli": "appstream",
    "gio": "libglib2.0-bin",
    "xdg-mime": "xdg-utils",
    "dbus-daemon": "dbus",
}


def desktop(extras: list[str]) -> Iterator[tuple[str, str]]:
    for name, package in DESKTOP.items():
        if "test" in extras and not shutil.which(name):
            yield package, f"{name}, with which the tests look at what desktops are told"


def main() -> None:
    python = sys.argv[1] if len(sys.argv) > 1 else sys.executable
    extras = sys.argv[2:]
    groups = (
        *(venv(), compiler(), python_headers(python), libraries(), fonts()),
        *(servers(extras), desktop(extras)),
    )
    seen = set()
    for group in groups:
        for package, what in group:
            if package == "-" or package not in seen:
                seen.add(package)
                sys.stdout.write(f"{package}\t{what}\n")


if __name__ == "__main__":
    main()
