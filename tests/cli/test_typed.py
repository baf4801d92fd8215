"""Every command that the README and the manual tell one to type is typed: each block of sh, line
by line, in a home of its own, with stand-ins for what the reader has. What cannot be run here is
at least understood by the parser.
"""

from __future__ import annotations

import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.conftest import Tk
from tests.pace import LONG
from tests.redis_server import dump, serving
from torchkeeper.cli import main
from torchkeeper.cli.commands import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "resources/manual").glob("*.md"))]

SERVE = """
import torch


class Net(torch.nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.one = torch.nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.one(x))


if __name__ == "__main__":
    with torch.no_grad():
        print(torch.compile(Net().eval())(torch.randn(32, 64)).sum())
"""
RECIPE = """
[[callable]]
factory = "serve:Net"
inputs = [{ shape = [4, 64] }]
"""
#: What stands for what in a line; the first that fits counts.
STAND_INS = (
    (r"redis://\w+", "{server}"),
    (r"\bpackaging/manpage\.py\b", shlex.quote(str(ROOT / "packaging/manpage.py"))),
    (r"\bimport FILE\b", "import serve.env"),
    (r"\bKEY\.pub\b", "id_ed25519.pub"),
    (r"~/\.ssh/id_ed25519\b", "id_ed25519"),
    (r"\bKEY2\b", "{key2}"),
    (r"\bKEY\b", "{key}"),
    (r"\bFILTER\b", "kind:fxgraph"),
    (r"\bFILE\b", "file.torchcache"),
    (r"\bPYTHON\b", "python"),
    (r"--pid 4711\b", "--pid {pid}"),
)
#: When the cache of the reader was made.
LONG_AGO = time.time() - 40 * 86400
#: How commands may end that find things: with 4 for warnings and 5 for errors.
FINDINGS = {"config check": {0, 4, 5}, "doctor": {0, 4, 5}}
#: Those that compile, for minutes.
COMPILING = {"run", "warm", "verify", "prepare"}
#: Programs that are not here, or must not be started, and why.
ELSEWHERE = {
    "docker": "containers are not started by tests",
    "podman": "containers are not started by tests",
    "kubectl": "there is no cluster",
    "ssh": "there is no other machine",
    "systemctl": "the system is not to be changed",
    "crontab": "the system is not to be changed",
    "sudo": "the system is not to be changed",
    "apt-get": "the system is not to be changed",
    "pip": "there is no network", "pipx": "there is no network", "uv": "there is no network",
    "eval": "it is for the start-up files of bash and zsh: tests/cli/test_completion.py",
    "packaging/run": "installs for minutes: tests/test_packaging.py",
    "packaging/test": "runs these tests",
}  # fmt: skip
#: Commands of ours that cannot be run here, by how they begin, and why.
NOT_HERE = {
    "install-desktop": "the menus of the desktop are not to be changed",
}


class Block(NamedTuple):
    """A block of sh. where: its page and its number there, from 1."""

    where: str
    lines: tuple[str, ...]

    @property
    def compiles(self) -> bool:
        words = {words[0] for line in self.lines for words in ours(line)}
        return not COMPILING.isdisjoint(words) or any("python serve" in x for x in self.lines)


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page, their lines joined where one goes on."""
    found = re.findall(r"^```(?:sh|bash|shell|console)\n(.*?)^```", page.read_text(), re.M | re.S)
    for number, text in enumerate(found, 1):
        lines = re.sub(r"\\\n\s*", "", text).splitlines()
        shown = [re.sub(r"^\$ |(^|\s+)# .*", "", line) for line in lines]
        yield Block(f"{page.name}:{number}", tuple(filter(None, shown)))


def ours(line: str) -> list[list[str]]:
    """What follows each ``torchkeeper`` in a line of commands, as words."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found: list[list[str]] = []
    words: list[str] | None = None
    for token in lexer:
        if token.rpartition("/")[2] == "torchkeeper":
            found.append(words := [])
        elif not token.strip("();<>|&"):
            words = None
        elif words is not None:
            words.append(token)
    return [one for one in found if one]


BLOCKS = [block for page in PAGES for block in blocks(page)]
HERE = [
    pytest.param(block, id=block.where, marks=[pytest.mark.torch, pytest.mark.slow])
    if block.compiles or not block.where.startswith("README")
    else pytest.param(block, id=block.where)
    for block in BLOCKS
]


def program(line: str) -> str:
    """The program that a line starts, without what it sets before."""
    words = [word for word in line.split() if not re.match(r"\w+=", word)]
    return words[0].removeprefix(".venv/bin/") if words else ""


def why_not(line: str) -> str:
    """Why a line is not run; "" where it is."""
    first = program(line)
    for name, why in ELSEWHERE.items():
        if first == name or re.search(rf"[|;&(] *{re.escape(name)} ", line):
            return why
    mine = [" ".join(words) for words in ours(line)]
    whys = [why for name, why in NOT_HERE.items() for one in mine if one.startswith(name)]
    return next(iter(whys), "")


@pytest.fixture(scope="session")
def kit(shared: Path, clean_291: Path) -> Path:
    """What a reader has: a cache, a bundle of it, a program, a key. Not to be changed."""
    folder = shared / f"typed-{os.getpid()}"
    folder.mkdir()
    shutil.copytree(clean_291, folder / "PLACE")
    for path in (folder / "PLACE").rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO))
    (folder / "serve.py").write_text(SERVE)
    shutil.copy(folder / "serve.py", folder / "train.py")
    (folder / "recipes").mkdir()
    shutil.copy(folder / "serve.py", folder / "recipes" / "serve.py")
    (folder / "recipes" / "net.toml").write_text(RECIPE)
    (folder / "serve.env").write_text("TORCHINDUCTOR_FX_GRAPH_CACHE=1\n")
    keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / "id_ed25519")]
    subprocess.run(keygen, check=True, stdin=subprocess.DEVNULL)
    return folder


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """A server with what torch 2.9.1 left in one."""
    with serving(tmp_path / "redis") as server:
        server.load(dump())
        yield server.url


def keys_of(tk: Tk, place: Path) -> list[str]:
    rows = tk("ls", place, "--filter", "kind:fxgraph", "--json").objects
    return [row["key"] for row in rows if "key" in row]


class Reader:
    """Somebody with a home and a shell, who types what a page says."""

    def __init__(
        self, kit: Path, tmp_path: Path, tk: Tk, python: str, request: pytest.FixtureRequest
    ) -> None:
        self.folder, self._request, self._python = tmp_path / "reader", request, python
        shutil.copytree(kit, self.folder)
        place = self.folder / "PLACE"
        for name in ("mine", "serve"):
            made = tk("export", place, "-o", self.folder / f"{name}.torchcache")
            assert made.code == 0, made.err
        first, second, *_ = keys_of(tk, place)
        self._values = {"key": first, "key2": second, "pid": str(os.getpid())}
        (self.folder / ".venv/bin").mkdir(parents=True)
        self._program("python", f'exec "{python}" "$@"')
        self._program("torchkeeper", f'exec "{sys.executable}" -m torchkeeper "$@"')

    def _program(self, name: str, text: str) -> None:
        file = self.folder / ".venv/bin" / name
        file.write_text(f"#!/bin/sh\n{text}\n")
        file.chmod(0o755)

    def line(self, line: str) -> str:
        """A line with the stand-ins."""
        for pattern, stand_in in STAND_INS:
            if "{server}" in stand_in and re.search(pattern, line):
                self._values["server"] = self._request.getfixturevalue("redis")
            stands = stand_in.format_map(defaultdict(str, self._values))
            line = re.sub(pattern, stands.replace("\\", "\\\\"), line)
        return line

    def types(self, line: str) -> tuple[int, str]:
        """How a line ends, and all that it said; every question is answered with yes."""
        above, below = pty.openpty()
        os.write(above, b"y\n" * 4)
        env = {name: value for name, value in os.environ.items() if "REDIS" not in name}
        env |= {
            "HOME": str(self.folder), "PATH": f"{self.folder / '.venv/bin'}:{env['PATH']}",
            "XDG_CONFIG_HOME": str(self.folder / ".config"),
            "TORCHKEEPER_TORCH_PYTHON": self._python,
        }  # fmt: skip
        try:
            done = subprocess.run(["sh", "-c", line], cwd=self.folder, env=env, stdin=below,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False, timeout=LONG)  # fmt: skip
        finally:
            os.close(above)
            os.close(below)
        return done.returncode, done.stdout


@pytest.fixture
def reader(
    kit: Path, tmp_path: Path, tk: Tk, torch_python: str, request: pytest.FixtureRequest
) -> Reader:
    return Reader(kit, tmp_path, tk, torch_python, request)


@pytest.mark.parametrize("block", HERE)
def test_what_a_page_says_is_typed(block: Block, reader: Reader) -> None:
    for line in block.lines:
        if why_not(line):
            continue
        typed = reader.line(line)
        code, said = reader.types(typed)
        named = next((x for x in FINDINGS if f"torchkeeper {x}" in line), "")
        assert code in FINDINGS.get(named, {0}), (block.where, typed, code, said)


@pytest.mark.parametrize("block", BLOCKS, ids=[block.where for block in BLOCKS])
def test_what_a_page_says_is_understood(block: Block) -> None:
    for line in block.lines:
        for words in ours(line):
            command, *_ = words
            if command in COMMANDS:
                parsed = main.parser_of(command).parsed(main.joined(words))
                assert parsed is not None
            else:
                assert not command.startswith("-") or command == main.ALONE, line


def test_pages_are_looked_through() -> None:
    lines = [line for block in BLOCKS for line in block.lines]
    assert len([line for line in lines if ours(line)]) > 30
    assert len([line for line in lines if not why_not(line)]) > 30


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("torchkeeper ls PLACE --filter 'a|b c'", [["ls", "PLACE", "--filter", "a|b c"]]),
        ("ssh h torchkeeper export P -o - | torchkeeper import - --into Q",
         [["export", "P", "-o", "-"], ["import", "-", "--into", "Q"]]),
        ("A=1 .venv/bin/torchkeeper undo PLACE && echo", [["undo", "PLACE"]]),
        ("python serve.py", []),
    ],
)  # fmt: skip
def test_commands_are_found_in_a_line(line: str, words: list[list[str]]) -> None:
    assert ours(line) == words
