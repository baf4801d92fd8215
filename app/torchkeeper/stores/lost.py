"""What ends a copy because the other side has gone."""

from __future__ import annotations

from torchkeeper.artifacts.entry import Problem


class Lost(Exception):
    """A server that entries come from or go to was lost, and did not come back in time.

    Neither a Problem nor an OSError, which may be about a single entry that is left while the rest
    goes on: here there is no rest. problem: what was wrong at last. arrived: how many of ``total``
    entries are in the target, counting those that were there before. waited: whether it was
    waited for in vain, and not found to have become another.
    """

    def __init__(self, problem: Problem, waited: bool = False) -> None:
        super().__init__(problem.code)
        self.problem = problem
        self.waited = waited
        self.arrived = 0
        self.total = 0
