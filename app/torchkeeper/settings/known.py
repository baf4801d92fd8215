"""All the settings that steer caches, each described once; tests/settings holds it to torch."""

from __future__ import annotations

from collections.abc import Mapping

from torchkeeper.settings.setting import GROUPS, Setting
from torchkeeper.settings.table import local, remote, triton

#: In the order of a form.
SETTINGS: tuple[Setting, ...] = tuple(
    one
    for group in GROUPS
    for one in local.SETTINGS + remote.SETTINGS + triton.SETTINGS
    if one.group == group
)

BY_NAME = {one.name: one for one in SETTINGS}

#: What a setting can come to; None where it is left to PyTorch.
Value = bool | int | str | None


def default(setting: Setting, version: str | None = None) -> str | None:
    """The text that is as good as none in a version, or in the newest known."""
    known = [value for since, value in setting.defaults if at_least(version, since)]
    return known[-1] if known else setting.defaults[-1][1]


def at_least(version: str | None, other: str) -> bool:
    """Whether a version is another one or later; one that is not known is taken for late."""
    return version is None or _numbers(version) >= _numbers(other)


def there(setting: Setting, version: str | None = None) -> bool:
    """Whether a version of torch (of Triton, for Triton's settings) reads a variable at all."""
    if setting.since and not at_least(version, setting.since):
        return False
    return not (setting.until and at_least(version, setting.until))


def _numbers(version: str) -> tuple[int, ...]:
    numbers = []
    for part in version.split("+", maxsplit=1)[0].split("."):
        digits = "".join(c for c in part if c.isdigit())
        numbers.append(int(digits[:9]) if digits else 0)
    return tuple(numbers[:3])


def value(setting: Setting, text: str | None, version: str | None = None) -> Value:
    """What a text comes to. Raises ValueError where whoever reads it fails."""
    if text is None or (setting.reading == "tristate" and text not in ("0", "1")):
        text = default(setting, version)
    if text is None:
        return None
    if setting.reading == "config":
        read = {"1": True, "0": False}.get(text, text)
        return bool(read) if setting.type in ("switch", "tristate") else read
    if setting.reading in ("tristate", "one"):
        return text == "1"
    if setting.reading == "triton":
        return text.lower() in ("1", "true", "on", "y", "yes")
    if setting.reading == "number":
        return int(text)
    return text


def decides(values: Mapping[str, str], name: str, version: str | None = None) -> str | None:
    """The variable that decides a setting, of all that mean the same; None where none is set."""
    same = BY_NAME[name].same or (name,)
    return next((x for x in same if x in values and there(BY_NAME[x], version)), None)


def on(values: Mapping[str, str], name: str, version: str | None = None) -> bool:
    """Whether a switch is on among the variables of an environment."""
    decided = decides(values, name, version)
    return value(BY_NAME[name], values[decided] if decided else None, version) is True
