"""The pages of the window: which there are, what they share, and going from one to another.

From this the sidebar and the stack are made, by ``pages.making``. The id of a page is that of its
action, with its text, icon, shortcut and hint (gui.actions).
"""

from __future__ import annotations

#: The page that shows what a place holds; it is there from the start.
ENTRIES = "entries"
#: The page of the jobs.
ACTIVITY = "activity"
#: The page that somebody sees who starts for the first time.
FIRST = "overview"

PAGES = ("overview", ENTRIES, "compare", "runs", "recipes", "settings", "doctor", ACTIVITY)
