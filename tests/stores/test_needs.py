"""Who needs whom, and what nothing needs, in real caches."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import BinaryIO

import pytest
from filelock import FileLock

from torchkeeper.artifacts import code
from torchkeeper.artifacts.entry import entry_from_json
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.describe import Described, describe
from torchkeeper.stores.folders import trash
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.index import Index
from torchkeeper.stores.items import File
from torchkeeper.stores.needs import OLD, YOUNG, Living, relatives
from torchkeeper.stores.reader import Reader

HOURS = 2 * YOUNG


def listed(place: Path, later: float = HOURS, index: Index | None = None) -> list[Described]:
    """The entries of a folder as they are so many seconds later."""
    folder = Folder(str(place))
    living = Living(lambda: not folder.unreadable, time.time() + later)
    items = folder.items(Report())
    with Reader() as reader:
        batches = describe(items, folder, reader, Report(), index=index, living=living)
        return [one for batch in batches for one in batch]


def orphans(place: Path, later: float = HOURS) -> dict[str, str]:
    """Why, by path; without the locks of a cache that was made long ago."""
    found = [one.entry for one in listed(place, later)]
    return {e.path: e.orphan for e in found if e.orphan and e.kind != "lock"}


def graph_of(place: Path, words: str) -> Described:
    return next(
        x for x in listed(place) if x.item.kind == "fxgraph" and words in (x.entry.name or "")
    )


def test_a_fresh_cache_has_no_orphans(warm_cache: Path, kept_291: Path, kernels: Path) -> None:
    for place in (warm_cache, kept_291, kernels):
        assert orphans(place) == {}
    assert [x.entry.orphan for x in listed(warm_cache, 0) if x.entry.orphan] == []


@pytest.mark.parametrize("which", ["warm_cache", "fixture_cache"])
def test_what_only_a_removed_graph_named(which: str, request: pytest.FixtureRequest) -> None:
    place: Path = request.getfixturevalue(which)
    graph = graph_of(place, "sin")
    every = listed(place)
    told = [(one.item, one.facts) for one in every]
    related = relatives(told, [item for item, _ in told], graph.item)
    (module, *kernels), (autograd,) = related.needs, related.needed_by
    assert (module.key, related.missing) == (graph.facts["code_key"], [])
    assert len(kernels) == len(graph.facts["kernels"])
    (place / graph.item.path).unlink()
    found = orphans(place)
    assert found.pop(autograd.path) == "graph-gone"
    assert found == {item.path: "code-unnamed" for item in related.needs}
    for path in (autograd.path, *found):
        os.utime(place / path)
    assert orphans(place, 0) == {}, "a compile writes code first and the graph last"


def test_relatives_both_ways(kept_291: Path) -> None:
    every = listed(kept_291)
    told = [(one.item, one.facts) for one in every]
    items = [item for item, _ in told]
    for item in items:
        related = relatives(told, items, item)
        for other in related.needs:
            assert item in relatives(told, items, other).needed_by
        if item.kind == "aotautograd":
            assert {other.kind for other in related.needs} == {"fxgraph"}
    (gone,) = [
        x
        for x in every
        if x.entry.name == "sin_matmul(f32[100, 100] ×2): mm, sin" and x.item.kind[0] == "f"
    ]
    left = [(item, facts) for item, facts in told if item is not gone.item]
    autograd = relatives(told, items, gone.item).needed_by[0]
    missing = relatives(left, [item for item, _ in left], autograd).missing
    assert missing == [("fxgraph", gone.item.key)]


def test_code_is_not_judged_by_graphs_that_were_not_read(fixture_cache: Path) -> None:
    one, other = (fixture_cache / graph_of(fixture_cache, w).item.path for w in ("sin", "mm, att"))
    one.unlink()
    assert "code-unnamed" in orphans(fixture_cache).values()
    seen = listed(fixture_cache)
    kept = other.read_bytes()
    other.write_bytes(kept[:1000])
    assert set(orphans(fixture_cache).values()) == {"graph-gone"}, "it could name that code"
    other.write_bytes(kept)
    living = Living(lambda: False, time.time() + HOURS)  # a folder could not be read
    assert not any(living.orphan(one.item, one.facts) for one in seen if one.item.kind != "lock")


def test_an_older_engine_says_nothing_of_orphans(kept_291: Path) -> None:
    entry = listed(kept_291)[0].entry
    row = dict(entry.to_json())
    assert row.pop("orphan") is None
    assert entry_from_json(row) == entry
    with pytest.raises(ValueError, match="orphan"):
        entry_from_json({**row, "orphan": 3})


def test_without_graphs_nothing_is_known(fixture_cache: Path) -> None:
    shutil.rmtree(fixture_cache / "fxgraph")
    assert set(orphans(fixture_cache).values()) == {"graph-gone", "code-unnamed"}
    shutil.rmtree(fixture_cache / "aotautograd")
    assert orphans(fixture_cache) == {}, "a program may do without the graph cache"


def test_a_kernel_without_all_its_files(kernels: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(kernels, tmp_path / "kernels"))
    binary = next(place.rglob("*.cubin"))
    binary.unlink()
    assert orphans(place, 0) == {binary.parent.name: "triton-incomplete"}


def test_a_kernel_of_which_a_file_cannot_be_read_is_not_called_incomplete(
    kernels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be whole: another user could have made it."""

    class Forbidding(Folder):
        def open(self, file: File) -> BinaryIO:
            if file.name.startswith("__grp__"):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return super().open(file)

    monkeypatch.setitem(globals(), "Folder", Forbidding)
    found = listed(kernels)
    assert {one.entry.problem for one in found if one.entry.kind == "triton"} == {"file-unreadable"}
    assert orphans(kernels, 0) == {}


def test_locks_and_temporary_files(tmp_path: Path) -> None:
    of_kernel = f"{'A' * 52}/tmp.pid_4194305_0a1b2c3d-0a1b-4a1b-8a1b-0a1b2c3d4e5f/k.ttir"
    names = (f"locks/c{'a' * 51}.lock", "ab/.4194305.140000000000.tmp", of_kernel)
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")
    assert [x.entry.orphan for x in listed(tmp_path, OLD - 100)] == [None] * 3
    assert [x.entry.orphan for x in listed(tmp_path, OLD + 100)] == ["left-behind"] * 3


def test_libraries_of_eager_kernels_that_no_list_names(other_cache: Path) -> None:
    lists = other_cache / "aoti_eager" / "aten" / "cpu"
    assert orphans(other_cache) == {}
    conf = lists / "abs.json"
    kept = conf.read_text()
    first, second = json.loads(kept)
    conf.write_text(json.dumps([first]))
    library = Path(second["kernel_path"])
    stem = library.name.partition(".")[0]
    (found,) = orphans(other_cache).items()
    assert found[0].startswith(f"aoti_eager/aten/cpu/{library.parent}/{stem}.")
    assert found[1] == "library-unlisted"
    assert orphans(other_cache, 0) == {}, "a compile writes its list last"
    conf.write_text("{")
    assert orphans(other_cache) == {}, "it could name that library"
    conf.unlink()
    gone = orphans(other_cache)
    assert set(gone.values()) == {"library-unlisted"}
    beside = {path.partition("lib/")[2].partition("/")[0] for path in gone}
    assert beside == {library.parent.name}, "sources go with the last library of their folder"
    assert len(gone) == 4
    conf.write_text(kept)
    assert orphans(other_cache) == {}


def test_code_is_not_judged_where_graphs_are_packed(other_cache: Path) -> None:
    graphs = sorted((other_cache / "fxgraph").rglob("*/f*/*"))
    (keep,) = [path for path in graphs if graph_of(other_cache, "tanh").item.key in str(path)]
    for path in {*graphs} - {keep}:
        path.unlink()
    shutil.rmtree(other_cache / "aotautograd")
    assert orphans(other_cache) == {}, "the precompiled function may need it"
    shutil.rmtree(other_cache / "dynamo")
    assert set(orphans(other_cache).values()) == {"code-unnamed"}


def test_a_lock_that_is_held_stays(tmp_path: Path) -> None:
    held, free = "c" + "h" * 51, "c" + "f" * 51
    for name in (held, free):
        path = tmp_path / "place" / "locks" / f"{name}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    place = tmp_path / "place"
    left: list[str] = []
    with FileLock(place / "locks" / f"{held}.lock"):
        found = [x.item for x in listed(place, OLD + 100) if x.entry.orphan == "left-behind"]
        plan = trash.Plan(str(place), found)
        done = trash.purge(plan, False, Report(), lambda item, p: left.append(f"{item.key} {p}"))
    assert (len(found), done.counts["locks"], done.entries) == (2, 1, 0)
    assert left == [f"{held} ('in-use', {{}})"]
    assert [path.name for path in (place / "locks").iterdir()] == [f"{held}.lock"]


def test_the_index_keeps_what_tells(fixture_cache: Path, tmp_path: Path) -> None:
    (fixture_cache / graph_of(fixture_cache, "sin").item.path).unlink()
    first = orphans(fixture_cache)
    assert len(first) == 3
    for _ in range(2):
        index = Index(str(fixture_cache), str(tmp_path / "index.sqlite"))
        every = listed(fixture_cache, index=index)
        index.finish()
        found = {x.item.path: x.entry.orphan for x in every if x.entry.orphan}
        assert found.items() >= first.items()


@pytest.mark.slow
def test_keys_are_those_of_torch(filled: Path, kept_291: Path, torch_python: str) -> None:
    modules = [*filled.glob("??/*.py"), *kept_291.glob("??/*.py")]
    assert len(modules) >= 12
    for path in modules:
        assert code.key_of(path.read_text()) == path.stem
    # As define_kernel of torch/_inductor/codegen/triton.py writes it.
    text = "\n\nimport triton\n\n@triton.jit\ndef triton_poi_0(in_ptr0):\n    pass  # é \\\\n\n"
    module = (
        "\nasync_compile = AsyncCompile()\n\n# kernel path: /x/py\n"
        f"triton_poi_0 = async_compile.triton('triton_poi_0', '''{text}''', device_str='cuda')\n"
    )
    script = (
        "from torch._inductor.codecache import code_hash\n"
        f"print(code_hash({text!r}.replace('\\\\\\\\', '\\\\').strip()))"
    )
    done = subprocess.run([torch_python, "-c", script], capture_output=True, text=True, check=True)
    assert code.names(module) == ([done.stdout.strip()], True)
    facts = code.facts({"c.py": (text.replace("\\\\", "\\")).encode()}, full=False)
    assert facts["role"] == "triton"
    strange = (
        module.replace("'''", "Text"),
        module.replace("AsyncCompile()", ""),
        module + "k = async_compile.cpp_pybinding([[]], '''x''')\n",
        "",
    )
    for other in strange:
        assert code.names(other)[1] is False
    assert re.fullmatch("c[a-z2-7]{51}", code.key_of("\ud800"))
