"""The other machines that are kept, by their groups: hosts."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from torchkeeper.cli import output
from torchkeeper.client.kept import hosts as kept
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.stores.names import scheme_of

_HELP = """\
examples:
  torchkeeper hosts add gpu1 'gpu[03-16]' --group training
  torchkeeper hosts
  torchkeeper overview --hosts training    all of them at the same time
  torchkeeper hosts remove gpu1

A host is what ssh takes: a name, or an alias of ~/.ssh/config, with a user and a port if it needs
them, as me@gpu1:2222. If several machines are asked at once, ssh asks for nothing on the terminal:
use ssh-agent, or connect to a machine alone first."""


def add_hosts(command: argparse.ArgumentParser) -> None:
    output.describe(command, "Keep the machines that you ask together.", _HELP)
    command.set_defaults(run=_list, part="list")
    output.add_json(command)
    parts = command.add_subparsers(metavar="WHAT")
    listed = parts.add_parser("list", help="list them, with their groups; as “hosts” alone does")
    listed.set_defaults(run=_list)
    add = parts.add_parser("add", help="keep machines")
    add.set_defaults(run=_add)
    remove = parts.add_parser("remove", help="forget machines")
    remove.set_defaults(run=_remove)
    for one, about in ((add, "the group that they are in"), (remove, "only take them out of it")):
        one.add_argument("hosts", metavar="HOST", nargs="+", help="[user@]host[:port]; "
                         "“gpu[03-16]” stands for fourteen")  # fmt: skip
        one.add_argument("--group", metavar="GROUP", default="", help=about)
    for name, one in parts.choices.items():
        one.set_defaults(part=name)
        output.add_json(one, argparse.SUPPRESS)  # it may stand before the part, too


def add_group(command: argparse.ArgumentParser) -> None:
    """--hosts, of a command that asks several machines."""
    command.add_argument("--hosts", metavar="GROUP", default="", help="the machines "
                         "of this group, at the same time; “all” are all that “torchkeeper hosts "
                         "list” has")  # fmt: skip


def of_group(args: argparse.Namespace) -> list[str]:
    """The machines that --hosts names. Raises UserError."""
    return kept.of_group(args.hosts) if args.hosts else []


def machines_of(args: argparse.Namespace) -> dict[str, list[str]]:
    """The places that a command names, by their machines. No places mean all of that machine: where
    it is named itself, and of this machine where nothing is named. Raises UserError.
    """
    found: dict[str, list[str]] = {}
    for place in [*of_group(args), *args.places]:
        found.setdefault(scheme_of(place).machine(place), []).append(place)
    return {one: [] if one in some else some for one, some in found.items()} or {"": []}


def _list(args: argparse.Namespace) -> int:
    some = kept.hosts()
    if args.json:
        output.emit_all(one._asdict() for one in some)
    else:
        rows = [[one.machine, one.group or "-"] for one in some]
        output.table(["MACHINE", "GROUP"], rows, frozenset())
    return 0


def _add(args: argparse.Namespace) -> int:
    return _told(args, "added", kept.add(args.hosts, args.group))


def _remove(args: argparse.Namespace) -> int:
    return _told(args, "removed", kept.remove(args.hosts, args.group))


def _told(args: argparse.Namespace, what: str, some: Sequence[kept.Host]) -> int:
    names = printable(say.together([one.machine for one in some]), 600) or "none"
    result = {what: [one._asdict() for one in some]}
    output.result(args, result, f"{what.capitalize()}: {names}.")
    return 0
