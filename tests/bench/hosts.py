"""Many machines at once, beside one, and beside ssh alone: seconds on the clock, and of processors.

They are names of one sshd of the tests, so that this machine's processors play both sides: N of
them take an Nth of what both sides need, whatever waits for what. On machines of their own what
runs there takes none of ours: then it is an Nth of what our side needs. Nine tenths of that is
ssh's key exchange (sntrup761 of OpenSSH 9: 80 ms), which is for ssh and its user to choose.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.bench import listing, measure
from tests.bench.measure import Figure
from tests.ssh.conftest import Machine, config, programs, started
from torchkeeper.cli.several import AT_ONCE

#: How many.
HOSTS = 64


class Cost(NamedTuple):
    """Of a command: seconds, and those of processors on our side and on the other."""

    seconds: float
    ours: float
    theirs: float


class Hosts:
    """The machines, and an account there with some kernels."""

    def __init__(self, there: Machine, scratch: Path, place: Path) -> None:
        self.there = there
        path = f"{programs(there, scratch / 'programs')}:{os.environ['PATH']}"
        self.env = {**measure.environment(scratch), "PATH": path}
        config(there)
        text = there.config.read_text()
        names = "".join(text.replace("Host there", f"Host {one}") for one in self.names())
        there.config.write_text(text + names)
        there.rc.write_text(f"export TORCHINDUCTOR_CACHE_DIR={place} TRITON_HOME=/nowhere")

    @staticmethod
    def names() -> list[str]:
        return [f"gpu{one:02}" for one in range(HOSTS)]

    def overview(self, names: Sequence[str]) -> Cost:
        places = [f"ssh://{name}" for name in names]
        return self._cost(
            [sys.executable, "-m", "torchkeeper", "overview", "--json", *places], len(names)
        )

    def ssh(self, names: Sequence[str], command: str) -> Cost:
        """A command by ssh alone, on as many at a time as an overview has."""
        each = f"printf '%s\\n' \"$@\" | xargs -P {AT_ONCE} -I X ssh X '{command}'"
        return self._cost(["sh", "-c", each, "sh", *names], len(names))

    def _cost(self, command: Sequence[str], connections: int) -> Cost:
        (self.there.folder / "sessions").write_text("")
        before = self._theirs()
        ran = measure.run(command, self.env)
        assert self.there.sessions() == connections, "a connection each"
        return Cost(ran.seconds, ran.processors, self._theirs() - before)

    def _theirs(self) -> float:
        """What the sshd, and all that it has started, took of processors, once that has ended."""
        proc = Path("/proc", str(self.there.process.pid))
        while (proc / "task" / proc.name / "children").read_text():
            time.sleep(0.05)
        fields = (proc / "stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def figures(scratch: Path, python: str) -> list[Figure]:
    """Measure an overview of all, beside that of one."""
    folder, place = scratch / "hosts", scratch / "few"
    folder.mkdir()
    listing.kernels(place, 20, python)
    with started(folder) as there:
        hosts = Hosts(there, scratch, place)
        names, processors = hosts.names(), os.cpu_count() or 1
        for first in range(0, HOSTS, 4):  # by then it is known what torch says on each
            hosts.overview(names[first : first + 4])
        one = sorted(hosts.overview(names[:1]) for _ in range(3))[1]
        every = hosts.overview(names)
        bare = []
        for command in ("true", "python3 -c pass"):
            alone = sorted(hosts.ssh(names[:1], command) for _ in range(3))[1]
            bare.append((f"ssh {command}", hosts.ssh(names, command), alone))
    ours, theirs = ((every[n] - one[n]) / (HOSTS - 1) for n in (1, 2))
    need, side, of = every.ours + every.theirs, every.ours / processors, "of one"
    (_, true, _), (python_there, started_there, _) = bare
    return [
        Figure(f"Overview of {HOSTS} machines", every.seconds, one.seconds, 5.0, of),
        Figure("… what both sides need on these processors", need / processors, one.seconds,
               None, of),
        Figure("… what our side needs on them", side, one.seconds, 5.0, of),
        *(Figure(f"… {what}, in the place of it", all_.seconds, alone.seconds, None, of)
          for what, all_, alone in bare),
        Figure("… all of it, beside ssh alone on as many", every.seconds, started_there.seconds,
               None, python_there),
        Figure("Processors for one more machine, here", ours, true.ours / HOSTS, None, "ssh true"),
        Figure("… there", theirs, started_there.theirs / HOSTS, None, python_there),
    ]  # fmt: skip
