"""Operations about one entry, and names."""

from __future__ import annotations
