"""What is said of one place in an overview: its groups as rows, what could go, and its room."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torchkeeper.artifacts.entry import holds, measured, tallied, tally
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.suggesting import by_reason, unknown_use
from torchkeeper.engine.summing import Sum
from torchkeeper.stores.dead import Dead, May, Wanted
from torchkeeper.stores.folders import receipts
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.items import File, allocated
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
    """For each reason what would come free by itself, and "total" for all of them together; both
    as of ``Dead.told``.
    """
    wanted = Wanted(asked.stale, asked.broken, asked.orphans) if rests is None else asked
    for reason, one in {**by_reason(asked, asked.stale), "total": wanted}.items():
        report.check()
        why = unknown_use(place) if rests is None and reason in ("unused", "budget") else None
        going = {} if why else dead.chosen(one, may)
        yield {"reclaim": reason, **dead.told(going), "why": why}


def trash_of(store: Folder, report: Report) -> dict[str, int]:
    """How much lies in the trash; bytes on the disk, as what goes."""
    files: list[File] = []
    kinds: list[str] = []
    for folder in receipts.folders_of(store.root):
        report.check()
        some = receipts.trashed(folder)
        kinds += [item.kind for item in receipts.items_of(folder, some)]
        files += some
    return {**tally(kinds), "files": len(files), **measured(allocated(files), on_disk=True)}


def nothing(place: str) -> dict[str, Any]:
    """What the result says of a place of which nothing is known."""
    return {
        "place": place, **holds({}), "trash_bytes": 0, "free_bytes": None,
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
    rows: list[dict[str, Any]] = [
        {
            "place": place, "kind": kind, "torch": torch, "age": age, "verdict": verdict,
            **tallied(int(count), kind), **measured(int(size), on_disk=False),
            "compile_s": seconds, "timed": timed,
        }
        for (kind, torch, age, verdict), (count, size, seconds, timed) in sums.groups.items()
    ]  # fmt: skip
    sizes: dict[str, tuple[int, int]] = {}
    for (kind, *_), (count, size, *_) in sums.groups.items():
        before = sizes.get(kind, (0, 0))
        sizes[kind] = before[0] + int(count), before[1] + int(size)
    told = {
        **nothing(place),
        **holds(sizes),
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
