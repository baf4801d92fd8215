"""The colours of a map: what a tile is filled with, so that the theme's text can be read on it."""

from __future__ import annotations

import functools

from PySide6.QtGui import QColor

from torchkeeper.gui.theme import Shades

#: What text has to stand out from its ground by (WCAG 2, AA), and a little more.
CONTRAST = 4.6
#: How much of its colour a tile has, on a light and on a dark ground: the largest, the smallest.
_LIGHT, _DARK = (0.52, 0.28), (0.50, 0.28)
#: How much of the accent the first and the last of a sequence have.
_STEPS = (1.0, 0.25)
#: A tile's depth has so many steps, so that there are few colours.
DEPTHS = 6


def of_kind(kind: str) -> str:
    """The shade of a kind of entries."""
    return f"kind:{kind}"


def of_verdict(verdict: str) -> str:
    """The shade of a verdict; empty for none."""
    return f"verdict:{verdict}"


def of_step(number: int, count: int) -> str:
    """The shade of one of several that have no colour of their own: places, versions, ages."""
    return f"step:{number}:{max(1, count)}"


@functools.lru_cache(maxsize=512)
def _fill(dark: bool, colour: str, base: str, text: str, depth: int) -> str:
    most, least = _DARK if dark else _LIGHT
    made = _mixed(colour, base, most + (least - most) * depth / max(1, DEPTHS - 1))
    while contrast(made, text) < CONTRAST:
        made = _mixed(made, base, 0.94)
    return made


def fill(shades: Shades, shade: str, depth: int = 0) -> str:
    """The ground of a tile; the smaller one is, the greater its depth, and the paler it is."""
    what, _, which = shade.partition(":")
    if what == "kind":
        colour = shades.kinds.get(which, shades.muted)
    elif what == "verdict":
        colour = shades.verdict(which)
    elif what == "step":
        number, _, count = which.partition(":")
        part = int(number) / max(1, int(count) - 1)
        strength = _STEPS[0] + (_STEPS[1] - _STEPS[0]) * min(1.0, part)
        colour = _mixed(shades.accent, shades.selected_quiet, strength)
    else:
        return shades.selected_quiet
    return _fill(shades.dark, colour, shades.base, shades.text, min(max(depth, 0), DEPTHS - 1))


def hovered(shades: Shades, ground: str) -> str:
    """The ground of a tile under the pointer: nearer to the page, where text is read more easily,
    not less.
    """
    return _mixed(ground, shades.base, 0.8)


def contrast(a: str, b: str) -> float:
    """The contrast ratio of WCAG."""
    high, low = sorted((_light(a), _light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@functools.lru_cache(maxsize=512)
def _light(colour: str) -> float:
    drawn = QColor(colour)
    total = 0.0
    for weight, part in ((0.2126, drawn.redF()), (0.7152, drawn.greenF()), (0.0722, drawn.blueF())):
        total += weight * (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4)
    return total


def _mixed(colour: str, ground: str, strength: float) -> str:
    """So much of a colour on a ground."""
    above, below = QColor(colour), QColor(ground)
    red, green, blue = (
        round(a * strength + b * (1 - strength))
        for a, b in (
            (above.red(), below.red()),
            (above.green(), below.green()),
            (above.blue(), below.blue()),
        )
    )
    return f"#{red:02x}{green:02x}{blue:02x}"
