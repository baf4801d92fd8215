"""Each exit status of the contract comes about, and all who tell of them read the same table."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.pace import LONG
from torchkeeper.artifacts.entry import VERDICTS
from torchkeeper.cli import contract
from torchkeeper.cli.commands import COMMANDS

#: By the name of a status: words of commands that end so. {cache} is a cache of torch 2.9.1, {bad}
#: the same with a damaged graph, {new} is not there yet, {empty} an empty folder, {warned} settings
#: with a warning, {wrong} some with an error.
CASES = (
    ("done", "ls {cache}"),
    ("done", "ls {cache} --filter no-such-name"),
    ("done", "ls {empty}"),
    ("done", "du {empty}"),
    ("done", "runs"),
    ("done", "jobs"),
    ("done", "config list"),
    ("done", "trash {cache}"),
    ("done", "purge {cache} --yes --filter no-such-name"),
    ("done", "recover {cache}"),
    ("done", "export {cache} -o {new} --allow-secrets"),
    ("done", "copy {cache} {new} --dry-run --allow-secrets"),
    ("no", "show {cache} no-such-key"),
    ("no", "export {empty} -o {new}"),
    ("no", "export {cache} -o {new}"),  # it holds secrets
    ("no", "undo {cache}"),
    ("no", "check {cache} --fail-on usable,stale"),
    ("no", "runs no-such-run"),
    ("usage", "ls"),
    ("usage", "ls {cache} --filter kind:nonsense"),
    ("usage", "check {cache} --fail-on nonsense"),
    ("usage", "purge {cache}"),
    ("unreachable", "ls /nowhere"),
    ("unreachable", "check {cache} --env /nowhere"),
    ("unreachable", "server redis://localhost:1"),
    ("partly", "export {bad} -o {new} --allow-secrets"),
    ("partly", "export {bad} -o {new} --allow-secrets --dry-run"),
    ("partly", "copy {bad} {new} --allow-secrets"),
    ("partly", "config check {warned}"),
    ("errors", "config check {wrong}"),
)


@pytest.mark.parametrize(("name", "words"), CASES)
def test_a_command_ends_with_its_status(
    tk: Tk, name: contract.Name, words: str, kept_291: Path, fixture_cache: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    graph = next(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file())
    graph.write_bytes(b"x")
    (tmp_path / "warned.env").write_text("TORCHINDUCTOR_FX_GRAPH_CACHE=maybe\n")
    (tmp_path / "wrong.env").write_text("TORCHINDUCTOR_FORCE_DISABLE_CACHES=1\n")
    paths = {"cache": kept_291, "bad": fixture_cache, "new": tmp_path / "new.torchcache",
             "empty": tmp_path / "empty", "warned": tmp_path / "warned.env",
             "wrong": tmp_path / "wrong.env"}  # fmt: skip
    ran = tk(*(word.format(**paths) for word in words.split()), XDG_DATA_HOME=str(tmp_path))
    assert ran.code == contract.number(name), ran.err


def test_a_signal_ends_a_command_with_its_number() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        command = [sys.executable, "-m", "torchkeeper", "server", "--json"]
        command.append(f"redis://127.0.0.1:{silent.getsockname()[1]}")
        with subprocess.Popen(command, stdout=subprocess.PIPE) as waits, silent.accept()[0]:
            waits.send_signal(signal.SIGTERM)
            out, _ = waits.communicate(timeout=LONG)
        assert waits.returncode == contract.SIGNAL + signal.SIGTERM
    assert json.loads(out)["error"]["code"] == "cancelled"


def test_every_status_has_a_case() -> None:
    assert {name for name, _ in CASES} == {one.name for one in contract.EXITS}
    assert [one.number for one in contract.EXITS] == list(range(6))


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
