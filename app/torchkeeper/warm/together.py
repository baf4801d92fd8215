"""Kernels that are looked for one after another in one fresh process, on one copy of the place.

Triton looks a kernel up on the disk whatever its process has done before (``sources.kernels``
clears what it remembers), so that proves the same as a process for each, which would take a second
only to start. Once a kernel is not found it is built, and the copy is not the place any more: that
one and those after it are proven alone.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.warm import following, ran, supervise
from torchkeeper.warm.ran import Ground, Ran
from torchkeeper.warm.recipes.recipe import Variant
from torchkeeper.warm.shapes import WarmVariant
from torchkeeper.warm.workers import group_of


def groups(variants: Sequence[Variant]) -> list[list[Variant]]:
    """Variants in their order; kernels that may share a process are together."""
    found = list[list[Variant]]()
    for _, some in groupby(variants, lambda one: (one.source == "triton", group_of(one))):
        those = [*some]
        found += [those] if those[0].source == "triton" else [[one] for one in those]
    return found


class Found(Report):
    """Hears what becomes of the kernels of a group, until one is not found."""

    def __init__(
        self, report: Report, variants: Sequence[Variant], clean: Callable[[], bool],
        ended: Callable[[Variant, Ran], None],
    ) -> None:  # fmt: skip
        """clean: whether nothing was built. ended: hears of each kernel that was found."""
        self._report, self._clean, self._ended = report, clean, ended
        self._by = {one.index: one for one in variants}
        self._rows = {one.index: following.told_of(one) for one in variants}
        self._over = False

    def progress(self, done: int, total: int | None, unit: str) -> None:
        """That is told by whoever has all groups."""

    def finding(self, **what: Any) -> None:
        if "variants" in what:
            return
        told = what.get("variant")
        if not isinstance(told, dict):
            if not self._over:
                self._report.finding(**what)
            return
        row = cast("WarmVariant", {**self._rows[told["index"]], **told})
        if told["state"] == "compiling" and not self._over:
            self._report.finding(variant={"index": row["index"], "state": "compiling"})
            self._report.finding(run={"name": "warm", "variant": row["index"]})
        elif told["state"] in ("done", "failed") and not self._over:
            proof = row.get("proof") if told["state"] == "done" else None
            if proof and proof["found"] == proof["of"] and self._clean():
                variant = self._by[told["index"]]
                result = following.summed([row], "")
                self._ended(variant, ran.of_proof(result, variant, proof, []))
            else:
                self._over = True

    def check(self) -> None:
        self._report.check()


def prove(
    job: supervise.Job, some: Sequence[Variant], ground: Ground, report: Report,
    ended: Callable[[Variant, Ran], None],
) -> None:  # fmt: skip
    """Look for kernels of a group; ``ended`` hears of those that were found before one was not.
    Raises Problem for what holds for all, passes Cancelled on.
    """
    home, temporary = os.path.join(ground.scratch, "warm"), ground.temporary("warm")
    for folder in (home, temporary):
        os.makedirs(folder, exist_ok=True)
    cache = os.path.join(home, "cache")
    try:
        ground.copy(cache, report)
        before = ran.files(cache)
        found = Found(report, some, lambda: ran.files(cache) == before, ended)
        env = ran.environment(job, cache, temporary, ground.led)
        one = replace(job, variants=tuple(some), jobs=1, each=True)
        supervise.run(one, env, home, found, more={"prove": True})
    except Problem as problem:
        if problem.code == "disk-full":
            raise
    finally:
        ground.clear("warm")
