"""The profile that a user means: one of his own by its name, or a file by its path."""

from __future__ import annotations

import os

from torchkeeper.client.profiles import formats, keeping, taking
from torchkeeper.client.profiles.profile import Profile, name_fault


def is_file(named: str) -> bool:
    """Whether it is a path: it has a slash or .toml, or is a file's and no profile's name."""
    if "/" in named or named.lower().endswith(keeping.SUFFIX):
        return True
    return bool(name_fault(named) or named not in keeping.names()) and os.path.isfile(named)


def chosen(named: str) -> Profile:
    """The profile of a name or file. Raises UserError as ``found``, "profile-nothing-told"."""
    read = found(named)
    read.check_told(named)
    return read.profile


def found(named: str, container: str | None = None, stage: str | None = None) -> formats.Read:
    """The user's profile of this name, or what a file sets, or "-": a profile's own, a script, a
    .env file, a Dockerfile, a manifest. Raises UserError as ``keeping.load``, ``read_any``.
    """
    if named == taking.STDIN or is_file(named):
        return read_any(named, container=container, stage=stage)
    return formats.Read(keeping.load(named), [])


def read_any(
    path: str,
    name: str | None = None,
    format: str | None = None,
    container: str | None = None,
    stage: str | None = None,
) -> formats.Read:
    """What a file, or "-", sets. Raises UserError as ``reading.text_in`` and ``formats.read``."""
    text = taking.text_in(path)
    file = "" if taking.is_stream(path) else path
    return formats.read(text, format, name or taking.stem(path), file, container, stage)
