"""A Redis server as a place."""

#: What the names of Redis servers begin with, as for redis.from_url.
SCHEMES = ("redis://", "rediss://", "unix://")
