"""What is wrong with what vLLM keeps."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.doctor.conftest import Doctor
from tests.vllm import tree
from torchkeeper.client.words import findingwords

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
    assert set(found.settings) == {PORT, RANK}
    # Another code, or a variable that may change it, is a reason to compile.
    other = tmp_path / "other"
    tree(other, {})
    tree(other, {PORT: "1"}, code="feed")
    tree(other, {PORT: "1", "VLLM_USE_DEEP_GEMM": "0"})
    assert doctor(other, only=("vllm-alike",)).codes == []


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
