"""What is wrong with what they did on one folder, and with what is left of it."""

from __future__ import annotations

import os
from typing import Any

from tests.load.commands import Ran, Rows
from tests.load.ledger import Ledger, Name, name_of

#: Why an entry may be left, where others work on the same folder: by the command.
_LEFT = {
    "import": {"key-taken", "object-unproven", "superseded", "list-spoilt", "in-use"},
    "copy": {"kind-not-portable", "part-of-artifact", "key-taken", "entry-vanished",
             "entry-changed", "entry-broken", "superseded", "list-spoilt", "in-use"},
    "export": {"kind-not-portable", "part-of-artifact", "entry-vanished", "entry-changed",
               "entry-broken", "superseded"},
    "purge": {"in-use", "entry-changed"},
    "undo": {"path-taken"},
}  # fmt: skip
#: Why a command may be refused.
_REFUSED = ("Another Torchkeeper is changing", "nothing to undo", "is in use")
#: What PyTorch writes without saying what it is: it must be whole, and that is all.
UNTOLD = ("code", "lock", "aoti_eager", "header", "unknown", "pgo")


def judged(
    beginning: Rows,
    calls: list[dict[str, Any]],
    every: list[Ran],
    rows: Rows,
    in_trash: int,
) -> list[str]:
    """All that is wrong.

    beginning, rows: what was there at first and in the end. calls: what PyTorch said of itself.
    every: all commands. in_trash: the entries there in the end.
    """
    found = [fault for ran in every for fault in _of_command(ran, bool(calls))]
    found += [f"wrong: {call}" for call in calls if not call.get("right", True)]
    ledger = Ledger()
    ledger.add([name_of(row) for row in beginning], 0, 0, True, "the beginning")
    ledger.take(every)
    for call in calls:
        _tell(ledger, call)
    found += ledger.faults({name_of(row) for row in rows}, UNTOLD)
    moved = sum(one.entries for one in ledger.receipts.values())
    back = sum(one.undone for one in ledger.receipts.values())
    if moved != back + ledger.emptied + in_trash:
        found.append(
            f"{moved} to the trash, {back} back, {ledger.emptied} emptied, {in_trash} there"
        )
    return found


def _of_command(ran: Ran, in_use: bool) -> list[str]:
    """Whether it did what it should, or said plainly why not; ``in_use``: by a PyTorch."""
    found = []
    left = {one["code"] for one in ran.result.get("left", [])}
    if "Traceback" in ran.said or ran.code not in (0, 1, 4):
        found.append(f"failed: {ran}")
    elif not left <= _LEFT.get(ran.what, set()):
        found.append(f"left {left}: {ran.argv}")
    elif ran.code == 1 and not ran.result and not any(text in ran.said for text in _REFUSED):
        found.append(f"refused: {ran}")
    polite = in_use and ran.what == "purge" and ran.who != "window" and "--in-use" not in ran.argv
    if polite and ran.result.get("entries"):
        found.append(f"PyTorch uses the folder: {ran}")
    return found


def _tell(ledger: Ledger, call: dict[str, Any]) -> None:
    """What PyTorch wrote, by what it says of it."""
    if "eager" in call:
        # What is built for an operator is code by itself until the operator's list names it.
        key = os.path.basename(call["eager"]).partition(".")[0]
        ledger.remove([("code", key, None)], call["began"], call["ended"], False, "an operator")
        return
    wrote = {"fxgraph": call["misses"], "aotautograd": call["aot_misses"]}
    names: list[Name] = [name_of(row) for row in call["artifacts"] if wrote.get(str(row[0]))]
    ledger.add(names, call["began"], call["ended"], True, f"torch, {call['number']}")
