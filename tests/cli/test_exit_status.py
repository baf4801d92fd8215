"""Each exit status of the contract comes about, and all who tell of them read the same table."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.cli.test_recover import cut_off
from tests.pace import LONG
from tests.redis_server import dump, serving
from torchkeeper.artifacts.entry import VERDICTS
from torchkeeper.cli import contract
from torchkeeper.cli.commands import COMMANDS
from torchkeeper.cli.main import parser_of
from torchkeeper.client.profiles import keeping
from torchkeeper.client.profiles.profile import Profile

#: Files that the commands below read.
TEXTS = {
    "warned.env": "TORCHINDUCTOR_FX_GRAPH_CACHE=maybe\n",
    "wrong.env": "TORCHINDUCTOR_FORCE_DISABLE_CACHES=1\n",
    "fails.toml": '[[script]]\ncommand = ["false"]\n',
    "faulty.toml": "[[script]]\ncolour = 1\n",
}
#: By the name of a status: words of commands that end so, in this order. {cache} is a cache of
#: torch 2.9.1; {bad} the same with a damaged graph, and one that is open; {locked} one with a link
#: in the place of its graphs; {gone} one whose graphs are in the trash, with a file where one was;
#: {copy} a copy of one where something was cut off, {both} one where that is so as well; {empty}
#: an empty folder, and {new} is not there yet. {bundle} has all of {cache}, and {damaged} an object
#: that was changed. {url} is a server, and {some} that for one who may not change all of it.
#: {python} is us, and {bare} a Python without torch.
CASES: dict[contract.Name, tuple[str, ...]] = {
    "done": (
        "ls {cache}", "ls {cache} --filter no-such-name", "ls {empty}", "du {empty}", "runs",
        "jobs", "trash {cache}", "purge {cache} --yes --filter no-such-name",
        "recover {cache}", "export {cache} -o {new} --allow-secrets",
        "copy {cache} {new} --dry-run --allow-secrets",
    ),
    "no": (
        "show {cache} no-such-key", "export {empty} -o {new}",
        "export {cache} -o {new}",  # it holds secrets
        "copy {empty} {new}", "copy {cache} {new}.torchcache", "undo {cache}",
        "check {cache} --fail-on usable,stale", "explain {cache} f3jp4pg",
        "explain --trace {empty}", "recover {copy}", "runs no-such-run", "jobs no-such-job",
        "config show no-such", "config check no-such", "config export no-such --format sh",
        "config remove no-such", "config copy no-such q", "config rename no-such q",
        "recipe check {tmp}/faulty.toml", "recipe new callable {tmp}/faulty.toml",
        "recipe remove {new}.toml", "inspect {damaged}",
        "warm {tmp}/fails.toml --into {new} --env {python}", "verify {empty} --env {python}",
        "env --env {bare}", "env --remove {bare}", "prepare --env {bare}",
        "ttl {some} 30d --filter kind:pgo",
    ),
    "usage": (
        "ls", "ls {cache} --filter kind:nonsense", "recipe show /nowhere", "recipe check /nowhere",
        "warm /nowhere --into {new}", "verify {cache} --recipe /nowhere", "signers remove nobody",
        "sign {bundle} --key /nowhere", "signers add me /nowhere",
        "check {cache} --fail-on nonsense", "purge {cache}",
        "warm --into {new} --on http://me:secret@127.0.0.1",
    ),
    "unreachable": (
        "ls /nowhere", "du /nowhere", "overview /nowhere", "show /nowhere x", "check /nowhere",
        "check {cache} --env /nowhere", "explain /nowhere x", "explain --trace /nowhere",
        "inspect /nowhere", "export /nowhere -o {new}", "import /nowhere --into {new} --trust",
        "copy /nowhere {new}", "sign /nowhere --key {tmp}/key", "purge /nowhere --yes",
        "undo /nowhere", "trash /nowhere", "recover /nowhere", "server redis://localhost:1",
        "ttl redis://localhost:1 1d", "doctor /nowhere", "verify /nowhere",
        "warm --into {new} --env /nowhere", "prepare --env /nowhere", "env --env /nowhere",
        "env --add /nowhere", "run --env /nowhere -- x.py",
        "config check /nowhere/x.env", "config show --env /nowhere", "config show --pid 4194304",
        "config import /nowhere --name x", "warm --into {new} --on http://127.0.0.1:1",
    ),
    "partly": (
        "ls {cache} /nowhere", "du {cache} /nowhere", "overview {cache} /nowhere",
        "check {cache} /nowhere", "export {bad} -o {new} --allow-secrets",
        "export {bad} -o {new} --allow-secrets --dry-run", "copy {bad} {new} --allow-secrets",
        "import {bundle} --into {locked} --trust", "purge {bad} --yes", "undo {gone}",
        "recover {both}", "doctor {url} --env {bare}", "ttl {some} 30d",
        "warm {tmp}/half.toml --into {new} --env {python}", "config list",
        "config check {tmp}/warned.env", "install-desktop --prefix {tmp}/desktop",
    ),
    "errors": ("config check {tmp}/wrong.env", "doctor redis://localhost:1 --env {bare}"),
}  # fmt: skip


#: Each command, or each part of one.
LEAVES = [one.prog.removeprefix("torchkeeper ") for name in COMMANDS if name != "help"
          for one in parser_of(name).every() if not one._commands()]  # fmt: skip


@pytest.fixture
def things(
    tk: Tk, kept_291: Path, fixture_cache: Path, recorded: Path, bare_python: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[dict[str, object]]:  # fmt: skip
    """What the cases are about, by its name there."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    graph, *graphs = [p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file()]
    graph.write_bytes(b"x")
    for name in ("empty", "desktop/share/metainfo", "profiles"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "desktop/share/metainfo/torchkeeper.metainfo.xml").write_text("<component/>")
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True)
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    does = 'cp "$0"/* "$TORCH_TRACE"; cp -r "$1"/. "$TORCHINDUCTOR_CACHE_DIR"'
    script = ["sh", "-c", does, str(recorded / "dtype"), str(recorded / "cache")]
    half = f"{TEXTS['fails.toml']}[[script]]\ncommand = {json.dumps(script)}\n"
    (tmp_path / "half.toml").write_text(half)
    gone = Path(shutil.copytree(kept_291, tmp_path / "gone"))
    assert tk("purge", gone, "--yes", "--filter", "kind:fxgraph").code == 0
    back = gone / graph.relative_to(fixture_cache)
    back.parent.mkdir(parents=True, exist_ok=True)
    back.write_bytes(b"of somebody else")
    keeping.save(Profile("whole", {"TORCHINDUCTOR_FX_GRAPH_CACHE": "1"}))
    Path(keeping.folder(), "damaged.toml").write_text("x")
    bundle, damaged = tmp_path / "b.torchcache", tmp_path / "damaged.torchcache"
    assert tk("export", kept_291, "-o", bundle, "--allow-secrets").code == 0
    with zipfile.ZipFile(bundle) as whole, zipfile.ZipFile(damaged, "w") as less:
        changed = next(name for name in whole.namelist() if name.endswith(".so"))
        for name in whole.namelist():
            less.writestr(name, b"x" if name == changed else whole.read(name))
    locked = tmp_path / "locked"
    locked.mkdir()
    (locked / "fxgraph").symlink_to(tmp_path / "empty")
    cut = Path(shutil.copytree(kept_291, tmp_path / "cut"))
    cut_off(cut)
    copies = [Path(shutil.copytree(cut, tmp_path / name)) for name in ("copy", "both")]
    cut_off(copies[1])
    with serving(tmp_path / "server") as server, graphs[0].open():
        server.load(dump())
        server("CONFIG", "SET", "maxmemory", "1gb")
        server("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
        server("ACL", "SETUSER", "some", "on", ">pass", "+@all", "%R~*", "%RW~*fx-graph*")
        yield {
            "cache": kept_291, "bad": fixture_cache, "python": sys.executable, "bare": bare_python,
            "tmp": tmp_path, "empty": tmp_path / "empty", "bundle": bundle, "damaged": damaged,
            "locked": locked, "copy": copies[0], "both": copies[1], "gone": gone, "url": server.url,
            "some": f"redis://some:pass@127.0.0.1:{server.port}",
        }  # fmt: skip


def test_commands_end_with_their_status(tk: Tk, things: dict[str, object], tmp_path: Path) -> None:
    wrong = []
    every = [(name, words) for name, some in CASES.items() for words in some]
    for number, (name, words) in enumerate(every):
        things["new"] = tmp_path / f"new{number}"
        ran = tk(*(word.format(**things) for word in words.split()), cwd=tmp_path)
        if ran.code != contract.number(name):
            wrong.append(f"{words}: {ran.code}: {ran.err[:200]}")
    assert wrong == []


def test_each_command_ends_with_2(tk: Tk) -> None:
    for words in LEAVES:
        ran = tk(*words.split(), "--no-such-option")
        assert (ran.code, ran.out) == (contract.USAGE, ""), words


def test_a_cluster_that_cannot_be_asked_ends_a_command_with_3(tk: Tk, tmp_path: Path) -> None:
    ran = tk("warm", "--on", "slurm", "--into", tmp_path / "place", PATH="/nowhere")
    assert (ran.code, ran.out) == (contract.UNREACHABLE, "")
    assert "Slurm’s commands are not on this machine." in ran.err
    assert "login node" in ran.err
    assert not (tmp_path / "place").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_command_with_its_number(number: signal.Signals) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        command = [sys.executable, "-m", "torchkeeper", "server", "--json"]
        command.append(f"redis://127.0.0.1:{silent.getsockname()[1]}")
        with subprocess.Popen(command, stdout=subprocess.PIPE) as waits, silent.accept()[0]:
            waits.send_signal(number)
            out, _ = waits.communicate(timeout=LONG)
        assert waits.returncode == contract.SIGNAL + number
    assert json.loads(out)["error"]["code"] == "cancelled"


def test_every_status_has_a_case() -> None:
    assert set(CASES) == {one.name for one in contract.EXITS}
    assert [one.number for one in contract.EXITS] == list(range(6))
    shown = {
        (command, contract.number(name))
        for name, cases in CASES.items()
        for words in cases
        for command in LEAVES
        if f"{words} ".startswith(f"{command} ")
    }
    beyond = {(name, number) for name, numbers in contract.BEYOND.items() for number in numbers}
    # Of several machines: tests/ssh/test_several.py; of several nodes: tests/cli/test_fleet.py.
    fleets = ("fleet nodes", "fleet run", "fleet status")
    shown |= {(name, contract.PARTLY) for name in ("places", *fleets)}
    assert {one for one in shown if one[1] > contract.UNREACHABLE} == beyond


def test_the_problems_that_end_a_command_are_known() -> None:
    app = Path(contract.__file__).parents[1]
    sources = [path for path in app.rglob("*.py") if path != Path(contract.__file__)]
    said = "".join(path.read_text(encoding="utf-8") for path in sources)
    named = [code for one in contract.EXITS for code in one.problems]
    for code in named:
        assert f'"{code}' in said if code.endswith("-") else f'"{code}"' in said, code
    assert len(named) == len(set(named))


def test_help_has_the_table(tk: Tk) -> None:
    ran = tk("help", "exit-status")
    assert (ran.code, ran.out.splitlines()) == (0, contract.lines())
    assert all(len(line) <= 80 for line in ran.out.splitlines())
    for name in ("export", "doctor"):
        said = " ".join(tk(name, "--help").out.replace("-\n", "-").split())
        assert contract.beyond(name) in said
    commands = {name.split()[0] for name in contract.BEYOND}
    assert commands <= set(COMMANDS)
    assert set(VERDICTS) <= set(
        tk("check", "--help").out.replace(",", " ").replace(";", " ").split()
    )
