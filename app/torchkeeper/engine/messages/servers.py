"""Operations about servers."""

from __future__ import annotations
