"""The rules between settings: what a set of them would do, told before anything runs.

Only texts are looked at, so that a form can ask with every key that is typed; what has to be looked
up, as whether a server answers, is the doctor's (``doctor.switches``).
"""

from __future__ import annotations

from torchkeeper.settings.checks import caches, folders, profiles, remote, texts, triton
from torchkeeper.settings.checks.about import About, Rule, Values, about_of
from torchkeeper.settings.finding import SEVERITIES, Finding

__all__ = ["RULES", "About", "Rule", "Values", "about_of", "check"]

#: Each rule by itself; a test of each sets it up for real (tests/settings).
RULES: tuple[Rule, ...] = (
    *caches.RULES, *remote.RULES, *texts.RULES, *profiles.RULES, *folders.RULES, *triton.RULES,
)  # fmt: skip


def check(values: Values, about: About | None = None) -> list[Finding]:
    """What is wrong with some variables (name: text), the worst first."""
    known = about or About()
    found = [finding for rule in RULES for finding in rule(values, known)]
    return sorted(found, key=lambda one: SEVERITIES.index(one.severity))
