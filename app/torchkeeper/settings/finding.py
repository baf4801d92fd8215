"""What a rule is given, and what it or a check found: how bad, by which evidence, mended how."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from torchkeeper.settings.shapes import FindingTold

#: From the worst: caches are not used, compiling fails or results may be wrong; something costs
#: time, room or safety; good to know.
SEVERITIES = ("error", "warning", "advice")


@dataclass(frozen=True)
class Finding:
    """One thing that is found, in codes and figures; the words are ``client.words.findingwords``.

    code: what it is. severity: one of SEVERITIES. settings: the variables it is about, the one to
    look at first. place: the cache it is about, or "". params: the evidence; values that hold a
    password are never in it. change: what to set to mend it, by variable, None for what is to be
    unset; empty where no setting mends it. fix: what ``engine.mending`` does about it, or "".
    """

    code: str
    severity: str
    settings: tuple[str, ...] = ()
    place: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    change: Mapping[str, str | None] = field(default_factory=dict)
    fix: str = ""

    def to_json(self) -> FindingTold:
        return cast("FindingTold", {**vars(self), "settings": list(self.settings)})

    @classmethod
    def from_json(cls, told: FindingTold) -> Finding:
        """Of what an engine told; a severity that is none is the worst."""
        severity = told["severity"] if told["severity"] in SEVERITIES else SEVERITIES[0]
        about = tuple(told["settings"]), told["place"], told["params"], told["change"], told["fix"]
        return cls(told["code"], severity, *about)


def worst(findings: list[Finding]) -> str | None:
    """The worst severity of some findings, None where there are none."""
    return min((one.severity for one in findings), key=SEVERITIES.index, default=None)


class About(NamedTuple):
    """What is known of where the settings are for; None for what is not. torch, triton: versions.
    gpu: whether torch sees one. redis: whether Python's redis package is there. variables: names of
    all other variables that are set there.
    """

    torch: str | None = None
    triton: str | None = None
    gpu: bool | None = None
    redis: bool | None = None
    variables: frozenset[str] | None = None


def about_of(facts: Mapping[str, Any]) -> About:
    """What a probe told of an interpreter (``verdict.environment.probe``), as far as rules ask."""
    devices = facts.get("devices")
    gpu = None if devices is None else any(one["type"] != "cpu" for one in devices)
    return About(facts.get("torch"), facts.get("triton"), gpu)


Values = Mapping[str, str]
Rule = Callable[[Values, About], Iterator[Finding]]
