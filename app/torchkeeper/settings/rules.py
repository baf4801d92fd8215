"""The rules between settings: what a set of them would do, told before anything runs.

Only texts are looked at, so that a form can ask with every key that is typed; what has to be looked
up, as whether a server answers, is the doctor's (``doctor.settings``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from torchkeeper.settings.finding import SEVERITIES, Finding
from torchkeeper.settings.values import on


class About(NamedTuple):
    """What is known of where the settings are for; None for what is not.

    torch, triton: versions. gpu: whether torch sees one. redis: whether Python's redis package is
    there. variables: names of all other variables that are set there.
    """

    torch: str | None = None
    triton: str | None = None
    gpu: bool | None = None
    redis: bool | None = None


Rule = Callable[[Mapping[str, str], About], Iterator[Finding]]


def remote_autograd_alone(values: Mapping[str, str], about: About) -> Iterator[Finding]:
    """The remote AOTAutograd cache names graphs that only the remote FX graph cache has."""
    aot, graphs = "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE", "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE"
    if on(values, aot, about.torch) and not on(values, graphs, about.torch):
        yield Finding("remote-autograd-alone", "error", (aot, graphs), change={graphs: "1"})


#: Each rule by itself; a test of each sets it up for real (tests/settings).
RULES: tuple[Rule, ...] = (remote_autograd_alone,)


def check(values: Mapping[str, str], about: About | None = None) -> list[Finding]:
    """What is wrong with some variables, the worst first. values: texts by variable; what is not
    among them is not set.
    """
    known = about or About()
    found = [finding for rule in RULES for finding in rule(values, known)]
    return sorted(found, key=lambda one: SEVERITIES.index(one.severity))
