"""The pages of the window. The id of a page is that of its action (gui.actions)."""

#: The page that shows what a place holds; it is there from the start.
ENTRIES = "entries"
#: The page that somebody sees who starts for the first time.
FIRST = "overview"

PAGES = ("overview", ENTRIES, "runs", "recipes", "settings", "doctor", "fleet")
#: A view over whichever of them one comes from: no list has it, and it leads back.
COMPARE = "compare"
