"""The environments of this machine, all that are known: what none of them can use is dead here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.client.engines import interpreters, probes
from torchkeeper.client.engines.interpreters import Interpreter
from torchkeeper.client.engines.knowing import environment
from torchkeeper.client.words.problems import UserError, user_error

if TYPE_CHECKING:
    from torchkeeper.verdict.probed import Env


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


def everywhere(pythons: Sequence[str] = ()) -> Everywhere:
    """The environments that count: of these interpreters, or all known ones. Raises UserError."""
    if pythons:
        named = dict.fromkeys(interpreters.chosen(python) for python in pythons)
        return Everywhere([(python, environment(python)) for python in named], [])
    found = Everywhere([], [])
    for one in interpreters.with_torch():
        try:
            facts = probes.known(one)
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
    """Whether an interpreter that cannot be asked may be an environment: what holds no torch is
    none, whatever else is wrong with it; but what the user named may lie on a disk that is away.
    Looks at the disk; starts nothing.
    """
    if one.added or one.label == interpreters.VARIABLE:
        return True
    files = probes.identity(one.python)[2]
    return any(str(file[0]).endswith("/torch/version.py") for file in files)
