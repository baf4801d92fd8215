"""One Torchkeeper at a time changes a place, and none what another has left half done."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator, Mapping, Reversible
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, NamedTuple, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import TRASH
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.atomic import no_room, sync_folder
from torchkeeper.stores.folders import journal, receipts
from torchkeeper.stores.folders.inside import Inside
from torchkeeper.stores.folders.journal import CutOff
from torchkeeper.stores.folders.locks import remove_leftovers, taken
from torchkeeper.stores.folders.receipts import FILES, restore
from torchkeeper.stores.items import OnDisk

if TYPE_CHECKING:
    from torchkeeper.stores import shapes


# Bringing an operation to an end that was cut off: by a kill, a power cut, a disk that was full.
# Its journal (folders.journal) says what it was. An import is taken back, unless all was placed; a
# purge is put back, unless all was moved, and so is the undo of an import; any other undo and the
# emptying of the trash are completed. That is done by the next operation that changes the place,
# and by who is told to; whoever looks only says so (``seen``). What was done is told by a finding
# ``recovered``, a Recovered by the names of its fields. A journal is believed if we began it here
# (folders.journal); no link is followed.


@dataclass(frozen=True)
class Recovered:
    """What was cut off in a place, and what has become of it.

    what: "import", "purge", "undo" or "empty". outcome: "completed", "taken-back" or "put-back";
    "no-room" where the disk is full, so that the next one tries again; "waiting" where it was only
    looked; "not-believed" of a journal of which nothing shows that we began it here; "forgotten" of
    one that was removed; "of-another" of that of another user. made: when it was begun, in seconds
    since the epoch, None where that is not known. entries: of what was put back; files: that were
    put back, taken back, or are completed with it, and their bytes on the disk where they were put
    back; left: files that stay in the trash, or where an import had put some. file: the journal.
    undid: of an undo, what it undoes, "purge" or "import".
    """

    place: str
    what: str
    outcome: str
    made: float | None
    entries: int
    files: int
    bytes: int
    left: int
    file: str
    undid: str = "purge"

    def to_json(self) -> shapes.CutOff:
        told = asdict(self)
        del told["undid"]
        return cast("shapes.CutOff", told)


class _Ended(NamedTuple):
    """What has become of it, and counts as of Recovered."""

    outcome: str
    entries: int = 0
    files: int = 0
    bytes: int = 0
    left: int = 0


_NOTHING = _Ended("")
_KNOWN = frozenset({"import", "purge", "undo", "empty"})
#: What becomes of a journal that is not believed, if that is wished.
BELIEVE, FORGET = "believe", "forget"
_ID = re.compile(r"[0-9a-f]{6}")
#: Seconds to wait for another one to finish.
PATIENCE = 10.0


def recover(root: str, report: Report, keep: bool = True, insisted: str = "") -> list[Recovered]:
    """Bring what was cut off in a folder to its end, whose lock is ours, and say what was done. The
    folder itself, if it was made for what is taken back, goes only without ``keep``.

    insisted: what becomes of a journal that is not believed: with BELIEVE it is carried out as any
    other, with FORGET it is removed and what it tells of stays as it is. Once it was begun it
    cannot be cancelled. Raises Problem("place-unfinished") where it cannot be done; then
    everything is as it was, for the next time; and ("place-busy") where somebody may be at work
    whose lock cannot be seen.
    """
    found = [_recover(root, path, keep, insisted, report) for path in journal.in_folder(root)]
    told = [*filter(None, found), *_of_others(root)]
    for one in told:
        report.finding(recovered=one.to_json())
    return told


def seen(root: str) -> list[Recovered]:
    """What was cut off in a folder whose lock is ours, as its journals say; nothing is done."""
    told = []
    for path in journal.in_folder(root):
        try:
            cut = journal.said(path)
        except journal.NotOurs:
            cut = CutOff()
        except OSError:
            continue
        if not cut.proven:
            told.append(_told(root, path, "not-believed", cut))
        elif not cut.running and _what(cut):
            told.append(_told(root, path, "waiting", cut))
    return [*told, *_of_others(root)]


def _of_others(root: str) -> list[Recovered]:
    others = journal.in_folder(root, mine=False)
    return [_told(root, path, "of-another", CutOff()) for path in others]


def _told(root: str, path: str, outcome: str, cut: CutOff, ended: _Ended = _NOTHING) -> Recovered:
    undid = "import" if "undoes" in cut.about else "purge"
    return Recovered(root, _what(cut), outcome, receipts.made(cut.about), *ended[1:], path, undid)


def _what(cut: CutOff) -> str:
    """What a journal is about; "" for what none of ours is."""
    what = cut.about.get("what")
    return what if isinstance(what, str) and what in _KNOWN else ""


def _recover(root: str, path: str, keep: bool, insisted: str, report: Report) -> Recovered | None:
    cut = CutOff()
    try:
        cut = journal.said(path)
        if cut.running:
            raise _busy(root)
        if not cut.proven and insisted != BELIEVE:
            return _forgotten(root, path, cut, insisted)
        ended = _ended(root, cut, report)
        sync_folder(root)
        if ended.outcome != "no-room":
            # The record of what is not proven is that of another journal, of which this is a copy.
            journal.remove(path, cut.nonce if cut.proven else "")
    except journal.NotOurs:
        return _forgotten(root, path, cut, insisted)
    except FileNotFoundError:
        return None
    except OSError as e:
        why = e.strerror or str(e)
        raise Problem("place-unfinished", place=root, why=why, file=path) from e
    except Problem as problem:
        if problem.code in ("place-busy", "place-unfinished"):
            raise
        why = "A list of eager kernels cannot be changed now"
        raise Problem("place-unfinished", place=root, why=why, file=path) from problem
    if not keep and cut.proven:
        _remove_above(root, cut)
    return _told(root, path, ended.outcome, cut, ended) if ended.outcome else None


def _forgotten(root: str, path: str, cut: CutOff, insisted: str) -> Recovered:
    """Pass a journal over that is not believed, or remove it, if that is wished."""
    if insisted != FORGET:
        return _told(root, path, "not-believed", cut)
    try:
        journal.remove(path)
    except OSError as e:
        raise Problem("place-unfinished", place=root, why=e.strerror or str(e), file=path) from e
    return _told(root, path, "forgotten", cut)


def _ended(root: str, cut: CutOff, report: Report) -> _Ended:
    about = cut.about
    match about.get("what"):
        case "import" if cut.done:
            try:
                settled(root, cut.steps, about.get("receipt"))
            except OSError as e:
                if not no_room(e):
                    raise
                return _Ended("no-room")
            return _Ended("completed", files=sum(map(_count, cut.steps)))
        case "import":
            taken = journal.take_back(root, cut.steps, report)
            _sweep(root, about.get("id"))
            unplaced(root, about.get("receipt"))
            return _Ended("taken-back", files=taken, left=journal.remaining(root, cut.steps))
        case "purge":
            return _purge(root, about, cut.done)
        case "undo" if "undoes" in about:
            return _withdrawn(root, cut)
        case "undo":
            return _restore(root, receipts.at(root, about.get("receipt")), about, "completed")
        case "empty":
            names = about.get("receipts")
            bins = [receipts.at(root, name) for name in names] if isinstance(names, list) else []
            count = sum(map(receipts.count, filter(None, bins)))
            for bin_ in filter(None, bins):
                receipts.discard(bin_)
            receipts.clear(root)
            return _Ended("completed", files=count)
    return _NOTHING  # it was cut off before it had said what it was about to do


def settled(root: str, steps: Reversible[journal.Step], receipt: object) -> None:
    """Keep what an import has placed; what gave way goes to its receipt, if it has one, and is on
    the disk there. Raises OSError; the journal stays then.
    """
    bin_ = receipts.at(root, receipt)
    mine = bin_ is not None and receipts.is_import(bin_)
    kept = f"{receipts.within(bin_)}/{FILES}" if bin_ and mine else None
    came = receipts.with_above(journal.settle(root, steps, kept)) - {"", TRASH}
    for folder in came:
        sync_folder(os.path.join(root, folder))


def unplaced(root: str, receipt: object) -> None:
    """Remove the receipt of an import that was taken back, and the trash if that was made for it;
    what a purge has moved stays.
    """
    bin_ = receipts.at(root, receipt)
    if bin_ is not None and not receipts.count(bin_):
        receipts.discard(bin_)


def _sweep(root: str, operation: object) -> None:
    """Remove what an operation has left under temporary names: a power cut may take the end of the
    journal, which told them; and what somebody has left who was killed while he wrote a list.
    """
    mine = operation if isinstance(operation, str) and _ID.fullmatch(operation) else "?"
    with Inside(root) as inside:
        for above, folders, files, handle in inside.walk():
            gone = [name for name in (*files, *folders) if journal.is_temporary(name, mine)]
            for name in gone:
                with contextlib.suppress(OSError):
                    if os.stat(name, dir_fd=handle, follow_symlinks=False).st_uid != os.geteuid():
                        continue
                    if name in files:
                        os.unlink(name, dir_fd=handle)
                    else:
                        inside.remove_tree(f"{above}/{name}" if above else name)
            count = len(gone)
            if os.path.basename(os.path.dirname(os.path.dirname(above))) == "aoti_eager":
                count += remove_leftovers(os.path.join(root, above), Report())
            while count and above:
                try:
                    inside.remove_folder(above)
                except OSError:
                    break
                above = os.path.dirname(above)


def _count(step: journal.Step) -> int:
    return {"file": 1, "kernel": len(step[4] or ())}.get(step[0], 0) if len(step) == 5 else 0


def _purge(root: str, about: Mapping[str, object], done: bool) -> _Ended:
    bin_ = receipts.at(root, about.get("receipt"))
    if bin_ is None:
        return _NOTHING
    if not done:
        return _restore(root, bin_, about, "put-back")
    count = receipts.count(bin_)
    with Inside(root) as inside:
        receipts.Folders.of(receipts.said_by(bin_)).prune(inside)
    if about.get("now") or not count:
        receipts.discard(bin_)
    return _Ended("completed", files=count)


def _withdrawn(root: str, cut: CutOff) -> _Ended:
    """Of what undoes an import: put back what it has moved, or do what was left when all was."""
    from torchkeeper.stores.folders import placed

    moved = receipts.at(root, cut.about.get("receipt"))
    bin_ = receipts.at(root, cut.about.get("undoes"))
    if not cut.done or moved is None or bin_ is None:
        return _restore(root, moved, cut.about, "put-back")
    items, outcome = receipts.trashed(moved), "completed"
    if placed.WITHDRAWN in cut.steps:
        lists = [step for step in cut.steps if step[0] == "list"]
        try:
            placed.give_back(root, bin_, lists, Report(), lambda _item, _why: None, None)
        except OSError as e:
            if not no_room(e):
                raise
            outcome = "no-room"
    files = _purge(root, cut.about, done=True).files
    return _Ended(outcome, len(items), files, OnDisk(items).bytes)


def _restore(root: str, bin_: str | None, about: Mapping[str, object], outcome: str) -> _Ended:
    """Put back what a receipt holds; what has been replaced meanwhile stays in the trash."""
    if bin_ is None:
        return _NOTHING
    if not receipts.lies(bin_):
        receipts.discard(bin_)  # the trash may have been made for it
        return _Ended(outcome)
    _sweep(root, about.get("id"))
    # What is left is in the trash, where undo finds it.
    done, full = restore(root, bin_, receipts.trashed(bin_), Report(), lambda _item, _why: None)
    stays = receipts.count(bin_)
    return _Ended("no-room" if full else outcome, done.entries, done.files, done.bytes, stays)


def _remove_above(root: str, cut: CutOff) -> None:
    """Remove what an import has made of the way to the folder, if nothing is in it."""
    above = cut.about.get("above")
    if cut.done or not isinstance(above, list):
        return
    for path in reversed(above):
        # Not if the folder was moved elsewhere.
        if isinstance(path, str) and (path == root or root.startswith(f"{path.rstrip('/')}/")):
            with contextlib.suppress(OSError):
                os.rmdir(path)


@contextlib.contextmanager
def changing(
    place: str, report: Report | None = None, keep: bool = True, insisted: str = ""
) -> Iterator[list[Recovered]]:
    """Hold the place for changes, against other Torchkeepers; torch itself is not kept out. What
    was cut off there is brought to its end before, and given, and ``report`` hears of it; ``keep``
    and ``insisted`` as of ``recover``.

    The lock is on the folder itself, so that it leaves no file and ends with its process.
    Raises Problem("place-busy" | "place-missing" | "place-unreadable" | "place-unfinished").
    """
    with _held(place, PATIENCE) as root:
        yield recover(root, report or Report(), keep, insisted)


@contextlib.contextmanager
def _held(place: str, patience: float) -> Iterator[str]:
    """Hold the lock of a place, and give its path. Raises Problem as ``changing``."""
    deadline = time.monotonic() + patience
    root = os.path.realpath(place)
    while True:
        try:
            handle = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except FileNotFoundError as e:
            raise Problem("place-missing", place=place) from e
        except OSError as e:
            raise Problem("place-unreadable", place=place, why=e.strerror) from e
        try:
            # Where there are no locks, as on some NFS, it goes on unguarded.
            if not taken(handle) and _is_there(handle, root):
                yield root
                return
        finally:
            os.close(handle)
        if time.monotonic() > deadline:
            raise _busy(place)
        time.sleep(0.05)


def _busy(place: str) -> Problem:
    """Somebody else is at work there; what at, since when, and by which process, where it says."""
    about = journal.under_way(os.path.realpath(place))
    job, pid = _what(CutOff(about)), str(about.get("pid"))
    return Problem("place-busy", place=place, job=job, made=receipts.made(about), pid=pid)


def _is_there(handle: int, root: str) -> bool:
    """Whether a folder is still the one of that name: who had the lock may have removed it, and
    another one may be at work in what has its name now.
    """
    try:
        return os.path.samestat(os.fstat(handle), os.stat(root))
    except OSError:
        return False


def cut_off(place: str) -> list[Recovered]:
    """What was cut off in a folder where nobody is at work. Changes nothing, raises nothing."""
    if journal.lies_in(os.path.realpath(place)):
        with contextlib.suppress(Problem), _held(place, 0) as root:
            return seen(root)
    return []


def brought_to_end(place: str, report: Report, insisted: str = "") -> list[Recovered]:
    """Bring to its end what was cut off, and say what was done. Raises Problem as ``changing``."""
    with changing(place, report, keep=False, insisted=insisted) as told:
        return told
