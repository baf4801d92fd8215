"""Operations with a fault at their N-th change of the disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.pace import LONG

ROOT = Path(__file__).parent.parent.parent
#: As in faults.c.
COUNT, KILL, TORN, FULL, FAIL = range(5)
PLAIN, FIRST, FORKED = 16, 32, 64


class Call(NamedTuple):
    """One change of the disk, as faults.c logs it. size: of its file before. well: whether it was
    one, and no error.
    """

    number: int
    name: str
    path: str
    other: str
    size: int
    well: bool


@dataclass
class Outcome:
    """How an operation ended. calls: those that it made. done: what it returned. problem: the code
    of what it raised, or its traceback.
    """

    killed: bool
    calls: list[Call]
    done: dict[str, Any] | None = None
    problem: str | None = None
    findings: list[dict[str, Any]] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def build(folder: Path) -> None:
    """Compile the library into a folder."""
    source = Path(__file__).parent / "faults.c"
    command = ["gcc", "-shared", "-fPIC", "-O1", "-U_FORTIFY_SOURCE", str(source)]
    subprocess.run([*command, "-o", str(folder / "faults.so"), "-ldl"], check=True)


class Driver:
    """The process that does it, for changes below one folder."""

    def __init__(self, library: Path, box: Path, log: Path) -> None:
        self._box, self._log = box, log
        env = {**os.environ, "LD_PRELOAD": str(library)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.driver"],
            env=env, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(
        self, operation: str, params: dict[str, Any], mode: int = COUNT, at: int = 0
    ) -> Outcome:
        """Carry an operation out, with a fault at its change number ``at``."""
        self._log.write_text("")
        fault = [str(self._box), mode, at, str(self._log)]
        request = {"operation": operation, "params": params, "fault": fault}
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline())
        if error := answer.get("error"):
            assert mode % PLAIN in (FULL, FAIL), error
            answer["problem"] = error
        assert answer["signal"] in (None, 9), answer
        return Outcome(
            answer["signal"] is not None,
            self._calls(),
            answer.get("done"),
            answer.get("problem"),
            answer.get("findings", []),
            answer.get("left", []),
        )

    def _calls(self) -> list[Call]:
        found = []
        for line in self._log.read_text(errors="surrogateescape").splitlines():
            number, name, path, other, size, well = line.split("\t")
            found.append(Call(int(number), name, path, other, int(size), well == "1"))
        return found

    def close(self) -> None:
        """End it."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                pipe.close()
        self._process.wait(LONG)
