"""Regular expressions that are compiled when they are first used: compiling all of them would take
a good part of the time in which a command or an engine starts.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Later:
    """A regular expression that is not compiled yet. pattern: its text."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        # What was asked for once is an attribute from then on, and is not asked for here again.
        found = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, found)
        return found


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """As ``re.compile``; what is wrong with the text is raised when it is first used."""
    return cast("re.Pattern[AnyStr]", _Later(pattern, flags))
