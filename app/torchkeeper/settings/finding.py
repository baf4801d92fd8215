"""What a rule or a check found: a code, how bad it is, its evidence, and what would mend it."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

#: From the worst: caches are not used, compiling fails or results may be wrong; something costs
#: time, room or safety; good to know.
SEVERITIES = ("error", "warning", "advice")


@dataclass(frozen=True)
class Finding:
    """One thing that is found, in codes and figures; the words are ``link.words.findingwords``.

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
    params: dict[str, Any] = field(default_factory=dict)
    change: dict[str, str | None] = field(default_factory=dict)
    fix: str = ""

    def to_json(self) -> dict[str, Any]:
        """As it goes over the wire."""
        return {**asdict(self), "settings": list(self.settings)}

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Finding:
        """Of what an engine told, taking nothing for granted; what makes no sense is left out."""
        settings, params, change = told.get("settings"), told.get("params"), told.get("change")
        severity = told.get("severity")
        return cls(
            str(told.get("code") or ""),
            severity if severity in SEVERITIES else SEVERITIES[0],
            tuple(x for x in settings if isinstance(x, str)) if isinstance(settings, list) else (),
            str(told.get("place") or ""),
            params if isinstance(params, dict) else {},
            {
                str(name): value
                for name, value in (change if isinstance(change, dict) else {}).items()
                if value is None or isinstance(value, str)
            },
            str(told.get("fix") or ""),
        )


def worst(findings: list[Finding]) -> str | None:
    """The worst severity of some findings, None where there are none."""
    return min((one.severity for one in findings), key=SEVERITIES.index, default=None)
