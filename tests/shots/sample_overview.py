"""Made-up sums of several places, for the pictures of the overview."""

from __future__ import annotations

import zlib
from typing import Any

from tests.shots import samples
from torchkeeper.artifacts.entry import COUNTS, WITHOUT_VERDICT, holds, measured, tallied, tally
from torchkeeper.artifacts.jits.known import COMPILERS
from torchkeeper.artifacts.shapes import Held

_TORCHES = (("2.13.0+cu130", 0.62, "usable"), ("2.12.1+cu130", 0.23, "stale"),
            ("2.9.1+cu128", 0.11, "stale"), ("", 0.04, "unknown"))  # fmt: skip
_KINDS = (("fxgraph", 0.17, 0.29, 5.1), ("aotautograd", 0.22, 0.24, 8.3),
          ("triton", 0.25, 0.18, 0.0), ("flashinfer", 0.04, 0.03, 0.0),
          ("deepgemm", 0.02, 0.01, 0.0), ("code", 0.2, 0.15, 0.0), ("autotune", 0.01, 0.05, 0.0),
          ("header", 0.09, 0.0003, 0.0), ("lock", 0.0, 0.05, 0.0))  # fmt: skip
#: Kinds that only folders have, and those that servers do not have.
_OF_FOLDERS = frozenset({"header", "lock", "flashinfer", "deepgemm"})
_OF_FILES = frozenset({"code"})
_AGES = (("day", 0.14), ("week", 0.3), ("month", 0.26), ("quarter", 0.2), ("older", 0.1))
#: Of each place its share of all.
PLACES = ((samples.PLACE, 0.44), ("/scratch/ada/cache-llama", 0.31),
          (samples.NIGHTLY, 0.09), (samples.SERVER, 0.16))  # fmt: skip
_DEAD = (("orphan", 0.04), ("unused", 0.19))
#: Whose verdicts say so.
_JUDGED_DEAD = ("stale", "broken")


def _uneven(*about: object) -> float:
    """About one, and always the same for the same: no two caches are made alike."""
    return 0.7 + zlib.crc32(repr(about).encode()) % 6000 / 10_000


def rows(entries: int, size: int) -> list[dict[str, Any]]:
    """Groups of about so many entries and bytes, and what of them could go."""
    made: list[dict[str, Any]] = []
    for place, share in PLACES:
        for kind, heavy, many, slow in _KINDS:
            if kind in _OF_FOLDERS and place in (samples.NIGHTLY, samples.SERVER):
                continue
            if kind in _OF_FILES and place == samples.SERVER:
                continue
            for torch, some, verdict in _TORCHES:
                for age, part in _AGES:
                    odd = _uneven(place, torch) * _uneven(place, kind, age)
                    count = round(entries * share * many * some * part * odd)
                    if not count and entries > 100:
                        continue
                    count = max(1, count)
                    good = "conditional" if verdict == "usable" and age == "week" else verdict
                    if (kind, age) == ("autotune", "older"):
                        good = "broken"
                    compiler = kind if kind in COMPILERS else ""
                    if place == samples.SERVER or compiler or kind in WITHOUT_VERDICT:
                        good = ""  # nobody judges them
                    made.append({
                        "place": place, "kind": "jit" if compiler else kind,
                        "compiler": compiler, "torch": "" if compiler else torch, "age": age,
                        "verdict": good, **tallied(count, kind),
                        "bytes": round(size * share * heavy * some * part * odd),
                        "compile_s": count * slow, "timed": count if slow else 0,
                    })  # fmt: skip
        if place == samples.NIGHTLY:
            continue
        dead = {
            reason: (entries * share * part * _uneven(place, reason),
                     size * share * part * _uneven(place, reason))
            for reason, part in _DEAD
        }  # fmt: skip
        for verdict in _JUDGED_DEAD if place != samples.SERVER else ():
            judged = [r for r in made if r["place"] == place and r.get("verdict") == verdict]
            dead[verdict] = sum(r["entries"] for r in judged), sum(r["bytes"] for r in judged)
        # What has several reasons counts for its first.
        many, heavy = (sum(map(round, column)) for column in zip(*dead.values(), strict=True))
        dead["total"] = many, heavy
        if place != samples.SERVER:
            dead["trash"] = entries * share * 0.05, size * share * 0.05
        made += [
            {"reclaim": reason, "place": place, **tallied(round(count)), "files": round(count),
             **measured(round(held), on_disk=place != samples.SERVER), "why": None}
            for reason, (count, held) in dead.items()
        ]  # fmt: skip
    return made


def few() -> list[dict[str, Any]]:
    """The first five entries of the usual place."""
    entries = samples.entries()[:5]
    found, _ = samples.judged(entries, samples.PYTHON)
    verdicts = {path: found["said"][which]["verdict"] for _, path, which in found["of"]}
    made: list[dict[str, Any]] = [
        {"place": samples.PLACE, "kind": entry.kind, "compiler": "", "torch": entry.torch or "",
         "age": "day", "verdict": verdicts.get(entry.path, ""), **tallied(1, entry.kind),
         "bytes": entry.size, "compile_s": entry.compile_s or 0.0,
         "timed": int(entry.compile_s is not None)}
        for entry in entries
    ]  # fmt: skip
    names = (*_JUDGED_DEAD, *(name for name, _ in _DEAD))
    dead = {name: [e for e in entries if verdicts.get(e.path) == name] for name in names}
    dead["total"] = [one for some in dead.values() for one in some]
    made += [
        {"reclaim": reason, "place": samples.PLACE, **tally(entry.kind for entry in some),
         "files": sum(entry.files for entry in some),
         **measured(sum(entry.size for entry in some), on_disk=True), "why": None}
        for reason, some in dead.items()
    ]  # fmt: skip
    return made


def result(some: list[dict[str, Any]], *, gone: bool = False) -> dict[str, Any]:
    """What the engine says in the end; ``gone``: a server does not answer."""
    places = list(dict.fromkeys(row["place"] for row in some))
    told: list[dict[str, Any]] = [
        {
            "place": place, **_held([r for r in some if r["place"] == place and "kind" in r]),
            "trash_bytes": 0, "free_bytes": None if place == samples.SERVER else 412_300_000_000,
            "total_bytes": None if place == samples.SERVER else 1_920_000_000_000,
            "disk": None if place == samples.SERVER else "259:2",
            "rests": "read", "problem": None,
        }
        for place in places
    ]  # fmt: skip
    if gone:
        problem = {"code": "server-refused", "params": {"server": samples.SERVER}}
        none = dict.fromkeys(("free_bytes", "total_bytes", "disk", "rests"))
        told.append({"place": samples.SERVER, **holds({}), "trash_bytes": 0, **none,
                     "problem": problem})  # fmt: skip
    return {"places": told}


def _held(groups: list[dict[str, Any]]) -> Held:
    """What a place holds whose groups these are."""
    kinds: dict[str, tuple[int, int]] = {}
    for row in groups:
        count, size = kinds.get(row["kind"], (0, 0))
        number = sum(row[name] for name in COUNTS)
        kinds[row["kind"]] = count + number, size + row["bytes"]
    return holds(kinds)


def of_places(count: int) -> list[dict[str, Any]]:
    """Groups of so many places, each smaller than the one before."""
    usual = [row for row in rows(40_000, 90_000_000_000) if row["place"] == samples.PLACE]
    made: list[dict[str, Any]] = []
    for number in range(count):
        place = f"/srv/cache/rank-{number:02}/torchinductor_ada" if number else samples.PLACE
        for row in usual:
            odd = (number + 1) / _uneven(place, row.get("torch"))
            parts = ("entries", "bytes", "compile_s", "timed")
            some = {name: int(row[name] / odd) for name in parts if name in row}
            made.append({**row, **some, "place": place})
    return made
