"""Files from the future, and a file server whose clock is another than ours.

Torchkeeper tells by times what is unused, left behind or still being written; PyTorch does not look
at them.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator

from torchkeeper.doctor.check import FolderLook
from torchkeeper.settings.finding import Finding
from torchkeeper.stores.items import File

#: Seconds that a time may be ahead, and that two clocks may differ.
AHEAD, SKEW = 120.0, 5.0


def future(look: FolderLook) -> list[File]:
    """The files of the cache that are from the future."""
    limit = int((time.time() + AHEAD) * 1e9)
    known = (item for item in look.items if item.kind != "unknown")
    files = {file.path: file for item in known for file in item.files}
    return [file for file in files.values() if file.mtime_ns is not None and file.mtime_ns > limit]


def clock(look: FolderLook) -> Iterator[Finding]:
    """Files from the future; of a file system of others, how far its clock is from ours."""
    found = future(look)
    if found:
        last = max(file.mtime_ns or 0 for file in found) / 1e9
        about = {"count": len(found), "path": min(found).path, "ahead_s": round(last - time.time())}
        yield Finding("files-from-future", "advice", (), look.place, about, fix="touch")
    if look.mount is not None and look.mount.network and look.exists:
        skew = skew_of(look.root)
        if abs(skew) > SKEW:
            about = {"skew_s": round(skew), "type": look.mount.type, "source": look.mount.source}
            yield Finding("clock-skew", "warning", (), look.place, about)


def skew_of(folder: str) -> float:
    """Seconds that a file system's clock is ahead, told by a new file. Raises OSError."""
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".torchkeeper-", suffix=".tmp") as file:
        before = time.time()
        file.write(b"\n")
        file.flush()
        os.fsync(file.fileno())
        after = time.time()
        there = os.stat(file.name).st_mtime
    return there - after if there > after else min(there - before, 0.0)
