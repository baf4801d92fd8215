"""What the window looks up without an engine: each function waits for disks, and is called in a
thread that may (``gui.asides``). All return the result of a request.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

_FINDING = threading.Lock()


def paths(some: Sequence[str]) -> dict[str, Any]:
    """``{"paths": [{path, what}]}``: what each is: a folder, a file or missing."""
    from torchkeeper.link.paths import what

    return {"paths": [{"path": path, "what": what(path)} for path in some]}


def interpreters(add: str, remove: str) -> dict[str, Any]:
    """As of ``gui.finding.found``. Raises UserError."""
    from torchkeeper.gui.finding import found

    # One after the other, so that the last answer knows of all that was added.
    with _FINDING:
        return found(add, remove)


def keyring() -> dict[str, Any]:
    """``{"keyring"}``: whether there is one."""
    from torchkeeper.link import secrets

    return {"keyring": secrets.can_keep()}


def runs(forget: Sequence[str]) -> dict[str, Any]:
    """``{"kept": Kept}``: the runs that are kept, after those to forget. Raises UserError."""
    from torchkeeper.link import runs as every

    every.forget(forget)
    return {"kept": every.kept()}


def mark(place: str) -> dict[str, Any]:
    """``{"mark"}``: what a place is like, so that a change is seen. Looks at every folder in it."""
    from torchkeeper.link import verified

    return {"mark": verified.mark(place)}


def last_verified(places: Sequence[str]) -> dict[str, Any]:
    """``{"verified": {place: (Verified, changed)}}``: what was verified last of places, and whether
    the place is another since.
    """
    from torchkeeper.link import verified

    kept = ((place, verified.last(place)) for place in places)
    return {"verified": {place: (one, one.before_it_changed()) for place, one in kept if one}}


def keep_verified(
    place: str, before: str | None, python: str, result: dict[str, Any]
) -> dict[str, Any]:
    """``{"verified": Verified}``, kept. before: the mark from before it began; result: as
    ``verified.checked`` returned it.
    """
    from torchkeeper.link import verified

    return {"verified": verified.keep(place, before, python, result)}
