"""Which pages there are: one table, from which the sidebar and the stack are made.

The id of a page is that of the action that goes to it (gui.actions), which has its text, icon,
shortcut and hint; ``pages.making`` makes it.
"""

from __future__ import annotations

#: The page that shows what a place holds; it is there from the start.
ENTRIES = "entries"
#: The page of the jobs.
ACTIVITY = "activity"
#: The page that somebody sees who starts for the first time.
FIRST = "overview"

PAGES = ("overview", ENTRIES, "compare", "runs", "recipes", "settings", "doctor", ACTIVITY)
