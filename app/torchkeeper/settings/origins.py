"""Where the value of a setting comes from: what is told of it, and what is wrong with that."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple, cast

from torchkeeper.artifacts.masking import brief
from torchkeeper.settings import known, masks, rules
from torchkeeper.settings.assigned import CHIEF
from torchkeeper.settings.finding import About, Finding
from torchkeeper.settings.shapes import OriginTold

#: By what a value is as it is: a variable of the environment; nothing, so that it is what this
#: version of torch has; a program's own code; this torch has no such setting; nobody can tell.
BYS = ("variable", "default", "code", "absent", "unknown")
#: Characters that are told of a value, more than a profile may have, of one that code sets besides,
#: of all values together, for they go over the wire in one line, and of a value in a finding.
_MAX_TEXT, _MAX_OTHER, _MAX_ALL, _MAX_FOUND = 32 << 10, 400, 600 << 10, 200
FOLDER = "TORCHINDUCTOR_CACHE_DIR"


@dataclass(frozen=True)
class Override:
    """Something in code that sets a setting. where: file and line, as "serve.py:12". how: one of
    assigned.HOWS. value: None for none, without a password; computed: what it comes to is not to be
    seen. wins: whether it counts, None where that depends on what the program does.
    """

    where: str
    how: str
    value: str | None
    computed: bool
    wins: bool | None


@dataclass(frozen=True)
class Origin:
    """The value of a setting, and what made it so. name: the setting's. value: as its variable
    would have it, None for none; a password is never in it. by: one of BYS. variable: which
    decides, of those that mean the same; "" where none is set. where: in which file and line code
    sets it, "" where that is not known or not so. computed: code sets it, and what it comes to is
    not to be seen. sure: whether it is certain to be so; where it is not, otherwise is the value
    that it has unless code sets it. seen: the file by which it is known that another folder is
    used, "" for none. overrides: all that code does about it. cut: the value is longer than told.
    """

    name: str
    value: str | None
    by: str
    variable: str = ""
    where: str = ""
    computed: bool = False
    sure: bool = True
    seen: str = ""
    overrides: tuple[Override, ...] = ()
    otherwise: str | None = None
    cut: bool = False

    def to_json(self) -> OriginTold:
        return cast("OriginTold", asdict(self))


class Versions(NamedTuple):
    """Of torch and Triton, None for what is not there or not known."""

    torch: str | None
    triton: str | None

    def of(self, setting: known.Setting) -> str | None:
        """The version that a setting's defaults are of."""
        return self.triton if setting.source.startswith("triton/") else self.torch


def written(value: object) -> str | None:
    """A value in Python as the variable would have it, None for none."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "1" if value else "0"
    return f"{value.__module__}:{value.__qualname__}" if isinstance(value, type) else str(value)


def shown(setting: known.Setting, text: str | None) -> str | None:
    """A value without its password."""
    return masks.shown(setting.name, text) if text else text


def comes_to(setting: known.Setting, text: str | None, version: str | None) -> str | None:
    """What a text comes to, as a text; one that cannot be read is left as it is."""
    try:
        return written(known.value(setting, text, version))
    except ValueError:
        return text


def fitting(found: Sequence[Origin]) -> list[Origin]:
    """The same, with what is too long cut, so that all of it goes over the wire in one line.
    Passwords are hidden by now: of a text that was cut nobody could tell where one is.
    """
    most, made = _MAX_TEXT, list(found)
    while True:
        made = [_cut(one, most) for one in made]
        size = sum(len(json.dumps(one.to_json())) for one in made)
        if size <= _MAX_ALL or most < 50:
            return made
        most //= 2


def _cut(one: Origin, most: int) -> Origin:
    few = min(most, _MAX_OTHER)
    others = tuple(
        replace(other, value=f"{other.value[:few]}…")
        if other.value and len(other.value) > few + 1
        else other
        for other in one.overrides
    )
    value, otherwise = (text and text[:most] for text in (one.value, one.otherwise))
    cut = one.cut or len(one.value or "") > most
    return replace(one, value=value, otherwise=otherwise, overrides=others, cut=cut)


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


def findings(env: Mapping[str, str], found: list[Origin], about: About) -> list[Finding]:
    """What is wrong with the settings as they are, those that code sets among them: of these the
    parameter ``set_by`` says where, and no variable mends it. env: what it was started with.
    """
    texts = {name: env[name] for name in known.BY_NAME if name in env}
    versions = Versions(about.torch, about.triton)
    told: list[Finding] = []
    for one in found:
        if one.name != CHIEF[one.name]:
            continue
        lost = [other for other in one.overrides if other.wins is False]
        certain = one.by == "code" and one.sure and not one.computed
        setting = known.BY_NAME[one.name]
        # What the variable by itself comes to.
        itself = shown(setting, comes_to(setting, env.get(one.variable), versions.of(setting)))
        if certain and one.variable and one.value != itself:
            told.append(Finding("setting-overridden", "advice", (one.variable,), params=_told(one)))
        elif one.by == "variable" and lost:
            first = {**_told(one), "where": lost[0].where}
            told.append(Finding("setting-forced", "advice", (one.variable,), params=first))
        if certain and not masks.is_masked(one.name, one.value or ""):
            for other in setting.same or (one.name,):
                texts.pop(other, None)
            if one.value is not None:
                texts[one.name] = one.value
    # Of what is not to be seen nothing is said.
    unknown = {one.name for one in found if one.computed or (one.by == "unknown" and not one.value)}
    checked = [one for one in rules.check(texts, about) if not unknown.intersection(one.settings)]
    code = {one.name: one.where or one.seen for one in found if one.by == "code"}
    for at, one_found in enumerate(checked):
        if where := next((code[name] for name in one_found.settings if code.get(name)), None):
            params = {**one_found.params, "set_by": where}
            checked[at] = replace(one_found, params=params, change={})
    return checked + told


def _told(one: Origin) -> dict[str, str]:
    # An address may be anywhere by mistake.
    value = "none" if one.value is None else brief(one.value, _MAX_FOUND)
    where = one.where or one.seen
    return {"name": one.name, "variable": one.variable, "value": value, "where": where}
