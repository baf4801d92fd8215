"""A profile as lines for sh, and settings from a script for sh, which is never run. What is written
is right in every POSIX shell: what the profile leaves to PyTorch is unset, so that nothing stays of
an earlier one. What is read is taken apart after the shell's grammar in POSIX.1-2017, 2.2, 2.3,
2.6, 2.7.4 and 2.10, with what bash has besides: a word that would be expanded says what it needs.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchkeeper.artifacts.masking import brief
from torchkeeper.client.profiles import containers, taking
from torchkeeper.client.profiles.profile import Profile, left_open, ordered
from torchkeeper.client.profiles.taking import BEFORE, Taking, at_line, made_of
from torchkeeper.client.words.tongue import Text, tr
from torchkeeper.settings.known import BY_NAME

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
_SAYS = {"|": PIPE, "|&": PIPE, "&": BESIDE}
#: What is not asked whether it may fail, before an &&.
_GOES_WELL = frozenset({
    "export", "declare", "typeset", "readonly", "unset", "cd", "set", "mkdir", "source", ".",
    "echo", "env",
})  # fmt: skip


class Word(NamedTuple):
    """A word. text: without its quotes. plain: how many characters at its beginning are not in
    quotes. needs: what the shell would put into it, in words, or "". line: from 1. sets: the
    variables that it sets where they have no value, ``${NAME:=…}``.
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
    def __init__(self, text: str) -> None:
        self._text = text.removeprefix("\ufeff")
        self._at = 0
        self._lines = taking.Lines(self._text)
        #: Here-documents that begin with the next line: the end of each, whether tabs before that
        #: do not count, and whether a backslash joins lines there.
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
        if (end := self._text.find("'", self._at + 1)) < 0:
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
            yield from self._command(words, after or _SAYS.get(piece, ""))
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


_WIDTH = 96
#: Characters of what is told of the argument of a command.
_MOST = 200
_LITERAL: Text = "put a literal $ or ` into single quotes"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DECLARES = ("export", "declare", "typeset", "readonly", "local")
#: What runs what comes after it, with the same variables.
_BEFORE = ("exec", "command", "builtin", "nohup", "time", "!")
_SOURCES = ("source", ".", "eval")
#: What sets the variables that it is told the names of.
_READS = ("read", "mapfile", "readarray", "getopts")
_OWN = frozenset({*_DECLARES, *_SOURCES, *_READS, "unset", "set", "exit", "return", ":", "cd"})


def write(profile: Profile, notes: Sequence[str]) -> str:
    """The text of a file to be sourced; each of the notes becomes a comment at its top."""
    lines = [f"# {note}" for note in notes]
    names, unset = " ".join(left_open(profile)), "unset "
    lines += textwrap.wrap(names, _WIDTH, initial_indent=unset, subsequent_indent=unset)
    lines += [f"export {name}={quoted(text)}" for name, text in ordered(profile)]
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A text in single quotes, which every POSIX shell reads as that."""
    return "'" + text.replace("'", "'\\''") + "'"


def read(text: str) -> Taking:
    """The settings that programs get of a script. Nothing is run: what depends on a command, on
    another variable or on a condition is left, and so is what is not exported. Raises
    UserError("profile-text-wrong").
    """
    script = _Script()
    for command in commands(text):
        script.take(command, command.words)
        if script.ended:
            break
    return script.taking()


class _Variable(NamedTuple):
    """What a variable is. why: why that is not told, as a clause, or ""."""

    text: str
    line: int
    why: str = ""


class _Script:
    """What a script has set so far. ended: nothing of it is run any more."""

    def __init__(self) -> None:
        self.ended = False
        self._variables: dict[str, _Variable] = {}
        self._exported: dict[str, int] = {}
        self._all = False
        self._contained: set[str] = set()
        self._left: list[tuple[str, str]] = []

    def taking(self) -> Taking:
        taking = Taking()
        for name, why in self._left:
            taking.leave(name, why)
        for name, one in self._variables.items():
            if name not in self._exported:
                taking.leave(name, at_line(tr("it is not exported"), one.line))
            elif one.why:
                taking.leave(name, at_line(one.why, one.line))
            elif self._contained and name not in self._contained:
                taking.leave(name, at_line(tr("the container is not told of it"), one.line))
            else:
                taking.take(name, one.text)
        for name, line in self._exported.items():
            if name not in self._variables:
                why = at_line(tr("the script has only its name, and no value"), line)
                if name in BY_NAME:
                    taking.leave(name, why)
                taking.whys[name] = why
        return taking

    def take(self, command: Command, words: Sequence[Word]) -> None:
        words = list(words)
        for word in words:
            for name in word.sets:
                if (known := self._variables.get(name)) is None or known.why or not known.text:
                    why = tr("it is a default, for where nothing else has set it")
                    self._unclear(name, word.line, why)
        program = next((word.text for word in words if not _assigns(word)), "")
        depends = command.depends
        if program and program not in _DECLARES and depends in (PIPE, BESIDE):
            command = command._replace(depends="")  # the program has it, wherever it runs
        own = program in _OWN
        while words and _assigns(words[0]):
            # Whether that stays, shells do not agree.
            why = tr("it is set for “{command}” only, which is no program", command=program)
            self._assign(command, words.pop(0), bool(program) and not own, why if own else "")
        if words:
            self._run(command, words[0], words[1:], depends)

    def _run(self, command: Command, word: Word, arguments: list[Word], depends: str) -> None:
        what = word.text
        if what in ("exit", "return"):
            self.ended = self.ended or not depends
        elif what in _BEFORE:
            self.take(command, arguments)
            self.ended = self.ended or (what == "exec" and bool(arguments) and not depends)
        elif what == "env":
            self._env(command, arguments)
        elif what in containers.PROGRAMS or what == "sudo":
            self._container(command, arguments)
        elif what == "set":
            self._set(command, arguments)
        elif what in _DECLARES:
            self._declare(command, what, arguments)
        elif what == "unset":
            if not any(one.text == "-f" for one in arguments):
                for one in arguments:
                    self._unset(command, one)
        elif what in _READS or (what == "printf" and any(a.text == "-v" for a in arguments[:1])):
            for one in arguments:
                if one.text in BY_NAME:
                    why = tr("{command} sets it when the script is run", command=what)
                    self._unclear(one.text, word.line, why)
        elif what in _SOURCES and arguments:
            # What is evaluated may have an address in it.
            named = f"{what} {brief(arguments[0].text, _MOST)}" if not arguments[0].needs else what
            where = tr("line {line}: {command}", line=str(word.line), command=named)
            self._left.append((where, tr("what that sets is not looked at")))

    def _container(self, command: Command, arguments: Sequence[Word]) -> None:
        """docker run and its like: the container gets what it is told of."""
        for option, at, value in containers.passed([word.text for word in arguments]):
            word = arguments[at]._replace(text=value)
            name, sign, text = value.partition("=")
            if option == containers.FILE:
                named = f"{option} {brief(value, _MOST)}"
                where = tr("line {line}: {command}", line=str(word.line), command=named)
                self._left.append((where, tr("what that sets is not looked at")))
            elif not sign:
                self._exported[name] = word.line
            else:
                before = self._variables.get(name) if name in self._contained else None
                self._assign(command, word, exported=True)
                if before is not None and before.text != text:
                    why = tr("two containers have different values of it")
                    self._unclear(name, word.line, why)
            if option == containers.ONE:
                self._contained.add(name)

    def _unclear(self, name: str, line: int, why: str) -> None:
        self._variables[name] = _Variable("", line, why)
        if self._all:
            self._exported[name] = line

    def _assign(self, command: Command, word: Word, exported: bool, doubt: str = "") -> None:
        name, _, value = word.text.partition("=")
        if name.endswith("+"):
            word = word._replace(needs=BEFORE)
            name = name.removesuffix("+")
        why = doubt or _doubt(command)
        if word.needs:
            why = made_of(name, word.needs, _LITERAL)
        self._variables[name] = _Variable(value, word.line, why)
        if exported or self._all:
            self._exported[name] = word.line

    def _unset(self, command: Command, word: Word) -> None:
        if command.depends:
            if word.text in BY_NAME:
                self._unclear(word.text, word.line, _doubt(command))
                self._exported[word.text] = word.line
        else:
            self._variables.pop(word.text, None)
            self._exported.pop(word.text, None)

    def _set(self, command: Command, arguments: Sequence[Word]) -> None:
        """set -a, which exports whatever is set from then on."""
        texts = [word.text for word in arguments]
        texts = texts[: texts.index("--")] if "--" in texts else texts
        for before, text in zip(["", *texts], texts, strict=False):
            named = text == "allexport" and before[:1] in ("-", "+") and before.endswith("o")
            if named or (text[:1] in ("-", "+") and "a" in text):
                self._all = (before if named else text)[0] == "-" and not command.depends

    def _declare(self, command: Command, what: str, arguments: Sequence[Word]) -> None:
        options = [word.text for word in arguments if word.text.startswith(("-", "+"))]
        exported = what == "export" or any("x" in one and one[0] == "-" for one in options)
        for word in arguments:
            if word.text in options:
                continue
            if what == "export" and "-n" in options:
                self._unset(command, word)
            elif _assigns(word):
                self._assign(command, word, exported)
            elif exported and _NAME.fullmatch(word.text):
                self._exported[word.text] = word.line
                if (known := self._variables.get(word.text)) is not None and command.depends:
                    self._variables[word.text] = known._replace(why=known.why or _doubt(command))

    def _env(self, command: Command, arguments: Sequence[Word]) -> None:
        words = list(arguments)
        while words:
            word = words.pop(0)
            if word.text in ("-u", "--unset") and words:
                self._unset(command, words.pop(0))
            elif word.text.startswith("--unset="):
                self._unset(command, word._replace(text=word.text.partition("=")[2]))
            elif word.text in ("-i", "--ignore-environment", "-"):
                self._variables.clear()
                self._exported.clear()
            elif word.text in ("-C", "--chdir") and words:
                words.pop(0)
            elif _assigns(word):
                self._assign(command, word, exported=True)
            elif not word.text.startswith("-"):
                self.take(command, [word, *words])
                return


def _assigns(word: Word) -> bool:
    """Whether a word at the beginning of a command sets a variable."""
    name, sign, _ = word.text.partition("=")
    return bool(sign) and word.plain >= len(name) and bool(_NAME.fullmatch(name.removesuffix("+")))


def _doubt(command: Command) -> str:
    if not command.depends:
        return ""
    return tr("whether it is set depends on {what}", what=tr(command.depends))
