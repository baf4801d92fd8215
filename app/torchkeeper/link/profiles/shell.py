"""A profile as lines for sh, and settings from a script for sh, which is never run.

What is written is right in every POSIX shell: what the profile leaves to PyTorch is unset, so that
nothing stays of an earlier one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchkeeper.artifacts.masking import brief
from torchkeeper.link.profiles.profile import Profile, left_open, ordered
from torchkeeper.link.profiles.shellwords import BESIDE, PIPE, Command, Word, commands
from torchkeeper.link.profiles.taking import Taking, made_of, unclear
from torchkeeper.settings.known import BY_NAME

_WIDTH = 96
#: Characters of what is told of the argument of a command.
_MOST = 200
_LITERAL = "a $ or ` that is a part of it stands in single quotes"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DECLARES = ("export", "declare", "typeset", "readonly", "local")
#: What runs what comes after it, with the same variables.
_BEFORE = ("exec", "command", "builtin", "nohup", "time", "!")
_SOURCES = ("source", ".", "eval")


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
    """The settings that a script makes. Nothing is run: what depends on a command, on another
    variable or on a condition is refused.

    Raises UserError("profile-text-unclear" | "profile-text-wrong").
    """
    taking = Taking()
    for command in commands(text):
        _take(command, command.words, taking)
    return taking


def _take(command: Command, words: Sequence[Word], taking: Taking) -> None:
    words = list(words)
    program = next((word.text for word in words if not _assigns(word)), "")
    if program and program not in _DECLARES and command.depends in (PIPE, BESIDE):
        command = command._replace(depends="")  # the program has it, wherever it runs
    while words and _assigns(words[0]):
        _assign(command, words.pop(0), taking)
    if not words:
        return
    what, arguments = words[0].text, words[1:]
    if what in _BEFORE:
        _take(command, arguments, taking)
    elif what == "env":
        _env(command, arguments, taking)
    elif what in _DECLARES:
        _declare(command, arguments, taking)
    elif what == "unset":
        if not any(word.text == "-f" for word in arguments):
            for word in arguments:
                _unset(command, word, taking)
    elif what in _SOURCES and arguments:
        # What is evaluated may have an address in it.
        said = brief(arguments[0].text, _MOST)
        named = f"{what} {said}" if not arguments[0].needs else what
        taking.leave(f"line {words[0].line}: {named}", "what that sets is not looked at")


def _assigns(word: Word) -> bool:
    """Whether a word at the beginning of a command sets a variable."""
    name, sign, _ = word.text.partition("=")
    return bool(sign) and word.plain >= len(name) and bool(_NAME.fullmatch(name.removesuffix("+")))


def _assign(command: Command, word: Word, taking: Taking) -> None:
    name, _, value = word.text.partition("=")
    if name.endswith("+"):
        word = word._replace(needs="what it had before")
        name = name.removesuffix("+")
    if name in BY_NAME:
        _sure(command, word, name)
        if word.needs:
            raise unclear(word.line, name, f"It is {made_of(name, word.needs, _LITERAL)}")
    taking.take(name, value)


def _sure(command: Command, word: Word, name: str) -> None:
    if command.depends:
        raise unclear(word.line, name, f"Whether it is set depends on {command.depends}")


def _unset(command: Command, word: Word, taking: Taking) -> None:
    if word.text in BY_NAME:
        _sure(command, word, word.text)
        taking.drop(word.text)


def _declare(command: Command, arguments: Sequence[Word], taking: Taking) -> None:
    gone = False
    for word in arguments:
        if word.text.startswith(("-", "+")):
            gone = gone or word.text == "-n"
        elif gone:
            _unset(command, word, taking)
        elif _assigns(word):
            _assign(command, word, taking)


def _env(command: Command, arguments: Sequence[Word], taking: Taking) -> None:
    """The arguments of env(1)."""
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word.text in ("-u", "--unset") and words:
            _unset(command, words.pop(0), taking)
        elif word.text.startswith("--unset="):
            _unset(command, word._replace(text=word.text.partition("=")[2]), taking)
        elif word.text in ("-i", "--ignore-environment", "-"):
            taking.values.clear()
        elif word.text in ("-C", "--chdir") and words:
            words.pop(0)
        elif _assigns(word):
            _assign(command, word, taking)
        elif not word.text.startswith("-"):
            _take(command, [word, *words], taking)
            return
