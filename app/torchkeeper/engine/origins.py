"""What an engine is asked about where settings come from: of its interpreter, of a process."""

from __future__ import annotations

from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session
from torchkeeper.settings import held
from torchkeeper.settings.process_origins import of_process
from torchkeeper.settings.processes import running
from torchkeeper.stores.store import Json


def settings(_: Session, __: Json, ___: Report) -> Json:
    """``settings``, in an interpreter's engine: as ``held.settings``."""
    return held.settings()


def processes(_: Session, __: Json, report: Report) -> Json:
    """``processes``: a row for each of this user's that has torch, as ``processes.running``."""
    return running(report)


def process_settings(_: Session, params: Json, ___: Report) -> Json:
    """``process_settings {pid}``: as ``process_origins.of_process``."""
    pid = params["pid"]
    if not isinstance(pid, int) or isinstance(pid, bool):
        raise TypeError("a process is a number")
    return of_process(pid)
