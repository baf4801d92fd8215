"""Operations about bundles, copies and signatures."""

from __future__ import annotations
