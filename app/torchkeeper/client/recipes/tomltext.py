"""Writes a recipe as TOML; tomllib reads the same tables from it again.

Not with tomlkit: it gives each table in a table a header of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_WIDE = 96


def text_of(data: Mapping[str, Any], comment: str = "") -> str:
    """TOML for tables, lists, texts, numbers and switches.

    Tables at the top become ``[table]``, lists of tables ``[[table]]``; what is deeper is written
    in line. comment: what stands before it, a ``#`` is put before each line. Raises TypeError for
    anything that TOML, or a recipe, does not hold.
    """
    parts = ["\n".join(f"# {line}".rstrip() for line in comment.splitlines())] if comment else []
    plain = {key: one for key, one in data.items() if not _tables(one)}
    if plain:
        parts.append(_body(plain))
    for key, value in data.items():
        if isinstance(value, Mapping):
            parts.append(f"[{key_of(key)}]\n{_body(value)}".rstrip())
        elif _tables(value):
            parts += [f"[[{key_of(key)}]]\n{_body(one)}".rstrip() for one in value]
    return "\n\n".join(parts) + "\n" if parts else ""


def _tables(value: Any) -> bool:
    """Whether a value at the top is written as tables of its own."""
    if isinstance(value, Mapping):
        return True
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    return listed and bool(value) and all(isinstance(one, Mapping) for one in value)


def _body(table: Mapping[str, Any]) -> str:
    return "\n".join(pair_of(key, value) for key, value in table.items())


def pair_of(key: str, value: Any) -> str:
    """``key = value``; a list that is too wide for a line has one for each of its items. Raises
    TypeError as ``text_of``.
    """
    line = f"{key_of(key)} = {value_of(value)}"
    if len(line) > _WIDE and isinstance(value, (list, tuple)):
        return f"{key_of(key)} = [\n" + "".join(f"    {value_of(one)},\n" for one in value) + "]"
    return line


def key_of(name: str) -> str:
    """The name of a key, in quotes where it needs them."""
    return name if _BARE.fullmatch(name) else _text(name)


def value_of(value: Any) -> str:
    """A value in one line. Raises TypeError as ``text_of``."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key_of(key)} = {value_of(one)}" for key, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(value_of, value))}]"
    raise TypeError(f"TOML has no word for a {type(value).__name__}")


def _float(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _text(text: str) -> str:
    return '"' + "".join(map(_character, text)) + '"'


def _character(one: str) -> str:
    if one in _ESCAPES:
        return _ESCAPES[one]
    return f"\\u{ord(one):04x}" if ord(one) < 32 or ord(one) == 127 else one
