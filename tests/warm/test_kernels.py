"""Triton kernels for GPUs that are not there: what is compiled, that a launch takes it, and what is
said of those that cannot be compiled.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DATA, once
from tests.warm.conftest import Recorder
from torchkeeper.client.kept import verified
from torchkeeper.client.words.problems import user_error
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.warm import supervise
from torchkeeper.warm.verify import verify

FILE = "recipe_kernels.py"
ADD = {"x": "*fp32:16", "y": "*fp32:16", "out": "*fp32:16", "n": "i32"}
GOOD: list[dict[str, Any]] = [
    {"kernel": f"{FILE}:add", "signature": ADD, "constants": {"block": 128}, "num_warps": 4,
     "targets": ["cuda:90", "cuda:80", "hip:gfx942"]},
    {"kernel": f"{FILE}:tuned", "signature": {"x": "*fp32:16", "n": "i32"}, "targets": ["cuda:90"]},
    {"kernel": f"{FILE}:typed", "signature": {"x": "*fp32:16", "n": "i8"},
     "constants": {"kind": "tl.float32"}, "targets": ["cuda:90"]},
]  # fmt: skip
BAD: list[tuple[str, dict[str, Any]]] = [
    ("kernel-failed", {"kernel": f"{FILE}:broken", "signature": {"x": "*fp32"}}),
    ("kernel-argument-unknown", {"kernel": f"{FILE}:add", "signature": {**ADD, "z": "i32"}}),
    ("kernel-arguments-missing", {"kernel": f"{FILE}:add", "signature": ADD, "constants": {}}),
    ("kernel-argument", {"kernel": f"{FILE}:add", "signature": {**ADD, "n": "i8"}}),
    ("kernel-target", {"kernel": f"{FILE}:add", "signature": ADD, "targets": ["cuda:12"]}),
    ("not-a-kernel", {"kernel": f"{FILE}:plain", "signature": {}}),
    ("name-missing", {"kernel": f"{FILE}:ad", "signature": {}}),
    ("module-missing", {"kernel": "no_such_module:add", "signature": {}}),
]


def request(items: list[dict[str, Any]]) -> Any:
    return [{"name": "kernels", "folder": str(DATA), "data": {"triton": items}}]


def bad_items() -> list[dict[str, Any]]:
    about = {"constants": {"block": 128}, "targets": ["cuda:90"]}
    return [{**about, **item} for _, item in BAD]


@pytest.fixture
def warmed(shared: Path, with_torch: list[int]) -> Path:
    """A place with the good kernels in ``place``, and what warming said. Not to be changed."""

    def make(folder: Path) -> None:
        asked: Any = {"into": str(folder / "place"), "recipes": request([*GOOD, *bad_items()])}
        (folder / "said.json").write_text(json.dumps(supervise.warm(asked, Recorder())))

    return once(shared, "warmed-kernels", make)


@pytest.mark.torch
def test_kernels_are_compiled_and_told_by_themselves(warmed: Path) -> None:
    result = json.loads((warmed / "said.json").read_text())
    good, bad = result["variants"][:5], result["variants"][5:]
    assert [row["name"] for row in good] == [
        "add, cuda:90", "add, cuda:80", "add, hip:gfx942", "tuned, cuda:90", "typed, cuda:90",
    ]  # fmt: skip
    assert [row["state"] for row in good] == ["done"] * 5
    # One for each configuration where that is left open.
    assert [row["misses"] for row in good] == [1, 1, 1, 2, 1]
    assert [row["proof"] for row in good] == [
        {"found": misses, "of": misses} for misses in (1, 1, 1, 2, 1)
    ]
    assert [row["problem"]["code"] for row in bad] == [code for code, _ in BAD]
    told = {row["problem"]["code"]: row["problem"] for row in bad}
    failed = told["kernel-failed"]["params"]
    lines = (DATA / FILE).read_text().splitlines()
    number = next(at for at, line in enumerate(lines, 1) if "no_such_thing" in line)
    # The line of the helper that is wrong, not of the kernel that calls it.
    assert failed["where"].endswith(f"{FILE}:{number}: return value.no_such_thing / 2")
    assert "no_such_thing" in failed["why"]
    assert told["kernel-argument-unknown"]["params"]["argument"] == "z"
    assert told["kernel-arguments-missing"]["params"]["missing"] == "block"
    assert told["kernel-argument"]["params"]["made"] == "i32"
    assert "sm_12" in told["kernel-target"]["params"]["why"]
    assert told["name-missing"]["params"]["near"] == "add"
    for problem in told.values():
        error = user_error(problem["code"], problem["params"])
        assert "{" not in str(error)
        assert error.remedy
    # Nothing but whole kernels is left, also of those that failed.
    assert (result["done"], result["failed"]) == (5, len(BAD))
    assert result["kinds"] == {"triton": 6}
    items = [
        item for item in Folder(str(warmed / "place")).items(Recorder()) if item.kind != "lock"
    ]
    assert {item.kind for item in items} == {"triton"}
    assert all(item.path.startswith("triton/0/") for item in items)
    assert all(any("__grp__" in file.name for file in item.files) for item in items)


#: What compiles a kernel while something else writes to the cache all the time.
BESIDE = """
import os, threading, time
from recipe_kernels import add

def write():
    folder = os.path.join(os.environ["TORCHINDUCTOR_CACHE_DIR"], "triton", "0", "other")
    os.makedirs(folder)
    while True:
        os.utime(folder)
        time.sleep(0.001)

threading.Thread(target=write, daemon=True).start()
"""


@pytest.mark.torch
@pytest.mark.slow
def test_what_another_writes_beside_it_is_not_taken_for_its_own(
    tmp_path: Path, with_torch: list[int]
) -> None:
    shutil.copy(DATA / FILE, tmp_path)
    (tmp_path / "beside.py").write_text(BESIDE)
    item = {**GOOD[0], "kernel": "beside.py:add", "targets": ["cuda:90"]}
    recipe = {**request([item])[0], "folder": str(tmp_path)}
    asked: Any = {"into": str(tmp_path / "place"), "recipes": [recipe]}
    for counts in ((0, 1), (1, 0)):
        result = supervise.warm(asked, Recorder())
        assert (result["hits"], result["misses"]) == counts
        assert result["variants"][0]["proof"] == {"found": 1, "of": 1}


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
def test_a_launch_takes_what_was_warmed(
    warmed: Path, torch_python: str, tmp_path: Path, target: str
) -> None:
    """Triton computes the hash from real tensors, in its own way."""
    cache = tmp_path / "place" / "triton" / "0"
    shutil.copytree(warmed / "place", tmp_path / "moved")
    shutil.copytree(warmed / "place" / "triton" / "0", cache)
    # Group files name their folder; this one is where they say.
    for group in cache.glob("*/__grp__*"):
        told = group.read_text().replace(str(warmed / "place"), str(tmp_path / "place"))
        group.write_text(told)
    done = subprocess.run(
        [torch_python, str(DATA / "launch_kernel.py"), target, str(DATA / FILE)],
        env={**os.environ, "TRITON_CACHE_DIR": str(cache)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    compiled = json.loads(done.stdout.splitlines()[-1])
    other = target != "cuda:90"
    assert compiled == {
        "as warmed": False, "a multiple of 16": True, "not aligned": True,
        "tuned 2": other, "tuned 4": other, "typed": other,
    }  # fmt: skip


@pytest.mark.torch
@pytest.mark.gpu
def test_a_launch_on_this_gpu_takes_what_was_warmed(
    gpu: str, torch_python: str, tmp_path: Path, with_torch: list[int]
) -> None:
    """Warmed for the GPU that is there, without naming it; then really launched."""
    items = [{key: item[key] for key in item if key != "targets"} for item in GOOD]
    result = supervise.warm({"into": str(tmp_path), "recipes": request(items)}, Recorder())
    assert (result["done"], result["kinds"]["triton"]) == (3, 4)
    done = subprocess.run(
        [torch_python, str(DATA / "launch_kernel.py"), "here", str(DATA / FILE)],
        env={**os.environ, "TRITON_CACHE_DIR": str(tmp_path / "triton" / "0")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    compiled = json.loads(done.stdout.splitlines()[-1])
    assert compiled == {
        "as warmed": False, "a multiple of 16": True, "not aligned": True,
        "tuned 2": False, "tuned 4": False, "typed": False,
    }  # fmt: skip


@pytest.mark.torch
@pytest.mark.slow
def test_a_kernel_that_is_gone_is_missed(warmed: Path, tmp_path: Path, with_torch: Any) -> None:
    """Each variant is judged by itself, by what Triton writes."""
    place = Path(shutil.copytree(warmed / "place", tmp_path / "place"))
    for group in place.glob("triton/0/*/__grp__*"):
        text = group.read_text()
        group.write_text(text.replace(str(warmed / "place"), str(place)))
    [gone] = [
        path.parent
        for path in place.glob("triton/0/*/add.json")
        if json.loads(path.read_text())["target"]["arch"] == 80
    ]
    shutil.rmtree(gone)
    report = Recorder()
    asked: Any = {"place": str(place), "recipes": request(GOOD), "only": [0, 1], "runs": ["warm"]}
    result = verify(asked, report)
    assert [variant["good"] for variant in result["variants"]] == [True, False]
    assert [variant["proof"] for variant in result["variants"]] == [
        {"found": 1, "of": 1}, {"found": 0, "of": 1},
    ]  # fmt: skip
    assert [row["outcome"] for row in result["rows"]] == ["hit", "miss"]
    why = verified.checked(result)["variants"][1]["why"]
    assert why == "The nearest kernel in the cache has the target cuda:90 instead of cuda:80"
    assert (result["hits"], result["misses"], result["good"]) == (1, 1, False)
    assert not gone.exists()  # it is a copy that Triton wrote to
    # Alone: the same, and a sum of one.
    [one] = verify(asked | {"only": [0]}, Recorder())["variants"]
    assert one["good"]
    assert one["seconds"]["warm"] > 0
