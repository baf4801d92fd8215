"""A person at a terminal: one ``torchkeeper`` command after the other on one cache folder.

Run as a process of its own, ``python -m tests.load.commands WHO PLACE WORK SEED``; goes on until
the file ``WORK/stop`` is there. Every command goes to ``WORK/WHO.jsonl`` as a ``Ran``.
"""

from __future__ import annotations

import json
import os
import pty
import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

#: What nobody else's PyTorch needs at the moment it goes: PyTorch writes a module or an object
#: and only then reads it, so code of its own is not purged under it, not even by ``--in-use``.
FILTERS = (
    "kind:fxgraph",
    "kind:aotautograd",
    "kind:triton",
    "kind:aoti_eager",
    "kind:autotune,precompile",
    "kind:pgo",
    "kind:fxgraph,aotautograd torch:2.9",
    "kind:fxgraph -torch:2.9",
    "size<100k kind:triton,aotautograd",
)
#: Entries, each as (kind, key, sha256, path).
Rows = list[list[str | None]]


@dataclass
class Ran:
    """One command. began, ended: seconds of time.monotonic. rows: what it listed.
    result: its last line; said: its standard error.

    of: the rows of what it was given to place, an import's bundle say.
    """

    who: str
    argv: list[str]
    began: float
    ended: float = 0.0
    code: int = 0
    rows: Rows = field(default_factory=list)
    result: dict[str, Any] = field(default_factory=dict)
    said: str = ""
    of: Rows = field(default_factory=list)

    @property
    def what(self) -> str:
        """The command's name."""
        return self.argv[0]


def rows_of(lines: list[dict[str, Any]]) -> Rows:
    """The entries among lines of JSON."""
    return [
        [one["kind"], one["key"], one["sha256"], one["path"]] for one in lines if "sha256" in one
    ]


class Terminal:
    """Runs commands and writes down what they did."""

    def __init__(self, who: str, place: str, work: Path, chance: random.Random) -> None:
        self.who, self.place, self.work, self.chance = who, place, work, chance
        self.stop = work / "stop"
        self._log = open(work / f"{who}.jsonl", "a", encoding="utf-8")  # noqa: SIM115
        self._inside: dict[str, Rows] = {}
        self.made = 0

    def run(self, *argv: str, answers: str = "", of: Rows | None = None) -> Ran:
        """A command, which is answered on a terminal of its own."""
        ran = Ran(self.who, list(argv), time.monotonic(), of=of or [])
        ours, theirs = pty.openpty()
        try:
            os.write(ours, answers.encode())
            done = subprocess.run(
                [sys.executable, "-W", "error", "-m", "torchkeeper", *argv, "--json"],
                stdin=theirs, capture_output=True, text=True, check=False, timeout=180,
            )  # fmt: skip
        finally:
            os.close(ours)
            os.close(theirs)
        ran.ended, ran.code, ran.said = time.monotonic(), done.returncode, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        ran.rows = rows_of(lines)
        if lines and "result" in lines[-1]:
            ran.result = lines[-1]["result"]
        self._log.write(json.dumps(asdict(ran)) + "\n")
        self._log.flush()
        return ran

    def inside(self, file: str) -> Rows:
        """The entries of a bundle."""
        if file not in self._inside:
            self._inside[file] = self.run("inspect", file).rows
        return self._inside[file]

    # What one does.

    def import_(self, file: str) -> None:
        inside = self.inside(file)
        self.run("import", file, "--into", self.place, "--trust", of=inside)

    def purge(self) -> None:
        self.run("purge", self.place, "--filter", self.chance.choice(FILTERS), "--in-use",
                 answers="y\n")  # fmt: skip

    def purge_now(self) -> None:
        self.run("purge", self.place, "--filter", self.chance.choice(FILTERS), "--in-use", "--now",
                 answers="y\n")  # fmt: skip

    def purge_politely(self) -> None:
        """PyTorch has the folder in its environment: nothing goes."""
        self.run("purge", self.place, "--filter", "kind:fxgraph", answers="y\n")

    def undo(self) -> None:
        self.run("undo", self.place)

    def empty(self) -> None:
        self.run("trash", self.place, "--empty", "--yes")

    def look(self) -> None:
        self.run("ls", self.place)

    def check(self) -> None:
        self.run("check", self.place)

    def export(self) -> None:
        """To a file, which then goes back in."""
        self.made += 1
        file = self.work / f"{self.who}-{self.made}.torchcache"
        self.run("export", self.place, "-o", str(file))
        if file.exists():
            self._inside[str(file)] = self.run("inspect", str(file)).rows
            self.import_(str(file))
            file.unlink()

    def copy(self) -> None:
        """To another folder and back."""
        other = str(self.work / f"{self.who}-other")
        self.run("copy", self.place, other)
        there = self.run("ls", other).rows
        self.run("copy", other, self.place, of=there)


def steps_of(who: str, terminal: Terminal, bundles: list[str]) -> list[Callable[[], None]]:
    """What one of the two does, the more often the more times it is there."""
    imports = [lambda file=file: terminal.import_(file) for file in bundles]
    if who == "one":
        some = [terminal.purge, terminal.purge, terminal.undo, terminal.purge_now, terminal.empty,
                terminal.look, terminal.check, terminal.purge_politely]  # fmt: skip
    else:
        some = [terminal.export, terminal.copy, terminal.purge, terminal.undo, terminal.look]
    return [*some, *imports]


def main(who: str, place: str, work: str, seed: str, *bundles: str) -> None:
    """Work until told to stop."""
    chance = random.Random(int(seed))
    terminal = Terminal(who, place, Path(work), chance)
    steps = steps_of(who, terminal, list(bundles))
    while not terminal.stop.exists():
        # Each once, in an order of its own: none is left out of a short run.
        chance.shuffle(steps)
        for step in steps:
            if terminal.stop.exists():
                break
            step()


if __name__ == "__main__":
    main(*sys.argv[1:])
