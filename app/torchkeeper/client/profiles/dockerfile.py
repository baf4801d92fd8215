"""A profile as ENV lines of a Dockerfile, and settings from these, after BuildKit's parser, which
buildah shares in essence: moby/buildkit, frontend/dockerfile/parser/line_parsers.go (words),
parser/parser.go (lines), shell/lex.go (quotes and variables).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from torchkeeper.client.profiles import taking
from torchkeeper.client.profiles.profile import MOST_VALUE, Profile, ordered
from torchkeeper.client.words.problems import user_error
from torchkeeper.client.words.tongue import Text, tr
from torchkeeper.settings.known import BY_NAME

_LITERAL: Text = "put a literal $ into single quotes"
_UNTOLD: Text = "it is made of another variable, {reference}, which no ENV of the stage tells"
_DIRECTIVE = re.compile(r"#\s*([a-zA-Z][a-zA-Z0-9]*)\s*=\s*(.+?)\s*")
_HEREDOC = re.compile(r"(?<!\S)\d*<<(-?)([\"']?)([A-Za-z_][\w.]*)\2")
_VARIABLE = re.compile(r"\$(?:([A-Za-z_]\w*|[0-9@*#])|\{([A-Za-z_]\w*)([^}]*)\})")
_STAGE = re.compile(r"(?:--\S+\s+)*(\S+)(?:\s+as\s+(\S+))?\s*", re.IGNORECASE)

#: Stages of a file at most: each may have all of another one.
_STAGES = 1000


@dataclass
class _Stage:
    """A stage. name: after AS, or ""; values: what ENV sets, here or before; lines: of each."""

    name: str = ""
    values: dict[str, str | None] = field(default_factory=dict)
    lines: dict[str, tuple[int, str]] = field(default_factory=dict)


def write(profile: Profile, notes: Sequence[str]) -> str:
    """ENV lines, below the notes as comments. Raises UserError("profile-text-uncarried")."""
    lines = [f"# {note}" for note in notes]
    for name, text in ordered(profile):
        if made := taking.control(text):
            why = tr("It has a character that no line can have: {character}", character=made)
            raise taking.unwritable(name, "Dockerfile", why)
        lines.append(f"ENV {name}={quoted(text)}")
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A text in quotes, nothing escaped: not every file and reader has the same escape."""
    parts = re.findall(r"'+|[^']+", text)
    # A single quote stands in double ones, what is special there in single ones.
    special = ("'" if set(part) & set('\\$"`') else '"' for part in parts)
    made = (f"{quote}{part}{quote}" for quote, part in zip(special, parts, strict=True))
    return "".join(made) or '""'


def read(text: str, stage: str | None = None) -> taking.Taking:
    """The settings that a stage has in the end: the last, or the one of this name or number from 0.
    A variable that is set in the same file is put in where another refers to it; what refers to any
    other is left. Raises UserError("profile-stage-unknown" | "profile-text-wrong").
    """
    chosen = _chosen(_stages(text), stage)
    found = taking.Taking()
    for name, value in chosen.values.items():
        if value is None:
            line, why = chosen.lines[name][0], tr(_UNTOLD, reference=chosen.lines[name][1])
            if name not in BY_NAME or BY_NAME[name].secret:
                why = taking.made_of(name, taking.VARIABLE, _LITERAL)
            found.leave(name, taking.at_line(why, line))
        else:
            found.take(name, value)
    return found


def _chosen(stages: list[_Stage], wanted: str | None) -> _Stage:
    if wanted is None:
        return stages[-1]
    for one in reversed(stages):
        if one.name and one.name.lower() == wanted.lower():
            return one
    if wanted.isdecimal() and int(wanted[:6]) < len(stages):
        return stages[int(wanted[:6])]
    there = ", ".join(one.name for one in stages if one.name)
    params = {"stage": wanted, "count": len(stages), "names": f": {there}" if there else ""}
    raise user_error("profile-stage-unknown", params)


def _stages(text: str) -> list[_Stage]:
    """All stages; a text without FROM is one."""
    escape, stages, named = _escape(text), list[_Stage](), dict[str, _Stage]()
    for number, line in _instructions(text, escape):
        word, _, rest = line.partition(" ")
        if word.upper() == "FROM":
            if (match := _STAGE.fullmatch(rest.strip())) is None:
                raise taking.unread(number, tr("FROM names no image"))
            base = named.get(match[1].lower(), _Stage())
            new = _Stage(match[2] or "", dict(base.values), dict(base.lines))
            stages.append(new)
            if len(stages) > _STAGES:
                raise taking.unread(number, tr("It has more than {n} stages", n=_STAGES))
            named[new.name.lower()] = new
        elif word.upper() == "ENV":
            if not stages:
                stages.append(_Stage())
            _env(stages[-1], rest.strip(), number, escape)
    return stages or [_Stage()]


def _escape(text: str) -> str:
    """The escape character, which a comment at the very top may name."""
    for line in text.removeprefix("\ufeff").split("\n"):
        if (directive := _DIRECTIVE.fullmatch(line.strip())) is None:
            break
        if directive[1].lower() == "escape" and directive[2] in ("\\", "`"):
            return directive[2]
    return "\\"


def _instructions(text: str, escape: str) -> Iterator[tuple[int, str]]:
    """Each instruction as one line, blanks in place of tabs at its first word, with its number."""
    goes_on = re.compile(rf"{re.escape(escape)}[ \t]*$")
    lines = text.removeprefix("\ufeff").split("\n")
    at = 0
    while at < len(lines):
        number, parts = at + 1, list[str]()
        while at < len(lines):
            line = lines[at].rstrip("\r")
            at += 1
            if line.lstrip().startswith("#") or (parts and not line.strip()):
                if parts:
                    continue
                break
            more = goes_on.search(line)
            parts.append(line[: more.start()] if more else line)
            if not more:
                break
        whole = "".join(parts).strip()
        word = whole.split(maxsplit=1)[0].upper() if whole else ""
        if word in ("RUN", "COPY", "ADD"):
            # What stands between << and its end is no Dockerfile.
            for heredoc in _HEREDOC.finditer(whole):
                while at < len(lines):
                    line = lines[at].rstrip("\r")
                    at += 1
                    if (line.lstrip("\t") if heredoc[1] else line) == heredoc[3]:
                        break
        if whole:
            yield number, " ".join(whole.split(None, 1))


def _env(stage: _Stage, rest: str, number: int, escape: str) -> None:
    words, is_open = _words(rest, escape)
    if not words:
        raise taking.unread(number, tr("ENV sets nothing"))
    if is_open:
        raise taking.unread(number, tr("A quote is not closed"))
    if "=" not in words[0]:
        # As it was written once: all that follows the name is the value.
        name, *value = rest.split(None, 1)
        if not value:
            raise taking.unread(number, tr("ENV sets nothing"))
        pairs = [(name, value[0])]
    else:
        if any("=" not in word for word in words):
            raise taking.unread(number, tr("A word of ENV has no ="))
        pairs = [(name, value) for name, _, value in (word.partition("=") for word in words)]
    before = dict(stage.values) if "$" in rest else {}
    for name, raw in pairs:
        name = _value(name, {}, escape)[0] or ""
        stage.values[name], reference = _value(raw, before, escape)
        stage.lines[name] = (number, reference)


def _words(rest: str, escape: str) -> tuple[list[str], bool]:
    """The words of ENV, with their quotes (parseWords); and whether one is open in the end."""
    words, word, quote, at = list[str](), "", "", 0
    while at < len(rest):
        char = rest[at]
        at += 1
        if not quote and char.isspace():
            words += [word] if word else []
            word = ""
            continue
        if not quote and char in "'\"":
            quote = char
        elif char == quote:
            quote = ""
        elif char == escape and quote != "'":
            word += char
            char = rest[at : at + 1]
            at += 1
        word += char
    return words + ([word] if word else []), bool(quote)


def _value(raw: str, known: Mapping[str, str | None], escape: str) -> tuple[str | None, str]:
    """What a word is without quotes (ProcessWord), and ""; else None, and what unknown is in it."""
    parts, quote, at, size = list[str](), "", 0, 0
    while at < len(raw):
        char = raw[at]
        if quote != "'" and char == "$" and (variable := _VARIABLE.match(raw, at)):
            name = variable[1] or variable[2]
            text = None if variable[3] else known.get(name)
            size += len(text or "")
            if text is None or size > MOST_VALUE:
                return None, f"${{{name}}}"  # what is in its place may be a password
            parts.append(text)
            at = variable.end()
            continue
        at += 1
        if not quote and char in "'\"":
            quote = char
        elif char == quote:
            quote = ""
        elif char == escape and quote != "'":
            after = raw[at : at + 1]
            if not quote or after in ('"', "$", escape):
                char = after
                at += 1
            parts.append(char if after or quote else "")
        else:
            parts.append(char)
    return "".join(parts), ""
