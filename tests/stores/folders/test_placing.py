"""What is refused of a file before it is written: by its size, by how it begins."""

from __future__ import annotations

from typing import Any, cast

import pytest

from torchkeeper.artifacts import proofs
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


def test_how_a_file_of_a_kernel_begins_is_the_same_for_all() -> None:
    for key in ("A" * 52, "triton/0/" + "B" * 52):
        assert proofs.fits(f"{key}/memoizer_cache.json", b'{"collections": 1}')
        assert not proofs.fits(f"{key}/memoizer_cache.json", b"x")
        assert proofs.fits(f"{key}/k.ttir", b"x")
    # Other programs have folders of this name.
    assert not proofs.fits(f"{'0' * 64}/k.ttir", b"x")
