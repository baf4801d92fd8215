"""Who reads what profiles are written as: real shells and parsers, with the environment each makes.

Each takes a text and the environment that there is before, and returns that of a program which is
started afterwards.
"""

from __future__ import annotations

import importlib
import io
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import dotenv
import yaml

Consumer = Callable[[str, Mapping[str, str], Path], dict[str, str]]


def shell(name: str, set_all: bool = False) -> Consumer:
    """A shell that sources the text. set_all: as a file of plain assignments."""

    def consume(text: str, env: Mapping[str, str], folder: Path) -> dict[str, str]:
        file = folder / "sourced"
        file.write_bytes(text.encode())
        script = 'set -eu; . "$0"; exec env -0'
        script = f"set -a; {script}" if set_all else script
        done = subprocess.run(
            [name, "-c", script, str(file)],
            env=dict(env), capture_output=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, b""), done.stderr
        pairs = (one.partition(b"=") for one in done.stdout.split(b"\0") if one)
        found = {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}
        return {name: value for name, value in found.items() if name not in ("_", "PWD", "SHLVL")}

    return consume


def python_dotenv(text: str, env: Mapping[str, str], _: Path) -> dict[str, str]:
    """python-dotenv, as ``load_dotenv(override=True)``."""
    read = dotenv.dotenv_values(stream=io.StringIO(text))
    return {**env, **{name: value or "" for name, value in read.items()}}


def kubelet(text: str, env: Mapping[str, str], _: Path) -> dict[str, str]:
    """PyYAML, and what the kubelet does with $: the code of Kubernetes (expansion/expand.go)."""
    found = dict(env)
    for one in yaml.safe_load(text)["env"]:
        assert set(one) == {"name", "value"}
        assert isinstance(one["value"], str)
        found[one["name"]] = expanded(one["value"], found)
    return found


def expanded(text: str, known: Mapping[str, str]) -> str:
    """What a container gets for the value of a variable."""
    out, at = "", 0
    while at < len(text):
        if text[at] == "$" and at + 1 < len(text):
            after = text[at + 1]
            if after == "$":
                out, at = out + "$", at + 2
                continue
            if after == "(" and ")" in text[at:]:
                name = text[at + 2 : text.index(")", at)]
                out, at = out + known.get(name, f"$({name})"), text.index(")", at) + 1
                continue
        out, at = out + text[at], at + 1
    return out


def builder(text: str, env: Mapping[str, str], _: Path) -> dict[str, str]:
    """dockerfile-parse."""
    # It comes without types.
    parser = importlib.import_module("dockerfile_parse").DockerfileParser(
        fileobj=io.BytesIO(), env_replace=True
    )
    parser.content = "FROM scratch\n" + text
    return {**env, **parser.envs}


#: By the format that they read.
OF: dict[str, list[Consumer]] = {
    "sh": [shell("dash"), shell("bash")],
    "env": [shell("dash", True), shell("bash", True), python_dotenv],
    "dockerfile": [builder],
    "kubernetes": [kubelet],
}
