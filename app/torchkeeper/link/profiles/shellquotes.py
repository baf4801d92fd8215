"""What stands in quotes, after a dollar and in here-documents of a script for sh: it is gone past,
and nothing of it is run.

After POSIX.1-2017, 2.2, 2.6 and 2.7.4, with what bash has besides.
"""

from __future__ import annotations

import re

from torchkeeper.link.profiles.taking import (
    CONTINUED,
    ESCAPES,
    PRINTED,
    TRANSLATED,
    VARIABLE,
    Lines,
    unread,
)
from torchkeeper.link.words.tongue import tr

_PARAMETER = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])")
_HERE = re.compile(r"<<(-?)[ \t]*(['\"\\]?)([A-Za-z_][A-Za-z0-9_]*)\2?")
_DEFAULT = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*):?=")


class Quotes:
    """A place in a script, which goes on as it is read."""

    def __init__(self, text: str) -> None:
        self._text = text.removeprefix("\ufeff")
        self._at = 0
        self._lines = Lines(self._text)
        #: Ends of texts that begin with the next line, whether tabs before them do not count, and
        #: whether a backslash joins lines there.
        self._here: list[tuple[str, bool, bool]] = []
        #: What the word that is being read sets.
        self._sets: list[str] = []

    def _line(self, at: int | None = None) -> int:
        return self._lines.of(self._at if at is None else at)

    def _skip_here(self) -> None:
        for end, tabs, joins in self._here:
            before = ""
            while self._at < len(self._text):
                stop = self._text.find("\n", self._at)
                line = self._text[self._at : stop if stop >= 0 else len(self._text)]
                self._at += len(line) + 1
                slashes = len(line) - len(line.rstrip("\\"))
                if joins and slashes % 2:
                    before += line[:-1]
                    continue
                line = before + line
                before = ""
                if (line.lstrip("\t") if tabs else line) == end:
                    break
        self._here.clear()

    def _single(self) -> str:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise unread(self._line(), tr("A quote is not closed"))
        said = self._text[self._at + 1 : end]
        self._at = end + 1
        return said

    def _double(self) -> tuple[str, str]:
        text, began, needs = self._text, self._at, ""
        parts: list[str] = []
        self._at += 1
        while self._at < len(text):
            char = text[self._at]
            if char == '"':
                self._at += 1
                return "".join(parts), needs
            if char == "\\" and text[self._at + 1 : self._at + 2] in ("$", "`", '"', "\\", "\n"):
                parts.append(text[self._at + 1].replace("\n", ""))
                self._at += 2
            elif char in "$`":
                said, more = self._expansion(quoted=True)
                parts.append(said)
                needs = needs or more
            else:
                parts.append(char)
                self._at += 1
        raise unread(self._line(began), tr("A quote is not closed"))

    def _expansion(self, quoted: bool) -> tuple[str, str]:
        """What stands at a dollar or a backquote: a text, and what the shell would put there."""
        text, began = self._text, self._at
        after = text[began + 1 : began + 2]
        if text.startswith("\\\n", began + 1):
            self._at += 3
            return "", CONTINUED
        if text[began] == "`":
            self._past("`", began + 1)
            return "", f"{PRINTED}, `…`"
        if after == "(":
            self._past(")", began + 1)
            return "", f"{PRINTED}, $(…)"
        if after == "{":
            self._past("}", began + 1)
            # What stands in its place where it is not set may be a password.
            if default := _DEFAULT.match(text, began):
                self._sets.append(default[1])
            name = re.match(r"\$\{[#!]?\w*", text[began : began + 60])
            return "", f"{VARIABLE}, {name[0] if name else '${'}…}}"
        if after == "'" and not quoted:
            self._at += 1
            self._ansi()
            return "", f"{ESCAPES}, $'…'"
        if after == '"' and not quoted:
            self._at += 1
            return "", f'{TRANSLATED}, $"…"'
        if parameter := _PARAMETER.match(text, began):
            self._at = parameter.end()
            return "", f"{VARIABLE}, {parameter[0]}"
        self._at += 1
        return "$", ""

    def _ansi(self) -> None:
        end = re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL).match(self._text, self._at)
        if end is None:
            raise unread(self._line(), tr("A quote is not closed"))
        self._at = end.end()

    def _past(self, close: str, at: int | None = None) -> None:
        """Go past what closes what is opened at ``at``, or here; quotes in it are kept whole."""
        text, began = self._text, self._at
        open_ = {")": "(", "}": "{"}.get(close, "")
        depth = 0 if open_ else 1
        self._at = began if at is None else at
        before, self._here = self._here, []
        runs = close == ")" and not text.startswith("((", self._at)  # or it is arithmetic
        while self._at < len(text):
            char = text[self._at]
            if char == "\\":
                self._at += 2
            elif char == "'" and close != "`" and (depth or not open_):
                self._single()
            elif char == '"' and close != "`":
                self._double()
            elif text.startswith("<<<", self._at):
                self._at += 3  # a word is given, and no text of lines
            elif runs and (here := _HERE.match(text, self._at)):
                self._at = here.end()
                self._here.append((here[3], bool(here[1]), not here[2]))
            elif char == "\n" and self._here:
                self._at += 1
                self._skip_here()
            elif char == close:
                self._at += 1
                depth -= 1
                if depth <= 0:
                    self._here = before
                    return
            else:
                depth += char == open_
                self._at += 1
        raise unread(self._line(began), tr("“{sign}” is missing", sign=close))
