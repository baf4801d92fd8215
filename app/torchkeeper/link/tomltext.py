"""Writes a recipe as TOML; tomllib reads the same tables from it again."""

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
            parts.append(f"[{_key(key)}]\n{_body(value)}".rstrip())
        elif _tables(value):
            parts += [f"[[{_key(key)}]]\n{_body(one)}".rstrip() for one in value]
    return "\n\n".join(parts) + "\n" if parts else ""


def _tables(value: Any) -> bool:
    """Whether a value at the top is written as tables of its own."""
    if isinstance(value, Mapping):
        return True
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    return listed and bool(value) and all(isinstance(one, Mapping) for one in value)


def _body(table: Mapping[str, Any]) -> str:
    lines = []
    for key, value in table.items():
        line = f"{_key(key)} = {_value(value)}"
        if len(line) > _WIDE and isinstance(value, (list, tuple)):
            line = f"{_key(key)} = [\n" + "".join(f"    {_value(one)},\n" for one in value) + "]"
        lines.append(line)
    return "\n".join(lines)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {_value(one)}" for key, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
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
