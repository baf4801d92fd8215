"""Two command lines, a window and a running PyTorch on one folder: in the end all of it is whole,
and everything that was put there is there, in the trash, or was removed by somebody.

The minute with PyTorch is ``.venv/bin/python -m pytest -m slow -s tests/load``, which also says
what each has done; TORCHKEEPER_LOAD_SECONDS=600 before it makes it ten. The few seconds without
PyTorch are among the everyday tests.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from tests.conftest import DATA
from tests.gui.conftest import OpenWindow, idle
from tests.load import wholeness
from tests.load.commands import Ran, Rows, rows_of
from tests.load.crew import Crew, called_again, exported, tk, torch_env
from tests.load.judging import judged
from tests.load.window import Hand, Pulse

pytestmark = [
    pytest.mark.qt_log_ignore("propagateSizeHints", extend=True),
    pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's"),
]

#: How long they work, in seconds.
SECONDS = float(os.environ.get("TORCHKEEPER_LOAD_SECONDS", "60"))
SOME_SECONDS = 4.0
#: Seconds that the window may be held by anything, of its own time.
HELD = 0.1


@pytest.mark.slow
def test_some_seconds_together(
    qtbot: QtBot,
    open_window: OpenWindow,
    crew: Crew,
    kernels: Path,
    clean_291: Path,
    bare_python: str,
    tmp_path: Path,
) -> None:
    place = Path(shutil.copytree(clean_291, tmp_path / "cache"))
    bundles = exported(tmp_path, kernels=kernels, old=clean_291)
    known = {"TORCHKEEPER_TORCH_PYTHON": bare_python}
    work_together(qtbot, open_window, crew, place, bundles, (known, known), SOME_SECONDS)


@pytest.mark.slow
@pytest.mark.torch
def test_a_minute_together_with_pytorch(
    qtbot: QtBot,
    open_window: OpenWindow,
    crew: Crew,
    filled: Path,
    other_kinds: Path,
    kernels: Path,
    clean_291: Path,
    torch_python: str,
    bare_python: str,
    header_folder: Path,
    tmp_path: Path,
) -> None:
    place = Path(shutil.copytree(filled, tmp_path / "cache"))
    others = other_kinds / "cache"
    bundles = exported(tmp_path, filled=filled, others=others, kernels=kernels, old=clean_291)
    env = torch_env(place, header_folder)
    crew.start("torch", [torch_python, str(DATA / "works_on.py"), str(crew.stop)], env)
    qtbot.waitUntil(lambda: "\n" in crew.said("torch"), timeout=120_000)
    # One of them names objects for this torch; the other knows none, and is faster.
    known = tuple({"TORCHKEEPER_TORCH_PYTHON": python} for python in (torch_python, bare_python))
    calls, rows = work_together(qtbot, open_window, crew, place, bundles, known, SECONDS)
    numbers = {call["number"] for call in calls if call.get("misses")}
    called_again(torch_python, env, sorted(numbers), rows)


def work_together(
    qtbot: QtBot,
    open_window: OpenWindow,
    crew: Crew,
    place: Path,
    bundles: list[Path],
    known: Sequence[dict[str, str]],
    seconds: float,
) -> tuple[list[dict[str, Any]], Rows]:
    """Have them work; returns what PyTorch said, and what is there in the end.

    known: the environments of the two command lines.
    """
    work = crew.work
    beginning = rows_of(tk("ls", place))
    window = open_window(place)
    inside = {file: rows_of(tk("inspect", file)) for file in bundles}
    for seed, (who, env) in enumerate(zip(("one", "two"), known, strict=True)):
        argv = [sys.executable, "-m", "tests.load.commands", who, str(place), str(work), str(seed)]
        crew.start(who, [*argv, *map(str, bundles)], {**os.environ, **env})
    pulse, hand = Pulse(), Hand(qtbot, window, work, random.Random(7), inside)
    hand.work_until(time.monotonic() + seconds)
    pulse.end()
    idle(qtbot, window)
    crew.end()
    window.head.box.setText("")
    window.actions_["refresh"].trigger()
    idle(qtbot, window)

    torch = crew.said("torch") if (work / "torch.out").exists() else ""
    calls = [json.loads(line) for line in torch.splitlines()]
    every = [*crew.ran("one"), *crew.ran("two"), *hand.done]
    report(calls, every, hand, pulse)
    rows = rows_of(tk("ls", place))
    in_trash = tk("trash", place)[-1]["result"]["entries"]
    faults = judged(beginning, calls, every, rows, in_trash)
    tk("trash", place, "--empty", "--yes")
    faults += wholeness.faults(place)
    faults += [f"broken: {one}" for one in tk("ls", place) if one.get("problem")]
    assert not faults, "\n".join(fault[:1000] for fault in faults)
    assert len(window.entries.shown()) == len(rows)
    assert set(hand.failed) <= {"place-busy", "nothing-to-undo"}
    assert sorted(pulse.own)[-2] < HELD
    return calls, rows


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
