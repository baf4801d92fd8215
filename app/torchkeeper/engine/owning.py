"""Who else can change what lies in a folder (folders.owners), as operations tell it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session
from torchkeeper.stores import places
from torchkeeper.stores.folders import owners
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.names import is_server
from torchkeeper.stores.store import Store

Operation = Callable[[Session, dict[str, Any], Report], dict[str, Any]]


def _is_path(place: str) -> bool:
    return os.path.isabs(place) and "\0" not in place and not is_server(place)


def owned(store: Store) -> list[owners.Finding] | None:
    """What is found of a folder that was just listed; None of what is no folder."""
    return owners.findings(store.place, store.seen) if isinstance(store, Folder) else None


def pointed_out(operation: Operation, name: str, *, runs: bool = False) -> Operation:
    """An operation that changes what lies in the folder of a parameter, or ``runs`` programs with
    it, and first tells what a look at that finds: ``owners``, where there is something. Programs
    use PyTorch's default folder where none is named.
    """

    def told(session: Session, params: dict[str, Any], report: Report) -> dict[str, Any]:
        place = params.get(name) or (places.default_folder() if runs else None)
        if isinstance(place, str) and _is_path(place) and not params.get("dry"):
            found = owners.of_program(place) if runs else owners.glance(place)
            if found:
                report.finding(owners=found)
        return operation(session, params, report)

    return told
