"""Where a fleet can run, as the user keeps it: other machines and their groups (``hosts``), and
what is reached otherwise, as a Ray cluster, in one small file a line for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torchkeeper.client.kept import hosts
from torchkeeper.client.kept import whole as kept
from torchkeeper.stores.ssh import SCHEME

_LIST = "targets"


class Kept(NamedTuple):
    """name: as a fleet is told it. kind: "host", "group" or "other". of: of a group its machines,
    of a machine its groups.
    """

    name: str
    kind: str
    of: Sequence[str] = ()


class Gone(NamedTuple):
    """What was taken off the list, to be put back."""

    others: Sequence[str] = ()
    hosts: Sequence[hosts.Host] = ()


def targets() -> list[Kept]:
    """Groups first, then machines, then the others. Raises UserError."""
    every = hosts.hosts()
    machines: dict[str, list[str]] = {}
    groups: dict[str, list[str]] = {}
    for one in every:
        machines.setdefault(one.machine, [])
        if one.group:
            machines[one.machine].append(one.group)
            groups.setdefault(one.group, []).append(one.machine)
    return [
        *(Kept(name, "group", of) for name, of in groups.items()),
        *(Kept(name, "host", of) for name, of in machines.items()),
        *(Kept(name, "other") for name in _others()),
    ]


def add(name: str) -> None:
    """Keep a target; machines are kept as such. Raises UserError."""
    if name.startswith(SCHEME):
        hosts.add([name])
    elif name not in (others := _others()):
        _save([*others, name])


def remove(name: str) -> Gone:
    """Forget a target, and of a group only that its machines are in it. Raises UserError."""
    if name in (others := _others()):
        _save([one for one in others if one != name])
        return Gone(others=[name])
    if name.startswith(SCHEME):
        return Gone(hosts=hosts.remove([name]))
    gone = hosts.remove(hosts.of_group(name), name)
    alone = {one.machine for one in gone} - {one.machine for one in hosts.hosts()}
    if alone:  # who was in no other group stays
        hosts.add([one.machine for one in gone if one.machine in alone])
    return Gone(hosts=gone)


def put_back(gone: Gone) -> None:
    """Keep again what was removed. Raises UserError."""
    for one in gone.hosts:
        hosts.add([one.machine], one.group)
    if gone.others:
        _save([*_others(), *gone.others])


def _others() -> list[str]:
    return kept.load(_LIST, "targets-unreadable", "targets")


def _save(some: Sequence[str]) -> None:
    kept.save(_LIST, list(dict.fromkeys(some)), "targets-unwritable")
