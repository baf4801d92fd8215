"""What can be compiled: a module for each source, and what they have in common.

Each has ``make(variant, device, tell) -> Work``, which ``warm.job`` calls. They run in the job's
process only, import torch and Triton late, and run the user's code: nothing else of ours may import
what they import.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from torchkeeper.warm.shapes import Counted, Proof


@dataclass(frozen=True)
class Step:
    """One thing to compile and run, under a name for people."""

    name: str
    run: Callable[[], Any]


@dataclass(frozen=True)
class Work:
    """A variant, ready to be compiled: nothing of it is before its steps are run, in order. proof:
    for a source that FX graph counters say nothing of: looks whether what was compiled is found
    again. In a warm-up it is called after the steps; in a verification, in a fresh process, instead
    of them. counts: what the steps, once run, found that PyTorch in this process did not count.
    made: kind and key of the entries that they looked for, where no graph tells.
    """

    steps: Sequence[Step]
    proof: Callable[[], Proof] | None = None
    counts: Counted = field(default_factory=Counted)
    made: list[tuple[str, str]] = field(default_factory=list)


def autograd(keys: Iterable[str]) -> list[tuple[str, str]]:
    """AOTAutograd's entries of these keys, which may hold their graphs themselves; of what was
    compiled only forward there is none.
    """
    above = os.path.join(os.environ["TORCHINDUCTOR_CACHE_DIR"], "aotautograd")
    there = (key for key in keys if os.path.exists(os.path.join(above, key)))
    return [("aotautograd", key) for key in there]
