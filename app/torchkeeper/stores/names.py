"""What the name of a place says of it, for whoever shall not load the places themselves."""

from __future__ import annotations

from torchkeeper.stores.redis.scheme import RedisScheme
from torchkeeper.stores.scheme import Path, Scheme

#: The kinds of places that have an address.
_ADDRESSED: tuple[Scheme, ...] = (RedisScheme(),)
_PATH = Path()


def scheme_of(place: str) -> Scheme:
    """What is known of a place by its name."""
    # The scheme of a URL may be in capitals; no scheme is longer than this.
    begin = place[:10].lower()
    for scheme in _ADDRESSED:
        if begin.startswith(scheme.begins):
            return scheme
    return _PATH
