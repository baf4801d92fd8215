"""What an operation does when it is cancelled is one fact, which each of them has."""

from __future__ import annotations

from torchkeeper.engine.cancelling import ENDS, Ends, ends
from torchkeeper.engine.operations import OPERATIONS
from torchkeeper.link.kept.protected import CHANGING


def test_every_operation_says_what_becomes_of_it() -> None:
    assert ENDS.keys() == OPERATIONS.keys()


def test_what_changes_a_place_is_not_killed_as_what_looks() -> None:
    assert all(ENDS[op] is not Ends.LOOKS for op in CHANGING)
    # What says how it ends has time for that, wherever it goes.
    assert ends("copy", {"into": "/cache"}) is Ends.BACK
    assert ends("copy", {"into": "redis://host"}) is Ends.STAYS
    assert ends("copy", {"into": "/cache", "dry": True}) is Ends.LOOKS
    assert ends("nonsense", {}) is Ends.LOOKS
