"""The commands of a script for sh, with their words, and what each depends on.

After the shell's grammar in POSIX.1-2017, 2.2, 2.3, 2.6, 2.7.4 and 2.10, with what bash has
besides. Nothing is expanded or run: a word that would be says what it needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from torchkeeper.client.profiles import taking
from torchkeeper.client.words.tongue import Text, tr

_PARAMETER = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])")
#: A dollar that is only that.
_LONE = re.compile(r"\$(?![A-Za-z0-9_@*#?$!({'\"-])")
_ANSI = re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL)
_HERE = re.compile(r"<<(-?)[ \t]*(['\"\\]?)([A-Za-z_][A-Za-z0-9_]*)\2?")
_DEFAULT = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*):?=")


#: What a command may depend on.
CONDITION: Text = "a condition"
LOOP: Text = "a loop"
GROUP: Text = "a group of commands"
PIPE: Text = "a pipe"
BESIDE: Text = "another process"
CALL: Text = "a call of the function"
_FUNCTION: Text = "a function"

#: What opens a command that holds others, and what closes that.
_OPENS = {
    "if": ("fi", CONDITION), "for": ("done", LOOP), "while": ("done", LOOP),
    "until": ("done", LOOP), "select": ("done", LOOP), "case": ("esac", CONDITION),
    "{": ("}", GROUP), "(": (")", GROUP),
}  # fmt: skip
#: What stands between the parts of those.
_WITHIN = ("then", "else", "elif", "do", "!")
_OPERATORS = re.compile(r"&&|\|\||;;&|;;|;&|\|&|[;&|()]")
_REDIRECTS = re.compile(r"[0-9]*(?:<<<|<<-|<<|<>|<&|>>|>\||>&|&>>|&>|<|>)")
#: What the operator after a command says of it.
_BEFORE = {"|": PIPE, "|&": PIPE, "&": BESIDE}
#: What is not asked whether it may fail, before an &&.
_GOES_WELL = frozenset({
    "export", "declare", "typeset", "readonly", "unset", "cd", "set", "mkdir", "source", ".",
    "echo", "env",
})  # fmt: skip


class Word(NamedTuple):
    """A word. text: without its quotes. plain: characters at its beginning that are not in quotes.
    needs: what the shell would put into it, in words, or "". line: from 1. sets: the variables that
    it sets where they have no value, ``${NAME:=…}``.
    """

    text: str
    plain: int
    needs: str
    line: int
    sets: tuple[str, ...] = ()


class Command(NamedTuple):
    """A simple command. depends: what decides whether it is run or stays, in words, or ""."""

    words: tuple[Word, ...]
    depends: str


def commands(text: str) -> Iterator[Command]:
    """All simple commands of a script, in their order. Raises UserError("profile-text-wrong")."""
    try:
        yield from _Reader(text).commands()
    except RecursionError as e:
        raise taking.unread(1, tr("It is nested too deep")) from e


class _Reader:
    """A place in a script, which goes on as it is read."""

    def __init__(self, text: str) -> None:
        self._text = text.removeprefix("\ufeff")
        self._at = 0
        self._lines = taking.Lines(self._text)
        #: Ends of texts that begin with the next line, whether tabs before them do not count, and
        #: whether a backslash joins lines there.
        self._here: list[tuple[str, bool, bool]] = []
        #: What the word that is being read sets.
        self._sets: list[str] = []
        #: What has been opened: what closes it, and what it is.
        self._open: list[tuple[str, str]] = []

    def _line(self, at: int | None = None) -> int:
        return self._lines.of(self._at if at is None else at)

    def _skip_here(self) -> None:
        for end, tabs, joins in self._here:
            before = ""
            while self._at < len(self._text):
                stop = self._text.find("\n", self._at)
                line = self._text[self._at : stop if stop >= 0 else len(self._text)]
                self._at += len(line) + 1
                if joins and (len(line) - len(line.rstrip("\\"))) % 2:
                    before += line[:-1]
                    continue
                line, before = before + line, ""
                if (line.lstrip("\t") if tabs else line) == end:
                    break
        self._here.clear()

    def _single(self) -> str:
        end = self._text.find("'", self._at + 1)
        if end < 0:
            raise taking.unread(self._line(), tr("A quote is not closed"))
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
        raise taking.unread(self._line(began), tr("A quote is not closed"))

    def _expansion(self, quoted: bool) -> tuple[str, str]:
        """What stands at a dollar or a backquote: a text, and what the shell would put there."""
        text, began = self._text, self._at
        after = text[began + 1 : began + 2]
        if text.startswith("\\\n", began + 1):
            self._at += 3
            return "", taking.CONTINUED
        if text[began] == "`":
            self._past("`", began + 1)
            return "", f"{taking.PRINTED}, `…`"
        if after == "(":
            self._past(")", began + 1)
            return "", f"{taking.PRINTED}, $(…)"
        if after == "{":
            self._past("}", began + 1)
            # What stands in its place where it is not set may be a password.
            if default := _DEFAULT.match(text, began):
                self._sets.append(default[1])
            name = re.match(r"\$\{[#!]?\w*", text[began : began + 60])
            return "", f"{taking.VARIABLE}, {name[0] if name else '${'}…}}"
        if after == "'" and not quoted:
            if (end := _ANSI.match(text, began + 1)) is None:
                raise taking.unread(self._line(began + 1), tr("A quote is not closed"))
            self._at = end.end()
            return "", f"{taking.ESCAPES}, $'…'"
        if after == '"' and not quoted:
            self._at += 1
            return "", f'{taking.TRANSLATED}, $"…"'
        if parameter := _PARAMETER.match(text, began):
            self._at = parameter.end()
            return "", f"{taking.VARIABLE}, {parameter[0]}"
        self._at += 1
        return "$", ""

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
        raise taking.unread(self._line(began), tr("“{sign}” is missing", sign=close))

    def commands(self) -> Iterator[Command]:
        after, words = "", list[Word]()
        while (piece := self._next()) is not None:
            if isinstance(piece, Word):
                words.append(piece)
                continue
            if piece == "(" and len(words) == 1:
                # A function: its name, and parentheses.
                after, words = "", []
                self._open.append((")", _FUNCTION))
                continue
            first = words[0].text if words else ""
            yield from self._command(words, after or _BEFORE.get(piece, ""))
            words = []
            if piece == "(":
                self._open.append(_OPENS["("])
            elif piece == ")" and self._open and self._open[-1][0] == ")":
                after = CALL if self._open.pop()[1] == _FUNCTION else ""
                continue
            after = self._after(piece, after, first)
        yield from self._command(words, after)
        if self._open:
            why = tr("“{sign}” is missing at the end", sign=self._open[-1][0])
            raise taking.unread(self._line(), why)

    @staticmethod
    def _after(piece: str, after: str, first: str) -> str:
        """What the operator after a command says of the next. first: the command's first word."""
        if piece == "&&":
            return after if first in _GOES_WELL or "=" in first else CONDITION
        if piece == "\n" and after in (CALL, CONDITION) and not first:
            return after  # it goes on in the next line
        return {"||": CONDITION, "|": PIPE, "|&": PIPE}.get(piece, "")

    def _command(self, words: list[Word], depends: str) -> Iterator[Command]:
        at = 0
        while at < len(words) and words[at].plain == len(words[at].text):
            text = words[at].text
            if self._open and text == self._open[-1][0]:
                self._open.pop()
            elif text in ("for", "select", "case"):
                self._open.append(_OPENS[text])
                return  # the rest of it are words, and no command
            elif text in _OPENS:
                close, what = _OPENS[text]
                self._open.append((close, CALL if depends == CALL else what))
            elif text == "function":
                self._open.append(("}", CALL))
                return
            elif text not in _WITHIN:
                break
            at += 1
        if at < len(words):
            yield Command(tuple(words[at:]), self._open[-1][1] if self._open else depends)

    def _next(self) -> Word | str | None:
        """The next word or operator, a newline among them; None at the end. No redirection."""
        redirect = ""
        while self._skip_blanks():
            if match := _REDIRECTS.match(self._text, self._at):
                self._at = match.end()
                redirect = match[0].lstrip("0123456789")
                continue
            if self._text[self._at] == "\n":
                self._at += 1
                self._skip_here()
                return "\n"
            if operator := _OPERATORS.match(self._text, self._at):
                self._at = operator.end()
                return operator[0]
            word = self._word()
            if not redirect:
                return word
            if redirect in ("<<", "<<-"):
                self._here.append((word.text, redirect == "<<-", word.plain == len(word.text)))
            redirect = ""
        return None

    def _skip_blanks(self) -> bool:
        """Go to where something is; False at the end."""
        text = self._text
        while self._at < len(text):
            if text[self._at] in " \t" or text.startswith("\r\n", self._at):
                self._at += 1
            elif text.startswith("\\\n", self._at):
                self._at += 2
            elif text[self._at] == "#":
                end = text.find("\n", self._at)
                self._at = len(text) if end < 0 else end
            else:
                return True
        return False

    def _word(self) -> Word:
        text, began, needs = self._text, self._at, ""
        parts: list[str] = []
        self._sets = []
        plain: int | None = None
        while self._at < len(text):
            char = text[self._at]
            if char in " \t\n;&|()<>" or text.startswith("\r\n", self._at):
                if char == "(" and parts and parts[-1] == "=":
                    self._past(")")
                    needs = needs or taking.LIST
                break
            if char in "'\"\\$`" and plain is None and not _LONE.match(text, self._at):
                plain = len("".join(parts))
            if char == "'":
                parts.append(self._single())
            elif char == '"':
                said, more = self._double()
                parts.append(said)
                needs = needs or more
            elif char == "\\":
                if not (after := text[self._at + 1 : self._at + 2]):
                    raise taking.unread(self._line(), tr("The script ends with a backslash"))
                parts.append(after.replace("\n", ""))
                self._at += 2
            elif char in "$`":
                said, more = self._expansion(quoted=False)
                parts.append(said)
                needs = needs or more
            else:
                if char == "~" and (not parts or parts[-1] in "=:"):
                    needs = needs or f"{taking.HOME}, ~"
                parts.append(char)
                self._at += 1
        said = "".join(parts)
        plain = len(said) if plain is None else plain
        return Word(said, plain, needs, self._line(began), tuple(self._sets))
