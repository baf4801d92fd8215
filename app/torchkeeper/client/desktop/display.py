"""Whether a window can be opened here, found before Qt is asked: it ends the process where not."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from torchkeeper.client.words.problems import UserError, user_error

#: Seconds a display has to answer.
PATIENCE = 5.0
#: Which package of Debian and Ubuntu brings a library that Qt's own load, by what they are called
#: (objdump -p of libQt6Gui.so.6, platforms/libqxcb.so and platforms/libqwayland.so of PySide6).
_ANYWHERE = {
    "libEGL.so.1": "libegl1",
    "libGL.so.1": "libgl1",
    "libX11.so.6": "libx11-6",
    "libdbus-1.so.3": "libdbus-1-3",
    "libfontconfig.so.1": "libfontconfig1",
    "libfreetype.so.6": "libfreetype6",
    "libglib-2.0.so.0": "libglib2.0-0",
    "libgthread-2.0.so.0": "libglib2.0-0",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libz.so.1": "zlib1g",
    "libzstd.so.1": "libzstd1",
}
_XCB = {
    "libX11-xcb.so.1": "libx11-xcb1",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-render.so.0": "libxcb-render0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-shm.so.0": "libxcb-shm0",
    "libxcb-sync.so.1": "libxcb-sync1",
    "libxcb-util.so.1": "libxcb-util1",
    "libxcb-xfixes.so.0": "libxcb-xfixes0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
    "libxcb.so.1": "libxcb1",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
}
_WAYLAND = {
    "libwayland-client.so.0": "libwayland-client0",
    "libwayland-cursor.so.0": "libwayland-cursor0",
}
#: Of a screen; the others of Qt's platforms need none.
_SCREENS = {"xcb": _XCB, "wayland": _WAYLAND}
_LIBRARY = re.compile(r"(lib[\w.+-]+\.so[\w.]*)")
#: What installs the window where one of these has installed us, by the file it leaves in its
#: environment; pip does everywhere else.
_INSTALLERS = {
    "uv-receipt.toml": "uv tool install",
    "pipx_metadata.json": "pipx install --force",
}


def check(env: Mapping[str, str] = os.environ) -> None:
    """Raises UserError("display-missing" | "display-silent" | "display-unknown" |
    "qt-library-missing" | "qt-missing") where a window cannot be opened.
    """
    if not sys.platform.startswith("linux"):
        return
    found = importlib.util.find_spec("PySide6")
    if found is None or not found.submodule_search_locations:
        raise _uninstalled()
    plugins = Path(found.submodule_search_locations[0]) / "Qt" / "plugins" / "platforms"
    asked = [name.partition(":")[0] for name in env.get("QT_QPA_PLATFORM", "").split(";") if name]
    for name in asked:
        # Qt takes names such as wayland-egl for its Wayland platform.
        if plugins.is_dir() and not (plugins / f"libq{name.partition('-')[0]}.so").exists():
            raise user_error("display-unknown", {"name": name})
    if asked and not any(name.partition("-")[0] in _SCREENS for name in asked):
        _load(_ANYWHERE)
        return
    screens: dict[str, tuple[str, Callable[[str], bool]]] = {
        "wayland": (env.get("WAYLAND_DISPLAY", ""), lambda name: _wayland(name, env)),
        "xcb": (env.get("DISPLAY", ""), _x11),
    }
    wanted = [name.partition("-")[0] for name in asked] or list(screens)
    named = [name for name in wanted if name in screens and screens[name][0]]
    if not named:  # whatever else is missing, too
        raise user_error("display-missing", {})
    _load(_ANYWHERE)
    faults: list[UserError] = []
    for name in named:
        address, answers = screens[name]
        try:
            _load(_SCREENS[name])
            if answers(address):
                return
            faults.append(user_error("display-silent", {"display": address}))
        except UserError as fault:
            faults.append(fault)  # Qt takes the next then, and so do we
    raise faults[0]


@contextlib.contextmanager
def needed() -> Iterator[None]:
    """While Qt is loaded. Raises UserError where it cannot be, with what is missing."""
    try:
        yield
    except ImportError as error:
        found = _LIBRARY.search(str(error))
        raise (_without(found[1]) if found else _uninstalled()) from error


def install() -> str:
    """The command that installs the window, as the app itself was installed."""
    made = (command for file, command in _INSTALLERS.items()
            if os.path.exists(os.path.join(sys.prefix, file)))  # fmt: skip
    return f"{next(made, 'pip install')} 'torchkeeper[gui]'"


def _uninstalled() -> UserError:
    return user_error("qt-missing", {"install": install()})


def _load(libraries: Mapping[str, str]) -> None:
    """Load what Qt is going to load. Raises UserError("qt-library-missing")."""
    import ctypes

    for library in libraries:
        try:
            ctypes.CDLL(library)
        except OSError:
            raise _without(library) from None


def _without(library: str) -> UserError:
    package = {**_ANYWHERE, **_XCB, **_WAYLAND}.get(library)
    said = f"apt install {package}" if package else f"the package that has {library}"
    return user_error("qt-library-missing", {"library": library, "install": said})


def _wayland(name: str, env: Mapping[str, str]) -> bool:
    """Whether somebody listens where a compositor does (wl_display_connect(3))."""
    import socket  # only here: it takes some milliseconds

    path = os.path.join(env.get("XDG_RUNTIME_DIR", ""), name)
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as door:
        door.settimeout(PATIENCE)
        door.connect(path)
        return True
    return False


def _x11(name: str) -> bool:
    """Whether an X server takes us in, who may want a proof (xcb_connect of libxcb)."""
    import ctypes

    xcb = ctypes.CDLL("libxcb.so.1")
    xcb.xcb_connect.restype = ctypes.c_void_p
    for function in (xcb.xcb_connection_has_error, xcb.xcb_disconnect):
        function.argtypes = [ctypes.c_void_p]
    said: list[bool] = []

    def ask() -> None:
        # Never NULL; one that has failed is to be freed like any other.
        connection = xcb.xcb_connect(os.fsencode(name), None)
        said.append(xcb.xcb_connection_has_error(connection) == 0)
        xcb.xcb_disconnect(connection)

    # One that takes the connection and says nothing would hold us for ever.
    asking = threading.Thread(target=ask, name="display", daemon=True)
    asking.start()
    asking.join(PATIENCE)
    return any(said)
