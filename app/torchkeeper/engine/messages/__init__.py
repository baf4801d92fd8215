"""What is said about each operation, as types: parameters, results, rows and findings; here, what
several have: the place and the entries that they are about.

The types of an operation are ``<Name>Params`` and ``<Name>Result``, its name in CamelCase
(``plan_export``: PlanExportParams). ``engine.protocol`` says which module they are in, and checks
what comes over the wire against them. Who only names a type imports it under TYPE_CHECKING: then it
costs a start nothing.

What need not be there stands in a class with ``total=False``: NotRequired is younger than Python
3.10. Values are JSON: a tuple arrives as a list. The modules do without ``from __future__ import
annotations``: to compile each text when a module is loaded takes three times as long.
"""

from typing import TypedDict


class OfPlace(TypedDict):
    """What is asked about a place: a path, or the address of a server."""

    place: str


class Nothing(TypedDict):
    """Nothing is asked for besides, or all is in rows and findings."""


class Dying(TypedDict, total=False):
    """What is dead (``stores.dead.Wanted``). older: unused for so many seconds. keep: bytes."""

    stale: bool
    broken: bool
    orphans: bool
    older: float | None
    keep: int | None


class Select(Dying, total=False):
    """A selection; without fields, all. items: the kind and path of each entry. held: those that
    were sent before (``hold``). envs: environments for the verdicts that a filter asks for; for
    what is stale, all in which it is. look: the number of a look at what is dead (``suggest``).
    unknown: also what no known writer wrote, where it is named. everything: ``items`` or ``held``
    are all that the place holds, and nobody has chosen them. fits: only what the environment in
    ``envs`` can use, and what that needs.
    """

    filter: str
    items: list[tuple[str, str]]
    held: bool
    envs: list[str] | None
    look: int | None
    unknown: bool
    everything: bool
    fits: bool
