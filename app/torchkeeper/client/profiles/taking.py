"""What is taken from a file that sets variables: the settings, and what is left and why."""

from __future__ import annotations

import bisect
import re
import unicodedata
from dataclasses import dataclass, field

from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.client.words.tongue import Text, tr
from torchkeeper.settings.known import BY_NAME

#: What the text of a setting may be made of; a part of it comes after a comma.
VARIABLE: Text = "another variable"
BEFORE: Text = "what it had before"
PRINTED: Text = "what a command prints"
CONTINUED: Text = "a $ whose line goes on in the next"
ESCAPES: Text = "escapes"
TRANSLATED: Text = "a translation"
HOME: Text = "your home folder"
LIST: Text = "a list"


@dataclass
class Taking:
    """Settings as they are found. values: texts by variable. left: what was not taken, and why."""

    values: dict[str, str] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)

    @property
    def tells(self) -> bool:
        """Whether something of it is a setting, or may be one."""
        return bool(self.values) or any(why != no_setting() for why in self.left.values())

    def take(self, name: str, text: str) -> None:
        """A variable is set; the last time counts."""
        if name in BY_NAME:
            self.values[name] = text
            self.left.pop(name, None)
        else:
            self.left.setdefault(name, no_setting())

    def leave(self, name: str, why: str) -> None:
        """A variable, or something else, is there, and what it comes to is not."""
        self.values.pop(name, None)
        matters = name in BY_NAME or not name.isidentifier()
        self.left[name] = why if matters else no_setting()


class Lines:
    """Tells in which line of a text something stands, from 1."""

    def __init__(self, text: str) -> None:
        self._ends = [match.start() for match in re.finditer("\n", text)]

    def of(self, at: int) -> int:
        """The line of a place in the text."""
        return bisect.bisect_left(self._ends, at) + 1


def no_setting() -> str:
    """Why a variable is left that is no setting."""
    return tr("it is no setting of the caches")


def at_line(why: str, line: int) -> str:
    """Why something is left, and in which line it stands."""
    return tr("{why} (line {line})", why=why, line=str(line))


def unread(line: int, why: str) -> UserError:
    """That a file cannot be understood; why: a clause."""
    return user_error("profile-text-wrong", {"line": line, "why": why})


def unwritable(name: str, format: str, why: str) -> UserError:
    """That a format cannot carry the text of a setting; why: a clause."""
    return user_error("profile-text-uncarried", {"name": name, "format": format, "why": why})


def made_of(name: str, what: str, literal: str) -> str:
    """That the text of a setting is made of something, in a clause. Of one that may hold a password
    no part is told: what looks like a variable may be some characters of it. literal: how a $ is
    written that is only that, in a clause.
    """
    kind, _, part = what.partition(", ")
    if BY_NAME[name].secret:
        return tr("it is made of {what}; {literal}", what=tr(kind), literal=tr(literal))
    said = f"{tr(kind)}, {part}" if part else tr(kind)
    return tr("it is made of {what}", what=said)


def control(text: str) -> str:
    """The first character of a text that no line can have, made visible; "" where none is."""
    kinds = ("Cc", "Zl", "Zp")
    return next((printable(c) for c in text if unicodedata.category(c) in kinds), "")
