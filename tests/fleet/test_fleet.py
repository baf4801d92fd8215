"""A matrix of 24 kernels, warmed by the fleet of this machine: real compiles, real places."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.conftest import BAD, CELLS, KERNELS, Warm, held, keys, warmed_alone
from torchkeeper.artifacts.layout import TRASH
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.recipes import files
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine.protocol import NODES
from torchkeeper.fleet import retention
from torchkeeper.fleet.engine import FleetEngine
from torchkeeper.fleet.state import State
from torchkeeper.placing.machines import converse


def contents(place: Path) -> dict[str, bytes]:
    """What the files of kernels hold, by their paths. ptxas writes the random name of its input
    into a cubin (make_cubin in triton/backends/nvidia/compiler.py), so that no two are the same,
    and the file of a group has the path of the place.
    """
    return {
        str(file.relative_to(place)): file.read_bytes()
        for file in (place / "triton").rglob("*")
        if file.is_file() and file.suffix != ".cubin" and not file.name.startswith("__grp__")
    }


def test_a_matrix_is_warmed_once(warm: Warm, recipes: Path, tmp_path: Path) -> None:
    """The same entries as one machine makes, byte for byte; each cell is compiled exactly once;
    the same command again compiles nothing; and what is missing then is compiled again.
    """
    place = tmp_path / "place"
    ran = warm(place)
    assert ran.result["states"]["warm"] == ran.result["compiled"] == CELLS
    assert Counter(Counter(ran.compiled).values()) == {1: CELLS}
    assert keys(place) == warmed_alone(recipes, tmp_path / "alone")
    first = contents(place)
    assert len(held(place)) == CELLS
    assert not (place / TRASH).exists(), "hundreds of receipts would push out the user's own"
    made = {file.suffix for file in place.rglob("*") if file.is_file()}
    assert {".cubin", ".hsaco", ".ptx", ".amdgcn"} <= made

    again = warm(place)
    assert (again.result["compiled"], again.result["there"]) == (0, CELLS)
    assert all(row["there"] and row["state"] == "warm" for row in again.cells)

    [gone, *_] = sorted((place / "triton/0").iterdir())
    shutil.rmtree(gone)
    again = warm(place)
    # What came in one bundle is one thing: of the others nothing is new.
    assert 0 < again.result["compiled"] < CELLS
    assert again.result["entries"] == 1
    assert contents(place) == first
    # On one worker, and so in one unit after another: the same bytes.
    warm(tmp_path / "other", slots=1, state=str(tmp_path / "other.state"))
    assert contents(tmp_path / "other") == first


@pytest.mark.slow
def test_of_a_recipe_that_changes_only_its_cells_are_compiled(
    warm: Warm, recipes: Path, tmp_path: Path
) -> None:
    (recipes / "more.toml").write_text(BAD.replace(":bad", ":more"))
    (recipes / "more_kernels.py").write_text(KERNELS.replace("def add", "def more"))
    (recipes / "more.toml").write_text(
        BAD.replace("kernels.py:bad", "more_kernels.py:more").replace(
            'x = "*fp32"', 'x = "*fp32", y = "*fp32"'
        )
    )
    first = warm(tmp_path / "place")
    assert first.result["compiled"] == CELLS + 1
    text = (recipes / "more.toml").read_text()
    (recipes / "more.toml").write_text(text.replace("B = 64", "B = 128"))
    second = warm(tmp_path / "place")
    assert (second.result["compiled"], second.result["there"]) == (1, CELLS)
    # A value more in a matrix is a few cells more.
    matrix = (recipes / "add.toml").read_text()
    (recipes / "add.toml").write_text(matrix.replace("B = [64, 128]", "B = [64, 128, 256]"))
    third = warm(tmp_path / "place")
    assert (third.result["compiled"], third.result["there"]) == (CELLS // 2, CELLS + 1)


@pytest.mark.slow
def test_what_is_in_the_place_is_a_hit(warm: Warm, recipes: Path, tmp_path: Path) -> None:
    """A place that a plain warm-up has filled: every cell finds its entry, nothing is new."""
    alone = warmed_alone(recipes, tmp_path / "place")
    ran = warm(tmp_path / "place")
    assert keys(tmp_path / "place") == alone
    assert ran.result["entries"] == 0
    assert ran.result["states"]["warm"] == CELLS


@pytest.mark.slow
def test_into_a_bundle(warm: Warm, recipes: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "all.torchcache"
    ran = warm(bundle)
    assert ran.result["compiled"] == CELLS
    assert keys(bundle) == warmed_alone(recipes, tmp_path / "alone")
    assert not os.listdir(tmp_path / "state/bundles")
    again = warm(bundle)
    assert (again.result["compiled"], again.result["there"]) == (0, CELLS)


@pytest.mark.slow
def test_cells_are_proven(warm: Warm, tmp_path: Path) -> None:
    ran = warm(tmp_path / "place", prove=True, only=[0, 9, 20])
    assert ran.result["states"]["proven"] == ran.result["cells"] == 3
    assert all((row["hits"], row["misses"]) == (1, 0) for row in ran.cells)
    assert all(row["proved_on"] == "local" for row in ran.cells)
    again = warm(tmp_path / "place", prove=True, only=[0, 9, 20])
    assert again.result["states"]["proven"] == 3
    assert not again.found("cell"), "neither compiled nor proven again"


def test_kernels_are_looked_for_in_one_process_until_one_is_not_found(
    recipes: Path, tmp_path: Path
) -> None:
    """Then that one and those after it have a fresh one each: what it built is not the place's."""
    warmed_alone(recipes, place := tmp_path / "place")
    pids = tmp_path / "pids"
    noted = f"import os\nopen({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
    # The same lines, as they are part of the kernel's hash.
    (recipes / "noting.py").write_text(noted)
    (recipes / "kernels.py").write_text(
        KERNELS.replace("import triton\n", "import noting, triton\n")
    )
    asked = {"recipes": files.wire(files.chosen([str(recipes)])), "place": str(place),
             "runs": ["warm"], "only": [0, 3, 6, 9]}  # fmt: skip

    def verified() -> tuple[list[tuple[int, bool]], int]:
        pids.unlink(missing_ok=True)
        told = list[dict[str, Any]]()

        def hear(message: Any) -> None:
            if isinstance(one := message.body.get("variant"), dict) and "good" in one:
                told.append(one)

        with Engine() as engine:
            result = engine.call("verify", asked, hear)
        rows = [(row["index"], row["good"]) for row in result["variants"]]
        assert [(row["index"], row["good"]) for row in told] == rows
        return rows, len(set(pids.read_text().split()))

    assert verified() == ([(0, True), (3, True), (6, True), (9, True)], 1)
    for one in (place / "triton/0").iterdir():
        about = json.loads(next(one.glob("add.json")).read_text())
        if about["num_warps"] == 2 and about["target"]["arch"] == 80:
            shutil.rmtree(one)
    assert verified() == ([(0, True), (3, False), (6, True), (9, True)], 4)


def test_of_kernels_of_one_bundle_only_those_go_that_no_cell_needs(
    warm: Warm, tmp_path: Path
) -> None:
    """And what the user made himself stays, though no cell asks for it."""
    place = tmp_path / "place"
    first = warm(place, only=[0, 1, 2, 3], slots=1)
    state = State(str(tmp_path / "state"))
    state.read()
    assert len(state.new) == 1, "they came together"
    before, now = keys(place), {row["cell"] for row in first.cells[:2]}
    needed = {name for one in now for name in state.done[one].named}
    with Engine() as engine, state.held():

        def ask(op: str, params: Any) -> Any:
            rows, found = list[Any](), list[Any]()
            told = engine.call(op, params, lambda message: (
                rows.extend(message.rows) if message.type == "rows" else found.append(message.body)
            ))  # fmt: skip
            return told, rows, found

        gone = retention.outdated(state, now)
        done, went = retention.prune(str(place), gone, 0.0, ask)
        state.pruned(went)
    assert done["entries"] == 2
    assert keys(place) == needed == before - went
    again = warm(place, only=[0, 1], slots=1)
    assert (again.result["there"], again.result["compiled"]) == (2, 0)


def test_what_fails_is_reported_and_the_rest_is_warm(
    warm: Warm, recipes: Path, tmp_path: Path
) -> None:
    (recipes / "bad.toml").write_text(BAD)
    (recipes / "device.toml").write_text(
        '[[callable]]\nfunction = "kernels.py:add"\ninputs = []\n[compile]\ndevice = "xpu"\n'
    )
    ran = warm(tmp_path / "place")
    assert ran.result["states"]["warm"] == CELLS
    [bad] = [row for row in ran.cells if row["state"] == "failed"]
    assert any("nothing_of_this_name" in line for line in bad["log"])
    assert bad["problem"]["code"] == "fleet-failed"
    [none] = [row for row in ran.cells if row["state"] == "impossible"]
    assert none["problem"] == {"code": "fleet-lacks", "params": {"what": "xpu"}}
    # It was said before anything began.
    [first] = ran.found("cells")[:1]
    assert any(row["state"] == "impossible" for row in first)


def test_what_is_cancelled_leaves_what_was_done(warm: Warm, tmp_path: Path) -> None:
    def cancel(message: Any, engine: Any) -> None:
        if "gathered" in message.body:
            engine.cancel(1)

    ran = warm(tmp_path / "place", cancel, slots=1)
    assert ran.result["cut"]
    done = ran.result["compiled"]
    assert 0 < done < CELLS
    again = warm(tmp_path / "place")
    assert (again.result["there"], again.result["compiled"]) == (done, CELLS - done)


def test_a_dry_run_changes_nothing(warm: Warm, tmp_path: Path) -> None:
    ran = warm(tmp_path / "place", dry=True)
    assert ran.result["states"]["waiting"] == CELLS
    assert not (tmp_path / "place").exists()
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("target", ["nowhere:x", "no-such-group"])
def test_a_target_that_is_none_is_said(warm: Warm, tmp_path: Path, target: str) -> None:
    with pytest.raises(UserError) as told:
        warm(tmp_path / "place", on=[target])
    assert told.value.code in ("target-unknown", "hosts-none")
    assert target in told.value.what
    assert told.value.code == "target-unknown" or f"ssh://{target}" in told.value.remedy


def test_a_target_that_says_nothing_is_left_once_that_is_asked_for() -> None:
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as silent, FleetEngine() as engine:
        asked: Any = {"on": [f"ssh://nobody@127.0.0.1:{silent.getsockname()[1]}"]}
        with ThreadPoolExecutor(1) as pool:
            answer = pool.submit(converse, engine, NODES, asked, lambda _: None, stop)
            with silent.accept()[0], pytest.raises(UserError) as told:
                stop.set()
                answer.result()
    assert told.value.code == "cancelled"


@pytest.mark.parametrize(
    "number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)]
)
def test_what_is_killed_goes_on(warm: Warm, tmp_path: Path, number: int) -> None:
    def kill(message: Any, engine: Any) -> None:
        if "gathered" in message.body:
            os.kill(engine.pid, number)

    with pytest.raises(UserError):
        warm(tmp_path / "place", kill, slots=1)
    again = warm(tmp_path / "place")
    assert again.result["states"]["warm"] == CELLS
    assert again.result["there"] > 0, "what had been gathered is not compiled again"
    assert len(held(tmp_path / "place")) == CELLS


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_a_signal_ends_says_how_far_it_came(
    recipes: Path, tmp_path: Path, number: signal.Signals
) -> None:
    # A shell that starts the tests in the background has them ignore SIGINT.
    command = ["env", "--default-signal=INT", sys.executable, "-m", "torchkeeper", "warm"]
    command += [str(recipes), "--on", "local", "--into", str(tmp_path / "place")]
    command += ["--state", str(tmp_path / "state")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        while not process.stderr.readline().startswith("warm "):
            assert process.poll() is None
        process.send_signal(number)
        said = process.stderr.read()
    assert process.returncode == 128 + number
    assert f" of {CELLS} cells " in said
    assert "the same command again goes on from there." in said
    assert said.splitlines()[-1] == "torchkeeper: Cancelled."
    assert 0 < len(keys(tmp_path / "place")) < CELLS
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert " there before; " in again.stdout
    assert len(keys(tmp_path / "place")) == CELLS
