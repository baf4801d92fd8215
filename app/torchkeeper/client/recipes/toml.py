"""Recipes as TOML that tomllib has accepted: written, and single keys of a text changed; all else,
comments and layout too, stays as it is. tomllib does not tell where a value stands. Nor does
tomlkit, which also moves ``[matrix]`` from between two ``[[callable]]``, whatever is changed, and
gives tables in tables headers of their own.
"""

from __future__ import annotations

import bisect
import re
import tomllib
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

#: A path in the data: names of keys, and numbers of items from 0.
Path = tuple["str | int", ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRINGS = (
    re.compile(r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}', re.DOTALL),
    re.compile(r"'''(?:[^']|'{1,2}(?!'))*'{3,5}", re.DOTALL),
    re.compile(r'"(?:[^"\\]|\\.)*"'),
    re.compile(r"'[^']*'"),
)
_SCALAR = re.compile(r"[^,\]}#\n]*")


class Lines:
    """The places of all keys and values of a text that tomllib has accepted. text: as tomllib has
    it. pairs: where each ``key = value`` begins and ends in it. values: where each value does, but
    no table of lines of its own. heads: of each ``[table]``, by its path, where its header ends,
    and where its last pair does.
    """

    def __init__(self, text: str) -> None:
        self.text = self._text = text.replace("\r\n", "\n")
        self.pairs: dict[Path, tuple[int, int]] = {}
        self.values: dict[Path, tuple[int, int]] = {}
        self.heads: dict[Path, tuple[int, int]] = {}
        self._starts = [0, *(match.end() for match in re.finditer("\n", self._text))]
        self._keys: dict[Path, int] = {}
        self._values: dict[Path, int] = {}
        #: How many tables an array of tables has by now.
        self._counts: dict[Path, int] = {}
        self._at = 0
        self._document()

    def of(self, where: Path, at_key: bool = False) -> tuple[int, int]:
        """Line and column, from 1, of a value or its key; or of what a missing one would be in."""
        for end in range(len(where), 0, -1):
            path = where[:end]
            first, second = (self._keys, self._values)[:: 1 if at_key else -1]
            if (at := first.get(path, second.get(path))) is not None:
                line = bisect.bisect_right(self._starts, at)
                return line, at - self._starts[line - 1] + 1
            at_key = True
        return 1, 1

    def _document(self) -> None:
        table: Path = ()
        while self._skip() < len(self._text):
            if self._text[self._at] != "[":
                end = self._pair(table)
                if table in self.heads:
                    self.heads[table] = self.heads[table][0], end
                continue
            start = self._at
            several = self._text.startswith("[[", start)
            self._at += 2 if several else 1
            parts = [name for name, _ in self._key()]
            self._at = self._text.index("]", self._at) + (2 if several else 1)
            table = ()
            for name in parts[:-1]:
                table = (*table, name)
                if table in self._counts:  # of an array of tables, its latest
                    table = (*table, self._counts[table] - 1)
                self._keys.setdefault(table, start)
            table = (*table, parts[-1])
            self._keys.setdefault(table, start)
            if several:
                count = self._counts.get(table, 0)
                self._counts[table] = count + 1
                table = (*table, count)
            self._keys[table] = self._values[table] = start
            self.heads[table] = self._at, self._at

    def _skip(self) -> int:
        self._past(_BLANK)
        return self._at

    def _past(self, *patterns: re.Pattern[str]) -> str:
        """Past the first of these that stands here; what that is."""
        for match in filter(None, (one.match(self._text, self._at) for one in patterns)):
            self._at = match.end()
            return match[0]
        return ""

    def _pair(self, table: Path) -> int:
        """Past a key and its value; where that ends."""
        path, start = table, self._at
        for name, at in self._key():
            path = (*path, name)
            self._keys.setdefault(path, at)
        self._at = self._text.index("=", self._at) + 1
        end = self._value(path)
        self.pairs[path] = start, end
        return end

    def _key(self) -> list[tuple[str, int]]:
        """The names of a key, with where each stands."""
        found = []
        while True:
            self._past(_SPACE)
            start = self._at
            if not (name := self._past(_BARE)):
                name = tomllib.loads(f"key = {self._past(*_STRINGS)}")["key"]
            found.append((name, start))
            self._past(_SPACE)
            if not self._text.startswith(".", self._at):
                return found
            self._at += 1

    def _value(self, path: Path) -> int:
        """Past a value; where it ends."""
        self._skip()
        start = self._values[path] = self._at
        if self._text[self._at] == "[":
            self._at += 1
            count = 0
            while self._text[self._skip()] != "]":
                self._value((*path, count))
                count += 1
                self._comma()
            self._at += 1
        elif self._text[self._at] == "{":
            self._at += 1
            while self._text[self._skip()] != "}":
                self._pair(path)
                self._comma()
            self._at += 1
        elif not self._past(*_STRINGS):
            self._past(_SCALAR)
        end = start + len(self._text[start : self._at].rstrip())
        self.values[path] = start, end
        return end

    def _comma(self) -> None:
        if self._text[self._skip()] == ",":
            self._at += 1


_ESCAPES = {code: f"\\u{code:04x}" for code in (*range(32), 127)} | str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
)
_WIDE = 96


def text_of(data: Mapping[str, Any], comment: str = "") -> str:
    """TOML: tables at the top become ``[table]``, lists of tables ``[[table]]``, all else is in
    line. comment: what stands before it, after ``#``. Raises TypeError for what TOML does not hold.
    """
    parts = ["\n".join(f"# {line}".rstrip() for line in comment.splitlines())] if comment else []
    if plain := {key: one for key, one in data.items() if not _tables(one)}:
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
    """``key = value``; a wide list has a line for each item. Raises TypeError as ``text_of``."""
    line = f"{key_of(key)} = {value_of(value)}"
    if len(line) > _WIDE and isinstance(value, (list, tuple)):
        return f"{key_of(key)} = [\n" + "".join(f"    {value_of(one)},\n" for one in value) + "]"
    return line


def key_of(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def value_of(value: Any) -> str:
    """A value in one line. Raises TypeError as ``text_of``."""
    if isinstance(value, (bool, float)):
        return repr(value).lower()  # true, 1.5, inf, nan
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{key_of(key)} = {value_of(one)}" for key, one in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(value_of, value))}]"
    raise TypeError(f"TOML has no word for a {type(value).__name__}")


def _text(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


#: What may follow an item in its line.
_REST = re.compile(r"[ \t]*,?[ \t]*(?:#[^\n]*)?")


def put(text: str, path: Path, value: Any, before: Any = None) -> str:
    """The text with this value of a key. before: the list that it is now, of which the items that
    are in both stay as they are written. Raises TypeError as ``text_of``, LookupError where there
    is no room for it.
    """
    lines = Lines(text)
    if path in lines.values:
        if isinstance(value, list) and isinstance(before, list) and value and before:
            return _items(lines, path, value, before)
        return _replaced(lines.text, *lines.values[path], value_of(value))
    return _added(lines, path, value)


def remove(text: str, path: Path) -> str:
    """The text without a key, or its table if that is empty then. Raises LookupError."""
    lines = Lines(text)
    start, end = lines.pairs[path]
    if _is_inline(lines, path[:-1]):
        return _without_inline(lines, path)
    text = lines.text
    first, last = text.rfind("\n", 0, start) + 1, _line_end(text, end)
    text = text[:first] + text[last + 1 :]
    table = path[:-1]
    head = Lines(text).heads.get(table)
    # What stands in the lines of a table until the next one may be a comment.
    if table and head and head[0] == head[1]:
        after = text.find("\n[", head[1])
        stop = len(text) if after < 0 else after + 1
        begin = text.rfind("\n", 0, head[0]) + 1
        if not text[head[1] : stop].strip():
            text = text[:begin] + text[stop:]
            text = text if stop < len(text) or not begin else text.rstrip("\n") + "\n"
    return text


def rename(text: str, path: Path, name: str) -> str:
    """The text with another name of a key. Raises LookupError where it is not there as a key."""
    lines = Lines(text)
    start, _ = lines.pairs[path]
    stop = lines.text.index("=", start)
    old = lines.text[start:stop]
    # Of a key in several parts the last is renamed.
    prefix, dot, _last = old.rpartition(".")
    blank = old[len(old.rstrip()) :]
    return _replaced(lines.text, start, stop, f"{prefix}{dot}{key_of(name)}{blank}")


def _added(lines: Lines, path: Path, value: Any) -> str:
    text, table, name = lines.text, path[:-1], str(path[-1])
    if _is_inline(lines, table):
        start, end = lines.values[table]
        inside = text[start + 1 : end - 1].rstrip()
        comma = "," if inside.strip() and not inside.endswith(",") else ""
        at = start + 1 + len(inside)
        return _replaced(text, at, end - 1, f"{comma} {key_of(name)} = {value_of(value)} ")
    if table in lines.heads:
        at = _line_end(text, lines.heads[table][1])
        return _replaced(text, at, at, f"\n{pair_of(name, value)}")
    beside = [pair for key, pair in lines.pairs.items() if table and key[:-1] == table]
    if beside:  # compile.mode = …
        start, end = max(beside)
        prefix = text[start : text.index("=", start)].rpartition(".")[0]
        at = _line_end(text, end)
        return _replaced(text, at, at, f"\n{prefix}.{pair_of(name, value)}")
    if len(table) != 1:
        raise LookupError(table)
    gap = "\n" if text.strip() else ""
    body = f"[{key_of(str(table[0]))}]\n{pair_of(name, value)}\n"
    return f"{text.rstrip()}\n{gap}{body}" if gap else body


def _items(lines: Lines, path: Path, value: Sequence[Any], before: Sequence[Any]) -> str:
    """The text with other items of a list, of which neither is empty."""
    spans = [lines.values[(*path, at)] for at in range(len(before))]
    written, now = ([value_of(one) for one in some] for some in (before, value))
    text = lines.text
    # From the end, so that the places before stay what they are.
    for what, i, j, a, b in reversed(SequenceMatcher(None, written, now, False).get_opcodes()):
        more, same = now[a:b], min(j - i, b - a)
        if what == "equal":
            continue
        if b - a > same:
            text = _put_in(text, spans, i + same, more[same:])
        elif j - i > same:
            start, stop = i + same, j
            if own := _own_lines(text, spans[start][0], spans[stop - 1][1]):
                text = _replaced(text, *own, "")
            elif stop < len(spans):
                text = _replaced(text, spans[start][0], spans[stop][0], "")
            elif start:
                text = _replaced(text, spans[start - 1][1], spans[-1][1], "")
            else:
                raise LookupError(path)
        for at in range(same - 1, -1, -1):
            text = _replaced(text, *spans[i + at], more[at])
    return text


def _own_lines(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The lines of items where nothing else is in them but a comma and a comment."""
    first, last = text.rfind("\n", 0, start) + 1, _line_end(text, end)
    if text[first:start].strip() or not _REST.fullmatch(text, end, last):
        return None
    return first, last + 1


def _put_in(text: str, spans: Sequence[tuple[int, int]], at: int, more: Sequence[str]) -> str:
    """The text with more items before that of this number, or after all."""
    beside = spans[min(at, len(spans) - 1)]
    line = text.rfind("\n", 0, beside[0]) + 1
    gap = f",\n{text[line : beside[0]]}" if not text[line : beside[0]].strip() else ", "
    if at < len(spans):
        return _replaced(text, beside[0], beside[0], "".join(one + gap for one in more))
    if own := _own_lines(text, *beside):
        # After the comment of the last, too.
        rest = text[beside[1] : own[1] - 1]
        mark = "," if rest.lstrip().startswith(",") else ""
        new = gap.join(more) + mark
        return _replaced(text, beside[1], own[1] - 1, f"{'' if mark else ','}{rest}{gap[1:]}{new}")
    return _replaced(text, beside[1], beside[1], "".join(gap + one for one in more))


def _without_inline(lines: Lines, path: Path) -> str:
    text, table = lines.text, path[:-1]
    # Those that stand in the table itself, not in a value of it.
    pairs = sorted(
        pair
        for key, pair in lines.pairs.items()
        if key[: len(table)] == table != key
        and not any(key[:length] in lines.values for length in range(len(table) + 1, len(key)))
    )
    at = pairs.index(lines.pairs[path])
    if at + 1 < len(pairs):
        return _replaced(text, pairs[at][0], pairs[at + 1][0], "")
    if at:
        return _replaced(text, pairs[at - 1][1], pairs[at][1], "")
    return _replaced(text, *lines.values[table], "{}")


def _is_inline(lines: Lines, table: Path) -> bool:
    span = lines.values.get(table)
    return bool(table) and span is not None and lines.text.startswith("{", span[0])


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _replaced(text: str, start: int, end: int, by: str) -> str:
    return text[:start] + by + text[end:]
