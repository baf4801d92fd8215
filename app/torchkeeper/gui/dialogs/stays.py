"""What a copy would not take, counted by the reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import user_error

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import Finding

#: Reasons that are named one by one.
_NAMED = 4


class Stays(Counter[str]):
    """How many entries stay out for each reason."""

    def take(self, found: list[Finding]) -> None:
        """Count what an engine has found."""
        for one in found:
            if "left" in one:
                self[user_error(one["left"]["code"], one["left"]["params"]).what] += 1

    def words(self, tr: Callable[[str], str]) -> str:
        """How many stay out and why, a line for each reason; empty where none does."""
        count = sum(self.values())
        if not count:
            return ""
        stay = tr("{} stay out").format(say.count(count, "entry", "entries"))
        if count == 1:
            stay = tr("One entry stays out")
        reasons = [f"{number:,} × {why}" for why, number in self.most_common(_NAMED)]
        if len(self) > _NAMED:
            reasons.append(tr("and {} reasons more").format(len(self) - _NAMED))
        if count == 1:
            why = reasons[0].partition("× ")[2]
            # But an abbreviation stays one.
            return f"{stay}: {why if why[1:2].isupper() else why[:1].lower() + why[1:]}"
        return "\n".join([f"{stay}:", *reasons])
