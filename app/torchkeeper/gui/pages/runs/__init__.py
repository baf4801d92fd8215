"""The runs that are kept, and their page."""
