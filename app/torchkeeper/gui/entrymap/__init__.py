"""The map beside the table of entries: what the filter shows, as tiles."""
