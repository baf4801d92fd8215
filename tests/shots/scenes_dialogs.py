"""Pictures of the other dialogs: warming, purging, what cannot be undone, and help."""

from __future__ import annotations

from tests.shots import samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.stage import Stage, turn
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.dialogs.about import BugDialog
from torchkeeper.gui.dialogs.manual import ManualDialog
from torchkeeper.gui.dialogs.purging import PurgeDialog
from torchkeeper.gui.window import Window


def _warm(stage: Stage) -> None:
    broken = {"python": samples.PYTHON, "why": "libcudart.so.13: cannot open shared object file"}
    for name, engines in (
        ("warm", SampleEngines()),
        ("warm-probing", SampleEngines(silent={"probe"})),
        ("warm-looking", SampleEngines(silent={"interpreters"})),
        ("warm-broken", SampleEngines(failing={"probe": user_error("torch-broken", broken)})),
        ("warm-no-python", SampleEngines(failing={"interpreters": user_error("torch-missing",
                                                  {"python": samples.PYTHON})})),
    ):  # fmt: skip
        window = stage.window(engines)
        dialog = window.flows.warm()
        if name == "warm-broken":
            dialog.choice_of.choose(samples.PYTHON)
        stage.dialog(name, dialog)
        stage.close(window)


def _purge(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines)
    window.table.select({entry.identity for entry in window.entries.shown()[:12]})
    window.flows.purge_selected()
    stage.opened("purge", window)
    window.flows.purge_selected()
    dialog = _purge_dialog(window)
    dialog.at_once.setChecked(True)
    stage.take("purge-at-once", dialog)
    dialog.go.click()
    stage.opened("purge-confirm", window)
    dialog.reject()
    engines.in_use = samples.in_use()
    window.flows.purge_selected()
    stage.opened("purge-in-use", window)
    engines.in_use = samples.in_use(everything=True)
    window.flows.purge_selected()
    stage.opened("purge-all-in-use", window)
    window.flows.purge_selected()
    dialog = _purge_dialog(window)
    dialog.users.also.setChecked(True)
    turn(0.1)
    stage.take("purge-insisted", dialog)
    dialog.reject()
    engines.in_use = {}
    engines.silent = {"plan_purge"}
    window.flows.purge_selected()
    stage.opened("purge-waiting", window)
    engines.silent = set()
    busy = user_error("place-busy", {"place": samples.PLACE})
    engines.failing["plan_purge"] = busy
    window.flows.purge_selected()
    stage.opened("purge-failed", window)
    engines.failing.clear()
    engines.entries = []
    window.flows.purge_selected()
    stage.opened("purge-nothing", window)
    stage.close(window)


def _purge_dialog(window: Window) -> PurgeDialog:
    turn(0.1)
    return next(x for x in window.findChildren(PurgeDialog) if x.isVisible())


def _confirm(stage: Stage) -> None:
    window = stage.window()
    window.flows.empty_trash()
    stage.opened("empty-trash", window)
    for title, kind in (
        ("Warm torchinductor_ada", "warm"),
        ("Import nightly.torchcache", "import"),
    ):
        window.jobs.begin(window.jobs.add(title, kind, samples.PLACE))
    window.close()
    stage.opened("quit", window)
    stage.close(window)


def _help(stage: Stage) -> None:
    window = stage.window()
    window.show_shortcuts()
    stage.opened("shortcuts", window)
    window.show_glossary()
    stage.opened("glossary", window)
    from PySide6.QtWidgets import QApplication, QWhatsThis

    at = window.head.box
    turn(0.3)
    QWhatsThis.showText(at.mapToGlobal(at.rect().bottomLeft()), at.whatsThis(), at)
    turn(0.2)
    popup = next(x for x in QApplication.topLevelWidgets()
                 if x.inherits("QWhatsThat") and x.isVisible())  # fmt: skip
    stage.take("whats-this", popup)
    QWhatsThis.hideText()
    window.show_about()
    stage.opened("about", window)
    window.show_preferences()
    stage.opened("preferences", window)
    text = (
        "Traceback (most recent call last):\n"
        '  File "torchkeeper/gui/window.py", line 214, in _update\n'
        "    self.totals.setText(status_text(listing, self.entries, selected))\n"
        "ValueError: an example of a fault"
    )
    stage.dialog("bug", BugDialog(window, text))
    stage.close(window)


def _manual(stage: Stage) -> None:
    window = stage.window()
    window.show_manual()
    [dialog] = window.findChildren(ManualDialog)
    turn(0.1)
    stage.take("manual", dialog)
    dialog.go("resources/manual/places.md")
    turn(0.1)
    stage.take("manual-page", dialog)
    dialog.search.setText("trash")
    turn(0.1)
    stage.take("manual-found", dialog)
    dialog.search.setText("zebra")
    turn(0.1)
    stage.take("manual-nothing", dialog)
    dialog.reject()
    stage.close(window)


SCENES = {"warm": _warm, "purge": _purge, "confirm": _confirm, "help": _help, "manual": _manual}
