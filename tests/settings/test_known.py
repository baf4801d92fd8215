"""The table of settings against the torch and the Triton that are installed: drift is noticed."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.settings.conftest import Torch
from torchkeeper.settings.known import (
    BY_NAME,
    GROUPS,
    READINGS,
    SETTINGS,
    TYPES,
    Setting,
    at_least,
    decides,
    default,
    on,
    there,
    value,
)

TEXTS = ("1", "0", "", "true", "false", "yes", "No", "2", " 1")
#: Where PyTorch and Triton read variables that are about what they keep.
TREES = ("torch/_inductor", "torch/_functorch", "torch/_dynamo", "torch/compiler", "triton")
#: What a variable about caches is called.
CACHES = re.compile(
    r"CACHE|CACHING|REDIS|REMOTE|PGO|PRECOMPILE|JOB_ID|FREEZING|FORCE_DISABLE|LOCK_TIMEOUT|"
    r"TRITON_HOME|ALWAYS_COMPILE|BINARY_ONLY|COMPILE_DISABLE|DYNAMO_DISABLE|INTERPRET"
)
#: What is called so and is not in the table.
OTHERS = {
    "AOT_INDUCTOR_WEIGHT_USE_CACHING_ALLOCATOR": "memory of a model that was exported",
    "CACHE_FILE": "no variable: the name of a file",
    "INDUCTOR_TEST_DISABLE_FRESH_CACHE": "for PyTorch's own tests",
    "PYTORCH_NO_CUDA_MEMORY_CACHING": "memory of a GPU",
    "TORCHDYNAMO_PREPARE_FREEZING": "what freezing needs of Dynamo; keeps nothing",
    "TORCHINDUCTOR_CACHE_SDPA_CONSTRAINT": "how a graph is compiled",
    "TORCHINDUCTOR_CPP_GEMM_CACHE_BLOCKING": "the caches of a processor",
    "TORCH_FAKE_TENSOR_DISPATCH_CACHE": "in memory only",
    "TORCH_FAKE_TENSOR_DISPATCH_CACHE_CROSSCHECK": "in memory only",
    "TORCH_INDUCTOR_PRECOMPILE_HEADERS": "no variable: a macro of C++",
}
#: Called so only in Triton 3.9.
OTHERS_SINCE_215 = {
    "FLYDSL_RUNTIME_CACHE_DIR": "the cache of another compiler's kernels",
    "TRITON_CI_CACHE_PHASE": "for Triton's own tests",
    "TRITON_FORCE_DISABLE_FP_FUSION": "how a kernel is compiled",
}
#: In the table, and not about caches by their names: they are part of keys, or of profiles.
CALLED_OTHERWISE = {
    "OMP_NUM_THREADS", "TMPDIR", "TORCHINDUCTOR_LITE_MODE", "TORCHINDUCTOR_NUMERICS",
    "TORCH_COMPILE_ON_ONE_RANK", "TORCH_COMPILE_STATIC_SOURCES", "TORCH_COMPILE_WORKER_MODE",
}  # fmt: skip
#: Not named in the file that uses them: Python's tempfile and the OpenMP library read them.
INDIRECT = {"TMPDIR": "gettempdir", "OMP_NUM_THREADS": "parallel_num_threads"}


def named_in(folder: Path) -> set[str]:
    """What looks like the name of a variable in the sources of PyTorch and Triton."""
    found: set[str] = set()
    for tree in TREES:
        for path in (folder / tree).rglob("*.py"):
            text = path.read_text(encoding="utf-8", errors="replace")
            found |= set(re.findall(r"""["']((?:[A-Z][A-Z0-9]*_)+[A-Z0-9]+)["']""", text))
    return found


def test_the_table_is_whole_and_says_what_can_be() -> None:
    assert len(BY_NAME) == len(SETTINGS) > 40
    for one in SETTINGS:
        assert (one.type in TYPES, one.reading in READINGS, one.group in GROUPS) == (True,) * 3
        assert one.does.endswith(".")
        assert set(one.needs + one.conflicts + one.same) <= set(BY_NAME), one.name
        assert not one.same or one.name in one.same
        assert (one.forces is None) == (not one.config)
        assert [v for _, v in one.defaults] and default(one) == one.defaults[-1][1]
        value(one, None)


def read_by(torch: Torch, settings: Iterable[Setting] = SETTINGS) -> list[Setting]:
    """The settings that this torch and its Triton read."""
    return [one for one in settings if one.source.startswith("triton") or there(one, torch.version)]


@pytest.mark.slow
def test_every_setting_is_named_in_its_source(torch: Torch) -> None:
    for one in read_by(torch):
        text = (torch.site / one.source).read_text(encoding="utf-8")
        assert INDIRECT.get(one.name, f'"{one.name}"') in text, one.name


@pytest.mark.slow
def test_every_variable_about_caches_is_described(torch: Torch) -> None:
    """What a new torch reads and this table lacks fails here."""
    found = named_in(torch.site)
    about = {name for name in found if CACHES.search(name)}
    others = set(OTHERS) | (set(OTHERS_SINCE_215) if at_least(torch.version, "2.15") else set())
    assert about - set(BY_NAME) == others
    assert set(BY_NAME) - about == CALLED_OTHERWISE
    here = {one.name for one in read_by(torch)}
    assert (set(BY_NAME) - here).isdisjoint(found), "it is read, and the table says it is not"
    assert here - found == set(INDIRECT)


def read(torch: Torch, settings: list[Setting], text: str | None) -> dict[str, object]:
    """What the attributes of some settings come to with this text in all of their variables."""
    env = {one.name: text for one in settings if text is not None}
    told = torch(env, "configs", attributes=[one.config for one in settings]).told
    assert "error" not in told, told
    return {one.config: comes_to(one, told["values"][one.config]) for one in settings}


def comes_to(setting: Setting, found: object) -> object:
    """PyTorch only asks whether a switch is true: "false" is."""
    return bool(found) if setting.type == "switch" and setting.reading == "config" else found


PLAIN = [x for x in SETTINGS if x.config and x.reading != "number" and x.type != "class"]
#: Of two names of one setting, the one that wins, and the other.
WINNERS = [one for one in PLAIN if one.same[:1] in ((), (one.name,))]
LOSERS = [one for one in PLAIN if one not in WINNERS]


@pytest.mark.slow
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("settings", [WINNERS, LOSERS], ids=["first", "second"])
def test_a_text_comes_to_what_torch_makes_of_it(
    torch: Torch, settings: list[Setting], text: str
) -> None:
    settings = read_by(torch, settings)
    found = read(torch, settings, text)
    assert found == {one.config: value(one, text, torch.version) for one in settings}


@pytest.mark.slow
def test_the_defaults_are_those_of_torch(torch: Torch) -> None:
    settings = [one for one in read_by(torch) if one.config and one.type != "class"]
    found = read(torch, settings, None)
    for one in settings:
        if one.type == "folder":  # Triton tells where that is
            assert default(one) is None
            assert str(found[one.config]).startswith("/")
        else:
            assert found[one.config] == value(one, None), one.name


@pytest.mark.slow
def test_a_number_is_read_or_fails_as_int_does(torch: Torch) -> None:
    numbers = [one for one in SETTINGS if one.config and one.reading == "number"]
    assert len(numbers) == 2
    for one in numbers:
        assert read(torch, [one], " 5_0 ") == {one.config: value(one, " 5_0 ")} == {one.config: 50}
        told = torch({one.name: "x"}, "configs", attributes=[one.config]).told
        assert "invalid literal" in told.get("error", "") or "expected int" in str(told["values"])
        with pytest.raises(ValueError, match="invalid literal"):
            value(one, "x")


def test_a_class_is_loaded_by_its_name(torch: Torch) -> None:
    manager = BY_NAME["TRITON_CACHE_MANAGER"]
    given = "triton.runtime.cache:FileCacheManager"
    assert read(torch, [manager], given) == {manager.config: f"<class '{given.replace(':', '.')}'>"}


def test_some_variables_win_over_the_program_and_others_do_not(torch: Torch) -> None:
    settings = [
        one
        for one in read_by(torch, PLAIN)
        if one.type in ("switch", "tristate") and one.forces in (0, 1)
    ]
    assert len(settings) > 20
    for batch in ([x for x in settings if x in WINNERS], [x for x in settings if x in LOSERS]):
        env = {one.name: "1" for one in batch}
        program = dict.fromkeys(one.config for one in batch)
        told = torch(env, "configs", attributes=list(program), program=program).told
        assert told["stays"] == {one.config: not one.forces for one in batch}


@pytest.mark.slow
def test_what_has_no_attribute_is_read_as_the_table_says(torch: Torch) -> None:
    code = """
from torch._inductor.runtime.caching import config
for one in (config._env_var_val, config._env_var_config, config._versioned_config):
    one.cache_clear()  # what compiles before this case asked
for name in ("IS_CACHING_MODULE_ENABLED", "IS_DUMP_MEMOIZER_CACHE_ENABLED", "CACHE_DUMP_FILE_PATH"):
    told[name] = getattr(config, name)()
told["compiles"] = type(torch.compile(product)).__name__ == "function" and \\
    torch.compile(product)(torch.ones(2, 2), torch.ones(2, 2)) is not None and \\
    bool(torch._dynamo.utils.counters["stats"])
"""
    names = ("TORCHINDUCTOR_ENABLE_CACHING_MODULE", "TORCHINDUCTOR_DUMP_MEMOIZER_CACHE",
             "TORCHINDUCTOR_CACHE_DUMP_FILE_PATH")  # fmt: skip
    for text in ("1", "0", "true", ""):
        env = dict.fromkeys(names, text) | {"TORCHDYNAMO_DISABLE": text}
        told = torch(env, "code", code=code).told["told"]
        assert list(told.values())[:3] == [value(BY_NAME[name], text) for name in names]
        assert told["compiles"] is not on(env, "TORCHDYNAMO_DISABLE"), text


def other_text(setting: Setting) -> str:
    """A text that is not the default, and turns no cache off that writes keys."""
    if setting.type == "switch":
        return "0" if value(setting, None) else "1"
    if setting.name == "TORCHINDUCTOR_NUMERICS":
        return "strict"
    return {"tristate": "0", "number": "7"}.get(setting.type, "other")


@pytest.mark.slow
def test_what_is_in_the_keys_changes_them_and_nothing_else_does(torch: Torch) -> None:
    plain = torch({})
    assert (len(plain.graphs), len(plain.autograd)) == (1, 1)
    off = {"TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_FX_GRAPH_CACHE_DEFAULT",
           "TORCHINDUCTOR_AUTOGRAD_CACHE", "TORCHINDUCTOR_FORCE_DISABLE_CACHES",
           "TORCH_COMPILE_FORCE_DISABLE_CACHES", "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE",
           "TRITON_INTERPRET", "TORCHINDUCTOR_REDIS_PORT", "TRITON_REDIS_PORT"}  # fmt: skip
    others = {x.name: other_text(x) for x in read_by(torch)
              if not x.in_key and x.group != "folders" and x.name not in off
              and x.type not in ("class", "url")}  # fmt: skip
    assert len(others) > 18
    done = torch(others)
    assert (done.error, done.graphs, done.autograd) == ("", plain.graphs, plain.autograd)
    named = [one for one in read_by(torch) if one.in_key and one.name != "OMP_NUM_THREADS"]
    assert len(named) > 8
    for one in named:
        done = torch({one.name: other_text(one)})
        assert (done.error, len(done.graphs)) == ("", 1), one.name
        assert (done.graphs, done.autograd) != (plain.graphs, plain.autograd), one.name
    # OMP_NUM_THREADS is what PyTorch starts with.
    code = "torch.set_num_threads(torch.get_num_threads() + 1)\n"
    code += "torch.compile(product)(torch.ones(4, 4), torch.ones(4, 4))"
    assert torch({}, "code", code=code).graphs.isdisjoint(plain.graphs)


@pytest.mark.slow
def test_a_program_that_starts_with_them_reads_the_same(
    torch: Torch, torch_python: str, tmp_path: Path
) -> None:
    """The other tests have PyTorch read its variables again: here a process begins with them."""
    env = {"TORCHINDUCTOR_FX_GRAPH_CACHE": "", "TORCHINDUCTOR_AUTOGRAD_CACHE": "false",
           "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE": "true", "TORCH_COMPILE_JOB_ID": "1",
           "TORCH_COMPILE_FORCE_DISABLE_CACHES": "1", "TORCH_CACHING_PRECOMPILE": "yes",
           "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_REMOTE_PGO": "0", "OMP_NUM_THREADS": "1",
           "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}  # fmt: skip
    settings = [x for x in read_by(torch) if x.config and not x.source.startswith("triton")]
    code = f"""
import json, torch, torch._inductor.config, torch._dynamo.config, torch._functorch.config
from torch._inductor.runtime.cache_dir_utils import cache_dir
told = {{x: eval(x) for x in {[x.config for x in settings]!r}}}
print(json.dumps([told, cache_dir(), torch.get_num_threads()]))
"""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "TRITON"))}
    done = subprocess.run([torch_python, "-W", "ignore", "-c", code], env={**kept, **env},
                          capture_output=True, text=True, check=True)  # fmt: skip
    fresh, folder, threads = json.loads(done.stdout)
    again = torch(env, "configs", attributes=list(fresh)).told["values"]
    assert fresh == again
    for one in settings:
        decided = decides(env, one.name)
        found = comes_to(one, fresh[one.config])
        assert found == value(one, env[decided] if decided else None), one.name
    assert (folder, threads) == (str(tmp_path), 1)


def test_a_version_has_its_own_variables_and_defaults() -> None:
    later = BY_NAME["TORCHINDUCTOR_FX_GRAPH_CACHE_DEFAULT"]
    assert [there(later, v) for v in ("2.9.1+cpu", "2.10.0", None)] == [False, True, True]
    env = {later.name: "0"}
    assert on(env, "TORCHINDUCTOR_FX_GRAPH_CACHE", "2.9.1")
    assert not on(env, "TORCHINDUCTOR_FX_GRAPH_CACHE", "2.13.0")
    assert on({**env, "TORCHINDUCTOR_FX_GRAPH_CACHE": "1"}, "TORCHINDUCTOR_FX_GRAPH_CACHE")
    for name, before, since in (("TORCHINDUCTOR_NUMERICS", "2.13.0", "2.14.0"),
                                ("TORCHINDUCTOR_LITE_MODE", "2.14.0", "2.15.0")):  # fmt: skip
        assert [there(BY_NAME[name], v) for v in (before, since)] == [False, True]
    changed = later._replace(defaults=(("2.9", "0"), ("2.12", "1")))
    assert [default(changed, v) for v in ("2.11", "2.12.0", "3.0", None)] == ["0", "1", "1", "1"]
