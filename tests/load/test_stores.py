"""Several processes change one folder as fast as they can, and some of them are killed; or a
PyTorch compiles into it meanwhile. For how long, see test_together.py.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import DATA
from tests.load import wholeness
from tests.load.commands import Ran
from tests.load.crew import Crew, called_again, exported, torch_env
from tests.load.hammer import entries, log_of, rows_of
from tests.load.judging import UNTOLD
from tests.load.ledger import Ledger, name_of
from torchkeeper.artifacts.layout import payload_path
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders import journal, receipts
from torchkeeper.stores.folders.guard import brought_to_end

HAMMERS = 3
SECONDS = float(os.environ.get("TORCHKEEPER_LOAD_SECONDS", "60"))
SOME_SECONDS = 2.0
#: What comes of it where others are at work.
PLAIN = {"nothing-to-undo", "place-busy"}
LEFT = {"key-taken", "path-taken", "entry-changed", "object-unproven", "in-use", "list-spoilt"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("killed", "seconds"),
    [
        pytest.param(True, SOME_SECONDS, id="some are killed, shortly"),
        pytest.param(True, SECONDS, id="some are killed", marks=pytest.mark.slow),
        pytest.param(False, SECONDS, id="none is killed", marks=pytest.mark.slow),
    ],
)
def test_nothing_is_lost(
    crew: Crew, clean_291: Path, kernels: Path, tmp_path: Path, killed: bool, seconds: float
) -> None:
    place = Path(shutil.copytree(clean_291, tmp_path / "cache"))
    bundles = exported(tmp_path, kernels=kernels, old=clean_291)
    ledger, chance = Ledger(), random.Random(3)
    ledger.add([name_of(row) for row in rows_of(entries(str(place)))], 0, 0, True, "the beginning")

    def start(number: int, seed: int) -> None:
        who = f"hammer{number}"
        argv = ["-m", "tests.load.hammer", who, str(place), str(crew.work), str(seed), "all"]
        crew.start(who, [sys.executable, *argv, *map(str, bundles)], dict(os.environ))

    for number in range(HAMMERS):
        start(number, number)
    end, kills = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        time.sleep(0.1)
        if killed and chance.random() < 0.3:
            number = chance.randrange(HAMMERS)
            crew.kill(f"hammer{number}")
            kills += 1
            start(number, 100 + kills)
    crew.end()
    done, cut = [], []
    for number in range(HAMMERS):
        some, begun = log_of(crew.work / f"hammer{number}.jsonl")
        done += some
        cut += begun
    assert killed or not cut
    brought_to_end(str(place), Report())
    ledger.take(done)
    ledger.take_cut(cut, done)
    check(ledger, done, place)
    print("cut:", dict(Counter(ran.what for ran in cut)))


@pytest.mark.slow
@pytest.mark.torch
def test_pytorch_goes_on(
    crew: Crew,
    filled: Path,
    kernels: Path,
    clean_291: Path,
    torch_python: str,
    header_folder: Path,
    tmp_path: Path,
) -> None:
    place = Path(shutil.copytree(filled, tmp_path / "cache"))
    bundles = exported(tmp_path, filled=filled, kernels=kernels, old=clean_291)
    ledger = Ledger()
    ledger.add([name_of(row) for row in rows_of(entries(str(place)))], 0, 0, True, "the beginning")
    env = torch_env(place, header_folder)
    crew.start("torch", [torch_python, str(DATA / "works_on.py"), str(crew.stop)], env)
    until = time.monotonic() + 120
    while not crew.said("torch") and time.monotonic() < until:
        time.sleep(0.1)
    for number in range(2):
        who = f"hammer{number}"
        argv = [who, str(place), str(crew.work), str(number), "graphs", *map(str, bundles)]
        crew.start(who, [sys.executable, "-m", "tests.load.hammer", *argv], dict(os.environ))
    time.sleep(SECONDS)
    crew.end()
    calls = [json.loads(line) for line in crew.said("torch").splitlines()]
    assert all(call.get("right", True) for call in calls)
    done = [ran for n in range(2) for ran in log_of(crew.work / f"hammer{n}.jsonl")[0]]
    ledger.take(done)
    for call in calls:
        wrote = {"fxgraph": call.get("misses"), "aotautograd": call.get("aot_misses")}
        for kind, key, sha256 in call.get("artifacts", []):
            if wrote.get(kind):
                name = (kind, key, payload_path(kind, key, sha256))
                ledger.add([name], call["began"], call["ended"], True, "torch")
    check(ledger, done, place, UNTOLD)
    hits, misses = (sum(call.get(name, 0) for call in calls) for name in ("hits", "misses"))
    print(f"torch: {len(calls)} calls, {hits} hit, {misses} missed")
    rows = rows_of(entries(str(place)))
    called_again(torch_python, env, sorted({c["number"] for c in calls if c.get("misses")}), rows)


def check(ledger: Ledger, done: list[Ran], place: Path, untold: tuple[str, ...] = ()) -> None:
    """Nothing failed, nothing is lost, all is whole; ``untold`` as of ``Ledger.faults``."""
    print(dict(Counter(ran.what for ran in done)))
    left = {one["code"] for ran in done for one in ran.result.get("left", [])}
    assert left <= LEFT
    assert {ran.said for ran in done if ran.code} <= PLAIN
    there = {name_of(row) for row in rows_of(entries(str(place)))}
    faults = ledger.faults(there, untold)
    if not ledger.cut:
        moved = sum(one.entries - one.undone for one in ledger.receipts.values())
        in_trash = sum(one["entries"] for one in receipts.in_trash(str(place)))
        if moved != ledger.emptied + in_trash:
            faults.append(f"{moved} in the trash: {ledger.emptied} emptied, {in_trash} there")
    assert not journal.in_folder(str(place))
    shutil.rmtree(place / ".torchkeeper-trash", ignore_errors=True)
    faults += wholeness.faults(place)
    assert not faults, "\n".join(fault[:1000] for fault in faults)
