"""Pictures of dialogs in the states that the other scenes pass over: waiting for an answer,
ending badly, asking before something is lost; and of every step of the guide.
"""

from __future__ import annotations

from PySide6.QtWidgets import QDialog

from tests.shots import sample_overview, sample_recipes, samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.scenes_profiles import settings_of
from tests.shots.scenes_window import halfway
from tests.shots.stage import Stage, turn
from torchkeeper.artifacts.entry import Entry
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.dialogs.base import UnsavedDialog
from torchkeeper.gui.dialogs.profilefiles import ProfileImport
from torchkeeper.gui.dialogs.working import WorkDialog
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.pages.guidebar import STEPS
from torchkeeper.gui.window import PAGE, Window

_TEAM = "/mnt/team/torch-caches/llama"


def _followed(window: Window, dialog: WorkDialog | None, kind: str, title: str) -> Job:
    """A job that a dialog has begun, in the drawer."""
    assert dialog is not None
    turn(0.1)
    job = window.jobs.add(title, kind, samples.PLACE)
    job.asked = {"python": samples.PYTHON}
    window.jobs.begin(job)
    dialog.follow(job)
    return job


def _failures(stage: Stage) -> None:
    window = stage.window()
    window.places.add(_TEAM)
    flows = window.flows
    why = "OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    about = {"what": "OutOfMemoryError", "why": why}
    full = user_error("disk-full", {"place": _TEAM})
    killed = user_error("warm-killed", {"signal": "SIGKILL", "why": "It had taken 61.2 GB."})
    for name, ask, kind, title, error in (
        ("warm-failed", flows.warm, "warm", "Warm torchinductor_ada",
         user_error("warm-failed", about)),
        ("warm-killed", flows.warm, "warm", "Warm torchinductor_ada", killed),
        ("warm-cancelled", flows.warm, "warm", "Warm torchinductor_ada", None),
        ("verify-cancelled", flows.verify, "verify", "Verify torchinductor_ada", None),
        ("prepare-failed", flows.prepare, "prepare", f"Prepare {samples.PYTHON}", full),
        ("copy-failed", lambda: flows.copy(_TEAM), "copy", "Copy to llama", full),
        ("sign-cancelled", lambda: flows.signing.sign(samples.NIGHTLY), "sign",
         "Sign nightly.torchcache", None),
    ):  # fmt: skip
        job = _followed(window, ask(), kind, title)
        window.jobs.end(job, State.FAILED if error else State.CANCELLED, error=error)
        stage.take(name, window)
    job = _followed(window, flows.copy(_TEAM), "copy", "Copy to llama")
    stage.take("copy-starting", window)
    halfway(window, job)
    window.jobs.cancelling(job)
    stage.take("copy-cancelling", window)
    window.jobs.end(job, State.CANCELLED)
    stage.close(window)


def _waiting(stage: Stage) -> None:
    engines = SampleEngines(silent={"server", "signature"})
    window = stage.window(engines)
    window.open_paths([samples.SERVER])
    turn(1.0, lambda: window.place == samples.SERVER and not window.listing.loading)
    window.servers.show_server()
    stage.opened("server-page-reading", window)
    dialog = window.servers.add_server()
    dialog.address.setText(samples.SERVER)
    dialog.test.click()
    stage.dialog("add-server-testing", dialog)
    stage.dialog("sign-reading", window.flows.signing.sign(samples.NIGHTLY))
    stage.close(window)
    nothing = {"file": f"{samples.PLACE}/notes.txt"}
    engines = SampleEngines(
        failing={"offered_profile": user_error("profile-import-nothing", nothing)}
    )
    window = stage.window(engines)
    page = settings_of(window)
    page.open_files([f"{samples.PLACE}/notes.txt"])
    stage.dialog("settings-import-nothing", page.findChildren(ProfileImport)[-1])
    stage.close(window)
    none = user_error("torch-missing", {"python": samples.PYTHON})
    window = stage.window(SampleEngines(failing={"interpreters": none}))
    stage.dialog("environments-none", window.here.show_environments())
    stage.close(window)


def _unsaved(stage: Stage) -> None:
    window = stage.window()
    page = settings_of(window)
    page.profiles.list.choose("laptop")
    page.profiles.form.apply({"TORCHINDUCTOR_CACHE_DIR": "/data/torchinductor"})
    turn(1.5)
    stage.take("settings-unsaved", window)
    page.leave(lambda: None)
    stage.opened("unsaved-settings", window)
    page.profiles.discard()
    editor = window.flows.recipes.edit_recipe(f"{sample_recipes.FOLDER}/decode.toml")
    turn(0.2)
    editor.text.insertPlainText("# Only the small batches.\n")
    turn(0.5)
    stage.take("recipe-unsaved", editor)
    editor.reject()
    asking = next(x for x in editor.findChildren(QDialog) if x.isVisible())
    stage.dialog("unsaved-recipe", asking)
    assert isinstance(editor, UnsavedDialog)
    editor._close_surely()
    window.jobs.begin(window.jobs.add("Warm torchinductor_ada", "warm", samples.PLACE))
    window.close()
    stage.opened("quit-one", window)
    stage.close(window)


def _hold(engines: SampleEngines, window: Window, entries: list[Entry]) -> None:
    """Have these in the place, and show it."""
    engines.entries = entries
    window.actions_["refresh"].trigger()
    turn(0.5)


def _guide(stage: Stage) -> None:
    engines = SampleEngines(samples.entries()[:5])
    engines.all_answer = True
    engines.overviewed = sample_overview.few()
    window = stage.window(engines, settings={PAGE: "overview"})
    window.guide.bar.own = samples.PLACE
    for number in range(1, len(STEPS)):
        window.guide.bar.show_step(number)
        if number == 1:
            window.show_page("entries")
        if STEPS[number].id == "undo":
            # All of it was purged.
            _hold(engines, window, [])
        stage.take(f"guide-{STEPS[number].id}", window)
    _hold(engines, window, samples.entries()[:5])
    window.resize(1000, 640)
    window.guide.bar.show_step(1)
    stage.take("guide-narrow", window, 0.3)
    stage.close(window)


SCENES = {"failures": _failures, "waiting": _waiting, "unsaved": _unsaved, "guide-steps": _guide}
