"""What the tests of hostile input share."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hostile import running
from tests.hostile.tripwires import Arena


@pytest.fixture(params=["normal", pytest.param("long", marks=pytest.mark.slow)])
def run(request: Any) -> running.Run:
    """How many inputs, and which."""
    return running.long() if request.param == "long" else running.normal()


@pytest.fixture(autouse=True)
def _readers(started_readers: None) -> None:
    """It is they that hostile input is for."""


@pytest.fixture
def arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Arena]:
    """Where hostile input is let loose; at its end nothing is where nothing may be."""
    made = Arena(tmp_path / "arena")
    monkeypatch.setenv("XDG_STATE_HOME", str(made.state))
    # What the tests of this process hold by now is not to be gone through again and again while a
    # bomb makes a million objects: it is the bomb that is timed. It stays so, as in tests/conftest.
    gc.freeze()
    yield made
    made.check()
    made.check_files()
