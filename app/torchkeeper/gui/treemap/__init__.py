"""A map of what takes how much room: nested data as tiles, large ones for what is large."""
