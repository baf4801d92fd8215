"""Where the value of a setting comes from: what is told of it, and what is wrong with that."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from torchkeeper.settings import masks, rules, values
from torchkeeper.settings.assigned import CHIEF
from torchkeeper.settings.finding import Finding
from torchkeeper.settings.known import BY_NAME
from torchkeeper.settings.setting import Setting

#: By what a value is as it is: a variable of the environment; nothing, so that it is what this
#: version of torch has; a program's own code; this torch has no such setting; nobody can tell.
BYS = ("variable", "default", "code", "absent", "unknown")
_MAX_TEXT = 400
FOLDER = "TORCHINDUCTOR_CACHE_DIR"


@dataclass(frozen=True)
class Override:
    """Something in code that sets a setting.

    where: file and line, as "serve.py:12". how: one of assigned.HOWS. value: None for none, without
    a password; computed: what it comes to is not to be seen. wins: whether it counts, None where
    that depends on what the program does.
    """

    where: str
    how: str
    value: str | None
    computed: bool
    wins: bool | None


@dataclass(frozen=True)
class Origin:
    """The value of a setting, and what made it so.

    name: the setting's. value: as its variable would have it, None for none; a password is never
    in it. by: one of BYS. variable: which decides, of those that mean the same; "" where none is
    set. where: in which file and line code sets it, "" where that is not known or not so. computed:
    code sets it, and what it comes to is not to be seen. sure: whether it is certain to be so;
    where it is not, otherwise is the value that it has unless code sets it.
    seen: the file by which it is known that another folder is used, "" for none. overrides: all
    that was found in code about it.
    """

    name: str
    value: str | None
    by: str
    variable: str = ""
    where: str = ""
    computed: bool = False
    sure: bool = True
    seen: str = ""
    overrides: tuple[Override, ...] = field(default=())
    otherwise: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As it goes over the wire."""
        return asdict(self)


@dataclass(frozen=True)
class Versions:
    """Of torch and Triton, None for what is not there or not known."""

    torch: str | None
    triton: str | None

    def of(self, setting: Setting) -> str | None:
        """The version that a setting's defaults are of."""
        return self.triton if setting.source.startswith("triton/") else self.torch


def written(value: object) -> str | None:
    """A value in Python as the variable would have it, None for none."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, type):
        return f"{value.__module__}:{value.__qualname__}"
    return str(value)[:_MAX_TEXT]


def shown(setting: Setting, text: str | None) -> str | None:
    """A value without its password."""
    return masks.shown(setting.name, text) if text else text


def comes_to(setting: Setting, text: str | None, version: str | None) -> str | None:
    """What a text comes to, as a text; one that cannot be read is left as it is."""
    try:
        return written(values.value(setting, text, version))
    except ValueError:
        return text and text[:_MAX_TEXT]


def with_kernels(found: list[Origin]) -> list[Origin]:
    """The same, with the folder of Triton's kernels that torch.compile uses without a variable
    (triton_cache_dir in torch/_inductor/runtime/cache_dir_utils.py); Triton alone has another.
    """
    folder = next((one for one in found if one.name == FOLDER), None)
    if folder is None or folder.value is None:
        return found
    below = [value and os.path.join(value, "triton") for value in (folder.value, folder.otherwise)]
    return [
        replace(one, value=below[0], sure=folder.sure, otherwise=below[1])
        if one.name == "TRITON_CACHE_DIR" and one.by == "default"
        else one
        for one in found
    ]


def findings(env: Mapping[str, str], found: list[Origin], about: rules.About) -> list[Finding]:
    """What is wrong with the settings as they are, those that code sets among them.

    env: what it was started with.
    """
    texts = {name: env[name] for name in BY_NAME if name in env}
    versions = Versions(about.torch, about.triton)
    told: list[Finding] = []
    for one in found:
        if one.name != CHIEF[one.name]:
            continue
        lost = [other for other in one.overrides if other.wins is False]
        certain = one.by == "code" and one.sure and not one.computed
        if certain and one.variable and one.value != _set_to(one, env, versions):
            told.append(Finding("setting-overridden", "advice", (one.variable,), params=_told(one)))
        elif one.by == "variable" and lost:
            first = {**_told(one), "where": lost[0].where}
            told.append(Finding("setting-forced", "advice", (one.variable,), params=first))
        if certain and not BY_NAME[one.name].secret:
            for other in BY_NAME[one.name].same or (one.name,):
                texts.pop(other, None)
            if one.value is not None:
                texts[one.name] = one.value
    # Of what is not to be seen nothing is said.
    unknown = {one.name for one in found if one.computed or (one.by == "unknown" and not one.value)}
    checked = [one for one in rules.check(texts, about) if not unknown.intersection(one.settings)]
    return checked + told


def _set_to(one: Origin, env: Mapping[str, str], versions: Versions) -> str | None:
    """What the variable by itself comes to."""
    setting = BY_NAME[one.name]
    return shown(setting, comes_to(setting, env.get(one.variable), versions.of(setting)))


def _told(one: Origin) -> dict[str, Any]:
    where, value = one.where or one.seen, "none" if one.value is None else one.value
    return {"name": one.name, "variable": one.variable, "value": value, "where": where}
