"""What is taken away after an abnormal end, and what is not."""

from __future__ import annotations

import fcntl
import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.pace import LONG
from torchkeeper.warm.sweep import Swept, mend, snapshot, sweep

KEY = "cca" + "a" * 49
OTHER = "cca" + "b" * 49
KERNEL = "A" * 52
GONE = 2**22 + 1  # over the largest process id there can be


def elf(size: int = 4096, count: int = 10) -> bytes:
    head = bytearray(64)
    head[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<Q", head, 40, size - 64 * count)
    struct.pack_into("<HH", head, 58, 64, count)
    return bytes(head) + bytes(size - 64)


def put(path: Path, data: bytes = b"") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def swept(root: Path, before: object = None, pids: tuple[int, ...] = ()) -> set[str]:
    marks = before if isinstance(before, dict) else {}
    return {os.path.relpath(item.path, root) for item in sweep(str(root), marks, pids)}


@pytest.mark.parametrize("data", [b"", b"\x7fELF", bytes(4096), elf()[:-1], elf()[:64]])
def test_a_new_object_that_is_not_whole(tmp_path: Path, data: bytes) -> None:
    broken = put(tmp_path / "ca" / f"{KEY}.main.so", data)
    whole = put(tmp_path / "ca" / f"{OTHER}.main.so", elf())
    assert sweep(str(tmp_path), {}, ()) == [Swept(str(broken), "incomplete")]
    assert whole.exists()


def test_what_was_there_before_stays(tmp_path: Path) -> None:
    old = put(tmp_path / "ca" / f"{KEY}.main.so", b"cut")
    temporary = put(tmp_path / "ca" / f".{GONE}.140000000000.tmp")
    folder = tmp_path / "triton" / "0" / KERNEL
    put(folder / "a.ttir")
    before = snapshot(str(tmp_path))
    assert swept(tmp_path, before, (GONE,)) == set()
    assert old.exists()
    assert temporary.exists()
    # Written again by the job: then it is the job's.
    old.write_bytes(b"cut again")
    assert swept(tmp_path, before) == {f"ca/{KEY}.main.so"}


def test_what_is_being_built_is_not_trusted_however_whole(tmp_path: Path) -> None:
    put(tmp_path / "ca" / f"{KEY}.main.so", elf())
    put(tmp_path / "ca" / f"{KEY}.main_CxxBuild" / "x.o", b"half")
    put(tmp_path / "ca" / f"{KEY}.main.cpp")
    put(tmp_path / f"{KEY}.h.gch", b"gpch")
    put(tmp_path / f"{KEY}.h")
    (tmp_path / f"{KEY}.h_CxxBuild").mkdir()
    assert swept(tmp_path) == {
        f"ca/{KEY}.main.so",
        f"ca/{KEY}.main_CxxBuild",
        f"{KEY}.h.gch",
        f"{KEY}.h_CxxBuild",
    }
    assert (tmp_path / "ca" / f"{KEY}.main.cpp").exists()
    assert (tmp_path / f"{KEY}.h").exists()


def test_what_is_built_ahead_of_time_for_an_eager_operator(tmp_path: Path) -> None:
    lib = tmp_path / "aoti_eager" / "aten" / "cpu" / "lib"
    ahead = lib / ("c" + "d" * 51)
    cut = put(ahead / f"{KEY}.wrapper.so", elf()[:-1])
    weights = put(ahead / KEY / f"{OTHER}.weights.o", b"\x7fELF")
    kernel = put(lib / "ca" / f"{OTHER}.so", b"")
    whole = put(ahead / f"{OTHER}.wrapper.so", elf())
    put(ahead / f"{KEY}.wrapper.cpp")
    lock = put(lib / "locks" / f"{KEY}.lock")
    with lock.open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        # Its own lock, and of those without one it may be the one they are built under.
        assert swept(tmp_path) == set()
    put(ahead / f"{OTHER}.wrapper_CxxBuild" / "x.o", b"half")
    assert {item.path for item in mend(str(tmp_path))} == {
        str(cut), str(weights), str(kernel), str(ahead / f"{OTHER}.wrapper_CxxBuild"),
    }  # fmt: skip
    assert whole.exists()
    assert (ahead / f"{KEY}.wrapper.cpp").exists()


@pytest.mark.parametrize("lock", [KEY, OTHER], ids=["its own lock", "only another lock"])
def test_what_somebody_else_is_building_stays(tmp_path: Path, lock: str) -> None:
    put(tmp_path / "ca" / f"{KEY}.main.so", b"half")
    put(tmp_path / "ca" / f"{KEY}.main_CxxBuild" / "x.o", b"half")
    held = put(tmp_path / "locks" / f"{lock}.lock")
    with held.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert swept(tmp_path) == set()
        assert mend(str(tmp_path)) == []
    assert len(swept(tmp_path)) == 2


def test_a_header_that_somebody_else_precompiles_stays(tmp_path: Path) -> None:
    headers = tmp_path / "precompiled_headers"
    put(headers / f"{KEY}.h.gch", b"half")
    (headers / f"{KEY}.h_CxxBuild").mkdir()
    with put(headers / "locks" / f"{KEY}.lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert swept(tmp_path) == swept(headers) == set()
    assert len(swept(tmp_path)) == 2


def test_a_lock_that_is_free_protects_nothing(tmp_path: Path) -> None:
    put(tmp_path / "ca" / f"{KEY}.main.so", b"half")
    with put(tmp_path / "locks" / f"{OTHER}.lock").open() as file:
        put(tmp_path / "locks" / f"{KEY}.lock")
        fcntl.flock(file, fcntl.LOCK_EX)
        assert swept(tmp_path) == {f"ca/{KEY}.main.so"}


def test_temporary_files_by_whose_they_are(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as other:
        put(tmp_path / "ca" / f".{GONE}.140000000000.tmp")
        put(tmp_path / "ca" / f".{other.pid}.140000000000.tmp")
        put(tmp_path / "cache" / f".{GONE}.140000000000.tmp")
        put(tmp_path / "dynamo" / "code_state_a_0_.pkl.tmp")
        # A user's own.
        put(tmp_path / "v2" / "data.pkl.tmp")
        put(tmp_path / "ca" / f"tmp.{'0a' * 20}" / "notes.txt")
        folder = tmp_path / "triton" / "0" / KERNEL
        random = "12345678-1234-1234-1234-123456789abc"
        put(folder / f"tmp.pid_{GONE}_{random}" / "a.ttir")
        put(folder / f"tmp.pid_{other.pid}_{random}" / "a.ttir")
        put(tmp_path / "triton" / "0" / f"tmp.{random}" / "a.ttir")
        assert swept(tmp_path) == {
            f"ca/.{GONE}.140000000000.tmp",
            f"cache/.{GONE}.140000000000.tmp",
            "dynamo/code_state_a_0_.pkl.tmp",
            f"triton/0/{KERNEL}/tmp.pid_{GONE}_{random}",
            f"triton/0/tmp.{random}",
        }
        # Ours may still have a number that is in use again.
        assert swept(tmp_path, pids=(other.pid,)) >= {f"ca/.{other.pid}.140000000000.tmp"}
        other.kill()


def kernel(root: Path, names: list[str], group: list[str] | None) -> Path:
    folder = root / "triton" / "0" / KERNEL
    for name in names:
        put(folder / name)
    if group is not None:
        children = {name: f"/elsewhere/{KERNEL}/{name}" for name in group}
        put(folder / "__grp__k.json", json.dumps({"child_paths": children}).encode())
    return folder


@pytest.mark.parametrize(
    ("names", "group", "stays"),
    [
        (["k.ttir", "k.json"], ["k.ttir", "k.json"], True),
        (["k.ttir"], ["k.ttir", "k.json"], False),
        (["k.ttir", "k.json"], None, False),
        (["__triton_launcher.cpython-311-x86_64-linux-gnu.py"], None, True),
    ],
    ids=["whole", "a file is missing", "no group file yet", "a launcher"],
)
def test_triton_kernels(tmp_path: Path, names: list[str], group: list[str], stays: bool) -> None:
    folder = kernel(tmp_path, names, group)
    assert swept(tmp_path) == (set() if stays else {f"triton/0/{KERNEL}"})
    assert folder.exists() is stays


def test_a_group_file_that_is_no_json(tmp_path: Path) -> None:
    put(kernel(tmp_path, ["k.ttir"], None) / "__grp__k.json", b"{")
    assert swept(tmp_path) == {f"triton/0/{KERNEL}"}


def test_the_trash_and_links_are_left_alone(tmp_path: Path) -> None:
    root = tmp_path / "place"
    put(root / ".torchkeeper-trash" / "1" / "ca" / f"{KEY}.main.so", b"half")
    outside = put(tmp_path / "outside" / f"{KEY}.main.so", b"half")
    (root / "ca").symlink_to(outside.parent)
    assert swept(root) == set()
    assert mend(str(root)) == []
    assert swept(tmp_path / "nowhere") == set()


def test_what_another_torchkeeper_imports_stays(tmp_path: Path) -> None:
    put(tmp_path / "ca" / ".torchkeeper-0123456789ab.tmp")
    put(tmp_path / "triton" / "0" / "tmp.torchkeeper-0123456789ab" / "launcher.so", b"half")
    assert swept(tmp_path) == set()
    assert mend(str(tmp_path)) == []


def test_mend_takes_only_what_is_surely_useless(tmp_path: Path) -> None:
    put(tmp_path / "ca" / f"{KEY}.main.so", elf())
    (tmp_path / "ca" / f"{KEY}.main_CxxBuild").mkdir()
    put(tmp_path / "ca" / f"{OTHER}.main.so", b"half")
    put(tmp_path / f"{KEY}.h.gch", b"gpch")
    (tmp_path / f"{KEY}.h_CxxBuild").mkdir()
    put(tmp_path / f"{OTHER}.h.gch", b"gpch")
    put(tmp_path / "ca" / f".{GONE}.140000000000.tmp")
    assert {os.path.relpath(item.path, tmp_path) for item in mend(str(tmp_path))} == {
        f"ca/{KEY}.main_CxxBuild",
        f"ca/{OTHER}.main.so",
        f"{KEY}.h.gch",
        f"{KEY}.h_CxxBuild",
    }


def test_what_a_job_without_an_engine_was_at_is_taken_away_once_it_is_gone(tmp_path: Path) -> None:
    place, scratch = tmp_path / "place", tmp_path / "scratch"
    old = put(place / "triton" / "0" / KERNEL / "a.ttir").parent
    new = put(place / "triton" / "0" / ("B" * 52) / "a.ttir").parent
    begun = time.time_ns()
    os.utime(old, ns=(begun - 10**9,) * 2)
    os.utime(new, ns=(begun + 10**9,) * 2)
    put(scratch / "deep" / "file")
    what = {"roots": [str(place)], "since": begun, "scratch": str(scratch)}
    starts = f"from torchkeeper.warm import processes; processes.start({what!r}); input()"
    with subprocess.Popen(
        [sys.executable, "-c", starts], stdin=subprocess.PIPE, start_new_session=True
    ) as job:
        time.sleep(0.2)
        assert new.exists()
        assert scratch.exists()
        job.communicate(b"\n")
    deadline = time.monotonic() + LONG
    while scratch.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not scratch.exists()
    assert not new.exists()
    assert old.exists()
