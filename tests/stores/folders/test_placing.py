"""A group file that no Triton writes is refused before any of it is read."""

from __future__ import annotations

from typing import Any, cast

import pytest

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders import placing
from torchkeeper.stores.items import CHUNK, File, Item
from torchkeeper.stores.pouring import Pouring, Progress, drop

KEY = "A" * 52


def test_a_group_file_of_any_size_is_refused() -> None:
    file = File(f"triton/0/{KEY}/__grp__x.json", 32 * CHUNK, sha256="0" * 64)
    item = Item("triton", KEY, f"triton/0/{KEY}", [file])
    pouring = Pouring(Progress(Report(), file.size))
    # Nothing can be opened of it: None has no ``open``.
    with pytest.raises(Problem) as refused:
        placing.deliver(cast(Any, None), item, file, pouring, drop, "/x")
    assert refused.value.code == "payload-unreadable"
