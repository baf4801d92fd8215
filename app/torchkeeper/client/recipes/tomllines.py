"""Where in a TOML text each key and each value stands; neither tomllib nor tomlkit tells.

The text is one that tomllib has accepted, so that nothing here looks for mistakes.
"""

from __future__ import annotations

import bisect
import re
import tomllib

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
    """The places of all keys and values of a text that tomllib has accepted.

    text: as tomllib has it. pairs: where each ``key = value`` begins and ends in it; values: where
    each value does, but no table of lines of its own. heads: of each ``[table]``, by its path,
    where its header ends, and where its last pair does.
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
        """Line and column, from 1, of a value, or of its key; of what is not there, those of what
        it would be in.
        """
        for end in range(len(where), 0, -1):
            path = where[:end]
            places = (self._keys, self._values) if at_key else (self._values, self._keys)
            for place in places:
                if path in place:
                    return self._line(place[path])
            at_key = True
        return 1, 1

    def _line(self, at: int) -> tuple[int, int]:
        line = bisect.bisect_right(self._starts, at)
        return line, at - self._starts[line - 1] + 1

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
                table = self._inside((*table, name))
                self._keys.setdefault(table, start)
            table = (*table, parts[-1])
            self._keys.setdefault(table, start)
            if several:
                count = self._counts.get(table, 0)
                self._counts[table] = count + 1
                table = (*table, count)
            self._keys[table] = self._values[table] = start
            self.heads[table] = self._at, self._at

    def _inside(self, path: Path) -> Path:
        """The path of a table: of an array of tables, its latest."""
        return (*path, self._counts[path] - 1) if path in self._counts else path

    def _skip(self) -> int:
        """Past spaces, comments and ends of lines."""
        match = _BLANK.match(self._text, self._at)
        self._at = match.end() if match else self._at
        return self._at

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
            self._spaces()
            start = self._at
            match = _BARE.match(self._text, start)
            if match:
                self._at, name = match.end(), match[0]
            else:
                self._string()
                name = tomllib.loads(f"key = {self._text[start : self._at]}")["key"]
            found.append((name, start))
            self._spaces()
            if not self._text.startswith(".", self._at):
                return found
            self._at += 1

    def _spaces(self) -> None:
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _string(self) -> bool:
        """Past a string, if there is one."""
        for pattern in _STRINGS:
            if match := pattern.match(self._text, self._at):
                self._at = match.end()
                return True
        return False

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
        elif not self._string():
            match = _SCALAR.match(self._text, self._at)
            self._at = match.end() if match else self._at
        end = start + len(self._text[start : self._at].rstrip())
        self.values[path] = start, end
        return end

    def _comma(self) -> None:
        if self._text[self._skip()] == ",":
            self._at += 1
