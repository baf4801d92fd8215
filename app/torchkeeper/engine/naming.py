"""The names under which this interpreter's PyTorch looks for the built objects in bundles.

A name is a hash of the source and of how this PyTorch would build it here, and it is PyTorch itself
that computes both. Sources are read as texts: nothing of a bundle is run, imported or unpickled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchkeeper.artifacts.report import Report
from torchkeeper.engine.bundles import Rows
from torchkeeper.engine.session import Session, path_of
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.bundles.parts import MAX_SOURCE
from torchkeeper.stores.items import File
from torchkeeper.verdict import commands, constants

if TYPE_CHECKING:
    from torchkeeper.engine.messages.entries import NamesParams, NamesResult, NamesRow


def names(_: Session, params: NamesParams, report: Report) -> NamesResult:
    """A NamesRow for each object in the bundles ``files`` that was built by a command as this
    environment has.

    Imports torch where a bundle tells how an object was built. Raises Problem as Bundle.
    """
    rows = Rows(report)
    count = 0
    here: dict[str, str] | None = None
    for path in params["files"]:
        with Bundle(path_of(path), report) as bundle, constants.private_folder():
            for item in bundle.items():
                report.check()
                if (built := bundle.built_with(item)) is None:
                    continue
                source, portable = built
                if here is None:
                    told = commands.commands() or []
                    here = {one["portable"]: one["extra"] for one in told}
                extra, text = here.get(portable), _text(bundle, source)
                if extra is None or text is None:
                    continue
                key = commands.key(text, extra)
                row: NamesRow = {"file": path, "path": item.path, "key": key}
                rows.add(row)
                count += 1
    rows.send()
    return {"count": count}


def _text(bundle: Bundle, source: File) -> str | None:
    """A source as PyTorch has it; what cannot be read is told by whoever places it."""
    if source.size > MAX_SOURCE:
        return None
    try:
        with bundle.open(source) as stream:
            return stream.read(MAX_SOURCE).decode()
    except (OSError, UnicodeDecodeError):
        return None
