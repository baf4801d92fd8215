"""Profiles in files: those of the user by name, one TOML file each, and others by their path. A
file has ``about``, which may be missing, and the table ``[settings]`` with texts by variable. A
damaged one is never taken for another, and never written over by what was not read from it.
"""

from __future__ import annotations

import contextlib
import functools
import os
import tomllib
from collections.abc import Mapping
from typing import Any

from torchkeeper.client.kept import whole
from torchkeeper.client.profiles import profile as profiles
from torchkeeper.client.profiles.profile import Profile, checked, name_fault
from torchkeeper.client.recipes.toml import Lines, text_of
from torchkeeper.client.words.problems import failing_as, printable, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.settings.known import BY_NAME

MOST_BYTES = 256 << 10
SUFFIX = ".toml"
_COMMENT = "A profile of Torchkeeper: settings of PyTorch's caches, all others are left to PyTorch."


def folder() -> str:
    from platformdirs import user_config_dir

    return os.path.join(user_config_dir("torchkeeper"), "profiles")


def file_of(name: str) -> str:
    """The file of the user's profile of this name. Raises UserError("profile-name")."""
    return os.path.join(folder(), f"{profiles.check_name(name)}{SUFFIX}")


def names() -> list[str]:
    """The names of the profiles, damaged ones too. Raises UserError("profiles-unreadable")."""
    with failing_as("profiles-unreadable", folder=folder()), contextlib.suppress(FileNotFoundError):
        files = os.listdir(folder())
        stems = (file.removesuffix(SUFFIX) for file in files if file.endswith(SUFFIX))
        return sorted((one for one in stems if not name_fault(one)), key=lambda n: (n.lower(), n))
    return []


def load(name: str) -> Profile:
    """The user's profile. Raises UserError("profile-name" | "profile-unknown" | …)."""
    path = file_of(name)
    if not os.path.lexists(path):
        raise user_error("profile-unknown", {"name": name})
    return read_file(path)


def read_file(path: str) -> Profile:
    """The profile in a file. Raises UserError("profile-unreadable" | "profile-damaged")."""
    try:
        with failing_as("profile-unreadable", file=path):
            text = whole.read(path, MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _damaged(path, tr("It is not UTF-8")) from None
    return parsed(text, os.path.splitext(os.path.basename(path))[0], path)


def parsed(text: str, name: str, path: str) -> Profile:
    """The profile of a TOML text. path: what messages call it. Raises as ``read_file``."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise _damaged(path, tr("It is not TOML: {why}", why=printable(str(e)))) from e
    except (RecursionError, ValueError) as e:
        raise _damaged(path, tr("It is not TOML that anybody would write")) from e
    if fault := _fault(data):
        where, why = fault
        line, _ = Lines(text).of(where)
        raise _damaged(path, tr("Line {line}: {why}", line=str(line), why=why))
    return checked(Profile(name, dict(data.get("settings", {})), str(data.get("about", ""))))


def _fault(data: Mapping[str, Any]) -> tuple[tuple[str, ...], str] | None:
    for key, value in data.items():
        if key not in ("about", "settings"):
            return (key,), tr("{key} is nothing that a profile has", key=printable(key, 80))
        if key == "about" and not isinstance(value, str):
            return (key,), tr("about is not a text in quotes")
        if key == "settings" and not isinstance(value, dict):
            return (key,), tr("settings is not a table, [settings]")
    for name, value in data.get("settings", {}).items():
        where, shown = ("settings", name), printable(name, 80)
        if name not in BY_NAME:
            return where, tr("{name} is no setting that is known here", name=shown)
        if not isinstance(value, str):
            return where, tr('{name} is not a text in quotes, such as "1"', name=name)
    return None


def _damaged(path: str, why: str) -> Exception:
    return user_error("profile-damaged", {"file": path, "why": why})


def text_for(profile: Profile) -> str:
    data: dict[str, object] = {"about": profile.about} if profile.about else {}
    return text_of({**data, "settings": dict(profile.values)}, _COMMENT)


_writing = functools.partial(failing_as, "profile-unwritable")


def save(profile: Profile, replace: bool = True) -> str:
    """Keep a profile under its name, at once or not at all; returns its file, which only the user
    can read. Raises UserError("profile-name" | "profile-unwritable"), without ``replace``
    "profile-exists", and as ``profile.checked``.
    """
    path = file_of(checked(profile).name)
    with _writing(file=path):
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        try:
            whole.write_text(path, text_for(profile), 0o600, replace)
        except FileExistsError as e:
            raise user_error("profile-exists", {"name": profile.name}) from e
    return path


def save_file(profile: Profile, path: str) -> None:
    """Keep it in a file of the user's. Raises UserError("profile-unwritable"), as ``checked``."""
    text = text_for(checked(profile))
    with _writing(file=path):
        whole.write_text(path, text, mode_of(path, bool(profiles.with_password(profile))))


def mode_of(path: str, secret: bool) -> int:
    """A file's permissions: its own, but the owner's alone if new or secret. Raises OSError."""
    try:
        mode = os.stat(path).st_mode & 0o777
    except FileNotFoundError:
        return 0o600
    return mode & 0o700 if secret else mode


def remove(name: str) -> None:
    """Remove the user's profile. Raises UserError("profile-unknown" | "profile-unwritable")."""
    path = file_of(name)
    with _writing(file=path):
        try:
            os.unlink(path)
        except FileNotFoundError as e:
            raise user_error("profile-unknown", {"name": name}) from e


def rename(old: str, new: str) -> None:
    """Give it another name; its file stays as it is. Raises as ``load`` and ``save``."""
    source, target = file_of(old), file_of(new)
    try:
        if not os.path.lexists(source):
            raise user_error("profile-unknown", {"name": old})
        try:
            # Unlike a rename, a link never replaces what has come meanwhile.
            os.link(source, target, follow_symlinks=False)
        except FileExistsError:
            raise
        except OSError:
            if os.path.lexists(target):
                raise FileExistsError from None
            os.rename(source, target)  # a file system that has no links
            return
        with contextlib.suppress(FileNotFoundError):
            os.unlink(source)
    except FileExistsError as e:
        raise user_error("profile-exists", {"name": new}) from e
    except OSError as e:
        raise user_error("profile-unwritable", {"file": source, "why": e.strerror or str(e)}) from e
