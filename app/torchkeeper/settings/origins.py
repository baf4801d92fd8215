"""Where the value of each setting comes from in this interpreter, as torch and Triton hold it."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from torchkeeper.artifacts import masking
from torchkeeper.artifacts.entry import Problem
from torchkeeper.settings import rules, values
from torchkeeper.settings.assigned import CHIEF, Unreadable, look
from torchkeeper.settings.finding import Finding
from torchkeeper.settings.known import BY_NAME, SETTINGS
from torchkeeper.settings.setting import Setting
from torchkeeper.stores import places, processes

#: By what a value is as it is: a variable of the environment; nothing, so that it is what this
#: version of torch has; a program's own code; this torch has no such setting; nobody can tell.
BYS = ("variable", "default", "code", "absent", "unknown")
_MAX_TEXT = 400
_FOLDER = "TORCHINDUCTOR_CACHE_DIR"
#: What Python runs before any program (site.py).
_STARTS = ("sitecustomize", "usercustomize")


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
    code sets it, and what it comes to is not to be seen. sure: whether it is certain to be so.
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
    return masking.address(text) if text and setting.secret else text


def comes_to(setting: Setting, text: str | None, version: str | None) -> str | None:
    """What a text comes to, as a text; one that cannot be read is left as it is."""
    try:
        return written(values.value(setting, text, version))
    except ValueError:
        return text and text[:_MAX_TEXT]


def settings() -> dict[str, Any]:
    """Of each setting its Origin here; with findings. Imports torch.

    {settings: [Origin as JSON], torch, triton: versions or null, findings: [Finding as JSON]}.
    Raises Problem("environment-no-torch").
    """
    started = _started()
    versions = _versions()
    if versions.torch is None:
        raise Problem("environment-no-torch", python=sys.executable)
    reading = _Reading(started, versions)
    found = [reading.origin(setting) for setting in SETTINGS]
    found = with_kernels(found)
    told = findings(started, found, _about(versions))
    return {
        "settings": [one.to_json() for one in found],
        "torch": versions.torch,
        "triton": versions.triton,
        "findings": [one.to_json() for one in told],
    }


def with_kernels(found: list[Origin]) -> list[Origin]:
    """The same, with the folder of Triton's kernels that torch.compile uses without a variable
    (triton_cache_dir in torch/_inductor/runtime/cache_dir_utils.py); Triton alone has another.
    """
    folder = next((one.value for one in found if one.name == _FOLDER), None)
    return [
        replace(one, value=os.path.join(folder, "triton"))
        if one.name == "TRITON_CACHE_DIR" and one.by == "default" and folder
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
    return rules.check(texts, about) + told


def _set_to(one: Origin, env: Mapping[str, str], versions: Versions) -> str | None:
    """What the variable by itself comes to."""
    setting = BY_NAME[one.name]
    return shown(setting, comes_to(setting, env.get(one.variable), versions.of(setting)))


def _told(one: Origin) -> dict[str, Any]:
    where, value = one.where or one.seen, "none" if one.value is None else one.value
    return {"name": one.name, "variable": one.variable, "value": value, "where": where}


def _started() -> dict[str, str]:
    """The environment that this process was started with."""
    try:
        return processes.environment(os.getpid())
    except OSError:
        return dict(os.environ)  # not to be known on this system


def _versions() -> Versions:
    found: list[str | None] = []
    for name in ("torch", "triton"):
        version = None
        with contextlib.suppress(Exception):  # a broken install may raise anything
            if importlib.util.find_spec(name) is not None:
                version = getattr(importlib.import_module(name), "__version__", None)
        found.append(None if version is None else str(version))
    return Versions(*found)


def _about(versions: Versions) -> rules.About:
    gpu = None
    with contextlib.suppress(Exception):
        import torch  # noqa: TID251

        gpu = bool(torch.cuda.is_available())
    redis = importlib.util.find_spec("redis") is not None
    return rules.About(torch=versions.torch, triton=versions.triton, gpu=gpu, redis=redis)


class _Missing(Exception):
    """This torch has no such attribute."""


class _Broken(Exception):
    """The module that holds it cannot be imported: one of its variables is wrong, most likely."""


class _Reading:
    """Reads the settings of this process."""

    def __init__(self, started: Mapping[str, str], versions: Versions) -> None:
        self._started = started
        self._versions = versions
        self._set = dict(_in_starts())

    def origin(self, setting: Setting) -> Origin:
        """Where the value of a setting comes from."""
        version = self._versions.of(setting)
        if not values.there(setting, version) or version is None:
            return Origin(setting.name, None, "absent")
        variable = values.decides(os.environ, setting.name, version)
        before = values.decides(self._started, setting.name, version)
        if setting.config:
            try:
                by, value = self._held(setting, variable)
            except _Missing:
                return Origin(setting.name, None, "absent")
        else:
            by, value = self._from_environment(setting, variable)
        if by in ("variable", "default") and not self._unchanged(variable, before, by):
            by = "code"
        return Origin(
            setting.name,
            shown(setting, value),
            by,
            (before if by == "code" else variable if by == "variable" else None) or "",
            self._set.get(CHIEF[setting.name], "") if by == "code" else "",
        )

    def _unchanged(self, variable: str | None, before: str | None, by: str) -> bool:
        """Whether the variable is as it was when this process was started."""
        now = os.environ.get(variable) if variable else None
        then = self._started.get(before) if before else None
        if variable == _FOLDER and now is not None:
            # torch writes down what it found, as an absolute path (cache_dir in
            # torch/_inductor/runtime/cache_dir_utils.py).
            return by == "default" if then is None else now in (then, os.path.abspath(then))
        return variable == before and now == then

    def _from_environment(self, setting: Setting, variable: str | None) -> tuple[str, str | None]:
        """Of what is read only from a variable, whenever it is needed."""
        text = os.environ.get(variable) if variable else None
        version = self._versions.of(setting)
        if setting.name == _FOLDER and self._started.get(_FOLDER) is None:
            folder = places.default_folder()
            if text in (None, folder):
                return "default", folder
        return ("variable" if variable else "default"), comes_to(setting, text, version)

    def _held(self, setting: Setting, variable: str | None) -> tuple[str, str | None]:
        """Of what torch or Triton holds as an attribute. Raises _Missing."""
        text = os.environ.get(variable) if variable else None
        version = self._versions.of(setting)
        try:
            holder, name = _holder(setting.config)
        except _Broken:
            return ("variable" if variable else "unknown"), comes_to(setting, text, version)
        try:
            live = getattr(holder, name)
        except AttributeError:
            raise _Missing from None
        except Exception:  # noqa: BLE001  # Triton reads the variable now, and fails as a program would
            return ("variable" if variable else "unknown"), text
        if setting.type in ("switch", "tristate") and live is not None:
            live = bool(live)
        value = written(live)
        entry = _entry(holder, name)
        if entry is not None:
            return _by_entry(entry, variable, comes_to(setting, text, version), value), value
        if name in vars(holder):
            return "code", value  # one of Triton's, set
        return ("variable" if variable else "default"), value


def _holder(config: str) -> tuple[Any, str]:
    """The object that holds an attribute, and its name there. Raises _Missing and _Broken."""
    parts = config.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            holder: Any = importlib.import_module(".".join(parts[:count]))
        except ImportError:
            continue
        except Exception as e:  # what is broken raises anything
            raise _Broken from e
        try:
            for part in parts[count:-1]:
                holder = getattr(holder, part)
        except AttributeError:
            break
        return holder, parts[-1]
    raise _Missing


def _entry(holder: Any, name: str) -> Any:
    """What torch keeps about an attribute of a configuration (_ConfigEntry in
    torch/utils/_config_module.py), that of what it is an alias for; None where it keeps nothing.
    """
    for _ in range(5):
        config = vars(holder).get("_config")
        entry = config.get(name) if isinstance(config, dict) else None
        alias = getattr(entry, "alias", None)
        if not alias:
            return entry
        try:
            holder, name = _holder(alias)
        except (_Missing, _Broken):
            return None
    return None


def _by_entry(entry: Any, variable: str | None, expected: str | None, value: str | None) -> str:
    """What decides an attribute. expected: what the variables of now come to; value: what it is."""
    unset = _unset()
    if getattr(entry, "env_value_force", unset) is not unset:
        return "variable" if variable else "code"
    override = getattr(entry, "user_override", unset)
    if isinstance(override, ContextVar):  # as in 2.13; in 2.9 and 2.11 it is there as it is
        override = override.get(unset)
    # A list that somebody has looked at is one of its own, and no other for that.
    if override is not unset and override != getattr(entry, "default", unset):
        return "code"
    if override is not unset and not isinstance(override, (list, set, dict)):
        return "code"
    if getattr(entry, "env_value_default", unset) is not unset:
        return "variable" if variable else "code"
    if variable:
        # Read by hand as torch was imported, and what came of it is the default.
        return "variable" if value == expected else "unknown"
    return "default"


def _unset() -> object:
    """What torch has in place of a value where there is none."""
    with contextlib.suppress(Exception):
        module = importlib.import_module("torch.utils._config_module")
        return getattr(module, "_UNSET_SENTINEL", None)
    return None


def _in_starts() -> Iterator[tuple[str, str]]:
    """(setting, "file:line") of what the code sets that Python runs before any program."""
    for name in _STARTS:
        path = getattr(sys.modules.get(name), "__file__", None)
        if not isinstance(path, str):
            continue
        try:
            with open(path, "rb") as stream:
                source = look(stream.read(1 << 20))
        except (OSError, Unreadable):
            continue
        for one in source.assigned:
            yield one.name, f"{path}:{one.line}"
