"""Which pages there are: one table, from which the sidebar and the stack are made.

The id of a page is that of the action that goes to it (gui.actions), which has its text, icon,
shortcut and hint.
"""

from __future__ import annotations

from typing import NamedTuple

#: The page that shows what a place holds; it is there from the start.
ENTRIES = "entries"
#: The page that somebody sees who starts for the first time.
FIRST = "overview"


class PageSpec(NamedTuple):
    """One page: its id, and the module and class that make it, called with the window."""

    id: str
    module: str
    name: str


PAGES = (
    PageSpec("overview", "torchkeeper.gui.overview.page", "OverviewPage"),
    PageSpec(ENTRIES, "", ""),
    PageSpec("compare", "torchkeeper.gui.comparing.page", "ComparePage"),
    PageSpec("runs", "torchkeeper.gui.runs.page", "RunsPage"),
    PageSpec("recipes", "torchkeeper.gui.recipes.page", "RecipesPage"),
    PageSpec("settings", "torchkeeper.gui.profiles.page", "SettingsPage"),
    PageSpec("doctor", "torchkeeper.gui.doctor.page", "DoctorPage"),
    PageSpec("activity", "torchkeeper.gui.activity.page", "ActivityPage"),
)  # fmt: skip
