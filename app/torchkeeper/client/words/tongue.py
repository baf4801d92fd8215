"""The language that people are told things in: English, until the window says otherwise; the
command line stays as it is: scripts read it. What both say is English where it is said, and goes
through ``tr`` as a whole sentence with named places: other languages have another order.
"""

from __future__ import annotations

from collections.abc import Callable

#: The context in which the window looks for translations of what this floor says.
CONTEXT = "Client"

#: A text that is written down before anybody knows the language: it is translated where it is
#: told. What says in a table's type that its texts are such has them collected for translators.
Text = str
#: One and several of a thing, for ``several`` or ``say.count``.
Nouns = tuple[str, str]


class _Tongue:
    """What translates a text, and the form of it that goes with a number; None for English."""

    translate: Callable[[str, int], str] | None = None


def use(translate: Callable[[str, int], str] | None) -> None:
    """Have texts translated from now on, or not; without a number to go with, that is -1."""
    _Tongue.translate = translate


def is_english() -> bool:
    return _Tongue.translate is None


def tr(text: str, /, **places: object) -> str:
    """A text in the language that is used, its places filled in: whole numbers as 1,204."""
    translate = _Tongue.translate
    said = text if translate is None or not text else translate(text, -1)
    return _filled(said, places) if places else said


def several(number: int, one: str, many: str, /, **places: object) -> str:
    """The text of two that goes with a number, its place ``n``; elsewhere a form of the second."""
    return _filled(form(number, one, many), {"n": number, **places})


def form(number: int, one: str, many: str, /) -> str:
    """The same, with its places still to be filled in."""
    translate = _Tongue.translate
    said = many if translate is None else translate(many, number)
    return one if number == 1 and said == many else said


def _filled(text: str, places: dict[str, object]) -> str:
    shown = {name: f"{x:,}" if type(x) is int else x for name, x in places.items()}
    return text.format_map(shown)
