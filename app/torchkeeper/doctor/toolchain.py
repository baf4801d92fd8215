"""What an interpreter can do for its torch: build and load C++, use Triton, see a GPU. All of it is
tried in a process of its own, with a time limit and in a private folder.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Quiet, Report
from torchkeeper.doctor.shapes import Toolchain
from torchkeeper.warm.following import Codes, State, carry_out, check_limit, launch

#: Seconds that it may take: a compiler on a busy machine, and torch off a slow disk.
LIMIT = 120.0
_CODES = Codes("failed", "killed", "stuck")
#: What the process tells, each an object.
PARTS = ("torch", "cxx", "header", "triton", "gpu", "redis", "threads")


def examine(limit_s: float | None, report: Report) -> Toolchain:
    """Try it all, in so many seconds at most: what ``doctor.trying`` told of PARTS, and ``left``
    where it did not come to its end. Passes Cancelled on. No process and no file is left.
    """
    check_limit(limit_s)
    home = tempfile.mkdtemp(prefix="torchkeeper-doctor-")
    state = State[bool]()
    found: dict[str, object] = {}

    def tell(what: str, value: Any) -> None:
        if what in PARTS and isinstance(value, dict):
            found[what] = value
            report.progress(len(found), len(PARTS), "checks")
        elif what == "result":
            state.result = True

    env = {k: v for k, v in os.environ.items() if not k.startswith("TORCHKEEPER_")}
    try:
        process = launch("doctor.trying", {"after": {"scratch": home}}, env, home)
        # What compilers print nobody needs to hear.
        carry_out(process, limit_s or LIMIT, state, Quiet(report), tell, _CODES, lambda _: None)
    except Problem as problem:
        why = problem.params.get("why") or problem.params.get("signal") or ""
        failed = Problem("toolchain-failed", why=why)
        if problem.code == "stuck":
            failed = Problem("toolchain-stuck", limit_s=problem.params.get("limit_s"))
        found["left"] = {"code": failed.code, "params": failed.params}
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return cast("Toolchain", found)
