"""Entries that go from one machine to another: by way of a bundle, which is made where they are,
goes over the connection, and is placed where they are to be.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from torchkeeper.client import temporary
from torchkeeper.client.engines import far, ferry
from torchkeeper.stores.names import SUFFIX, scheme_of

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Secrets

Given = TypeVar("Given")


def copy(
    source: str, target: str, filter: str | None, secrets: Secrets | None,
    make: Callable[[str, Secrets | None], int], give: Callable[[str, bool], Given],
    told: ferry.Told = lambda *_: None,
) -> Given:  # fmt: skip
    """What ``give`` says of a copy. make: has an engine of the source write a bundle; its bytes.
    give: has one of the target copy a bundle, of which it hears what that is called there, and
    whether an environment there is to name the objects in it. Raises UserError.
    """
    machine, to = far.machine_of(source), far.machine_of(target)
    named = scheme_of(target).becomes(target) == "folder"
    with temporary.folder("crossing") as folder:
        file = source
        if filter or not os.path.isfile(source):
            file = os.path.join(folder, f"bundle{SUFFIX}")
            made = ferry.name(machine) if machine else file
            # What comes to a folder of the user's is read by nobody else.
            size = make(made, "allow" if named and not to else secrets)
            if machine:
                ferry.fetch(made, file, size, told=told)
        with ferry.sent(to, [file], told) as there:
            return give(there[file], named)
