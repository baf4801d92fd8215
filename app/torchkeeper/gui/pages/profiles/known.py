"""What the window knows of profiles. Everything here waits for disks, and is called in a thread
that may (``gui.background.asides``); the dataclasses are what it hands over.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypedDict

from torchkeeper.client.words.problems import UserError, user_error

if TYPE_CHECKING:
    from torchkeeper.client.profiles.profile import Profile

#: One after the other: who renames a profile and saves it then does it in that order.
_WRITING = threading.Lock()


@dataclass(frozen=True)
class Kept:
    """A profile that is kept; error: why it cannot be read."""

    name: str
    profile: Profile | None = None
    error: UserError | None = None


@dataclass(frozen=True)
class Offered:
    """What a file holds: the profile that it makes, and what is left of it: (name, why)."""

    path: str
    profile: Profile = field(repr=False)
    left: tuple[tuple[str, str], ...] = ()
    #: Whether settings are among that.
    untold: bool = False


@dataclass(frozen=True)
class Written:
    """A profile in one of the formats: the text, and how it may be seen by others."""

    text: str = field(repr=False)
    shown: str
    #: Whether a password goes along.
    secret: bool


class Sent(TypedDict):
    """What a compile is told of a profile: texts by variable, which may hold a password."""

    settings: dict[str, str]


def listed() -> list[Kept]:
    """The profiles that are kept, by name. Raises UserError."""
    from torchkeeper.client.profiles import keeping

    found = []
    for name in keeping.names():
        try:
            found.append(Kept(name, keeping.load(name)))
        except UserError as e:
            found.append(Kept(name, error=e))
    return found


def settings(name: str) -> Sent:
    """Of a profile that something is to be compiled with.

    Raises UserError, "profile-without-caches" where nothing that is compiled would be kept.
    """
    from torchkeeper.client.profiles import applying, keeping

    profile = keeping.load(name)
    applying.check_caches(profile)
    return {"settings": applying.sent(profile)}


def saved(profile: Profile, before: Profile | None, surely: bool) -> None:
    """Keep a profile. before: as it is in its file, under its name there; None
    where it has none yet. surely: whatever is in that by now.

    Raises UserError, "profile-changed" where the file is another than before.
    """
    from torchkeeper.client.profiles import keeping

    with _WRITING:
        there = keeping.names()
        if before is not None and before.name in there:
            if not surely and _is_other(before):
                raise user_error("profile-changed", {"name": before.name})
            if before.name != profile.name:
                keeping.rename(before.name, profile.name)
        keeping.save(profile, replace=before is not None)


def _is_other(before: Profile) -> bool:
    from torchkeeper.client.profiles import keeping

    try:
        return keeping.load(before.name) != before
    except UserError:
        return True


def renamed(old: str, new: str) -> None:
    """Call a profile that is kept otherwise. Raises UserError."""
    from torchkeeper.client.profiles import keeping

    with _WRITING:
        keeping.rename(old, new)


def removed(name: str) -> None:
    """Keep a profile no more. Raises UserError."""
    from torchkeeper.client.profiles import keeping

    with _WRITING:
        keeping.remove(name)


def offered(path: str, form: str = "", container: str = "") -> Offered:
    """What a file in any of the formats comes to, or a profile's own.

    form: what it is read as, "" to guess; container: whose settings, of several in a manifest.

    Raises UserError.
    """
    from torchkeeper.client.profiles.chosen import read_any

    read = read_any(path, format=form or None, container=container or None)
    return Offered(path, read.profile, tuple(read.left), bool(read.untold))


def written(profile: Profile, form: str, from_secret: str = "") -> Written:
    """A profile in a format; from_secret: NAME/KEY of the Secret of a
    cluster that has its password, "" where that goes along. Raises UserError.
    """
    from torchkeeper.client.profiles import formats
    from torchkeeper.client.profiles.profile import masked, with_password

    text = formats.write(profile, form, from_secret or None)
    secret = bool(with_password(profile)) and not from_secret
    shown = text
    if secret:
        shown = formats.write(replace(profile, values=masked(profile)), form)
    return Written(text, shown, secret)


def put(path: str, text: str, secret: bool) -> str:
    """Write an export into a file, which only the user can read where it is new, or where a
    password is in the text; its path.

    Raises UserError("profile-unwritable").
    """
    from torchkeeper.client.kept import whole
    from torchkeeper.client.profiles import keeping

    try:
        whole.write_text(path, text, keeping.mode_of(path, secret))
    except OSError as e:
        why = e.strerror or str(e)
        raise user_error("profile-unwritable", {"file": path, "why": why}) from e
    return path
