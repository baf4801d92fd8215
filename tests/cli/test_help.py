"""What help says: commands in groups, and examples that can be typed."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator

import pytest

from tests.cli.conftest import Tk
from torchkeeper.cli import commands, main
from torchkeeper.cli.commands import COMMANDS, GROUPS

#: An example: two spaces or more, maybe what is before it on a line, and a comment.
_EXAMPLE = re.compile(r"^ {2,}(?:.*(?:\*|RUN) +)?((?:ssh \S+ )?torchkeeper .*?)(?: {2,}.*)?$")


def _of(name: str) -> argparse.ArgumentParser:
    (action,) = (
        one for one in main.parser_of(name)._actions if isinstance(one, argparse._SubParsersAction)
    )
    found = action.choices[name]
    assert isinstance(found, argparse.ArgumentParser)
    return found


def _examples(name: str) -> Iterator[list[str]]:
    """The words of each example in the help of a command, with no shell around them."""
    for line in (_of(name).epilog or "").splitlines():
        if found := _EXAMPLE.match(line):
            for part in found[1].split(" | "):
                words = shlex.split(re.split(" [<>] ", part)[0])
                yield words[words.index("torchkeeper") + 1 :]


def test_every_command_is_in_one_group_of_the_help(tk: Tk) -> None:
    said = tk("--help", COLUMNS="100").out
    where = [said.index(f"\n{group}:\n") for group in GROUPS]
    assert where == sorted(where)
    for name, one in COMMANDS.items():
        (at,) = (found.start() for found in re.finditer(rf"^  {name} ", said, re.MULTILINE))
        assert max(place for place in where if place < at) == where[GROUPS.index(one.group)]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_of_every_help_can_be_typed(name: str) -> None:
    some = list(_examples(name))
    assert len(some) >= 2
    assert any(words[0] == name for words in some)
    for words in some:
        parsed = main.parser_of(words[0]).parsed(main.joined(words))
        assert words[0] == "help" or parsed.run


@pytest.mark.parametrize(
    "words", ["undo cache --dry-run", "config list --dry-run", "undo a b", "undo", "--wrong"]
)
def test_what_is_wrong_shows_the_usage_of_its_command(tk: Tk, words: str) -> None:
    ran = tk(*words.split())
    assert ran.code == 2
    command = " ".join(word for word in words.split() if word in ("undo", "config", "list"))
    assert ran.err.startswith(" ".join(["usage: torchkeeper", *command.split(), "["]))


def test_help_fits_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in (60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = commands.in_groups().splitlines()
        assert max(map(len, lines)) <= columns - 2
        assert len(lines) >= len(COMMANDS)
