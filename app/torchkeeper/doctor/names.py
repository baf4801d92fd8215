"""Whether the path of a cache folder is one that PyTorch can work with.

A blank in it has every C++ kernel fail: PyTorch writes paths into a command as they are, and splits
that as a shell would (_run_compile_cmd in torch/_inductor/cpp_builder.py, 2.13.0). Where a
path gets too long to be opened, PyTorch compiles, logs a warning and keeps nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from torchkeeper.doctor.check import FolderLook
from torchkeeper.settings.checks.folders import UNQUOTED
from torchkeeper.settings.finding import Finding

_FOLDER = ("TORCHINDUCTOR_CACHE_DIR",)
#: Bytes that PyTorch adds to the path of a folder to name a graph's file while it writes it:
#: fxgraph/xx/<53 characters>/.<process>.<thread>.tmp, and more of Triton's.
_ADDED = 140
#: Linux's limits (limits.h), the first with the zero byte at the end; a name of Triton's may be
#: as long as its kernel's.
_PATH_MAX, _NAME_MAX = 4096, 255


def names(look: FolderLook) -> Iterator[Finding]:
    """What is in the path, how long it is, and how long names may be there."""
    if found := UNQUOTED.search(look.place):
        character = "blank" if found[0].isspace() else found[0]
        yield Finding("path-blank", "error", _FOLDER, look.place, {"character": character})
    above = len(os.fsencode(look.root)) + 1
    longest = max((len(os.fsencode(file.path)) for item in look.items for file in item.files),
                  default=0)  # fmt: skip
    if above + max(longest, _ADDED) >= _PATH_MAX:
        about = {"length": above - 1, "longest": above + longest, "most": _PATH_MAX - 1}
        yield Finding("path-long", "error", _FOLDER, look.place, about)
    try:
        most = os.pathconf(look.root, "PC_NAME_MAX") if look.exists else _NAME_MAX
    except (OSError, ValueError):
        return
    if most < _NAME_MAX:
        yield Finding("names-short", "warning", _FOLDER, look.place, {"most": most})
