"""The pages of the window. The id of a page is that of its action (gui.actions)."""

#: The page that shows what a place holds; it is there from the start.
ENTRIES = "entries"
#: The page that somebody sees who starts for the first time.
FIRST = "overview"

PAGES = ("overview", ENTRIES, "compare", "runs", "recipes", "settings", "doctor")
