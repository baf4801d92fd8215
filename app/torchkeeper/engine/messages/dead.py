"""Operations about what is dead, and the trash."""

from __future__ import annotations
