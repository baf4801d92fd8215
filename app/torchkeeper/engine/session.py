"""What an engine remembers, and what its operations share: stores, selections, what was left."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine import detail, wire
from torchkeeper.stores import query, trash
from torchkeeper.stores.describe import Described, describe
from torchkeeper.stores.folder import Folder
from torchkeeper.stores.index import Index
from torchkeeper.stores.items import Item, in_order
from torchkeeper.stores.lists import list_of
from torchkeeper.stores.reader import Reader

if TYPE_CHECKING:
    # Loaded where it is needed: an engine that lists a folder shall start at once.
    from torchkeeper.stores.bundle import Bundle


@dataclass
class Session:
    """What an engine remembers between requests."""

    reader: Reader = field(default_factory=Reader)
    details: detail.Details = field(default_factory=detail.Details)
    plans: dict[int, trash.Plan] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    held: list[tuple[str, str]] = field(default_factory=list)

    def close(self) -> None:
        """End what runs."""
        self.reader.close()


def path_of(params: dict[str, Any], name: str) -> str:
    """A path from a request, which must be absolute: an engine runs in a folder of its own."""
    path: str = params[name]
    if not os.path.isabs(path):
        raise Problem("path-not-absolute", path=path)
    return path


def store_of(place: str, report: Report) -> Folder | Bundle:
    """A folder, or a bundle file: a place is a place."""
    if not os.path.isfile(place):
        return Folder(place)
    from torchkeeper.stores.bundle import Bundle

    return Bundle(place, report)


def items_of(store: Folder | Bundle, report: Report) -> list[Item]:
    """What a store holds, unread; folders that cannot be read are told."""
    items = store.items(report) if isinstance(store, Folder) else in_order(store.items())
    _tell_unreadable(store, report)
    return items


def _tell_unreadable(store: Folder | Bundle, report: Report) -> None:
    if isinstance(store, Folder):
        for path, why in store.unreadable:
            report.finding(unreadable={"path": path, "why": why})


def entries_of(
    session: Session, store: Folder | Bundle, report: Report, items: list[Item] | None = None
) -> Iterator[list[Described]]:
    """The entries of a store in batches, with progress; ``items`` where they are known already.

    Otherwise the first come while a folder is still walked.
    """
    done, told = 0, 0.0
    folder = store if isinstance(store, Folder) else None
    index = Index(folder.root, os.environ.get(wire.INDEX)) if folder else None
    coming: Iterable[Item]
    if items is None and folder:
        coming = folder.stream(report)
    else:
        coming = items = items_of(store, report) if items is None else items
    try:
        for batch in describe(coming, store, session.reader, report, index=index):
            yield batch
            done += len(batch)
            # While nobody knows how many there are, the walk says how far it is.
            total = len(items) if items is not None else folder.total if folder else None
            if total is not None and (now := time.monotonic()) - told > 0.05:
                report.progress(done, total, "entries")
                told = now
        report.progress(done, done, "entries")
        if folder and items is None:
            _tell_unreadable(folder, report)
        if folder and index and not folder.unreadable:
            # Otherwise what could not be looked at would be forgotten.
            index.finish()
    finally:
        if index:
            index.close()


def chosen_of(
    session: Session, store: Folder | Bundle, select: dict[str, Any], report: Report
) -> list[Described]:
    """The entries of a store that a selection means."""
    wanted = _wanted(session, select)
    matches = query.parse(select.get("filter") or "").matches
    found, rest = [], list[Described]()
    # In order, so that the same entries make the same bundle.
    for batch in entries_of(session, store, report, items_of(store, report)):
        for one in batch:
            if (wanted is None or one.entry.identity in wanted) and matches(one.entry):
                found.append(one)
            elif list_of(one.entry):
                rest.append(one)
    # What one file lists goes together.
    lists = {list_of(one.entry) for one in found} if rest else set()
    return found + [one for one in rest if list_of(one.entry) in lists]


def _wanted(session: Session, select: dict[str, Any]) -> set[tuple[str, str]] | None:
    if select.get("held"):
        held, session.held = set(session.held), []
        return held
    if "items" in select:
        return {(kind, path) for kind, path in select["items"]}
    return None


def tell_left(report: Report, item: Item, problem: Problem, file: str | None = None) -> None:
    """Say that an entry was not taken, and why; ``file`` is the bundle it is in."""
    said = {
        "kind": item.kind,
        "key": item.key,
        "path": item.path,
        "code": problem.code,
        "params": problem.params,
    }
    report.finding(left=said if file is None else {**said, "file": file})


def tell_refused(bundle: Bundle, report: Report, file: str | None = None) -> None:
    """Say what of a bundle no place can hold."""
    more = {} if file is None else {"file": file}
    for one in bundle.refused:
        said = {"kind": one.kind, "key": one.key, "path": None}
        report.finding(left={**said, **more, "code": one.code, "params": one.params})
