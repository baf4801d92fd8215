"""All the settings that steer caches, each described once; tests/settings holds it to torch."""

from __future__ import annotations

from torchkeeper.settings.setting import GROUPS, Setting
from torchkeeper.settings.table import local, remote, triton

#: In the order of a form.
SETTINGS: tuple[Setting, ...] = tuple(
    sorted(
        local.SETTINGS + remote.SETTINGS + triton.SETTINGS,
        key=lambda one: GROUPS.index(one.group),
    )
)

BY_NAME = {one.name: one for one in SETTINGS}
