"""Running the command line as a user does: in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.pace import LONG


@dataclass
class Ran:
    """What a command printed."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Its lines as JSON."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def result(self) -> dict[str, Any]:
        """What its last line holds."""
        found: dict[str, Any] = self.objects[-1]["result"]
        return found


Tk = Callable[..., Ran]


@pytest.fixture
def tk() -> Tk:
    """``torchkeeper ARGUMENTS…`` without a terminal."""

    def run(
        *arguments: object, timeout: float = LONG, cwd: str | os.PathLike[str] | None = None,
        **env: str,
    ) -> Ran:  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "torchkeeper", *map(str, arguments)],
            env={**os.environ, **env},
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            check=False,
            timeout=timeout,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run
