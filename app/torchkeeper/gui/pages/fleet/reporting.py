"""What came of a fleet as a page of HTML, written in a thread that may wait."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from torchkeeper.client.kept import whole
from torchkeeper.client.words.problems import failing_as
from torchkeeper.fleet import report

if TYPE_CHECKING:
    from torchkeeper.gui.jobs.model import Job


def told(job: Job) -> report.Told:
    """What a page is made of, as it is now."""
    cells = job.cells
    rows, nodes = list(cells.rows.values()), list(cells.nodes.values())
    prove = bool(job.asked.get("prove"))
    return report.Told(rows, nodes, job.result, prove, job.ended or time.time(), signer(job))


def signer(job: Job) -> str:
    """The fingerprint of the key that the place was signed with; "" where it was not."""
    return str((job.result.get("signature") or {}).get("fingerprint") or "")


def save(file: str, of: report.Told) -> None:
    """Write the page. Raises UserError."""
    with failing_as("fleet-report-unwritable", file=file):
        whole.write_text(file, report.page(of))
