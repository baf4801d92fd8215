"""Which processes use a folder: real ones, with files open, mapped, or only the folder's name."""

from __future__ import annotations

import getpass
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import torchkeeper
from tests.pace import within
from tests.processes import Start, starting
from torchkeeper.artifacts.layout import TRASH
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.in_use import InUse, User, users

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")

ONE, TWO = "cab" + "x" * 49, "cab" + "y" * 49

OPEN = "import sys, time; f = open(sys.argv[1]); print('ready', flush=True); time.sleep(600)"
MAP = (
    "import mmap, sys, time; f = open(sys.argv[1], 'rb'); "
    "m = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ); f.close(); "
    "print('ready', flush=True); time.sleep(600)"
)
WAIT = "import time; print('ready', flush=True); time.sleep(600)"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a process that says a line once it is ready, and ends it after the test."""
    with starting() as started:
        yield started


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two files of code."""
    below = tmp_path / "cache" / "ab"
    below.mkdir(parents=True)
    for name in (ONE, TWO):
        (below / f"{name}.py").write_text("# code")
        (below / f"{name}.so").write_bytes(b"\x7fELF" + bytes(5000))
    return tmp_path / "cache"


def using(folder: Path) -> dict[int, User]:
    return {user.pid: user for user in users(os.path.realpath(folder), Report()).processes}


def test_open_files(start: Start, folder: Path) -> None:
    pid = start(sys.executable, "-c", OPEN, folder / f"ab/{ONE}.py")
    found = using(folder)
    assert set(found) == {pid}
    user = found[pid]
    assert (user.why, user.paths, user.holds_all) == ("open", frozenset({f"ab/{ONE}.py"}), False)
    assert user.name.startswith("python")


def test_mapped_files(start: Start, folder: Path) -> None:
    odd = folder / "ab" / "cab3 with spaces.so"
    shutil.copy(folder / f"ab/{ONE}.so", odd)
    pid = start(sys.executable, "-c", MAP, odd)
    again = start(sys.executable, "-c", MAP, folder / f"ab/{TWO}.so")
    found = using(folder)
    assert set(found) == {pid, again}
    assert found[pid].paths == {"ab/cab3 with spaces.so"}
    # mmap keeps a descriptor of its own; what tells is that it is mapped.
    assert found[again].why == "mapped"


@pytest.mark.skipif(not shutil.which("g++"), reason="needs a compiler")
def test_a_loaded_library(start: Start, folder: Path) -> None:
    library = folder / "ab" / "cab9.so"
    empty = folder / "empty.cpp"
    empty.write_text("int answer() { return 42; }")
    subprocess.run(["g++", "-shared", "-fPIC", str(empty), "-o", str(library)], check=True)
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); " + WAIT
    pid = start(sys.executable, "-c", code, library)
    user = using(folder)[pid]
    assert (user.why, user.paths) == ("mapped", frozenset({"ab/cab9.so"}))


def test_the_trash_and_what_was_deleted_are_not_in_use(start: Start, folder: Path) -> None:
    start(sys.executable, "-c", OPEN, folder / f"ab/{ONE}.py")
    start(sys.executable, "-c", MAP, folder / f"ab/{ONE}.so")
    trash = folder / TRASH / "1" / "files" / "ab"
    trash.mkdir(parents=True)
    (folder / f"ab/{ONE}.py").rename(trash / f"{ONE}.py")
    (folder / f"ab/{ONE}.so").rename(trash / f"{ONE}.so")
    assert using(folder) == {}
    shutil.rmtree(folder / TRASH)
    items = Folder(str(folder)).items(Report())
    _, left = users(str(folder), Report()).split(items)
    assert left == []


def test_what_was_deleted_is_nobodys(start: Start, folder: Path) -> None:
    start(sys.executable, "-c", MAP, folder / f"ab/{ONE}.so")
    start(sys.executable, "-c", OPEN, folder / f"ab/{ONE}.py")
    for ending in ("so", "py"):
        (folder / f"ab/{ONE}.{ending}").unlink()
    assert using(folder) == {}
    odd = folder / "ab" / "odd (deleted)"
    odd.touch()
    pid = start(sys.executable, "-c", OPEN, odd)
    assert using(folder)[pid].paths == {"ab/odd (deleted)"}


def mounted(folder: Path, elsewhere: Path) -> list[str]:
    """A command line that runs what follows with the folder mounted elsewhere as well."""
    elsewhere.mkdir()
    script = f'mount --bind {folder} {elsewhere} && exec "$@"'
    argv = ["unshare", "--mount", "/bin/sh", "-c", script, "sh"]
    if subprocess.run([*argv, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system does not let one mount")
    return argv


@pytest.mark.skipif(os.getuid() != 0, reason="needs to mount")
def test_a_process_with_other_mounts(start: Start, folder: Path, tmp_path: Path) -> None:
    there = tmp_path / "elsewhere"
    argv = mounted(folder, there)
    opening = start(*argv, sys.executable, "-c", OPEN, there / f"ab/{ONE}.py")
    mapping = start(*argv, sys.executable, "-c", MAP, there / f"ab/{TWO}.so")
    python = [*argv, sys.executable, "-c", WAIT]
    named = {
        start(*python, TORCHINDUCTOR_CACHE_DIR=str(path))
        for path in (there, there / "triton" / "0", tmp_path)
    }
    relative = start(*python, cwd=tmp_path, TRITON_CACHE_DIR="elsewhere/ab")
    start(*python, TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "nowhere"))
    # Mounted over: what it calls by the name of the folder is another one.
    other = tmp_path / "other"
    other.mkdir()
    over = ["unshare", "--mount", "/bin/sh", "-c", f'mount --bind {other} {folder} && exec "$@"']
    start(*over, "sh", sys.executable, "-c", WAIT, TORCHINDUCTOR_CACHE_DIR=str(folder))
    items = Folder(str(folder)).items(Report())
    found = users(str(folder), Report(), items)
    by_pid = {user.pid: user for user in found.processes}
    assert set(by_pid) == {opening, mapping, relative, *named}
    assert by_pid[opening].why == "open"
    assert by_pid[opening].paths == {f"ab/{ONE}.py"}
    assert by_pid[mapping].why == "mapped"
    assert by_pid[mapping].paths == {f"ab/{TWO}.so"}
    assert all(by_pid[pid].holds_all for pid in (*named, relative))
    free, left = found.split(items)
    assert not free
    assert {item.key for item, _ in left} == {ONE, TWO}


@pytest.mark.parametrize("variable", ["TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"])
@pytest.mark.parametrize("where", ["cache", "cache/triton", ".", "link", "cache/../cache/"])
def test_the_folder_in_the_environment(
    start: Start, folder: Path, variable: str, where: str
) -> None:
    (folder.parent / "link").symlink_to(folder)
    pid = start(sys.executable, "-c", WAIT, **{variable: str(folder.parent / where)})
    relative = start(sys.executable, "-c", WAIT, cwd=folder.parent, **{variable: where})
    start(sys.executable, "-c", WAIT, **{variable: str(folder.parent / "cache-of-another")})
    found = using(folder)
    assert set(found) == {pid, relative}
    assert {(user.why, user.holds_all) for user in found.values()} == {("environment", True)}


def test_a_shell_that_inherited_the_variable_holds_nothing(start: Start, folder: Path) -> None:
    pid = start("/bin/sh", "-c", "echo ready; read x", TORCHINDUCTOR_CACHE_DIR=str(folder))
    user = using(folder)[pid]
    assert (user.name, user.why, user.holds_all) == ("sh", "environment", False)
    assert users(str(folder), Report()).holder is None


def test_a_folder_that_goes_meanwhile(start: Start, folder: Path) -> None:
    pid = start(sys.executable, "-c", WAIT, TORCHINDUCTOR_CACHE_DIR=str(folder))
    shutil.rmtree(folder)
    assert set(using(folder)) == {pid}


@pytest.mark.slow
@pytest.mark.torch
def test_the_default_folder_of_torch(start: Start, tmp_path: Path, torch_python: str) -> None:
    place = tmp_path / f"torchinductor_{re.sub(r'[^a-zA-Z0-9_-]', '_', getpass.getuser())}"
    place.mkdir()
    env = {"TMPDIR": str(tmp_path)}
    pid = start(torch_python, "-c", "import torch; " + WAIT, **env)
    start(torch_python, "-c", WAIT, **env)
    away = str(tmp_path / "elsewhere")
    start(torch_python, "-c", "import torch; " + WAIT, TORCHINDUCTOR_CACHE_DIR=away, **env)
    found = using(place)
    assert set(found) == {pid}
    assert (found[pid].why, found[pid].holds_all) == ("environment", True)


def test_the_folders_of_vllm(start: Start, folder: Path, tmp_path: Path) -> None:
    """It sets torch's variables after its start, which nobody else sees."""
    rank = tmp_path / ".cache" / "vllm" / "torch_compile_cache" / "1a2b3c4d5e" / "rank_0_0"
    rank.mkdir(parents=True)
    library = tmp_path / "site-packages" / "vllm" / "_C.abi3.so"
    library.parent.mkdir(parents=True)
    shutil.copy(folder / "ab" / f"{ONE}.so", library)
    loaded = [sys.executable, "-c", MAP, library]
    serving = {
        start(*loaded, HOME=str(tmp_path), XDG_CACHE_HOME=""),
        start(*loaded, XDG_CACHE_HOME=str(tmp_path / ".cache")),
        start(sys.executable, "-c", WAIT, VLLM_CACHE_ROOT=str(tmp_path / ".cache" / "vllm")),
    }
    start(*loaded, HOME=str(tmp_path / "nowhere"), XDG_CACHE_HOME="")
    start(*loaded, HOME=str(tmp_path), VLLM_CACHE_ROOT=str(tmp_path / "elsewhere"))
    start(sys.executable, "-c", WAIT, HOME=str(tmp_path), XDG_CACHE_HOME="")
    found = using(rank)
    assert set(found) == serving
    assert all(user.holds_all for user in found.values())


def test_the_folders_of_sglang(start: Start, folder: Path, tmp_path: Path) -> None:
    """It sets torch's variables after its start, too."""
    rank = tmp_path / ".cache" / "sglang" / "torch_compile_cache" / "1a2b3c4d5e" / "rank_0_0"
    images = tmp_path / "images" / "torch_compile_cache" / "inductor"
    library = tmp_path / "site-packages" / "sgl_kernel" / "common_ops.abi3.so"
    for one in (rank, images, library.parent):
        one.mkdir(parents=True)
    shutil.copy(folder / "ab" / f"{ONE}.so", library)
    loaded = [sys.executable, "-c", MAP, library]
    serving = {
        start(*loaded, HOME=str(tmp_path)),
        start(sys.executable, "-c", WAIT, SGLANG_CACHE_DIR=str(tmp_path / ".cache" / "sglang")),
    }
    root = str(tmp_path / "images")
    painting = start(sys.executable, "-c", WAIT, SGLANG_DIFFUSION_CACHE_ROOT=root)
    start(*loaded, HOME=str(tmp_path), SGLANG_CACHE_DIR=str(tmp_path / "elsewhere"))
    start(sys.executable, "-c", WAIT, HOME=str(tmp_path))
    found = using(rank)
    assert set(found) == serving
    assert all(user.holds_all for user in found.values())
    assert set(using(images)) == {painting}


def test_the_folder_of_another_compiler(start: Start, folder: Path, tmp_path: Path) -> None:
    """By its variable, or by default where the compiler is loaded."""
    mine, other = tmp_path / ".tilelang" / "cache", tmp_path / "workspace"
    library = tmp_path / "site-packages" / "tilelang" / "lib" / "libtilelang.so"
    for one in (mine, other, library.parent):
        one.mkdir(parents=True)
    shutil.copy(folder / "ab" / f"{ONE}.so", library)
    loaded = [sys.executable, "-c", MAP, library]
    default = start(*loaded, HOME=str(tmp_path))
    named = start(sys.executable, "-c", WAIT, TILELANG_CACHE_DIR=str(other))
    start(*loaded, HOME=str(tmp_path / "elsewhere"))
    start(sys.executable, "-c", WAIT, HOME=str(tmp_path))
    assert set(using(mine)) == {default}
    assert set(using(other)) == {named}


def test_no_more_of_a_command_line_than_the_program(start: Start, folder: Path) -> None:
    script = folder.parent / "tra\x1bin.py"
    script.write_text(WAIT)
    env = {"TORCHINDUCTOR_CACHE_DIR": str(folder)}
    pid = start(sys.executable, script, "--password=secret", **env)
    name = using(folder)[pid].name
    assert name.endswith(" tra?in.py")
    assert "secret" not in name


def test_torchkeeper_itself_does_not_count(
    start: Start, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torchkeeper.client.engines.process import Engine

    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(folder))
    with Engine() as engine:
        engine.call("list", {"place": str(folder)})
        assert engine.pid not in using(folder)
        plan = engine.call("plan_purge", {"place": str(folder)})
    # The test itself got the variable too late for /proc to know.
    assert plan["in_use"]["processes"] == []


LOOK = """
import json, os, sys
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders.in_use import users
# Only now: this tree may be root's alone.
os.setgroups([]); os.setgid(65534); os.setuid(65534)
found = users(sys.argv[1], Report())
pids = [user.pid for user in found.processes]
print(json.dumps([pids, found.hidden, found.sees, found.unseen]))
"""


@pytest.mark.skipif(os.getuid() != 0, reason="needs to become another user")
def test_processes_of_other_users(start: Start, tmp_path: Path, folder: Path) -> None:
    mine = start(sys.executable, "-c", OPEN, folder / f"ab/{ONE}.py")
    become = "import os; os.setgid(65534); os.setuid(65534); "
    code = "import time; " + become + WAIT
    theirs = start(sys.executable, "-c", code, TORCHINDUCTOR_CACHE_DIR=str(folder))
    assert set(using(folder)) == {mine, theirs}, "root sees all"
    app = str(Path(torchkeeper.__file__).parent.parent)
    code = f"import sys; sys.path.insert(0, {app!r}); {LOOK}"
    argv = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen, hidden, sees, unseen = json.loads(done.stdout)
    assert 0 < len(unseen) <= hidden
    for one in unseen:
        assert one["pid"] not in seen and one["user"] == pwd.getpwuid(0).pw_name, one
    python = [one for one in unseen if "python" in one["name"]]
    assert python and unseen[: len(python)] == python, "they are the first"
    assert mine not in seen
    assert hidden > 0
    assert sees == "all"


@pytest.mark.skipif(os.getuid() != 0, reason="needs to mount a /proc of its own")
@pytest.mark.parametrize(
    ("mount", "sees"), [("-t proc -o hidepid=2 proc", "own"), ("-t tmpfs none", "none")]
)
def test_where_proc_hides_or_is_not_there(folder: Path, mount: str, sees: str) -> None:
    unshare = ["unshare", "--mount", "/bin/sh", "-c", f'mount {mount} /proc && exec "$@"', "sh"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system does not let root mount")
    app = str(Path(torchkeeper.__file__).parent.parent)
    code = f"import sys; sys.path.insert(0, {app!r}); {LOOK}"
    argv = [*unshare, sys.executable, "-c", code, str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [[], 0, sees, []]


def test_it_can_be_cancelled(folder: Path) -> None:
    class Stop(Report):
        def check(self) -> None:
            raise Cancelled

    with pytest.raises(Cancelled):
        users(str(folder), Stop())


def test_many_processes_take_no_time(start: Start, folder: Path) -> None:
    code = (
        "import os, time\n"
        "for _ in range(300):\n"
        "    if not os.fork():\n"
        "        time.sleep(600); os._exit(0)\n"
        "print('ready', flush=True); time.sleep(600)"
    )
    start(sys.executable, "-c", code)
    began = time.process_time()
    assert users(str(folder), Report()).processes == []
    # 5,000 in less than 4 s on a slow machine; about 0.1 ms each are usual.
    assert time.process_time() - began < within(0.3)


def test_what_is_told_counts_entries(start: Start, folder: Path) -> None:
    pid = start(sys.executable, "-c", OPEN, folder / f"ab/{ONE}.py")
    items = Folder(str(folder)).items(Report())
    found: InUse = users(str(folder), Report())
    free, left = found.split(items)
    assert [item.key for item in free] == [TWO]
    assert [(item.key, problem.code) for item, problem in left] == [(ONE, "entry-in-use")]
    told = found.told(items)
    assert told["processes"] == [
        {"pid": pid, "name": found.processes[0].name, "why": "open", "holds_all": False,
         "entries": 1}
    ]  # fmt: skip
    assert told["all"] is False
