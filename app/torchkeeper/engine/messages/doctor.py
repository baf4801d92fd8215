"""Operations about the doctor."""

from __future__ import annotations
