"""The engine that has the operations of a fleet: a process of its own, so that nothing of it waits
in the window, and so that a fleet can be cancelled, and killed, like any other job.
"""

from __future__ import annotations

import os
from typing import ClassVar

from torchkeeper.client.engines.interpreters import VARIABLE
from torchkeeper.client.engines.process import Engine


class FleetEngine(Engine):
    """The app's own interpreter, with its packages: what reaches other machines may need some."""

    _alone: ClassVar[tuple[str, ...]] = ("-I",)
    _serves: ClassVar[tuple[str, ...]] = ("", "fleet")

    def __init__(self, python: str | None = None) -> None:
        """python: the interpreter of this machine, where a request names none."""
        from torchkeeper.placing.slurm import FOLDER

        python = python or os.environ.get(VARIABLE)
        named = {VARIABLE: python} if python else {}
        if folder := os.environ.get(FOLDER):
            # It is meant from where the user is.
            named[FOLDER] = os.path.abspath(folder)
        super().__init__(env=named)
