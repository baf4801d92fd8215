"""Starts the window, in the language of the session where there is a translation into it."""

from __future__ import annotations

import faulthandler
import importlib
import os
import signal
import sys
import threading
import traceback
from functools import partial
from types import TracebackType

from PySide6.QtCore import (
    QCoreApplication,
    QLocale,
    QObject,
    QSettings,
    QSocketNotifier,
    Qt,
    Signal,
)
from PySide6.QtWidgets import QApplication, QWidget

from torchkeeper.artifacts.version import VERSION
from torchkeeper.client import handover
from torchkeeper.client.engines.process import Ahead
from torchkeeper.client.handover import Seat
from torchkeeper.client.words import say, tongue
from torchkeeper.gui import NAME, theme
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.widgets.lists import FirstKey
from torchkeeper.gui.window import Window
from torchkeeper.stores.names import scheme_of


class Bugs(QObject):
    """Takes the place of ``sys.excepthook`` while the window is up; reports each bug once."""

    #: A traceback; from whatever thread, delivered on the main thread.
    found = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._seen: set[str] = set()
        self._window: QWidget | None = None
        self.found.connect(self._report, Qt.ConnectionType.QueuedConnection)

    def install(self, window: QWidget) -> None:
        """Report from now on, over this window."""
        self._window = window
        sys.excepthook = self.hook
        threading.excepthook = lambda args: self.hook(
            args.exc_type, args.exc_value or args.exc_type(), args.exc_traceback
        )

    def hook(
        self, kind: type[BaseException], value: BaseException, trace: TracebackType | None
    ) -> None:
        """What ``sys.excepthook`` is called with."""
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, value, trace)
            return
        text = "".join(traceback.format_exception(kind, value, trace))
        import logging  # only here: it takes long to load, and the window should start fast

        logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
        logging.getLogger(__name__).error("unexpected error\n%s", text)
        where = "".join(traceback.format_tb(trace)) + kind.__name__
        if where not in self._seen:
            self._seen.add(where)
            self.found.emit(text)

    def _report(self, text: str) -> None:
        from torchkeeper.gui.dialogs.about import BugDialog

        BugDialog(self._window, text).open()


#: Qt's style under our own sheet: the one that looks the same on every desktop.
STYLE = "Fusion"
#: Seconds the process waits for its worker after the window is gone; engines take six at most.
_LAST_WAIT = 10.0
#: Seconds it waits until the desktop has taken the last notification.
_LAST_NOTE = 2.0


def application(*, dressed: bool = True) -> QApplication:
    """The QApplication, with its names and its look (see theme.Look); made on first use."""
    app = QApplication.instance()
    if not isinstance(app, QApplication):
        # As an argument: asked for by name, PySide makes all that QStyle names, in 4 ms.
        app = QApplication([*sys.argv[:1], "-style", STYLE])
    elif theme.Look.current is None:
        app.setStyle(STYLE)
    app.setApplicationName(NAME)
    app.setApplicationDisplayName("Torchkeeper")
    app.setOrganizationName(NAME)
    app.setApplicationVersion(VERSION)
    app.setDesktopFileName(NAME)
    say.use_names(True)
    if theme.Look.current is None:
        # It is written in English: then there is nothing to load.
        if not QLocale().name().startswith(("en", "C")):
            translate(app)
        if dressed:
            app.setWindowIcon(theme.app_icon())
        theme.Look(app, _kept_theme(), dressed=dressed)
        FirstKey(app)
    return app


def translate(app: QCoreApplication, locale: QLocale | None = None, folder: str = "") -> bool:
    """Have everything translated, by the files in a ``folder`` or our resources, made by
    packaging/translations; returns whether it can be.
    """
    from importlib.resources import as_file, files

    from PySide6.QtCore import QLibraryInfo, QTranslator

    locale = locale or QLocale()
    own = QTranslator(app)
    if folder:
        found = own.load(locale, NAME, "_", folder)
    else:
        with as_file(files("torchkeeper.resources") / "translations") as ours:
            found = own.load(locale, NAME, "_", str(ours))
    if not found:
        return False
    qt = QTranslator(app)
    if qt.load(locale, "qtbase", "_", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)):
        app.installTranslator(qt)
    app.installTranslator(own)

    def of_link(text: str, number: int) -> str:
        counted = "counted" if number >= 0 else None  # as packaging/translations calls it
        return QCoreApplication.translate(tongue.CONTEXT, text, counted, number)

    tongue.use(of_link)
    return True


def _kept_theme() -> theme.Theme:
    try:
        return theme.Theme(str(QSettings().value("look/theme") or theme.Theme.SYSTEM.value))
    except ValueError:
        return theme.Theme.SYSTEM


def run(
    files: list[str], ahead: Ahead | None = None, first: str | None = None, seat: Seat | None = None
) -> int:
    """Open the window on these files and folders; returns when it is closed. ahead: an engine that
    was started meanwhile, to browse with. first: the place to show first. seat: where other starts
    hand over what they would open.
    """
    if sys.stderr is not None:  # where native code crashes, it is said there what ran
        faulthandler.enable()
    window = opened(files, ahead, first)
    seats = [seat] if seat is not None and seat.first else []
    for one in seats:
        window.later.add(partial(importlib.import_module, "socket"))  # it takes some milliseconds
        window.later.add(partial(_listen, window, one))
    window.closing.left.connect(partial(_be_found, window, seats))
    app = application()
    # The window's engines end before the process does.
    app.setQuitOnLastWindowClosed(False)
    window.stopped.connect(app.quit)
    Bugs(app).install(window)
    wakeup = _close_on_signals(window)
    status = app.exec()
    for one in seats:
        one.leave()
    window.engines.stop()
    window.engines.join(_LAST_WAIT)
    window.notifier.notifications.join(_LAST_NOTE)
    for end in wakeup:
        os.close(end)
    return status


def opened(files: list[str], ahead: Ahead | None = None, first: str | None = None) -> Window:
    """The window, shown, on files, folders and servers (no passwords); ``first``: shown first."""
    application(dressed=False)
    paths = [scheme_of(path).normal(path) for path in files]
    window = Window(None, Engines(ahead), first)
    # To draw it takes a millisecond.
    window.later.add(lambda: QApplication.setWindowIcon(theme.app_icon()))
    theme.look().dress()
    window.take_what_came()
    window.show()
    if paths:
        window.open_paths(paths)
    return window


def _listen(window: Window, seat: Seat) -> None:
    from torchkeeper.gui.desktop.door import Door

    Door(window, seat)


def _be_found(window: Window, seats: list[Seat]) -> None:
    """The window has gone, its jobs go on: who starts the app again has it back."""
    if any(seat.first for seat in seats):
        return
    seat = handover.claim()
    if seat is not None and seat.first:
        seats.append(seat)
        _listen(window, seat)


def _close_on_signals(window: Window) -> tuple[int, int]:
    """SIGINT and SIGTERM close the window as its button does; a second one ends the process."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _frame: signal.signal(number, signal.SIG_DFL))
    notifier = QSocketNotifier(reading, QSocketNotifier.Type.Read, window)

    def woken() -> None:
        os.read(reading, 16)
        window.close_surely()

    notifier.activated.connect(woken)
    return reading, writing
