"""Operations about places, and what they hold."""

from __future__ import annotations
