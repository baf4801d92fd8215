"""Numbers and versions as people read and order them; shared by the window and the command line."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any

from torchkeeper.client.words.tongue import Nouns, Text, several, tr

_CODE = re.compile(r"`([^`]+)`")


def size(count: float) -> str:
    """Bytes in decimal units: 999 B, 1.4 MB."""
    value = float(count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 999.5 or unit == "TB":
            break
        value /= 1000
    return f"{value:.0f} {unit}" if unit == "B" or value >= 99.95 else f"{value:.1f} {unit}"


def seconds(value: float) -> str:
    """A duration in seconds: 0.04 s, 3.2 s, 2 min 05 s, 1 h 02 min, 30 d."""
    if value < 0.995:
        return f"{value:.2f} s"
    if value < 99.5:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 172_800:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole / 86400:,.1f} d".replace(".0 d", " d")


def ago(epoch: float, now: float | None = None) -> str:
    """How long ago a time was: just now, 5 min ago, 3 h ago, 12 d ago."""
    gone = (time.time() if now is None else now) - epoch
    if gone < -60:
        return tr("in the future")
    if gone < 60:
        return tr("just now")
    if gone < 3600:
        return tr("{n} min ago", n=f"{gone / 60:.0f}")
    if gone < 36 * 3600:
        return tr("{n} h ago", n=f"{gone / 3600:.0f}")
    return tr("{n} d ago", n=f"{gone / 86400:.0f}")


def until(epoch: float, now: float | None = None) -> str:
    """When a time will be: in 5 min, in 3 h, in 12 d, now; 0 stands for never."""
    if not epoch:
        return tr("never")
    left = epoch - (time.time() if now is None else now)
    if left < 60:
        return tr("now") if left <= 0 else tr("within a minute")
    if left < 3600:
        return tr("in {n} min", n=f"{left / 60:.0f}")
    if left < 36 * 3600:
        return tr("in {n} h", n=f"{left / 3600:.0f}")
    return tr("in {n} d", n=f"{left / 86400:,.0f}")


def when(epoch: float) -> str:
    """A time in the local zone, to the second."""
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(epoch))
    except (OverflowError, ValueError, OSError):
        return "?"


#: What is looked up in a cache, one and several of it, as ``warm.following.things`` calls it.
THINGS: dict[str, Nouns] = {
    "graphs": ("graph", "graphs"),
    "eager": ("eager kernel", "eager kernels"),
    "triton": ("Triton kernel", "Triton kernels"),
}


def things(counts: Mapping[str, int]) -> str:
    """What was looked up: 4 graphs, 2 eager kernels and 1 Triton kernel; "0 graphs" for nothing."""
    said = [count(counts[name], *nouns) for name, nouns in THINGS.items() if counts.get(name)]
    return together(said or [count(0, *THINGS["graphs"])])


#: What is counted apart from entries, one and several (artifacts.entry.tally).
_APART: dict[str, Nouns] = {
    "locks": ("lock", "locks"),
    "headers": ("header", "headers"),
    "unknown": ("unknown file", "unknown files"),
}
_ALL: dict[str, Nouns] = {"entries": ("entry", "entries"), **_APART}
_STAYS: Nouns = (
    "{held} stays: no other place can use it.",
    "{held} stay: no other place can use them.",
)


def _counted(counts: Mapping[str, object], nouns: Mapping[str, Nouns]) -> list[str]:
    said = []
    for name, one in nouns.items():
        # A plan says of unknown files how many go, and how many stay.
        number = told.get("goes") if isinstance(told := counts.get(name), Mapping) else told
        if isinstance(number, int) and number:
            said.append(count(number, *one))
    return said


def apart(counts: Mapping[str, object]) -> str:
    """What is counted apart from entries: 28 locks and 1 header; empty for none."""
    said = _counted(counts, _APART)
    return together(said) if said else ""


def held(counts: Mapping[str, object]) -> str:
    """All of a count as ``artifacts.entry.tally`` has it: 74 entries, 28 locks and 1 header."""
    return together(_counted(counts, _ALL) or [count(0, "entry", "entries")])


def part_of(some: Mapping[str, object], of: Mapping[str, object]) -> str:
    """How much of a count as ``held`` tells it: 5 of 74 entries and 0 of 28 locks."""
    there = {name: (some.get(name), of.get(name)) for name in _ALL}
    said = [
        tr("{n} of {all}", n=done, all=count(number, *_ALL[name]))
        for name, (done, number) in there.items()
        if isinstance(done, int) and isinstance(number, int) and number
    ]
    return together(said) if said else count(0, "entry", "entries")


def stays(told: Mapping[str, object]) -> str:
    """What of a selection is not copied, for it is no entry; empty where all of it is."""
    found = told.get("stays")
    counts = found if isinstance(found, Mapping) else {}
    number = sum(counts.get(name) or 0 for name in _APART)
    said = apart(counts)
    return several(number, *_STAYS, held=said) if said else ""


def content(size_: float) -> str:
    """What files hold, which is what a copy carries: 450 MB of content."""
    return tr("{size} of content", size=size(size_))


def on_disk(size_: float) -> str:
    """What comes free on the disk when something goes: 597 MB on disk."""
    return tr("{size} on disk", size=size(size_))


def measured(told: Mapping[str, object]) -> str:
    """The bytes of what ``artifacts.entry.measured`` told, by what they are."""
    number = told.get("disk_bytes")
    if isinstance(number, int):
        return on_disk(number)
    number = told.get("content_bytes", told.get("bytes"))
    return content(number if isinstance(number, int) else 0)


def held_of(told: Mapping[str, object]) -> str:
    """A count and its bytes: 74 entries and 28 locks, 450 MB of content. What is counted apart has
    its own bytes where they are told: 5 entries, 253 kB of content; 6 headers, 462 MB of content.
    """
    beside = told.get("apart_bytes")
    if not isinstance(beside, int) or not beside or "disk_bytes" in told:
        return f"{held(told)}, {measured(told)}"
    rest, entries = f"{apart(told)}, {content(beside)}", told.get("entries")
    return f"{held({'entries': entries})}, {measured(told)}; {rest}" if entries else rest


def undoes(undid: str) -> str:
    """What is undone, "purge" or "import", in a word."""
    return tr("import") if undid == "import" else tr("purge")


def done_of(did: str, some: str) -> str:
    """What was done, and to how much: purge of 12 entries, 3.1 MB on disk."""
    return tr("{done} of {some}", done=did, some=some)


def number(told: Mapping[str, object], name: str) -> int:
    """How many a result or a finding has of something, or lists; 0 where it says nothing of it."""
    value = told.get(name)
    if isinstance(value, (list, dict)):
        return len(value)
    return int(value) if isinstance(value, (int, float)) else 0


def together(names: Sequence[str], most: int | None = None) -> str:
    """Names one after the other: a, b and c; of more than ``most``: a, b and 3 more."""
    if most is not None and len(names) > most:
        return and_more(_commas(names[:most]), len(names) - most)
    *first, last = names or ("",)
    return tr("{some} and {last}", some=_commas(first), last=last) if first else last


def _commas(names: Sequence[str]) -> str:
    said, *others = names or ("",)
    for one in others:
        said = tr("{some}, {next}", some=said, next=one)
    return said


def either(names: Sequence[str]) -> str:
    """Names of which one is meant: a or b or c."""
    *first, last = names or ("",)
    return tr("{some} or {last}", some=either(first), last=last) if first else last


def and_more(some: str, left: int) -> str:
    """Names of which so many are left out: a, b and 3 more."""
    return tr("{some} and {n} more", some=some, n=left) if left > 0 else some


def count(number: int, one: str, many: str) -> str:
    """A number with its noun: 1 entry, 1,204 entries."""
    return f"{number:,} {several(number, one, many)}"


def lookups(hits: int, misses: int, uncached: int = 0, where: str = "") -> str:
    """How lookups ended, as everywhere: 3 hits (2 local), 1 miss, 2 not cacheable."""
    found = count(hits, "hit", "hits") + (f" ({where})" if where else "")
    said = tr("{hits}, {misses}", hits=found, misses=count(misses, "miss", "misses"))
    return said + (tr(", {n} not cacheable", n=uncached) if uncached else "")


def unmarked(text: str) -> str:
    """A text whose code is in quotes rather than in backticks, for where no terminal shows it."""
    return _CODE.sub(r"“\1”", text)


#: The names of kinds, by id: the window has them, the command line ids, which its filters take.
_NAMES: dict[str, Text] = {
    "fxgraph": "FX graph",
    "aotautograd": "AOTAutograd",
    "code": "Code",
    "triton": "Triton kernel",
    "autotune": "Autotune",
    "pgo": "PGO profile",
    "precompile": "Precompiled",
    "aoti_eager": "AOTI eager",
    "ondisk": "Cached value",
    "jit": "JIT kernel",
    "header": "C++ header",
    "lock": "Lock",
    "unknown": "Unknown",
}


class _Called:
    """Whether sentences have names of kinds in them, not ids."""

    by_name = False


def use_names(on: bool) -> None:
    """Have sentences call kinds by name from now on, or by id again."""
    _Called.by_name = on


def kind_words(kind: str) -> str:
    """The name of a kind, or of a compiler of the kind jit; what is none is called as it is."""
    if kind in _NAMES:
        return tr(_NAMES[kind])
    from torchkeeper.artifacts.jits.known import COMPILERS  # few commands name one

    return COMPILERS.get(kind, kind)


def kind_of(kind: str, name: str | None) -> str:
    """What finds such an entry after “kind:” in a filter: its compiler, or its kind."""
    if kind != "jit":
        return kind
    from torchkeeper.artifacts.jits.known import compiler  # few entries are

    return compiler(name) or kind


def called(kind: object) -> str:
    """What a kind is called in a sentence."""
    return kind_words(str(kind)) if _Called.by_name else str(kind)


_NUMBER = re.compile(r"[0-9]{1,18}")


@functools.lru_cache(maxsize=256)
def version(text: str | None) -> tuple[Any, ...]:
    """What a version of torch is sorted by; nothing comes first."""
    if text is None:
        return ()
    parts = re.split(r"[.+]", text)
    return tuple((0, int(x), "") if _NUMBER.fullmatch(x) else (1, 0, x) for x in parts)
