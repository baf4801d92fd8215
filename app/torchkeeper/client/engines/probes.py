"""Environments, as probes tell them: kept until the installation, the machine or the variables
change, for a probe imports torch, which takes seconds; told to an engine, for verdicts in them; and
all that are known on this machine.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torchkeeper.artifacts.entry import Problem
from torchkeeper.client.engines import far, interpreters
from torchkeeper.client.engines.interpreters import Interpreter
from torchkeeper.client.engines.process import Engine, clean_environment
from torchkeeper.client.engines.travel import archive
from torchkeeper.client.kept import whole
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import misfit
from torchkeeper.stores import query
from torchkeeper.verdict.installed import installed

if TYPE_CHECKING:
    from torchkeeper.engine.messages.verdicts import InstalledResult, KnowParams
    from torchkeeper.stores.generic import OnDiskCache
    from torchkeeper.verdict.probed import Env


#: Seconds after which what was found is removed: its key never comes again, or is found anew.
KEPT_FOR = 30 * 86_400.0

#: Characters of what another machine says that they are kept by.
_LONGEST = 64

#: Seconds a probe may take: an import from a busy network disk takes minutes.
LIMIT = 180.0

#: What a probe's facts are kept by: nothing of it is the same when they may differ.
Identity = tuple[Any, ...]


def _cache() -> OnDiskCache[Identity, dict[Any, Any]]:
    # Only here: most commands ask no interpreter, and this takes longer to load than all of those.
    from torchkeeper.stores.generic import OnDiskCache

    cache = OnDiskCache[Identity, dict[Any, Any]]("interpreters")
    cache.base_dir = Path(whole.cache_folder(), "cache", cache.name)
    return cache


def identity(python: str, engine: Engine | None = None) -> Identity:
    """What an interpreter's facts are kept by. Looks at the disk; starts nothing. Of one on another
    machine that tells, which is waited for; by this engine, if it is there. Raises UserError.
    """
    # Another version of ours may ask for more.
    if machine := far.machine_of(python):
        there = engine is not None and engine.machine == machine
        with contextlib.nullcontext(engine) if there else Engine(machine) as asked:
            assert asked
            told: InstalledResult = asked.call(protocol.INSTALLED, {"path": python})
        return python, archive().name, told["known_by"][:_LONGEST]
    return os.path.abspath(python), archive().name, *installed(python, clean_environment())


def kept(known_by: Identity) -> Env | None:
    from torchkeeper.verdict.probed import Env

    try:
        found: Any = _cache().get(known_by)
    except ValueError:  # a CacheError: nothing overwrites it, so it goes
        forget(known_by)
        return None
    except OSError:
        return None
    return None if misfit(Env, found, "env") else found


def forget(known_by: Identity) -> None:
    """What is asked next is asked of the interpreter itself."""
    with contextlib.suppress(OSError):
        _cache()._fpath_from_key(known_by).unlink()


def keep(known_by: Identity, facts: Env) -> None:
    """Keep a probe's facts; but a torch that is broken may be mended by what nobody looks at.
    known_by: from before it.
    """
    if facts.get("torch_error"):
        return
    cache = _cache()
    with contextlib.suppress(ValueError, OSError):  # a CacheError, too
        cache.insert(known_by, dict(facts))
        for file in cache.base_dir.iterdir():
            if file.is_file() and file.stat().st_mtime < time.time() - KEPT_FOR:
                file.unlink()


def facts_of(one: Interpreter, engine: Engine | None = None) -> Env:
    """The facts, without starting what may not be: UserError("environment-not-started"). engine: as
    of ``identity``.
    """
    if one.starts:
        return probe(one.python, engine)
    if (facts := kept(identity(one.python, engine))) is None:
        raise interpreters.not_started(one.python)
    return facts


def _ask(engine: Engine, python: str) -> Env:
    late = threading.Event()

    def end() -> None:
        late.set()
        engine.kill()

    timer = threading.Timer(LIMIT, end)
    timer.daemon = True
    timer.start()
    try:
        facts: Env = engine.call(protocol.PROBE)
        return facts
    except UserError:
        if late.is_set():
            raise user_error("probe-stuck", {"python": python, "seconds": round(LIMIT)}) from None
        raise
    finally:
        timer.cancel()


def probe(python: str, engine: Engine | None = None) -> Env:
    """What is known of an interpreter, or what it says now; engine: as of ``identity``. Raises
    UserError, also after LIMIT seconds.
    """
    known_by = identity(python, engine)
    if (facts := kept(known_by)) is None:
        with Engine(python) as asked:
            facts = _ask(asked, python)
        keep(known_by, facts)
    return facts


def environment(python: str, engine: Engine | None = None) -> Env:
    """The facts of an interpreter that has a torch; engine: as of ``identity``. Raises UserError,
    also where it has none.
    """
    if (facts := probe(python, engine)).get("torch"):
        return facts
    if why := facts.get("torch_error"):
        raise user_error("torch-broken", {"python": python, "why": why})
    if far.machine_of(python) or (found := _elsewhere()) is None:
        raise user_error("environment-no-torch", {"python": python})
    about = {"python": python, "found": found, "quoted": shlex.quote(found)}
    raise user_error("environment-torch-elsewhere", about)


def _elsewhere() -> str | None:
    """An interpreter with a torch that was found, and not started. Starts nothing."""
    try:
        every = interpreters.with_torch()
    except UserError:  # the list of those that were added cannot be read
        return None
    hopeful = (one.python for one in every if not one.starts)
    return next(filter(interpreters.holds_torch, hopeful), None)


def know(engine: Engine, pythons: Iterable[str]) -> list[str]:
    """Tell an engine of environments; the names it knows them by. Raises as ``environment``."""
    names = list(pythons)
    for python in names:
        params: KnowParams = {"python": python, "env": environment(python, engine)}
        engine.call(protocol.KNOW, params)
    return names


def asks_verdicts(text: str) -> bool:
    """Whether a filter asks for verdicts; one that is not understood does not."""
    try:
        return query.VERDICT in query.parse(text).fields
    except Problem:
        return False


def known(engine: Engine, text: str | None, env: str | None = None) -> list[str]:
    """The names of the environments in which verdicts are wanted, of which the engine then knows:
    that of the interpreter ``env``, or where only the filter asks, of ``interpreters.chosen``; none
    where nobody asks. Raises as ``environment``.
    """
    wanted = env is not None or asks_verdicts(text or "")
    return know(engine, [interpreters.chosen(env, engine.machine)]) if wanted else []


class Everywhere(NamedTuple):
    """envs: (interpreter, facts) of each with a torch; failed: of those that could not be asked."""

    envs: list[tuple[str, Env]]
    failed: list[tuple[str, UserError]]

    def refusal(self) -> UserError | None:
        """Why nothing can be called stale everywhere, if so."""
        if self.failed:
            python, error = self.failed[0]
            if error.code == "environment-not-started":
                return error
            return user_error("environment-unasked", {"python": python, "why": error.what})
        return None if self.envs else user_error("environments-none", {})


def everywhere(
    pythons: Sequence[str] = (), machine: str = "", engine: Engine | None = None
) -> Everywhere:
    """The environments that count: of these interpreters, or all known ones of a machine. engine:
    as of ``identity``. Raises UserError.
    """
    if pythons:
        named = dict.fromkeys(interpreters.chosen(python, machine) for python in pythons)
        return Everywhere([(python, environment(python, engine)) for python in named], [])
    found = Everywhere([], [])
    for one in interpreters.with_torch(machine=machine):
        try:
            facts = facts_of(one, engine)
        except UserError as error:
            if may_count(one):
                found.failed.append((one.python, error))
            continue
        if facts.get("torch"):
            found.envs.append((one.python, facts))
        elif why := facts.get("torch_error"):
            broken = {"python": one.python, "why": why}
            found.failed.append((one.python, user_error("torch-broken", broken)))
    return found


def may_count(one: Interpreter) -> bool:
    """Whether an interpreter that cannot be asked may be an environment. What holds no torch is
    none, whatever else is wrong with it; but what the user named may lie on a disk that is away.
    Looks at the disk; starts nothing.
    """
    if one.added or one.label == interpreters.VARIABLE or far.is_far(one.python):
        return True
    return any(str(file[0]).endswith("/torch/version.py") for file in identity(one.python)[2])
