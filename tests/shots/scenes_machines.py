"""Pictures of places on other machines: each way there, one that broke, and what ssh asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tests.shots import sample_overview, sample_runs, samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.stage import Stage, turn
from torchkeeper.client.engines import far
from torchkeeper.client.engines.questions import Question
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.engine.protocol import RUN
from torchkeeper.gui import CURRENT
from torchkeeper.gui.dialogs.environments import PathDialog
from torchkeeper.gui.dialogs.machine import QuestionDialog
from torchkeeper.gui.jobs.model import State
from torchkeeper.gui.pages.recipes.known import Made
from torchkeeper.gui.pages.runs import RunsPage
from torchkeeper.gui.window import Window

if TYPE_CHECKING:
    from torchkeeper.client.kept.runs import ExplainedGraph
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.warm.shapes import SentRecipe

_PLACES = (
    "ssh://gpu1/srv/shared/inductor-team",
    "ssh://gpu1/scratch/nightly.torchcache",
    "ssh://ada@login.example.org:2222/~/.cache/torchinductor_ada",
    "ssh://gpu2/srv/shared/inductor-team",
)
_REFUSED = user_error(
    "ssh-refused",
    {"machine": "ssh://gpu2"},
)
_LOST = user_error("ssh-lost", {"machine": "ssh://gpu1"})
_DENIED = user_error("ssh-denied", {"machine": "ssh://gpu1"})
_KEY = """The authenticity of host 'gpu1 (192.0.2.17)' can't be established.
ED25519 key fingerprint is SHA256:vUzWYx6tC3Ck8z7cuLpM1yq2l0x9dQbTn4eR5sWf0Jk.
This key is not known by any other names.
Are you sure you want to continue connecting (yes/no/[fingerprint])?"""


def _window(stage: Stage, engines: SampleEngines | None = None) -> Window:
    first = _PLACES[0]
    window = stage.window(engines, settings={CURRENT: first, "places/added": list(_PLACES)})
    window.places.told_way("ssh://gpu1", "")
    window.places.told_way("ssh://ada@login.example.org:2222", None)
    window.places.told_way("ssh://gpu2", _REFUSED)
    turn(0.3)
    return window


def _machines(stage: Stage) -> None:
    engines = SampleEngines()
    engines.overviewed = sample_overview.few()
    window = _window(stage, engines)
    stage.take("machines", window)
    window.places.told_way("ssh://gpu1", _LOST)
    window.error_bar.tell(_LOST)
    turn(0.3)
    stage.take("machines-lost", window)
    window.show_page("overview")
    turn(1.0)
    stage.take("machines-overview", window)
    stage.close(window)
    window = _window(stage)
    window.places.told_way("ssh://gpu1", _DENIED)
    window.listing._quiet = True
    window.listing._lost(_DENIED, tell=True)
    window.resize(window.width(), 520)
    turn(0.3)
    stage.take("machines-unanswered", window)
    stage.close(window)
    window = _window(stage, SampleEngines(failing={"list": _REFUSED}))
    stage.take("machines-refused", window)
    stage.close(window)


def _environments(stage: Stage) -> None:
    window = _window(stage)
    stage.dialog("machine-environments", window.here.show_environments())
    stage.dialog("machine-add-environment", PathDialog(window, "ssh://gpu1"))
    dialog = window.flows.warm()
    turn(0.3)
    stage.dialog("machine-warm", dialog)
    program = window.flows.run_program("python train.py --model gpt2-medium --batch 16")
    turn(0.3)
    stage.dialog("machine-run", program)
    _program(stage, window)
    stage.close(window)
    engines = SampleEngines()
    engines.bare_there = True
    window = _window(stage, engines)
    stage.take("machine-no-environment", window)
    stage.close(window)


def _program(stage: Stage, window: Window) -> None:
    """A program there that runs, and one of which something still runs."""
    page = window.show_page("runs")
    assert isinstance(page, RunsPage)
    command = ["python", "train.py", "--model", "gpt2-medium", "--batch", "16"]
    job = window.jobs.add("Run python train.py · gpu1", RUN, "ssh://gpu1")
    job.asked["command"] = command
    window.jobs.begin(job)
    program = {"command": command, "folder": "/home/ada", "place": "/srv/shared", "env": {}}
    job.hear(cast("Finding", {"started": program}))
    window.jobs.log(job, ["loading gpt2-medium", "compiling …"])
    for one in sample_runs.runs()[0].graphs:
        job.graphs[one["id"]] = cast("ExplainedGraph", one)
    window.jobs.touch(job)
    turn(10, lambda: page.list.topLevelItemCount() == 13)
    stage.take("machine-runs", window)
    job.there, on = "5f1c2a90", far.goes_on("ssh://gpu1", "5f1c2a90")
    window.jobs.end(job, State.FAILED, error=UserError(_LOST.what, _LOST.why, on))
    turn(0.5)
    stage.take("machine-runs-lost", window)
    window.following.drawer.go_in()
    turn(0.3)
    stage.take("machine-activity-lost", window)
    window.following.drawer.shut()


def _asked(stage: Stage) -> None:
    window = _window(stage)
    for name, kind, text in (
        ("key", "", _KEY),
        ("password", "", "ada@gpu1's password:"),
        ("touch", "none", "Confirm user presence for key ED25519-SK SHA256:1b2c3d4e5f"),
    ):
        question = Question("ssh://gpu1", kind, text, lambda _: None)
        stage.dialog(f"machine-{name}", QuestionDialog(window, question))
    stage.close(window)


def _copies(stage: Stage) -> None:
    window = _window(stage)
    for name, into in (
        ("between", "ssh://gpu2/srv/shared/inductor-team"),
        ("here", "/home/ada/new"),
    ):
        dialog = window.flows.copy(into)
        assert dialog is not None
        stage.dialog(f"machine-copy-{name}", dialog, 0.4)
    stage.dialog("machine-import", window.flows.open_import([samples.NIGHTLY]), 0.3)
    sending = window.flows.open_import([samples.NIGHTLY])
    turn(0.3)
    sending.look.click()
    turn(0.1)
    sending.ahead.progress.emit(3_100_000, 5_000_000, "bytes")
    stage.dialog("machine-import-sending", sending)
    warm = window.flows.warm(["/home/ada/serve.toml"])
    turn(0.3)
    data = {"machine": "ssh://gpu2", "callable": {"function": "/home/ada/serve.py:step"}}
    sent: list[SentRecipe | str] = [{"name": "serve", "folder": "/home/ada", "data": data}]
    warm.recipe.made = Made([("serve", "step", "callable")], 1, sent)
    asked = warm.recipe.trusted("ssh://gpu1", "&Warm it", lambda: None)
    assert asked is not None
    stage.dialog("machine-recipe", asked)
    stage.close(window)


SCENES = {
    "machine-copies": _copies,
    "machines": _machines,
    "machine-asks": _asked,
    "machine-environments": _environments,
}
