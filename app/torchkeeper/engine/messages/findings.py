"""What an operation says on its way, beside rows and how far it is."""

from __future__ import annotations

from typing import TypedDict


class Finding(TypedDict, total=False):
    """A finding: each has one of these fields, or one and what it belongs to."""
