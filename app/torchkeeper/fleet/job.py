"""A fleet as it is asked for, by a command, a script or a fleet file: what an engine is to do, and
what is done around that: before, whether it can be done at all; after, what goes where.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from torchkeeper.client.engines import far
from torchkeeper.client.kept import protected, whole
from torchkeeper.client.recipes import strange
from torchkeeper.client.words.problems import failing_as, user_error
from torchkeeper.fleet import report
from torchkeeper.placing import targets
from torchkeeper.placing.targets import LOCAL
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages.fleet import FleetParams
    from torchkeeper.warm.shapes import SentRecipe


@dataclass(frozen=True)
class Job:
    """params: for the engine. also: where the place is copied to once all is done. report: the file
    of its page. sign: the key that signs the bundle. after: seconds after which what is not asked
    for any more goes to the trash, None for never. file: the fleet file that says so.
    """

    params: FleetParams
    also: Sequence[str] = ()
    report: str = ""
    sign: str = ""
    after: float | None = None
    file: str = ""

    @property
    def into(self) -> str:
        return self.params["into"]

    @property
    def proves(self) -> bool:
        return bool(self.params.get("prove"))


def check(job: Job) -> None:
    """Raise UserError for what would only come out after hours of compiling."""
    for place in (job.into, *job.also):
        protected.check(place)
    bundle = scheme_of(job.into).becomes(job.into) == "bundle"
    if job.sign and (far.is_far(job.into) or not bundle):
        raise user_error("fleet-unsignable", {"place": job.into})
    if job.after is not None and (bundle or not scheme_of(job.into).has_trash):
        raise user_error("fleet-keeps-all", {"place": job.into})
    if job.report:
        folder = os.path.dirname(os.path.abspath(job.report))
        with failing_as("fleet-report-unwritable", file=job.report):
            os.makedirs(folder, exist_ok=True)
            if not os.access(folder, os.W_OK) or os.path.isdir(job.report):
                raise PermissionError(None, "It cannot be written")
            if os.path.lexists(job.report) and not _is_page(job.report):
                raise FileExistsError(None, "What is there is no report")


def _is_page(file: str) -> bool:
    """Whether a file begins as a page, or is empty: another is a user's, whatever asks for it."""
    if not os.path.isfile(file):
        return False
    with open(file, "rb") as stream:
        return stream.read(len(report.BEGIN)) in (b"", report.BEGIN)


def machines(on: Sequence[str]) -> list[str]:
    """The machines of targets, as far as their names tell: "" is this one. Raises UserError."""
    return list(dict.fromkeys(one for name in on or [LOCAL] for one in targets.machines(name)))


def stranger(recipes: Sequence[str | SentRecipe], on: Sequence[str]) -> str:
    """A machine of the targets where some recipes would run that another has told; else any."""
    there = machines(on)
    return next((one for one in there if strange.machines(recipes, one)), there[0])


def write(file: str, told: report.Told) -> None:
    """Write the page of what came of it. Raises UserError."""
    with failing_as("fleet-report-unwritable", file=file):
        whole.write_text(file, report.page(told))
