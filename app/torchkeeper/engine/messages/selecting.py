"""Which entries an operation is about."""

from typing import TypedDict


class OfPlace(TypedDict):
    """What is asked about a place: a path, or the address of a server."""

    place: str


class Nothing(TypedDict):
    """Nothing is asked for besides, or all is in rows and findings."""


class Dying(TypedDict, total=False):
    """What is dead is meant (``stores.dead.Wanted``).

    older: not used for so many seconds. keep: bytes; what was used longest ago, until the rest
    takes no more.
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
