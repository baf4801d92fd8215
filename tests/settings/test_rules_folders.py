"""Rules on folders, each with what real torch and Triton then do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.settings.conftest import Torch
from tests.settings.ruling import codes, found, mended
from torchkeeper.settings.finding import About
from torchkeeper.settings.rules import check

#: What torch then does takes a second for each; the rules of caches and servers stand for these.
pytestmark = pytest.mark.slow

CACHE, TRITON, HOME = "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TRITON_HOME"
DO = {CACHE: "compiled", TRITON: "kernel", HOME: "kernel"}
WHERE = """
from torch._inductor.runtime.cache_dir_utils import cache_dir
os.environ.pop("TORCHINDUCTOR_CACHE_DIR")
told["folder"] = cache_dir()
"""


def made(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", [CACHE, TRITON, HOME])
def test_a_relative_folder_is_another_one_in_each(torch: Torch, tmp_path: Path, name: str) -> None:
    values = {name: "mine/cache"}
    assert found(values, "folder-relative").params == {"name": name, "folder": "mine/cache"}
    for where in ("one", "two"):
        (tmp_path / where).mkdir()
        done = torch(values, DO[name], cwd=str(tmp_path / where))
        assert (done.error, made(tmp_path / where)) == ("", ["mine"])
        if name == CACHE:
            assert done.counted("fxgraph_cache_miss") == 1, "the other’s is not found"
        else:
            assert done.told["hits"] == [False]


@pytest.mark.parametrize(("name", "text"), [
    (CACHE, "~/cache"), (CACHE, "${SCRATCH}/cache"), (TRITON, "~/cache"), (HOME, "$HOME/cache"),
])  # fmt: skip
def test_nothing_is_expanded(torch: Torch, tmp_path: Path, name: str, text: str) -> None:
    assert codes({name: text}) == {"folder-unexpanded"}
    assert torch({name: text}, DO[name], cwd=str(tmp_path)).error == ""
    assert made(tmp_path) == [text.split("/", maxsplit=1)[0]]


def test_quotes_are_a_part_of_the_name(torch: Torch, tmp_path: Path) -> None:
    values = {CACHE: f'"{tmp_path}/cache"'}
    finding = found(values, "folder-quoted")
    assert codes(values) == {finding.code}
    (here := tmp_path / "here").mkdir()
    torch(values, cwd=str(here))
    assert made(here) == ['"']
    assert mended(values, finding) == {CACHE: f"{tmp_path}/cache"}
    torch(mended(values, finding), cwd=str(here))
    assert "fxgraph" in made(tmp_path / "cache")


def test_an_empty_cache_folder_is_where_a_program_starts(torch: Torch, tmp_path: Path) -> None:
    finding = found({CACHE: ""}, "folder-empty")
    torch({CACHE: ""}, cwd=str(tmp_path))
    assert {"fxgraph", "aotautograd"} <= set(made(tmp_path))
    assert mended({CACHE: ""}, finding) == {}


def test_an_empty_folder_of_triton(torch: Torch, tmp_path: Path) -> None:
    finding = found({TRITON: ""}, "folder-empty")
    assert "Could not create or locate cache dir" in torch({TRITON: ""}, "kernel").error
    home = {HOME: str(tmp_path / "home")}
    assert torch(home | mended({TRITON: ""}, finding), "kernel").error == ""
    assert codes({HOME: ""}) == {"folder-empty"}
    (here := tmp_path / "here").mkdir()
    torch({HOME: ""}, "kernel", cwd=str(here))
    assert made(here) == [".triton"]


def test_an_empty_temporary_folder_is_as_good_as_none(torch: Torch) -> None:
    assert codes({"TMPDIR": ""}) == set()
    plain, empty = torch({}, "code", code=WHERE), torch({"TMPDIR": ""}, "code", code=WHERE)
    assert Path(empty.told["told"]["folder"]).name == Path(plain.told["told"]["folder"]).name


def test_a_relative_temporary_folder(torch: Torch, tmp_path: Path) -> None:
    assert codes({"TMPDIR": "temporary"}) == {"folder-relative"}
    (tmp_path / "temporary").mkdir()
    done = torch({"TMPDIR": "temporary"}, "code", code=WHERE, cwd=str(tmp_path))
    assert Path(done.told["told"]["folder"]).parent == tmp_path / "temporary"


@pytest.mark.parametrize("name", ["a b", "it's", "a\\b", "a\tb"])
def test_a_folder_that_is_not_quoted_for_the_compiler(name: str) -> None:
    for variable in (CACHE, "TMPDIR"):
        assert codes({variable: f"/data/{name}"}) == {"folder-blank"}
    assert codes({TRITON: f"/data/{name}"}) == set(), "nothing is built in it for the CPU"
    assert found({CACHE: "/a b"}, "folder-blank", About(gpu=True)).severity == "warning"


@pytest.mark.slow
@pytest.mark.parametrize("blank", [CACHE, "TMPDIR"])
def test_a_blank_in_a_folder_breaks_what_is_built_for_the_cpu(
    torch_python: str, tmp_path: Path, blank: str
) -> None:
    code = "import torch\ntorch.compile(lambda x: torch.sin(x) + 1)(torch.ones(3))"
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "TRITON"))}
    for name in (CACHE, "TMPDIR"):
        folder = tmp_path / ("a b" if name == blank else "plain")
        folder.mkdir()
        env[name] = str(folder)
    done = subprocess.run([torch_python, "-c", code], env=env, capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode != 0
    assert found({blank: env[blank]}, "folder-blank").params == {
        "name": blank,
        "folder": env[blank],
    }
    assert "CppCompileError" in done.stderr
    assert f"{tmp_path}/a b/" in done.stderr


def test_kernels_in_a_folder_of_their_own(torch: Torch, tmp_path: Path) -> None:
    """PyTorch would have them in the cache folder, by GPU."""
    values = {CACHE: str(tmp_path / "cache"), TRITON: str(tmp_path / "kernels")}
    finding = found(values, "kernels-apart")
    assert finding.severity == "advice"
    code = """
from torch._inductor.runtime.cache_dir_utils import triton_cache_dir
told["folders"] = [triton_cache_dir(0), triton_cache_dir(1)]
"""
    told = torch(values, "code", code=code).told["told"]
    assert told["folders"] == [str(tmp_path / "kernels")] * 2
    told = torch(mended(values, finding), "code", code=code).told["told"]
    assert told["folders"] == [f"{tmp_path}/cache/triton/{n}" for n in (0, 1)]
    within = {**values, TRITON: str(tmp_path / "cache" / "triton")}
    assert "kernels-apart" not in {one.code for one in check(within)}


def test_the_home_of_triton_beside_its_folder(torch: Torch, tmp_path: Path) -> None:
    values = {HOME: str(tmp_path / "home"), TRITON: str(tmp_path / "kernels")}
    finding = found(values, "triton-home-unused")
    torch(values, "kernel")
    assert made(tmp_path) == ["kernels"]
    assert mended(values, finding) == {TRITON: str(tmp_path / "kernels")}
    assert torch(mended(values, finding), "kernel").told["hits"] == [True]
