"""A profile as a .env file, which everybody reads in another way, and settings from one.

Seen in the sources: ``docker run --env-file`` takes all that follows the = as it is, quotes too
(docker/cli, pkg/kvfile). Compose (compose-go, dotenv), python-dotenv, sh and systemd
(EnvironmentFile=) take away a pair of quotes, and treat blanks, #, $, backslashes and single quotes
in ways of their own. So what all read the same is written as it is; what all but the first do, in
single quotes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchkeeper.link.profiles.profile import Profile, ordered
from torchkeeper.link.profiles.taking import (
    Lines,
    Taking,
    control,
    made_of,
    unclear,
    unread,
    unwritable,
)
from torchkeeper.settings.known import BY_NAME

_FORMAT = ".env"
_LITERAL = "a $ that is a part of it stands in single quotes"
_PLAIN = "_./:@%+,=-"
_LINE = re.compile(r"[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][\w.-]*)[ \t]*(?P<sign>=?)[ \t]*")
_REFERENCE = re.compile(r"\$(?:[A-Za-z_]|\{\w*|\()")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def write(profile: Profile, notes: Sequence[str]) -> str:
    """The text of the file; each of the notes becomes a comment at its top.

    Raises UserError("profile-text-uncarried").
    """
    lines = [f"# {note}" for note in notes]
    if names := in_quotes(profile):
        lines.append(f"# In quotes: {', '.join(names)}.")
        lines.append("# sh, Compose, systemd and python-dotenv take them away; docker run")
        lines.append("# --env-file does not, and would have them in the value.")
    for name, text in ordered(profile):
        if why := _fault(text):
            raise unwritable(name, _FORMAT, why)
        lines.append(f"{name}={text}" if _plain(text) else f"{name}='{text}'")
    return "\n".join(lines) + "\n"


def in_quotes(profile: Profile) -> list[str]:
    """The variables whose text is written in quotes."""
    return [name for name, text in ordered(profile) if not _plain(text)]


def _plain(text: str) -> bool:
    """Whether every reader takes a text as it is."""
    return all(c in _PLAIN or (c.isascii() and c.isalnum()) for c in text)


def _fault(text: str) -> str:
    """Why the readers do not agree on a text, in a clause; "" where they do."""
    if made := control(text):
        return f"It has a character that no line can have: {made}"
    if "'" in text:
        return "It has a single quote, which each reader writes in another way"
    if re.search(r"\\\\|\\$", text):
        return "It has two backslashes, or one at its end, which some readers take for an escape"
    if "${" in text:
        return "It has ${, which python-dotenv takes for another variable even in quotes"
    return ""


def read(text: str) -> Taking:
    """The settings of a .env file, as Compose and python-dotenv read it; what refers to another
    variable is refused.

    Raises UserError("profile-text-unclear" | "profile-text-wrong").
    """
    taking = Taking()
    text = text.removeprefix("\ufeff")
    lines = Lines(text)
    at = 0
    while at < len(text):
        end = _end(text, at)
        line = text[at:end]
        if not line.strip() or line.lstrip().startswith("#"):
            at = end + 1
            continue
        number = lines.of(at)
        match = _LINE.match(text, at, end)
        if match is None or not (
            match["sign"] or re.match(r"[ \t\r]*(?:#|$)", line[match.end() - at :])
        ):
            raise unread(number, "It sets no variable")
        name, start = match["name"], match.end()
        if not match["sign"]:
            taking.leave(name, "the file has no value of it, only its name")
            at = end + 1
        elif text[start : start + 1] in ("'", '"'):
            value, at = _quoted(text, start, number, name)
            taking.take(name, value)
        else:
            value = re.split(r"[ \t]+#", text[start:end])[0].rstrip(" \t\r")
            _clear(value, number, name)
            taking.take(name, value)
            at = end + 1
    return taking


def _end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _clear(value: str, line: int, name: str) -> None:
    """Raises UserError for a text that is made of others."""
    if name in BY_NAME and (reference := _REFERENCE.search(value)):
        # No more of it is told: what follows may be a part of something else.
        said = made_of(name, f"another variable, {reference[0]}…}}", _LITERAL)
        bare = f"It has a $, which some take for a variable; {_LITERAL}"
        raise unclear(line, name, f"It is {said}" if reference[0].startswith("${") else bare)


def _quoted(text: str, at: int, line: int, name: str) -> tuple[str, int]:
    """What stands in quotes, and where the next line begins."""
    quote = text[at]
    body = re.compile(rf"{quote}((?:[^{quote}\\]|\\.)*){quote}[ \t\r]*(?:#[^\n]*)?(?:\n|$)",
                      re.DOTALL).match(text, at)  # fmt: skip
    if body is None:
        raise unread(line, "A quote is not closed, or something follows it")
    said = body[1]
    if quote == "'":
        return re.sub(r"\\([\\'])", r"\1", said), body.end()
    _clear(re.sub(r"\\.", "", said), line, name)
    value = re.sub(r"\\(.)", lambda m: _unescaped(m[1]), said, flags=re.DOTALL)
    return value, body.end()


def _unescaped(char: str) -> str:
    return _ESCAPES.get(char, char if char in "\"'\\$" else f"\\{char}")
