"""Pictures of a warm-up with many variants: at work, one that failed, and what came of it."""

from __future__ import annotations

import time
from typing import Any

from tests.shots import sample_variants, samples
from tests.shots.sample_engines import SampleEngines
from tests.shots.scenes_verifying import result
from tests.shots.stage import Stage, turn
from torchkeeper.gui.jobs.model import Job, State
from torchkeeper.gui.window import Window


def begun(window: Window, upto: int, failing: tuple[int, ...] = (), running: int = 0) -> Job:
    """A warm-up that runs, so many of its variants over."""
    job = window.jobs.add("Warm torchinductor_ada", "warm", samples.PLACE)
    job.asked = {"python": samples.PYTHON, "recipes": ["decode"]}
    window.jobs.begin(job)
    job.started = time.time() - 7.4 * upto
    job.variants = sample_variants.told(upto, failing, running)
    window.jobs.progress(job, upto, len(job.variants.rows), "variants")
    return job


def _variants(stage: Stage) -> None:
    window = stage.window(SampleEngines())
    job = begun(window, 5, running=2)
    window.following.show(job)
    turn(0.3)
    stage.take("variants-working", window)
    pane = window.following.drawer.detail.variants
    assert pane is not None
    job.variants = sample_variants.told(9, (4, 7), running=2)
    window.jobs.progress(job, 9, 16, "variants")
    pane.choose(4)
    stage.take("variants-failed", window)
    job.variants = sample_variants.told(16, (4, 7))
    job.started = time.time() - 141.0
    result = sample_variants.result(job.variants)
    window.jobs.end(job, State.DONE, note="2 of 16 variants failed", result=result)
    stage.take("variants-outcome", window)
    job = begun(window, 16)
    job.started = time.time() - 141.0
    all_warm = sample_variants.result(job.variants)
    window.jobs.end(job, State.DONE, note="16 variants", result=all_warm)
    stage.take("variants-done", window)
    pane.choose(sample_variants.UNCACHED)
    stage.take("variants-uncached", window)
    stage.close(window)


def _verified(stage: Stage) -> None:
    window = stage.window(SampleEngines())
    job = window.jobs.add("Verify torchinductor_ada", "verify", samples.PLACE)
    window.jobs.begin(job)
    job.variants = sample_variants.told(6, running=1)
    job.now = "decode, batch 8, bfloat16, default · As it is"
    window.jobs.progress(job, 6, 16, "variants")
    window.following.show(job)
    turn(0.3)
    stage.take("verify-variants-working", window)
    job.started = time.time() - 327
    variants = sample_variants.verified()
    whole = {"variants": len(variants), "good": sum(one["good"] for one in variants)}
    came = {**_together(variants), "good": False, "variants": variants, "whole": whole}
    window.jobs.end(job, State.DONE, note="not good", result=came)
    stage.take("verify-variants", window)
    stage.close(window)


def _together(variants: list[dict[str, Any]]) -> dict[str, Any]:
    """What the runs of a verification come to, as its variants say."""
    seconds = {name: sum(one["seconds"][name] for one in variants) for name in ("cold", "warm")}
    seconds |= {"mega": seconds["cold"] * 1.1, "prepared": seconds["warm"] * 0.9}
    counts = {name: sum(one[name] for one in variants) for name in ("hits", "misses", "rebuilt")}
    counts["graphs"] = counts["hits"] + counts["misses"]
    found = result(counts["misses"], counts["rebuilt"])
    for name, run in found["runs"].items():
        own = counts if name in ("warm", "prepared") else {
            "graphs": counts["graphs"], "misses": counts["graphs"] if name == "cold" else 0
        }  # fmt: skip
        run |= own | {"seconds": seconds[name]}
    ratios = {f"{own}_{other}": seconds[other] / seconds[own]
              for own in ("warm", "prepared") for other in ("cold", "mega")}  # fmt: skip
    return {**found, **counts, "seconds": seconds, "ratios": ratios}


SCENES = {"variants": _variants, "verify-variants": _verified}
