"""What stands around the pages: bars, heads, the status bar, and how they share the window."""
