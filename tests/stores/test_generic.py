"""The generic caches: as PyTorch's behave, with the files PyTorch writes, and safe to read."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import torchkeeper
from tests.pace import LONG
from torchkeeper.stores import generic, places
from torchkeeper.stores.generic import CacheError, InductorOnDiskCache, InMemoryCache, OnDiskCache

APP = Path(torchkeeper.__file__).parent.parent
THEIRS, OURS = "torch._inductor.cache", "torchkeeper.stores.generic"
SCRIPT = Path(__file__).parent.parent / "data" / "generic_caches.py"

KEYS: list[Any] = ["", "k", "é", 0, -1, 1 << 80, (), ("a", 1), (("a", "a"), (1, (2,)))]
VALUES: list[Any] = [
    "text", 0, 1 << 80, (1, ("a", 2.5, None, True)), b"", bytes(range(256)) * 20,
    {"zero": "z", 1: 2, (2,): ("t",), b"three": [4]}, [], list(range(2000)),
]  # fmt: skip


def run(python: str, tmp: Path, code: str, *arguments: str) -> str:
    """What a script prints under an interpreter, with its own temporary folder."""
    return finish(start(python, tmp, code, *arguments))


def start(
    python: str, tmp: Path, code: str, *arguments: str, stdin: int | None = None
) -> subprocess.Popen[str]:
    tmp.mkdir(exist_ok=True)
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TORCHINDUCTOR", "TRITON"))}
    env |= {"TMPDIR": str(tmp), "PYTHONPATH": str(APP), "PYTHONWARNINGS": "ignore"}
    command = [python, "-c", code, *arguments]
    return subprocess.Popen(
        command, env=env, text=True, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=LONG)
    assert process.returncode == 0, err
    return out


#: Runs each script it is sent in a child of its own, as if torch had just been imported there:
#: to import it takes seconds.
FORKS = f"""if True:
    import json, os, sys, tempfile, traceback
    import {THEIRS}
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if not child:
            status = 1
            try:
                os.environ.update(request["env"])
                tempfile.tempdir = None
                sys.argv = ["-c", *request["arguments"]]
                sys.stdout, sys.stderr = (open(request[name], "w") for name in ("out", "err"))
                with sys.stdout, sys.stderr:
                    try:
                        exec(request["code"], dict(__name__="__main__"))
                        status = 0
                    except BaseException:
                        traceback.print_exc()
            finally:
                os._exit(status)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


class Theirs:
    """A process in which torch is imported, for many scripts, one after the other."""

    def __init__(self, python: str, home: Path) -> None:
        self._home = home
        self._process = start(python, home, FORKS, stdin=subprocess.PIPE)

    def run(self, tmp: Path, code: str, *arguments: str, **env: str) -> str:
        """What a script prints, with its own temporary folder."""
        tmp.mkdir(exist_ok=True)
        out, err = self._home / "out", self._home / "err"
        request = {"code": code, "arguments": arguments, "env": {**env, "TMPDIR": str(tmp)},
                   "out": str(out), "err": str(err)}  # fmt: skip
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(request), file=self._process.stdin, flush=True)
        assert self._process.stdout.readline() == "0\n", err.read_text()
        return out.read_text()

    def close(self) -> None:
        finish(self._process)


@pytest.fixture(scope="module")
def theirs(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theirs]:
    made = Theirs(torch_python, tmp_path_factory.mktemp("theirs"))
    yield made
    made.close()


Run = Callable[..., str]


@pytest.fixture
def run_in(theirs: Theirs, torch_python: str) -> Run:
    """Run a script, of which the first argument names a module, in PyTorch's or without it."""

    def run_one(tmp: Path, code: str, module: str, *arguments: str) -> str:
        if module == THEIRS:
            return theirs.run(tmp, code, module, *arguments)
        return run(torch_python, tmp, code, module, *arguments)

    return run_one


@pytest.fixture
def cache(tmp_path: Path) -> OnDiskCache[Any, Any]:
    made: OnDiskCache[Any, Any] = OnDiskCache()
    made.base_dir = tmp_path / "cache"
    return made


# As PyTorch's module.


@pytest.mark.slow
@pytest.mark.torch
def test_it_behaves_as_pytorchs_module(run_in: Run, tmp_path: Path) -> None:
    code = SCRIPT.read_text(encoding="utf-8")
    tmp = tmp_path / "same-for-both"
    theirs = run_in(tmp, code, THEIRS).splitlines()
    tmp.rename(tmp_path / "theirs")
    ours = run_in(tmp, code, OURS).splitlines()
    assert len(theirs) > 2000
    assert sum("raises CacheError" in line for line in theirs) > 15
    assert ours == theirs


#: Fills every cache of a module, and says what is in them.
FILL = f"""if True:
    import importlib, sys
    caches = importlib.import_module(sys.argv[1])
    for kind in (caches.OnDiskCache, caches.InductorOnDiskCache):
        cache = kind()
        for i, value in enumerate({VALUES!r}):
            for key in {KEYS!r}:
                assert cache.insert((i, key), value) is True
                assert cache.insert((i, key), "another") is False
        for key in {KEYS!r}:
            assert cache.insert(key, "plain") is True
"""
CHECK = f"""if True:
    import importlib, sys
    caches = importlib.import_module(sys.argv[1])
    for kind in (caches.OnDiskCache, caches.InductorOnDiskCache):
        cache = kind()
        for i, value in enumerate({VALUES!r}):
            for key in {KEYS!r}:
                found = cache.get((i, key))
                assert found == value and type(found) is type(value), (key, value, found)
                assert cache.insert((i, key), "another") is False
        for key in {KEYS!r}:
            assert cache.get(key) == "plain"
    with open(cache._fpath_from_key("k"), "rb") as file:
        print(cache.version, file.read(4) == cache.version_prefix, cache.version_prefix.hex())
"""


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(("writer", "reader"), [(THEIRS, OURS), (OURS, THEIRS)])
def test_one_reads_what_the_other_wrote(
    run_in: Run, tmp_path: Path, writer: str, reader: str
) -> None:
    run_in(tmp_path / "tmp", FILL, writer)
    said = run_in(tmp_path / "tmp", CHECK, reader)
    # The first four bytes of the sha256 of "0".
    assert said.split() == ["0", "True", "5feceb66"]


BUMPED = """if True:
    import importlib, json, sys
    caches = importlib.import_module(sys.argv[1])
    caches.OnDiskCache.version = int(sys.argv[2])
    cache = caches.OnDiskCache()
    print(json.dumps([cache.insert("k", sys.argv[2]), cache.get("k"), cache.insert("k", "new")]))
"""


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize(("writer", "reader"), [(THEIRS, OURS), (OURS, THEIRS)])
def test_the_other_sides_stale_versions_go(
    run_in: Run, tmp_path: Path, writer: str, reader: str
) -> None:
    first = run_in(tmp_path / "tmp", BUMPED, writer, "1")
    assert json.loads(first) == [True, "1", False]
    second = run_in(tmp_path / "tmp", BUMPED, reader, "2")
    assert json.loads(second) == [False, None, True]


RACE = """if True:
    import importlib, json, os, sys, time
    module, name, gate, count = sys.argv[1:]
    cache = importlib.import_module(module).OnDiskCache()
    open(gate + name, "w").close()
    while not os.path.exists(gate):
        time.sleep(0.001)
    print(json.dumps([i for i in range(int(count)) if cache.insert(("race", i), [name, i])]))
"""


@pytest.mark.slow
@pytest.mark.torch
def test_of_concurrent_inserts_one_wins(theirs: Theirs, tmp_path: Path) -> None:
    gate, tmp, count = tmp_path / "gate", tmp_path / "tmp", 300

    def race(name: str, module: str) -> list[int]:
        arguments = (module, name, str(gate), str(count))
        ours = module == OURS
        said = (run(sys.executable, tmp, RACE, *arguments) if ours
                else theirs.run(tmp, RACE, *arguments))  # fmt: skip
        won: list[int] = json.loads(said)
        return won

    with ThreadPoolExecutor() as pool:
        racers = {"a": OURS, "b": THEIRS, "c": OURS}
        running = {name: pool.submit(race, name, module) for name, module in racers.items()}
        while not all(Path(f"{gate}{name}").exists() for name in racers):
            assert not any(one.done() for one in running.values())
            time.sleep(0.005)
        gate.touch()
        won = {name: one.result() for name, one in running.items()}
    assert sorted(chain(*won.values())) == list(range(count))
    cache: OnDiskCache[tuple[Any, ...], list[Any]] = OnDiskCache()
    cache.base_dir = tmp / "cache" / "on_disk_cache"
    for name, numbers in won.items():
        for i in numbers:
            assert cache.get(("race", i)) == [name, i]


HOLD = """if True:
    import importlib, os, sys, time
    cache = importlib.import_module(sys.argv[1]).OnDiskCache()
    with cache._flock_from_fpath(cache._fpath_from_key("k")):
        open(sys.argv[2], "w").close()
        while os.path.exists(sys.argv[2]):
            time.sleep(0.001)
"""


@pytest.mark.torch
def test_pytorchs_lock_holds_us(theirs: Theirs, tmp_path: Path) -> None:
    from filelock import Timeout

    held = tmp_path / "held"
    with ThreadPoolExecutor() as pool:
        holder = pool.submit(theirs.run, tmp_path, HOLD, THEIRS, str(held))
        while not held.exists():
            assert not holder.done()
            time.sleep(0.005)
        try:
            cache: OnDiskCache[str, str] = OnDiskCache()
            cache.base_dir = tmp_path / "cache" / "on_disk_cache"
            lock = cache._flock_from_fpath(cache._fpath_from_key("k"))
            with pytest.raises(Timeout):
                lock.acquire(timeout=0.2)
        finally:
            held.unlink()
        holder.result()
        with lock:
            pass


@pytest.mark.torch
def test_both_read_the_same_variable_and_file(theirs: Theirs, tmp_path: Path) -> None:
    code = """if True:
        import importlib, sys
        from pathlib import Path
        cache = importlib.import_module(sys.argv[1]).InMemoryCache
        print(cache.from_env_var("KEPT")._cache, cache.from_file_path(Path(sys.argv[2]))._cache)
    """
    kept = {"a": 1, 2: ["b"], (3, "c"): b"d"}
    file = tmp_path / "kept"
    file.write_bytes(pickle.dumps(kept))
    told = ";".join(f"{pickle.dumps(k)!r},{pickle.dumps(v)!r}" for k, v in kept.items())
    said = {theirs.run(tmp_path / "t", code, m, str(file), KEPT=told) for m in (THEIRS, OURS)}
    assert said == {f"{kept} {kept}\n"}


# Ours alone.


def test_the_folders_are_pytorchs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    named: OnDiskCache[str, str] = OnDiskCache("mine")
    assert named.base_dir == tmp_path / "cache" / "mine"
    inductors: InductorOnDiskCache[str, str] = InductorOnDiskCache()
    assert inductors.base_dir.is_relative_to(places.default_folder())
    assert inductors.base_dir.is_relative_to(tmp_path)


def hostile(command: str) -> bytes:
    """A pickle that runs a command when Python reads it."""
    return b"cos\nsystem\n(V" + command.encode() + b"\ntR."


NESTED_KEY = b"\x80\x04})" + b"\x85" * 1_000_000 + b"Ns."


@pytest.mark.slow
def test_a_hostile_value_is_an_error(cache: OnDiskCache[Any, Any], tmp_path: Path) -> None:
    assert cache.insert("k", "v")
    path, proof = cache._fpath_from_key("k"), tmp_path / "proof"
    bad = [
        hostile(f"touch {proof}"),
        pickle.dumps(Path("x")),
        NESTED_KEY,
        b"\x80\x04" + b"]" * 500_000 + b"a" * 499_999 + b".",
        b"N" * ((64 << 20) + 1),
        pickle.dumps("value")[:-1],
        b"",
    ]
    for data in bad:
        path.write_bytes(cache.version_prefix + data)
        with pytest.raises(CacheError):
            cache.get("k")
        assert path.exists()
        assert not proof.exists()
    pickle.loads(bad[0])
    assert proof.exists()  # it would have


@pytest.mark.slow
def test_a_hostile_variable_or_file_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    proof, file, key = tmp_path / "proof", tmp_path / "file", pickle.dumps("k")
    bad = hostile(f"touch {proof}")
    nested = b"\x80\x04)" + b"\x85" * 5_000 + b"."
    large = pickle.dumps(1 << 20_000)  # Python does not write it out
    for text in (
        f"{key!r},{bad!r}",
        f"{bad!r},{key!r}",
        f"{nested!r},{key!r}",
        f"{large!r},{key!r};{large!r},{large!r}",
        f"{pickle.dumps([])!r},{key!r}",  # a list cannot be a key
        "1,2",
        "'a','b'",
        "{[]: 1},2",
        "(" * 50_000 + ",",
        f"{key!r},{key!r} + {key!r}",
        "__import__('os').system('true'),1",
    ):
        monkeypatch.setenv("KEPT", text)
        with pytest.raises(CacheError):
            InMemoryCache.from_env_var("KEPT")
    for data in (bad, NESTED_KEY, b"", pickle.dumps({"a": Path("x")})):
        file.write_bytes(data)
        with pytest.raises(CacheError):
            InMemoryCache.from_file_path(file)
    assert not proof.exists()


@pytest.mark.parametrize("value", [Path("x"), len, {"a": [complex(1, 2)]}, lambda: None])
def test_what_cannot_be_read_is_not_written(cache: OnDiskCache[Any, Any], value: Any) -> None:
    with pytest.raises(CacheError):
        cache.insert("k", value)
    assert cache.get("k") is None
    assert cache.insert("k", "v")


def test_a_full_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    code = """if True:
        import resource, signal, sys
        from pathlib import Path
        from torchkeeper.stores.generic import OnDiskCache
        cache = OnDiskCache()
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        try:
            cache.insert("k", "x" * 100_000)
        except OSError as e:
            print(type(e).__name__, cache.get("k"), cache.insert("k", "x"))
    """
    assert run(sys.executable, tmp_path / "tmp", code) == "OSError None True\n"


@pytest.mark.slow
def test_a_reader_of_another_version_does_not_take_a_newer_file(
    cache: OnDiskCache[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cache.insert("k", "v")
    monkeypatch.setattr(OnDiskCache, "version", 1)
    assert cache.get("k") is None
    assert not cache._fpath_from_key("k").exists()


@pytest.mark.slow
def test_torch_is_not_needed(tmp_path: Path) -> None:
    code = """if True:
        import sys
        sys.modules.update(dict.fromkeys(("torch", "typing_extensions")))
        from torchkeeper.stores.generic import InductorOnDiskCache
        cache = InductorOnDiskCache()
        print(cache.insert("k", 1), cache.get("k"))
    """
    assert run(sys.executable, tmp_path / "tmp", code) == "True 1\n"


@pytest.mark.slow
def test_all_names_are_there() -> None:
    assert all(hasattr(generic, name) for name in generic.__all__)
