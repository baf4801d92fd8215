"""The order of versions of torch, the same in the window and on the command line."""

from __future__ import annotations

import functools
import re
from typing import Any

_NUMBER = re.compile(r"[0-9]{1,18}")


@functools.lru_cache(maxsize=256)
def version(text: str | None) -> tuple[Any, ...]:
    """What a version of torch is sorted by; nothing comes first."""
    if text is None:
        return ()
    parts = re.split(r"[.+]", text)
    return tuple((0, int(x), "") if _NUMBER.fullmatch(x) else (1, 0, x) for x in parts)
