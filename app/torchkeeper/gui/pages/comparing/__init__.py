"""The page that compares two entries, and what differs between them."""
