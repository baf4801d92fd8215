"""Folders that hold hostile things where a bundle is to be placed, and lists that are none."""

from __future__ import annotations

import shutil
from random import Random

from tests.hostile import bundles, lists
from tests.hostile.listing import Told
from tests.hostile.placing import told
from tests.hostile.running import Run
from tests.hostile.tripwires import Arena
from tests.snapshots import snapshot
from tests.stores.building import import_bundle
from torchkeeper.artifacts import aoti_eager
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.describe import describe
from torchkeeper.stores.folders import merging
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.placing import compare
from torchkeeper.stores.items import Item
from torchkeeper.stores.reader import Reader


def test_what_is_there_already(run: Run, arena: Arena) -> None:
    said, others = bundles.members(str(arena.trip / "x"))
    file = arena.inside / "good.torchcache"
    file.write_bytes(bundles.whole(said, others))
    outside = arena.inside / "outside"
    outside.mkdir()
    (outside / "precious").write_text("precious")
    before = snapshot(outside)

    def left(_: Item, problem: Problem) -> None:
        told(problem)

    def mark(_: Bundle, item: Item, home: str, outcome: str, problem: Problem | None) -> None:
        if problem:
            told(problem)

    with Reader() as reader:

        def work() -> None:
            folder = Folder(str(arena.target))
            for _ in describe(folder.items(Report()), folder, reader, Told()):
                pass
            with Bundle(str(file), Report()) as bundle:
                for step in (
                    lambda: compare([bundle], str(arena.target), Report(), mark),
                    lambda: import_bundle(bundle, str(arena.target), Report(), left),
                ):
                    try:
                        step()
                    except Problem as problem:
                        told(problem)

        def check(made: tuple[Random, int]) -> None:
            arena.target.mkdir()
            lists.spoil(arena.target, outside, *made)
            arena.held(work)
            assert snapshot(outside) == before
            shutil.rmtree(arena.target)

        run.many("lists", lambda chance, size: (chance, size), check)


def test_lists(run: Run, arena: Arena) -> None:
    arena.target.mkdir()
    path = arena.target / "aoti_eager" / "aten" / "cpu" / "add.json"
    path.parent.mkdir(parents=True)

    def work(data: bytes, item: dict[str, object]) -> None:
        try:
            there = merging.listed(str(path))
            merging.lacks(str(path), there, item)
            assert merging.merged(there, item)[-1] is item
            merging.put(str(path), item)
            merging.take(str(path), [item])
        except Problem as problem:
            told(problem)
        try:
            text = aoti_eager.alone("aten::add", "cpu", item)
            name = f"aoti_eager/aten/cpu/add.json#{aoti_eager.digest(item)}"
            aoti_eager.checked(text, name, ["aoti_eager/aten/cpu/lib/aa/x.so"])
            aoti_eager.checked(data, name, ["aoti_eager/aten/cpu/lib/aa/x.so"])
        except Problem as problem:
            told(problem)

    def check(made: tuple[bytes, dict[str, object]]) -> None:
        path.write_bytes(made[0])
        arena.held(lambda: work(*made))

    run.many("items of lists", lists.items, check)
