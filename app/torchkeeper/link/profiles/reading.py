"""The text of a file that sets variables, and what format that is."""

from __future__ import annotations

import os
import re
import sys

from torchkeeper.link import whole
from torchkeeper.link.words import user_error

#: Bytes of a file at most; a manifest of a whole application has some ten thousand.
MOST_BYTES = 256 << 10
#: What is read instead of a file.
STDIN = "-"

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
    """The format of a text: one of formats.FORMATS, or "toml" for a profile's own file.

    file: its name, which decides where it says something.
    """
    if file.lower().endswith(".toml"):
        return "toml"
    for pattern, format in _NAMES:
        if pattern.fullmatch(file.lower()):
            return format
    for line in text.removeprefix("\ufeff").splitlines():
        line = line.strip()
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
    for line in text.splitlines():
        line = line.strip()
        if line and not line.startswith("#") and not _ASSIGNS.match(line.removeprefix("export ")):
            return True
        if _SHELL.match(line) and not line.startswith("export "):
            return True
        if re.match(r"(?:export[ \t]+)?\w+=(?:[^'\"\s]|'[^']*'|\"[^\"]*\")*[ \t]+[^#\s]", line):
            return True  # a program follows, or another variable
    return any(line.strip().startswith("export ") for line in text.splitlines())


def text_in(path: str) -> str:
    """The text of a file, or with STDIN of the standard input.

    Raises UserError("profile-unreadable" | "profile-file-large").
    """
    try:
        if path == STDIN:
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            data = whole.read(path, MOST_BYTES)
    except OSError as e:
        why = e.strerror or str(e)
        raise user_error("profile-unreadable", {"file": path, "why": why}) from e
    if len(data) > MOST_BYTES:
        raise user_error("profile-unreadable", {"file": path, "why": "It is too large"})
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        line = data.count(b"\n", 0, e.start) + 1
        why = f"Line {line} is not UTF-8"
        raise user_error("profile-unreadable", {"file": path, "why": why}) from e


def stem(path: str) -> str:
    """What a profile from this file is called where nobody says."""
    if path == STDIN:
        return "stdin"
    return os.path.splitext(os.path.basename(path))[0].lstrip(".") or "profile"
