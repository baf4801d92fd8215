"""What the doctor could have found on a machine, for the pictures."""

from __future__ import annotations

from typing import Any

from torchkeeper.doctor.checks import CHECKS
from torchkeeper.gui.shots import samples
from torchkeeper.settings.finding import Finding

_NFS = "/mnt/shared/ada/torchinductor"
_FOUND = (
    ("compiler", Finding("compiler-no-openmp", "error", ("CXX",), "", {
        "compiler": "clang++", "version": "clang version 18.1.3",
        "said": "fatal error: 'omp.h' file not found"})),
    ("reachable", Finding("server-password", "error", ("TORCHINDUCTOR_REDIS_URL",), samples.SERVER,
                          {"problem": "password-wrong"})),
    ("broken", Finding("entries-broken", "warning", (), samples.PLACE, {
        "count": 3, "size_bytes": 1_204_000, "path": "fxgraph/gk/fgkzanes3ggb/i3c"},
        fix="trash-broken")),
    ("leftovers", Finding("left-over", "warning", (), samples.PLACE, {
        "files": 7, "locks": 2, "size_bytes": 48_300_000, "path": "4k/.c4kq2.1234.tmp"},
        fix="trash-leftovers")),
    ("file-system", Finding("folder-on-network", "advice", ("TORCHINDUCTOR_CACHE_DIR",), _NFS, {
        "type": "nfs4", "point": "/mnt/shared", "source": "nas.example.org:/shared"})),
    ("stale", Finding("some-stale", "advice", (), samples.PLACE, {
        "count": 412, "of": 2_480, "made_by": "2.9.1+cu128", "size_bytes": 1_830_000_000},
        fix="trash-stale")),
    ("header", Finding("header-missing", "advice", (), "", {}, fix="prepare")),
)  # fmt: skip

#: As an engine tells them.
FOUND: list[dict[str, Any]] = [
    {"found": finding.to_json(), "check": check} for check, finding in _FOUND
]
_LEFT = ("writes", "memory", "expiry")
#: As ``diagnose`` answers.
RESULT: dict[str, Any] = {
    "checks": [check.name for check in CHECKS if check.name not in _LEFT],
    "left": [{"check": check, "place": samples.SERVER, "code": "password-wrong",
              "params": {"place": samples.SERVER, "server": samples.SERVER}} for check in _LEFT],
}  # fmt: skip
#: What needs an interpreter that can be asked.
_ASKED = ("stale", "torch", "compiler", "header", "triton", "gpu")
NO_TORCH: dict[str, Any] = {
    "checks": [check.name for check in CHECKS if check.name not in _ASKED],
    "left": [
        {"check": name, "place": "", "code": "interpreter-not-tried", "params": {}}
        for name in _ASKED
    ],
}
HEALTHY: dict[str, Any] = {"checks": [check.name for check in CHECKS], "left": []}
#: As ``mend`` answers with ``dry``.
PLAN: dict[str, Any] = {"plan": 1, "entries": 6, "files": 9, "bytes": 1_204_000}
