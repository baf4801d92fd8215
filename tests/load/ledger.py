"""What must be in a folder, and what may be, after several have worked on it at once.

Nobody knows in which order two commands that overlapped did their work, only when each began and
ended. So: an entry must be there if somebody has certainly put it there, and whatever may have
removed it was over before that began. It must not be there if somebody has certainly removed it,
after all that may have put it there was over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.load.commands import Ran

#: (kind, key, sha256), where the sha256 is that of something that nobody writes anew; else None.
Name = tuple[str, str, str | None]
#: Operations after which what was cut off is over.
_SOON = 12
#: Kinds of which another content takes the same path.
_ONE_PATH = frozenset({"code", "pgo"})


class Event(NamedTuple):
    """Something that put an entry there or removed it; certain: it surely did."""

    began: float
    ended: float
    certain: bool
    by: str


def name_of(row: Sequence[str | None]) -> Name:
    """What an entry of a listing is called here."""
    kind, key, sha256 = row[:3]
    assert kind is not None
    assert key is not None
    return kind, key, None if kind in _ONE_PATH else sha256


@dataclass
class Receipt:
    """A purge into the trash. certain: its rows are all that it moved, and it moved all. last: when
    it was undone, in part, for the last time.
    """

    names: list[Name]
    entries: int
    certain: bool
    undone: int = 0
    last: float = 0.0


@dataclass
class Ledger:
    """Who put what there, and who removed what."""

    added: defaultdict[Name, list[Event]] = field(default_factory=lambda: defaultdict(list))
    removed: defaultdict[Name, list[Event]] = field(default_factory=lambda: defaultdict(list))
    receipts: dict[str, Receipt] = field(default_factory=dict)
    #: Entries that were removed at once, and from the trash.
    at_once: int = 0
    emptied: int = 0
    #: Operations that were cut off.
    cut: int = 0

    def add(
        self, names: Iterable[Name], began: float, ended: float, certain: bool, by: str
    ) -> None:
        """Somebody has put entries there."""
        for name in names:
            self.added[name].append(Event(began, ended, certain, by))

    def remove(
        self, names: Iterable[Name], began: float, ended: float, certain: bool, by: str
    ) -> None:
        """Somebody has removed entries, or found that they are gone."""
        for name in names:
            self.removed[name].append(Event(began, ended, certain, by))

    def take(self, every: Iterable[Ran]) -> None:
        """All that commands did; an undo is known by its purge, which may be another's."""
        ordered = sorted(every, key=lambda ran: ran.began)
        for ran in ordered:
            if ran.what == "purge":
                self._purge(ran)
            elif ran.what in ("import", "copy") and ran.of:
                self._place(ran)
            elif ran.what == "trash":
                self.emptied += int(ran.result.get("entries", 0))
        for ran in ordered:
            if ran.what == "undo":
                self._undo(ran)

    def take_cut(self, cut: Iterable[Ran], done: Sequence[Ran]) -> None:
        """What was begun by who was killed then: whoever comes next brings it to its end, or takes
        it back. Nothing is certain of it, but that it is over soon.
        """
        ends = sorted(ran.ended for ran in done)
        purges = [ran for ran in (*cut, *done) if ran.what == "purge"]
        touched = {name_of(row) for ran in purges for row in ran.rows}
        for ran in cut:
            self.cut += 1
            # Each of the others has come once by then.
            later = [end for end in ends if end > ran.began]
            over = later[min(_SOON, len(later) - 1)] if later else ran.began
            by = f"{ran.argv[0]}, cut off"
            if ran.what == "purge":
                names = [name_of(row) for row in ran.rows]
                self.remove(names, ran.began, over, False, by)
                self.add(names, ran.began, over, False, by)
            elif ran.what == "import":
                self.add([name_of(row) for row in ran.of], ran.began, over, False, by)
            elif ran.what == "undo":
                self.add(touched, ran.began, over, False, by)
        for ran in done:
            if ran.what == "undo" and ran.result.get("receipt") not in self.receipts:
                self.add(touched, ran.began, ran.ended, False, "undo of what was cut off")

    def _purge(self, ran: Ran) -> None:
        result = ran.result
        if not result.get("entries") and not ran.rows:
            return
        left = {(one["kind"], one["path"]) for one in result.get("left", [])}
        gone = [name_of(row) for row in ran.rows if (row[0], row[3]) not in left]
        if "in_use" not in result or "receipt" not in result:
            # It was a plan only, or it failed: what it moved, if anything, nobody said.
            return
        # A window says only how many it left.
        sure = not result.get("left_some")
        self.remove(gone, ran.began, ran.ended, sure, " ".join(ran.argv))
        if receipt := result["receipt"]:
            whole = sure and result["entries"] == len(gone)
            self.receipts[receipt] = Receipt(gone, result["entries"], whole)
        else:
            self.at_once += result["entries"]

    def _place(self, ran: Ran) -> None:
        left = {(one["kind"], one["key"]) for one in ran.result.get("left", [])}
        sure = bool(ran.result) and not ran.result.get("left_some")
        for row in ran.of:
            name = name_of(row)
            surely = sure and name[:2] not in left
            self.add([name], ran.began, ran.ended, surely, " ".join(ran.argv))

    def _undo(self, ran: Ran) -> None:
        receipt = self.receipts.get(ran.result.get("receipt") or "")
        if receipt is None:
            return  # nothing was put back, or what was cut off
        receipt.undone += ran.result["entries"]
        left = {(one["kind"], one["key"]) for one in ran.result.get("left", [])}
        # Of two at once, nobody knows which has put back what.
        alone = receipt.last < ran.began and not ran.result.get("left_some")
        receipt.last = max(receipt.last, ran.ended)
        for name in receipt.names:
            surely = receipt.certain and alone and name[:2] not in left
            self.add([name], ran.began, ran.ended, surely, f"undo of {ran.result['receipt']}")
        if alone:
            receipt.names = [name for name in receipt.names if name[:2] in left]

    def faults(self, there: set[Name], unlisted: Sequence[str] = ()) -> list[str]:
        """What should be there and is not, and the other way round; ``unlisted`` are the kinds of
        which PyTorch does not tell what it wrote.
        """
        found = []
        for name in there:
            added = self.added.get(name, [])
            if name[0] in unlisted:
                continue
            if not added:
                found.append(f"{name} came from nowhere")
                continue
            last = max(event.ended for event in added)
            found += [
                f"{name} is there, and {event} removed it after {added}"
                for event in self.removed.get(name, [])
                if event.certain and event.began > last
            ]
        for name, added in self.added.items():
            if name in there:
                continue
            removed = self.removed.get(name, [])
            found += [
                f"{name} is gone: {event}, {removed}"
                for event in added
                if event.certain and all(other.ended < event.began for other in removed)
            ]
        return found
