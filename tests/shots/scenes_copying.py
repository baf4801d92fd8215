"""Pictures of copying between places: asking, at work, what came of it, and rows over a place."""

from __future__ import annotations

from tests.shots import samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.sample_results import COPIED
from tests.shots.scenes_window import halfway
from tests.shots.stage import Stage, turn
from torchkeeper.artifacts.entry import measured
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.dialogs.copying import CopyDialog
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.places.model import EXPORTED_TO
from torchkeeper.gui.window import Window

_TEAM = "/mnt/team/torch-caches/llama"
_BUNDLE = "/home/ada/bundles/torchinductor_ada.torchcache"
#: Seconds until what was typed is looked at.
_TYPED = 0.4


def _window(stage: Stage, engines: SampleEngines | None = None) -> Window:
    window = stage.window(engines, settings={EXPORTED_TO: "/home/ada/bundles"})
    window.places.add(_TEAM)
    window.places.add(samples.NIGHTLY, bundle=True)
    turn(0.05)
    return window


def _asked(window: Window, into: str = _TEAM) -> CopyDialog:
    dialog = window.flows.copy(into)
    assert dialog is not None
    return dialog


def _choice(stage: Stage) -> None:
    engines = SampleEngines()
    window = _window(stage, engines)
    for name, into in (
        ("copy", _TEAM),
        ("copy-bundle", _BUNDLE),
        ("copy-replace", "/home/ada/bundles/there.torchcache"),
        ("copy-nothing-new", "/home/ada/cache-same"),
        ("copy-new-folder", "/home/ada/missing"),
        ("copy-no-room", "/mnt/full"),
        ("copy-no-target", "llama"),
    ):
        dialog = _asked(window)
        dialog.target.combo.setEditText(into)
        stage.dialog(name, dialog, _TYPED)
    window.table.select({entry.identity for entry in window.entries.shown()[2:7]})
    stage.dialog("copy-selected", _asked(window))
    window.table.clearSelection()
    engines.failing["copy"] = user_error("copy-onto-itself", {"place": samples.PLACE})
    dialog = _asked(window)
    dialog.target.combo.setEditText(samples.PLACE)
    stage.dialog("copy-onto-itself", dialog, _TYPED)
    del engines.failing["copy"]
    engines.silent.add("copy")
    engines.progress["copy"] = (3_100_000.0, 5_000_000.0, "bytes")
    stage.dialog("copy-comparing", _asked(window))
    engines.silent.clear()
    window.entries.show_apart(True)
    locks = {entry.identity for entry in window.entries.shown() if entry.kind == "lock"}
    window.table.select(locks)
    engines.entries = [entry for entry in engines.entries if entry.kind == "lock"]
    stage.dialog("copy-none", _asked(window))
    stage.close(window)
    window = _window(stage)
    window.places_pane.choose(samples.NIGHTLY)
    turn(0.2)
    stage.dialog("copy-from-bundle", _asked(window))
    stage.close(window)


def _job(window: Window, into: str = _TEAM) -> Job:
    """A copy that runs, in the drawer."""
    job = window.jobs.add(f"Copy to {into.rpartition('/')[2]}", "copy", into)
    window.jobs.begin(job)
    window.following.show(job)
    return job


def _at_work(stage: Stage) -> None:
    window = _window(stage)
    job = _job(window)
    halfway(window, job)
    stage.take("copy-working", window)
    window.jobs.end(job, State.CANCELLED)
    stage.take("copy-cancelled", window)
    stage.close(window)


def _over(stage: Stage) -> None:
    window = _window(stage)
    about = {"place": samples.PLACE, "into": _TEAM}
    none, some = (measured(size, on_disk=False) for size in (0, 2_480_100))
    nothing = {**COPIED, **about, "entries": 0, "files": 0, **none, "exists": 33}
    done = {**nothing, "entries": 17, "files": 21, **some, "exists": 16}
    bundle = {**done, "what": "bundle", "exists": 0, "into": _BUNDLE}
    for name, into, result, left in (
        ("copy-result", _TEAM, done, 0),
        ("copy-result-left", _TEAM, {**done, "entries": 15}, 2),
        ("copy-result-bundle", _BUNDLE, bundle, 0),
        ("copy-result-nothing", _TEAM, nothing, 0),
    ):
        job = _job(window, into)
        assert job.started is not None
        job.started -= 4.2
        for number in range(left):
            why = user_error("key-taken", {"path": f"mn/cmnvkzanes3ggbbm{number}.py"})
            job.leave(f"Code mn/cmnvkzanes3ggbbm{number}.py: {why.what}", why.what)
        window.jobs.end(job, State.DONE, note="17 entries (2.5 MB)", result=result)
        stage.take(name, window)
    stage.close(window)


def _drop(stage: Stage) -> None:
    window = _window(stage)
    window.table.select({entry.identity for entry in window.entries.shown()[2:7]})
    shown = window.places_pane.list
    shown.expect(lambda place: place.takes and place.path != samples.PLACE)
    team = window.places.index(window.places.row_of(_TEAM))
    shown.point(shown.visualRect(team).center())
    window.statusBar().showMessage(
        window.dragging.tr("Drop to copy {} to {}: you are asked first").format(
            "5 entries", "llama"
        )
    )
    stage.take("window-drop-on-place", window)
    shown.expect(None)
    stage.close(window)


SCENES = {
    "copy": _choice,
    "copying": _at_work,
    "copied": _over,
    "drop": _drop,
}
