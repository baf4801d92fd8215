"""The other machines that the user keeps, each once for each group that it is in: in one small file
a line for each, the name and the group, which may be empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from torchkeeper.artifacts.entry import Problem
from torchkeeper.client.kept import whole as kept
from torchkeeper.client.words.problems import user_error
from torchkeeper.stores.ssh import SCHEME, parse

_LIST = "hosts"
#: The group that all are in.
ALL = "all"
_GROUP = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
#: Numbers in a name, as in “gpu[03-16]” and “gpu[1,4-6]”; how many machines a name may stand for.
_RANGE = re.compile(r"\[(\d{1,9}(?:-\d{1,9})?(?:,\d{1,9}(?:-\d{1,9})?)*)\]")
_MOST = 4096


class Host(NamedTuple):
    """machine: as ``ssh://gpu1``."""

    machine: str
    group: str = ""


def hosts() -> list[Host]:
    """All of them, in the order in which they came. Raises UserError."""
    lines = kept.load(_LIST, "hosts-unreadable", "places")
    parts = (line.partition(" ") for line in lines)
    return [Host(machine, group) for name, _, group in parts for machine in named(name)]


def of_group(group: str) -> list[str]:
    """The machines of a group. Raises UserError where there is no such group."""
    found = [one.machine for one in hosts() if group in (ALL, one.group)]
    if not found:
        raise user_error("hosts-none", {"group": group})
    return list(dict.fromkeys(found))


def named(name: str) -> list[str]:
    """The machines that a name stands for, with or without “ssh://”. Raises UserError."""
    found = list[str]()
    try:
        for one in _each(name.removeprefix(SCHEME)):
            address = parse(SCHEME + one)
            if address.path or len(found) == _MOST:
                raise user_error("hosts-name", {"name": name})
            found.append(address.machine)
    except Problem as problem:
        raise user_error(problem.code, problem.params) from None
    if not found:  # from a number to a smaller one
        raise user_error("hosts-name", {"name": name})
    return found


def _each(name: str) -> Iterator[str]:
    if (found := _RANGE.search(name)) is None:
        yield name
        return
    for part in found[1].split(","):
        first, _, last = part.partition("-")
        for number in range(int(first), int(last or first) + 1):
            yield from _each(f"{name[: found.start()]}{number:0{len(first)}}{name[found.end() :]}")


def add(names: Iterable[str], group: str = "") -> list[Host]:
    """Keep machines; those that are new. Raises UserError."""
    if group and (group == ALL or not _GROUP.fullmatch(group)):
        raise user_error("hosts-group", {"group": group})
    there, new = hosts(), list[Host]()
    for machine in dict.fromkeys(one for name in names for one in named(name)):
        if not any(one.machine == machine and group in ("", one.group) for one in there):
            new.append(Host(machine, group))
    # One that is in a group need not be in none.
    grouped = {one.machine for one in [*there, *new] if one.group}
    _save(one for one in [*there, *new] if one.group or one.machine not in grouped)
    return new


def remove(names: Iterable[str], group: str = "") -> list[Host]:
    """Forget machines, or only that they are in a group; those that are gone. Raises UserError."""
    there, gone = hosts(), list[Host]()
    for name in names:
        for machine in named(name):
            found = [x for x in there if x.machine == machine and group in ("", x.group)]
            if not found:
                raise user_error("hosts-unknown", {"machine": machine})
            gone += found
    _save(one for one in there if one not in gone)
    return gone


def _save(some: Iterable[Host]) -> None:
    kept.save(_LIST, [" ".join(filter(None, one)) for one in some], "hosts-unwritable")
