"""The window of the load test is that of the window's own tests."""

from tests.gui.conftest import nothing_survives, open_window, settings

__all__ = ["nothing_survives", "open_window", "settings"]
