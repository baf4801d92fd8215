"""What is wrong with what vLLM keeps."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.doctor.conftest import Doctor, Found
from tests.vllm import tree
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words import findingwords
from torchkeeper.verdict.probed import Env

PORT, RANK = "VLLM_P2P_SIDE_CHANNEL_PORT", "VLLM_DP_RANK"


def test_what_is_one_pods_own(doctor: Doctor, tmp_path: Path) -> None:
    place = tree(tmp_path, {PORT: "5601", "VLLM_LOOPBACK_IP": "10.0.0.1", "VLLM_PLUGINS": "a"})
    found = doctor(place, only=("vllm-variables",))["vllm-own-variables"]
    assert set(found.settings) == {PORT, "VLLM_LOOPBACK_IP"}
    assert PORT in findingwords.said(found).what
    assert doctor(tree(tmp_path / "plain", {}), only=("vllm-variables",)).codes == []


@pytest.mark.parametrize("below", ["", "rank_0_0", "rank_0_0/backbone"])
def test_an_api_key_in_clear_text(doctor: Doctor, tmp_path: Path, below: str) -> None:
    place = tree(tmp_path, {}, VLLM_API_KEY="sk-of-nobody")
    found = doctor(place / below, only=("vllm-variables",))["vllm-secret"]
    said = findingwords.said(found)
    assert "VLLM_API_KEY" in said.what and "cache_key_factors.json" in said.why
    assert "sk-of-nobody" not in str(found)
    empty = tree(tmp_path / "none", {}, VLLM_API_KEY=None)
    assert doctor(empty, only=("vllm-variables",)).codes == []


def test_the_same_compiled_by_two_pods(doctor: Doctor, tmp_path: Path) -> None:
    place = tmp_path / "torch_compile_cache"
    for number in range(3):
        tree(tmp_path, {PORT: f"560{number}", RANK: str(number)})
    found = doctor(place, only=("vllm-alike",))["vllm-compiled-again"]
    assert found.params["count"] == 3
    names = sorted(one.name for one in place.iterdir())
    assert findingwords.said(found).why.startswith(f"They are {', '.join(names)} in {place}. All")
    assert set(found.settings) == {PORT, RANK}
    # Another code, or a variable that may change it, is a reason to compile.
    other = tmp_path / "other"
    tree(other, {})
    tree(other, {PORT: "1"}, code="feed")
    tree(other, {PORT: "1", "VLLM_USE_DEEP_GEMM": "0"})
    assert doctor(other, only=("vllm-alike",)).codes == []


def plain(doctor: Doctor, root: Path, *checks: str, **params: Any) -> Found:
    """What is found where nobody names a place."""
    with mock.patch.dict(os.environ, {"VLLM_CACHE_ROOT": str(root)}), Engine() as engine:
        return Doctor(engine)(only=checks, machine=True, **params)


def test_what_vllm_keeps_where_nobody_names_a_place(doctor: Doctor, tmp_path: Path) -> None:
    for number in range(4):
        tree(tmp_path, {PORT: f"570{number}"}, ranks=("rank_0_0", "rank_1_0"))
    keys = tmp_path / "torch_compile_cache"
    found = plain(doctor, tmp_path, "vllm-elsewhere", "vllm-alike", "duplicates")
    assert found.codes == ["vllm-own-variables", "vllm-compiled-again"]
    own, again = found["vllm-own-variables"], found["vllm-compiled-again"]
    assert (own.place, own.settings) == (str(keys), (PORT,))
    why = findingwords.said(again).why
    assert again.params["count"] == 4
    assert all(one.name in why for one in keys.iterdir())
    assert why.count(str(keys)) == 1


def test_vllms_folder_is_read_by_vllm(doctor: Doctor, tmp_path: Path, facts: Env) -> None:
    place = tmp_path / "vllm"
    for number in range(2):
        key = tree(place, {PORT: f"570{number}"})
    asked: dict[str, Any] = {"only": ("unread", "duplicates"), "facts": facts}
    assert doctor(place, **asked).codes == []
    other = shutil.copytree(key, tmp_path / "mine")
    assert doctor(key, other, **asked).codes == []
    (key / "rank_0_0" / "backbone" / "cache_key_factors.json").unlink()
    assert doctor(key, place, **asked).codes == []


def test_a_tree_that_was_moved(doctor: Doctor, tmp_path: Path) -> None:
    place = tree(tmp_path / "here", {}, ranks=("rank_0_0",))
    assert doctor(place, only=("vllm-variables",)).codes == []
    moved = place.rename(tmp_path / place.name)
    found = doctor(moved, only=("vllm-variables",))["vllm-moved"]
    assert found.params["other"] == f"{place}/rank_0_0/backbone/"
    assert found.params["path"] == "rank_0_0/backbone/vllm_compile_cache.py"
    part = moved / "rank_0_0" / "backbone"
    assert doctor(part, only=("vllm-variables",)).codes == ["vllm-moved"]


def test_a_model_whose_writer_has_died(doctor: Doctor, tmp_path: Path) -> None:
    rank = tmp_path / "torch_aot_compile" / ("0a" * 32) / "rank_0_0"
    rank.mkdir(parents=True)
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    dead, mine = (rank / f"model.{pid}.tmp" for pid in (process.pid, os.getpid()))
    notes = rank / f"model.{process.pid}.tmp.txt"
    for path in (dead, mine, notes):
        path.write_bytes(b"\x80\x04" + bytes(100))
        os.utime(path, (time.time() - 3 * 86_400,) * 2)
    found = doctor(tmp_path, only=("leftovers",))["left-over"]
    assert found.params["files"] == 1
    doctor.mend(found)
    assert sorted(path.name for path in rank.iterdir()) == sorted([mine.name, notes.name])
