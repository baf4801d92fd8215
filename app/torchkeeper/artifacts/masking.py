"""A command line without its passwords and tokens: an ellipsis in their place.

Nobody can tell for certain. What others may read errs towards hiding.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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
