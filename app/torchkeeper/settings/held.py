"""What torch and Triton of this interpreter hold, and what made it so."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.settings import known, origins
from torchkeeper.settings.assigned import CHIEF, Unreadable, look
from torchkeeper.settings.finding import About
from torchkeeper.settings.known import SETTINGS, Setting
from torchkeeper.settings.origins import FOLDER, Origin, Versions, comes_to
from torchkeeper.settings.shapes import SettingsTold
from torchkeeper.stores import places, processes

#: What Python runs before any program (site.py).
_STARTS = ("sitecustomize", "usercustomize")


def settings() -> SettingsTold:
    """Of each setting its Origin; imports torch. Raises Problem("environment-no-torch")."""
    try:
        started = processes.environment(os.getpid())
    except OSError:
        started = dict(os.environ)  # not to be known on this system
    versions = _versions()
    if versions.torch is None:
        raise Problem("environment-no-torch", python=sys.executable)
    reading = _Reading(started, versions)
    found = origins.with_kernels([reading.origin(setting) for setting in SETTINGS])
    told = origins.findings(started, found, _about(versions))
    return {
        "settings": [one.to_json() for one in origins.fitting(found)],
        "torch": versions.torch,
        "triton": versions.triton,
        "findings": [one.to_json() for one in told],
    }


def _versions() -> Versions:
    found: list[str | None] = []
    for name in ("torch", "triton"):
        version = None
        with contextlib.suppress(Exception):  # a broken install may raise anything
            if importlib.util.find_spec(name) is not None:
                version = getattr(importlib.import_module(name), "__version__", None)
        found.append(None if version is None else str(version))
    return Versions(*found)


def _about(versions: Versions) -> About:
    gpu = None
    with contextlib.suppress(Exception):
        import torch  # noqa: TID251

        gpu = bool(torch.cuda.is_available())
    redis = importlib.util.find_spec("redis") is not None
    return About(torch=versions.torch, triton=versions.triton, gpu=gpu, redis=redis)


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
        version = self._versions.of(setting)
        if not known.there(setting, version) or version is None:
            return Origin(setting.name, None, "absent")
        variable = known.decides(os.environ, setting.name, version)
        before = known.decides(self._started, setting.name, version)
        text = os.environ.get(variable) if variable else None
        expected = comes_to(setting, text, version)
        if setting.config:
            try:
                by, value = self._held(setting, variable, text, expected)
            except _Missing:
                return Origin(setting.name, None, "absent")
        else:
            by, value = ("variable" if variable else "default"), expected
            if setting.name == FOLDER and self._started.get(FOLDER) is None:
                folder = places.default_folder()
                if text in (None, folder):
                    by, value = "default", folder
        if by in ("variable", "default") and not self._unchanged(variable, before, by):
            by = "code"
        decided = before if by == "code" else variable if by == "variable" else None
        where = self._set.get(CHIEF[setting.name], "") if by == "code" else ""
        return Origin(setting.name, origins.shown(setting, value), by, decided or "", where)

    def _unchanged(self, variable: str | None, before: str | None, by: str) -> bool:
        """Whether the variable is as it was when this process was started."""
        now = os.environ.get(variable) if variable else None
        then = self._started.get(before) if before else None
        if variable == FOLDER and now is not None:
            # torch writes down what it found, as an absolute path (cache_dir in
            # torch/_inductor/runtime/cache_dir_utils.py).
            return by == "default" if then is None else now in (then, os.path.abspath(then))
        return variable == before and now == then

    @staticmethod
    def _held(
        setting: Setting, variable: str | None, text: str | None, expected: str | None
    ) -> tuple[str, str | None]:
        """By what an attribute is as it is, and its value. Raises _Missing."""
        try:
            holder, name = _holder(setting.config)
        except _Broken:
            return ("variable" if variable else "unknown"), expected
        try:
            live = getattr(holder, name)
        except AttributeError:
            raise _Missing from None
        except Exception:  # noqa: BLE001  # Triton reads the variable now, and fails as a program would
            return ("variable" if variable else "unknown"), text
        if setting.type in ("switch", "tristate") and live is not None:
            live = bool(live)
        value = origins.written(live)
        if (entry := _entry(holder, name)) is not None:
            return _by_entry(entry, variable, expected, value), value
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
        if not (alias := getattr(entry, "alias", None)):
            return entry
        try:
            holder, name = _holder(alias)
        except (_Missing, _Broken):
            return None
    return None


def _by_entry(entry: Any, variable: str | None, expected: str | None, value: str | None) -> str:
    """What decides an attribute. expected: what the variables of now come to; value: what it is."""
    unset = None
    with contextlib.suppress(Exception):
        # What torch has in place of a value where there is none.
        module = importlib.import_module("torch.utils._config_module")
        unset = getattr(module, "_UNSET_SENTINEL", None)
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
    if not variable:
        return "default"
    # Read by hand as torch was imported, and what came of it is the default.
    return "variable" if value == expected else "unknown"


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
