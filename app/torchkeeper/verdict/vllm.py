"""Whether a server of vLLM will find what another has compiled, and if not, which factor differs.

Its key is made of variables and of three hashes. The variables stand in the tree as they were, so
that they are decided; what the hashes are made of is known to vLLM alone, when it runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from torchkeeper.artifacts.masking import brief
from torchkeeper.artifacts.vllm import HASHES, Factors, folder
from torchkeeper.settings import vllm as variables

if TYPE_CHECKING:
    from torchkeeper.verdict.probed import KeyFactorTold

#: What is found: it finds all; it does not; nothing that is known speaks against it.
HITS, MISSES, OPEN = "hits", "misses", "open"


@dataclass(frozen=True)
class Factor:
    """What differs. name: of a variable, or one of HASHES. a, b: its values, as JSON or the hashes;
    None where that side has no such variable. idle: whether it is one that cannot change what is
    compiled. hidden: whether its values are nobody else's to see.
    """

    name: str
    a: str | None
    b: str | None
    idle: bool = False
    hidden: bool = False

    def to_json(self) -> KeyFactorTold:
        a, b = ("…" if self.hidden and x is not None else x for x in (self.a, self.b))
        return cast("KeyFactorTold", {"factor": self.name, "a": a, "b": b, "idle": self.idle})


@dataclass(frozen=True)
class Judged:
    """factors: those that differ, what can change code first. unknown: variables and hashes of
    which nobody can tell. looks_for: the folder that vLLM looks for if these are the same; "" where
    that cannot be told. named: what its factors make of the name of the folder, where that has
    another: vLLM does not look there.
    """

    factors: tuple[Factor, ...]
    unknown: tuple[str, ...] = ()
    looks_for: str = ""
    named: str = ""

    @property
    def verdict(self) -> str:
        return MISSES if self.factors or self.named else OPEN if self.unknown else HITS

    def lying_in(self, name: str, named: str) -> Judged:
        """The same of a key in a folder of this name, which its factors make ``named``; "" where
        either is not known.
        """
        return replace(self, named=named if name and name != named else "")


def compare(a: Factors, b: Factors) -> Judged:
    """Two keys that are there: every factor that differs is known."""
    found = [variable(name, a.env.get(name), b.env.get(name)) for name in {*a.env, *b.env}]
    unknown = []
    for name in HASHES:
        own, other = a.hashes.get(name), b.hashes.get(name)
        if own is None or other is None:
            unknown.append(name)
        else:
            found.append(Factor(name, own, other))
    return Judged(_differing(found), tuple(unknown), folder(b))


def against(
    there: Factors, env: Mapping[str, str], unclear: Iterable[str] = (), more: bool = False
) -> Judged:
    """A key that is there, and a server that is started with these variables. unclear: variables
    that are set, to nobody knows what. more: whether nobody knows which others are set.
    """
    unclear, same = set(unclear), there.env.keys() == variables.hashed().keys()
    found, unknown, values = [], [], {}
    for name, a in there.env.items():
        b = None if name in unclear else variables.value(name, env)
        if b is not None and a != b and name not in env and (more or not same):
            b = None  # something else may set it, or another version has another value without one
        if b is None:
            unknown.append(name)
        else:
            found.append(variable(name, a, b))
            values[name] = b
    looks_for = folder(there._replace(env={**there.env, **values}))
    return Judged(_differing(found), (*sorted(unknown), *HASHES), looks_for)


def variable(name: str, a: str | None, b: str | None) -> Factor:
    """A variable with these values, which its name may call a secret, or they themselves."""
    hidden = variables.is_secret(name) or any(x and brief(x, len(x)) != x for x in (a, b))
    return Factor(name, a, b, variables.is_idle(name), hidden)


def _differing(found: Iterable[Factor]) -> tuple[Factor, ...]:
    return tuple(sorted((x for x in found if x.a != x.b), key=lambda x: (x.idle, x.name)))
