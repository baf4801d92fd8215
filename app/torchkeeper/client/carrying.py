"""Carrying built objects to another environment: what it is asked, and what is said of it.

``export``, ``plan_export`` and ``copy`` to a bundle are given ``builders(facts)``, from the probe
of the interpreter that filled the place, or None. Their results (not that of ``copy``) say how many
entries with ``objects`` are ``described``, and by whom (``undescribed``).

An import asks the environment that the entries are for, in steps, which ``tell`` does one by one
and the window as requests to engines (home: the app's own, the same in all steps; there: that of
the interpreter, whose probe told ``facts``):

1. home ``origin {files}``, which tells the claims of each;
2. home ``know {python, env: facts}``;
3. for the files of which ``asks(claims, facts)``: there ``names {files}``, the rows of which
   ``take`` keeps, for an interpreter may say what it likes;
4. home ``named`` with each of ``requests(files, rows)``, for all files, so that names from another
   environment are forgotten;
5. home ``compare`` or ``import`` ``{files, into, env: python}``, or ``copy`` from a bundle to a
   folder with ``env``. Results say how many objects are ``renamed``; what must not be loaded there
   is told as ``left``, with codes ``object-*``.

Without an interpreter that has a torch there is only step 5, without ``env``: objects keep their
names, and go by the CPU and the libc of this machine.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.client.engines import far, interpreters
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words import preparing, say
from torchkeeper.client.words.problems import UserError, printable
from torchkeeper.client.words.tongue import several, tr
from torchkeeper.engine import protocol
from torchkeeper.stores.names import scheme_of
from torchkeeper.verdict.machine import vector_instructions

if TYPE_CHECKING:
    from torchkeeper.artifacts.builds import Claims, Kernels, MadeIn
    from torchkeeper.engine.messages import entries
    from torchkeeper.engine.messages.bundles import Builders, Described
    from torchkeeper.engine.messages.places import ListResult
    from torchkeeper.engine.messages.verdicts import KnowParams
    from torchkeeper.verdict.probed import Env

#: Characters of a path in a bundle and of a name; real names have 52.
_MAX_PATH, _MAX_KEY = 1024, 64
#: Bytes of names in one request, which is one line.
_MAX_NAMES = protocol.MAX_LINE // 4


def builders(facts: Env | None) -> Builders | None:
    """What an export is given as ``builders``: how an environment builds, as its probe told it."""
    return facts.get("native") if facts else None


def has_objects(folder: str) -> bool:
    """Whether a folder may hold objects that some environment has built."""
    return any(name.endswith(".so") for _, _, names in os.walk(folder) for name in names)


def may_have_objects(place: str) -> bool:
    """The same of a place, as far as a glance tells, on whatever machine."""
    return scheme_of(place).holds_objects and (far.is_far(place) or os.path.isdir(place))


def is_bundle(place: str) -> bool:
    """Whether a place is a bundle; of one on another machine its name tells."""
    return (
        scheme_of(place).becomes(place) == "bundle" if far.is_far(place) else os.path.isfile(place)
    )


class Here(NamedTuple):
    """The interpreter whose verdicts are wanted, and what its probe told."""

    python: str
    torch: str
    facts: Env


def maker_of(env: str | None, folder: str | None = None) -> Env | None:
    """The facts of the interpreter whose torch may have built objects: ``env``, else the default.
    None where none was named and none has a torch: a bundle is then the same, less what it says of
    its objects. None as well where a folder has nothing built in it: to ask torch takes seconds,
    and 400 MB. Raises UserError of an interpreter that was named.
    """
    from torchkeeper.client.engines import probes  # the window asks none by itself

    machine = far.machine_of(folder)
    if folder and not env and not machine and not has_objects(folder):
        return None
    try:
        return probes.environment(interpreters.chosen(env, machine))
    except UserError:
        if env:
            raise
        return None


def here_of(env: str | None, files: Sequence[str], machine: str = "") -> Here | None:
    """The interpreter of a machine whose verdicts are wanted, as of ``maker_of``; None without a
    torch, or anything to be judged.
    """
    there = machine or all(map(os.path.isfile, files))  # where they were sent, they are
    if not there or (facts := maker_of(env, machine or None)) is None:
        return None
    return Here(interpreters.chosen(env, machine), str(facts["torch"]), facts)


def claims_of(listed: ListResult) -> Claims:
    return {
        "native": listed.get("native"),
        "objects": listed.get("objects", 0),
        "built": listed.get("built", 0),
        "unportable": listed.get("unportable", 0),
        "portable": listed.get("portable", 0),
    }


def asks(claims: Claims, facts: Env) -> bool:
    """Whether an environment is to be asked for names: it built objects of a file, as that says."""
    claim, here = claims["native"], builders(facts)
    if not claims["built"] or claim is None or here is None:
        return False
    torch, key = claim["torch"], claim["torch_key"]
    return (torch, key) == (here.get("torch"), here.get("torch_key"))


def take(rows: list[entries.NamesRow], said: Iterable[object], claims: Iterable[Claims]) -> None:
    """Add to ``rows`` what can be names of it: no more than the files asked about have objects."""
    most = sum(one["built"] for one in claims)
    for row in said:
        if len(rows) >= most:
            return
        match row:
            case {"file": str() as file, "path": str() as path, "key": str() as key}:
                if 0 < len(path) <= _MAX_PATH and 0 < len(key) <= _MAX_KEY:
                    rows.append({"file": file, "path": path, "key": key})


def requests(
    files: Iterable[str], rows: Iterable[entries.NamesRow]
) -> Iterator[entries.NamedParams]:
    """The parameters of every ``named`` for an engine, in this order. rows: as of ``take``."""
    names: dict[str, list[tuple[str, str]]] = {file: [] for file in files}
    for row in rows:
        if row["file"] in names:
            names[row["file"]].append((row["path"], row["key"]))
    for file, pairs in names.items():
        first = True
        while first or pairs:
            some, pairs = _one_line(pairs)
            yield {"file": file, "rows": some, "first": first}
            first = False


def _one_line(pairs: list[tuple[str, str]]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """As many names as one request holds, and the others."""
    size = 0
    for count, pair in enumerate(pairs[: protocol.MAX_ROWS]):
        size += len(json.dumps(pair)) + 1
        if size > _MAX_NAMES and count:
            return pairs[:count], pairs[count:]
    return pairs[: protocol.MAX_ROWS], pairs[protocol.MAX_ROWS :]


def tell(engine: Engine, python: str, facts: Env, files: Sequence[str]) -> list[entries.Origin]:
    """Tell an engine of an environment and its names for the objects in files; what ``origin`` says
    of these. Raises UserError for no bundle, and an interpreter that cannot be asked.
    """
    asked: entries.OriginParams = {"files": files}
    abouts: list[entries.Origin] = engine.call(protocol.ORIGIN, asked)["files"]
    known: KnowParams = {"python": python, "env": facts}
    engine.call(protocol.KNOW, known)
    rows: list[entries.NamesRow] = []
    if wanted := [about for about in abouts if asks(about, facts)]:
        names: entries.NamesParams = {"files": [about["file"] for about in wanted]}
        with Engine(python) as there:
            there.call(protocol.NAMES, names, lambda told: take(rows, told.rows, wanted))
    for params in requests(files, rows):
        engine.call(protocol.NAMED, params)
    return abouts


def tell_names(
    engine: Engine, files: Sequence[str], find: Callable[[], Here | None], wanted: bool
) -> tuple[Here | None, list[entries.Origin]]:
    """Have an engine know the names of objects in an environment; that, and what files say. find:
    finds it, which takes seconds: where nothing was built, and it is not ``wanted``, it is not
    asked. Raises as ``tell``.
    """
    asked: entries.OriginParams = {"files": files}
    told: entries.OriginResult = engine.call(protocol.ORIGIN, asked)
    wanted = wanted or any(one["objects"] or one["made_in"] for one in told["files"])
    here = find() if wanted else None
    return here, told["files"] if here is None else tell(engine, here.python, here.facts, files)


def lines(claims: Claims) -> list[tuple[str, str]]:
    """Where the objects of a bundle were built, as it says: (name, value); none without objects."""
    objects, built = claims["objects"], claims["built"]
    if not objects:
        return []
    if built == objects:
        told = tr("{n}, with how they were built", n=objects)
    elif built:
        told = tr("{n}, {some} of them with how they were built", n=objects, some=built)
    else:
        told = tr("{n}, without how they were built", n=objects)
    said = [(tr("objects"), told)]
    if (native := claims["native"]) is not None:
        libc = f", {native['libc']}" if native["libc"] else ""
        said.append((tr("compiler"), f"{native['compiler']}{libc}"))
        vector = " ".join(vector_instructions(native["cpu_flags"]))
        said.append(("CPU", vector or tr("no vector instructions")))
    if count := claims["portable"]:
        setting = f"{preparing.VARIABLE}=0"
        told = tr("{n} of them, for programs with {setting}", n=count, setting=setting)
        said.append((tr("portable"), told))
    return [(name, printable(value)) for name, value in said]


def advice(kernels: Iterable[Kernels], python: str | None) -> list[str]:
    """What to do where objects of bundles were placed for an interpreter, a text for each line."""
    counts = [(one["unportable"], one["portable"]) for one in kernels]
    said = preparing.portable_lines() if any(portable for _, portable in counts) else []
    if python is not None and any(headers for headers, _ in counts):
        command = f"torchkeeper prepare --env {printable(shlex.quote(python))}"
        said.append(tr("{why} Prepare it with: {command}", why=tr(preparing.WHY), command=command))
    return said


def undescribed(answer: Described) -> str:
    """That an export could not tell how some objects were built; empty where it could."""
    if (left := answer["objects"] - answer["described"]) <= 0:
        return ""
    if (maker := answer["maker"]) is None:
        return several(
            left,
            "The bundle cannot say how {n} object was built: that takes an interpreter with "
            "torch and a compiler. Name one with --env.",
            "The bundle cannot say how {n} objects were built: that takes an interpreter with "
            "torch and a compiler. Name one with --env.",
        )
    if maker["what"] == "bundle":
        return several(
            left,
            "The bundle does not say how {n} object was built.",
            "The bundle does not say how {n} objects were built.",
        )
    return several(
        left,
        "The bundle cannot say how {n} object was built: torch {torch} did not build it.",
        "The bundle cannot say how {n} objects were built: torch {torch} did not build them.",
        torch=printable(str(maker["torch"])),
    )


def threads(made_in: MadeIn | None, facts: Env | None) -> str:
    """That entries are for another number of threads than an environment has; else empty."""
    there, here = made_in and made_in["threads"], facts and facts.get("threads")
    if there is None or here is None or there == here:
        return ""
    return tr(
        "Made for {made}; programs here have {here}, and graphs for a CPU miss unless they set "
        "OMP_NUM_THREADS={n}, or call torch.set_num_threads({n}).",
        made=say.count(there, "thread", "threads"),
        here=here,
        n=str(there),
    )
