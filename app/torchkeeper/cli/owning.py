"""Who else can change what lies in a place, on standard error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchkeeper.cli import output
from torchkeeper.client.words import owned
from torchkeeper.stores.folders import owners

if TYPE_CHECKING:
    from torchkeeper.stores.shapes import Owned, Writer

#: Interpreters that this was said of.
_warned: set[str] = set()


def note(found: Sequence[Owned] | None) -> None:
    """The warnings among what an engine found, each in a line."""
    for one in owned.grave(found):
        output.note(f"{one.what} {one.remedy.partition(chr(10))[0]}")


def warn(found: Sequence[Owned] | None) -> None:
    """The warnings, with their reasons."""
    for one in owned.grave(found):
        output.complain(one.error)


def warn_of_use(found: Sequence[Owned] | None) -> None:
    """The warnings about a place that is to be used, with their reasons; of a server also what may
    be meant, in a line each: all who use it run what lies there.
    """
    warn(found)
    for one in owned.told(found):
        if not one.grave and one.server:
            output.note(" ".join([one.what, one.why, one.remedy]))


def tell(found: Sequence[Owned] | None) -> None:
    """All of it: warnings with their reasons, and what may be meant."""
    warn(found)
    for one in owned.told(found):
        if not one.grave:
            output.note(" ".join([one.what, one.why, one.remedy]))


def warn_of(place: str) -> None:
    """The warnings about a folder that a program is to use; what a look at it tells."""
    warn(owners.of_program(place))


def warn_of_interpreter(python: str, found: Sequence[Writer]) -> None:
    """That others can change an interpreter that is about to be started; said once of each."""
    if python not in _warned:
        _warned.add(python)
        output.complain(owned.of_interpreter(python, found))
