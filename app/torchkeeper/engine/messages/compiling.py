"""Operations about compile jobs."""

from __future__ import annotations
