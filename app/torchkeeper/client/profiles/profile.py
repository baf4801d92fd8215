"""A profile: a name, and the settings that a process is to have, and no others; and the environment
of a process that is given one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torchkeeper.client.words import say
from torchkeeper.client.words.findingwords import said
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.client.words.tongue import Text, tr
from torchkeeper.settings.finding import About, Finding
from torchkeeper.settings.known import BY_NAME, SETTINGS, on
from torchkeeper.settings.masks import SHARED, has_password, shown
from torchkeeper.settings.rules import check
from torchkeeper.settings.texts import meant_by
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.ssh import parse

if TYPE_CHECKING:
    from torchkeeper.warm.shapes import SentRecipe

#: Characters of a name, bytes of a value, characters of what is said about a profile.
MOST_NAME, MOST_VALUE, MOST_ABOUT = 64, 32 << 10, 4000


@dataclass(frozen=True)
class Profile:
    """Settings under a name. values: texts by variable, of ``settings.known``; all others of these
    are left to PyTorch, and taken from a process that gets the profile, but for those that other
    programs read, too (``settings.masks.SHARED``). about: what the user says of it.
    """

    name: str
    values: dict[str, str] = field(default_factory=dict)
    about: str = ""


def checked(profile: Profile) -> Profile:
    """The profile, if it can be kept and used. Raises UserError("profile-…")."""
    for name, text in profile.values.items():
        check_setting(name)
        if why := impossible(text):
            raise user_error("profile-value-impossible", {"name": name, "why": why})
    if len(profile.about) > MOST_ABOUT or impossible(profile.about):
        raise user_error("profile-about-too-long", {"most": MOST_ABOUT})
    return profile


def check_setting(name: str) -> None:
    """Raises UserError("profile-setting-unknown" | "profile-setting-misnamed")."""
    if name in BY_NAME:
        return
    if meant := meant_by(name):
        raise user_error("profile-setting-misnamed", {"name": name, "meant": meant})
    raise user_error("profile-setting-unknown", {"name": name})


def impossible(text: str) -> str:
    """Why no variable can have this text, in a clause; "" where one can."""
    if "\0" in text:
        return tr("It has a zero byte, which no variable can have")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return tr("It is not UTF-8")
    return tr("It is too long") if size > MOST_VALUE else ""


def check_name(name: str) -> str:
    """The name, under which a profile can be kept. Raises UserError("profile-name")."""
    if why := name_fault(name):
        raise user_error("profile-name", {"name": name, "why": why})
    return name


def name_fault(name: str) -> str:
    """Why this is no name for a profile, in a clause; "" where it is."""
    faults = (
        (not name.strip(), tr("It is empty")),
        (name != name.strip(), tr("It begins or ends with a space")),
        (len(name) > MOST_NAME, tr("It has more than {n} characters", n=MOST_NAME)),
        ("/" in name or "\\" in name, tr("It has a slash, which is for files")),
        (name.startswith((".", "-")), tr("It begins with “{character}”", character=name[:1])),
        (name.lower().endswith(".toml"), tr("It ends with .toml, which is for files")),
        (not name.isprintable(), tr("It has characters that cannot be shown")),
    )
    return next((why for wrong, why in faults if wrong), "")


def ordered(profile: Profile) -> list[tuple[str, str]]:
    """Its settings in the order of ``settings.known``."""
    return [(one.name, profile.values[one.name]) for one in SETTINGS if one.name in profile.values]


def left_open(profile: Profile) -> list[str]:
    """The described settings that it leaves to PyTorch, so that nobody else is to have set them."""
    names = (one.name for one in SETTINGS if one.name not in profile.values)
    return [name for name in names if name not in SHARED]


def masked(profile: Profile) -> dict[str, str]:
    """Its settings as they may be shown, in their order, without a password."""
    return {name: shown(name, text) for name, text in ordered(profile)}


def with_password(profile: Profile) -> list[str]:
    return [name for name, text in ordered(profile) if has_password(name, text)]


# A profile given to a process: its environment has exactly the profile's settings.

_FOLDERS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
_OFF, _ON = "TORCHINDUCTOR_FORCE_DISABLE_CACHES", "TORCHINDUCTOR_FX_GRAPH_CACHE"
_MOVED: Text = "The folder is {place}, as you said, and not {name} of the profile, {folder}."
_OVERRULED: Text = "{recipe} sets {names} itself: that counts there."


def check_goes(profile: Profile, machine: str) -> None:
    """Raises UserError where its settings are not for another machine: no password goes there."""
    for name, text in profile.values.items() if machine else ():
        if has_password(name, text):
            about = {"profile": profile.name, "machine": machine, "name": name}
            raise user_error("profile-password", about)
        if text and BY_NAME[name].type == "folder" and not os.path.isabs(text):
            raise user_error("path-not-absolute", {"path": text})


def sent(profile: Profile) -> dict[str, str]:
    """Its settings for an engine (``warm``, ``verify``), elsewhere: folders are absolute."""
    return {
        name: os.path.abspath(text) if text and BY_NAME[name].type == "folder" else text
        for name, text in profile.values.items()
    }


def allowed(profile: Profile, about: About | None = None, insist: bool = False) -> list[Finding]:
    """What is wrong, the worst first. Raises UserError("profile-refused") without ``insist``."""
    found = check(profile.values, about)
    errors = [said(one) for one in found if one.severity == "error"]
    if not errors or insist:
        return found
    name = printable(profile.name)
    what = tr("The profile “{name}” is not used: something in it is wrong.", name=name)
    why = "\n".join(part for one in errors for part in (one.what, one.why, one.remedy) if part)
    raise UserError(
        what, why, tr("Correct it, or use it all the same with --insist."), code="profile-refused",
        params={"profile": profile.name},
    )  # fmt: skip


def check_caches(profile: Profile, version: str | None = None) -> None:
    """Raises UserError("profile-without-caches") where nothing that is compiled would be kept."""
    off = on(profile.values, _OFF, version)
    if off or not on(profile.values, _ON, version):
        about = {"profile": profile.name, "name": _OFF if off else _ON}
        raise user_error("profile-without-caches", about)


def moved(profile: Profile, into: str) -> list[str]:
    """Sentences on the folders of a profile that a place which was asked for takes the place of."""
    place = parse(into).path if scheme_of(into).elsewhere else os.path.abspath(into)
    sentences = []
    for name in _FOLDERS:
        text = profile.values.get(name)
        inside = text and os.path.abspath(text).startswith(place.rstrip("/") + "/")
        if text and os.path.abspath(text) != place and not (name == _FOLDERS[1] and inside):
            shown = {"place": printable(place), "name": name, "folder": printable(text)}
            sentences.append(tr(_MOVED, **shown))
    return sentences


def overruled(profile: Profile, recipes: Iterable[str | SentRecipe]) -> list[str]:
    """Sentences on the settings that recipes say otherwise: theirs count, as part of the keys."""
    sentences = []
    for recipe in recipes:
        if isinstance(recipe, str):
            continue
        own = recipe["data"].get("environment", {})
        names = [name for name in own if name in BY_NAME and own[name] != profile.values.get(name)]
        if names:
            who = printable(recipe["name"])
            sentences.append(tr(_OVERRULED, recipe=who, names=say.together(names)))
    return sentences
