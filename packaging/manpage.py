"""The manual page torchkeeper(1), from the table of commands and their parsers, on standard output:
``python packaging/manpage.py > torchkeeper.1``.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Iterator

import torchkeeper
from torchkeeper.cli.commands import COMMANDS, GROUPS, Blocks
from torchkeeper.cli.main import filter_help, parser_of
from torchkeeper.stores.query import FILTERS

#: Variables that steer the command line itself; of the caches' own, “torchkeeper config settings”
#: lists all.
_VARIABLES = {
    "TORCHKEEPER_TORCH_PYTHON": "The interpreter whose torch compiles and is asked for verdicts.",
    "PAGER": "What shows long lists on a terminal, by default less; cat for nothing.",
    "NO_COLOR": "No colours, if it is not empty; nor where TERM is dumb.",
    "TMPDIR": "Where bundles lie that go to standard output or come from standard input.",
}


def _text(text: str) -> str:
    """Words as roff has them: nothing in them is an instruction."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(f"\\&{x}" if x[:1] in (".", "'") else x for x in escaped.splitlines())


def _usage(parser: argparse.ArgumentParser) -> str:
    return " ".join(parser.format_usage().removeprefix("usage: ").split())


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    form = Blocks(parser.prog)
    for action in parser._actions:
        if action.help and action.help != argparse.SUPPRESS and action.dest != "help":
            yield f".TP\n.B {_text(form._format_action_invocation(action))}"
            yield _text(form._expand_help(action))


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs, and blocks of lines as they are."""
    for block in text.split("\n\n"):
        if re.search(r"^ ", block, re.MULTILINE):
            yield f".PP\n.EX\n{_text(block)}\n.EE"
        else:
            yield f".PP\n{_text(block)}"


def _command(name: str) -> Iterator[str]:
    for commands in parser_of(name)._commands():
        for parser in commands[name].every():
            yield f'.SS "{_text(parser.prog)}"\n{_text(_usage(parser))}'
            yield from _blocks(parser.description or "")
            yield from _arguments(parser)
            more = (parser.epilog or "").replace(filter_help(), "").strip()
            yield from _blocks(more) if more else ()


def page() -> str:
    """The whole page, in roff."""
    version = torchkeeper.__version__
    parts = [
        f'.TH TORCHKEEPER 1 "" "torchkeeper {version}" "User Commands"',
        f".SH NAME\ntorchkeeper \\- {_text('see, warm, bundle and purge torch.compile caches')}",
        ".SH SYNOPSIS\n.B torchkeeper\n[OPTION] [FILE ...]\n.br\n.B torchkeeper\nCOMMAND ...",
        ".SH DESCRIPTION\nTorchkeeper looks after the caches of torch.compile. "
        "Without a command it opens its window.",
    ]
    for group in GROUPS:
        parts.append(f'.SS "{group[0].upper()}{group[1:]}"')
        for name, one in COMMANDS.items():
            if one.group == group:
                parts.append(f".TP\n.B {_text(name)}\n{_text(one.about)}")
    parts.append(".SH COMMANDS")
    for name in COMMANDS:
        parts += _command(name)
    parts.append(".SH FILTERS\nAll words must hold.")
    parts += [f".TP\n.B {_text(word)}\n{_text(finds)}" for word, finds in FILTERS.items()]
    parts.append(".SH ENVIRONMENT")
    parts += [f".TP\n.B {name}\n{_text(about)}" for name, about in _VARIABLES.items()]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    os.environ["COLUMNS"] = "200"  # whatever terminal it is made on
    sys.stdout.write(page())
