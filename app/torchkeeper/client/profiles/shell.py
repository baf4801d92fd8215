"""A profile as lines for sh, and settings from a script for sh, which is never run.

What is written is right in every POSIX shell: what the profile leaves to PyTorch is unset, so that
nothing stays of an earlier one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from torchkeeper.artifacts.masking import brief
from torchkeeper.client.profiles.profile import Profile, left_open, ordered
from torchkeeper.client.profiles.shellwords import BESIDE, PIPE, Command, Word, commands
from torchkeeper.client.profiles.taking import BEFORE, Taking, at_line, made_of, no_setting
from torchkeeper.client.words.tongue import Text, tr
from torchkeeper.settings.known import BY_NAME

_WIDTH = 96
#: Characters of what is told of the argument of a command.
_MOST = 200
_LITERAL: Text = "a $ or ` that is a part of it stands in single quotes"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DECLARES = ("export", "declare", "typeset", "readonly", "local")
#: What runs what comes after it, with the same variables.
_BEFORE = ("exec", "command", "builtin", "nohup", "time", "!")
_SOURCES = ("source", ".", "eval")
#: What sets the variables that it is told the names of.
_READS = ("read", "mapfile", "readarray", "getopts")
#: What is the shell's own.
_OWN = frozenset({*_DECLARES, *_SOURCES, *_READS, "unset", "set", "exit", "return", ":", "cd"})


def write(profile: Profile, notes: Sequence[str]) -> str:
    """The text of a file to be sourced; each of the notes becomes a comment at its top."""
    lines = [f"# {note}" for note in notes]
    names, row = left_open(profile), "unset"
    for name in names:
        if len(row) + len(name) >= _WIDTH:
            lines.append(row)
            row = "unset"
        row += f" {name}"
    lines += [row] if names else []
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
        self._left: list[tuple[str, str]] = []

    def taking(self) -> Taking:
        """What programs have of it in the end."""
        taking = Taking()
        for name, why in self._left:
            taking.leave(name, why)
        for name, one in self._variables.items():
            if name not in BY_NAME:
                taking.leave(name, no_setting())
            elif name not in self._exported:
                taking.leave(name, at_line(tr("it is not exported"), one.line))
            elif one.why:
                taking.leave(name, at_line(one.why, one.line))
            else:
                taking.take(name, one.text)
        for name, line in self._exported.items():
            if name in BY_NAME and name not in self._variables:
                why = tr("the script has no value of it, only its name")
                taking.leave(name, at_line(why, line))
        return taking

    def take(self, command: Command, words: Sequence[Word]) -> None:
        """A command is run."""
        words = list(words)
        for word in words:
            for name in word.sets:
                self._default(word, name)
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
            said = brief(arguments[0].text, _MOST)
            named = f"{what} {said}" if not arguments[0].needs else what
            where = tr("line {line}: {command}", line=str(word.line), command=named)
            self._left.append((where, tr("what that sets is not looked at")))

    def _unclear(self, name: str, line: int, why: str) -> None:
        self._variables[name] = _Variable("", line, why)
        if self._all:
            self._exported[name] = line

    def _default(self, word: Word, name: str) -> None:
        known = self._variables.get(name)
        if known is None or known.why or not known.text:
            why = tr("it is a default, for where nothing else has set it")
            self._unclear(name, word.line, why)

    def _assign(self, command: Command, word: Word, exported: bool, doubt: str = "") -> None:
        name, _, value = word.text.partition("=")
        if name.endswith("+"):
            word = word._replace(needs=BEFORE)
            name = name.removesuffix("+")
        why = doubt or _doubt(command)
        if word.needs and name in BY_NAME:
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
                known = self._variables.get(word.text)
                if known is not None and command.depends:
                    self._variables[word.text] = known._replace(why=known.why or _doubt(command))

    def _env(self, command: Command, arguments: Sequence[Word]) -> None:
        """The arguments of env(1)."""
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
