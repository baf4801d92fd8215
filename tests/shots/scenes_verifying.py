"""Pictures of verifying and preparing: asking, at work, and what came of it."""

from __future__ import annotations

import time
from typing import Any

from tests.shots import samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.sample_results import PREPARED, WARMED
from tests.shots.stage import Stage, turn
from torchkeeper.client.kept.verified import Verified
from torchkeeper.client.words.problems import user_error
from torchkeeper.gui.jobs import laps
from torchkeeper.gui.jobs.laps import Lap, Seen
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.window import Window
from torchkeeper.warm.options import RUNS

_GRAPHS = (
    ("0/0 forward", "gelu of an op", 0.31),
    ("1/0 forward", "MLP, batch 64", 0.74),
    ("1/0 backward", "MLP, batch 64", 0.52),
    ("1/1 forward", "MLP, any batch", 0.81),
    ("1/1 backward", "MLP, any batch", 0.63),
    ("2/0 forward", "attention", 1.12),
    ("2/0 backward", "attention", 1.38),
)
_SECONDS = {"cold": 23.8, "mega": 26.4, "warm": 8.3, "prepared": 2.6}


def result(misses: int = 0, rebuilt: int = 0, *, threads: int = 32) -> Any:
    """What a verification could have come to (``client.kept.verified.checked``)."""
    seconds = dict(_SECONDS)
    if misses:
        seconds |= {"warm": 17.9, "prepared": 12.2}
    every = len(_GRAPHS)
    runs = {
        name: {
            "graphs": every, "hits": every - missed, "misses": missed, "bypasses": 0,
            "autograd": {"hits": 3, "misses": 0}, "unwritten": 0, "seconds": took,
            "rebuilt": 11 if name in ("cold", "mega") else rebuilt,
        }
        for name, took in seconds.items()
        for missed in [every if name == "cold" else 0 if name == "mega" else misses]
    }  # fmt: skip
    rows = [
        {"id": ident, "name": name, "outcome": "miss" if n < misses else "hit"}
        for n, (ident, name, _) in enumerate(_GRAPHS)
    ]
    ratios = {
        f"{name}_{other}": seconds[other] / seconds[name]
        for name in ("warm", "prepared")
        for other in ("cold", "mega")
    }
    good = not misses and not rebuilt
    last = {name: value for name, value in runs["prepared"].items() if name != "seconds"}
    return {
        **last, "built": [], "rows": rows, "seconds": seconds, "ratios": ratios, "runs": runs,
        "things": {"graphs": every}, "whole": {"variants": 1, "good": int(good)},
        "variants": [], "skipped": {}, "good": good, "device": "cpu", "threads": threads,
        "torch": "2.13.0+cu130",
    }  # fmt: skip


def _lap(name: str, misses: int = 0, built: int = 0) -> Lap:
    every = len(_GRAPHS) if name == "cold" else misses
    graphs = [
        Seen(ident, what, "miss" if n < every else "hit", took if n < every else took / 20)
        for n, (ident, what, took) in enumerate(_GRAPHS)
    ]
    paths = [f"{n}k/c{n}kkzanes3ggbbmq7.main.so" for n in range(built)]
    return Lap(name, time.monotonic() - _SECONDS[name], _SECONDS[name], graphs, paths)


def _job(window: Window, kind: str, title: str) -> Job:
    job = window.jobs.add(title, kind, samples.PLACE)
    job.asked = {"python": samples.PYTHON}
    window.jobs.begin(job)
    job.laps = laps.waiting(RUNS) if kind == "verify" else []
    window.following.show(job)
    return job


def _verify(stage: Stage) -> None:
    engines = SampleEngines()
    window = stage.window(engines)
    dialog = window.flows.verify()
    assert dialog is not None
    stage.dialog("verify", dialog)
    job = _job(window, "verify", "Verify torchinductor_ada")
    stage.take("verify-starting", window)
    job.laps[:2] = [_lap("cold"), _lap("mega")]
    warm = _lap("warm")
    job.laps[2] = Lap("warm", time.monotonic() - 4.2, None, warm.graphs[:3])
    window.jobs.progress(job, 3, 8, "steps")
    stage.take("verify-working", window)
    job.laps[:] = [_lap(name) for name in RUNS]
    job.started = time.time() - 64
    window.jobs.end(job, State.DONE, note="good: 9.2× as fast as cold", result=result())
    stage.take("verify-good", window)
    job = _job(window, "verify", "Verify torchinductor_ada")
    job.laps[:] = [_lap("cold"), _lap("mega"), _lap("warm", 3, 5), _lap("prepared", 3, 5)]
    job.started = time.time() - 93
    window.jobs.end(job, State.DONE, note="not good", result=result(3, 5))
    stage.take("verify-bad", window)
    job = _job(window, "verify", "Verify torchinductor_ada")
    error = user_error("torch-broken", {"python": samples.PYTHON, "why": "libgomp.so.1 is missing"})
    window.jobs.end(job, State.FAILED, error=error)
    stage.take("verify-failed", window)
    stage.close(window)


def _prepare(stage: Stage) -> None:
    window = stage.window(SampleEngines())
    stage.dialog("prepare", window.flows.prepare())
    dialog = window.flows.prepare()
    dialog.folder.setText("tmp")
    stage.dialog("prepare-no-folder", dialog)
    folder = "/tmp/torchinductor_ada/precompiled_headers"
    usual = {"bytes": 298_000_000, "folder": folder, "seconds": 11.4}
    for name, came in (
        ("done", {**PREPARED, **usual, "built": 2}),
        ("there", {**PREPARED, **usual, "built": 0, "there": 2}),
    ):
        job = _job(window, "prepare", f"Prepare {samples.PYTHON}")
        if name == "done":
            stage.take("prepare-working", window)
        assert job.started is not None
        job.started -= 11.4
        window.jobs.end(job, State.DONE, result=came)
        stage.take(f"prepare-{name}", window)
    stage.close(window)


def _warmed(stage: Stage) -> None:
    window = stage.window(SampleEngines())
    dialog = window.flows.warm()
    turn(0.1)
    dialog.options.spin.setValue(4)
    dialog.options.box.setChecked(True)
    stage.dialog("warm-portable", dialog)
    job = _job(window, "warm", "Warm torchinductor_ada")
    job.asked |= {"threads": 4, "portable": True}
    job.note = "MLP, batch 64, backward"
    window.jobs.progress(job, 5, 8, "steps")
    stage.take("warm-working", window)
    assert job.started is not None
    job.started -= 41.7
    warmed = {
        **WARMED, "graphs": 7, "misses": 7, "autograd": {"hits": 0, "misses": 4},
        "things": {"graphs": 7}, "seconds": 38.2, "threads": 4, "added": 34,
        "kinds": {},
    }  # fmt: skip
    window.jobs.end(job, State.DONE, result=warmed)
    stage.take("warm-done-portable", window)
    stage.close(window)


def _beside(stage: Stage) -> None:
    engines = SampleEngines()
    bundle, old = "/home/ada/bundles/nightly.torchcache", "/scratch/ada/cache-llama"
    now = time.time()
    for place, ago, came, changed in (
        (samples.PLACE, 190, result(), False),
        (bundle, 7_000, result(3), False),
        (old, 400_000, result(), True),
    ):
        one = Verified(place, now - ago, came, samples.PYTHON, "mark")
        engines.verifications[place] = one, changed
    window = stage.window(engines)
    window.places.add(bundle, bundle=True)
    window.places.add(old)
    stage.take("window-verified", window)
    window.places_pane.choose(bundle)
    stage.take("window-not-good", window)
    window.resize(1000, 600)
    window.places_pane.choose(old)
    stage.take("window-verified-changed", window)
    stage.close(window)


SCENES = {"beside": _beside, "verify": _verify, "prepare": _prepare, "warmed": _warmed}
