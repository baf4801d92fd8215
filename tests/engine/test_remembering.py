"""What an engine remembers of what it was told has bounds: who tells it may be a stranger."""

from __future__ import annotations

import pytest

from torchkeeper.artifacts.entry import Problem
from torchkeeper.engine import session
from torchkeeper.engine.session import Session


def test_what_is_held_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_HELD", 10_000)
    one = Session()
    one.hold([("triton", "a")] * 20)
    with pytest.raises(Problem):
        for _ in range(10):
            one.hold([("triton", "b")] * 20)
    assert one.held == []
    one.hold([("triton", "c")] * 20)
    assert one.let_go() == [("triton", "c")] * 20
    assert one.held_bytes == 0


def test_the_last_environments_are_known() -> None:
    one = Session()
    for number in range(1000):
        one.know(f"/env{number}", {"torch": "2.9.0"})
        one.know("/mine", {"torch": "2.9.1"})
    assert len(one.environments) <= 64
    assert {"/mine", "/env999"} <= one.environments.keys()
