"""Operations about environments, settings and processes."""

from __future__ import annotations
