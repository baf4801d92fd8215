"""Pictures of the window and of every dialog, light and dark, at 1× and 2×, made offscreen.

They are for the README and for looking at after a change. Without a place they show made-up
entries, which no engine is asked for.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QSettings, QTimer, QtMsgType, qInstallMessageHandler
from PySide6.QtWidgets import QApplication, QDialog, QWidget

from torchkeeper.artifacts.entry import Entry
from torchkeeper.gui import samples, theme
from torchkeeper.gui.app import application
from torchkeeper.gui.bug_dialog import BugDialog
from torchkeeper.gui.dialogs import ConfirmDialog
from torchkeeper.gui.engines import Engines, Listener
from torchkeeper.gui.jobs import State
from torchkeeper.gui.purging import PurgeDialog
from torchkeeper.gui.theme import Theme
from torchkeeper.gui.window import Window
from torchkeeper.link.words import UserError, user_error

#: Seconds a listing of a real place may take.
_PATIENCE = 60.0
_PLACE = "/home/ada/.cache/torchinductor"

_NAMES = {
    "fxgraph": (
        "forward: addmm, gelu, native_layer_norm",
        "forward: attention, mm, softmax (backward)",
        "sin_matmul: mm, sin",
        "rotary_embed: cat, mul",
    ),
    "aotautograd": (
        "forward: addmm, gelu, native_layer_norm (forward and backward)",
        "sin_matmul: mm, sin",
    ),
    "code": ("cpp_fused_add_relu_0", "cpp_fused_softmax_2", "forward: addmm, gelu"),
    "triton": ("triton_poi_fused_add_relu_0", "triton_red_fused_softmax_1"),
    "autotune": ("triton_poi_fused_add_relu_0",),
    "pgo": ("profile of forward, rotary_embed",),
    "lock": ("cmnvkzanes3ggbbm.lock",),
}


def sample_entries() -> list[Entry]:
    """Made-up entries of every kind, one of them broken."""
    now = time.time()
    made = []
    for number in range(36):
        kind = (*("fxgraph",) * 3, *("code",) * 3, *("aotautograd",) * 2, *_NAMES)[number % 15]
        names = _NAMES[kind]
        digest = f"{(number + 7) * 0x9E3779B97F4A7C15 % (1 << 128):032x}"
        graph = kind in ("fxgraph", "aotautograd")
        made.append(
            Entry(
                kind=kind,
                key=digest if kind == "lock" else f"{kind[0]}{digest}",
                name=names[number % len(names)],
                size=0 if kind == "lock" else (number * 7919 + 613) ** 2 % 900_000 + 120,
                files=9 if kind == "triton" else 2 if kind == "code" else 1,
                mtime=now - number**3 * 61 - 40,
                torch=None if kind in ("lock", "pgo") else "2.13.0+cpu" if number % 3 else "2.9.1",
                device="cuda:90"
                if kind == "triton"
                else "cpu"
                if graph or kind == "code"
                else None,
                compile_s=(number * 13 % 47) / 7 + 0.3 if graph else None,
                path=f"{kind}/{digest[:2]}/{digest}",
                sha256=digest * 2,
                problem="payload-unreadable" if number == 4 else None,
            )
        )
    return made


_MADE_IN = {"torch": "2.13.0+cu130", "cuda": "13.0", "gpus": ["NVIDIA H200"], "threads": 32}

_ENVIRONMENT = {
    "python": "3.11.9",
    "platform": "Linux",
    "cpu": "AMD EPYC 9654",
    "threads": 32,
    "torch": "2.13.0",
    "triton": "3.7.1",
    "cuda": "13.0",
    "devices": [{"type": "cuda", "name": "NVIDIA H200", "arch": "sm_90"}],
}


class SampleEngines(Engines):
    """Answers from the sample; starts neither thread nor process."""

    def __init__(self, places: bool = True, entries: bool = True) -> None:
        super().__init__(idle=True)
        self._entries = sample_entries() if entries else []
        self._places = places

    def ask(self, op: str, params: dict[str, Any], listener: Listener, **_: Any) -> int:
        """Answer after a turn of the event loop, as an engine would."""
        QTimer.singleShot(0, self, lambda: self._answer(op, params, listener))
        return self._ticket(listener)

    def look(self, paths: Any, listener: Listener) -> int:
        """Every path is a folder."""
        return self._tell({"paths": [{"path": p, "what": "folder"} for p in paths]}, listener)

    def reveal(self, path: str, listener: Listener) -> int:
        """Every file is shown."""
        return self._tell({"what": "file", "shown": bool(path)}, listener)

    def interpreters(self, listener: Listener) -> int:
        """One interpreter."""
        one = {"python": "/opt/torch/bin/python", "label": "TORCHKEEPER_TORCH_PYTHON"}
        return self._tell({"interpreters": [one]}, listener)

    def _tell(self, result: dict[str, Any], listener: Listener) -> int:
        QTimer.singleShot(0, self, lambda: listener.result and listener.result(result))
        return self._ticket(listener)

    def _answer(self, op: str, params: dict[str, Any], listener: Listener) -> None:
        place = str(params.get("place") or "")
        if place.endswith("notes.txt"):
            if listener.failed:
                listener.failed(user_error("not-a-bundle", {"file": place, "path": place}))
            return
        result: dict[str, Any] = {}
        rows: list[Any] = []
        if op == "places" and self._places:
            reasons = {_PLACE: "default", "/home/ada/.triton/cache": "triton-default"}
            rows = [{"path": p, "reason": r, "exists": p == _PLACE} for p, r in reasons.items()]
        elif op in ("list", "plan_purge"):
            rows = self._entries if op == "list" else self._entries[:12]
            if place.endswith((".torchcache", ".bin")):
                rows = [entry for entry in rows if entry.kind != "lock"]
            size = sum(entry.size for entry in rows)
            trash = {"receipts": 1, "entries": 5, "files": 6, "bytes": 1_204_000}
            result = {"entries": len(rows), "files": 40, "bytes": size, "trash": trash, "plan": 1}
            if place.endswith((".torchcache", ".bin")):
                result |= {"made_in": _MADE_IN, "format": "torchcache", "trash": None}
        elif op == "detail":
            self._detail(params, listener)
        elif op == "text":
            result = samples.page(str(params.get("name")))
        elif op == "factors":
            rows = samples.factors()
        elif op == "probe":
            result = dict(_ENVIRONMENT)
        elif op in ("plan_export", "compare", "target"):
            result = samples.foretold(op, params, self._entries, listener)
        if listener.rows and rows:
            listener.rows(rows)
        if listener.result:
            listener.result(result)

    def _detail(self, params: dict[str, Any], listener: Listener) -> None:
        for entry in self._entries:
            if [entry.kind, entry.path] == [params.get("kind"), params.get("path")]:
                told = samples.detail(entry, self._entries)
                if listener.findings:
                    listener.findings([{"detail": told}])


def _turn(seconds: float = 0.0, until: Callable[[], bool] | None = None) -> None:
    """Let the event loop run."""
    end = time.monotonic() + seconds
    while True:
        QApplication.processEvents()
        if time.monotonic() >= end or (until is not None and until()):
            return
        time.sleep(0.005)


class _Pictures:
    """Saves one picture after the other."""

    def __init__(self, folder: str, scale: int) -> None:
        self._folder = folder
        self._scale = "" if scale == 1 else f"@{scale}x"
        self._tone = ""
        self.failed = False

    def tones(self) -> Iterator[None]:
        """Once in light, once in dark."""
        for which in (Theme.LIGHT, Theme.DARK):
            self._tone = which.value
            theme.look().choose(which)
            yield

    def take(self, name: str, widget: QWidget) -> None:
        """Save what a widget looks like now, and print where."""
        _turn(0.15)
        path = os.path.join(self._folder, f"{name}-{self._tone}{self._scale}.png")
        if widget.grab().save(path):
            sys.stdout.write(path + "\n")
        else:
            self.failed = True
            sys.stderr.write(f"{path} cannot be written\n")


def run(folder: str, place: str | None = None, scale: int | None = None) -> int:
    """Save the pictures into ``folder``; with ``place``, only the window, showing that place.

    scale: device pixels in one of the window's; None for both 1 and 2, one after the other.
    Returns 1 if one could not be saved.
    """
    if scale is None:
        # A process has one scale, so the second has a process of its own.
        argv = [sys.executable, "-m", "torchkeeper", "shots", folder, "--scale", "2"]
        argv += [] if place is None else ["--place", place]
        return run(folder, place, 1) or subprocess.run(argv, check=False).returncode
    before = qInstallMessageHandler(_message)
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="torchkeeper-shots-") as private:
            if QApplication.instance() is None:
                _prepare_screen(private, scale)
            application()
            chosen = theme.look().theme
            pictures = _Pictures(os.path.abspath(folder), scale)
            for _ in pictures.tones():
                if place is None:
                    _windows(pictures, private)
                    _inspector(pictures, private)
                    _dialogs(pictures, private)
                else:
                    _real(pictures, private, os.path.abspath(place))
            theme.look().choose(chosen)
    except OSError as e:
        sys.stderr.write(f"{e.filename}: {e.strerror}\n")
        return 1
    finally:
        qInstallMessageHandler(before)
    return int(pictures.failed)


def _prepare_screen(private: str, scale: int) -> None:
    """A screen as people have, for the application that is made next."""
    size = {"width": 1920 * scale, "height": 1200 * scale}
    screen = {"name": "shots", "x": 0, "y": 0, "logicalDpi": 96, "dpr": 1, **size}
    file = os.path.join(private, "screen.json")
    with open(file, "w", encoding="utf-8") as written:
        json.dump({"screens": [screen]}, written)
    os.environ["QT_QPA_PLATFORM"] = f"offscreen:configfile={file}"
    os.environ["QT_SCALE_FACTOR"] = str(scale)


def _message(kind: QtMsgType, _context: object, text: str) -> None:
    # The offscreen platform says this of every window; it has no screen to hint at.
    if "propagateSizeHints" not in text and kind != QtMsgType.QtDebugMsg:
        sys.stderr.write(text + "\n")


def _window(private: str, engines: Engines) -> Window:
    """A window with settings of its own, which leave no trace."""
    file = os.path.join(private, "settings.ini")
    settings = QSettings(file, QSettings.Format.IniFormat)
    settings.clear()
    settings.setValue("inspector/shown", "false")
    window = Window(settings, engines)
    window.resize(1360, 800)
    window.show()
    _turn(5.0, lambda: window.later.over)
    return window


def _close(window: Window) -> None:
    window.close_surely()
    _turn(10.0, lambda: not window.engines.running)
    window.deleteLater()
    _turn()


def _windows(pictures: _Pictures, private: str) -> None:
    window = _window(private, SampleEngines())
    pictures.take("window", window)
    window.head.box.setText("kind:fxgraph size>10k")
    pictures.take("window-filtered", window)
    window.head.box.setText("nothing like this")
    pictures.take("window-no-match", window)
    window.head.box.setText("size>ten")
    pictures.take("window-wrong-filter", window)
    window.head.clear_filter()
    window.table.select({entry.identity for entry in window.entries.shown()[2:7]})
    window.undo_bar.offer(_PLACE, window.tr("12 entries (3.1 MB) moved to the trash"))
    pictures.take("window-undo", window)
    window.undo_bar.hide()
    window.tell(user_error("place-unwritable", {"place": _PLACE, "why": "Permission denied"}))
    pictures.take("window-error", window)
    window.error_bar.clear()
    _busy(window)
    pictures.take("window-busy", window)
    for job in window.jobs.active:
        window.jobs.end(job, State.CANCELLED)
    _close(window)
    for name, places in (("window-empty", True), ("window-no-places", False)):
        window = _window(private, SampleEngines(places, entries=False))
        pictures.take(name, window)
        _close(window)


def _inspector(pictures: _Pictures, private: str) -> None:
    window = _window(private, SampleEngines())
    window.resize(1640, 900)
    window.toggle_inspector()
    inspector = window.inspector
    pictures.take("inspector-nothing", window)
    every = window.entries.shown()
    graph = next(entry for entry in every if entry.kind == "fxgraph" and not entry.problem)
    window.table.select({graph.identity})
    _turn(0.4)
    for number, name in enumerate(("summary", "graph", "source", "factors", "files")):
        inspector.tabs.setCurrentIndex(number)
        if name == "source":
            inspector.source.search.setText("import")
        _turn(0.2)
        inspector.factors.table.selectRow(1)
        pictures.take(f"inspector-{name}", window)
    inspector.tabs.setCurrentIndex(0)
    window.table.select({entry.identity for entry in every if entry.problem})
    _turn(0.4)
    pictures.take("inspector-broken", window)
    inspector.notice.tell(user_error("entry-gone", {"path": graph.path}), again=True)
    pictures.take("inspector-gone", window)
    window.table.selectAll()
    _turn(0.4)
    pictures.take("inspector-several", window)
    lock = next(entry for entry in every if entry.kind == "lock")
    window.table.select({lock.identity})
    _turn(0.4)
    inspector.tabs.setCurrentIndex(1)
    pictures.take("inspector-no-graph", window)
    _close(window)


def _busy(window: Window) -> None:
    jobs = window.jobs
    job = jobs.add("Export to torchinductor.torchcache", "export", None)
    jobs.begin(job)
    jobs.end(job, State.DONE, note="36 entries (4.1 MB)")
    job = jobs.add("Import nightly.torchcache", "import", _PLACE)
    jobs.begin(job)
    error = UserError("The file is not complete.", "It ends in the middle of an entry.", "")
    jobs.end(job, State.FAILED, error=error)
    job = jobs.add("Warm torchinductor", "warm", _PLACE)
    jobs.begin(job)
    job.started = time.time() - 12.4
    job.note = "MLP, batch 64, backward"
    jobs.progress(job, 5, 8, "steps")
    jobs.log(
        job,
        [
            "Interpreter: /opt/torch/bin/python",
            "Device: NVIDIA H200",
            "Step: an op",
            "Graph sin_add: miss, compiled · 3.2 s",
            "Step: MLP, batch 16",
            "Graph mlp.forward: miss, compiled · 2.4 s",
            "Graph mlp.backward: miss, compiled · 2.9 s",
            "Step: MLP, batch 64",
            "Graph mlp.forward: hit · 0.04 s",
        ],
    )


def _dialogs(pictures: _Pictures, private: str) -> None:
    window = _window(private, SampleEngines())
    # Sized by hand: a dialog is centred on its window, which is of no interest here.
    files = ["/data/nightly.torchcache", "/data/mega-cache.bin", "/data/notes.txt"]
    _dialog(pictures, "import", window.flows.open_import(files))
    _dialog(pictures, "import-one", window.flows.open_import(files[:1]))
    _dialog(pictures, "warm", window.flows.warm())
    window.table.select({entry.identity for entry in window.entries.shown()[:12]})
    window.flows.purge_selected()
    _opened(pictures, "purge", window)
    window.flows.purge_selected()
    _turn(0.05)
    for dialog in window.findChildren(PurgeDialog):
        dialog.at_once.setChecked(True)
    _opened(pictures, "purge-at-once", window)
    window.flows.empty_trash()
    _opened(pictures, "empty-trash", window)
    window.show_shortcuts()
    _opened(pictures, "shortcuts", window)
    window.show_about()
    _opened(pictures, "about", window)
    text = 'Traceback (most recent call last):\n  File "window.py", line 1\nValueError: an example'
    _dialog(pictures, "bug", BugDialog(window, text))
    _close(window)


def _opened(pictures: _Pictures, name: str, window: Window) -> None:
    _turn(0.05)
    for dialog in window.findChildren(QDialog):
        if isinstance(dialog, QDialog) and dialog.isVisible():
            _dialog(pictures, name, dialog)


def _dialog(pictures: _Pictures, name: str, dialog: QDialog) -> None:
    dialog.show()
    _turn(0.1)
    pictures.take(name, dialog)
    if isinstance(dialog, ConfirmDialog):
        dialog.cancel.click()
    dialog.reject()
    _turn()


def _real(pictures: _Pictures, private: str, place: str) -> None:
    window = _window(private, Engines())
    window.open_paths([place])
    _turn(_PATIENCE, lambda: window.place == place and not window.listing.loading)
    pictures.take("window", window)
    _close(window)
