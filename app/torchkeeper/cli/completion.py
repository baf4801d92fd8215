"""Completion in shells. argcomplete finds out which word is wanted; what it may be is said here."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

from torchkeeper.artifacts.entry import KINDS
from torchkeeper.artifacts.jits.known import COMPILERS
from torchkeeper.cli.commands import COMMANDS
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.query import FILTERS

SHELLS = ("bash", "zsh", "fish")
#: Seconds after which keys of a place are not waited for, and the most that are offered.
_PATIENCE, _MOST = 3.0, 500
#: Of a word of a filter what is offered: the whole, where all that it can be is in the table.
_OFFERED = re.compile(r"is:\w+|expires:\w+|[a-z]+[:<>]")


def add_completion(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", metavar="SHELL", choices=SHELLS, help=f"one of "
                         f"{', '.join(SHELLS)}")  # fmt: skip


def completion(args: argparse.Namespace) -> int:
    """torchkeeper completion: the script that a shell reads once."""
    from argcomplete.shell_integration import shellcode

    sys.stdout.write(shellcode(["torchkeeper"], shell=args.shell) + "\n")
    return 0


def answer(parser_of: Callable[[str], Any]) -> NoReturn:
    """Tell the shell that asks, by its variables, what the word at the cursor may be."""
    import argcomplete
    from argcomplete.completers import SuppressCompleter

    line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT") or "0") or None]
    words = line.split()
    chosen = words[1] if len(words) > 1 and words[1] in COMMANDS else ""
    parser = parser_of(chosen)
    for one in parser.every():
        for action in one._actions:
            values = _values_of(action)
            if values is not None:
                action.completer = values  # argcomplete's way
    nothing = SuppressCompleter()
    to = os.environ.get("_ARGCOMPLETE_STDOUT_FILENAME") or 8
    # A name of a file need not be text.
    with contextlib.suppress(OSError), open(to, "w", errors="surrogateescape") as told:
        argcomplete.autocomplete(
            parser, always_complete_options=False, default_completer=nothing,
            print_suppressed=True, output_stream=told,
        )  # fmt: skip
    sys.exit(1)  # nobody asked


#: What is asked for the values of a word: what is typed of it, and what was understood before it.
Values = Callable[..., list[str]]


def _values_of(action: argparse.Action) -> Values | None:
    """What knows the values of an argument; None for those that argparse knows."""
    if action.choices is not None or action.nargs == 0:
        return None
    if action.dest == "command":  # of help
        return lambda **_: list(COMMANDS)
    name = str(action.metavar)
    if name == "KEY" and action.option_strings:  # that of ssh
        return _files
    return _VALUES.get(name, _files if name in _PATHS else lambda **_: [])


_PATHS = ("FILE", "DIR", "RECIPE", "PYTHON", "SOURCE", "PUBLICKEY", "COMMAND")


def _files(prefix: str = "", **_: object) -> list[str]:
    """Files and folders, the latter with a slash, that begin so."""
    folder, name = os.path.split(prefix)
    try:
        with os.scandir(os.path.expanduser(folder) or ".") as found:
            some = sorted((one.name, one.is_dir()) for one in found)
    except OSError:
        return []
    begins = os.path.join(folder, "")
    return [
        begins + each + ("/" if is_folder else "")
        for each, is_folder in some
        if each.startswith(name) and (name.startswith(".") or not each.startswith("."))
    ]


def _known_places() -> list[str]:
    from torchkeeper.client.kept import protected
    from torchkeeper.stores import places

    found = [one.path for one in places.find() if one.exists]
    return list(dict.fromkeys([*found, *protected.protected()]))


def _places(prefix: str = "", **_: object) -> list[str]:
    known = [place for place in _known_places() if place.startswith(prefix)]
    return [*known, *(name for name in _files(prefix) if name not in known)]


def _keys(prefix: str = "", **given: object) -> list[str]:
    """The keys of the place that was named, where that is a folder or a file here."""
    from torchkeeper.client.engines.process import Engine
    from torchkeeper.engine import protocol

    place = getattr(given.get("parsed_args"), "place", None)
    if not place or not scheme_of(place).local:
        return []
    late = threading.Timer(_PATIENCE, os._exit, (1,))  # the engine ends with us
    late.daemon = True
    late.start()
    rows: list[dict[str, object]] = []
    with Engine() as engine:
        engine.call(
            protocol.LIST, {"place": place, "filter": ""},
            lambda message: rows.extend(message.rows) if message.type == "rows" else None,
        )  # fmt: skip
    late.cancel()
    keys = sorted({str(row["key"]) for row in rows if str(row["key"]).startswith(prefix)})
    return keys[:_MOST]


def _filters(**_: object) -> list[str]:
    words = [match[0] for match in map(_OFFERED.match, FILTERS) if match]
    kinds = *KINDS, *COMPILERS
    return [*(f"kind:{kind}" for kind in kinds), *(word for word in words if word != "kind:")]


def _profiles(prefix: str = "", **_: object) -> list[str]:
    from torchkeeper.client.profiles import keeping

    return [*keeping.names(), *_files(prefix)]


def _targets(**_: object) -> list[str]:
    from torchkeeper.client.kept import hosts
    from torchkeeper.placing.targets import LOCAL

    some = hosts.hosts()
    named = [*(one.group for one in some if one.group), *(one.machine for one in some)]
    return list(dict.fromkeys([LOCAL, *named]))


def _words(prefix: str = "", **given: object) -> list[str]:
    """Those of which an argument takes several, after those that are typed already."""
    before, comma, _ = prefix.rpartition(",")
    words = getattr(given.get("action"), "words", ())
    return [before + comma + word for word in words if word not in before.split(",")]


_VALUES: dict[str, Values] = {
    **dict.fromkeys(("PLACE", "PLACE2", "SRC", "DST"), _places),
    "SERVER": lambda **_: [place for place in _known_places() if not scheme_of(place).local],
    **dict.fromkeys(("KEY", "KEY2"), _keys),
    "PROFILE": _profiles,
    "TARGET": _targets,
    **dict.fromkeys(("COL,…", "WORD,…"), _words),
    "Q": _filters,
}
