"""Plain values and texts that nobody expects, for whatever has fields."""

from __future__ import annotations

import json
from random import Random
from typing import Any

#: Names that lead elsewhere, are no names, or look like others.
NAMES = (
    "../evil", "../../../../../../evil", "/etc/evil", "a/../../evil", "a/./b", "a//b", "", ".",
    "..", "C:\\evil", "\\\\host\\share", "a\\b", "nul", "CON", "a\0b", "a\nb", "\x1b[31mred\x1b[0m",
    "é", "\u202etxt.exe", "\u2066x\u2069", "\ud800", "\udcff", "a" * 5_000, "~", "~root/.bashrc",
    "$HOME", "`id`", "%2e%2e%2f", "-rf", "--output=/x", "/dev/stdin", "/proc/self/environ",
    ".torchkeeper-trash/x", "locks/x", "x" * 300, "ﬁle", "e\u0301", "\ufeffx", "{}", "%s%n", "{0}",
)  # fmt: skip
#: Numbers at the edges of what others can hold.
NUMBERS = (
    0, -1, 1, True, 1 << 31, 1 << 32, 1 << 63, -(1 << 63) - 1, 1 << 64, 10**30, -(10**400), 1e308,
    5e-324, float("inf"), float("-inf"), float("nan"), 0.1, -0.0,
)  # fmt: skip


def text(chance: Random) -> str:
    """A text, seldom a good one."""
    if chance.random() < 0.6:
        return chance.choice(NAMES)
    return "".join(chr(chance.choice((chance.randrange(128), chance.randrange(0x3000), 0x1F600)))
                   for _ in range(chance.randrange(12)))  # fmt: skip


def scalar(chance: Random) -> Any:
    """None, a truth, a number or a text."""
    made: Any = chance.choice((None, True, False, chance.choice(NUMBERS), chance.getrandbits(70)))
    return chance.choice((made, text(chance)))


def plain(chance: Random, depth: int = 3) -> Any:
    """A value as JSON or a pickle can hold it."""
    what = chance.randrange(4) if depth else 0
    if what == 1:
        return [plain(chance, depth - 1) for _ in range(chance.randrange(4))]
    if what == 2:
        return {text(chance): plain(chance, depth - 1) for _ in range(chance.randrange(4))}
    return scalar(chance)


#: JSON that is none, or more than it looks like.
ODD_JSON = (
    b"", b" ", b"null", b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"[1e999]",
    b"9" * 5_000, b"[" + b"9" * 4_301 + b"]", b'{"a": 1, "a": 2}', b'{"name": {}, "name": []}',
    b"[" * 100_000, b'{"a":' * 100_000, b"[" * 100_000 + b"]" * 100_000, b'"\\ud800"', b'"\xff"',
    b"\xef\xbb\xbf{}", "{}".encode("utf-16"), "{}".encode("utf-32"), b"{}x", b"{}\0", b"\0",
    b'{"\\u0000": 1}', b"[]", b"{}", b'"x"', b"[{}]", b"[[]]", b"[null]", b"1", b"-", b"'x'",
    b"{,}", b"[1,]", b"/* */{}", b'{"a" "b"}', b'"' + b"\\ud800" * 100,
)  # fmt: skip


def as_json(value: Any) -> bytes:
    """It as JSON, as Python writes it: NaN and lone surrogates among it."""
    return json.dumps(value).encode()


def changed(value: Any, chance: Random, count: int) -> Any:
    """A copy of a JSON value in which some of its parts, wherever they lie, are others."""
    copy = json.loads(json.dumps(value))
    for _ in range(count):
        holders: list[tuple[Any, Any]] = []
        _collect(copy, holders)
        if not holders:
            break
        holder, key = chance.choice(holders)
        what = chance.randrange(7)
        if what == 0:
            del holder[key]
        elif what == 1 and isinstance(holder, list):
            holder *= 2
        elif what == 2 and isinstance(holder, dict):
            holder[text(chance)] = holder.pop(key)
        elif what == 3:
            other, there = chance.choice(holders)
            if isinstance(other, list) and not there < len(other):
                continue
            if isinstance(other, dict) and there not in other:
                continue
            holder[key] = json.loads(json.dumps(other[there]))
        else:
            holder[key] = plain(chance)
    return copy


def _collect(value: Any, holders: list[tuple[Any, Any]]) -> None:
    keys: Any = value if isinstance(value, dict) else range(len(value)) if _is_list(value) else ()
    for key in keys:
        holders.append((value, key))
        if isinstance(value[key], (dict, list)):
            _collect(value[key], holders)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)
