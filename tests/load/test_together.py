"""Two command lines, a window and a running PyTorch on one folder: in the end all of it is whole,
and everything that was put there is there, in the trash, or was removed by somebody.

A minute of it: ``packaging/test --slow tests/load`` or, as long as one likes,
``TORCHKEEPER_LOAD_SECONDS=600 .venv/bin/python -m pytest -m slow -s tests/load``, which also prints
what each has done.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from tests.conftest import DATA, RunPlain
from tests.gui.conftest import OpenWindow, idle
from tests.load import wholeness
from tests.load.commands import Ran, rows_of
from tests.load.ledger import Ledger, Name, name_of
from tests.load.window import Hand, Pulse

pytestmark = [
    pytest.mark.torch,
    pytest.mark.qt_log_ignore("propagateSizeHints", extend=True),
    pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's"),
]

#: How long they work, in seconds.
SECONDS = float(os.environ.get("TORCHKEEPER_LOAD_SECONDS", "60"))
#: Why an entry may be left, and why a command may fail, where others work on the same folder.
LEFT = {
    "key-taken", "superseded", "kind-not-portable", "part-of-artifact", "in-use", "entry-changed",
    "path-taken", "list-spoilt", "entry-in-use", "object-unproven",
}  # fmt: skip
FAILED = ("is busy", "nothing to undo", "is in use")
#: PyTorch does not tell its number in a list, and code has no owner; both must be whole.
UNTOLD = ("code", "lock", "aoti_eager", "header", "unknown", "pgo")
#: Seconds that the window may be held by anything, of its own time.
HELD = 0.1


def tk(*argv: object) -> list[dict[str, Any]]:
    """The lines of a command, while nobody else works there."""
    done = subprocess.run(
        [sys.executable, "-m", "torchkeeper", *map(str, argv), "--json"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def bundles(
    filled: Path, other_kinds: Path, kernels: Path, clean_291: Path, tmp_path: Path
) -> list[Path]:
    """What is imported: of this torch, of another one, eager kernels, Triton kernels."""
    made = []
    for name, place in (
        ("filled", filled), ("others", other_kinds / "cache"), ("kernels", kernels),
        ("old", clean_291),
    ):  # fmt: skip
        made.append(tmp_path / f"{name}.torchcache")
        tk("export", place, "-o", made[-1])
        assert made[-1].exists()
    return made


class Crew:
    """PyTorch and the two command lines, each a process of its own."""

    def __init__(self, place: Path, work: Path) -> None:
        self.place, self.work = place, work
        self.stop = work / "stop"
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, who: str, argv: list[str], env: dict[str, str]) -> None:
        """Start one; what it prints goes to ``who.out`` and ``who.err``."""
        with open(self.work / f"{who}.out", "wb") as out, open(self.work / f"{who}.err", "wb") as e:
            self._running[who] = subprocess.Popen(
                argv, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=e
            )

    def said(self, who: str) -> str:
        """What one has printed so far."""
        return (self.work / f"{who}.out").read_text()

    def end(self) -> None:
        """Have all of them end, and none fail."""
        self.stop.touch()
        for who, one in self._running.items():
            code = one.wait(timeout=180)
            errors = (self.work / f"{who}.err").read_text()
            assert code == 0, f"{who}: {errors}"
            assert "Traceback" not in errors, f"{who}: {errors}"

    def kill(self) -> None:
        """End what the test has left running, where it failed."""
        for one in self._running.values():
            if one.poll() is None:
                one.kill()
                one.wait()

    def ran(self, who: str) -> list[Ran]:
        """What a command line did."""
        lines = (self.work / f"{who}.jsonl").read_text().splitlines()
        return [Ran(**json.loads(line)) for line in lines]


@pytest.fixture
def crew(tmp_path: Path, filled: Path) -> Iterator[Crew]:
    (tmp_path / "work").mkdir()
    made = Crew(Path(shutil.copytree(filled, tmp_path / "cache")), tmp_path / "work")
    yield made
    made.kill()


def torch_env(place: Path, header_folder: Path) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "TRITON"))}
    return env | {
        "TMPDIR": str(header_folder),
        "TORCHINDUCTOR_CACHE_DIR": str(place),
        "TORCH_COMPILE_JOB_ID": "load",  # it keeps a profile then
    }


def check_commands(every: list[Ran]) -> None:
    """Each did what it should, or said plainly why not."""
    for ran in every:
        assert "Traceback" not in ran.said, ran
        assert ran.code in (0, 1), ran
        left = {one["code"] for one in ran.result.get("left", [])}
        assert left <= LEFT, ran
        if ran.code == 1 and not ran.result:
            assert ran.said.startswith(("torchkeeper: ", "in use: ", "One process")), ran
            assert any(text in ran.said for text in FAILED), ran
    polite = [ran for ran in every if ran.argv[0] == "purge" and "--in-use" not in ran.argv]
    assert all(ran.result["entries"] == 0 for ran in polite if ran.who != "window")


def tell(ledger: Ledger, calls: list[dict[str, Any]]) -> None:
    """What PyTorch wrote, by what it says of it."""
    for call in calls:
        if "eager" in call:
            continue
        wrote = {"fxgraph": call["misses"], "aotautograd": call["aot_misses"]}
        names: list[Name] = [
            name_of(row) for row in call["artifacts"] if wrote.get(row[0], row[0] == "pgo")
        ]
        ledger.add(names, call["began"], call["ended"], True, f"torch, {call['number']}")


@pytest.mark.slow
def test_all_is_whole_after_a_minute_together(
    qtbot: QtBot,
    open_window: OpenWindow,
    crew: Crew,
    bundles: list[Path],
    torch_python: str,
    bare_python: str,
    header_folder: Path,
    run_plain: RunPlain,
) -> None:
    work_together(qtbot, open_window, crew, bundles, torch_python, bare_python, header_folder)


def work_together(
    qtbot: QtBot,
    open_window: OpenWindow,
    crew: Crew,
    bundles: list[Path],
    torch_python: str,
    bare_python: str,
    header_folder: Path,
) -> None:
    place, work = crew.place, crew.work
    ledger = Ledger()
    ledger.add([name_of(row) for row in rows_of(tk("ls", place))], 0, 0, True, "the beginning")
    window = open_window(place)
    env = torch_env(place, header_folder)
    crew.start("torch", [torch_python, str(DATA / "works_on.py"), str(crew.stop)], env)
    qtbot.waitUntil(lambda: "\n" in crew.said("torch"), timeout=120_000)
    for seed, who in enumerate(("one", "two")):
        argv = [sys.executable, "-m", "tests.load.commands", who, str(place), str(work), str(seed)]
        # One of them names objects for this torch; the other knows none, and is faster.
        known = {"TORCHKEEPER_TORCH_PYTHON": torch_python if who == "one" else bare_python}
        crew.start(who, [*argv, *map(str, bundles)], {**os.environ, **known})
    pulse, hand = Pulse(), Hand(qtbot, window, work, random.Random(7))
    hand.work_until(time.monotonic() + SECONDS)
    pulse.end()
    idle(qtbot, window)
    crew.end()
    window.actions_["refresh"].trigger()
    idle(qtbot, window)

    calls = [json.loads(line) for line in crew.said("torch").splitlines()]
    every = [*crew.ran("one"), *crew.ran("two"), *hand.done]
    report(calls, every, hand, pulse)
    check_commands(every)
    assert all(call.get("right", True) for call in calls)
    assert sorted(pulse.own)[-2] < HELD

    ledger.take(every)
    tell(ledger, calls)
    rows = rows_of(tk("ls", place))
    there = {name_of(row) for row in rows}
    assert ledger.faults(there, UNTOLD) == []
    assert len(window.entries.shown()) == len(rows)
    in_trash = tk("trash", place)[-1]["result"]["entries"]
    moved = sum(one.entries for one in ledger.receipts.values())
    back = sum(one.undone for one in ledger.receipts.values())
    assert moved == back + ledger.emptied + in_trash
    tk("trash", place, "--empty", "--yes")
    assert wholeness.faults(place) == []
    assert [one for one in tk("ls", place) if one.get("problem")] == []


def report(calls: list[dict[str, Any]], every: list[Ran], hand: Hand, pulse: Pulse) -> None:
    """Say what was done, for whoever looks with ``-s``."""
    did = Counter((ran.who, ran.what) for ran in every)
    print()
    for (who, what), count in sorted(did.items()):
        print(f"{who:8}{what:8}{count:5}")
    hits, misses = (sum(call.get(name, 0) for call in calls) for name in ("hits", "misses"))
    eager = sum("eager" in call for call in calls)
    print(f"torch   {len(calls)} calls: {hits} hit, {misses} missed, {eager} eager operators")
    print(f"window  failed: {Counter(hand.failed)}")
    left = Counter(one["code"] for ran in every for one in ran.result.get("left", []))
    print(f"left    {dict(left)}")
    refused = Counter(ran.said.splitlines()[0] for ran in every if ran.code and not ran.result)
    print(f"refused {dict(refused)}")
    own, clock = sorted(pulse.own), sorted(pulse.clock)
    print(
        f"window  its own time at most {own[-1]:.3f} s, then {own[-2]:.3f}; on the clock "
        f"{clock[-1]:.3f} s, 99 of 100 under {clock[len(clock) * 99 // 100]:.3f}; {len(own)} beats"
    )
