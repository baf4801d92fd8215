"""Keys of vLLM's, written by vLLM's own code where its wheel is, and which factor differs."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests import vllm as wheel
from torchkeeper.artifacts.vllm import Factors, factors, folder
from torchkeeper.settings import vllm as variables
from torchkeeper.verdict import vllm

#: Texts for variables that are read so, other than what they come to without one.
OTHER = {"switch": "1 0", "true": "true false", "stripped": "1 0", "one": "1 0", "int": "7 8",
         "float": "7.5 8.5", "text": "x y", "lower": "x y", "list": "a,b c"}  # fmt: skip


def at(made: Path) -> Factors:
    """The factors that lie below a folder."""
    (file,) = made.rglob("cache_key_factors.json")
    found = factors(file.read_bytes())
    assert found is not None
    return found


def names(judged: vllm.Judged) -> list[str]:
    return [one.name for one in judged.factors]


def changed() -> list[tuple[str, str]]:
    """Twenty variables that any text is good for, each with another text."""
    rng = random.Random(28)
    found = []
    for one in sorted(variables.hashed().values()):
        for text in OTHER.get(one.reading, "").split():
            if one.default != "?" and variables.read(one, text) != one.default:
                found.append((one.name, text))
                break
    found = [one for one in found if one[0] != "VLLM_DP_RANK"]  # of which vLLM makes two
    some = [one for one in found if one[0] in variables.own()]
    rest = [one for one in found if one not in some]
    return rng.sample(some, 8) + rng.sample(rest, 9)


#: What every server here has: two variables that depend on torch or on the GPU.
COMMON = {"VLLM_USE_AOT_COMPILE": "1", "VLLM_USE_MEGA_AOT_ARTIFACT": "1", "VLLM_DBO_COMM_SMS": "20"}


def started(tmp_path: Path, number: int, config: str = "cafe", **env: str) -> wheel.Start:
    """One that traces two files."""
    traced = {str(tmp_path / name): f"# {name}\n" for name in ("model.py", "layer.py")}
    return wheel.Start(str(tmp_path / str(number)), {**COMMON, **env}, config, traced)


@pytest.mark.slow
@pytest.mark.torch
@wheel.needed
def test_twenty_pairs_that_differ_in_one_factor_each(tmp_path: Path, torch_python: str) -> None:
    some = changed()
    starts = [started(tmp_path, n, **{name: text}) for n, (name, text) in enumerate(some)]
    of_hashes = ["config", "code", "code"]
    text, path = started(tmp_path, 31), started(tmp_path, 32)
    other = {str(tmp_path / "other" / "model.py"): "# model.py\n"}
    starts += [
        started(tmp_path, 30, "beef"),
        text._replace(traced={**text.traced, str(tmp_path / "layer.py"): "# changed\n"}),
        path._replace(traced=other),
    ]
    first, *made = wheel.written(torch_python, [started(tmp_path, 99), *starts])
    assert len(made) == 20
    for (name, _), one, start in zip(some, made, starts, strict=False):
        assert one.name != first.name
        found = vllm.compare(at(first), at(one))
        assert (names(found), found.verdict) == ([name], "misses")
        # The same is known before the second server runs, and where it will look.
        before = vllm.against(at(first), start.env)
        assert (names(before), before.looks_for) == ([name], one.name)
    for name, one in zip(of_hashes, made[17:], strict=True):
        assert names(vllm.compare(at(first), at(one))) == [name]


@pytest.mark.slow
@pytest.mark.torch
@wheel.needed
def test_twenty_pairs_that_differ_in_nothing_that_counts(tmp_path: Path, torch_python: str) -> None:
    ignored = sorted(variables.ignored() - {"VLLM_CACHE_ROOT"})
    starts = [started(tmp_path, n, **{name: "1"})
              for n, name in enumerate(random.Random(28).sample(ignored, 20))]  # fmt: skip
    first, *made = wheel.written(torch_python, [started(tmp_path, 99), *starts])
    for one, start in zip(made, starts, strict=True):
        assert one.name == first.name
        found = vllm.compare(at(first), at(one))
        assert (found.factors, found.verdict) == ((), "hits")
        before = vllm.against(at(first), start.env)
        assert (before.factors, before.verdict, before.looks_for) == ((), "open", first.name)


@pytest.mark.slow
@pytest.mark.torch
@wheel.needed
def test_the_folder_has_the_name_that_its_factors_make(tmp_path: Path, torch_python: str) -> None:
    (made,) = wheel.written(torch_python, [started(tmp_path, 1, VLLM_PLUGINS="a,ü")])
    assert folder(at(made)) == made.name


def known(**env: str) -> Factors:
    """Factors of a server with these variables, as far as they decide."""
    values = {name: variables.value(name, env) or "true" for name in variables.hashed()}
    return Factors(values, "cafe", "beef", "c0ffee")


def test_what_can_change_code_comes_first() -> None:
    other = known(VLLM_P2P_SIDE_CHANNEL_PORT="5601", VLLM_USE_DEEP_GEMM="0")
    found = vllm.compare(known(), other)
    assert [(one.name, one.idle) for one in found.factors] == [
        ("VLLM_USE_DEEP_GEMM", False), ("VLLM_P2P_SIDE_CHANNEL_PORT", True),
    ]  # fmt: skip


def test_another_version_has_other_variables() -> None:
    there = known()
    older = there._replace(env={**there.env, "VLLM_API_KEY": '"sk-1"', "VLLM_OLD": "2"})
    found = vllm.compare(older, there)
    assert names(found) == ["VLLM_OLD", "VLLM_API_KEY"]
    assert [one.to_json() for one in found.factors] == [
        {"factor": "VLLM_OLD", "a": "2", "b": None, "idle": False},
        {"factor": "VLLM_API_KEY", "a": "…", "b": None, "idle": True},
    ]
    # What another version makes of a variable that is not set, only that version knows.
    older = older._replace(env={**older.env, "VLLM_DP_SIZE": "2"})
    judged = vllm.against(older, {"VLLM_USE_DEEP_GEMM": "1"})
    assert judged.factors == ()
    assert {"VLLM_OLD", "VLLM_API_KEY", "VLLM_DP_SIZE"} < set(judged.unknown)


def test_what_is_set_to_nobody_knows_what_is_unknown() -> None:
    judged = vllm.against(known(), {}, ["VLLM_USE_DEEP_GEMM", "VLLM_HOST_IP"])
    assert judged.factors == ()
    assert "VLLM_USE_DEEP_GEMM" in judged.unknown
    assert "VLLM_HOST_IP" not in judged.unknown


def test_of_what_is_no_json_no_folder_is_told() -> None:
    there = known()
    for wrong in ("", "{", "[" * 100_000):
        assert folder(there._replace(env={**there.env, "VLLM_PLUGINS": wrong})) == ""


def test_hashes_that_are_not_recorded_are_unknown() -> None:
    found = factors(json.dumps({"env": {}, "code_hash": "a", "compiler_hash": 3}).encode())
    assert found is not None
    judged = vllm.compare(found, known())
    assert judged.unknown == ("config", "compiler")
    assert judged.looks_for == folder(known())
    assert folder(found) == ""
