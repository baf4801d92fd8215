"""A profile given to a process: its environment has exactly the profile's settings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from torchkeeper.client.profiles.profile import Profile
from torchkeeper.client.words import say
from torchkeeper.client.words.findingwords import said
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.settings.applied import applied
from torchkeeper.settings.finding import Finding
from torchkeeper.settings.known import BY_NAME, on
from torchkeeper.settings.rules import About, check

if TYPE_CHECKING:
    from torchkeeper.warm.shapes import SentRecipe

_FOLDERS = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
_OFF = "TORCHINDUCTOR_FORCE_DISABLE_CACHES"


def environment(profile: Profile, env: Mapping[str, str]) -> dict[str, str]:
    """An environment with the profile's settings, and no other that is described
    (``settings.applied.applied``).
    """
    return applied(profile.values, env)


def sent(profile: Profile) -> dict[str, str]:
    """Its settings as an engine is to have them (``settings`` of ``warm`` and ``verify``): a folder
    is meant from where the user is, and an engine is elsewhere.
    """
    return {
        name: os.path.abspath(text) if text and BY_NAME[name].type == "folder" else text
        for name, text in profile.values.items()
    }


def allowed(profile: Profile, about: About | None = None, insist: bool = False) -> list[Finding]:
    """What is wrong with a profile that is to be used all the same, the worst first.

    Raises UserError("profile-refused") where there are errors, unless with ``insist``.
    """
    found = check(profile.values, about)
    errors = [said(one) for one in found if one.severity == "error"]
    if not errors or insist:
        return found
    what = tr(
        "The profile “{name}” is not used: something in it is wrong.", name=printable(profile.name)
    )
    why = "\n".join(part for one in errors for part in (one.what, one.why, one.remedy) if part)
    raise UserError(
        what, why, tr("Correct it, or use it all the same with --insist."), code="profile-refused",
        params={"profile": profile.name},
    )  # fmt: skip


def check_caches(profile: Profile, version: str | None = None) -> None:
    """Raises UserError("profile-without-caches") where nothing that is compiled would be kept."""
    off = on(profile.values, _OFF, version)
    if off or not on(profile.values, "TORCHINDUCTOR_FX_GRAPH_CACHE", version):
        name = _OFF if off else "TORCHINDUCTOR_FX_GRAPH_CACHE"
        raise user_error("profile-without-caches", {"profile": profile.name, "name": name})


def moved(profile: Profile, into: str) -> list[str]:
    """Sentences on the folders of a profile that a place which was asked for takes the place of."""
    place = os.path.abspath(into)
    sentences = []
    for name in _FOLDERS:
        text = profile.values.get(name)
        inside = text and os.path.abspath(text).startswith(place.rstrip("/") + "/")
        if text and os.path.abspath(text) != place and not (name == _FOLDERS[1] and inside):
            sentences.append(
                tr(
                    "The folder is {place}, as you said, and not {name} of the profile, {folder}.",
                    place=printable(place),
                    name=name,
                    folder=printable(text),
                )
            )
    return sentences


def overruled(profile: Profile, recipes: Iterable[str | SentRecipe]) -> list[str]:
    """Sentences on the settings that recipes, as ``recipes.wire`` has them, say otherwise: theirs
    count, because they are part of what is compiled.
    """
    sentences = []
    for recipe in recipes:
        if isinstance(recipe, str):
            continue
        own = recipe["data"].get("environment", {})
        names = [name for name in own if name in BY_NAME and own[name] != profile.values.get(name)]
        if names:
            who = printable(recipe["name"])
            sentences.append(
                tr(
                    "{recipe} sets {names} itself: that counts there.",
                    recipe=who,
                    names=say.together(names),
                )
            )
    return sentences
