"""explain and check of vLLM's trees: which factor of a key differs, and who finds what."""

from __future__ import annotations

import os
import shutil
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


def test_a_key_is_one_place_with_its_ranks(tk: Tk, tmp_path: Path) -> None:
    root, ranks = tmp_path / "vllm", ["rank_0_0", "rank_2_0", "rank_10_0"]
    key = tree(root, {}, ranks=ranks)
    (key.parent / "empty").mkdir()
    env = {"VLLM_CACHE_ROOT": str(root), "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    [row] = [x for x in tk("places", "--json", **env).objects if x["reason"] == "vllm"]
    assert (row["path"], sorted(row["ranks"])) == (str(key), sorted(ranks))
    [said] = [x for x in tk("places", **env).out.splitlines() if x.startswith(f"{key} ")]
    assert said.startswith(f"{key}  12 entries, ") and said.endswith("vLLM, 3 ranks")

    def listed(*words: str | Path) -> list[list[str]]:
        return [line.split() for line in tk("ls", *words).out.splitlines()[:-1]]

    head, *rows = listed(key, "--sort", "rank")
    assert head[:3] == ["KIND", "RANK", "KEY"]
    assert [row[1] for row in rows] == [rank for rank in ranks for _ in range(4)]
    assert len({(row[1], row[2]) for row in rows}) == 12, "no two lines say the same"
    # From above, the key is named, too; in a rank there is nothing to say.
    assert {row[1] for row in listed(root)[1:]} == {f"{key.name}/{rank}" for rank in ranks}
    assert listed(key / "rank_0_0")[0][:2] == ["KIND", "KEY"]
    assert listed(root, "--columns", "key,rank")[0] == ["KEY", "RANK"]


def test_entries_of_two_keys_are_explained(tk: Tk, tmp_path: Path) -> None:
    keys = [tree(tmp_path, {PORT: port}, config=one) for port, one in (("1", "aa"), ("2", "bb"))]
    parts = [f"{key.name}/rank_0_0/backbone" for key in keys]
    ran = tk("explain", keys[0].parent, *parts)
    assert ran.code == 0, ran.err
    assert f"2 factors differ: config_hash and {PORT}." in ran.out
    rows = [line.split() for line in ran.out.splitlines()[-2:]]
    assert rows == [["Key", "of", "vLLM", "config_hash", "aa", "bb"], [PORT, "1", "2"]]
    (told,) = tk("explain", keys[0].parent, *parts, "--json").objects
    assert [x["factor"] for x in told["differences"]] == ["config_hash", PORT]
    assert {x["group"] for x in told["differences"]} == {"key"}
    # A secret is nobody's to see, and code of no key tells nothing.
    other = tree(tmp_path, {PORT: "1"}, config="aa", VLLM_API_KEY="hunter2")
    ran = tk("explain", keys[0].parent, parts[0], f"{other.name}/rank_0_0/backbone")
    assert "VLLM_API_KEY" in ran.out and "hunter2" not in ran.out


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
    none = {"open_variables": {}, "unknown_variables": {}, "left": list[str]()}
    about = {"hits": 0, "misses": 1, "open": 0, "against": str(file)}
    assert (told["set"], last["result"]) == ({PORT: "5600"}, {**about, **none})
    assert ran.out.splitlines()[-4:-1] == [
        "", f"To find {first.name}, such a server needs:", f"  {PORT}=5600",
    ]  # fmt: skip
    file.write_text(f"{PORT}=5600\nVLLM_USE_DEEP_GEMM=0\nVLLM_PLUGINS=a\n")
    out = tk("check", first, "--against", file).out
    assert "  unset VLLM_PLUGINS\n  unset VLLM_USE_DEEP_GEMM\n" in out


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


def test_a_folder_that_was_copied_under_another_name_misses(tk: Tk, tmp_path: Path) -> None:
    key = tree(tmp_path, {})
    shutil.copytree(key, other := key.with_name("aaaaaaaaaa"))
    for against in ("environment", key):
        ran = tk("check", other, "--against", against)
        assert (ran.code, ran.err) == (1, "")
        assert f"aaaaaaaaaa  misses   Its factors make another name, {key.name}: vLLM" in ran.out
    (told, _) = tk("check", other, "--against", key, "--json").objects
    assert (told["verdict"], told["factors"], told["named"]) == ("misses", [], key.name)


CONTAINER = "kind: Pod\nspec:\n  containers:\n  - name: other\n    env: [{name: LOG, value: x}]\n"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("pod.yaml", f"{CONTAINER}  - name: vllm\n    envFrom: [{{configMapRef: {{name: c}}}}]\n"
         "    env: [{name: VLLM_HOST_IP, value: x}]\n",
         "  envFrom: c: what is in that ConfigMap is not in the file"),
        ("pod.yaml", f"{CONTAINER}  - name: vllm\n    env:\n    - name: VLLM_USE_DEEP_GEMM\n"
         "      valueFrom: {configMapKeyRef: {name: c, key: d}}\n",
         "  VLLM_USE_DEEP_GEMM: its value comes from a ConfigMap (line 8)"),
        ("pod.env", "VLLM_USE_DEEP_GEMM=$X\n",
         "  VLLM_USE_DEEP_GEMM: it has a $, which some programs read as a variable"),
        ("pod.env", "VLLM_USE_DEEP_GEM=0\n",
         "VLLM_USE_DEEP_GEM: vLLM 0.33.0 has no such variable, so it changes nothing; "
         "VLLM_USE_DEEP_GEMM is one."),
        ("pod.env", "VLLM_MINE=0\n",
         "VLLM_MINE: vLLM 0.33.0 has no such variable; what it changes is not known."),
        ("a.sh", "source b.sh\nvllm serve m\n",
         "  line 1: source b.sh: what that sets is not looked at"),
        ("a.sh", "docker run --rm --env-file b -e VLLM_PORT=1 vllm/vllm m\n",
         "  line 1: --env-file b: what that sets is not looked at"),
        ("a.sh", "export VLLM_USE_DEEP_GEMM=0\ndocker run -e VLLM_PORT=1 vllm/vllm m\n",
         "  VLLM_USE_DEEP_GEMM: the container is not told of it (line 1)"),
        ("a.sh", "docker run -e VLLM_USE_DEEP_GEMM=0 a\ndocker run -e VLLM_USE_DEEP_GEMM=1 a\n",
         "  VLLM_USE_DEEP_GEMM: two containers have different values of it (line 2)"),
        ("a.sh", "if x; then export VLLM_USE_DEEP_GEMM=0; fi\n",
         "  VLLM_USE_DEEP_GEMM: whether it is set depends on a condition (line 1)"),
        ("a.sh", "export VLLM_USE_DEEP_GEMM\n",
         "  VLLM_USE_DEEP_GEMM: the script has only its name, and no value (line 1)"),
    ],
)  # fmt: skip
def test_what_is_left_open_is_said(tk: Tk, tmp_path: Path, name: str, text: str, said: str) -> None:
    key = tree(tmp_path, {})
    file = tmp_path / name
    file.write_text(text)
    ran = tk("check", key, "--against", file)
    assert (ran.code, ran.err) == (0, "")
    assert any(line.startswith(said) for line in ran.out.splitlines()), ran.out
    (*_, last) = tk("check", key, "--against", file, "--json").objects
    about = last["result"]
    assert about["open_variables"] or about["unknown_variables"]


def test_a_variable_that_a_file_may_set_elsewhere_is_no_miss(tk: Tk, tmp_path: Path) -> None:
    key = tree(tmp_path, {"VLLM_USE_DEEP_GEMM": "0"})
    (file := tmp_path / "a.sh").write_text("source b.sh\nvllm serve m\n")
    (told, _) = tk("check", key, "--against", file, "--json").objects
    assert (told["verdict"], told["factors"]) == ("open", [])
    assert "VLLM_USE_DEEP_GEMM" in told["unknown"]


@pytest.mark.parametrize(
    "line",
    [
        "docker run --rm -it --gpus all -e VLLM_USE_DEEP_GEMM=0 vllm/vllm-openai:v1 --model m",
        "sudo docker run -d --env 'VLLM_USE_DEEP_GEMM=0' a -e VLLM_USE_DEEP_GEMM=1",
        "podman run --env=VLLM_USE_DEEP_GEMM=0 a",
        "exec nerdctl run -eVLLM_USE_DEEP_GEMM=0 a",
        "export VLLM_USE_DEEP_GEMM=0\ndocker run -e VLLM_USE_DEEP_GEMM a",
    ],
)
def test_what_a_container_is_told(tk: Tk, tmp_path: Path, line: str) -> None:
    key = tree(tmp_path, {})
    (file := tmp_path / "start.sh").write_text(f"{line}\n")
    (told, last) = tk("check", key, "--against", file, "--json").objects
    assert [one["factor"] for one in told["factors"]] == ["VLLM_USE_DEEP_GEMM"]
    assert last["result"]["open_variables"] == {}


def test_a_rank_whose_factors_are_damaged(tk: Tk, tmp_path: Path) -> None:
    key = tree(tmp_path, {}, ranks=("rank_0_0", "rank_1_0"))
    path = "rank_1_0/backbone/cache_key_factors.json"
    (key / path).write_text('{"env": ')
    ran = tk("check", key, "--against", "environment")
    assert ran.code == 4
    assert f"left: {path}: Nobody can tell who finds what lies beside it." in ran.err
    (_, last) = tk("check", key, "--against", "environment", "--json").objects
    assert [one["path"] for one in last["result"]["left"]] == [path]
    assert f"left: {path}" in tk("show", key).err
    shutil.rmtree(key / "rank_0_0")
    ran = tk("check", key, "--against", "environment")
    assert ran.code == 1 and f"left: {path}" in ran.err


@pytest.mark.parametrize("named", [".env", "pod.env", "pod.yaml", "start.sh", "Dockerfile"])
def test_a_file_that_is_not_there(tk: Tk, first: Path, named: str) -> None:
    ran = tk("check", first, "--against", named)
    assert ran.code == 3
    assert f"{named} cannot be read." in ran.err and "No such file" in ran.err


def test_folders_by_their_names_alone(
    tk: Tk, first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = tree(tmp_path / "a", {PORT: "5601"})
    monkeypatch.chdir(first.parent)
    ran = tk("explain", first.name, second.name)
    assert (ran.code, ran.err) == (0, "")
    assert f"Only {PORT} differs (5600, 5601)" in ran.out
    ran = tk("check", first.name, "--against", second.name)
    assert (ran.code, ran.err) == (1, "")


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


def test_vllms_own_files_are_not_counted_as_unusable(tk: Tk, first: Path) -> None:
    rank = first / "rank_0_0"
    ran = tk("overview", rank)
    assert "usable" not in ran.out.splitlines()[-1] and "0 of" not in ran.out
    assert f"torchkeeper check {rank} --against environment" in ran.err
    ran = tk("check", first)
    assert f"torchkeeper check {first} --against environment" in ran.err


def test_a_key_alone_is_carried_to_where_a_server_looks(
    tk: Tk, first: Path, tmp_path: Path
) -> None:
    shutil.rmtree(first.parent / "other", ignore_errors=True)
    bundle, there = tmp_path / "b.torchcache", tmp_path / "there" / "torch_compile_cache"
    ran = tk("export", first, "-o", bundle, "--json")
    assert ran.code == 0 and ran.result["entries"] == 4, ran
    assert tk("import", bundle, "--into", there, "--trust").code == 0
    assert tk("copy", first, tmp_path / "copied").code == 0
    paths = {row["path"] for row in tk("ls", first.parent, "--json").objects if "path" in row}
    for place in (there, tmp_path / "copied"):
        rows = tk("ls", place, "--json").objects
        assert {row["path"] for row in rows if "path" in row} == paths
        assert tk("check", place, "--against", first).code == 0


def test_of_a_rank_alone_any_cache_is_made_without_what_vllm_keeps(tk: Tk, first: Path) -> None:
    ran = tk("export", first / "rank_0_0", "-o", first.parent / "b")
    assert "name the folder of all its keys, torch_compile_cache" in ran.err


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
