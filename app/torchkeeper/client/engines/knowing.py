"""Telling an engine of environments, so that selections can ask for verdicts in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import Problem
from torchkeeper.client.engines import interpreters, probes
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import user_error
from torchkeeper.engine import protocol
from torchkeeper.stores import query

if TYPE_CHECKING:
    from torchkeeper.engine.messages.verdicts import KnowParams
    from torchkeeper.verdict.probed import Env


def environment(python: str) -> Env:
    """The facts of an interpreter that has a torch. Raises UserError, also where it has none."""
    facts = probes.probe(python)
    if not facts.get("torch"):
        code = "torch-broken" if facts.get("torch_error") else "environment-no-torch"
        raise user_error(code, {"python": python, "why": facts.get("torch_error") or ""})
    return facts


def know(engine: Engine, pythons: Iterable[str]) -> list[str]:
    """Tell an engine of environments; the names it knows them by. Raises as ``environment``."""
    names = list(pythons)
    for python in names:
        params: KnowParams = {"python": python, "env": environment(python)}
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
    where nobody does. Raises as ``environment``.
    """
    wanted = env is not None or asks_verdicts(text or "")
    return know(engine, [interpreters.chosen(env)]) if wanted else []
