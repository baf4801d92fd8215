"""One copy for all places: from a folder, a bundle or a server to any of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.describe import Described
from torchkeeper.stores.folder import Folder
from torchkeeper.stores.items import Item, Offered
from torchkeeper.stores.offering import Chosen, FromFolder
from torchkeeper.stores.store import Store, is_server

Left = Callable[[Item, Problem], None]
#: What a file that is to be a bundle is called.
SUFFIX = ".torchcache"


@dataclass
class Copied:
    """What was written, what was there already, and what the target is.

    what: "folder", "bundle" or "server".
    """

    what: str
    entries: int = 0
    files: int = 0
    bytes: int = 0
    exists: int = 0


@dataclass
class Foretold(Copied):
    """What a copy would come to.

    kinds: ``{kind, new, there, differs, left}`` in the order of KINDS; each of the outcomes is
    ``{entries, files, bytes}`` (stores.compare). needed: bytes on the disk for what is new.
    """

    kinds: list[dict[str, Any]] = field(default_factory=list)
    needed: int = 0


def what_is(target: str) -> str:
    """What copying to a place makes of it: "folder", "bundle" or "server"."""
    if is_server(target):
        return "server"
    if os.path.isfile(target) or (target.endswith(SUFFIX) and not os.path.isdir(target)):
        return "bundle"
    return "folder"


def copy(
    source: Store,
    chosen: Sequence[Described],
    target: str,
    report: Report,
    left: Left,
    replace: bool = False,
    placed: Callable[[Item, str], None] | None = None,
) -> Copied:
    """Write entries of one place into another; what it cannot hold or take goes to ``left``.

    A folder is made where it is missing, a bundle is written anew: over one that is there only
    with ``replace``. A payload that is there is never overwritten by a different one.
    ``placed`` hears of each entry that was put into a folder, and its path there.
    Raises Problem("copy-onto-itself") and as the target's writer does (stores.importing,
    stores.export), and passes Cancelled on; a folder or a bundle is then as it was.
    """
    what = what_is(target)
    _check_other(source, target)
    if what == "bundle":
        from torchkeeper.stores.export import export

        made = export(list(chosen), source, target, report, left, replace)
        return Copied(what, made.entries, made.files, made.bytes)
    offered = offer(source, chosen, report, left)
    from torchkeeper.stores.importing import import_bundle

    done = import_bundle(offered, target, report, left, placed)
    return Copied(what, done.entries, done.files, done.bytes, done.exists)


def plan_copy(
    source: Store, chosen: Sequence[Described], target: str, report: Report, left: Left
) -> Foretold:
    """What ``copy`` would do, by the same rules; nothing is written."""
    what = what_is(target)
    _check_other(source, target)
    if what == "bundle":
        from torchkeeper.stores.export_plan import plan

        planned = plan(chosen, source, report, left)
        kinds = [_all_new(one) for one in planned.kinds]
        return Foretold(
            what, planned.entries, planned.files, planned.bytes, kinds=kinds, needed=planned.room
        )
    from torchkeeper.stores.compare import compare

    def mark(_: Offered, item: Item, _home: str, _outcome: str, problem: Problem | None) -> None:
        if problem is not None:
            left(item, problem)

    offered = offer(source, chosen, report, left)
    counts = compare([offered], target, report, mark)[0].to_json()
    new: dict[str, int] = counts["new"]
    there: dict[str, int] = counts["there"]
    done = Foretold(what, new["entries"], new["files"], new["bytes"], there["entries"])
    done.kinds, done.needed = counts["kinds"], counts["needed"]
    return done


def _all_new(kind: dict[str, Any]) -> dict[str, Any]:
    """What a bundle would hold of a kind, as of a folder where nothing of it is."""
    none = {"entries": 0, "files": 0, "bytes": 0}
    new = {name: kind[name] for name in none}
    return {"kind": kind["kind"], "new": new, "there": none, "differs": none, "left": none}


def offer(source: Store, chosen: Sequence[Described], report: Report, left: Left) -> Offered:
    """Entries as another place can take them."""
    if isinstance(source, Folder):
        return FromFolder(chosen, source, report, left)
    return Chosen(chosen, source, left)


def _check_other(source: Store, target: str) -> None:
    same = source.place == target
    if not is_server(source.place) and not is_server(target):
        same = os.path.realpath(source.place) == os.path.realpath(target)
    if same:
        raise Problem("copy-onto-itself", place=target)
