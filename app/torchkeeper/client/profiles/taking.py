"""What is taken from a file that sets variables, and what is left and why; its text and format."""

from __future__ import annotations

import bisect
import os
import re
import stat
import sys
import unicodedata
from dataclasses import dataclass, field

from torchkeeper.client.kept import whole
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.client.words.tongue import Text, tr
from torchkeeper.settings import vllm
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
    """Settings as they are found. values: texts by variable. left: what was not taken, and why.
    others: the texts of variables that are no settings, as far as they are told. whys: why what is
    set is not told, also of variables that are no settings.
    """

    values: dict[str, str] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)
    whys: dict[str, str] = field(default_factory=dict)

    @property
    def tells(self) -> bool:
        """Whether something of it is a setting, or may be one."""
        return bool(self.values) or any(why != no_setting() for why in self.left.values())

    @property
    def tells_vllm(self) -> bool:
        """Whether something of it is a variable of vLLM's."""
        return any(name.startswith(vllm.BEGINS) for name in self.left)

    def take(self, name: str, text: str) -> None:
        """A variable is set; the last time counts."""
        self.whys.pop(name, None)
        if name in BY_NAME:
            self.values[name] = text
            self.left.pop(name, None)
        else:
            self.others[name] = text
            self.left.setdefault(name, no_setting())

    def leave(self, name: str, why: str) -> None:
        """A variable, or something else, is there, and what it comes to is not."""
        self.values.pop(name, None)
        self.others.pop(name, None)
        self.whys[name] = why
        self.left[name] = why if name in BY_NAME or not name.isidentifier() else no_setting()


class Lines:
    """Tells in which line of a text something stands, from 1."""

    def __init__(self, text: str) -> None:
        self._ends = [match.start() for match in re.finditer("\n", text)]

    def of(self, at: int) -> int:
        return bisect.bisect_left(self._ends, at) + 1


def no_setting() -> str:
    return tr("it is no setting of the caches")


def at_line(why: str, line: int) -> str:
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
    if name not in BY_NAME:
        return tr("it is made of {what}", what=tr(kind))
    if BY_NAME[name].secret:
        return tr("it is made of {what}; {literal}", what=tr(kind), literal=tr(literal))
    return tr("it is made of {what}", what=f"{tr(kind)}, {part}" if part else tr(kind))


def control(text: str) -> str:
    """The first character of a text that no line can have, made visible; "" where none is."""
    kinds = ("Cc", "Zl", "Zp")
    return next((printable(c) for c in text if unicodedata.category(c) in kinds), "")


# The text of a file that sets variables, and what format that is.

#: Bytes of a file at most; a manifest of a whole application has some ten thousand.
MOST_BYTES = 256 << 10
STDIN = "-"
#: What a shell calls a pipe that it has opened.
_OPENED = re.compile(r"/(?:dev|proc/self)/fd/[0-9]{1,9}")

_NAMES = (
    (re.compile(r"(?:.*[./])?(?:docker|container)file(?:\.[^/]*)?|.*\.(?:docker|container)file"),
     "dockerfile"),
    (re.compile(r".*\.ya?ml"), "kubernetes"),
    (re.compile(r"(?:.*/)?(?:\.env(?:\.[^/]*)?|[^/]*\.env)"), "env"),
    (re.compile(r".*\.(?:sh|bash)"), "sh"),
)  # fmt: skip
_YAML = re.compile(r"[A-Za-z_][\w.-]*:(?:\s|$)|---\s*$|- |\{\s*\"|\[\s*\{")
_DOCKER = re.compile(r"(?:FROM|ENV|ARG|RUN|COPY)[ \t]+\S", re.IGNORECASE)
_SHELL = re.compile(r"#!|(?:export|unset|declare|typeset|env|set|source|\.|if|for)[ \t]+\S")
_ASSIGNS = re.compile(r"[A-Za-z_][\w.-]*[ \t]*=")
_TOML = re.compile(r"\[settings\]\s*(?:#.*)?$|about\s*=\s*[\"']")


def format_of(file: str) -> str:
    """The format that files of this name have; "" of what has any."""
    found = (format for pattern, format in _NAMES if pattern.fullmatch(file.lower()))
    return next(found, "")


def guess(text: str, file: str = "") -> str:
    """The format of a text: one of formats.FORMATS, or "toml". file: its name decides first."""
    if file.lower().endswith(".toml"):
        return "toml"
    if format := format_of(file):
        return format
    text = text.removeprefix("\ufeff")
    for line in map(str.strip, text.splitlines()):
        if line.startswith("#!"):
            return "sh"
        if not line or line.startswith("#"):
            continue
        if _TOML.match(line):
            return "toml"
        if _YAML.match(line):
            return "kubernetes"
        if _DOCKER.match(line) and not _ASSIGNS.match(line):
            return "dockerfile"
        return "sh" if _is_shell(text) else "env"
    return "sh"


def _is_shell(text: str) -> bool:
    """Whether a text has what a .env file has not."""
    lines = [line.strip() for line in text.splitlines()]
    for line in lines:
        if line and not line.startswith("#") and not _ASSIGNS.match(line.removeprefix("export ")):
            return True
        if _SHELL.match(line) and not line.startswith("export "):
            return True
        if re.match(r"(?:export[ \t]+)?\w+=(?:[^'\"\s]|'[^']*'|\"[^\"]*\")*[ \t]+[^#\s]", line):
            return True  # a program follows, or another variable
    return any(line.startswith("export ") for line in lines)


def text_in(path: str) -> str:
    """The text of a file, a shell's ``<(…)`` or STDIN. Raises UserError("profile-unreadable")."""
    try:
        if path == STDIN:
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        elif is_stream(path):
            # Who has it open is there already: this waits for nobody else.
            with open(path, "rb") as stream:
                data = stream.read(MOST_BYTES + 1)
        else:
            data = whole.read(path, MOST_BYTES)
    except OSError as e:
        why = e.strerror or str(e)
        if os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode):
            why = tr("It is a pipe, which may never end; - reads one from standard input")
        raise user_error("profile-unreadable", {"file": path, "why": why}) from e
    if len(data) > MOST_BYTES:
        raise user_error("profile-unreadable", {"file": path, "why": tr("It is too large")})
    return whole.decoded(data, "profile-unreadable", path)


def is_stream(path: str) -> bool:
    """Whether it is standard input, or what a shell makes of ``<(…)``: its name says nothing."""
    return path == STDIN or bool(_OPENED.fullmatch(path))


def stem(path: str) -> str:
    """What a profile from this file is called where nobody says."""
    if is_stream(path):
        return "stdin"
    found = os.path.splitext(os.path.basename(path).lstrip("."))[0].strip().lstrip("-")
    return "".join(c for c in found if c.isprintable() and c != "\\")[:60].strip() or "profile"
