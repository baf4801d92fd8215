"""Who else can change what lies in a place, on standard error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchkeeper.cli import output
from torchkeeper.client.words import owned

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


def tell(found: Sequence[Owned] | None, for_use: bool = False) -> None:
    """Warnings with their reasons, and what may be meant, in a line each; of a place that is to be
    used the latter only where it is a server: all who use it run what lies there.
    """
    warn(found)
    for one in owned.told(found):
        if not one.grave and (one.server or not for_use):
            output.note(" ".join([one.what, one.why, one.remedy]))


def warn_of_interpreter(python: str, found: Sequence[Writer]) -> None:
    """That others can change an interpreter that is about to be started; said once of each."""
    if python not in _warned:
        _warned.add(python)
        output.complain(owned.of_interpreter(python, found))
