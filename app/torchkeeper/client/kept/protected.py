"""Which places are read-only because the user says so; the window and the command line hold to it.
They are kept by name in one small file. Where that cannot be understood nothing is changed
anywhere: to take a damaged list for an empty one would give up what it protects.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping

from torchkeeper.artifacts.entry import Problem
from torchkeeper.client.kept import whole as kept
from torchkeeper.client.words.problems import user_error
from torchkeeper.engine.protocol import PREPARE, traits
from torchkeeper.stores.names import scheme_of

_LIST = "read-only"


def protected() -> list[str]:
    """The names of all places that are read-only. Raises UserError."""
    return sorted(kept.load(_LIST, "protection-unreadable", "places"))


def protect(place: str, on: bool) -> list[str]:
    """Make a place read-only, or no longer; the names of all that are. Raises UserError."""
    places = sorted({*protected(), place} if on else {*protected()} - {place})
    kept.save(_LIST, places, "protection-unwritable")
    return places


def guard(op: str, params: Mapping[str, object], *, follow: bool = True) -> None:
    """Raise UserError where a request would change a read-only place. follow: see through links."""
    place = params.get(traits(op).changes)
    if op == PREPARE:
        # It writes to a place in the temporary folder that is named, or in the usual one.
        from torchkeeper.warm.prepare import headers_for

        with contextlib.suppress(Problem):  # of a request that the engine refuses
            into = params.get("into")
            place = headers_for(into if isinstance(into, str) else None)
    # What is only foretold changes nothing.
    if isinstance(place, str) and place and not params.get("dry"):
        check(place, below=traits(op).removes, follow=follow)


def check(place: str, *, below: bool = False, follow: bool = True) -> None:
    """Raise UserError where a place, or (below) what lies in it, is read-only, or what it is in."""
    found = covering(place, protected(), below=below, follow=follow)
    if found == place:
        raise user_error("place-protected", {"place": place})
    if found is not None:
        raise user_error("place-within-protected", {"place": place, "protected": found})


def covering(
    place: str, protected: Iterable[str], *, below: bool = False, follow: bool = True
) -> str | None:
    """Which of the places that are read-only is this one, or has it within; None for none."""
    scheme = scheme_of(place)
    mine = scheme.same(place, follow)
    for other in protected:
        whole = scheme_of(other).same(other, follow)
        folders = scheme.is_files and scheme_of(other).is_files
        within = mine.startswith(whole.rstrip("/") + "/")
        holds = below and whole.startswith(mine.rstrip("/") + "/")
        if mine == whole or (folders and (within or holds)):
            return other
    return None
