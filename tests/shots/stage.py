"""Where pictures of made-up states are taken."""

from __future__ import annotations

from tests.shots.sample_engines import SampleEngines
from torchkeeper.gui import shots
from torchkeeper.gui.background.engines import Engines
from torchkeeper.gui.shots import turn
from torchkeeper.gui.window import Window

__all__ = ["Stage", "turn"]


class Stage(shots.Stage):
    """A stage whose windows are over the samples, unless they have other engines."""

    def window(
        self,
        engines: Engines | None = None,
        *,
        size: tuple[int, int] = (1360, 800),
        settings: dict[str, object] | None = None,
    ) -> Window:
        """A window with settings of its own."""
        return super().window(engines or SampleEngines(), size=size, settings=settings)
