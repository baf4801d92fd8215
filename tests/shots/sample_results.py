"""What engines say of jobs that are done, made up: whole, and of as little as may be."""

from __future__ import annotations

from typing import Any

from tests.shots import sample_leaks
from torchkeeper.artifacts.entry import measured, tallied

EXPORTED: dict[str, Any] = {
    **measured(1, on_disk=False), "entries": 1, "files": 1, "size": 1, "output": "/o.torchcache",
    "stays": tallied(0), "leaks": sample_leaks.NONE, "objects": 0, "described": 0, "maker": None,
}  # fmt: skip
IMPORTED: dict[str, Any] = {
    "entries": 1, "files": 1, "bytes": 1, "exists": 0, "doubles": 0, "renamed": 0, "receipt": "1",
}  # fmt: skip
COPIED: dict[str, Any] = {
    **IMPORTED, **measured(1, on_disk=False), "what": "folder", "stays": tallied(0),
    "leaks": sample_leaks.NONE, "place": "/place", "into": "/into",
}  # fmt: skip
PURGED: dict[str, Any] = {**tallied(1), "files": 1, **measured(1, on_disk=True), "receipt": "1"}
WARMED: dict[str, Any] = {
    **tallied(0), "graphs": 1, "hits": 0, "misses": 1, "bypasses": 0,
    "autograd": {"hits": 0, "misses": 1}, "things": {"graphs": 1}, "variants": [],
    "seconds": 1.0, "device": "cpu", "threads": 1, "torch": "2.13.0+cu130",
    "done": 1, "failed": 0, "added": 1, "kinds": {"fxgraph": 1},
}  # fmt: skip
PREPARED: dict[str, Any] = {
    "built": 1, "there": 0, "bytes": 1, "folder": "/tmp/headers", "seconds": 1.0, "user": None
}  # fmt: skip
