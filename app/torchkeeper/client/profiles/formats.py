"""What profiles are written as for others, and read from: sh, .env, Dockerfile, Kubernetes; and the
profile that a user means, one of his own by its name, or a file of any of these by its path.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from torchkeeper.client.profiles import dockerfile, dotenv, keeping, kubernetes, shell
from torchkeeper.client.profiles import profile as profiles
from torchkeeper.client.profiles import taking as reading
from torchkeeper.client.profiles.profile import Profile, checked, name_fault
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable, user_error
from torchkeeper.client.words.tongue import Nouns, Text, several, tr
from torchkeeper.settings.known import BY_NAME

#: For sh to source; for Compose and its like; lines of a Dockerfile; the env of a container.
FORMATS = ("sh", "env", "dockerfile", "kubernetes")
#: What a file of each is called, where it is one by itself.
FILES = {
    "sh": "{name}.sh", "env": "{name}.env", "dockerfile": "{name}.Dockerfile",
    "kubernetes": "{name}.yaml",
}  # fmt: skip
_STAYS: dict[str, Text] = {
    "env": "A .env file takes nothing away: what is set already and is not here, stays.",
    "dockerfile": "A Dockerfile takes nothing away: what the base image sets and is not here, "
    "stays.",
    "kubernetes": "It takes nothing away: what the image sets and is not here, stays.",
}

_PASSWORDS: Nouns = (
    "{names} has a password in it: keep this text as one.",
    "{names} have passwords in them: keep this text as one.",
)
_TAKEN_FROM: Text = (
    "{names} comes from the Secret {secret}: {command}, whose content is the value without a "
    "newline."
)


class Read(NamedTuple):
    """What a text came to. left: (what was not taken, why, as a clause), settings first. others:
    the texts of variables that are no settings. unclear: what is set there, to nobody knows what,
    and why: variables, and what sets some that are not named.
    """

    profile: Profile
    left: list[tuple[str, str]]
    others: Mapping[str, str] = MappingProxyType({})
    unclear: Mapping[str, str] = MappingProxyType({})

    @property
    def untold(self) -> list[tuple[str, str]]:
        """What is left of the settings, or may have some in it."""
        return [(name, why) for name, why in self.left if why != reading.no_setting()]

    def check_told(self, file: str) -> None:
        """Raises UserError("profile-nothing-told") where settings are there and none was taken."""
        if not self.profile.values and self.untold:
            name, why = self.untold[0]
            raise user_error("profile-nothing-told", {"file": file, "name": name, "why": why})


def write(profile: Profile, format: str, secret: str | None = None) -> str:
    """A profile as a text of a format, its passwords with it. secret: for kubernetes, NAME/KEY of
    the Secret to take them from. Raises UserError("profile-text-uncarried" | "secret-name" |
    "profile-no-password") and as ``profile.checked``.
    """
    checked(profile)
    name = printable(profile.name)
    said = [tr("Torchkeeper: the profile “{name}” for the caches of PyTorch.", name=name)]
    said += [f"  {printable(line)}" for line in profile.about.splitlines() if line.strip()]
    said += notes(profile, format, secret)
    if format == "kubernetes":
        return kubernetes.write(profile, said, secret)
    writers = {"sh": shell.write, "env": dotenv.write, "dockerfile": dockerfile.write}
    return writers[format](profile, said)


def notes(profile: Profile, format: str, secret: str | None = None) -> list[str]:
    """Sentences on what whoever uses such a text should know."""
    said = []
    if format in _STAYS and profiles.left_open(profile):
        said.append(tr(_STAYS[format]))
    if names := profiles.with_password(profile):
        some = say.together(names)
        if secret is None:
            return [*said, several(len(names), *_PASSWORDS, names=some)]
        name, _, key = map(printable, secret.partition("/"))
        command = f"kubectl create secret generic {name} --from-file={key}=FILE"
        said.append(tr(_TAKEN_FROM, names=some, secret=name, command=command))
    return said


def read(
    text: str,
    format: str | None,
    name: str,
    file: str = "",
    container: str | None = None,
    stage: str | None = None,
) -> Read:
    """The described settings of a text, as a profile under this name. format: one of FORMATS,
    "toml", or None to guess it, by the name of its ``file``, too. container, stage, and what it
    raises: as the ``read`` of each format, and ``keeping.parsed``.
    """
    format = format or reading.guess(text, file)
    if format == "toml":
        return Read(keeping.parsed(text, name, file or name), [])
    if format == "sh":
        taking = shell.read(text)
    elif format == "env":
        taking = dotenv.read(text)
    elif format == "dockerfile":
        taking = dockerfile.read(text, stage)
    else:
        taking = kubernetes.read(text, container)
    left = sorted(taking.left.items(), key=lambda one: one[0] not in BY_NAME)
    return Read(checked(Profile(name, taking.values)), left, taking.others, taking.whys)


def is_file(named: str) -> bool:
    """Whether it is a path: it has a slash or .toml; or it is no profile's name, and that of a file
    that is there, or as files of a format are called.
    """
    if "/" in named or named.lower().endswith(keeping.SUFFIX):
        return True
    if not name_fault(named) and named in keeping.names():
        return False
    return bool(reading.format_of(named)) or named.startswith(".") or os.path.isfile(named)


def chosen(named: str) -> Profile:
    """The profile of a name or file. Raises UserError as ``found``, "profile-nothing-told"."""
    told = found(named)
    told.check_told(named)
    return told.profile


def found(named: str, container: str | None = None, stage: str | None = None) -> Read:
    """A profile by name, or what a file or "-" sets. Raises as ``keeping.load``, ``read_any``."""
    if named == reading.STDIN or is_file(named):
        return read_any(named, container=container, stage=stage)
    return Read(keeping.load(named), [])


def read_any(
    path: str,
    name: str | None = None,
    format: str | None = None,
    container: str | None = None,
    stage: str | None = None,
) -> Read:
    """What a file, or "-", sets. Raises UserError as ``reading.text_in`` and ``read``."""
    text = reading.text_in(path)
    file = "" if reading.is_stream(path) else path
    return read(text, format, name or reading.stem(path), file, container, stage)
