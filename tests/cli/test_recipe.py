"""Recipes from the command line: written, checked, shown, kept; and warmed, with what follows."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.redis_server import serving
from torchkeeper.client.kept.verified import last_warmed as warmed_last
from torchkeeper.client.recipes import files as recipes
from torchkeeper.client.recipes.files import BESIDE

BAD = '[callable]\nfunction = "models:f"\n[comple]\nmode = 1\n'


@pytest.mark.slow
def test_every_example_is_a_recipe_that_finds_its_files(tk: Tk, tmp_path: Path) -> None:
    for source, beside in BESIDE.items():
        made = tk("recipe", "new", source, tmp_path / f"{source}.toml", "--json").result
        assert made["written"] == [str(tmp_path / name) for name in (f"{source}.toml", *beside)]
    assert tk("recipe", "check", tmp_path).code == 0
    shown = tk("recipe", "show", tmp_path, "--json")
    [*rows, result] = shown.objects
    assert {row["source"] for row in rows} == set(BESIDE)
    assert [row["name"] for row in rows if row["source"] == "callable"] == [
        "Small, batch 2", "Small, batch 4",
    ]  # fmt: skip
    # What export_program.py has not written yet is all that is missing; among others, one of them
    # might write it.
    assert not [row for row in rows if row["problem"]]
    alone = tk("recipe", "show", tmp_path / "exported.toml", "--json")
    [problem] = [row["problem"]["code"] for row in alone.objects[:-1]]
    assert problem == "exported-unreadable"
    assert (shown.code, result) == (0, {"result": {"variants": len(rows), "problems": 0}})
    assert (alone.code, alone.result) == (1, {"variants": 1, "problems": 1})
    listed = tk("recipe", "show", tmp_path / "triton.toml").out
    assert "add, hip:gfx942  triton  hip:gfx942" in listed
    assert listed.endswith("2 variants.\n")


def test_what_is_beside_a_recipe_names_its_file(tk: Tk, tmp_path: Path) -> None:
    assert tk("recipe", "new", "triton", tmp_path / "add.toml").code == 0
    told = (tmp_path / "kernels.py").read_text()
    assert "add.toml" in told
    assert "triton.toml" not in told


def test_what_is_there_is_not_replaced_unless_asked(tk: Tk, tmp_path: Path) -> None:
    file, model = tmp_path / "a.toml", tmp_path / "models.py"
    file.write_text("mine")
    model.write_text("mine, too")
    refused = tk("recipe", "new", "callable", file)
    assert (refused.code, file.read_text()) == (1, "mine")
    assert "there already" in refused.err
    forced = tk("recipe", "new", "callable", file, "--force")
    assert (forced.code, model.read_text()) == (0, "mine, too")
    assert "[[callable]]" in file.read_text()
    assert "torchkeeper warm a.toml" in file.read_text()
    assert f"{model} was there already" in forced.out
    assert tk("recipe", "new", "callable", tmp_path / "a.yaml").code == 2
    assert tk("recipe", "new", "nothing", tmp_path / "b.toml").code == 2
    (tmp_path / "file").touch()
    assert "cannot be written" in tk("recipe", "new", "eager", tmp_path / "file/a.toml").err


def test_check_names_every_fault_as_compilers_do(tk: Tk, tmp_path: Path) -> None:
    (tmp_path / "bad.toml").write_text(BAD + "[limits]\nseconds = -1\n")
    (tmp_path / "not.toml").write_text("[callable\n")
    (tmp_path / "good.toml").write_text(BAD.partition("[comple]")[0])
    (tmp_path / "latin.toml").write_bytes(b"# \xe4\n")
    checked = tk("recipe", "check", tmp_path)
    assert checked.code == 1
    assert checked.out.splitlines() == [
        f"{tmp_path}/bad.toml:3:1: comple: there is no such key; did you mean “compile”?",
        f"{tmp_path}/bad.toml:6:11: limits.seconds: expected seconds above 0 and up to 604800, "
        "found -1.",
        f"{tmp_path}/not.toml:1:10: this is not TOML: Expected ']' at the end of a table "
        "declaration.",
        "3 of 4 recipes are wrong.",
    ]
    assert "Line 1 is not UTF-8" in checked.err
    found = tk("recipe", "check", tmp_path, "--json").objects
    assert found[0]["faults"][1] == {
        "line": 6, "column": 11, "where": "limits.seconds",
        "text": "expected seconds above 0 and up to 604800, found -1.",
    }  # fmt: skip
    assert found[-1] == {"result": {"recipes": 4, "wrong": 3}}


def test_the_list(tk: Tk, tmp_path: Path) -> None:
    config = {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    assert "empty" in tk("recipe", "list", **config).err
    (tmp_path / "a.toml").write_text(BAD)
    assert tk("recipe", "add", tmp_path, **config).code == 0
    added = tk("recipe", "add", tmp_path / "a.toml", "--json", **config).objects
    assert [one["path"] for one in added] == [str(tmp_path), str(tmp_path / "a.toml")]
    (tmp_path / "a.toml").unlink()
    assert "a.toml  [no longer exists]" in tk("recipe", "list", **config).out
    assert tk("recipe", "remove", tmp_path / "a.toml", **config).out == f"{tmp_path}\n"
    assert tk("recipe", "remove", tmp_path / "a.toml", **config).code == 1


def test_what_is_wrong_is_said_before_anything_is_compiled(tk: Tk, tmp_path: Path) -> None:
    into = ("--into", tmp_path / "cache")
    recipe = tmp_path / "a.toml"
    recipe.write_text(BAD)
    wrong = tk("warm", recipe, *into)
    assert wrong.code == 2
    assert f"{recipe}, line 3, is wrong" in wrong.err
    assert tk("verify", tmp_path, "--recipe", recipe, "--trust").code == 2
    recipe.write_text(BAD.partition("[comple]")[0])
    dry = tk("warm", recipe, "--dry-run", *into)
    assert dry.code == 1
    assert "There is no module models" in dry.out
    (tmp_path / "models.py").write_text("def other(): ...  # f\n")
    assert "f" in tk("warm", recipe, "--dry-run", *into).out
    for only in ((), ("--dry-run",)):
        bundle = tk("warm", recipe, *into, "--bundle", tmp_path, *only)
        assert (bundle.code, "cannot be written" in bundle.err) == (1, True)
        server = tk("warm", recipe, *into, "--publish", "redis://127.0.0.1:1", *only)
        assert (server.code, "does not answer" in server.err) == (3, True)
    for arguments in (("--jobs", "0"), ("--limit", "nan"), ("--publish", "cache")):
        assert tk("warm", recipe, *into, *arguments).code == 2
    assert not (tmp_path / "cache").exists()


@pytest.mark.torch
@pytest.mark.slow
def test_a_cache_goes_on_to_a_bundle_and_a_server(
    tk: Tk, tmp_path: Path, torch_python: str
) -> None:
    """By kernels, which need neither torch nor a GPU."""
    kernels, bundle, cache = tmp_path / "r/a.toml", tmp_path / "a.torchcache", tmp_path / "cache"
    tk("recipe", "new", "triton", kernels)
    good = kernels.read_text()
    kernels.write_text(good.replace("kernels:add", "kernels:sub"))
    common = ("--into", cache, "--env", torch_python, "--bundle", bundle)
    # What is not whole goes nowhere.
    failed = tk("warm", kernels, *common)
    assert failed.code == 1
    assert "kernels has no sub." in failed.err
    assert "Nothing was exported" in failed.err
    assert "0 of 2 variants warm, 2 failed" in failed.out
    assert not bundle.exists()
    kernels.write_text(good)
    with serving(tmp_path / "redis") as server:
        place = f"redis://127.0.0.1:{server.port}"
        foretold = tk("warm", kernels.parent, *common, "--publish", place, "--dry-run")
        assert "Everybody on this machine may write" in foretold.err
        ran = tk("warm", kernels.parent, *common, "--publish", place, "--json")
        assert ran.code == 0, ran.err
        result = ran.result
        assert [one["variant"]["state"] for one in ran.objects[:-1]] == ["done", "done"]
        assert (result["done"], result["failed"], result["hits"]) == (2, 0, 0)
        assert result["bundle"]["entries"] == 2
        assert result["published"]["entries"] == 2
        assert {row["kind"] for row in tk("ls", place, "--json").objects} == {"triton"}
    [[path, (_, into, done, not_done)]] = warmed_last().items()
    assert (path, into, done, not_done) == (str(kernels), str(cache), 2, 0)
    assert {row["kind"] for row in tk("inspect", bundle, "--json").objects[:-1]} == {"triton"}


EAGER = """[[eager]]
op = "aten::add.Tensor"
inputs = [{ shape = [4, 8], dtype = "float32" }, { shape = [4, 8], dtype = "float32" }]
keywords = { alpha = 2 }
"""


@pytest.mark.torch
@pytest.mark.slow
def test_eager_kernels_go_on_to_a_bundle_and_stay_out_of_a_server(
    tk: Tk, tmp_path: Path, torch_python: str, other_kinds_now: Path, header_folder: Path
) -> None:
    """One that is compiled already."""
    recipe, bundle, cache = tmp_path / "a.toml", tmp_path / "a.torchcache", tmp_path / "cache"
    recipe.write_text(EAGER)
    shutil.copytree(other_kinds_now / "cache" / "aoti_eager", cache / "aoti_eager")
    env = {"TMPDIR": str(header_folder)}
    common = ("--env", torch_python, "--device", "cpu")
    with serving(tmp_path / "redis") as server:
        place = f"redis://127.0.0.1:{server.port}"
        onward = ("--bundle", bundle, "--publish", place)
        ran = tk("warm", recipe, "--into", cache, *onward, *common, **env)
        assert ran.code == 0, ran.err
        assert ran.out.startswith("1 eager kernel in ")
        assert ran.out.endswith(": 1 hit and 0 misses; 0 entries added.\n")
        assert "3 entries, 4.5 MB of content written" in ran.err
        assert "3 eager kernels stay out of it" in ran.err
        assert tk("ls", place, "--json").objects[:-1] == []
    inside = tk("inspect", bundle, "--env", torch_python, "--json")
    assert {(row["kind"], row["verdict"]) for row in inside.objects[:-1]} == {
        ("aoti_eager", "conditional")
    }


@pytest.mark.torch
@pytest.mark.slow
def test_a_bundle_of_eager_kernels_is_proved(
    tk: Tk, tmp_path: Path, torch_python: str, other_kinds_now: Path, header_folder: Path
) -> None:
    """In a folder of its own, where PyTorch finds what it lists; other inputs it does not."""
    recipe, bundle, cache = tmp_path / "a.toml", tmp_path / "a.torchcache", tmp_path / "cache"
    shutil.copytree(other_kinds_now / "cache" / "aoti_eager", cache / "aoti_eager")
    assert tk("export", cache, "-o", bundle, "--env", torch_python).code == 0
    asked = ("--recipe", recipe, "--quick", "--trust", "--env", torch_python, "--device", "cpu")
    for text, code, said in (
        (EAGER, 0, "Good: of 1 eager kernel 1 hit, 0 misses; 0 objects built again"),
        (EAGER.replace("alpha = 2", "alpha = 3"), 1, "Not good: of 1 eager kernel 0 hits, 1 miss"),
    ):
        recipe.write_text(text)
        proved = tk("verify", bundle, *asked, TMPDIR=str(header_folder))
        assert (proved.code, said in proved.out) == (code, True), proved.out + proved.err


@pytest.mark.torch
@pytest.mark.slow
def test_every_example_gets_warm_and_proves_it(
    tk: Tk, tmp_path: Path, torch_python: str, header_folder: Path
) -> None:
    folder, env = tmp_path / "r", {"TMPDIR": str(header_folder)}
    for source in BESIDE:
        tk("recipe", "new", source, folder / f"{source}.toml")
    subprocess.run([torch_python, folder / "export_program.py"], check=True, capture_output=True)
    common = ("--env", torch_python, "--json")
    warmed = tk("warm", folder, "--into", tmp_path / "cache", *common, timeout=600, **env)
    assert warmed.code == 0, warmed.err
    assert warmed.result["done"] == 10
    assert {"fxgraph", "aoti_eager", "triton"} <= set(warmed.result["kinds"])
    proof = ("--recipe", folder, "--quick", "--trust")
    verified = tk("verify", tmp_path / "cache", *proof, *common, timeout=600, **env)
    assert verified.code == 0, verified.err
    assert [variant["good"] for variant in verified.result["variants"]] == [True] * 10


def test_a_recipe_of_the_list_is_read_as_any_other(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('name = "other"\n' + BAD.partition("[comple]")[0])
    [sent] = recipes.wire([str(tmp_path / "a.toml")])
    assert isinstance(sent, dict)
    assert json.loads(json.dumps(sent)) == sent
    assert (sent["name"], sent["folder"]) == ("other", str(tmp_path))


@pytest.mark.slow
def test_only_some_of_the_variants(tk: Tk, tmp_path: Path) -> None:
    """Each variant by its name, with its recipe's where several have it, or by its number."""
    (tmp_path / "models.py").write_text("def f(x): ...")
    for name in ("a", "b"):
        (tmp_path / f"{name}.toml").write_text(
            '[callable]\nfunction = "models:f"\ninputs = [{ shape = ["batch"] }]\n'
            "[matrix]\nbatch = [1, 2]\n"
        )
    dry = ("warm", tmp_path, "--into", tmp_path / "c", "--dry-run", "--json")
    for only, found in ((["f, batch 2"], [1, 3]), (["b: f, batch 2"], [3]), (["3", "0"], [0, 3])):
        ran = tk(*dry, *(word for one in only for word in ("--only", one)))
        assert (ran.code, [row["index"] for row in ran.objects[:-1]]) == (0, found)
    listed = tk(*dry[:-1], "--only", "f, batch 2").out.splitlines()
    assert [line.split()[:2] for line in listed[:3]] == [["NO.", "RECIPE"], ["1", "a"], ["3", "b"]]
    wrong = tk(*dry, "--only", "f, batch 3")
    assert wrong.code == 2
    assert "Similar names: f, batch 2" in wrong.err
    assert tk(*dry, "--only", "4").code == 2


@pytest.mark.slow
@pytest.mark.torch
def test_dry_run_looks_at_the_device_the_environment_and_the_place(
    tk: Tk, tmp_path: Path, torch_python: str, bare_python: str
) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text("[[callable]]\nfunction = 'a:f'\ninputs = [3]\n")
    (tmp_path / "a.py").write_text("def f(x):\n    return x\n")
    what = ("warm", recipe, "--into", tmp_path / "into", "--dry-run")
    ran = tk(*what, "--env", torch_python, "--device", "cuda:63", "--json")
    assert (ran.code, ran.objects[0]["problem"]["code"]) == (1, "device-missing")
    assert tk(*what, "--env", torch_python, "--device", "cpu").code == 0
    ran = tk(*what, "--env", bare_python)
    assert (ran.code, "has no torch" in ran.err) == (3, True)
    ran = tk("warm", recipe, "--into", recipe / "into", "--dry-run", "--env", torch_python)
    assert (ran.code, "is not a folder" in ran.err) == (3, True)
    assert not (tmp_path / "into").exists()
