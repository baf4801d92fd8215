"""What commands print as JSON is what is documented, field by field, and all of that is printed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ran, Tk
from tests.fields import ERROR, PRINTED, Line
from torchkeeper.cli import contract
from torchkeeper.engine.protocol import misfit


def unfit(line: Line, body: dict[str, Any]) -> list[str]:
    """What of a line of JSON is not as it is documented."""
    kinds = line.fields()
    wrong = [f"{name} is not documented" for name in body if name not in kinds]
    wrong += [f"{name} is missing" for name in line.always() - body.keys()]
    return wrong + [said for name, kind in kinds.items()
                    if name in body and (said := misfit(kind, body[name], name))]  # fmt: skip


def told(command: str, ran: Ran) -> Iterator[tuple[Line, dict[str, Any]]]:
    """Each line that was printed, as the documented one that it fits."""
    for row in map(json.loads, ran.out.splitlines()):
        assert row.pop("schema") == contract.schema_of(command)
        wrong = []
        for line in (*PRINTED[command], ERROR):
            if (body := row if not line.inside else row.get(line.inside)) is not None:
                if not (why := unfit(line, body)):
                    yield line, body
                    break
                wrong.append((line.what, why))
        else:
            pytest.fail(f"{command}: {wrong}")


#: Commands, in this order: {cache} is a cache of torch 2.9.1, {own} the same for us to change.
COMMANDS = (
    "ls {cache}", "ls {cache} --filter kind:nonsense", "places", "places --protect {cache}",
    "places --unprotect {cache}", "du {cache}", "du {cache} --filter kind:fxgraph",
    "show {cache} f3jp4pg", "check {cache}", "explain {cache} f3jp4pg",
    "explain {cache} f3jp4pg --nearest", "env", "runs", "runs all --forget", "jobs",
    "jobs all --forget", "export {cache} -o {tmp}/b --dry-run --allow-secrets",
    "export {cache} -o {tmp}/b --allow-secrets", "export {cache} -o {tmp}/b2",
    "import {tmp}/b --into {tmp}/new --dry-run", "import {tmp}/b --into {tmp}/new --trust",
    "inspect {tmp}/b", "copy {cache} {tmp}/c2 --allow-secrets", "purge {own} --dry-run",
    "purge {own} --suggest", "purge {own} --yes --filter kind:fxgraph", "trash {own}",
    "undo {own}", "trash {own} --empty --yes", "recover {own}", "overview {cache}",
    "config set p TORCHINDUCTOR_FX_GRAPH_CACHE=maybe", "config list", "config show p",
    "config check p", "config settings", "config export p --format sh", "config copy p q",
    "config rename q r", "config remove r", "recipe new callable {tmp}/m.toml",
    "recipe check {tmp}/m.toml", "recipe list", "recipe add {tmp}/m.toml",
    "recipe remove {tmp}/m.toml", "signers add me {tmp}/key.pub", "signers list",
    "signers remove me", "signers require off", "config import {tmp}/vars.env --name v",
    "config processes", "install-desktop --prefix {tmp}/share --dry-run",
)  # fmt: skip


def test_what_is_printed_is_what_is_documented(
    tk: Tk, kept_291: Path, fixture_cache: Path, tmp_path: Path
) -> None:
    env = {"XDG_DATA_HOME": str(tmp_path / "data"), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True
    )
    (tmp_path / "vars.env").write_text("TORCHINDUCTOR_FX_GRAPH_CACHE=1\nHOME_OF=me\n")
    printed: set[tuple[str, str]] = set()
    for words in COMMANDS:
        typed = [word.format(cache=kept_291, own=fixture_cache, tmp=tmp_path)
                 for word in words.split()]  # fmt: skip
        command = next(name for name in PRINTED if f"{words} ".startswith(f"{name} "))
        ran = tk(*typed, "--json", **env)
        printed |= {(command, line.what) for line, _ in told(command, ran)}
    # Of these every kind of line has come.
    for command in ("ls", "show", "check", "export", "purge", "trash", "overview", "inspect",
                    "recipe check", "config check", "config settings"):  # fmt: skip
        kinds = {line.what for line in PRINTED[command]}
        assert {what for name, what in printed if name == command} >= kinds, command


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
