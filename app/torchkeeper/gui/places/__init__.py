"""The places on the list, and the one that is shown."""
