"""The stores themselves, without a command's start before each operation: hundreds a second.

Run as a process of its own, ``python -m tests.load.hammer WHO PLACE WORK SEED WHAT BUNDLE…``, where
WHAT is "all" or, beside a PyTorch at work, "graphs"; goes on until the file ``WORK/stop`` is there.
Every operation goes to ``WORK/WHO.jsonl``: a line before it is begun, without a result, and one
when it has ended.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.load.commands import Ran, Rows
from tests.stores.building import import_bundle
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.folders import trash
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.items import Item

KINDS = (
    ("fxgraph",),
    ("aotautograd",),
    ("triton",),
    ("code",),
    ("aoti_eager",),
    ("fxgraph", "triton", "autotune"),
)
#: What PyTorch can do without at any moment.
GRAPHS = (("fxgraph",), ("aotautograd",), ("triton",), ("fxgraph", "aotautograd"))


def rows_of(items: list[Item]) -> Rows:
    """Entries unread: the path, which has the payload's hash, stands for the sha256. That of a
    kernel is another in a bundle.
    """
    return [
        [item.kind, item.key, item.key if item.kind == "triton" else item.path, item.path]
        for item in items
    ]


def entries(place: str) -> list[Item]:
    """What is in a folder, but for what belongs to a process at work."""
    return [item for item in Folder(place).items(Report()) if item.kind != "lock"]


def log_of(path: Path) -> tuple[list[Ran], list[Ran]]:
    """What a process did, and what it had begun when it was killed."""
    done: list[Ran] = []
    begun: list[Ran] = []
    for line in path.read_text().splitlines():
        try:
            ran = Ran(**json.loads(line))
        except ValueError:
            continue  # it was killed as it wrote it
        if begun and begun[-1].began == ran.began:
            begun.pop()
            done.append(ran)
        else:
            begun.append(ran)
    return done, begun


class Hammer:
    """Does one thing after the other, and writes down each before and after."""

    def __init__(
        self, who: str, place: str, work: Path, seed: int, what: str, bundles: list[str]
    ) -> None:
        self.who, self.place, self.bundles = who, place, bundles
        self.graphs = what == "graphs"
        self.chance = random.Random(seed)
        self.stop = work / "stop"
        self._log = os.open(work / f"{who}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._left: list[dict[str, Any]] = []
        os.write(self._log, b"\n")  # after a line that was cut off

    def _do(self, ran: Ran, act: Callable[[], dict[str, Any]]) -> None:
        self._left = []
        ran.began = ran.ended = time.monotonic()
        self._say(ran)
        try:
            ran.result = {**act(), "left": self._left}
        except Problem as problem:
            ran.code, ran.said = 1, problem.code
        ran.ended = time.monotonic()
        self._say(ran)

    def _say(self, ran: Ran) -> None:
        os.write(self._log, json.dumps(asdict(ran)).encode() + b"\n")

    def left(self, item: Item, problem: Problem) -> None:
        about = {"kind": item.kind, "key": item.key, "path": item.path}
        self._left.append({**about, "code": problem.code})

    def purge(self, now: bool = False) -> None:
        kinds = self.chance.choice(GRAPHS if self.graphs else KINDS)
        items = [item for item in entries(self.place) if item.kind in kinds]
        items = self.chance.sample(items, self.chance.randint(0, len(items)))
        insisted = self.graphs or self.chance.random() < 0.5
        plan = trash.Plan(os.path.realpath(self.place), items, insisted)
        ran = Ran(self.who, ["purge", "--in-use"], 0, rows=rows_of(items))

        def act() -> dict[str, Any]:
            done = trash.purge(plan, now, Report(), self.left)
            return {**done.to_json(), "in_use": {}}

        self._do(ran, act)

    def purge_now(self) -> None:
        self.purge(now=True)

    def undo(self) -> None:
        ran = Ran(self.who, ["undo"], 0)
        self._do(ran, lambda: {**trash.undo(self.place, Report(), self.left).to_json()})

    def empty(self) -> None:
        ran = Ran(self.who, ["trash"], 0)
        self._do(ran, lambda: {**trash.empty(self.place, Report(), self.left).to_json()})

    def import_(self) -> None:
        with Bundle(self.chance.choice(self.bundles), Report()) as opened:
            ran = Ran(self.who, ["import"], 0, of=rows_of(opened.items()))
            self._do(ran, lambda: asdict(import_bundle(opened, self.place, Report(), self.left)))

    def work(self) -> None:
        """Until told to stop."""
        often = {self.purge: 6, self.undo: 5, self.import_: 4, self.purge_now: 1, self.empty: 1}
        steps = [step for step, times in often.items() for _ in range(times)]
        while not self.stop.exists():
            self.chance.choice(steps)()


if __name__ == "__main__":
    who, place, work, seed, what, *bundles = sys.argv[1:]
    Hammer(who, place, Path(work), int(seed), what, bundles).work()
