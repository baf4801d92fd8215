"""The language that people are told things in: English, until the window says otherwise.

What is shared by the window and the command line is written down in English where it is said, and
goes through ``tr``. The command line stays as it is: scripts read it.
"""

from __future__ import annotations

from collections.abc import Callable

#: The context in which the window looks for translations of what this floor says.
CONTEXT = "Link"


class _Tongue:
    """What translates; None for English."""

    translate: Callable[[str], str] | None = None


def use(translate: Callable[[str], str] | None) -> None:
    """Have texts translated from now on; with None, as they are written."""
    _Tongue.translate = translate


def tr(text: str) -> str:
    """A text, or a text with places to fill in, in the language that is used."""
    translate = _Tongue.translate
    return text if translate is None or not text else translate(text)
