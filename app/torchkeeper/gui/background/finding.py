"""Which interpreters there are, and what is kept of them: looked for in a thread that may wait."""

from __future__ import annotations

import sys
from typing import Any

from torchkeeper.link.engines import everywhere, interpreters, probes
from torchkeeper.link.engines.interpreters import Interpreter
from torchkeeper.link.words.problems import UserError


def found(add: str = "", remove: str = "") -> dict[str, Any]:
    """``{interpreters, added, problem}`` after one was put on the list, or taken off it.

    interpreters: {python, label, added, starts, facts, counts, writers} of each, the default first;
    starts, writers: as of link.engines.interpreters; facts: those that are kept, else None; counts:
    as of link.engines.everywhere.may_count. added: the path of the one that was put on the list.
    problem: why those that were added are not known, a UserError or None. Starts nothing. Raises
    UserError where what was asked for cannot be done.
    """
    python = interpreters.add(add) if add else ""
    if remove:
        interpreters.remove(remove)
    problem = None
    try:
        mine = interpreters.added()
    except UserError as e:
        mine, problem = [], e
    rows = [
        {"python": one.python, "label": one.label, "added": one.added, "starts": one.starts,
         "facts": _kept(one.python), "counts": _counts(one), "writers": _writers(one)}
        for one in interpreters.with_torch(mine)
    ]  # fmt: skip
    return {"interpreters": rows, "added": python, "problem": problem}


def _kept(python: str) -> dict[str, Any] | None:
    try:
        return probes.kept(probes.identity(python))
    except OSError:
        return None  # it will be asked, and say what is wrong


def _writers(one: Interpreter) -> list[dict[str, Any]]:
    return [] if one.python == sys.executable else interpreters.writers(one.python)


def _counts(one: Interpreter) -> bool:
    try:
        return everywhere.may_count(one)
    except OSError:
        return True  # nobody knows
