"""What a compile job does that was sent to where it runs: in a folder of its own, which goes with
it, it finds what bundles hold, and compiles; what is new is a bundle, for whoever sent it. Or it
proves that what the bundles hold is found.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from torchkeeper.artifacts.entry import PORTABLE, Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.engine import bundles, renaming
from torchkeeper.engine.session import Rows, Session, path_of, tell_left
from torchkeeper.stores.atomic import remove
from torchkeeper.stores.bundles.bundle import Bundle
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.importing import import_bundles
from torchkeeper.stores.items import Item
from torchkeeper.stores.offering import Named

if TYPE_CHECKING:
    from torchkeeper.engine.messages import compiling as msg
    from torchkeeper.engine.messages.bundles import ExportParams
    from torchkeeper.warm.shapes import Verifying, Warming


def fill(session: Session, params: msg.FillParams, report: Report) -> msg.FillResult:
    """Compile, and write what that added to the bundle ``output``. Cancelled, it writes what was
    done by then. Rows say what is in it (FillRow). Raises Problem for what holds for all variants.
    """
    from torchkeeper.warm.sent import placed
    from torchkeeper.warm.supervise import warm

    output, cut, rows = path_of(params["output"]), False, Rows(report)
    torch = device = ""
    with _seeded(session, params, report) as place, placed(params, True) as recipes:
        before = {item.identity for item in Folder(place).items(report)}
        try:
            asked = {**params, "recipes": recipes, "into": place, "each": True}
            done = warm(cast("Warming", asked), report)
            torch, device = done["torch"], done["device"]
        except Cancelled:
            if report.alone:
                raise
            cut = True
        unheard = Report()  # whoever cancelled wants what was done by then
        found = [item for item in Folder(place).items(unheard) if item.identity not in before]
        new = [item for item in found if item.kind in PORTABLE]
        size = 0
        if new:
            # It goes where the recipes came from; what others may read is looked at there.
            wanted: ExportParams = {
                "place": place,
                "output": output,
                "select": {"items": [(item.kind, item.path) for item in new]},
                "builders": params.get("builders"),
                "secrets": "allow",
            }
            size = bundles.export_(session, wanted, unheard)["size"]
        for item in new:
            row: msg.FillRow = {"kind": item.kind, "key": item.key}
            rows.add(row)
    rows.send()
    return {"new": len(new), "size": size, "cut": cut, "torch": torch, "device": device}


def prove(session: Session, params: msg.ProveParams, report: Report) -> msg.ProveResult:
    """Verify what the seeds hold, and nothing else, by one run with it."""
    from torchkeeper.engine.variants import explainer
    from torchkeeper.warm.sent import placed
    from torchkeeper.warm.verify import verify

    with _seeded(session, params, report) as place, placed(params, True) as recipes:
        explain = explainer(session, place, report)
        asked = {**params, "recipes": recipes, "place": place, "runs": ["warm"]}
        return verify(cast("Verifying", asked), report, explain)


@contextlib.contextmanager
def _seeded(session: Session, params: msg.Seeded, report: Report) -> Iterator[str]:
    """The folder, with what bundles hold, as this interpreter names it; of more than one bundle
    what fits is there, and what does not is told.
    """
    place = tempfile.mkdtemp(prefix="fill-", dir=os.getcwd())
    try:
        if seeds := [path_of(one) for one in params.get("seeds", ())]:
            _place(session, seeds, place, report)
        yield place
    finally:
        remove(place)


def _place(session: Session, seeds: Sequence[str], place: str, report: Report) -> None:
    def left(offered: Named, item: Item, problem: Problem) -> None:
        tell_left(report, offered.origin(item), problem)

    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(Bundle(path, report)) for path in seeds]
        offered = [renaming.for_this(session, one, report) for one in opened]
        import_bundles(offered, place, report, left)
