"""A process that mends folders, and removes one, once the one that started it is gone.

A job whose engine was killed has nobody to clean up after it, and cannot do so itself: until its
very end it holds the locks of what it builds, and writes in its folder for temporary files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import TypedDict

import torchkeeper
from torchkeeper.stores import temporary
from torchkeeper.warm import processes, sweep

#: Seconds to wait for the end of the process before.
_PATIENCE = 10.0
_TURN = 0.02


class After(TypedDict, total=False):
    """What is to be seen to. roots: folders to be mended. since: in nanoseconds since the epoch:
    what is unfinished in them and has changed after that is the job's. scratch: a folder that goes.
    """

    roots: Sequence[str]
    since: int
    scratch: str


def start(what: After) -> None:
    """Have it seen to once this process and its group are gone; does not wait."""
    boot = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); "
        "from torchkeeper.warm.mending import main; main()"
    )
    source = os.path.dirname(os.path.dirname(os.path.abspath(torchkeeper.__file__)))
    subprocess.Popen(
        [sys.executable, "-c", boot, source, str(os.getpid()), json.dumps(what)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=processes.unmarked(),
        start_new_session=True,
    )


def main() -> None:
    """Wait, mend, exit. The arguments: the id of the process, and as of ``start``."""
    leader = sys.argv[1]
    what: After = json.loads(sys.argv[2])
    deadline = time.monotonic() + _PATIENCE
    while _lives(int(leader)) and time.monotonic() < deadline:
        time.sleep(_TURN)
    for root in what.get("roots", []):
        if os.path.isdir(root):
            sweep.mend(root)
            # Nobody remembers what was there before, but what has not changed since then was.
            sweep.sweep(root, sweep.snapshot(root, what["since"]), ())
    if "scratch" in what:
        temporary.remove(what["scratch"])


def _lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True
