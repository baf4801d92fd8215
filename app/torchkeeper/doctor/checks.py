"""All checks, in the order in which they are made and told."""

from __future__ import annotations

from torchkeeper.doctor import disk
from torchkeeper.doctor.check import Check

CHECKS: tuple[Check, ...] = (
    Check("file-system", "folder", disk.file_system),
    Check("room", "folder", disk.room),
)
