"""What looks like a password or a token, and what is shown in its place: an ellipsis.

Nobody can tell for certain. What is written down for others to read errs towards hiding.
"""

from __future__ import annotations

import re
from typing import Any

from torchkeeper.artifacts.masking import hidden
from torchkeeper.artifacts.secretforms import SURE

__all__ = ["hidden", "is_secret"]

#: A text that is nothing but such: letters and digits as nobody would name something.
_RANDOM = (
    re.compile(r"[0-9a-f]{32,}", re.IGNORECASE),
    re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE),
    re.compile(
        r"(?=.*[a-z])(?=.*[A-Z])(?=(?:.*\d){2})"
        r"(?:[A-Za-z\d]{24,}|[A-Za-z\d+/]{40}|[A-Za-z\d+/]{22,}={1,2})"
    ),
)
#: Names that give away a secret, wherever they stand in one; and as a word of it, for a text alone:
#: a model has a ``pad_token`` that is a number.
_ANYWHERE = re.compile(SURE, re.IGNORECASE)
_WORDS = frozenset({"pass", "auth", "authorization", "bearer", "jwt", "cookie"})
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def is_secret(name: str, value: Any) -> bool:
    """Whether the value of an argument, or in a list (name: ""), looks like a secret."""
    if isinstance(value, dict):
        return any(is_secret(name, value.get(form)) for form in ("list", "tuple"))
    if isinstance(value, (list, tuple)):
        return any(is_secret(name, one) for one in value)
    if value is None or isinstance(value, bool):
        return False
    if _ANYWHERE.search(name):
        return True
    if not isinstance(value, str):
        return False
    words = re.split(r"[^a-z]+", _CAPITAL.sub("_", name).lower())
    named = any(word in _WORDS or word.endswith("token") for word in words)
    return named or hidden([value]) != [value] or any(x.fullmatch(value.strip()) for x in _RANDOM)
