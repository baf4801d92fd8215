"""Which interpreters there are, and what is kept of them: looked for in a thread that may wait."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict

from torchkeeper.client.engines import everywhere, interpreters, probes
from torchkeeper.client.engines.interpreters import Interpreter
from torchkeeper.client.words.problems import UserError

if TYPE_CHECKING:
    from torchkeeper.stores.shapes import Writer
    from torchkeeper.verdict.probed import Env


class Known(TypedDict):
    """An interpreter. starts, writers: as of ``client.engines.interpreters``. facts: those that are
    kept, else None. counts: as of ``client.engines.everywhere.may_count``.
    """

    python: str
    label: str
    added: bool
    starts: bool
    facts: Env | None
    counts: bool
    writers: Sequence[Writer]


class Found(TypedDict):
    """All interpreters, the default first; which was added; why added ones are not known."""

    interpreters: Sequence[Known]
    added: str
    problem: UserError | None


def found(add: str = "", remove: str = "") -> Found:
    """Which there are after an ``add`` or a ``remove``. Starts nothing. Raises UserError."""
    python = interpreters.add(add) if add else ""
    if remove:
        interpreters.remove(remove)
    problem = None
    try:
        mine = interpreters.added()
    except UserError as e:
        mine, problem = [], e
    rows: list[Known] = [
        {"python": one.python, "label": one.label, "added": one.added, "starts": one.starts,
         "facts": _kept(one.python), "counts": _counts(one),
         "writers": [] if one.python == sys.executable else interpreters.writers(one.python)}
        for one in interpreters.with_torch(mine)
    ]  # fmt: skip
    return {"interpreters": rows, "added": python, "problem": problem}


def _kept(python: str) -> Env | None:
    try:
        return probes.kept(probes.identity(python))
    except OSError:
        return None  # it will be asked, and say what is wrong


def _counts(one: Interpreter) -> bool:
    try:
        return everywhere.may_count(one)
    except OSError:
        return True  # nobody knows
