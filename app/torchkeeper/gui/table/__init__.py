"""The table of entries: its model, its view, and what can be done with its rows."""
