"""What is killed or fails: each as an engine or a command would call it, in the driver's child."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from tests.stores.building import import_bundle
from tests.stores.folders.second import waiting
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session
from torchkeeper.stores import volume
from torchkeeper.stores.bundles import signing
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.bundles.export import export
from torchkeeper.stores.copying import copy
from torchkeeper.stores.describe import Described, describe
from torchkeeper.stores.folders import guard, importing, trash
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.items import Item
from torchkeeper.stores.reader import Reader
from torchkeeper.stores.screening import Screen

Params = dict[str, Any]


class Every(frozenset[str]):
    """File systems: whichever the tests run on, the library of faults.c has its syncfs."""

    def __contains__(self, _: object) -> bool:
        return True


class Heard(Report):
    """Keeps the findings, and why something was left."""

    def __init__(self) -> None:
        self.findings: list[dict[str, Any]] = []
        self.left: list[str] = []
        #: Called with each check.
        self.meanwhile: Callable[[], object] = lambda: None

    def check(self) -> None:
        self.meanwhile()

    def finding(self, **what: Any) -> None:
        """One more."""
        self.findings.append(what)

    def leave(self, item: Item, problem: Problem) -> None:
        """One entry that was left."""
        self.left.append(f"{problem.code} {item.path} {problem.params}")


@functools.cache
def chosen(source: str) -> tuple[Folder, list[Described]]:
    """Everything in a folder that nobody changes, read once."""
    folder = Folder(source)
    with Reader() as reader:
        batches = list(describe(folder.items(Report()), folder, reader, Report()))
    return folder, [one for batch in batches for one in batch]


def _import(params: Params, report: Heard) -> Any:
    with Bundle(params["bundle"], report) as bundle:
        return import_bundle(bundle, params["into"], report, report.leave)


def _copy(params: Params, report: Heard) -> Any:
    folder, every = chosen(params["source"])
    ones = [one for one in every if one.entry.kind not in ("lock", "unknown")]
    return copy(folder, ones, params["into"], report, report.leave, replace=True)


def _purge(params: Params, report: Heard) -> Any:
    kinds = params.get("kinds", [])
    folder = Folder(params["place"])
    items = [item for item in folder.items(report) if not kinds or item.kind in kinds]
    for item in params.get("one_of", []):
        # Only the first of a kind: of a list, the others stay.
        first = next(other for other in items if other.kind == item)
        items = [other for other in items if other is first or other.kind != item]
    plan = trash.Plan(folder.root, items)
    if "kernels" in params:
        report.meanwhile = waiting(folder.root)
    return trash.purge(plan, bool(params.get("now")), report, report.leave)


def _undo(params: Params, report: Heard) -> Any:
    return trash.undo(params["place"], report, report.leave)


def _empty(params: Params, report: Heard) -> Any:
    return trash.empty(params["place"], report, report.leave)


def _export(params: Params, report: Heard) -> Any:
    folder, ones = chosen(params["source"])
    kept = [one for one in ones if one.entry.kind not in ("lock", "unknown")]
    with Reader() as reader:
        # Searched while it is written, as far as it is not to be seen.
        screen = Screen(report, report.leave, reader)
        output, replace = params["output"], params["replace"]
        return export(kept, folder, output, report, report.leave, replace, screen=screen)


def _sign(params: Params, report: Heard) -> Any:
    with open(params["signature"], "rb") as stream:
        signature = stream.read()
    signing.attach(params["bundle"], signature, params["digest"], report)


def _look(params: Params, report: Heard) -> Any:
    """As whoever opens the place next does."""
    session = Session()
    session.store(params["place"], report).close()
    session.close()


def _recover(params: Params, report: Heard) -> Any:
    """As whoever is told that something was cut off, and then opens the place."""
    if os.path.lexists(params["place"]):
        guard.brought_to_end(params["place"], report)
        _look(params, report)


OPERATIONS: dict[str, Callable[[Params, Heard], Any]] = {
    "import": _import,
    "copy": _copy,
    "purge": _purge,
    "undo": _undo,
    "empty": _empty,
    "export": _export,
    "sign": _sign,
    "look": _look,
    "recover": _recover,
}


def run(name: str, params: Params, report: Heard) -> dict[str, Any]:
    """Carry one out: ``{done}``, or ``{problem}``, its code."""
    if "kernels" in params:
        trash._MANY = params["kernels"]
    if "many" in params:
        importing.MANY = params["many"]
        volume._WHOLE, volume._SINCE = Every(), [0, 0]
    try:
        done = OPERATIONS[name](params, report)
    except Problem as problem:
        return {"problem": problem.code, "params": {k: str(v) for k, v in problem.params.items()}}
    return {"done": None if done is None else asdict(done)}
