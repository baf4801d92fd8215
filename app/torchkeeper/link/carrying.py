"""Carrying built objects to another environment: what it is asked, and what is said of it.

An export tells how objects were built: ``export``, ``plan_export`` and ``copy`` to a bundle are
given ``builders``, which ``builders(facts)`` takes from the probe of the interpreter that filled
the place, or None. Their results (not that of ``copy``) say how many entries with ``objects`` are
``described``, and by whom (``maker``: ``{what: "bundle" | "environment", torch}``, or None);
``undescribed`` puts that into words.

An import asks the environment that the entries are for. The steps, which ``tell`` does one after
the other and the window as requests to engines (home: the app's own, one and the same in all
steps; there: that of the interpreter), ``facts`` being what its probe told:

1. home ``origin {files}`` -> ``files: [{file, made_in, native, objects, built, headers,
   portable}]`` (``stores.building.claims``);
2. home ``know {python, env: facts}``;
3. only for the files of which ``asks(about, facts)``: there ``names {files}`` -> rows ``{file,
   path, key}``;
4. home ``named`` with each of ``requests(files, rows)``, which hold 500 names at most; for all
   files, so that names from another environment are forgotten;
5. home ``compare`` or ``import`` ``{files, into, env: python}``, or ``copy`` from a bundle to a
   folder with ``env``. The results say how many objects are ``renamed``; what must not be loaded
   there is told as ``left``, with codes ``object-*``.

Without an interpreter that has a torch only step 5, without ``env``: objects keep their names, and
go by the CPU and the libc of this machine alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from torchkeeper.engine import wire
from torchkeeper.engine.wire import Message
from torchkeeper.link import preparing, say
from torchkeeper.link.process import Engine
from torchkeeper.link.words import printable
from torchkeeper.verdict.machine import vector_instructions

Answer = dict[str, Any]
#: Characters of a path in a bundle and of a key; real ones have some 130.
_MAX_NAME = 1500


def builders(facts: Mapping[str, Any] | None) -> Answer | None:
    """What an export is given as ``builders``: how an environment builds, as its probe told it."""
    native = facts.get("native") if facts else None
    return native if isinstance(native, dict) else None


def asks(about: Mapping[str, Any], facts: Mapping[str, Any]) -> bool:
    """Whether an environment is to be asked for names: it is that which objects of a file are said
    to be for. ``about``: a file, as ``origin`` tells it.
    """
    claim, here = about.get("native"), builders(facts)
    if not about.get("built") or not isinstance(claim, Mapping) or here is None:
        return False
    return all(claim.get(name) == here.get(name) for name in ("torch", "torch_key"))


def requests(files: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[Answer]:
    """The parameters of every ``named`` that an engine is to be sent, in this order."""
    names: dict[str, list[list[str]]] = {file: [] for file in files}
    for row in rows:
        file, path, key = (row.get(name) for name in ("file", "path", "key"))
        # What another's interpreter says is bounded, and is about what it was asked.
        if not (isinstance(path, str) and isinstance(key, str)) or not isinstance(file, str):
            continue
        if file in names and len(path) + len(key) < _MAX_NAME:
            names[file].append([path, key])
    for file, pairs in names.items():
        for start in range(0, max(len(pairs), 1), wire.MAX_ROWS):
            some = pairs[start : start + wire.MAX_ROWS]
            yield {"file": file, "rows": some, "first": start == 0}


def tell(
    engine: Engine, python: str, facts: Mapping[str, Any], files: Sequence[str]
) -> list[Answer]:
    """Tell an engine of an environment and of the names that this has for the objects in files;
    what ``origin`` says of the files. ``compare`` and ``import`` can then be asked with ``env``.

    Raises UserError for a file that is no bundle, and for an interpreter that cannot be asked.
    """
    abouts: list[Answer] = engine.call("origin", {"files": list(files)})["files"]
    engine.call("know", {"python": python, "env": dict(facts)})
    wanted = [about["file"] for about in abouts if asks(about, facts)]
    rows: list[Answer] = []
    if wanted:
        with Engine(python) as there:
            there.call("names", {"files": wanted}, lambda told: rows.extend(_rows_of(told)))
    for params in requests(files, rows):
        engine.call("named", params)
    return abouts


def _rows_of(message: Message) -> list[Answer]:
    return [row for row in message.rows if isinstance(row, dict)]


def lines(about: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Where the objects of a bundle were built, as it says: (name, value); none without objects."""
    objects, built = int(about.get("objects") or 0), int(about.get("built") or 0)
    if not objects:
        return []
    told = "with" if built == objects else f"{built:,} of them with" if built else "without"
    said = [("objects", f"{objects:,}, {told} how they were built")]
    claim = about.get("native")
    if isinstance(claim, Mapping):
        libc = f", {claim['libc']}" if claim.get("libc") else ""
        said.append(("compiler", f"{claim.get('compiler')}{libc}"))
        vector = " ".join(vector_instructions(list(claim.get("cpu_flags") or ())))
        said.append(("CPU", vector or "no vector instructions"))
    if count := int(about.get("portable") or 0):
        said.append(("portable", f"{count:,} of them, for programs with {preparing.VARIABLE}=0"))
    return [(name, printable(value)) for name, value in said]


def advice(abouts: Iterable[Mapping[str, Any]], python: str | None) -> list[str]:
    """What to do where objects of bundles were placed for an interpreter, a text for each line."""
    said: list[str] = []
    counts = [(int(one.get("headers") or 0), int(one.get("portable") or 0)) for one in abouts]
    if any(portable for _, portable in counts):
        said += preparing.portable_lines()
    if python is not None and any(headers for headers, _ in counts):
        said.append(
            f"{preparing.WHY} Prepare it with: torchkeeper prepare --env {printable(python)}"
        )
    return said


def undescribed(answer: Mapping[str, Any]) -> str:
    """That an export could not tell how some objects were built; empty where it could."""
    objects, described = int(answer.get("objects") or 0), int(answer.get("described") or 0)
    left = objects - described
    if left <= 0:
        return ""
    said = say.count(left, "object is", "objects are")
    maker = answer.get("maker")
    if not isinstance(maker, Mapping):
        why = "there is no interpreter with a torch and a compiler. Name one with --env."
        return f"{said} not described: {why}"
    if maker.get("what") == "bundle":
        return f"{said} not described: the bundle does not tell how they were built."
    return f"{said} not described: torch {printable(str(maker.get('torch')))} did not build them."


def threads(made_in: Mapping[str, Any] | None, facts: Mapping[str, Any] | None) -> str:
    """That entries are for another number of threads than programs of an environment have; empty
    where they are not, or it is not known.
    """
    there, here = ((said or {}).get("threads") for said in (made_in, facts))
    if not isinstance(there, int) or not isinstance(here, int) or there == here:
        return ""
    made = say.count(there, "thread", "threads")
    return (
        f"Made for {made}; programs here have {here:,}, and graphs for a CPU miss unless they set "
        f"OMP_NUM_THREADS={there}, or call torch.set_num_threads({there})."
    )
