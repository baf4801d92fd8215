"""Changes single keys of a TOML text; all else, comments and the way it is laid out, stays.

Not with tomlkit: whatever is changed, it moves a table that stands between two of an array, such
as ``[matrix]`` between two ``[[callable]]``.

The text is one that tomllib has accepted. A path is that of ``tomllines``: names of keys, and
numbers of items from 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from torchkeeper.client.recipes.tomllines import Lines, Path
from torchkeeper.client.recipes.tomltext import key_of, pair_of, value_of

#: What may follow an item in its line.
_REST = re.compile(r"[ \t]*,?[ \t]*(?:#[^\n]*)?")


def put(text: str, path: Path, value: Any, before: Any = None) -> str:
    """The text with this value of a key; ``before``: the list that it is now, of which the items
    that are in both stay as they are written. Raises TypeError as ``tomltext.text_of``, LookupError
    where there is no room for it.
    """
    lines = Lines(text)
    if path in lines.values:
        if isinstance(value, list) and isinstance(before, list) and value and before:
            return _items(lines, path, value, before)
        return _replaced(lines.text, *lines.values[path], value_of(value))
    return _added(lines, path, value)


def remove(text: str, path: Path) -> str:
    """The text without a key; and without its table, where nothing else is in that. Raises
    LookupError where it is not there as a key.
    """
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
    alone = not text[line : beside[0]].strip()
    gap = f",\n{text[line : beside[0]]}" if alone else ", "
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
    pairs = sorted(pair for key, pair in lines.pairs.items() if key[: len(table)] == table
                   and key != table and _is_direct(lines, key, table))  # fmt: skip
    at = pairs.index(lines.pairs[path])
    if at + 1 < len(pairs):
        return _replaced(text, pairs[at][0], pairs[at + 1][0], "")
    if at:
        return _replaced(text, pairs[at - 1][1], pairs[at][1], "")
    return _replaced(text, *lines.values[table], "{}")


def _is_direct(lines: Lines, key: Path, table: Path) -> bool:
    """Whether a pair stands in an inline table itself, not in a value of it."""
    between = (key[:length] for length in range(len(table) + 1, len(key)))
    return not any(one in lines.values for one in between)


def _is_inline(lines: Lines, table: Path) -> bool:
    span = lines.values.get(table)
    return bool(table) and span is not None and lines.text.startswith("{", span[0])


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _replaced(text: str, start: int, end: int, by: str) -> str:
    return text[:start] + by + text[end:]
