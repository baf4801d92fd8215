"""The parser of the command line, which knows what a mistyped word may have been meant for."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Sequence
from typing import NoReturn

from torchkeeper.artifacts.masking import without_logins
from torchkeeper.link.words.problems import visible

#: How alike two words are at least, of which one may have been meant for the other, from 0 to 1.
_ALIKE = 0.6
#: Words of which as many are told.
_MOST = 3
#: What other programs call a command, which may look like another one here.
_ELSEWHERE = {
    **dict.fromkeys(("clean", "clear", "delete", "drop", "remove", "rm", "uninstall"), "purge"),
    **dict.fromkeys(("dir", "list"), "ls"),
    **dict.fromkeys(("restore", "revert", "rollback"), "undo"),
    **dict.fromkeys(("cp", "pull", "push"), "copy"),
    # Only there where --yes is none: whoever imports says more than that something may be done.
    "--yes": "--trust",
}


def alike(word: str, known: Iterable[str]) -> list[str]:
    """Those words that a mistyped one may have been meant for, the likeliest first; one that other
    programs have for it is meant for that.
    """
    there = list(known)
    if (meant := _ELSEWHERE.get(word)) in there:
        return [meant]
    return difflib.get_close_matches(word, there, _MOST, _ALIKE)


def meant(words: Sequence[str]) -> str:
    """``Did you mean “ls”?``; empty where nobody can guess."""
    if not words:
        return ""
    quoted = [f"“{word}”" for word in words]
    last = f" or {quoted[-1]}" if len(quoted) > 1 else ""
    return f"Did you mean {', '.join(quoted[: -1 or None] if last else quoted)}{last}?"


#: How argparse begins when it misses something, which it does before it looks at options.
_MISSING = "the following arguments are required"


class _Wrong(Exception):
    """What a parser, of all or of one command, found wrong."""

    def __init__(self, parser: Parser, message: str) -> None:
        super().__init__(message)
        self.parser = parser


class Parser(argparse.ArgumentParser):
    """As its base; what is wrong is said with what may have been meant."""

    def parsed(self, words: Sequence[str]) -> argparse.Namespace:
        """As ``parse_args``: prints the usage, what is wrong, and what may have been meant, and
        exits with 2. A password that was typed where none belongs is not said, and what a terminal
        would obey is shown: a shell puts names of files among the words.
        """
        try:
            return self.parse_args(words)
        except _Wrong as wrong:
            message = str(wrong)
            if message.startswith(_MISSING) and (stray := self._stray(words)):
                message = f"unrecognized arguments: {stray}"
            said = "\n".join(filter(None, [message, self._guess(words)]))
            argparse.ArgumentParser.error(wrong.parser, visible(without_logins(said)))

    def error(self, message: str) -> NoReturn:
        """Raises what ``parsed`` waits for."""
        raise _Wrong(self, message)

    def _guess(self, words: Sequence[str]) -> str:
        """What the first word that is none of this parser's may have been meant for."""
        for number, word in enumerate(words):
            if word == "--":
                return ""
            option = word.partition("=")[0]
            if word.startswith("--") and not self._takes(option):
                return meant(alike(option, self._option_string_actions))
            for commands in self._commands():
                if word in commands:
                    return commands[word]._guess(words[number + 1 :])
                if not word.startswith("-") and (guess := meant(alike(word, commands))):
                    return guess
        return ""

    def _stray(self, words: Sequence[str]) -> str:
        """The first word that is an option but none of this parser's; "" where there is none."""
        for number, word in enumerate(words):
            if word == "--":
                break
            if word.startswith("-") and not self._takes(word.partition("=")[0]):
                return word
            for commands in self._commands():
                if word in commands:
                    return commands[word]._stray(words[number + 1 :])
        return ""

    def _takes(self, option: str) -> bool:
        """Whether it is an option, or the beginning of one, which is taken for it."""
        return any(name.startswith(option) for name in self._option_string_actions)

    def _commands(self) -> list[dict[str, Parser]]:
        """The parsers of the commands below this one, by their names."""
        return [
            {name: one for name, one in action.choices.items() if isinstance(one, Parser)}
            for action in self._actions
            if isinstance(action, argparse._SubParsersAction)
        ]
