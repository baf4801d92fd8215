"""What the name of a place says of it, for whoever shall not load the places themselves."""

from __future__ import annotations

#: What the names of Redis servers begin with, as for redis.from_url.
SCHEMES = ("redis://", "rediss://", "unix://")


def is_server(place: str) -> bool:
    """Whether a place is a Redis, by its name."""
    # The scheme of a URL may be in capitals; no scheme is longer than this.
    return place[:10].lower().startswith(SCHEMES)
