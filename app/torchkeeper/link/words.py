"""The words for every problem an engine can report: what happened, why, and what to do.

An engine sends only a code and its parameters; nothing an entry contains is ever shown as if the
app had said it. The window and the command line both take their words from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


class UserError(Exception):
    """What happened, why, and what the user can do about it."""

    def __init__(self, what: str, why: str = "", remedy: str = "", *, code: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.remedy = remedy
        self.code = code

    def __str__(self) -> str:
        return "\n".join(part for part in (self.what, self.why, self.remedy) if part)


@dataclass(frozen=True)
class Words:
    """Templates for one code; ``{name}`` stands for a parameter."""

    what: str
    why: str = ""
    remedy: str = ""


CATALOGUE: dict[str, Words] = {}


class _Shown(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "?"


def user_error(code: str, params: Mapping[str, object]) -> UserError:
    """The words for a code. An unknown code is said as such, with its parameters."""
    words = CATALOGUE.get(code)
    if words is None:
        said = ", ".join(f"{k}={v}" for k, v in params.items())
        return UserError(f"The engine reported “{code}”.", said, code=code)
    shown = _Shown({k: printable(str(v)) for k, v in params.items()})
    return UserError(
        words.what.format_map(shown),
        words.why.format_map(shown),
        words.remedy.format_map(shown),
        code=code,
    )


def printable(text: str, limit: int = 400) -> str:
    """The text with control and undecodable characters made visible, and cut to ``limit``."""
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode()
                   for c in text[: limit + 1])
    return safe if len(text) <= limit else safe[:limit] + "…"
