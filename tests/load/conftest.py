"""The window of the load test is that of the window's own tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gui.conftest import nothing_survives, open_window, own_home, settings
from tests.load.crew import Crew

__all__ = ["nothing_survives", "open_window", "own_home", "settings"]


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    """Processes, whose papers lie in ``tmp_path / "work"``."""
    (tmp_path / "work").mkdir()
    made = Crew(tmp_path / "work")
    yield made
    made.kill()
