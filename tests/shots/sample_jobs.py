"""Made-up jobs of earlier sessions, for the pictures."""

from __future__ import annotations

import time

from PySide6.QtCore import QCoreApplication

from tests.shots import samples
from torchkeeper.client.kept.history import Kept, Past, Running

_DAY = 86_400.0
_NIGHTLY = "/srv/artifacts/nightly.torchcache"


#: What another process runs.
ELSEWHERE = Running(
    "20261122-091200-00000005", "warm", "Warm llama-serving", "/srv/caches/llama-serving",
    "running", 1000.0, 0.4, "12 of 30 variants · about 8 min left", 48_211, True,
)  # fmt: skip


def _tr(text: str) -> str:
    """A name that gui.activity.past has for what a job was given."""
    return QCoreApplication.translate("Activity", text)


def kept(damaged: int = 0) -> Kept:
    """A history of a few days."""
    now = time.time()
    noon = now - now % _DAY - 12 * 3600
    jobs = [
        Past(
            "20261121-101500-00000001", "export", "Export to nightly.torchcache", "", "done", True,
            noon - 120.0, noon - 118.7, "412 entries (61.3 MB)",
            ("Exported.", "412 entries (61.3 MB) are in nightly.torchcache, a file of 22.4 MB.",
             "/srv/artifacts", "It took 1.3 s."),
            ((_tr("From"), samples.PLACE), (_tr("File"), _NIGHTLY)), _NIGHTLY, True, None,
            ("412 entries (61.3 MB)",),
        ),
        Past(
            "20261121-100200-00000002", "warm", "Warm torchinductor_ada", samples.PLACE, "failed",
            False, noon - 900.0, noon - 812.0, "Failed: The compile ran out of memory.", (),
            ((_tr("Into"), samples.PLACE), (_tr("Interpreter"), samples.PYTHON),
             (_tr("Recipes"), "mlp.toml")),
            "", False,
            ("The compile ran out of memory.", "The system ended it at 61.2 GB.",
             "Warm fewer variants at once, or with a smaller batch."),
            ("Device: NVIDIA H200", "Step: MLP, batch 64", "Graph mlp.forward: miss, compiled"),
        ),
        Past(
            "20261120-161000-00000003", "purge", "Purge torchinductor_ada", samples.PLACE, "done",
            True, noon - _DAY, noon - _DAY + 0.2, "87 entries (12.9 MB)",
            ("87 entries (12.9 MB)",), ((_tr("Place"), samples.PLACE),),
        ),
        Past(
            "20261120-150000-00000004", "copy", "Copy to cache.example.org", "redis://cache",
            "cancelled", False, noon - _DAY - 600, noon - _DAY - 560, "Cancelled",
            ("Cancelled.", "What had arrived stays; the same copy again goes on from there."),
            ((_tr("From"), samples.PLACE), (_tr("Into"), "redis://cache")),
        ),
    ]  # fmt: skip
    return Kept(jobs, damaged)
