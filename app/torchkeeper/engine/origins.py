"""What an engine is asked about where settings come from: of its interpreter, of a process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session
from torchkeeper.settings import held
from torchkeeper.settings.processes import of_process, running

if TYPE_CHECKING:
    from torchkeeper.engine.messages import environments as msg


def settings(_: Session, __: msg.SettingsParams, ___: Report) -> msg.SettingsResult:
    """``settings``, in an interpreter's engine: as ``held.settings``."""
    return held.settings()


def processes(_: Session, __: msg.ProcessesParams, report: Report) -> msg.ProcessesResult:
    """``processes``: a row for each of this user's that has torch, as ``processes.running``."""
    return running(report)


def process_settings(
    _: Session, params: msg.ProcessSettingsParams, ___: Report
) -> msg.ProcessSettingsResult:
    """``process_settings``: as ``processes.of_process``."""
    return of_process(params["pid"])
