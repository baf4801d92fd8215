"""PyTorch's own locks, held by a PyTorch of its own: what is at work there is left alone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.snapshots import snapshot
from tests.stores.building import import_bundle
from tests.stores.bundles.test_bundle import Left, make
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.folders import locks, trash
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.locks import holding, in_use, locks_of
from torchkeeper.stores.items import Item

pytestmark = pytest.mark.torch

#: Takes the locks as PyTorch itself names and makes them; then, when told to, tries again, which
#: takes no time, and says which it got.
THEIRS = """if True:
    import json, os, sys
    import torch
    from unittest import mock
    from filelock import Timeout
    from torch._dynamo.pgo import code_state_path
    from torch._inductor.aoti_eager import aoti_eager_cache_dir, aoti_eager_op_conf_lock
    from torch._inductor.cache import OnDiskCache
    from torch._inductor.codecache import get_lock_dir
    from torch._inductor.runtime.caching.implementations import _OnDiskCacheImpl
    from torch.utils._filelock import FileLock

    stem, profile = sys.argv[1:]
    lib = str(aoti_eager_cache_dir("aten", "cpu") / "lib")
    with mock.patch.dict(os.environ, {"TORCHINDUCTOR_CACHE_DIR": lib}):
        adding = aoti_eager_op_conf_lock("abs")
    values = OnDiskCache("mine")
    locks = {
        "code": FileLock(os.path.join(get_lock_dir(), stem + ".lock")),
        "pgo": FileLock(code_state_path(profile) + ".lock"),
        "adding": adding,
        "reading": aoti_eager_op_conf_lock("abs"),
        "value": values._flock_from_fpath(values._fpath_from_key("z")),
        "memo": _OnDiskCacheImpl(sub_dir="memo")._flock,
    }
    def take(name):
        try:
            locks[name].acquire(timeout=0)
        except Timeout:
            return False
        return True
    def release(name):
        locks[name].release()
        return True
    for line in sys.stdin:
        what, name = line.split()
        path = os.path.realpath(locks[name].lock_file)
        print(json.dumps([{"take": take, "release": release}[what](name), path]), flush=True)
"""


class Holder:
    """A PyTorch that takes its locks when told to."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def _do(self, what: str, name: str) -> tuple[bool, str]:
        assert self._process.stdin
        assert self._process.stdout
        print(what, name, file=self._process.stdin, flush=True)
        done, path = json.loads(self._process.stdout.readline())
        return done, path

    def take(self, name: str) -> str | None:
        """The path of a lock that it has now, or None where somebody else has it."""
        done, path = self._do("take", name)
        return path if done else None

    def release(self, name: str) -> None:
        self._do("release", name)


@pytest.fixture(scope="module")
def cache(filled: Path, other_kinds: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an entry of every kind that PyTorch locks, and the generic caches beside it."""
    above = tmp_path_factory.mktemp("locked")
    place = Path(shutil.copytree(filled, above / "cache"))
    shutil.copytree(other_kinds / "cache" / "aoti_eager", place / "aoti_eager")
    (place / "dynamo").mkdir(exist_ok=True)
    (place / "dynamo" / "code_state_job_None_.pkl").write_bytes(b"\x80\x04N.")
    shutil.copytree(other_kinds / "temporary", above / "tmp")
    return place


def stem_of(cache: Path) -> str:
    """The object that the lock for code is about."""
    return sorted(cache.glob("*/*.main.so"))[0].name.partition(".")[0]


@pytest.fixture(scope="module")
def torch(torch_python: str, cache: Path) -> Iterator[Holder]:
    """A PyTorch at work on it, for the user who had what is in the temporary folder written."""
    env = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cache)}
    env["TMPDIR"] = str(cache.parent / "tmp")
    process = subprocess.Popen(
        [torch_python, "-W", "ignore", "-c", THEIRS, stem_of(cache), "job:None:"],
        env={**env, "LOGNAME": "user"}, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    with process:
        yield Holder(process)
        assert process.stdin
        process.stdin.close()
    assert process.returncode == 0


def item_of(place: Path, kind: str, begins: str) -> Item:
    """The entry whose path begins so."""
    items = Folder(str(place)).items(Report())
    return next(i for i in items if i.kind == kind and i.path.startswith(begins))


def guarded(cache: Path) -> list[tuple[str, Path, Item]]:
    """Each lock, and an entry that it is about, with the place that has it."""
    stem = stem_of(cache)
    generic = cache.parent / "tmp" / "cache"
    [memo] = (cache.parent / "tmp").glob("torchinductor_*")
    return [
        ("code", cache, item_of(cache, "code", f"{stem[1:3]}/{stem}")),
        ("pgo", cache, item_of(cache, "pgo", "dynamo/")),
        ("adding", cache, item_of(cache, "aoti_eager", "aoti_eager/aten/cpu/abs.json")),
        ("reading", cache, item_of(cache, "aoti_eager", "aoti_eager/aten/cpu/abs.json")),
        ("value", generic / "mine", item_of(generic / "mine", "ondisk", "")),
        ("memo", memo, item_of(memo, "ondisk", "cache/memo/")),
    ]


def purged(place: Path, item: Item) -> tuple[int, list[str]]:
    left = Left()
    done = trash.purge(trash.Plan(str(place), [item]), False, Report(), left)
    return done.entries, left.codes


@pytest.mark.slow
def test_every_lock_is_known_asked_for_and_held(torch: Holder, cache: Path) -> None:
    for name, place, item in guarded(cache):
        about: tuple[Any, ...] = (str(place), item.kind, item.key, item.path)
        assert not in_use(*about), name
        # It makes a lock that is not there; the next who comes finds it.
        path = torch.take(name)
        assert path is not None
        assert path in map(os.path.realpath, locks_of(*about)), name
        assert in_use(*about), name
        with holding(*about) as mine:
            assert not mine, name
        before = snapshot(place)
        assert purged(place, item) == (0, ["in-use"]), name
        assert {**snapshot(place), ".": 0} == {**before, ".": 0}, name
        torch.release(name)
        with holding(*about) as mine:
            assert mine, name
            assert torch.take(name) is None, f"{name}: it is ours"
        assert torch.take(name) is not None
        torch.release(name)
        assert purged(place, item) == (1, []), name
        trash.undo(str(place), Report(), lambda item, problem: pytest.fail(str(problem)))


@pytest.mark.slow
def test_an_import_waits_for_what_is_being_built(
    torch: Holder, cache: Path, filled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stem, target = stem_of(cache), tmp_path / "target"
    make(filled, tmp_path / "all.torchcache")
    shutil.copytree(filled, target)
    for path in target.glob(f"??/{stem}.*"):
        path.unlink()
    (target / "locks").mkdir(exist_ok=True)
    lock = torch.take("code")
    assert lock is not None
    # The same lock for both folders, so that the one PyTorch is at work on this one, too.
    (target / "locks" / f"{stem}.lock").unlink(missing_ok=True)
    os.link(lock, target / "locks" / f"{stem}.lock")

    def bring() -> tuple[int, list[str]]:
        left = Left()
        with Bundle(str(tmp_path / "all.torchcache"), Report()) as bundle:
            done = import_bundle(bundle, str(target), Report(), left)
        return done.entries, left.codes

    with monkeypatch.context() as patch:
        patch.setattr(locks, "PATIENCE", 0.1)
        assert bring() == (0, ["in-use"])
    assert not list(target.glob(f"??/{stem}.*"))
    later = threading.Timer(0.3, torch.release, ["code"])
    later.start()
    assert bring() == (1, [])
    later.join()
    (source,) = filled.glob(f"*/{stem}.main.so")
    assert (target / source.relative_to(filled)).read_bytes() == source.read_bytes()


def test_a_kernel_is_never_there_without_a_file(
    kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Triton's group file, which says that the others are there, goes first and comes last."""
    (kernel,) = [path for path in kernels.iterdir() if list(path.glob("*.cubin"))]
    place = tmp_path / "place"
    (place / kernel.name).mkdir(parents=True)
    for path in kernel.iterdir():
        # One of a name before which "_" does not sort.
        name = path.name.replace(next(kernel.glob("*.cubin")).stem, "Kernel")
        shutil.copy2(path, place / kernel.name / name)
    (place / kernel.name / "mine").mkdir()  # so that it does not go as a folder
    moved: list[str] = []

    def seen(move: Any) -> Any:
        def wrapped(source: str, target: str, **more: Any) -> None:
            moved.append(os.path.basename(target))
            move(source, target, **more)

        return wrapped

    for name in ("rename", "link"):
        monkeypatch.setattr(os, name, seen(getattr(os, name)))
    [item] = Folder(str(place)).items(Report())
    assert purged(place, item) == (1, [])
    gone = [name for name in moved if "Kernel" in name]
    moved.clear()
    trash.undo(str(place), Report(), lambda item, problem: pytest.fail(str(problem)))
    back = [name for name in moved if "Kernel" in name]
    assert gone[0] == back[-1] == "__grp__Kernel.json"
    assert sorted(gone) == sorted(back) == sorted(file.name for file in item.files)
