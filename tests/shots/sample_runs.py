"""Made-up runs, for the pictures."""

from __future__ import annotations

import time
from typing import Any

from tests.shots import samples
from torchkeeper.client.kept.runs import Run

_TRAIN = ("python", "train.py", "--model", "gpt2-medium", "--batch", "16")
_SERVE = ("python", "-m", "server", "--port", "8080", "--token=…")
_DAY = 86400.0

#: Hours ago, command, hits from here, from a remote cache, misses, bypasses, spent, saved, exit.
_RUNS = (
    (1, _TRAIN, 9, 0, 2, 1, 21.4, 148.0, 0), (5, _SERVE, 14, 0, 0, 0, 0.0, 96.2, 0),
    (26, _TRAIN, 3, 2, 7, 0, 88.0, 51.0, 0), (31, _SERVE, 14, 0, 0, 0, 0.0, 95.8, 143),
    (50, _SERVE, 13, 0, 1, 0, 6.1, 90.0, 0), (54, _TRAIN, 11, 0, 0, 1, 0.0, 171.0, 0),
    (75, _TRAIN, 0, 0, 11, 1, 169.0, 0.0, 1), (99, _SERVE, 12, 2, 0, 0, 0.0, 97.1, 0),
    (124, _SERVE, 0, 0, 14, 0, 97.4, 0.0, 0), (148, _TRAIN, 11, 0, 0, 1, 0.0, 170.2, 0),
    (171, _TRAIN, 10, 0, 1, 1, 11.9, 158.1, 0), (172, _TRAIN, 2, 0, 9, 1, 140.0, 31.5, 0),
)  # fmt: skip

_CAUSES = (
    ("forward", "at model.py:41", "Same graph; inputs[0] has batch 16 instead of 8"),
    ("attention", "at model.py:88", "`max_autotune` is on"),
    ("loss", "at train.py:120", "The graph has `log_softmax` where the other has `softmax`"),
)


def runs() -> list[Run]:
    """Runs of twelve, the latest first."""
    now = time.time()
    return [_run(now - one[0] * 3600, *one[1:]) for one in _RUNS]


def _run(
    at: float, command: tuple[str, ...], local: int, remote: int, misses: int, bypasses: int,
    spent: float, saved: float, code: int,
) -> Run:  # fmt: skip
    hits = local + remote
    graphs = [_graph(n, "miss", spent / misses) for n in range(misses)]
    graphs += [_graph(misses + n, "bypass", None) for n in range(bypasses)]
    for n in range(hits):
        graphs.append(_graph(misses + bypasses + n, "hit", saved / hits, n < remote))
    totals = {
        "graphs": len(graphs), "hits": hits, "misses": misses, "bypasses": bypasses,
        "local": local, "remote": remote, "unknown": 0, "spent": spent, "saved": saved,
    }  # fmt: skip
    ident = time.strftime("%Y%m%d-%H%M%S-51f0", time.localtime(at))
    counted = {name: float(value) for name, value in totals.items()}
    return Run(
        ident, at, command, samples.PLACE, code, spent + 312, "2.13.0+cu130", counted, graphs
    )


def _graph(
    number: int, outcome: str, seconds: float | None, remote: bool = False
) -> dict[str, Any]:
    # Both directions of a graph are of one function.
    name, source, _ = _CAUSES[number // 2 % len(_CAUSES)]
    why = _CAUSES[number % len(_CAUSES)][2]
    if outcome == "bypass":
        why = "Unsupported post grad custom pass"
    direction = "backward" if number % 2 else "forward"
    return {
        "id": f"{number // 2}/0 {direction}",
        "name": name,
        "source": source.removeprefix("at "),
        "outcome": outcome,
        "where": ("remote" if remote else "local") if outcome == "hit" else None,
        "seconds": seconds,
        "key": f"f{number:051}",
        "nearest": f"f{number + 1:051}" if outcome == "miss" else None,
        "why": "" if outcome == "hit" else why,
    }
