"""People's own files in a cache: none is taken for a cache's."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import pytest

from tests.conftest import DATA, unpack_archive
from tests.forest import plant, projects
from torchkeeper.artifacts import layout, proofs
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.items import File, group

PROJECTS = 2_400


@pytest.mark.slow
def test_no_name_in_two_thousand_projects_is_a_known_writers() -> None:
    """But those that may be either, of which their first bytes tell, or what lies beside them."""
    taken: list[tuple[str, str]] = []
    doubtful = files = 0
    for project in projects(PROJECTS):
        files += len(project)
        found = group(File(path, len(data)) for path, data in project.items() if "->" not in path)
        for item in found:
            if item.kind == "unknown":
                continue
            for file in item.files:
                wanted = proofs.wanted(file.path)
                empty = not file.path.endswith(".lock") or not file.size
                heads = [proof.head(project[file.path]) for proof in wanted if proof.head]
                if any(heads) or (not wanted and empty):
                    taken.append((item.kind, file.path))
                doubtful += 1
    assert taken == []
    assert files > 40_000
    # The forest has files that are told by more than their names.
    assert doubtful > 500


@pytest.mark.parametrize("projects", [96, pytest.param(250, marks=pytest.mark.slow)])
def test_a_cache_with_projects_in_it_is_listed_as_without(
    kept_291: Path, tmp_path: Path, projects: int
) -> None:
    place = Path(shutil.copytree(kept_291, tmp_path / "place"))
    before = {item.identity for item in Folder(str(place)).items(Report())}
    planted = plant(place, projects)
    items = Folder(str(place)).items(Report())
    known = [item for item in items if item.kind != "unknown"]
    assert {item.identity for item in known} == before
    unknown = {file.path for item in items if item.kind == "unknown" for file in item.files}
    assert unknown == set(planted)
    # Looked at alone, each is what it was in the list.
    for path in itertools.islice(planted, 0, None, 40):
        alone = Folder(str(place)).items_beside(path, Report())
        assert [i.kind for i in alone if path in [f.path for f in i.files]] == ["unknown"]


def test_caches_of_other_compilers_are_not_taken_for_torchs(tmp_path: Path) -> None:
    """What CuPy, JAX, Numba and the CUDA driver wrote on a GPU, and a program of ``aot_compile``,
    beside what Triton did. PyTorch's jiterator has a folder here that is not called as its own.
    """
    unpack_archive(DATA / "torch-2.11.0" / "jit.tar.xz", tmp_path)
    items = Folder(str(tmp_path)).items(Report())
    known = {file.path for item in items if item.kind != "unknown" for file in item.files}
    unknown = {file.path for item in items if item.kind == "unknown" for file in item.files}
    assert {path.split("/")[0] for path in known} == {"triton"}
    assert {path.split("/")[0] for path in unknown} == {
        "ComputeCache", "aot", "cupy", "jax", "kernels", "numba"
    }  # fmt: skip
    kernels = [item for item in items if item.kind == "triton"]
    assert {len(item.files) for item in kernels} == {1, 8}


def test_kernels_with_notes_in_their_folders(kernels: Path, tmp_path: Path) -> None:
    place = Path(shutil.copytree(kernels, tmp_path / "place"))
    before = {item.identity: len(item.files) for item in Folder(str(place)).items(Report())}
    mine = []
    for number, folder in enumerate([path for path in place.iterdir() if path.is_dir()]):
        for name in ("notes.md", ".k.ttir.swp", "k.ttir.bak", "data.csv", "model", "k.lock"):
            (folder / name).write_text(str(number))
            mine.append(f"{folder.name}/{name}")
    items = Folder(str(place)).items(Report())
    assert {i.identity: len(i.files) for i in items if i.kind != "unknown"} == before
    assert sorted(i.path for i in items if i.kind == "unknown") == sorted(mine)


def test_a_folder_named_like_a_kernels_holds_none_without_its_files(tmp_path: Path) -> None:
    digest = "0a" * 32
    (tmp_path / digest).mkdir()
    for name in ("config.json", "kernel.cubin", "lib.so", "VERSION"):
        (tmp_path / digest / name).write_text("{}")
    assert {item.kind for item in Folder(str(tmp_path)).items(Report())} == {"unknown"}
    (tmp_path / digest / "k.ttir").write_text("module {}")
    (tmp_path / digest / "k.json").write_text("{}")
    found = {
        item.kind: [f.name for f in item.files] for item in Folder(str(tmp_path)).items(Report())
    }
    assert {"k.ttir", "k.json"} <= set(found["triton"])
    assert layout.locate(f"{digest}/VERSION").kind == "unknown"


def test_what_a_name_leaves_open_is_told_by_looking(tmp_path: Path) -> None:
    """Each of these is a known writer's only as it wrote it, where it writes it."""
    value = b"\x5f\xec\xeb\x66" + b"\x80\x04N."
    pairs: dict[str, tuple[bytes, bytes]] = {
        "0a" * 16: (value, b"backup"),
        "cache/mine/" + "0b" * 16: (value, b"page"),
        "cache/" + "0c" * 32: (b'{\n    "system": {}, "cache": {}}', b"blob"),
        "configs_0a1b2c3d.json": (b'["{\\"gemm_kind\\": 1}"]', b'["{}"]'),
        "compiled_cache.db": (
            b"SQLite format 3\0" + bytes(80) + b"CREATE TABLE compiled_operations(op_key)",
            b"SQLite format 3\0" + bytes(80) + b"CREATE TABLE mine(a)",
        ),
        "memoizer_cache.json": (b'{\n  "collections": {}}', b'{"mine": 1}'),
        "tmp0a1b2c3d.py": (
            b"import torch\nfrom torch._inductor.select_algorithm import AlgorithmSelectorCache\n",
            b"import torch\nprint('mine')\n",
        ),
        "locks/c" + "ab" * 25 + "a.lock": (b"", b"1234"),
    }
    for number, wanted in ((0, {"ondisk", "autotune", "code", "lock"}), (1, {"unknown"})):
        place = tmp_path / str(number)
        for path, contents in pairs.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_bytes(contents[number])
        items = Folder(str(place)).items(Report())
        assert {item.kind for item in items} == wanted
        assert len(items) == len(pairs)
    # Inputs that were dumped lie beside the kernel that they were dumped for.
    dumped, stem = tmp_path / "0" / "v2" / "triton_poi_run_0" / "tensor_0.pt", "cv2" + "a" * 49
    dumped.parent.mkdir(parents=True)
    dumped.write_bytes(b"PK\3\4" + bytes(26) + b"tensor_0/data.pkl")
    for kind in ("unknown", "code"):
        found = [i for i in Folder(str(tmp_path / "0")).items(Report()) if "_run_0" in i.path]
        assert [item.kind for item in found] == [kind]
        (tmp_path / "0" / "v2" / f"{stem}.py").write_text("")
    # Locks are those of what is there.
    for number in (0, 1):
        place = tmp_path / str(number)
        for path in (
            "locks/0a0a.lock",
            "locks/dead.lock",
            "dir.lock",
            "cache/mine/locks/0b0b.lock",
        ):
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_bytes(b"")
        locks = {i.path for i in Folder(str(place)).items(Report()) if i.kind == "lock"}
        mine = {"locks/0a0a.lock", "dir.lock", "cache/mine/locks/0b0b.lock"}
        assert (locks & {*mine, "locks/dead.lock"}) == (set() if number else mine)


#: Where a writer has a file of exactly this name, what it begins with, and what people have there.
EXACT = {
    "dynamo/code_state_mine_0_.pkl": (b"\x80\x04\x95\x12", b"notes of mine\n"),
    "dynamo/code_state_mine_None_.pkl.tmp": (b"\x80\x05", b"notes of mine\n"),
    f"xy/cxy{'a' * 49}.txt": (b"op0: SchedulerNode(ComputedBuffer)\n", b"a list\n"),
    f"xy/cxy{'a' * 49}_weights.txt": (b"op0_op1: FusedSchedulerNode(", b"a list\n"),
    f"triton/0/{'0a' * 32}/__grp__mine.json": (b'{"child_paths": {}}', b"notes of mine\n"),
    f"{'Ab_-' * 10}AbA/__grp__mine.json": (b'{"child_paths": {"k.ttir": "/k.ttir"}}', b"{}"),
}


def test_what_no_writer_writes_is_nobodys_under_its_exact_name(tmp_path: Path) -> None:
    """What a crash has made of a writer's file is that writer's still: nothing, zeros, a part."""
    for path, (own, other) in EXACT.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        for data, known in (
            (own, True),
            (b"", True),
            (b"\0" * 4096, True),
            (own[:2], True),
            (other, False),
        ):
            (tmp_path / path).write_bytes(data)
            [item] = Folder(str(tmp_path)).items(Report())
            assert (item.kind != "unknown") is known, (path, data)
            [alone] = Folder(str(tmp_path)).items_beside(path, Report())
            assert alone.kind == item.kind
        (tmp_path / path).unlink()


def test_a_profile_has_the_name_that_dynamo_gives_it(tmp_path: Path) -> None:
    for name in ("code_state_x.pkl", "code_state_x_rank_.pkl", "code_state_None.pkl"):
        for end in ("", ".tmp", ".lock"):
            assert layout.locate(f"dynamo/{name}{end}").kind == "unknown"
    for name in ("code_state_x_None_.pkl", "code_state__7_tag.pkl", "code_state_x_0.pkl"):
        assert layout.locate(f"dynamo/{name}").kind == "pgo"
        assert layout.locate(f"dynamo/{name}.lock").kind == "lock"


def test_what_is_beside_a_group_that_is_none_is_nobodys_either(tmp_path: Path) -> None:
    folder = tmp_path / ("0a" * 32)
    folder.mkdir()
    for name in ("__grp__mine.json", "mine.json", "mine.o"):
        (folder / name).write_text("mine")
    assert {item.kind for item in Folder(str(tmp_path)).items(Report())} == {"unknown"}
