"""A profile as a .env file, which everybody reads in another way, and settings from one. ``docker
run --env-file`` takes all behind the = as it is, quotes too (docker/cli, issues 3630 and 4665).
Compose and systemd take single quotes away, and put no variable in between them (Compose's manual,
“Syntax for environment files”; systemd.exec(5), EnvironmentFile=). All treat blanks, #, $ and
backslashes in ways of their own: what all read the same is written as it is; all else stands in
single quotes. Tests have it read by sh and python-dotenv. What is read may be meant for any of
them: variables, which python-dotenv would put in, are left, and told with their line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchkeeper.client.profiles import taking
from torchkeeper.client.profiles.profile import Profile, ordered
from torchkeeper.client.words.tongue import Text, tr

_FORMAT = ".env"
_LITERAL: Text = "put a literal $ into single quotes"
_BARE: Text = (
    "it has a $, which some programs read as a variable; put a literal $ into single quotes"
)
_QUOTES: Text = (
    "In quotes: {names}.\n"
    "sh, Compose, systemd and python-dotenv take them away; docker run\n"
    "--env-file does not, and would have them in the value."
)
_PLAIN = "_./:@%+,=-"
_LINE = re.compile(r"[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][\w.-]*)[ \t]*(?P<sign>=?)[ \t]*")
_REFERENCE = re.compile(r"\$(?:[A-Za-z_]|\{\w*|\()")
_ESCAPES = dict(zip("ntrabfv\"'\\$", "\n\t\r\a\b\f\v\"'\\$", strict=True))


def write(profile: Profile, notes: Sequence[str]) -> str:
    """The file's text, the notes as comments. Raises UserError("profile-text-uncarried")."""
    lines = [f"# {note}" for note in notes]
    if names := [name for name, text in ordered(profile) if not _plain(text)]:
        lines += [f"# {line}" for line in tr(_QUOTES, names=", ".join(names)).split("\n")]
    for name, text in ordered(profile):
        if why := _fault(text):
            raise taking.unwritable(name, _FORMAT, why)
        lines.append(f"{name}={text}" if _plain(text) else f"{name}='{text}'")
    return "\n".join(lines) + "\n"


def _plain(text: str) -> bool:
    """Whether every reader takes a text as it is."""
    return all(c in _PLAIN or (c.isascii() and c.isalnum()) for c in text)


def _fault(text: str) -> str:
    """Why the readers do not agree on a text, in a clause; "" where they do."""
    if made := taking.control(text):
        return tr("It has a character that no line can have: {character}", character=made)
    if "'" in text:
        return tr("It has a single quote, which each reader writes in another way")
    if re.search(r"\\\\|\\$", text):
        return tr(
            "It has two backslashes, or one at its end, which some readers take for an escape"
        )
    if "${" in text:
        return tr("It has ${, which python-dotenv takes for another variable even in quotes")
    return ""


def read(text: str) -> taking.Taking:
    """The settings of a file, as python-dotenv has them. Raises UserError("profile-text-wrong")."""
    found, text, at = taking.Taking(), text.removeprefix("\ufeff"), 0
    lines = taking.Lines(text)
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        if not line.strip() or line.lstrip().startswith("#"):
            at = end + 1
            continue
        number = lines.of(at)
        match = _LINE.match(text, at, end)
        if match is None or not (
            match["sign"] or re.match(r"[ \t\r]*(?:#|$)", line[match.end() - at :])
        ):
            raise taking.unread(number, tr("It sets no variable"))
        name, start = match["name"], match.end()
        if not match["sign"]:
            found.leave(name, tr("the file has only its name, and no value"))
            at = end + 1
        elif text[start : start + 1] in ("'", '"'):
            value, why, at = _quoted(text, start, number)
            _take(found, name, value, why, number)
        else:
            value = re.split(r"[ \t]+#", text[start:end])[0].rstrip(" \t\r")
            _take(found, name, value, _made_of(value), number)
            at = end + 1
    return found


def _take(found: taking.Taking, name: str, value: str, why: str, line: int) -> None:
    if why:
        told = tr(_BARE) if why == _BARE else taking.made_of(name, why, _LITERAL)
        found.leave(name, taking.at_line(told, line))
    else:
        found.take(name, value)


def _made_of(value: str) -> str:
    """Of what other a text is made, or _BARE; "" of what is whole."""
    if (reference := _REFERENCE.search(value)) is None:
        return ""
    # No more of it is told: what follows may be a part of something else.
    return f"{taking.VARIABLE}, {reference[0]}…}}" if reference[0].startswith("${") else _BARE


def _quoted(text: str, at: int, line: int) -> tuple[str, str, int]:
    """What stands in quotes, of what other it is made, and where the next line begins."""
    quote = text[at]
    body = re.compile(rf"{quote}((?:[^{quote}\\]|\\.)*){quote}[ \t\r]*(?:#[^\n]*)?(?:\n|$)",
                      re.DOTALL).match(text, at)  # fmt: skip
    if body is None:
        raise taking.unread(line, tr("A quote is not closed, or something follows it"))
    said = body[1]
    if quote == "'":
        return re.sub(r"\\([\\'])", r"\1", said), "", body.end()
    value = re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), said, flags=re.DOTALL)
    return value, _made_of(re.sub(r"\\.", "", said)), body.end()
