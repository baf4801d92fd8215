"""What is said about each operation, as types: parameters, results, rows and findings; here, what
several have: the place and the entries that they are about.

A module has the TypedDicts of some operations: ``<Name>Params`` and ``<Name>Result``, where
``<Name>`` is the operation's name in CamelCase (``plan_export``: PlanExportParams), and those they
hold. ``engine.protocol`` says which module an operation's are in, ``engine.wire`` checks what
comes over the wire against them. Who only names a type imports it under TYPE_CHECKING: then it
costs a start nothing.

What need not be there stands in a class with ``total=False``; the travelling part knows no
NotRequired, which is younger than Python 3.10. Values are JSON: a tuple arrives as a list.

The modules have their annotations as they are, without ``from __future__ import annotations``: each
text would have to be compiled when a module is loaded, which takes three times as long.
"""

from typing import TypedDict


class OfPlace(TypedDict):
    """What is asked about a place: a path, or the address of a server."""

    place: str


class Nothing(TypedDict):
    """Nothing is asked for besides, or all is in rows and findings."""


class Dying(TypedDict, total=False):
    """What is dead is meant (``stores.dead.Wanted``). older: not used for so many seconds. keep:
    bytes; what was used longest ago, until the rest takes no more.
    """

    stale: bool
    broken: bool
    orphans: bool
    older: float | None
    keep: int | None


class Select(Dying, total=False):
    """A selection; without fields, all.

    items: the kind and path of each entry. held: those that were sent before (``hold``). envs: the
    names of environments for the verdicts that a filter asks for; for what is stale, all in which
    it is. look: the number of a look at what is dead, to be taken as it is (``suggest``). unknown:
    also what no known writer wrote, where it is named. everything: ``items`` or ``held`` are all
    that the place holds, and nobody has chosen them.
    """

    filter: str
    items: list[tuple[str, str]]
    held: bool
    envs: list[str] | None
    look: int | None
    unknown: bool
    everything: bool
