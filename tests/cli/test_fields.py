"""What commands print as JSON is what is documented, field by field, and all of that is printed."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.cli.test_recover import cut_off
from tests.conftest import DATA, SlowDisk
from tests.fields import ERROR, PRINTED, documented, printed, unfit
from tests.processes import end
from tests.redis_server import dump, serving
from tests.vllm import tree
from tests.warm.test_trace import lookup, record, written
from torchkeeper.cli import contract
from torchkeeper.cli.commands import COMMANDS
from torchkeeper.cli.main import parser_of
from torchkeeper.client.kept import history
from torchkeeper.client.kept.history import Past, Running

#: Commands of which the fields are printed together, in this order, and what each ends with where
#: that is not 0. {cache} is a cache of torch
#: 2.9.1; {own} the same with all that can be wrong with one; {rec} one with recorded traces in
#: {traces}; {python} is us, and {replay} a program that leaves the traces in folders.
GROUPS: dict[str, tuple[str, ...]] = {
    "look": (
        "places", "places --protect {cache}", "places --unprotect {cache}",
        "ls {cache}", "ls {cache} --filter kind:nonsense => 2", "ls {cache} {open}", "ls {url}",
        "du {open}", "du {url}", "du {cache} {url}", "du {cache} {open} --filter kind:fxgraph",
        "show {cache} f3jp4pg", "show {url} f3jp4pg",
        "check {cache} --filter kind:fxgraph", "check {open} {cache}", "check {wide}",
        "overview {cache} {own}", "overview {url} --facts",
        "explain {cache} f3jp4pg => 1", "explain {cache} f3jp4pg --nearest",
        "explain {cache} a5iw --nearest",
        "explain {rec} --trace {traces}/shape", "explain --trace {strange}",
        "explain {vllm} {pod}", "show {vllm}", "check {vllm} --against {pod} => 1",
        "env", "env --add {broken} => 1", "env --remove {broken}",
        "run --into {rec} -- {python} {replay} {traces}/dtype",
        "run --recipe {tmp}/run.toml --into {rec} -- {python} {replay} {traces}/dtype",
        "runs", "runs last", "runs all --forget", "jobs", "jobs last", "jobs all --forget",
        "server {url}", "ttl {url} 30d", "doctor {url} redis://localhost:1 => 5",
    ),
    "carry": (
        "export {cache} -o {tmp}/b --dry-run --allow-secrets", "export {cache} -o {tmp}/b => 1",
        "export {cache} -o {tmp}/b --allow-secrets --sign {key}",
        "export {own} -o {tmp}/own --redact => 4", "inspect {tmp}/b", "inspect {package}",
        "import {tmp}/b --into {tmp}/new --dry-run", "import {tmp}/b --into {tmp}/new => 2",
        "import {tmp}/b --into {tmp}/new --trust", "import {tmp}/b {tmp}/own --into {own} --trust",
        "import {tmp}/own --into-each --dry-run",
        "copy {own} {url} --allow-secrets", "copy {cache} {tmp}/c1.torchcache => 1",
        "copy {own} {tmp}/c2 --dry-run",
        "purge {own} --dry-run --keep 1k => 4", "purge {own} --suggest", "purge {url} --suggest",
        "purge {url} --dry-run --broken",
        "purge {own} --yes --filter kind:fxgraph => 4", "purge {url} --yes", "trash {own}",
        "undo {own}", "trash {own} --empty --yes", "recover {cut}",
        "sign {tmp}/b --key {key}", "signers add me {key}.pub", "signers list",
        "signers remove me", "signers require off",
    ),
    "set": (
        "config set p TORCHINDUCTOR_FX_GRAPH_CACHE=maybe", "config list", "config show p",
        "config check p => 4", "config settings", "config export p --format sh", "config copy p q",
        "config rename q r", "config remove r", "config import {tmp}/vars.env --name v",
        "config processes --all", "config show --pid {pid}",
        "recipe new callable {tmp}/m.toml", "recipe check {tmp}/m.toml {tmp}/wrong.toml => 1",
        "recipe add {tmp}/m.toml", "recipe add {tmp}/one.toml", "recipe list",
        "recipe remove {tmp}/one.toml", "recipe show {tmp}/m.toml",
        "warm {tmp}/one.toml --into {tmp}/w --env {python} --dry-run",
        "warm {tmp}/one.toml --into {tmp}/w --env {python} --publish {url} --bundle {tmp}/wb",
        "warm {tmp}/fails.toml --into {tmp}/w --env {python} => 1",
        "warm {tmp}/secret.toml --into {tmp}/s --env {python} --bundle {tmp}/sb => 4",
        "install-desktop --prefix {tmp}/share --dry-run",
        "hosts add gpu1 --group gpus", "hosts list", "hosts remove gpu1",
    ),
    # For these torch is started, and compiles.
    "compile": (
        "config show --env {python}", "prepare --env {torch}", "env --env {torch}",
        "export {filled} -o {tmp}/filled", "inspect {tmp}/filled",
        "doctor {own} --env {torch} --fix --dry-run => 4",
        "run --recipe {tmp}/new.toml --into {tmp}/new -- {torch} {tmp}/program.py",
        "warm {tmp}/kernels.toml --into {tmp}/k --env {torch}",
        "warm {tmp}/kernels.toml --into {tmp}/f --env {torch} --on local --state {tmp}/st",
        "warm {tmp}/kernels.toml --into {tmp}/f --env {torch} --on local --state {tmp}/st --prove",
        "warm {tmp}/kernels.toml --into pvc:c --on kubernetes:cpu --image i:1 --dry-run",
        "fleet new {tmp}/new.fleet", "fleet nodes local --env {torch}",
        "fleet run {tmp}/fleet.toml", "fleet status {tmp}/fleet.toml",
        "verify {tmp}/k --recipe {tmp}/kernels.toml --recipe {tmp}/one.toml --env {torch} => 1",
    ),
}  # fmt: skip
#: How begins what a group has printed elsewhere: by another group, or by a test of its own.
ELSEWHERE: dict[str, tuple[str, ...]] = {
    "look": (
        "LeftFinding.",
        "RecipeProof.",
        "doctor, with --fix",
        "Autograd.",
        "Found.",
        "Uncached.",
        "WarmedVariant.",
    ),
    "carry": ("Builder.",),
    "set": ("Found.", "LeftFinding.", "config show, with --env: the last", "warm, with --on"),
}
#: What a test of its own prints: a disk fails, a GPU is asked, and several machines are (ssh).
#: Only root gives files away, and sees all processes.
ALONE = {"places, each place.problem", "Device.memory", "Device.warp"}
ALONE |= {
    "doctor, each finding; of several machines also with the machine.machine",
    "doctor, with --fix: each fix; of several machines also with the machine.machine",
}
ALONE |= {"Owners.owners", "Owners.users"} if os.geteuid() else set()
ALONE |= {f"Unseen.{name}" for name in ("pid", "name", "user")}
#: tests/gui/test_programs.py: a compile, whose trace says what the program calls an input.
ALONE.add("FactorTold.called")
#: tests/cli/test_shared.py: a file system that other machines may use, too.
ALONE |= {one for one in documented("purge") if one.endswith(".shared")}
#: tests/cli/test_fleet.py: a cell fails, or no node can do it.
ALONE |= {
    f"{line}, {'with --on: ' if line == 'warm' else ''}each cell.{name}"
    for line in ("warm", "fleet run")
    for name in ("problem", "log")
}
#: tests/fleet/test_hostile.py: what an engine of a fleet tells, and no command prints of a warm-up.
ALONE.add("WarmedVariant.made")
#: tests/cli/test_vllm.py: a key of vLLM's.
ALONE.add("places, each place.ranks")
#: tests/stores/test_sglang.py: a folder of SGLang's.
ALONE |= {"check, last.sglang", "SglangFolders.looks_for", "SglangFolders.there"}
#: tests/ssh/test_jobs.py
_THERE = ("jobs, with --follow", "jobs, with --end")
ALONE |= {one for one in documented("jobs") if one.startswith(_THERE)}

#: Leaves the traces that are in folders where PyTorch would write them.
REPLAY = """
import os, shutil, sys
os.makedirs(os.environ["TORCH_TRACE"], exist_ok=True)
for folder in sys.argv[1:]:
    for name in os.listdir(folder):
        shutil.copy(os.path.join(folder, name), os.environ["TORCH_TRACE"])
"""
#: Fills a cache with a folder, and leaves a trace.
FILL = """\
[[script]]
command = [
    "sh", "-c", 'cp -r "$0"/. "$TORCHINDUCTOR_CACHE_DIR"; cp "$1"/* "$TORCH_TRACE"', '{}', '{}'
]
"""
#: Compiles what has a name, and a kernel for a GPU that is elsewhere.
PROGRAM = """
import torch
def product(x, y):
    return x @ y
if __name__ == "__main__":
    torch.compile(product)(torch.rand(4, 4), torch.rand(4, 4))
"""
KERNELS = """\
[[triton]]
kernel = 'recipe_kernels.py:tuned'
targets = ['cuda:90']
signature = { x = '*fp32:16', n = 'i32' }
constants = { scale = 2 }
"""
#: Sets a setting in code, has a file of a cache open, and waits.
SERVE = """
import os, sys
os.environ["TORCHINDUCTOR_FX_GRAPH_CACHE"] = "0"
if len(sys.argv) > 2:
    os.environ["TORCHINDUCTOR_FX_GRAPH_CACHE"] = "1"
opened = open(sys.argv[1])
print("ready", flush=True)
input()
"""


@pytest.fixture
def places(
    kept_291: Path, fixture_cache: Path, recorded: Path, kept_forms: Path, among: Path,
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> Iterator[dict[str, object]]:  # fmt: skip
    """What the commands are about, by its name in GROUPS."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    graph, *graphs = sorted(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file())
    graph.write_bytes(b"x")
    # Others can change a folder, one above it, and have files in it.
    shutil.copytree(kept_291, among / "open")
    built, other = sorted(fixture_cache.rglob("*.main.so"))[:2]
    built.write_bytes(other.read_bytes())
    (among / "open").chmod(0o777)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(among / "open"))  # which “places” finds
    shutil.copytree(kept_291, among / "wide" / "cache")
    (among / "wide").chmod(0o777)
    if os.geteuid() == 0:
        os.chown(next((among / "open" / "fxgraph").glob("*/*/*")), 1, 1)
    cut_off(Path(shutil.copytree(kept_291, tmp_path / "cut")))
    # A torch that cannot be imported, in an environment that nobody has started yet.
    project = among / "project"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", project / ".venv"], check=True)
    (packages,) = project.glob(".venv/lib/python*/site-packages")
    (packages / "torch").mkdir()
    (packages / "torch" / "__init__.py").write_text("raise ImportError('libtorch.so')")
    (packages / "torch" / "version.py").touch()
    (packages / "torch").chmod(0o777)
    failed = {"fail_type": "InductorError", "fail_reason": "CppCompileError: C++"}
    metrics = {"compilation_metrics": failed, "frame_id": 0, "frame_compile_id": 0}
    strange = written(tmp_path / "strange", lookup("miss", "aotautograd", key="a" * 52),
                      record(metrics),
                      lookup("bypass", frame=2, cache_bypass_reason="a custom pass"))  # fmt: skip
    (tmp_path / "replay.py").write_text(REPLAY)
    (tmp_path / "serve.py").write_text(SERVE)
    (tmp_path / "vars.env").write_text("TORCHINDUCTOR_FX_GRAPH_CACHE=1\nHOME_OF=me\n")
    (tmp_path / "wrong.toml").write_text("[[script]]\ncolour = 1\n")
    (tmp_path / "one.toml").write_text(FILL.format(recorded / "cache", recorded / "dtype"))
    (tmp_path / "other.toml").write_text(FILL.format(recorded / "cache", strange))
    (tmp_path / "secret.toml").write_text(FILL.format(kept_291, strange))
    (tmp_path / "fails.toml").write_text('[[script]]\ncommand = ["sh", "-c", "echo no; exit 3"]\n')
    history.keep([Past("a", "export", "Export", "", "done", True, 998.0, 1000.0, "33", ("It.",),
                       (("From", "/c"),), "/o", True, None, ("a line",))])  # fmt: skip
    board = history.Board()
    board.tell([Running("z", "warm", "Warm", "/c", "running", 1.0, 0.5, "7", os.getpid(), True)])
    board.write()
    code = next(kept_291.glob("??/*.py"))
    using = [sys.executable, "serve.py", str(code)]
    with (
        serving(tmp_path / "server") as server,
        subprocess.Popen(using, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                         cwd=tmp_path) as serves,
        graphs[0].open(),
    ):  # fmt: skip
        server.load(dump())
        server.load({"sessions:ada": b"not ours"})
        # Too large to be looked into for what it needs.
        some = next(key for key in dump() if "autograd" in key)
        server.load({some.replace("::a5", "::a6"): bytes(9 << 20)})
        assert serves.stdout and serves.stdout.readline()
        yield {
            "cache": kept_291, "own": fixture_cache, "rec": recorded / "cache", "traces": recorded,
            "python": sys.executable, "replay": tmp_path / "replay.py", "open": among / "open",
            "wide": among / "wide" / "cache", "url": server.url, "strange": strange, "key": key,
            "tmp": tmp_path, "cut": tmp_path / "cut", "pid": serves.pid,
            "vllm": tree(tmp_path / "vllm", {}), "pod": tree(tmp_path / "pod", {}, "beef"),
            "package": kept_forms / "model.pt2",
            "project": project, "broken": project / ".venv" / "bin" / "python",
        }  # fmt: skip
        end(serves)
    board.tell([])
    board.write()


def test_each_command_with_json_is_documented() -> None:
    every = [one for name in COMMANDS if name != "help" for one in parser_of(name).every()]
    found = {one.prog.removeprefix("torchkeeper ") for one in every
             if "--json" in one.format_usage() and not one._commands()}  # fmt: skip
    assert found == set(PRINTED)


def demanded(group: str) -> set[str]:
    """The fields that the commands of a group have to print; of those that compile, all others."""
    if group == "compile":
        others = [demanded(other) for other in GROUPS if other != group]
        return set[str]().union(*map(documented, PRINTED)).difference(ALONE, *others)
    every = set[str]().union(*(documented(command_of(words)) for words in GROUPS[group]))
    return {one for one in every - ALONE if not one.startswith(ELSEWHERE[group])}


def command_of(words: str) -> str:
    return max((one for one in PRINTED if f"{words} ".startswith(f"{one} ")), key=len)


def shown(tk: Tk, group: str, places: dict[str, object], **env: str) -> set[str]:
    """The fields that the commands of a group print."""
    found = set[str]()
    for words in GROUPS[group]:
        said, _, status = words.partition(" => ")
        typed = [word.format(**places) for word in said.split()]
        at = typed.index("--") if "--" in typed else len(typed)
        ran = tk(*typed[:at], "--json", *typed[at:], cwd=str(places["project"]), **env)
        assert ran.code == int(status or 0), f"{words}: {ran.code} {ran.err}"
        found |= printed(ran.out)
    return found


@pytest.mark.parametrize("group", [one for one in GROUPS if one != "compile"])
def test_what_is_documented_is_printed(tk: Tk, group: str, places: dict[str, object]) -> None:
    assert demanded(group) - shown(tk, group, places) == set()


@pytest.mark.slow
@pytest.mark.torch
def test_what_is_documented_of_compiling_is_printed(
    tk: Tk, places: dict[str, object], filled: Path, header_folder: Path, torch_python: str,
    tmp_path: Path,
) -> None:  # fmt: skip
    shutil.copy(DATA / "recipe_kernels.py", tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "kernels.toml").write_text(KERNELS)
    (tmp_path / "fleet.toml").write_text(
        'recipes = "kernels.toml"\non = "local"\ninto = "f"\nstate = "st"\n'
        f'prove = true\npython = "{torch_python}"\n'
    )
    places |= {"torch": torch_python, "filled": filled}
    env = {"TMPDIR": str(header_folder)}
    assert demanded("compile") - shown(tk, "compile", places, **env) == set()


def test_a_place_that_cannot_be_read_is_printed(
    tk: Tk, fixture_cache: Path, slow_disk: SlowDisk
) -> None:
    slow_disk.below(fixture_cache)
    slow_disk.fail(errno.EIO)
    ran = tk("places", "--json", TORCHINDUCTOR_CACHE_DIR=str(fixture_cache))
    assert "places, each place.problem" in printed(ran.out)
    assert ran.objects[0]["problem"] == "place-unreadable"


@pytest.mark.gpu
@pytest.mark.torch
def test_a_gpu_is_printed(tk: Tk, gpu: str, torch_python: str) -> None:
    assert {"Device.memory", "Device.warp"} <= printed(
        tk("env", "--env", torch_python, "--json").out
    )


def test_what_ends_a_command_is_printed(tk: Tk) -> None:
    for words in (["ls", "/nowhere"], ["ls"], ["config", "show", "no-such"], ["runs", "no-such"]):
        ran = tk(*words, "--json")
        error = ran.objects[-1]["error"]
        assert ran.code != contract.DONE
        assert all(error[name] for name in ("code", "what"))
        assert unfit(ERROR, error) == []
    assert tk("ls", "/nowhere", "--json").objects[-1]["error"] == {
        "code": "place-missing",
        "what": "There is no folder /nowhere.",
        "why": "It was removed, or the path is mistyped.",
        "remedy": "Check the path; “torchkeeper places” lists the caches of this machine.",
    }
