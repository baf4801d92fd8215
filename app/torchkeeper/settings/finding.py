"""What a rule or a check found: a code, how bad it is, its evidence, and what would mend it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

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
    unset; empty where no setting mends it. fix: the name of what ``engine.mending`` does about it,
    or "" where there is nothing that a program should do by itself.
    """

    code: str
    severity: str
    settings: tuple[str, ...] = ()
    place: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    change: Mapping[str, str | None] = field(default_factory=dict)
    fix: str = ""

    def to_json(self) -> FindingTold:
        """As it goes over the wire."""
        return cast("FindingTold", {**vars(self), "settings": list(self.settings)})

    @classmethod
    def from_json(cls, told: FindingTold) -> Finding:
        """Of what an engine told; a severity that is none is the worst."""
        severity = told["severity"] if told["severity"] in SEVERITIES else SEVERITIES[0]
        settings, params = tuple(told["settings"]), told["params"]
        return cls(
            told["code"], severity, settings, told["place"], params, told["change"], told["fix"]
        )


def worst(findings: list[Finding]) -> str | None:
    """The worst severity of some findings, None where there are none."""
    return min((one.severity for one in findings), key=SEVERITIES.index, default=None)
