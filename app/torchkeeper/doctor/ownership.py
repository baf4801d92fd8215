"""Who can write to a cache folder: this user, who has to, and others, who should not.

What a look at owners and modes finds is that of ``stores.folders.owners``; its words are
``client.words.owned``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from torchkeeper.doctor.check import FolderLook, MachineLook
from torchkeeper.settings.finding import Finding
from torchkeeper.stores import places
from torchkeeper.stores.folders import owners
from torchkeeper.stores.preconditions import space
from torchkeeper.stores.shapes import Owned

#: What taking a right away mends; of the rest the words say what to do.
_MODES = ("writable", "above")


def owner(look: FolderLook) -> Iterator[Finding]:
    """Whether this user can write there, and who else can."""
    why = space(look.root).why
    if why is not None and (look.mount is None or "ro" not in look.mount.options):
        code = {"why": why, "exists": look.exists}
        yield Finding("folder-unwritable", "error", ("TORCHINDUCTOR_CACHE_DIR",), look.place, code)
    if look.problem is not None and look.problem.code == "place-unreadable":
        yield Finding("folder-closed", "error", ("TORCHINDUCTOR_CACHE_DIR",), look.place,
                      {"why": look.problem.params.get("why")})  # fmt: skip
    seen = owners.findings(look.place, look.store.seen) if look.store else owners.glance(look.place)
    for one in seen:
        yield _owned(one, look.place)


def headers(look: MachineLook) -> Iterator[Finding]:
    """Who else can write to PyTorch's default folder, which always has the headers."""
    default = places.default_folder()
    if os.path.realpath(default) not in {one.root for one in look.folders}:
        for one in owners.glance(default):
            if one["grave"]:
                yield _owned(one, default)


def _owned(one: Owned, place: str) -> Finding:
    # A group may well share a folder: what is no danger is nobody's to take away unasked.
    mended = one["grave"] and one.get("mine") and one["what"] in _MODES
    fix = "chmod" if mended else ""
    severity = "warning" if one["grave"] else "advice"
    return Finding("folder-owned", severity, (), place, {"owned": one}, fix=fix)
