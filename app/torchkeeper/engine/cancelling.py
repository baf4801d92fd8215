"""What each operation does when it is cancelled: one fact of each, for whoever waits for its end.

How long it may take, and what its end means, follows from that: nobody keeps a list of his own.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from torchkeeper.stores.names import is_server


class Ends(Enum):
    """LOOKS: it changes nothing, and nothing is lost when it is killed. BACK: it takes back what it
    has done, and says how far it is. STAYS: what it has done by then stays, and each thing of that
    is whole. APART: it works in a folder of its own, or only adds what is whole, and what is left
    of it is removed by whoever asked for it.
    """

    LOOKS = "looks"
    BACK = "back"
    STAYS = "stays"
    APART = "apart"

    @property
    def changes(self) -> bool:
        """Whether something may be half done where it is killed."""
        return self in (Ends.BACK, Ends.STAYS)


_LOOKING = (
    "places", "list", "du", "show", "detail", "needs", "text", "factors", "plan_export", "compare",
    "target", "signature", "copy_manifest", "origin", "named", "names", "leaks", "runnable",
    "facts", "server", "hold", "secret", "plan_purge", "suggest", "overview", "sum", "trash",
    "probe", "settings", "processes", "process_settings", "know", "check", "judge", "held",
    "explain_trace", "explain", "cells", "diagnose", "toolchain",
)  # fmt: skip

#: Every operation (engine.operations).
ENDS: dict[str, Ends] = {
    **dict.fromkeys(_LOOKING, Ends.LOOKS),
    **dict.fromkeys(("export", "import", "copy", "attach_signature"), Ends.BACK),
    **dict.fromkeys(("purge", "undo", "empty_trash", "recover", "mend", "ttl"), Ends.STAYS),
    **dict.fromkeys(("warm", "verify", "prepare"), Ends.APART),
}


def ends(operation: str, params: Mapping[str, object]) -> Ends:
    """What an operation does when it is cancelled; LOOKS where there is none of that name."""
    if params.get("dry"):
        return Ends.LOOKS
    if operation == "copy" and is_server(str(params.get("into") or "")):
        return Ends.STAYS
    return ENDS.get(operation, Ends.LOOKS)
