"""What is asked of another machine's engine, and what it answers: it knows its places by their
paths there, and hears of no path and no secret of ours.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.client.words.problems import printable, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.engine import protocol
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.client.engines.line import Channel, Line
    from torchkeeper.client.kept.history import Past
    from torchkeeper.engine.messages.compiling import JobsRow
    from torchkeeper.engine.messages.places import PlacesRow

#: What can be asked of one.
_OPERATIONS = frozenset({
    protocol.PLACES, protocol.LIST, protocol.DU, protocol.SUM, protocol.OVERVIEW, protocol.HOLD,
    protocol.SHOW, protocol.DETAIL, protocol.NEEDS, protocol.TEXT, protocol.FACTORS,
    protocol.RUNNABLE, protocol.PROBE, protocol.INSTALLED, protocol.KNOW, protocol.CHECK,
    protocol.JUDGE, protocol.EXPLAIN, protocol.PLAN_EXPORT, protocol.EXPORT, protocol.IMPORT,
    protocol.COPY, protocol.PLAN_PURGE, protocol.PURGE, protocol.UNDO, protocol.TRASH,
    protocol.EMPTY_TRASH, protocol.RECOVER, protocol.SUGGEST, protocol.TARGET, protocol.LEAKS,
    protocol.VARIANTS, protocol.WARM, protocol.DIAGNOSE, protocol.TOOLCHAIN, protocol.MEND,
    protocol.PREPARE, protocol.VERIFY, protocol.RUN, protocol.FOLLOW, protocol.JOBS,
    protocol.RESUME, protocol.HAND_OVER, protocol.EXPLAIN_TRACE, protocol.ORIGIN, protocol.NAMES,
    protocol.NAMED, protocol.COMPARE, protocol.CACHES, protocol.VLLM, protocol.VLLM_VARIABLES,
    protocol.FILL, protocol.PROVE,
})  # fmt: skip
#: What goes on there where the connection breaks (``engine.detached``).
DETACHED = frozenset({protocol.WARM, protocol.RUN})
#: The parameters that name places and files, and what is of here alone.
_PLACED = frozenset({
    "place", "places", "also", "into", "output", "file", "files", "nearest", "beside", "manifests",
    "sent", "scratch", "folder", "trace", "seeds",
})  # fmt: skip
#: A place for one operation, and for others the path of an entry.
_PATH = "path"
_OURS = frozenset({"signers", "vouched"})
#: In which no place of ours is named, whatever the names in it.
_WHOLE = "recipes"
#: What is believed of jobs: that they ran for fewer seconds, and counted less far.
_AGES, _FAR = 1e9, 1e18
#: The jobs of a machine that are listed, and the names of jobs.
_JOBS, _IDENT = 64, re.compile(r"[0-9a-f]{16}")
#: How deep an answer is looked through for places, and how many lists and objects it may have.
_DEEP, _PARTS = 8, 1 << 15


def machine_of(*places: str | None) -> str:
    """The machine whose engine is asked about places; "" is this one. Raises UserError where they
    are on several.
    """
    named = [place for place in places if place]
    try:
        machines = {scheme_of(place).machine(place): place for place in reversed(named)}
    except Problem as problem:
        raise user_error(problem.code, problem.params) from None
    if len(machines) > 1:
        place, other = list(machines.values())[:2]
        raise user_error("places-apart", {"place": place, "other": other})
    return next(iter(machines), "")


def is_far(place: object) -> bool:
    """Whether a place is on another machine."""
    return isinstance(place, str) and scheme_of(place).elsewhere


def placed(machine: str, rows: Iterable[PlacesRow]) -> list[PlacesRow]:
    """The places that an engine there told, by their names here. A server is reached through that
    machine; one that needs certificate files of that machine is left out.
    """
    from torchkeeper.stores.redis.address import parse as server
    from torchkeeper.stores.ssh import parse

    if not machine:
        return list(rows)
    there = parse(machine)
    found: list[PlacesRow] = []
    for row in rows:
        if scheme_of(row["path"]).local:
            found.append({**row, "path": there.at(row["path"])})
            continue
        with contextlib.suppress(Problem):
            address = server(f"{machine}/{row['path']}").address
            if address.way and not (address.ca_certs or address.certfile):
                found.append({"path": str(address), "reason": row["reason"], "exists": True})
    return found


def name_of(machine: str, path: str) -> str:
    """The name here of a path there, or of a server that is reached from there; "" for anything
    else: that machine has no say about a third one, or about this one.
    """
    from torchkeeper.stores.redis.address import parse as server
    from torchkeeper.stores.ssh import parse

    if not machine:
        return path
    with contextlib.suppress(Problem):
        if os.path.isabs(path):
            parse(named := parse(machine).at(path))
            return named
        if scheme_of(path).elsewhere:  # by its name here already
            return path if scheme_of(path).machine(path) == machine else ""
        if not scheme_of(path).local:
            address = server(f"{machine}/{path}").address
            return str(address) if address.way else ""
    return ""


def path_of(machine: str, place: str) -> str:
    """The path of what may be a place on a machine; waits for that where it is below the home."""
    there = machine and is_far(place) and machine_of(place) == machine
    return Names(machine).path(place) if there else place


def goes_on(machine: str, job: str) -> str:
    """That a job of the machine goes on, and how it is found again."""
    command = f"torchkeeper jobs {shlex.quote(machine)}"
    return tr("The job goes on there. Activity shows it once the window is connected again; "
              "“{command} --follow {job}” follows it, “--end {job}” ends it.", command=command,
              job=shlex.quote(printable(job, 40)))  # fmt: skip


def jobs(machine: str, rows: Iterable[object]) -> list[Past]:
    """The jobs that an engine there told, whether they have ended or not. What is malformed is left
    out.
    """
    from torchkeeper.client.kept.history import Past
    from torchkeeper.client.words import outcomes
    from torchkeeper.engine.messages import compiling
    from torchkeeper.stores.ssh import parse

    found, now = list[Past](), time.time()
    for one in [*rows][:_JOBS]:
        row, place = cast("JobsRow", one), ""
        if protocol.misfit(compiling.JobsRow, one, "row") or row["op"] not in DETACHED:
            continue
        if not _IDENT.fullmatch(row["job"]):
            continue
        with contextlib.suppress(Problem):
            said = row["place"] or ""  # by its name here, where that was asked about
            named = parse(said if is_far(said) else parse(machine).at(said))
            place = str(named) if named.path and named.machine == machine else ""
        op, how = row["op"], row["far"]
        fault = how.get("error")
        took, ago = (x if 0 <= x < _AGES else 0.0 for x in (row["seconds"], row["ago"]))
        name = printable(row.get("about") or os.path.basename(place), 60)
        doing = outcomes.doing(op, name) or tr("Run {program}", program=name)
        words, state = "", "running"
        if not row["lives"]:
            ran = tr("Ran {program}", program=name)
            doing = ran if op == protocol.RUN else tr("Warm-up of {place}", place=name)
            fault = fault or {"code": "job-gone", "params": {}}
            state = "done" if how.get("type") == "result" else "failed"
            state = "cancelled" if fault["code"] == "cancelled" else state
            words = tr("Ended") if state == "done" else ""
            words = user_error(fault["code"], fault["params"]).what if state == "failed" else words
        elif 0 < (total := how.get("total") or 0) < _FAR and 0 <= how.get("done", 0) < _FAR:
            n, of = f"{how.get('done', 0):,.0f}", f"{total:,.0f}"
            words = tr("{n} of {all} {unit}", n=n, all=of, unit=printable(how.get("unit", ""), 20))
        times = now - ago - took, now - ago
        done, asked = state == "done", ((tr("Place"), place),) if place else ()
        title = f"{doing} · {machine.removeprefix('ssh://')}"
        found.append(Past(row["job"], op, title, place, state, done, *times, words, asked=asked))
    return found


def python_of(machine: str, python: str | None) -> str:
    """The name of an environment there: of a path, or by default of its python3; waits for the
    machine. Raises UserError.
    """
    from torchkeeper.stores.ssh import parse

    if python is None:
        return parse(machine).at(_line(machine).hello().executable)
    name = python if is_far(python) else parse(machine).at(python)
    if not is_far(python) and not python.startswith(("/", "~/")):
        raise user_error("path-not-absolute", {"path": python})
    if machine_of(name) != machine:
        raise user_error("places-apart", {"place": name, "other": machine})
    return str(parse(name))


def _line(machine: str) -> Line:
    from torchkeeper.client.engines import line  # only here: it takes long to load

    return line.to(machine)


class Names:
    """The places on a machine that one engine there was asked about."""

    def __init__(self, machine: str) -> None:
        self.machine = machine
        self._known: dict[str, str] = {}
        #: The same paths, as lines have them.
        self._said: set[bytes] = set()

    def start(self, python: str) -> Channel:
        """An engine in this environment; in the machine's own python3 where only that is named, as
        one that looks at files.
        """
        path = None if python == self.machine else self.path(python)
        return _line(self.machine).start(path)

    def asked(self, op: str, params: Mapping[str, object]) -> dict[str, object]:
        """The parameters as they are sent. Raises UserError."""
        if op not in _OPERATIONS or ("vouched" in params and not self._sent_there(params)):
            where = next((params[name] for name in params if name in _PLACED), self.machine)
            raise user_error("place-elsewhere", {"place": str(where)})
        return {name: self._sent(name, one) for name, one in params.items() if name not in _OURS}

    def _sent_there(self, params: Mapping[str, object]) -> bool:
        """Whether bundles were sent from here, where they were looked at."""
        files = params.get("files")
        sources = list(map(str, files)) if isinstance(files, list) else [str(params.get("place"))]
        folder = f"{self.machine}{_line(self.machine).hello().folder}/"
        return all(one.startswith(folder) for one in sources)

    def _sent(self, name: str, value: Any) -> Any:
        if name == _WHOLE:
            return value
        if isinstance(value, dict):
            if name in _PLACED:
                return {self._sent(name, key): one for key, one in value.items()}
            return {key: self._sent(key, one) for key, one in value.items()}
        if isinstance(value, list):
            return [self._sent(name, one) for one in value]
        if not isinstance(value, str) or not value or name not in _PLACED:
            return self.path(value) if name == _PATH and is_far(value) else value
        if scheme_of(value).machine(value) != self.machine:
            raise user_error("places-apart", {"place": value, "other": self.machine})
        path = self.path(value)
        self._known[path] = value
        self._said.add(json.dumps(path).encode())
        return path

    def path(self, place: str) -> str:
        """The path of a place there; waits for the machine where that is below the home."""
        from torchkeeper.stores.ssh import parse

        if not (path := parse(place).path):
            raise user_error("place-machine", {"machine": place})
        if not path.startswith("~"):
            return path
        return os.path.join(_line(self.machine).hello().home, path[2:]).rstrip("/")

    def is_named(self, line: bytes) -> bool:
        """Whether an answer, as its line, names a place that was asked about. Raises WireError for
        one that has far too much in it: to look through that would be the work of seconds.
        """
        if not any(one in line for one in self._said):
            return False
        if line.count(b"[") + line.count(b"{") > _PARTS:
            raise protocol.WireError(tr("an answer has too many parts"))
        return True

    def named(self, value: Any, deep: int = _DEEP) -> Any:
        """An answer, in which the places that were asked about are called as they were asked."""
        if isinstance(value, str):
            return self._known.get(value, value)
        if deep and isinstance(value, dict):
            return {self._known.get(x, x): self.named(one, deep - 1) for x, one in value.items()}
        if deep and isinstance(value, list):
            return [self.named(one, deep - 1) for one in value]
        return value
