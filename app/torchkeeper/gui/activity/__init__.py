"""Jobs: their page, their history, and the strip in the status bar."""
