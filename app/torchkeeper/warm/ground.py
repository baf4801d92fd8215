"""What the runs of a verification are made on: the copy of the target, and folders for temporary
files, which several cells share.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchkeeper.artifacts.layout import HEADERS
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.duplicate import duplicate
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.items import Item
from torchkeeper.stores.temporary import remove
from torchkeeper.warm import ran
from torchkeeper.warm.caches import Used
from torchkeeper.warm.options import JUDGED

if TYPE_CHECKING:
    from torchkeeper.verdict.shapes import CauseTold

#: Says why graphs were not hits: from the folder that a program was led to, relative to the place,
#: and its trace, to a cause by the graph's id, as ``Near.cause`` in engine/running.py tells it.
Explain = Callable[[str, str], Mapping[str, "CauseTold"]]


@dataclass
class Ground:
    """What the runs of a verification have in common.

    led: where in a copy a program is led to; several: whether there is more than one cell, which
    share a folder for temporary files; marks: the files of the copy that they share.
    """

    source: Folder
    items: list[Item]
    led: Used
    scratch: str
    several: bool
    explain: Explain | None
    marks: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    def temporary(self, name: str) -> str:
        """The folder for temporary files of a run."""
        return os.path.join(self.scratch, *(() if self.several else (name,)), "tmp")

    def copy(self, cache: str, report: Report) -> None:
        """Have an unchanged copy of the target there."""
        if self.several and os.path.isdir(cache):
            if ran.files(cache) == self.marks:
                return
            remove(cache)
        duplicate(self.source, self.items, cache, report)
        if self.several:
            self.marks = ran.files(cache)

    def clear(self, name: str) -> None:
        """Take away what a run has left; the header and the copy stay where others share them."""
        if not self.several:
            remove(os.path.join(self.scratch, name))
            return
        if name not in JUDGED:
            remove(os.path.join(self.scratch, name))
        for above, kept in _left(self.temporary(name)):
            with os.scandir(above) as entries:
                going = [one for one in entries if one.name not in kept]
            for one in going:
                if one.is_dir(follow_symlinks=False):
                    remove(one.path)
                else:
                    with contextlib.suppress(OSError):
                        os.unlink(one.path)


def _left(temporary: str) -> list[tuple[str, tuple[str, ...]]]:
    """The folders in a temporary folder that are not taken away whole, each with what stays."""
    own = [
        name
        for name in (os.listdir(temporary) if os.path.isdir(temporary) else ())
        if os.path.isdir(os.path.join(temporary, name, HEADERS))
    ]
    inner = [(os.path.join(temporary, name), (HEADERS,)) for name in own]
    return [(temporary, tuple(own)), *inner] if os.path.isdir(temporary) else []
