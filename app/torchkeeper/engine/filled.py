"""The folders that were filled here from another machine, in a file of this account: whoever asks
it for its places finds them, from wherever they were filled. Engines of this machine's own app have
no such file: what it fills, its window knows. A line of JSON for each; what is lost is not listed.
"""

from __future__ import annotations

import contextlib
import json
import os

from torchkeeper.engine import protocol
from torchkeeper.stores.atomic import atomic_write

#: How many are kept, the last; bytes of the file.
_MOST, _BYTES = 200, 1 << 20


def note(place: object) -> None:
    """A place was filled. Bundles and servers are none of these. Raises nothing."""
    file = os.environ.get(protocol.FILLED)
    if file and isinstance(place, str) and os.path.isabs(place) and os.path.isdir(place):
        with contextlib.suppress(OSError):
            some = [one for one in _kept(file) if one != place]
            os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
            with atomic_write(file, 0o600) as stream:
                lines = (json.dumps(one) for one in [*some, place][-_MOST:])
                stream.write("".join(f"{line}\n" for line in lines).encode())


def folders() -> list[str]:
    """Those that are still there, the last first."""
    file = os.environ.get(protocol.FILLED)
    return [one for one in reversed(_kept(file)) if os.path.isdir(one)] if file else []


def _kept(file: str) -> list[str]:
    found: list[str] = []
    with contextlib.suppress(OSError, ValueError, RecursionError), open(file, "rb") as stream:
        for line in stream.read(_BYTES).splitlines():
            one = json.loads(line)
            if isinstance(one, str) and os.path.isabs(one) and "\0" not in one:
                found.append(one)
    return found[-_MOST:]
