"""A Redis server as a place."""

from __future__ import annotations

#: What the names of Redis servers begin with, as for redis.from_url.
SCHEMES = ("redis://", "rediss://", "unix://")
#: Where the app listens, in the private folder of an engine that is to reach one (``way``).
WAY = "torchkeeper-way"
_SSH = "ssh://"


def through(name: str) -> tuple[str, str]:
    """The machine through which a server is reached, and the server's name there; "" and the whole
    name where it is reached from here, or is no server.
    """
    if name[: len(_SSH)].lower() == _SSH:
        machine, _, there = name[len(_SSH) :].partition("/")
        if there[:10].lower().startswith(SCHEMES):
            return _SSH + machine, there
    return "", name
