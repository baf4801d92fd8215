"""Many machines at once, beside one: what an overview of them takes, and what of that is ours. They
are names of one sshd of the tests on this machine, so that what runs there takes the processors of
here, too: on machines of their own they take none of ours.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.bench import listing, measure
from tests.bench.measure import Figure
from tests.ssh.conftest import Machine, config, programs, started

#: How many.
HOSTS = 64


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

    def overview(self, names: Sequence[str]) -> measure.Run:
        """An overview of some; the processors that it takes on this side are its own, and those
        of ssh.
        """
        (self.there.folder / "sessions").write_text("")
        places = [f"ssh://{name}" for name in names]
        ran = measure.run([sys.executable, "-m", "torchkeeper", "overview", "--json", *places],
                          self.env)  # fmt: skip
        assert self.there.sessions() == len(names), "a connection each"
        return ran


def figures(scratch: Path, python: str) -> list[Figure]:
    """Measure an overview of all, beside that of one."""
    folder, place = scratch / "hosts", scratch / "few"
    folder.mkdir()
    listing.kernels(place, 20, python)
    with started(folder) as there:
        hosts = Hosts(there, scratch, place)
        names = hosts.names()
        for first in range(0, HOSTS, 4):  # by then it is known what torch says on each
            hosts.overview(names[first : first + 4])
        one = sorted((hosts.overview(names[:1]) for _ in range(3)), key=lambda ran: ran.seconds)[1]
        every = hosts.overview(names)
    each = (every.processors - one.processors) / (HOSTS - 1)
    print(f"On this side: {one.processors:.2f} s of one, and {each:.3f} s of each other.")
    return [
        Figure(f"Overview of {HOSTS} machines", every.seconds, one.seconds, None, "of one"),
        Figure("… processors on our side", every.processors, one.seconds, 5.0, "that, of one"),
    ]
