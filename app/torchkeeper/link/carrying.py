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
   portable}]`` (``bundles.bundle.claims``);
2. home ``know {python, env: facts}``;
3. only for the files of which ``asks(about, facts)``: there ``names {files}`` -> rows ``{file,
   path, key}``, which ``take`` keeps, for an interpreter may say what it likes;
4. home ``named`` with each of ``requests(files, rows)``, which hold 500 names at most; for all
   files, so that names from another environment are forgotten;
5. home ``compare`` or ``import`` ``{files, into, env: python}``, or ``copy`` from a bundle to a
   folder with ``env``. The results say how many objects are ``renamed``; what must not be loaded
   there is told as ``left``, with codes ``object-*``.

Without an interpreter that has a torch only step 5, without ``env``: objects keep their names, and
go by the CPU and the libc of this machine alone.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from torchkeeper.engine import wire
from torchkeeper.link.engines.process import Engine
from torchkeeper.link.words import preparing, say
from torchkeeper.link.words.problems import printable
from torchkeeper.link.words.tongue import several, tr
from torchkeeper.verdict.machine import vector_instructions

Answer = dict[str, Any]

#: Characters of a path in a bundle and of a name; real names have 52.
_MAX_PATH, _MAX_KEY = 1024, 64
#: Bytes of names in one request, which is one line.
_MAX_NAMES = wire.MAX_LINE // 4


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


def take(rows: list[Answer], said: Iterable[object], abouts: Iterable[Mapping[str, Any]]) -> None:
    """Add to ``rows`` what an interpreter says that are names, where they can be such: no more of
    them than the files that it was asked about have objects.
    """
    most = sum(int(about["built"]) for about in abouts)
    for row in said:
        if len(rows) >= most:
            return
        if not isinstance(row, dict) or not isinstance(row.get("file"), str):
            continue
        if _is_text(row.get("path"), _MAX_PATH) and _is_text(row.get("key"), _MAX_KEY):
            rows.append({name: row[name] for name in ("file", "path", "key")})


def _is_text(said: object, longest: int) -> bool:
    return isinstance(said, str) and 0 < len(said) <= longest


def requests(files: Iterable[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[Answer]:
    """The parameters of every ``named`` that an engine is to be sent, in this order. ``rows``: as
    of ``take``.
    """
    names: dict[str, list[list[str]]] = {file: [] for file in files}
    for row in rows:
        if row["file"] in names:
            names[row["file"]].append([row["path"], row["key"]])
    for file, pairs in names.items():
        first = True
        while first or pairs:
            some, pairs = _one_line(pairs)
            yield {"file": file, "rows": some, "first": first}
            first = False


def _one_line(pairs: list[list[str]]) -> tuple[list[list[str]], list[list[str]]]:
    """As many names as one request holds, and the others."""
    size = 0
    for count, pair in enumerate(pairs[: wire.MAX_ROWS]):
        size += len(json.dumps(pair)) + 1
        if size > _MAX_NAMES and count:
            return pairs[:count], pairs[count:]
    return pairs[: wire.MAX_ROWS], pairs[wire.MAX_ROWS :]


def tell(
    engine: Engine, python: str, facts: Mapping[str, Any], files: Sequence[str]
) -> list[Answer]:
    """Tell an engine of an environment and of the names that this has for the objects in files;
    what ``origin`` says of the files. ``compare`` and ``import`` can then be asked with ``env``.

    Raises UserError for a file that is no bundle, and for an interpreter that cannot be asked.
    """
    abouts: list[Answer] = engine.call("origin", {"files": list(files)})["files"]
    engine.call("know", {"python": python, "env": dict(facts)})
    wanted = [about for about in abouts if asks(about, facts)]
    rows: list[Answer] = []
    if wanted:
        names = {"files": [about["file"] for about in wanted]}
        with Engine(python) as there:
            there.call("names", names, lambda told: take(rows, told.rows, wanted))
    for params in requests(files, rows):
        engine.call("named", params)
    return abouts


def lines(about: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Where the objects of a bundle were built, as it says: (name, value); none without objects."""
    objects, built = int(about.get("objects") or 0), int(about.get("built") or 0)
    if not objects:
        return []
    if built == objects:
        told = tr("{n}, with how they were built", n=objects)
    elif built:
        told = tr("{n}, {some} of them with how they were built", n=objects, some=built)
    else:
        told = tr("{n}, without how they were built", n=objects)
    said = [(tr("objects"), told)]
    claim = about.get("native")
    if isinstance(claim, Mapping):
        libc = f", {claim['libc']}" if claim.get("libc") else ""
        said.append((tr("compiler"), f"{claim.get('compiler')}{libc}"))
        vector = " ".join(vector_instructions(list(claim.get("cpu_flags") or ())))
        said.append(("CPU", vector or tr("no vector instructions")))
    if count := int(about.get("portable") or 0):
        setting = f"{preparing.VARIABLE}=0"
        told = tr("{n} of them, for programs with {setting}", n=count, setting=setting)
        said.append((tr("portable"), told))
    return [(name, printable(value)) for name, value in said]


def advice(abouts: Iterable[Mapping[str, Any]], python: str | None) -> list[str]:
    """What to do where objects of bundles were placed for an interpreter, a text for each line."""
    said: list[str] = []
    counts = [(int(one.get("headers") or 0), int(one.get("portable") or 0)) for one in abouts]
    if any(portable for _, portable in counts):
        said += preparing.portable_lines()
    if python is not None and any(headers for headers, _ in counts):
        said.append(
            tr(
                "{why} Prepare it with: {command}",
                why=tr(preparing.WHY),
                command=f"torchkeeper prepare --env {printable(shlex.quote(python))}",
            )
        )
    return said


def undescribed(answer: Mapping[str, Any]) -> str:
    """That an export could not tell how some objects were built; empty where it could."""
    objects, described = int(answer.get("objects") or 0), int(answer.get("described") or 0)
    left = objects - described
    if left <= 0:
        return ""
    maker = answer.get("maker")
    if not isinstance(maker, Mapping):
        return several(
            left,
            "{n} object is not described: there is no interpreter with a torch and a compiler. "
            "Name one with --env.",
            "{n} objects are not described: there is no interpreter with a torch and a compiler. "
            "Name one with --env.",
        )
    if maker.get("what") == "bundle":
        return several(
            left,
            "{n} object is not described: the bundle does not tell how it was built.",
            "{n} objects are not described: the bundle does not tell how they were built.",
        )
    return several(
        left,
        "{n} object is not described: torch {torch} did not build it.",
        "{n} objects are not described: torch {torch} did not build them.",
        torch=printable(str(maker.get("torch"))),
    )


def threads(made_in: Mapping[str, Any] | None, facts: Mapping[str, Any] | None) -> str:
    """That entries are for another number of threads than programs of an environment have; empty
    where they are not, or it is not known.
    """
    there, here = ((said or {}).get("threads") for said in (made_in, facts))
    if not isinstance(there, int) or not isinstance(here, int) or there == here:
        return ""
    return tr(
        "Made for {made}; programs here have {here}, and graphs for a CPU miss unless they set "
        "OMP_NUM_THREADS={n}, or call torch.set_num_threads({n}).",
        made=say.count(there, "thread", "threads"),
        here=here,
        n=str(there),
    )
