"""A Redis server as a place."""
