"""The last verification of each place and bundle, a small JSON file each, and when each recipe was
last warmed, in the app's own cache folder. They are a convenience: what cannot be read is not
known, and what cannot be written is not kept. What a file holds is checked when it is read, as what
an engine told is before it is kept: nobody vouches for either. With it goes a mark of what the
place was like, so that nobody takes it for a verification of what is there now.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from torchkeeper.artifacts.layout import HEADERS, TRASH
from torchkeeper.client.kept import whole
from torchkeeper.client.words import causes, say
from torchkeeper.engine.protocol import misfit
from torchkeeper.stores.names import scheme_of
from torchkeeper.warm.options import RUNS
from torchkeeper.warm.recipes.recipe import SOURCES

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Fault
    from torchkeeper.warm.shapes import Judged, LookedUp, Run, VerdictOfVariant, Verification

    class KeptGraph(LookedUp, total=False):
        """A graph of the last run with the target. why: in words, if it was no hit and that is
        known. variant: the index of its variant, where there are several.
        """

        why: str
        variant: int

    class KeptVariant(VerdictOfVariant):
        """A variant. why: of the first graph that was no hit, in words, if that is known."""

        why: str | None

    class KeptVerification(Verification):
        """What it came to. rows: graphs of the last run with it. variants: as many as fit."""

        rows: Sequence[KeptGraph]
        variants: Sequence[KeptVariant]


#: How many verifications are kept, the latest; bytes of a file.
MAX_KEPT = 300
MAX_BYTES = 1 << 20
#: Folders of a place that are looked at for its mark; a place with more has none.
MAX_FOLDERS = 200_000

RATIOS = ("warm_cold", "warm_mega", "prepared_cold", "prepared_mega")
OUTCOMES = ("hit", "miss", "bypass")
_COUNTS = ("graphs", "hits", "misses", "bypasses", "rebuilt")
_MAX_COUNT = 10**9
_MAX_SECONDS = 1e7
_MAX_TIME = 32503680000.0  # the year 3000
_MAX_TEXT, _MAX_WHY = 1000, 300
_MAX_ROWS, MAX_VARIANTS = 500, 5000
#: What locks lie in, which comes and goes with every use.
_PASSED_OVER = ("locks", TRASH, HEADERS)


@dataclass(frozen=True)
class Verified:
    """A verification that is kept. place: the path of the folder or bundle. at: when it ended,
    seconds since the epoch. result: as ``checked``. python: the interpreter. mark: what the place
    was like, or None where that could not be told.
    """

    place: str
    at: float
    result: KeptVerification
    python: str
    mark: str | None

    def before_it_changed(self) -> bool:
        """Whether the place is not known to be as it was. Looks at each folder on the disk."""
        return self.mark is None or mark(self.place) != self.mark

    def to_json(self) -> dict[str, object]:
        about = {name: getattr(self, name) for name in ("place", "at", "python", "mark")}
        return {**about, "result": self.result}


def mark(place: str) -> str | None:
    """A text that changes with a file, or with what lies in a folder; None where it cannot be read.
    Of a folder, the times of the folders in it count, and the files at its top, but neither locks
    nor the trash: PyTorch writes a file beside its place and renames it, so that every change of a
    file is one of its folder, too.
    """
    try:
        if not os.path.isdir(place):
            status = os.stat(place)
            return f"{status.st_mtime_ns}-{status.st_size}-{status.st_ino}"
        seen = sorted(_folders(place))
    except OSError:
        return None
    if len(seen) >= MAX_FOLDERS:
        return None
    return hashlib.sha256(json.dumps(seen).encode("utf-8", "surrogateescape")).hexdigest()


def _folders(place: str) -> list[tuple[str, int, int]]:
    found: list[tuple[str, int, int]] = []
    pending = [""]
    while pending and len(found) < MAX_FOLDERS:
        here = pending.pop()
        try:
            with os.scandir(os.path.join(place, here)) as entries:
                for entry in entries:
                    if not here and entry.name in _PASSED_OVER:
                        continue
                    path = f"{here}/{entry.name}" if here else entry.name
                    if folder := entry.is_dir(follow_symlinks=False):
                        pending.append(path)
                    if folder or not here:
                        status = entry.stat(follow_symlinks=False)
                        found.append((path, status.st_mtime_ns, 0 if folder else status.st_size))
        except OSError:
            if not here:
                raise
    return found


def checked(result: Any) -> KeptVerification:
    """A result of ``warm.verify.verify``, nothing else, of the types it has. Raises ValueError."""
    try:
        # Of a verification that was kept, some may be missing: graphs alone were looked up.
        things = result.get("things", {"graphs": result["graphs"]})
        every = result.get("variants", [])
        of = result.get("whole", {"variants": len(every), "good": sum(x["good"] for x in every)})
        return {
            **_judged(result),
            "things": {name: _count(things[name]) for name in say.THINGS if name in things},
            "whole": {"variants": _count(of["variants"]), "good": _count(of["good"])},
            "built": [_text(path) for path in _list(result["built"])],
            "rows": [_graph(row) for row in _list(result["rows"])],
            "seconds": _numbers(result["seconds"], RUNS),
            "ratios": _numbers(result["ratios"], RATIOS),
            "runs": {name: _run(result["runs"][name]) for name in RUNS if name in result["runs"]},
            "skipped": {x: _text(why) for x, why in result.get("skipped", {}).items() if x in RUNS},
            "good": _bool(result["good"]),
            "device": _text(result["device"]),
            "threads": _count(result["threads"]),
            "torch": _text(result["torch"]),
            "variants": [_variant(one) for one in _list(every, MAX_VARIANTS)],
        }
    except (LookupError, TypeError, AttributeError, OverflowError) as e:
        raise ValueError("it is not a verification") from e


def _judged(counts: Any) -> Judged:
    autograd = counts["autograd"]
    told: Any = {name: _count(counts[name]) for name in _COUNTS}
    told["unwritten"] = _count(counts.get("unwritten", 0))
    told["autograd"] = {"hits": _count(autograd["hits"]), "misses": _count(autograd["misses"])}
    return cast("Judged", told)


def _run(run: Any) -> Run:
    return {**_judged(run), "seconds": _number(run["seconds"])}


def _graph(row: Any) -> KeptGraph:
    if row["outcome"] not in OUTCOMES:
        raise ValueError("not an outcome")
    outcome = _text(row["outcome"])
    told: KeptGraph = {"id": _text(row["id"]), "name": _text(row["name"]), "outcome": outcome}
    if (why := _why(row.get("why"))) is not None:
        told["why"] = why
    if "variant" in row:
        told["variant"] = _count(row["variant"])
    return told


def _variant(variant: Any) -> KeptVariant:
    if variant["source"] not in SOURCES:
        raise ValueError("not a source")
    told: Any = {name: _count(variant[name]) for name in ("index", "hits", "misses", "rebuilt")}
    told |= {name: _text(variant[name])[:_MAX_WHY] for name in ("recipe", "name", "source")}
    told["good"], told["why"] = _bool(variant["good"]), _why(variant["why"])
    told["seconds"] = _numbers(variant["seconds"], RUNS)
    told["ratios"] = _numbers(variant["ratios"], RATIOS)
    proof, problem = variant["proof"], variant["problem"]
    told["proof"] = None if proof is None else {x: _count(proof[x]) for x in ("found", "of")}
    told["problem"] = None if problem is None else _problem(problem)
    return cast("KeptVariant", told)


def _problem(problem: Any) -> Fault:
    params = {
        _text(name)[:50]: value[:_MAX_TEXT] if isinstance(value, str) else value
        for name, value in list(problem["params"].items())[:20]
        if isinstance(value, (str, int, float)) or value is None
    }
    return {"code": _text(problem["code"])[:100], "params": params}


def _why(value: Any) -> str | None:
    """Why something was no hit: as an engine tells causes, or in words as it was kept."""
    from torchkeeper.verdict.probed import CauseTold

    if not misfit(CauseTold, value, "why"):
        value = causes.why(value, value.get("reason"))
    return None if not value else _text(value)[:_MAX_WHY]


def _list(value: Any, most: int = _MAX_ROWS) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("not a list")
    return value[:most]


def _bool(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("not a truth value")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _MAX_COUNT:
        raise ValueError("not a count")
    return value


def _number(value: Any, most: float = _MAX_SECONDS) -> float:
    if type(value) not in (int, float) or not (math.isfinite(value) and 0 <= value <= most):
        raise ValueError("not a number of seconds")
    return float(value)


def _numbers(values: Any, names: tuple[str, ...]) -> dict[str, float]:
    return {name: _number(values[name]) for name in names if name in values}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("not a text")
    return value[:_MAX_TEXT]


def folder() -> str:
    return os.path.join(whole.cache_folder(), "verified")


def _file(place: str) -> str:
    real = scheme_of(place).same(place, follow=True)
    name = hashlib.sha256(real.encode("utf-8", "surrogateescape")).hexdigest()
    return os.path.join(folder(), f"{name[:32]}.json")


def keep(place: str, before: str | None, python: str, result: KeptVerification) -> Verified:
    """Keep a ``checked`` result as the place's last, if that can be. before: the mark it had."""
    known = before if before is not None and before == mark(place) else None
    one = Verified(scheme_of(place).normal(place), time.time(), result, python, known)
    with contextlib.suppress(OSError, ValueError):
        os.makedirs(folder(), mode=0o700, exist_ok=True)
        whole.write(_file(place), one.to_json(), indent=None)
        with os.scandir(folder()) as entries:
            files = [(entry.stat().st_mtime, entry.path) for entry in entries]
        for _, path in sorted(files, reverse=True)[MAX_KEPT:]:
            with contextlib.suppress(OSError):
                os.unlink(path)
    return one


def last(place: str) -> Verified | None:
    """The last verification of a place, from one small file; None where none can be understood."""
    try:
        said = json.loads(whole.read(_file(place), MAX_BYTES))
        marked, at = said["mark"], _number(said["at"], _MAX_TIME)
        result, python = checked(said["result"]), _text(said["python"])
        known = None if marked is None else _text(marked)
        return Verified(scheme_of(place).normal(place), at, result, python, known)
    except (OSError, ValueError, TypeError, LookupError, RecursionError, OverflowError):
        return None


#: Recipes that are remembered, the latest; bytes of the file.
MAX_WARMED = 500
_MAX_WARMED_BYTES = 1 << 20


class Warmed(NamedTuple):
    """A recipe was warmed. at: seconds since the epoch. place: where. done, failed: variants."""

    at: float
    place: str
    done: int
    failed: int


def warmed_file() -> str:
    """Where it is kept when recipes were last warmed."""
    return os.path.join(whole.cache_folder(), "warmed.json")


def last_warmed() -> dict[str, Warmed]:
    """What is known of recipes, by the path of the recipe's file, or "builtin"."""
    try:
        kept = json.loads(whole.read(warmed_file(), _MAX_WARMED_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(kept, dict):
        return {}
    found = {}
    for path, one in kept.items():
        if isinstance(one, list) and len(one) == 4 and isinstance(one[1], str):
            at, place, done, failed = one
            if all(isinstance(x, (int, float)) and 0 <= x <= _MAX_TIME for x in (at, done, failed)):
                found[path] = Warmed(float(at), place, int(done), int(failed))
    return found


def keep_warmed(recipes: Sequence[tuple[str, int, int]], place: str) -> None:
    """Note that recipes were warmed just now: path, variants that are warm, and others."""
    known = last_warmed()
    for path, done, failed in recipes:
        known[path] = Warmed(time.time(), place, done, failed)
    latest = sorted(known.items(), key=lambda pair: -pair[1].at)[:MAX_WARMED]
    with contextlib.suppress(OSError):
        os.makedirs(os.path.dirname(warmed_file()), mode=0o700, exist_ok=True)
        whole.write(warmed_file(), {path: list(one) for path, one in latest}, indent=None)
