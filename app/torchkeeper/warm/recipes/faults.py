"""What is wrong with a piece of plain data: where, what was expected there, and what was found.

Such data was read from a file of the user's, or came over a wire: nothing of it is believed.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeGuard

#: Where something lies in the data: names of keys, and numbers of items from 0.
Where = tuple["str | int", ...]

#: Faults that are told; nobody reads more.
MOST = 100
#: What a text, a list and a whole number may be at most; no recipe comes near.
LONGEST, MOST_ITEMS, LARGEST = 4000, 1000, 2**63 - 1
#: How deep lists and tables may lie in each other.
DEEPEST = 8
_SHOWN = 60
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong. where: the path to it. expected: a code, which
    ``client.words.problems`` has the words for, with ``params``. found: the value as it was
    written, cut, or "" where something is missing. at_key: the key is wrong and not its value.
    """

    where: Where
    expected: str
    found: str
    params: dict[str, str | int] = field(default_factory=dict)
    at_key: bool = False


class Faults:
    """Collects what is wrong; each method returns whether a value is as it should be."""

    def __init__(self) -> None:
        self.found: list[Fault] = []

    def add(
        self, where: Where, code: str, value: object = "", at_key: bool = False, **params: str | int
    ) -> bool:
        """Note a fault; returns False. value: what was found, as ``shown`` made it."""
        if len(self.found) < MOST:
            self.found.append(Fault(where, code, str(value), params, at_key))
        return False

    def table(self, value: object, where: Where) -> TypeGuard[Mapping[str, object]]:
        """A table, the keys of which are texts that can be shown."""
        if not isinstance(value, dict):
            return self.add(where, "table", shown(value))
        if len(value) > MOST_ITEMS:
            return self.add(where, "fewer", most=MOST_ITEMS)
        for key in value:
            if not isinstance(key, str) or len(key) > LONGEST or _CONTROL.search(key):
                return self.add(where, "key", shown(key))
        return True

    def keys(self, table: Mapping[str, object], known: Collection[str], where: Where) -> bool:
        """Only keys that are known."""
        good = True
        for key in table:
            if key not in known:
                near = nearest(key, known)
                good = self.add(
                    (*where, key), "key-near" if near else "key-known", _cut(key), True,
                    near=near, known=", ".join(known),
                )  # fmt: skip
        return good

    def items(self, value: object, where: Where, least: int = 0) -> TypeGuard[list[object]]:
        """A list of at least so many items."""
        if not isinstance(value, list):
            return self.add(where, "list", shown(value))
        if len(value) < least:
            return self.add(where, "not-empty", shown(value))
        return len(value) <= MOST_ITEMS or self.add(where, "fewer", most=MOST_ITEMS)

    def text(self, value: object, where: Where, longest: int = LONGEST) -> bool:
        """A text that is not empty, without what ends lines or texts."""
        if not isinstance(value, str) or not value.strip():
            return self.add(where, "text", shown(value))
        if len(value) > longest:
            return self.add(where, "shorter", shown(value), most=longest)
        return value.isprintable() or self.add(where, "printable", shown(value))

    def one_of(self, value: object, known: Collection[str], where: Where, expected: str) -> bool:
        """A text out of some."""
        if isinstance(value, str) and value in known:
            return True
        near = nearest(value, known) if isinstance(value, str) else ""
        return self.add(where, expected, shown(value), near=near, known=", ".join(known))

    def matching(
        self, value: object, pattern: re.Pattern[str], where: Where, expected: str
    ) -> bool:
        """A text that a pattern describes in full."""
        good = isinstance(value, str) and len(value) <= LONGEST and pattern.fullmatch(value)
        return bool(good) or self.add(where, expected, shown(value))

    def switch(self, value: object, where: Where) -> bool:
        """true or false."""
        return isinstance(value, bool) or self.add(where, "switch", shown(value))

    def whole(self, value: object, where: Where, least: int, most: int = LARGEST) -> bool:
        """A whole number within bounds."""
        good = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        return good or self.add(where, "whole", shown(value), least=least, most=most)

    def number(self, value: object, where: Where) -> TypeGuard[float]:
        """A finite number that a machine can hold."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return self.add(where, "number", shown(value))
        good = -LARGEST <= value <= LARGEST if isinstance(value, int) else math.isfinite(value)
        return good or self.add(where, "number", shown(value))

    def plain(self, value: object, where: Where, deep: int = 0) -> bool:
        """A value that means the same everywhere: texts, numbers, switches; lists, tables."""
        if deep > DEEPEST:
            return self.add(where, "shallower", most=DEEPEST)
        if isinstance(value, (bool, float)):
            return True
        if isinstance(value, int):
            return abs(value) <= LARGEST or self.add(where, "number", shown(value))
        if isinstance(value, str):
            good = len(value) <= LONGEST and "\0" not in value
            return good or self.add(where, "plain", shown(value))
        if isinstance(value, list):
            inside: Iterable[tuple[str | int, Any]] = enumerate(value)
            good = self.items(value, where)
        elif isinstance(value, dict):
            inside = value.items()
            good = self.table(value, where)
        else:
            return self.add(where, "plain", shown(value))
        if good:
            for at, one in inside:
                good = self.plain(one, (*where, at), deep + 1) and good
        return good


def nearest(name: str, known: Collection[str]) -> str:
    """The known name that was probably meant, or ""."""
    near = difflib.get_close_matches(name[:100].lower(), list(known), n=1, cutoff=0.6)
    return near[0] if near else ""


def shown(value: object) -> str:
    """A value much as a recipe writes it, cut to a length that fits a line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        # Python refuses to write numbers of many thousand digits.
        return str(value) if value.bit_length() < 200 else "…"
    if isinstance(value, str):
        return '"' + _cut(value) + '"'
    if isinstance(value, (list, tuple)):
        return "[…]" if value else "[]"
    if isinstance(value, dict):
        return "{…}" if value else "{}"
    return "null" if value is None else _cut(str(value))


def _cut(text: str) -> str:
    text = text[: _SHOWN + 1]
    if not text.isprintable():
        text = "".join(one if one.isprintable() else "�" for one in text)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def said(where: Where) -> str:
    """A path as people write it: ``matrix.batch[1]``; items are counted from 0, as in Python."""
    text = ""
    for one in where:
        if isinstance(one, int):
            text += f"[{one}]"
        else:
            name = one if _BARE.fullmatch(one) else shown(one)
            text += f".{name}" if text else name
    return text
