"""Engines and plans in a process that was forked, and in two engines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import torchkeeper


def test_a_plan_is_carried_out_by_nobody_else(fixture_cache: Path) -> None:
    with torchkeeper.open(fixture_cache) as place:
        small = place.purge("kind:aotautograd")
        place.close()
        every = place.purge("size>=0")
        assert len(every.entries) > len(small.entries) > 0
        with pytest.raises(torchkeeper.Error):
            small.apply()
        assert place.entries()


def test_a_child_leaves_the_engine_of_its_parent_alone(fixture_cache: Path) -> None:
    with torchkeeper.open(fixture_cache) as place:
        many = len(place.entries())
        child = os.fork()
        if not child:
            try:
                place.entries()
            except torchkeeper.Error as error:
                place.close()
                os._exit(7 if error.code == "engine-forked" else 8)
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert len(place.entries()) == many
