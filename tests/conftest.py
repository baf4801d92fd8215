"""Real caches for the tests: from torch 2.9.1 as it was kept, from torch and Triton made now."""

from __future__ import annotations

import base64
import gc
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from pprint import PrettyPrinter
from typing import Any

import hypothesis
import pytest
from filelock import FileLock

from tests.forking.engines import STARTED, STARTED_READER, Engines
from tests.redis_server import Server, dump, serving
from tests.ssh.conftest import sshd, there
from tests.ssh.elsewhere import anywhere
from torchkeeper.artifacts.layout import payload_name
from torchkeeper.client.engines import process
from torchkeeper.client.engines.process import Engine
from torchkeeper.engine.protocol import Message
from torchkeeper.stores import reader
from torchkeeper.stores.folders import owners

__all__ = ["anywhere", "sshd", "there"]

DATA = Path(__file__).parent / "data"

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# How long an example takes says more of what else the machine does.
hypothesis.settings.register_profile("here", deadline=None)
hypothesis.settings.load_profile("here")


def pytest_configure() -> None:
    """A shell that starts the tests in the background has them ignore Ctrl-C, and so all that they
    start: what is tested of it would wait for ever.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files of tests for which torch compiles stand together, where the last of several processes
    begins (pytest-xdist): it makes what they share while the others do the rest. In the order of
    the files all would wait for the same compile, and for each other.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "2"))
    begins = len(items) * (workers - 1) / workers
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    compiling = {
        path
        for path, ones in files.items()
        if any("header_folder" in getattr(one, "fixturenames", ()) for one in ones)
    }
    ordered: list[pytest.Item] = []
    rest: list[pytest.Item] = []
    for path in [path for path in files if path not in compiling]:
        (ordered if len(ordered) < begins else rest).extend(files[path])
    for path in [path for path in files if path in compiling]:
        ordered += files[path]
    items[:] = ordered + rest


def pytest_collection() -> None:
    """What thousands of tests and their modules are made of lives to the end: no collection of
    garbage goes through it while they are collected, or after that.
    """
    gc.disable()


def pytest_collection_finish() -> None:
    """From here on there is garbage."""
    gc.collect()
    gc.freeze()
    gc.enable()
    gc.set_threshold(200_000, 10, 10)  # as the program does, for its rows (cli.main)


@pytest.fixture(scope="session", autouse=True)
def _forked_engines(pytestconfig: pytest.Config) -> Iterator[None]:
    """Engines begin quickly, but where the slow tests are run too: then as users start them."""
    if pytestconfig.getoption("markexpr") != "not slow":
        yield
        return
    engines = Engines()
    process.begin, reader.begin = engines.begin, engines.reader
    yield
    process.begin, reader.begin = STARTED, STARTED_READER
    engines.close()


@pytest.fixture
def started_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines start as users start them."""
    monkeypatch.setattr(process, "begin", STARTED)


@pytest.fixture
def started_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers of this process start as those of users do."""
    monkeypatch.setattr(reader, "begin", STARTED_READER)


def pytest_assertrepr_compare(op: str, left: object, right: object) -> list[str] | None:
    """Of contents that differ only those are told, shortly: the whole of a server or a folder is
    megabytes, which hide what else has failed.
    """
    if op != "==":
        return None
    if isinstance(left, bytes) and isinstance(right, bytes) and len(left) + len(right) > 4000:
        left, right = {"it": left}, {"it": right}
    if not isinstance(left, dict) or not isinstance(right, dict):
        return None
    if not any(isinstance(value, bytes) for value in (*left.values(), *right.values())):
        return None
    differing = [
        key
        for key in (left | right)
        if key not in left or key not in right or left[key] != right[key]
    ]
    lines = [f"contents differ: {len(differing)} of {len(left | right)}"]
    for key in differing[:20]:
        lines += [f"{str(key)[:300]}:"]
        lines += [f"    left:  {_short(left[key])}" if key in left else "    left:  nothing"]
        lines += [f"    right: {_short(right[key])}" if key in right else "    right: nothing"]
    return lines


def _short(value: object) -> str:
    if not isinstance(value, bytes) or len(value) <= 120:
        return repr(value)[:300]
    digest = hashlib.sha256(value).hexdigest()[:16]
    return f"{value[:40]!r} … {value[-40:]!r}, {len(value)} bytes, sha256 {digest}…"


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all test processes of this run share, for what is expensive to make."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


def once(shared: Path, name: str, make: Callable[[Path], None]) -> Path:
    """The folder ``shared/name``, made by the first test process that needs it."""
    target = shared / name
    with FileLock(shared / f"{name}.lock"):
        if not target.exists():
            partial = shared / f"{name}.partial"
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            make(partial)
            partial.rename(target)
    return target


def unpack_archive(file: Path, folder: Path) -> None:
    """Unpack what is kept of a cache."""
    with tarfile.open(file) as archive:
        # The keyword came with Python 3.11.4; Debian 12 has 3.11.2.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        archive.extractall(folder)


@pytest.fixture(scope="session")
def torch_python() -> str:
    """An interpreter with torch: the one named by the environment, or our own."""
    python = os.environ.get("TORCHKEEPER_TORCH_PYTHON", sys.executable)
    # It is not imported: each of the processes of a run would be at it for seconds.
    ask = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    found = subprocess.run([python, "-c", ask], capture_output=True, check=False)
    if found.returncode:
        pytest.fail(f"{python} has no torch; packaging/test installs one")
    return python


@pytest.fixture(scope="session")
def gpu(torch_python: str) -> str:
    """A GPU that torch compiles for, as torch names it; without one the test is skipped."""
    if not any(os.path.exists(path) for path in ("/dev/nvidiactl", "/dev/kfd")):
        pytest.skip("there is no GPU")
    ask = "import torch; print(torch.cuda.is_available())"
    found = subprocess.run([torch_python, "-c", ask], capture_output=True, text=True, check=False)
    if found.stdout.split()[-1:] != ["True"]:
        pytest.skip("torch sees no GPU")
    return "cuda"


@pytest.fixture(scope="session")
def bare_python(shared: Path) -> str:
    """An interpreter without torch. Not to be changed."""

    def make(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)

    return str(once(shared, "bare", make) / "bin" / "python")


@pytest.fixture(scope="session")
def header_folder(shared: Path) -> Path:
    """A temporary folder for compiles to share: torch builds a 149 MB header once in each."""
    folder = shared / "tmp"
    folder.mkdir(exist_ok=True)
    return folder


RunPlain = Callable[..., dict[str, Any]]
#: torch compiles in its own process: others, each of which loads torch, only take the processors
#: from the tests beside this one.
ALONE = {"TORCHINDUCTOR_COMPILE_THREADS": "1"}


@pytest.fixture(scope="session")
def run_plain(torch_python: str, header_folder: Path) -> RunPlain:
    """Run a script of tests/data with stock torch on a cache folder; returns what it printed."""

    def run(
        cache: Path, *arguments: str, script: str = "plain_script.py", redis: str = ""
    ) -> dict[str, Any]:
        """redis: a server in which torch looks for graphs, and writes them, too."""
        env = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "TRITON"))}
        env |= {"TMPDIR": str(header_folder), "TORCHINDUCTOR_CACHE_DIR": str(cache), **ALONE}
        if redis:
            env |= {"TORCHINDUCTOR_REDIS_URL": redis, "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "1"}
        done = subprocess.run(
            [torch_python, str(DATA / script), *arguments],
            env=env,
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        assert done.returncode == 0, done.stderr
        printed: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return printed

    return run


@pytest.fixture(scope="session")
def filled(shared: Path, run_plain: RunPlain) -> Path:
    """The cache of a plain torch script, compiled in this run. Not to be changed."""
    return once(shared, "filled", lambda folder: _fill(folder, run_plain))


def _fill(folder: Path, run_plain: RunPlain) -> None:
    counters = run_plain(folder)
    assert counters["misses"] > 0
    assert counters["hits"] == 0


@pytest.fixture(scope="session")
def builtin(shared: Path, torch_python: str, header_folder: Path, filled: Path) -> Path:
    """The built-in recipe, warmed in this run. ``place`` is the cache folder, said.json the result
    and the findings. Not to be changed.
    """

    def make(folder: Path) -> None:
        findings: list[Any] = []
        # Of the same models: nobody waits for what g++ has built already.
        objects_of(filled, folder / "place")

        def heard(message: Message) -> None:
            if message.type == "finding":
                findings.append(message.body)

        with Engine(torch_python, {"TMPDIR": str(header_folder)}) as engine:
            result = engine.call("warm", {"into": str(folder / "place")}, heard)
        said = {"result": result, "findings": findings}
        (folder / "said.json").write_text(json.dumps(said))

    return once(shared, "builtin", make)


def objects_of(cache: Path, target: Path) -> None:
    """Copy what was built in a cache folder to another, so that nobody waits for a compiler."""
    for path in cache.glob("*/*.so"):
        folder = target / path.parent.name
        folder.mkdir(parents=True, exist_ok=True)
        for file in (path, path.with_suffix(".cpp")):
            shutil.copy2(file, folder)


@pytest.fixture
def warm_cache(filled: Path, tmp_path: Path) -> Path:
    """A copy of ``filled`` that a test may change."""
    return Path(shutil.copytree(filled, tmp_path / "warm-cache"))


@pytest.fixture(scope="session")
def kernels(shared: Path, torch_python: str) -> Path:
    """Triton's own cache with a kernel for sm_90 and one for gfx942. Not to be changed."""

    def compile_kernels(folder: Path) -> None:
        env = {**os.environ, "TRITON_CACHE_DIR": str(folder)}
        script = str(DATA / "triton_kernels.py")
        done = subprocess.run(
            [torch_python, script], env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    return once(shared, "kernels", compile_kernels)


@pytest.fixture
def triton_cache(kernels: Path, tmp_path: Path) -> Path:
    """A copy of ``kernels`` that a test may change; its group files name their old folder."""
    return Path(shutil.copytree(kernels, tmp_path / "triton-cache"))


@pytest.fixture(scope="session")
def other_kinds(shared: Path) -> Path:
    """What other_kinds.py of tests/data had torch 2.13.0 write. Not to be changed.

    ``cache`` is the cache folder, ``temporary`` has the generic caches, ``saved`` a graph's pieces.
    No torch is to load it: its code is for the processor on which it was written.
    """

    def unpack(folder: Path) -> None:
        unpack_archive(DATA / "torch-2.13.0" / "other-kinds.tar.xz", folder)
        for path in folder.rglob("*"):
            os.utime(path)  # as if it were of just now

    return once(shared, "other-kinds", unpack)


@pytest.fixture(scope="session")
def other_kinds_now(shared: Path, run_plain: RunPlain) -> Path:
    """The same, written in this run, so that torch can load it. For slow tests: it takes a minute.
    Not to be changed.
    """

    def make(folder: Path) -> None:
        for name in ("cache", "temporary", "saved"):
            (folder / name).mkdir()
        told = run_plain(
            folder / "cache",
            str(folder / "temporary"),
            str(folder / "saved"),
            script="other_kinds.py",
        )
        assert len(told["artifacts"]["precompile"]) == 1

    return once(shared, "other-kinds-now", make)


@pytest.fixture
def other_cache(other_kinds: Path, tmp_path: Path) -> Path:
    """A copy of the cache folder of ``other_kinds`` that a test may change."""
    return Path(shutil.copytree(other_kinds / "cache", tmp_path / "other-cache"))


@pytest.fixture
def vllm_rank(other_kinds: Path, filled: Path, kernels: Path, tmp_path: Path) -> Path:
    """A rank's folder laid out as vLLM does it, of caches that torch and Triton wrote.

    vLLM's own files are made up, after vllm/compilation/backends.py.
    """
    rank = tmp_path / "vllm" / "torch_compile_cache" / "1a2b3c4d5e" / "rank_0_0"
    shutil.copytree(filled, rank / "inductor_cache")
    shutil.copytree(kernels, rank / "triton_cache")
    shutil.copytree(other_kinds / "saved", rank / "backbone")
    piece = {"graph_handle": ("artifact_compile_range_1_8_subgraph_0", "/path"), "cache_key": "a"}
    index = {((1, 8), 0, "inductor_standalone"): piece}
    own = {
        "cache_key_factors.json": '{"code_hash": "c", "compiler_hash": "d", "env": {}}',
        "vllm_compile_cache.py": PrettyPrinter(indent=4).pformat(index),
        "computation_graph.py": "class GraphModule(torch.nn.Module):\n    def forward(self): ...\n",
    }
    for name, text in own.items():
        (rank / "backbone" / name).write_text(text)
    return rank


@pytest.fixture(scope="session")
def kept_291(shared: Path) -> Path:
    """The cache that torch 2.9.1 wrote. Not to be changed."""

    def unpack(folder: Path) -> None:
        unpack_archive(DATA / "torch-2.9.1" / "cache.tar.gz", folder)

    return once(shared, "torch-2.9.1", unpack) / "cache"


@pytest.fixture(scope="session")
def kept_215(shared: Path) -> Path:
    """What torch 2.15.0 wrote: ``cache``, ``mega-cache.bin``, ``redis.jsonl``, and in ``trace``
    that of a rank that dropped what it had found. Not to be changed.
    """

    def unpack(folder: Path) -> None:
        unpack_archive(DATA / "torch-2.15.0" / "all.tar.xz", folder)

    return once(shared, "torch-2.15.0", unpack)


@pytest.fixture(scope="session")
def kept_forms(shared: Path) -> Path:
    """What ``other_forms.py`` had torch 2.13.0 write: ``model.pt2``, ``exported.pt2``, and
    ``compiled`` by aot_compile. Not to be changed.
    """

    def unpack(folder: Path) -> None:
        unpack_archive(DATA / "torch-2.13.0" / "forms.tar.xz", folder)

    return once(shared, "forms", unpack)


Served = Callable[..., Path]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Mounts a copy of a folder as the kernel has what other machines may use, too; where one may
    not, the test is skipped.
    """
    made: list[tuple[Path, subprocess.Popen[str]]] = []

    def mount(source: Path, kind: str = "fuse.shared") -> Path:
        point, folder = tmp_path / f"served-{len(made)}", tmp_path / f"of-{len(made)}"
        point.mkdir()
        shutil.copytree(source, folder / "cache")
        command = [sys.executable, "-m", "tests.shared_disk", str(folder), str(point), kind]
        begun = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 text=True)  # fmt: skip
        assert begun.stdout
        if begun.stdout.readline() != "there\n":
            begun.communicate()
            pytest.skip("this user may not mount a file system")
        made.append((point, begun))
        return point / "cache"

    yield mount
    for point, server in made:
        subprocess.run(["umount", "-l", str(point)], check=True)
        server.communicate()


@pytest.fixture(scope="session")
def kept_gpu(shared: Path) -> Path:
    """What torch 2.11.0 wrote on a GPU, ``cache``, and what a probe found there, ``env.json``. Not
    to be changed.
    """

    def unpack(folder: Path) -> None:
        unpack_archive(DATA / "torch-2.11.0" / "gpu.tar.xz", folder)

    return once(shared, "torch-2.11.0", unpack)


@pytest.fixture(scope="session")
def clean_291(shared: Path, kept_291: Path) -> Path:
    """The same less the password that it recorded, with which nothing leaves. Not to be changed."""

    def make(folder: Path) -> None:
        cache = Path(shutil.copytree(kept_291, folder / "cache"))
        secret = b"hunter2-not-a-real-password"
        for path in [p for p in (cache / "fxgraph").rglob("*") if p.is_file()]:
            data = path.read_bytes().replace(secret, b"x" * len(secret))
            path.write_bytes(data)
            path.rename(path.with_name(payload_name(hashlib.sha256(data).hexdigest())))

    return once(shared, "clean-2.9.1", make) / "cache"


@pytest.fixture(scope="session")
def recorded(shared: Path) -> Path:
    """What record_traces.py of tests/data recorded with torch 2.13.0. Not to be changed.

    ``cache`` is the cache after the first run; ``first``, ``same`` and each change are traces.
    """

    def unpack(folder: Path) -> None:
        unpack_archive(DATA / "torch-2.13.0" / "traces.tar.xz", folder)

    return once(shared, "torch-2.13.0", unpack)


@pytest.fixture
def fixture_cache(kept_291: Path, tmp_path: Path) -> Path:
    """A copy of the cache that torch 2.9.1 wrote; a test may change it."""
    return Path(shutil.copytree(kept_291, tmp_path / "cache-2.9.1"))


@pytest.fixture
def among() -> Iterator[Path]:
    """A folder where everybody may make what they want, as /tmp, which everybody gets to."""
    with tempfile.TemporaryDirectory(prefix="torchkeeper-test-", dir="/tmp") as folder:
        os.chmod(folder, 0o1777)
        yield Path(folder)


@pytest.fixture
def beside() -> Iterator[Path]:
    """A folder that everybody gets to, and that is among nobody's."""
    for above in ("/var/lib", "/srv", "/opt", "/usr/local", str(Path.home())):
        if os.access(above, os.W_OK) and not owners.glance(above):
            with tempfile.TemporaryDirectory(prefix="torchkeeper-test-", dir=above) as folder:
                os.chmod(folder, 0o755)
                place = Path(folder) / "cache"
                place.mkdir(0o777)
                place.chmod(0o777)
                if owners.glance(str(place)):
                    place.chmod(0o755)
                    yield place
                    return
    pytest.skip("there is no folder of that sort that may be written")


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Path:
    """Where the tests of this process have their settings. What probes found of interpreters, which
    takes seconds each, is kept for those of all processes (torchkeeper.client.engines.probes).
    """
    home = tmp_path_factory.getbasetemp() / "home"
    found, cache = shared / "interpreters", home / "xdg_cache_home" / "torchkeeper" / "cache"
    found.mkdir(exist_ok=True)
    cache.mkdir(parents=True)
    (cache / "interpreters").symlink_to(found)
    return home


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of three thousand results of autotuning, as Inductor names and writes them."""
    place = tmp_path_factory.mktemp("many") / "cache"
    for number in range(3000):
        digest = hashlib.sha256(str(number).encode()).digest()
        name = f"c{base64.b32encode(digest).decode().lower()[:51]}"
        folder = place / name[1:3]
        folder.mkdir(parents=True, exist_ok=True)
        config = {"XBLOCK": 128, "num_warps": 4, "num_stages": number}
        (folder / f"{name}.best_config").write_text(json.dumps(config))
    return place


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("redis")) as one:
        yield one


@pytest.fixture
def server(running: Server) -> Server:
    """An empty server without a password."""
    running("CONFIG", "SET", "requirepass", "")
    running("FLUSHALL")
    return running


@pytest.fixture
def full(server: Server) -> Server:
    """A server with what torch 2.9.1 left in one."""
    server.load(dump())
    return server


@pytest.fixture(scope="session", autouse=True)
def private_state(home: Path) -> Iterator[None]:
    """What is begun for several tests leaves no record with the user, either."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(home / "xdg_state_home"))
        yield


@pytest.fixture(autouse=True)
def private_folders(home: Path, monkeypatch: Any) -> Iterator[None]:
    """No test sees or touches the user's own caches and settings."""
    for variable in (
        "TORCHINDUCTOR_CACHE_DIR",
        "TRITON_CACHE_DIR",
        "TRITON_HOME",
        "VLLM_CACHE_ROOT",
    ):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(variable, str(home / variable.lower()))
    yield


@dataclass
class SlowDisk:
    """Folders below ``below`` hang, or fail with an error number, until ``answer`` is called."""

    switch: Path
    monkeypatch: pytest.MonkeyPatch

    def below(self, folder: Path) -> None:
        """Say which folders are on it, for the engines that are started from now on."""
        self.monkeypatch.setenv("SLOW_DISK", str(folder))

    def hang(self) -> None:
        """From now on nothing answers."""
        self.switch.write_text("")

    def fail(self, number: int) -> None:
        """From now on everything fails with an error number."""
        partial = self.switch.with_suffix(".new")
        partial.write_text(f"{number}\n")
        partial.replace(self.switch)

    def answer(self) -> None:
        """From now on all is well."""
        self.switch.unlink(missing_ok=True)


@pytest.fixture
def slow_disk(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowDisk]:
    """A disk that can be told not to answer, for every engine that is started in the test."""

    def build(folder: Path) -> None:
        source = Path(__file__).parent / "slow_disk.cpp"
        command = ["g++", "-shared", "-fPIC", "-O1", str(source), "-o", str(folder / "lib.so")]
        subprocess.run([*command, "-ldl"], check=True)

    library = once(shared, "slow-disk", build) / "lib.so"
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("SLOW_DISK_HANGS", str(tmp_path / "hangs"))
    disk = SlowDisk(tmp_path / "hangs", monkeypatch)
    yield disk
    disk.answer()
