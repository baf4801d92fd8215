"""Recipes that nobody should have written."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

from tests.hostile import mutations, values

ODD = (
    "a." * 10_000 + "a = 1", "a = " + "[" * 10_000, "a = " + "[" * 100_000 + "]" * 100_000,
    "a = " + "{b = " * 5_000, "a = " + "9" * 5_000, "a = 1e99999", "a = nan",
    "a = 0x" + "f" * 9_000,
    "[" + "a." * 50_000 + "a]", "[[a]]\n" * 50_000, "a = 1\na = 2", "a = '''" + "x" * 200_000,
    "a = 9999-99-99", "a = 0000-01-01", "a = 23:59:60", "\0", "\ufeffa = 1", "a = \"\\ud800\"",
    "[callable]\n" * 2, "# " + "x" * 250_000, "\"\" = 1", "'' = 1", "é = 1", "a = \"\\U00110000\"",
    "\r", "a\n=\n1", "x = [" + "1," * 60_000 + "]", "[matrix]\nbatch = [" + "1," * 60_000 + "]",
    "[matrix]\n" + "".join(f"a{n} = [1, 2]\n" for n in range(2_000)),
)  # fmt: skip


def made(real: list[str], trip: str, chance: Random, size: int) -> bytes:
    """A recipe, damaged or odd."""
    how = chance.randrange(4)
    if how == 0:
        return chance.choice(ODD).encode()
    text = chance.choice(real).encode()
    if how == 1:
        lines = text.split(b"\n")
        for _ in range(size):
            at = chance.randrange(len(lines))
            name = lines[at].partition(b"=")[0]
            value = json.dumps(chance.choice((values.plain(chance), trip, "../../x.py:f")))
            lines[at] = chance.choice((b"", name + b"= " + value.encode(), lines[at] * 2))
        return b"\n".join(lines)
    return mutations.mutated(text, chance, size, chance.choice(real).encode())


def examples() -> list[str]:
    """The recipes that come with the app."""
    folder = Path(__file__).parents[2] / "resources" / "recipes"
    return [path.read_text() for path in sorted(folder.glob("*.toml"))]
