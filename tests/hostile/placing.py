"""What the app does with a bundle that somebody gave it: looks into it, lists it, imports it."""

from __future__ import annotations

import os
import shutil
import stat

from tests.hostile.listing import Told
from tests.hostile.tripwires import NOTED, Arena
from tests.stores.building import import_bundle
from torchkeeper.artifacts import layout
from torchkeeper.artifacts.entry import Problem, entry_from_json
from torchkeeper.artifacts.report import Report
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.client.words.problems import user_error
from torchkeeper.engine import protocol
from torchkeeper.engine.session import tell_left, tell_refused
from torchkeeper.stores.bundles import parts, signing
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.describe import describe
from torchkeeper.stores.folders.placing import compare
from torchkeeper.stores.items import Item
from torchkeeper.stores.reader import Reader


def told(problem: Problem) -> str:
    """The code of a problem, for which there must be words that can be shown and sent."""
    assert problem.code in CATALOGUE, problem.code
    words = user_error(problem.code, problem.params)
    assert str(words).isprintable() or "\n" in str(words)
    protocol.encode({"code": problem.code, "params": problem.params})
    return problem.code


def imported(arena: Arena, data: bytes, reader: Reader | None = None) -> list[str]:
    """Everything with the bytes of a bundle or mega-cache; the codes of what was not taken."""
    file = arena.inside / "x.torchcache"
    file.write_bytes(data)
    codes: list[str] = []

    def left(item: Item, problem: Problem) -> None:
        tell_left(Told(), item, problem)
        codes.append(told(problem))

    def mark(_: Bundle, item: Item, home: str, outcome: str, problem: Problem | None) -> None:
        protocol.encode({"key": item.key, "path": home, "outcome": outcome})
        if problem:
            told(problem)

    def work() -> None:
        try:
            bundle = Bundle(str(file), Report())
        except Problem as problem:
            codes.append(told(problem))
            return
        with bundle, signing._opened(str(file)) as opened:
            try:
                if opened:
                    parts.check(str(file), opened, Report())
            except Problem as problem:
                told(problem)
            tell_refused(bundle, Told())
            for one in bundle.refused:
                codes.append(told(Problem(one.code, **one.params)))
            for batch in describe(bundle.items(), bundle, reader, Report()) if reader else ():
                for described in batch:
                    entry_from_json(protocol.decode(protocol.encode(described.entry.to_json())))
            compare([bundle], str(arena.target), Report(), mark)
            import_bundle(bundle, str(arena.target), Report(), left)

    arena.held(work)
    check_placed(arena)
    shutil.rmtree(arena.target, ignore_errors=True)
    return codes


def check_placed(arena: Arena) -> None:
    """Asserts that what was placed are plain files where a cache has such, and what undoes it."""
    for folder, folders, files in os.walk(arena.target):
        for name in folders:
            assert stat.S_ISDIR(os.lstat(os.path.join(folder, name)).st_mode)
        for name in files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            assert stat.S_ISREG(status.st_mode), path
            assert status.st_nlink == 1, path
            assert not status.st_mode & 0o7022, path
            below = os.path.relpath(path, arena.target)
            if below.split("/")[0::2] in ([layout.TRASH, name] for name in NOTED):
                continue
            at = layout.locate(below)
            assert at.kind != "unknown", path
            assert at.kind != "lock" or name.endswith(".lock"), path
