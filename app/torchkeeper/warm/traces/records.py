"""The records of a file of PyTorch's structured trace, as they were written or not at all.

A record is a line with a prefix and JSON, and may have a payload: the lines after it, each with a
tab in front, whose MD5 stands in the JSON (``trace_structured`` and ``TorchLogsFormatter`` in
torch/_logging/_internal.py).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from torchkeeper.artifacts.report import Report

#: Bytes of a line, and of a payload.
MAX_LINE = 32 << 20
#: Bytes between two looks at whether the user wants an end.
_TURN = 1 << 20

_PREFIX = re.compile(rb"[VIWEC]\d{4} [\d:.]{8,20} +(\d{1,10}) [^\]\n]{1,1000}\] (?=\{)")
#: The records that tell something; the others are passed over without a look.
_TELLING = (
    b'"artifact"', b'"chromium_event"', b'"dynamo_start"', b'"str"', b'"compilation_metrics"'
)  # fmt: skip


@dataclass
class Record:
    """One record. metadata is empty for those that tell nothing; pid is of the process."""

    metadata: Mapping[str, Any]
    pid: str
    telling: bool
    lines: list[bytes] = field(default_factory=list, repr=False)
    size: int = 0

    def payload(self) -> tuple[str, bool]:
        """The payload, and whether it is the one that was written."""
        expected = self.metadata.get("has_payload")
        if expected is None:
            return "", True
        data = b"\n".join(self.lines)
        digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
        if self.size > MAX_LINE or digest != expected:
            return "", False
        return data.decode("utf-8", "replace"), True


def records(file: IO[bytes], report: Report) -> Iterator[Record | None]:
    """The records of a file in order; None for each line that is none and belongs to none."""
    return of(_lines(file, report))


def _lines(file: IO[bytes], report: Report) -> Iterator[bytes]:
    size, looked = os.fstat(file.fileno()).st_size, 0
    while line := file.readline(MAX_LINE):
        looked += len(line)
        if looked > _TURN:
            report.check()
            report.progress(file.tell(), size, "bytes")
            looked = 0
        yield line


def of(lines: Iterable[bytes]) -> Iterator[Record | None]:
    """The records that lines make, each with its end, if it has one; as ``records`` tells them."""
    current: Record | None = None
    whole = True
    for line in lines:
        begins, whole = whole, line.endswith(b"\n")
        if not begins:
            continue  # the rest of a line that is too long
        if line.startswith(b"\t"):
            if current is None:
                yield None
            elif current.telling and current.size <= MAX_LINE:
                current.size += len(line)
                current.lines.append(line[1:].removesuffix(b"\n"))
            continue
        if current:
            yield current
        current = _begun(line)
        if current is None and line.strip():
            yield None
    if current:
        yield current


def _begun(line: bytes) -> Record | None:
    match = _PREFIX.match(line)
    if not match:
        return None
    text = line[match.end() :]
    pid = match[1].decode()
    if not any(name in text for name in _TELLING):
        return Record({}, pid, False) if text.rstrip().endswith(b"}") else None
    try:
        metadata = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return Record(metadata, pid, True) if isinstance(metadata, dict) else None
