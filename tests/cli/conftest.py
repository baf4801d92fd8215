"""Running the command line as a user does: in a process of its own."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests import fields
from tests.forking.commands import Commands
from tests.forking.engines import at_start
from tests.pace import LONG
from tests.ssh.elsewhere import here, typed


@dataclass
class Ran:
    """What a command printed."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Its lines as JSON, without what each says that it is."""
        rows = [json.loads(line) for line in self.out.splitlines()]
        schemas = {row.pop("schema") for row in rows}
        assert len(schemas) <= 1, "all are of one command"
        assert all(re.fullmatch(r"torchkeeper/[a-z-]+/1", one) for one in schemas), schemas
        return rows

    @property
    def result(self) -> dict[str, Any]:
        """What its last line holds."""
        found: dict[str, Any] = self.objects[-1]["result"]
        return found


Tk = Callable[..., Ran]


@pytest.fixture(scope="session")
def forks() -> Iterator[Commands]:
    """Where commands begin quickly."""
    made = Commands()
    yield made
    made.close()


@pytest.fixture
def tk(forks: Commands, anywhere: bool) -> Tk:
    """``torchkeeper ARGUMENTS…`` without a terminal. All that it prints as JSON is documented."""

    def run(*arguments: object, **how: Any) -> Ran:
        ran = begun(*(typed(arguments) if anywhere else arguments), **how)
        if anywhere:
            ran = Ran(ran.code, here(ran.out), here(ran.err))
        if "--json" in arguments:
            fields.printed(ran.out)
        return ran

    def begun(
        *arguments: object, timeout: float = LONG, cwd: str | os.PathLike[str] | None = None,
        **env: str,
    ) -> Ran:  # fmt: skip
        argv, env = list(map(str, arguments)), {**os.environ, **env}
        if at_start(env) == forks.env:
            return _forked(forks, argv, env, os.fspath(cwd or os.getcwd()), timeout)
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "torchkeeper", *argv],
            env=env,
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


def _forked(forks: Commands, argv: list[str], env: dict[str, str], cwd: str, timeout: float) -> Ran:
    """The same in a process that was forked. What it prints goes to files: who reads pipes waits
    for all that a command left running.
    """
    with (
        tempfile.TemporaryFile("w+", errors="surrogateescape") as out,
        tempfile.TemporaryFile("w+", errors="surrogateescape") as err,
    ):
        pid = forks.begin(argv, env, cwd, out.fileno(), err.fileno())
        late = threading.Timer(timeout, os.kill, (pid, signal.SIGKILL))
        late.start()
        try:
            code = forks.code()
        finally:
            late.cancel()
        for stream in (out, err):
            stream.seek(0)
        return Ran(code, out.read(), err.read())
