"""The last run of each place, as a job that has ended; read in a thread that may wait."""

from __future__ import annotations

from torchkeeper.engine.protocol import FLEET
from torchkeeper.fleet import last
from torchkeeper.fleet.last import Last
from torchkeeper.gui.jobs.model import Job, State


def every() -> list[Last]:
    """The runs that are kept, the newest first."""
    return last.every()


def read(folder: str) -> Job:
    """The run of which a folder has the state. Raises UserError."""
    told = last.told(folder)
    about, result = told.last, told.last["result"]
    job = Job(0, "", FLEET, about["into"])
    job.state = State.DONE if result and not result["cut"] else State.CANCELLED
    job.asked = {"recipes": about["named"], "on": about["on"], "prove": about["prove"]}
    job.asked |= {"python": about["python"] or "", "slots": about["slots"], "share": about["share"]}
    job.result, job.kept_as = dict(result or {}), folder
    job.started = about["began"]
    job.ended = about["ended"] if about["ended"] is not None else job.started
    for node in told.nodes:
        job.cells.take_node(node)
    job.cells.take(told.rows)
    job.cells.end()
    job.flawed = bool(job.cells.bad(about["prove"]))
    return job
