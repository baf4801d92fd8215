"""What can be compiled: a module for each source, and what they have in common.

Each has ``make(cell, device, tell) -> Work``. They run in the job's process only, import torch and
Triton late, and run the user's code: nothing else of ours may import what they import.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Step:
    """One thing to compile and run, under a name for people."""

    name: str
    run: Callable[[], Any]


@dataclass(frozen=True)
class Work:
    """A cell, ready to be compiled: nothing of it is before its steps are run, in order.

    proof: for a source that FX graph counters say nothing of: looks whether what was compiled is
    found again, and returns ``{"found": how many, "of": how many there should be}``. In a warm-up
    it is called after the steps; in a verification, in a fresh process, instead of them.
    counts: what the steps found where PyTorch in this process did not count it: ``graphs``,
    ``hits``, ``misses``, ``bypasses``, ``autograd`` {hits, misses}; read after they have run.
    """

    steps: Sequence[Step]
    proof: Callable[[], dict[str, int]] | None = None
    counts: dict[str, Any] = field(default_factory=dict)
