"""Operations about verdicts, and why something was compiled."""

from __future__ import annotations
