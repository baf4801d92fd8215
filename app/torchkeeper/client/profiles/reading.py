"""The text of a file that sets variables, and what format that is."""

from __future__ import annotations

import os
import re
import stat
import sys

from torchkeeper.client.kept import whole
from torchkeeper.client.words.problems import user_error
from torchkeeper.client.words.tongue import tr

#: Bytes of a file at most; a manifest of a whole application has some ten thousand.
MOST_BYTES = 256 << 10
#: What is read instead of a file.
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


def guess(text: str, file: str = "") -> str:
    """The format of a text: one of formats.FORMATS, or "toml". file: its name decides first."""
    if file.lower().endswith(".toml"):
        return "toml"
    for pattern, format in _NAMES:
        if pattern.fullmatch(file.lower()):
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
    kept = "".join(c for c in found if c.isprintable() and c != "\\")[:60].strip()
    return kept or "profile"
