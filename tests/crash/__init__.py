"""Killed, cut off and full: nothing is lost, nothing is half there, and it says which it was.

A driver (driver.py) with a library preloaded (faults.c) carries operations out on real caches and
is killed at the N-th change that it makes to the disk; then it is brought to its end, as the next
change or who is told of it does, and looked at (oracle.py). Every operation of cases.py, and what
it may leave.

The normal run takes some points of each operation, spread evenly. All points, also of the recovery
itself, with torn writes, power cuts, full and failing disks, in some minutes::

    .venv/bin/python -m pytest -q -s -m slow tests/crash

It prints how many points there were of each.
"""

import pytest

pytest.register_assert_rewrite("tests.crash.stage")
