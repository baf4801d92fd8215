"""Where the caches of a bundle go on a machine, as an import into each says it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from torchkeeper.client.engines import far
from torchkeeper.client.words.tongue import tr

if TYPE_CHECKING:
    from torchkeeper.engine.messages.bundles import CacheRow


def named(machine: str, rows: Sequence[CacheRow]) -> list[CacheRow]:
    """The same with the names that the folders of a machine have here."""
    found: list[CacheRow] = []
    for row in rows:
        into = row["into"]
        found.append({**row, "into": (far.name_of(machine, into) or None) if into else None})
    return found


def why(row: CacheRow) -> str:
    """Why a cache goes where it goes, or stays."""
    if not row["into"]:
        return tr("nothing on this machine says where this cache is")
    reason = row["reason"] or ""
    said = reason if reason.isupper() else tr("its default")
    return said if row["there"] else tr("{why}, which is not there yet", why=said)
