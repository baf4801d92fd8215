"""explain and check of vLLM's trees: which factor of a key differs, and who finds what."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.processes import end
from tests.vllm import tree
from torchkeeper.settings.vllm import hashed

PORT = "VLLM_P2P_SIDE_CHANNEL_PORT"


@pytest.fixture
def first(tmp_path: Path) -> Path:
    return tree(tmp_path / "a", {PORT: "5600"})


def test_two_pods_differ_in_a_port(tk: Tk, first: Path, tmp_path: Path) -> None:
    other = tree(tmp_path / "b", {PORT: "5601"}, ranks=("rank_0_0", "rank_1_0"))
    ran = tk("explain", first, other)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"a  {first.name}  llama  rank_0_0  backbone  in {first}",
        f"b  {other.name}  llama  rank_0_0 and rank_1_0  backbone  in {other}",
        "",
        f"Only {PORT} differs (5600, 5601); it is in the key and cannot change code.",
        "Only b has rank_1_0 backbone.",
    ]
    (told,) = tk("explain", first / "rank_0_0", other, "--json").objects
    assert (told["a"]["folder"], told["a"]["named"]) == (first.name, first.name)
    assert told["factors"] == [{"factor": PORT, "a": "5600", "b": "5601", "idle": True}]
    assert told["verdict"] == "misses"
    # Of a whole cache, the nearest is told of.
    assert f"Only {PORT} differs" in tk("explain", first, tmp_path / "b").out
    tree(tmp_path / "b", {})
    ran = tk("explain", tmp_path / "b", first)
    assert ran.code == 2
    assert "has several keys of vLLM" in ran.err


def test_several_factors_are_a_table(tk: Tk, first: Path, tmp_path: Path) -> None:
    other = tree(tmp_path / "b", {PORT: "5601", "VLLM_USE_DEEP_GEMM": "0"}, config="feed")
    lines = tk("explain", first, other).out.splitlines()
    assert lines[3] == f"3 factors differ: VLLM_USE_DEEP_GEMM, config_hash and {PORT}."
    table = [line.split(maxsplit=3) for line in lines[5:]]
    assert table == [
        ["FACTOR", "A", "B", "WHY"],
        ["VLLM_USE_DEEP_GEMM", "true", "false", "it is in the key and may change code"],
        ["config_hash", "cafe", "feed",
         "it is made of the configuration of the server: the model and its options"],
        [PORT, "5600", "5601", "it is in the key and cannot change code"],
    ]  # fmt: skip


def test_the_code_lies_elsewhere(tk: Tk, first: Path, tmp_path: Path) -> None:
    elsewhere = "/srv/venv/lib/python3.12/site-packages"
    other = tree(tmp_path / "b", {PORT: "5600"}, code="feed", packages=elsewhere)
    assert tk("explain", first, other).out.splitlines()[3:5] == [
        "Only code_hash differs (beef, feed); it is made of the sources that torch traced, with "
        "their paths.",
        "The sources lie elsewhere, and the key has their paths: "
        "/opt/lib/python3.12/site-packages/vllm/model_executor/layers/layernorm.py, "
        f"{elsewhere}/vllm/model_executor/layers/layernorm.py.",
    ]
    other = tree(tmp_path / "c", {PORT: "5600"}, code="feed")
    assert "the text of one of them is another" in tk("explain", first, other).out


def test_a_key_is_hidden(tk: Tk, tmp_path: Path) -> None:
    pair = [tree(tmp_path / one, {}, VLLM_API_KEY=f"sk-{one}") for one in "ab"]
    ran = tk("explain", *pair)
    assert "Only VLLM_API_KEY differs (…, …); it is in the key and cannot change code." in ran.out
    assert "sk-" not in ran.out + tk("explain", *pair, "--json").out


def test_a_value_that_is_a_secret_is_hidden_whatever_its_name_is(tk: Tk, tmp_path: Path) -> None:
    words = [f"https://user:{one * 12}@host/" for one in "xy"]
    pair = [tree(tmp_path / one[-9], {}, VLLM_PLUGINS=one) for one in words]
    said = tk("explain", *pair).out + tk("explain", *pair, "--json").out
    said += tk("show", pair[0]).out + tk("show", pair[0], "--json").out
    assert "VLLM_PLUGINS" in said
    assert "x" * 12 not in said
    assert "y" * 12 not in said


def test_a_folder_without_keys(tk: Tk, first: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = tk("explain", first, tmp_path / "empty")
    assert ran.code == 1
    assert "has no key of vLLM" in ran.err


def test_a_file_of_variables(tk: Tk, first: Path, tmp_path: Path) -> None:
    file = tmp_path / "pod.env"
    file.write_text(f"{PORT}=5600\nVLLM_HOST_IP=10.0.0.1\n")
    ran = tk("check", tmp_path / "a", "--against", file)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[:2] == ["FOLDER      VERDICT  WHY", f"{first.name}  may hit"]
    assert lines[3:7] == [
        "Known only when vLLM runs:",
        "  config_hash: it is made of the configuration of the server: the model and its options",
        "  code_hash: it is made of the sources that torch traced, with their paths",
        "  compiler_hash: it is made of torch, its settings and the GPU",
    ]
    assert lines[7] == (
        "  what these come to depends on more than variables: "
        "VLLM_DBO_COMM_SMS, VLLM_USE_AOT_COMPILE, VLLM_USE_MEGA_AOT_ARTIFACT"
    )
    assert lines[8] == "1 may hit"
    file.write_text(f"{PORT}=5601\n")
    second = tree(tmp_path / "a", {PORT: "5601"})
    ran = tk("check", tmp_path / "a", "--against", file)
    assert ran.code == 0
    assert (
        f"{first.name}  misses   Only {PORT} differs (5600, 5601); it is in the key and cannot "
        f"change code; it looks for {second.name}, which is there" in ran.out
    )
    ran = tk("check", first, "--against", file)
    assert ran.code == 1
    assert ran.out.splitlines()[-1] == "1 misses"
    (told, last) = tk("check", first, "--against", file, "--json").objects
    assert (told["verdict"], told["looks_for"]) == ("misses", second.name)
    assert last["result"] == {"hits": 0, "misses": 1, "open": 0, "against": str(file)}


def test_what_a_file_leaves_open_is_unknown(tk: Tk, first: Path, tmp_path: Path) -> None:
    file = tmp_path / "pod.env"
    file.write_text(f"{PORT}=5600\nVLLM_USE_DEEP_GEMM=$OTHER\n")
    (told, _) = tk("check", first, "--against", file, "--json").objects
    assert "VLLM_USE_DEEP_GEMM" in told["unknown"]
    manifest = tmp_path / "pod.yaml"
    manifest.write_text(
        "kind: Pod\nspec:\n  containers:\n  - name: vllm\n    env:\n"
        f"    - name: {PORT}\n      value: '5601'\n"
        "    - name: VLLM_USE_DEEP_GEMM\n      valueFrom: {fieldRef: {fieldPath: x}}\n"
    )
    ran = tk("check", first, "--against", manifest, "--json")
    told = ran.objects[0]
    assert (ran.code, [one["factor"] for one in told["factors"]]) == (1, [PORT])
    assert "VLLM_USE_DEEP_GEMM" in told["unknown"]
    script = tmp_path / "start.sh"
    script.write_text(f"export {PORT}=5600\nexport VLLM_USE_DEEP_GEMM=0\nvllm serve m\n")
    told = tk("check", first, "--against", script, "--json").objects[0]
    assert [one["factor"] for one in told["factors"]] == ["VLLM_USE_DEEP_GEMM"]


def test_the_variables_here_and_of_a_process(tk: Tk, first: Path) -> None:
    env = {name: text for name, text in os.environ.items() if name not in hashed()}
    ran = tk("check", first, "--against", "environment", "--json", **{PORT: "5600"})
    assert (ran.code, ran.objects[0]["verdict"]) == (0, "open")
    serves = [sys.executable, "-c", "print('ready', flush=True); input()"]
    with subprocess.Popen(serves, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env={**env, PORT: "5700"}) as server:  # fmt: skip
        assert server.stdout and server.stdout.readline()
        ran = tk("check", first, "--against", server.pid)
        assert ran.code == 1
        assert f"Only {PORT} differs (5600, 5700)" in ran.out
        end(server)
    ran = tk("check", first, "--against", server.pid)
    assert "There is no process" in ran.err


def test_another_folder(tk: Tk, first: Path, tmp_path: Path) -> None:
    same = tree(tmp_path / "b", {PORT: "5600"})
    ran = tk("check", first, "--against", same)
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "1 hits")
    other = tree(tmp_path / "c", {PORT: "1"})
    ran = tk("check", first, "--against", other)
    assert (ran.code, ran.out.splitlines()[-1]) == (1, "1 misses")


def test_a_folder_is_shown(tk: Tk, tmp_path: Path) -> None:
    place = tree(tmp_path, {PORT: "5600"}, ranks=("rank_0_0", "rank_1_0"))
    (place / "rank_1_0" / "backbone" / "artifact_compile_range_16_16_subgraph_0").unlink()
    ran = tk("show", place)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[:5] == [
        f"{place.name}  llama  rank_0_0 and rank_1_0  backbone",
        "config_hash: cafe",
        "code_hash: beef",
        "compiler_hash: c0ffee0000",
        f"{PORT}: 5600",
    ]
    assert [line.split()[:2] for line in lines[5:8]] == [
        ["RANK", "PART"], ["rank_0_0", "backbone"], ["rank_1_0", "backbone"],
    ]  # fmt: skip
    assert "2 for 1 to 8,192, 1 for size 16" in lines[6]
    assert lines[8] == "Only rank_0_0 has artifact_compile_range_16_16_subgraph_0."
    (told,) = tk("show", place, "--json").objects
    assert [row["rank"] for row in told["rows"]] == ["rank_0_0", "rank_1_0"]
    piece = told["rows"][0]["pieces"][0]
    assert (piece["low"], piece["high"], piece["index"]) == (1, 8192, 0)
    renamed = place.rename(place.with_name("mine"))
    assert f"Its factors make another name, {place.name}" in tk("show", renamed).out


@pytest.mark.parametrize("strange", ["ü" * 60_000, '\\"' * 30_000, "\\u0001" * 20_000])
def test_what_a_stranger_wrote_is_told(tk: Tk, first: Path, strange: str) -> None:
    (part,) = first.glob("*/*")
    about = f'{{"env": {{"VLLM_PLUGINS": "{strange}"}}, "config_hash": "\\ud800", "code_hash": 3}}'
    (part / "cache_key_factors.json").write_text(about)
    lines = "".join(f"# File: /ü/{n}{'ü' * 300}.py:1 in f, code: x\n" for n in range(1000))
    graph = (part / "computation_graph.py").read_text()
    (part / "computation_graph.py").write_text(graph + lines)
    for number in range(3000):
        name = f"artifact_compile_range_{number}_{'9' * 9}_subgraph_0"
        (part / name).write_bytes(b"")
    ran = tk("show", first)
    assert (ran.code, ran.err) == (0, "")
    assert max(map(len, ran.out.splitlines())) < 400
    assert tk("show", first, "--json").code == 0


@pytest.mark.parametrize("depth", [500, 900, 940, 970, 100_000])
def test_what_is_deep_is_no_key(tk: Tk, first: Path, depth: int) -> None:
    (part,) = first.glob("*/*")
    text = '{"env": {"VLLM_PLUGINS": ' + "[" * depth + "]" * depth + "}}"
    (part / "cache_key_factors.json").write_text(text)
    for command in (("show", first), ("check", first, "--against", first)):
        ran = tk(*command)
        assert "Traceback" not in ran.err + ran.out
        assert ran.code in (0, 1)


def test_entries_of_a_key_a_rank_and_a_part(tk: Tk, tmp_path: Path) -> None:
    first = tree(tmp_path, {PORT: "5600"}, ranks=("rank_0_0", "rank_1_0"))
    tree(tmp_path, {PORT: "5601"})
    keys = tmp_path / "torch_compile_cache"
    listed = tk("ls", keys, "--json").objects
    assert len(listed) == 12

    def found(text: str) -> int:
        return len(tk("ls", keys, "--filter", text, "--json").objects)

    assert (found(f"vllm:{first.name[:6]}"), found("vllm:rank_1_0"), found("vllm:back")) == (
        8,
        4,
        12,
    )
    assert found(f"vllm:{first.name} vllm:rank_0") == 4
    assert found("-vllm:rank_0_0") == 4
    names = {row["name"] for row in listed}
    key = next(row["key"] for row in listed if row["name"] == "vLLM's graph of llama")
    shown = tk("show", keys, key).out
    assert "model: llama" in shown and "config hash: cafe" in shown
    assert f"key: {key.partition('/')[0]}" in shown.splitlines()
    assert {"piece 0 for sizes 1 to 8192", "piece 0 for size 16", "vLLM's graph of llama"} < names


def test_only_one_place(tk: Tk, first: Path) -> None:
    ran = tk("check", first, first.parent, "--against", "environment")
    assert ran.code == 2
    assert "--against goes with one PLACE" in ran.err


@pytest.mark.slow
def test_the_doctor_names_an_api_key(tk: Tk, tmp_path: Path) -> None:
    place = tree(tmp_path, {}, VLLM_API_KEY="sk-of-nobody-0123")
    ran = tk("doctor", place)
    assert "A secret stands in clear text" in ran.out and "VLLM_API_KEY" in ran.out
    assert "sk-of-nobody" not in ran.out + ran.err
