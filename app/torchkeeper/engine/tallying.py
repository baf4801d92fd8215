"""What is said of one place in an overview: its groups as rows, what could go, and its room."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torchkeeper.artifacts.report import Report
from torchkeeper.engine.suggesting import by_reason, unknown_use
from torchkeeper.engine.summing import Sum
from torchkeeper.stores.dead import Dead, May, Wanted
from torchkeeper.stores.folders import receipts
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.items import allocated
from torchkeeper.stores.names import is_server
from torchkeeper.stores.store import Store


class Found(NamedTuple):
    """What was found in a place: rows, and what the result says of it. unseen: paths in it that
    could not be read; apart: those of places in it that are counted by themselves.
    """

    rows: list[dict[str, Any]]
    told: dict[str, Any]
    unseen: tuple[str, ...] = ()
    apart: frozenset[str] = frozenset()


def reasons(
    dead: Dead, asked: Wanted, rests: str | None, place: str, may: May, report: Report
) -> Iterator[dict[str, Any]]:
    """For each reason what would come free by itself, and "total" for all of them together."""
    wanted = Wanted(asked.stale, asked.broken, asked.orphans) if rests is None else asked
    for reason, one in {**by_reason(asked, asked.stale), "total": wanted}.items():
        report.check()
        why = None
        told = {"entries": 0, "bytes": 0}
        if rests is None and reason in ("unused", "budget"):
            why = unknown_use(place)
        else:
            said = dead.told(dead.chosen(one, may))
            told = {name: said[name] for name in told}
        yield {"reclaim": reason, **told, "why": why}


def trash_of(store: Folder, report: Report) -> dict[str, int]:
    """{entries, bytes} of what lies in the trash; bytes on the disk, as what goes."""
    files, entries = [], 0
    for folder in receipts.folders_of(store.root):
        report.check()
        some = receipts.trashed(folder)
        entries += len(receipts.items_of(folder, some))
        files += some
    return {"entries": entries, "bytes": allocated(files)}


def nothing(place: str) -> dict[str, Any]:
    """What the result says of a place of which nothing is known."""
    return {
        "place": place, "entries": 0, "bytes": 0, "trash_bytes": 0, "free_bytes": None,
        "total_bytes": None, "disk": None, "rests": None, "problem": None,
    }  # fmt: skip


def found_in(
    place: str,
    store: Store,
    sums: Sum,
    reclaim: list[dict[str, Any]],
    about: Mapping[str, Any] | None = None,
) -> Found:
    """What was found, put in rows. reclaim: what could go; about: what else the result says."""
    names = ("entries", "bytes", "compile_s", "timed")
    rows: list[dict[str, Any]] = [
        {
            "place": place, "kind": kind, "torch": torch, "age": age, "verdict": verdict,
            **dict(zip(names, told, strict=True)),
        }
        for (kind, torch, age, verdict), told in sums.groups.items()
    ]  # fmt: skip
    told = {
        **nothing(place),
        "entries": sum(row["entries"] for row in rows),
        "bytes": sum(row["bytes"] for row in rows),
        **_room(store),
        **(about or {}),
    }
    rows += [{**row, "place": place} for row in reclaim]
    unseen = tuple(path for path, _ in store.unreadable) if isinstance(store, Folder) else ()
    return Found(rows, told, unseen)


def _room(store: Store) -> dict[str, Any]:
    """{free_bytes, total_bytes, disk} of the disk, or of a server that has a limit."""
    if is_server(store.place):
        from torchkeeper.stores.redis.store import Redis, info

        assert isinstance(store, Redis)
        about = info(store.connection, "memory")
        used, most = (about.get(name, "") for name in ("used_memory", "maxmemory"))
        if not (used.isdigit() and most.isdigit() and int(most)):
            return {}
        left = max(0, int(most) - int(used))
        return {"free_bytes": left, "total_bytes": int(most), "disk": store.run}
    here = store.root if isinstance(store, Folder) else store.place
    try:
        said, disk = os.statvfs(here), os.stat(here).st_dev
    except OSError:
        return {}
    return {
        "disk": str(disk),
        "free_bytes": said.f_bavail * said.f_frsize,
        "total_bytes": said.f_blocks * said.f_frsize,
    }
