"""What a problem is said with: templates, some of which go with a number."""

from __future__ import annotations

from typing import NamedTuple


class Forms(NamedTuple):
    """A template that goes with a number: a parameter, or the sum of several, ``files+locks``."""

    of: str
    one: str
    many: str


class Words(NamedTuple):
    """Templates for one code; ``{name}`` stands for a parameter."""

    what: str | Forms
    why: str | Forms = ""
    remedy: str | Forms = ""

    @property
    def texts(self) -> list[str]:
        """All that it may say."""
        every = [(one,) if isinstance(one, str) else (one.one, one.many) for one in self]
        return [text for some in every for text in some]
