"""What of the entries of a folder is of no use, broken, needed by nobody, for other environments;
and what is used there and should not be.

All of it is as ``purge`` takes it (``stores.dead``). PyTorch 2.13.0 compiles again what it cannot
read, without a word but in its log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from torchkeeper.artifacts.entry import COUNTS, WITHOUT_VERDICT, Problem
from torchkeeper.doctor.check import FolderLook
from torchkeeper.settings.finding import Finding
from torchkeeper.stores.dead import Dead, Wanted

#: Of what has a verdict, the share that is worth saying.
_SOME = 0.1
#: Bytes of a trash that are worth saying by themselves, and beside a cache that has fewer.
_LARGE, _CONSIDERABLE = 5 << 30, 100 << 20
_THREADS = "cpp_runtime_thread_count"


def broken(look: FolderLook) -> Iterator[Finding]:
    """Entries that cannot be read, or lack what they need."""
    if about := _dead(look, Wanted(broken=True)):
        yield Finding("entries-broken", "warning", (), look.place, about, fix="trash-broken")


def orphaned(look: FolderLook) -> Iterator[Finding]:
    """Entries that nothing needs."""
    if about := _dead(look, Wanted(orphans=True)):
        yield Finding("entries-orphaned", "advice", (), look.place, about, fix="trash-orphans")


def _dead(look: FolderLook, wanted: Wanted) -> dict[str, object] | None:
    if look.problem is not None:
        raise look.problem
    # Locks are looked at by themselves (doctor.folders).
    if look.dead is None or not (going := look.dead.chosen(wanted, lambda e: e.kind != "lock")):
        return None
    counts = look.dead.told(going)
    first = min(look.dead.found[number].entry.path for number in going)
    number = sum(counts[name] for name in COUNTS)
    return {"count": number, "size_bytes": counts["bytes"], "path": first}


def _judged(look: FolderLook) -> Dead | None:
    """The entries, if there are any. Raises Problem where nothing is said of them."""
    if look.problem is not None:
        raise look.problem
    if look.dead is None or not look.dead.found:
        return None
    if not look.verdicts:
        raise Problem("no-verdicts")
    return look.dead


def stale(look: FolderLook) -> Iterator[Finding]:
    """Entries that the environment cannot use."""
    if (dead := _judged(look)) is None:
        return
    found = [one.entry for one in dead.found]
    entries = [entry for entry in found if entry.kind not in WITHOUT_VERDICT]
    bad = [entry for entry in entries if entry.verdict == "stale"]
    if not bad or len(bad) < _SOME * len(entries):
        return
    which = [n for n, entry in enumerate(found) if entry.verdict == "stale"]
    made_by = sorted({str(entry.torch) for entry in bad if entry.torch})
    about = {
        "count": len(bad), "of": len(entries), "size_bytes": dead.told(which)["bytes"],
        "made_by": ", ".join(made_by[:4]),
    }  # fmt: skip
    if len(bad) == len(entries):
        yield Finding("all-stale", "warning", (), look.place, about, fix="trash-stale")
    else:
        yield Finding("some-stale", "advice", (), look.place, about, fix="trash-stale")


def unsafe(look: FolderLook) -> Iterator[Finding]:
    """Entries that PyTorch takes here, and that are for another machine."""
    if _judged(look) is None:
        return
    bad = [said for said in look.verdicts if said.verdict == "unsafe"]
    if bad:
        # The first reason is what PyTorch does not look at.
        why = min((str(one.reasons[0].entry), str(one.reasons[0].here)) for one in bad)
        about = {"count": len(bad), "theirs": why[0], "here": why[1]}
        yield Finding("some-unsafe", "warning", (), look.place, about)


def threads(look: FolderLook) -> Iterator[Finding]:
    """Graphs that were compiled for another number of threads than there are here."""
    conditions = [one for said in look.verdicts for one in said.conditions]
    found = Counter((one.entry, one.here) for one in conditions if one.factor == _THREADS)
    for (theirs, here), count in found.items():
        about = {"count": count, "threads": theirs, "here": here}
        change: dict[str, str | None] = {"OMP_NUM_THREADS": theirs}
        yield Finding("threads-differ", "advice", ("OMP_NUM_THREADS",), look.place, about, change)


def trash(look: FolderLook) -> Iterator[Finding]:
    """A trash that takes more than what is in use."""
    if look.trash > _LARGE or look.trash > max(look.bytes, _CONSIDERABLE):
        about = {"trash_bytes": look.trash, "size_bytes": look.bytes}
        yield Finding("trash-large", "advice", (), look.place, about)
