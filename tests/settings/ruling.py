"""What the rules say of some variables, and what these are once that is mended."""

from __future__ import annotations

from torchkeeper.settings.finding import About, Finding
from torchkeeper.settings.rules import check


def found(values: dict[str, str], code: str, about: About | None = None) -> Finding:
    """The one finding with this code."""
    (one,) = (x for x in check(values, about) if x.code == code)
    return one


def codes(values: dict[str, str], about: About | None = None) -> set[str]:
    """The codes of all that is wrong, without advice."""
    return {one.code for one in check(values, about) if one.severity != "advice"}


def mended(values: dict[str, str], finding: Finding) -> dict[str, str]:
    """The variables with what the finding would change."""
    assert finding.change, finding
    changed = {**values, **finding.change}
    return {name: text for name, text in changed.items() if text is not None}
