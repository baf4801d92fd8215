"""Having a process use the processors only as far as nobody else wants them."""

from __future__ import annotations

import contextlib
import os
import time

#: Seconds between two groups of sessions that one user may make nicer (sched(7) does not say so;
#: Linux, kernel/sched/autogroup.c does), and how often that is tried.
_TURN = 0.1
_TRIES = 3


def give_way(pid: int, nice: int) -> None:
    """Make a process, and all that it starts from now on, this nice: 0 to 19, of setpriority(2).

    pid: a process that leads a session of its own. Where Linux schedules sessions as groups,
    niceness counts only within one (sched(7), "The autogroup feature"): so its group is made as
    nice. A process that may not be made so stays as it is; nothing is raised.
    """
    nice = max(nice, os.getpriority(os.PRIO_PROCESS, 0))
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, nice)
    for _ in range(_TRIES):
        try:
            with open(f"/proc/{pid}/autogroup", "w") as group:
                group.write(str(nice))
        except BlockingIOError:
            time.sleep(_TURN)
            continue
        except OSError:
            pass  # there are no such groups here
        return
