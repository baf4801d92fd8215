"""What of a place would be able to run, once PyTorch uses it: for whoever is to trust it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import KINDS
from torchkeeper.artifacts.facts import NAMED, PICKLES
from torchkeeper.artifacts.jits import known as jits
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.messages.entries import RunnableKind, RunnableName
from torchkeeper.engine.session import Session, place_of
from torchkeeper.stores.items import File, Item, Source
from torchkeeper.stores.reader import MAX_PAYLOAD, Budget, Reading

if TYPE_CHECKING:
    from torchkeeper.engine.messages.entries import RunnableParams, RunnableResult

#: Names that are told, of all entries together, and entries that are named with each.
_MAX_NAMES = 300
#: Bytes and entries that are read at once.
_BATCH_BYTES = 16 << 20
_BATCH = 64
#: The ends of the names of texts that are run or compiled, and of what is loaded as it is.
#: ninja runs the commands of a build. A kernel of the jiterator has no end.
_SOURCES = (
    ".py", ".cpp", ".cc", ".c", ".cu", ".h", ".inc", ".source", ".ttir", ".ttgir", ".llir", ".ptx",
    ".mlir", ".ninja",
)  # fmt: skip
_OBJECTS = (".so", ".o", ".a", ".cubin", ".fatbin", ".aibin", ".hsaco", ".amdgcn", ".gch")
_NO_END = "_nvrtc"


def runnable(session: Session, params: RunnableParams, report: Report) -> RunnableResult:
    """What of a folder or bundle can run, in the order of KINDS, and what pickles name."""
    with session.store(place_of(params["place"]), report) as store:
        return _of(session, store, store.survey(report), report)


def _of(session: Session, source: Source, items: list[Item], report: Report) -> RunnableResult:
    kinds: dict[str, RunnableKind] = {}
    names: dict[str, RunnableName] = {}
    strange, more, done = 0, False, 0
    for item in items:
        none = RunnableKind(kind=item.kind, entries=0, pickles=0, sources=0, objects=0, unread=0)
        kind = kinds.setdefault(item.kind, none)
        kind["entries"] += 1
        files = item.names
        kind["sources"] += sum([name.endswith(_SOURCES) for name in files])
        kind["objects"] += sum([name.endswith(_OBJECTS) or _NO_END in name for name in files])
    budget = Budget()
    for batch in _batches(items, source):
        for item, _ in batch:
            budget.meet(item.files, source)
        readings = [reading for _, reading in batch if reading]
        answers = iter(session.reader.facts(readings, report, budget=budget))
        for item, reading in batch:
            found = next(answers) if reading else {"problem": "file-unreadable"}
            kind = kinds[item.kind]
            if found.get("problem"):
                kind["unread"] += 1
                more = True
                continue
            pickles = found.get("pickles")
            kind["pickles"] += pickles if isinstance(pickles, int) else 0
            more = more or bool(found.get("more"))
            odd = set(found.get("strange") or ())
            strange += bool(odd)
            for name in found.get("globals") or ():
                first = RunnableName(name=name, strange=False, entries=0, kinds=[], key=item.key)
                about = names.setdefault(name, first)
                about["strange"] |= name in odd
                about["entries"] += 1
                if item.kind not in about["kinds"]:
                    about["kinds"].append(item.kind)
        done += len(batch)
        report.progress(done, None, "entries")
    told = sorted(names.values(), key=lambda one: (not one["strange"], one["name"]))
    return {
        "kinds": [kinds[kind] for kind in KINDS if kind in kinds],
        "globals": told[:_MAX_NAMES],
        "strange": strange,
        "more": more or len(told) > _MAX_NAMES,
    }


def _batches(items: Iterable[Item], source: Source) -> Iterator[list[tuple[Item, Reading | None]]]:
    """Entries that are pickles, loaded; None where that could not be."""
    batch: list[tuple[Item, Reading | None]] = []
    size = 0
    for item in items:
        if not (pickles := _pickles(item)):
            continue
        reading = _loaded(item.kind, pickles, source)
        batch.append((item, reading))
        size += reading.size if reading else 0
        if len(batch) >= _BATCH or size > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _pickles(item: Item) -> list[File]:
    if item.kind == "jit":
        return [file for file in item.files if file.name in jits.PICKLES]
    return item.files if item.kind in PICKLES else []


def _loaded(kind: str, files: Iterable[File], source: Source) -> Reading | None:
    contents = {}
    for file in files:
        if not file.regular or file.size > MAX_PAYLOAD:
            return None
        try:
            with source.open(file) as stream:
                contents[file.name] = stream.read(MAX_PAYLOAD)
        except OSError:
            return None
    return Reading(kind + NAMED, list(contents), contents)
