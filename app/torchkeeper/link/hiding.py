"""What looks like a password or a token, and what is shown in its place: an ellipsis.

Nobody can tell for certain. What is written down for others to read errs towards hiding.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from torchkeeper.artifacts.secretforms import MAYBE, SURE, TOKENS

_URL = re.compile(r"([A-Za-z][\w+.-]*://[^/\s:@]*):[^@\s]*@")
_USER = re.compile(r"([A-Za-z][\w+.-]*://)[^/\s:@]+@")
_HIDDEN = rf"(?:pass|{SURE}|{MAYBE})"
_NAMED = re.compile(
    rf"((?:^|[\s?&;,('\"_-])[\w.-]*{_HIDDEN}['\"]?\s*[=:]\s*)(?:(?:bearer|basic|token)\s+)?"
    r"(?:'[^']*'|\"[^\"]*\"|[^\s&;,'\"]+['\"]?)",
    re.IGNORECASE,
)
#: All of an argument is the secret's, and of a line of a shell the next word.
_WHOLE = re.compile(rf"(-{{0,2}}[\w.-]*{_HIDDEN}=).+", re.IGNORECASE | re.DOTALL)
_NEXT = re.compile(rf"(\s-{{1,2}}[\w.-]*{_HIDDEN}\s+)[^\s-]\S*", re.IGNORECASE)
_OPTION = re.compile(rf"-{{1,2}}[\w.-]*{_HIDDEN}", re.IGNORECASE)

#: What those who give out tokens begin them with, and what HTTP has before one.
_TOKEN = re.compile(
    rf"\b(?:{'|'.join(form.pattern(form.hidden) for form in TOKENS)})"
    r"|\bBearer\s+\S+|\bBasic\s+(?=\S*[\d=])[A-Za-z\d+/]{6,}={0,2}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*",
    re.IGNORECASE,
)
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


def hidden(command: Sequence[str]) -> list[str]:
    """A command line with an ellipsis where a password or a token is, as far as can be told."""
    found: list[str] = []
    after = False
    for argument in command:
        if whole := _WHOLE.fullmatch(argument):
            shown = f"{whole[1]}…"
        else:
            shown = _USER.sub(r"\1…@", _URL.sub(r"\1:…@", argument))
            shown = _TOKEN.sub("…", _NEXT.sub(r"\1…", _NAMED.sub(r"\1…", shown)))
        if after and not argument.startswith("-"):
            shown = "…"
        after = _OPTION.fullmatch(argument) is not None
        found.append(shown)
    return found


def is_secret(name: str, value: Any) -> bool:
    """Whether the value of an argument, or one of a list, looks like what nobody should read.

    name: the argument's; empty for one that has none. value: plain, or as a recipe has inputs.
    """
    if isinstance(value, dict):
        return any(is_secret(name, value.get(form)) for form in ("list", "tuple"))
    if isinstance(value, (list, tuple)):
        return any(is_secret(name, one) for one in value)
    if value is None or isinstance(value, bool):
        return False
    if _ANYWHERE.search(name):
        return True
    return isinstance(value, str) and (_names_one(name) or _is_one(value))


def _names_one(name: str) -> bool:
    words = re.split(r"[^a-z]+", _CAPITAL.sub("_", name).lower())
    return any(word in _WORDS or word.endswith("token") for word in words)


def _is_one(text: str) -> bool:
    return hidden([text]) != [text] or any(form.fullmatch(text.strip()) for form in _RANDOM)
