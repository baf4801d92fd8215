"""What the doctor could have found on a machine, for the pictures."""

from __future__ import annotations

from typing import Any

from tests.shots import samples
from torchkeeper.artifacts.entry import Entry, measured, tallied, tally
from torchkeeper.doctor.checks import CHECKS
from torchkeeper.settings.finding import Finding


def _size(entries: list[Entry]) -> int:
    return sum(entry.size for entry in entries)


def _first_broken(entries: list[Entry], count: int) -> list[Entry]:
    """The one that cannot be read, and such as lack what they need."""
    unread = [entry for entry in entries if entry.problem]
    return [*unread, *(entry for entry in entries if not entry.problem)][:count]


def _stale(entries: list[Entry]) -> list[Entry]:
    """What the verdicts of the samples call so."""
    return [one for one in entries if one.torch == "2.9.1+cu128" and one.kind != "code"]


def _broken(count: int) -> Finding:
    some = _first_broken(samples.entries(), count)
    about = {"count": count, "size_bytes": _size(some), "path": some[0].path}
    return Finding("entries-broken", "warning", (), samples.PLACE, about, fix="trash-broken")


_NFS = "/mnt/shared/ada/torchinductor"
_FOUND = (
    ("compiler", Finding("compiler-no-openmp", "error", ("CXX",), "", {
        "compiler": "clang++", "version": "clang version 18.1.3",
        "said": "fatal error: 'omp.h' file not found"})),
    ("reachable", Finding("server-password", "error", ("TORCHINDUCTOR_REDIS_URL",), samples.SERVER,
                          {"problem": "password-wrong"})),
    ("broken", _broken(3)),
    ("leftovers", Finding("left-over", "warning", (), samples.PLACE, {
        "files": 7, "locks": 2, "size_bytes": 48_300_000, "path": "4k/.c4kq2.1234.tmp"},
        fix="trash-leftovers")),
    ("file-system", Finding("folder-on-network", "advice", ("TORCHINDUCTOR_CACHE_DIR",), _NFS, {
        "type": "nfs4", "point": "/mnt/shared", "source": "nas.example.org:/shared"})),
    ("stale", Finding("some-stale", "advice", (), samples.PLACE, {
        "count": 6, "of": 36, "made_by": "2.9.1+cu128",
        "size_bytes": _size(_stale(samples.entries()))}, fix="trash-stale")),
    ("header", Finding("header-missing", "advice", (), "", {}, fix="prepare")),
)  # fmt: skip

#: As an engine tells them.
FOUND: list[dict[str, Any]] = [
    {"found": finding.to_json(), "check": check} for check, finding in _FOUND
]
#: What is found in a cache of five entries.
FEW: list[dict[str, Any]] = [{"found": _broken(1).to_json(), "check": "broken"}]
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


def plan(fix: str, entries: list[Entry]) -> tuple[list[Entry], dict[str, Any]]:
    """As ``mend`` answers with ``dry``: what goes, in figures like those of the findings."""
    if fix == "trash-leftovers":
        return [], {
            "plan": 1,
            **tallied(9, "lock"),
            "files": 9,
            **measured(48_300_000, on_disk=True),
        }
    rows = _first_broken(entries, 3) if fix == "trash-broken" else _stale(entries)
    files = sum(entry.files for entry in rows)
    return rows, {
        "plan": 1,
        **tally(one.kind for one in rows),
        "files": files,
        **measured(_size(rows), on_disk=True),
    }
