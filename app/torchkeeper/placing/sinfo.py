"""The nodes of a Slurm cluster, as ``sinfo`` tells them in a form that all of its versions have.
What it tells others wrote: each field is checked or made plain, and there is a bound.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from torchkeeper.client.words.problems import printable

#: A name of a partition or a node: no list of them, and no option.
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")
#: What is asked of sinfo; what people write comes last.
FIELDS = "%N|%P|%T|%c|%m|%G|%f|%E"
_GPUS = re.compile(r"(?:^|,)gpu(?::([A-Za-z0-9_.-]+))?:(\d{1,4})(?![\w.-])")
#: States in which a node takes jobs, those that begin soonest first; what may follow one that does.
_STATES, _FLAGS = ("idle", "mixed", "allocated", "completing", "planned", "reserved"), "~#!%+-"
#: Nodes at most.
_MOST = 20_000


class Row(NamedTuple):
    """A node, as sinfo tells it; kind: what those have in common that are alike. state: "" where it
    takes jobs, else what it says, with the reason that somebody gave.
    """

    name: str
    partition: str
    state: str
    cpus: int
    memory: int
    gres: str
    features: str
    order: int

    @property
    def kind(self) -> tuple[object, ...]:
        return self.cpus, self.memory, self.gres, self.features

    @property
    def gpus(self) -> tuple[str, int]:
        """The type of its GPUs, "" where none is told, and how many; of several types the most."""
        found = [(one[1] or "", int(one[2])) for one in _GPUS.finditer(self.gres)]
        return max(found, key=lambda one: one[1], default=("", 0))

    @property
    def labels(self) -> dict[str, str]:
        model, gpus = self.gpus
        told = {
            "partition": self.partition,
            "features": self.features,
            "gres": self.gres,
            "gpu": model,
            "gpus": str(gpus or ""),
            "cpus": str(self.cpus),
            "memory": f"{self.memory} MB",
        }
        return {name: value for name, value in told.items() if value}


def rows_of(text: str, partition: str) -> list[Row]:
    """The nodes in what sinfo says: of a partition, or of the default; what is none is left out."""
    rows = dict[str, Row]()
    for line in text.splitlines():
        name, part, state, cpus, memory, gres, features, why = (*line.split("|", 7), *[""] * 7)[:8]
        if not (NAME.fullmatch(name) and cpus.isdecimal() and memory.isdecimal()):
            continue
        if part.rstrip("*") != partition if partition else not part.endswith("*"):
            continue
        base = state.rstrip("~#!%+-*$@^")
        takes = base in _STATES and not set(state[len(base) :]) - set(_FLAGS)
        told = "" if takes else printable(f"{state} ({why})" if why not in ("", "none") else state)
        gres, features = (printable("" if x == "(null)" else x) for x in (gres, features))
        order = _STATES.index(base) if takes else len(_STATES)
        named = printable(part.rstrip("*"), 80)
        figures = int(cpus[:9]), int(memory[:12])
        rows[name] = Row(name, named, told, *figures, gres, features, order)
        if len(rows) >= _MOST:
            break
    return list(rows.values())
