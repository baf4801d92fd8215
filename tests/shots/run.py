"""Pictures of every state that is made up, light and dark, at 1× and 2×: for looking at after a
change, and for the README. No engine is asked for anything.
"""

from __future__ import annotations

from collections.abc import Collection

from tests.shots import (
    scenes_activity,
    scenes_asking,
    scenes_bundles,
    scenes_cleaning,
    scenes_comparing,
    scenes_copying,
    scenes_dialogs,
    scenes_doctor,
    scenes_fleet,
    scenes_inspector,
    scenes_machines,
    scenes_many,
    scenes_map,
    scenes_overview,
    scenes_profiles,
    scenes_recipes,
    scenes_runs,
    scenes_servers,
    scenes_sidebar,
    scenes_signing,
    scenes_verdicts,
    scenes_verifying,
    scenes_warming,
    scenes_window,
)
from tests.shots.stage import Stage
from torchkeeper.gui.shots import photographed

#: What is shown, by name; each takes pictures of several states.
SCENES = {
    **scenes_window.SCENES,
    **scenes_map.SCENES,
    **scenes_inspector.SCENES,
    **scenes_overview.SCENES,
    **scenes_activity.SCENES,
    **scenes_bundles.SCENES,
    **scenes_comparing.SCENES,
    **scenes_copying.SCENES,
    **scenes_dialogs.SCENES,
    **scenes_cleaning.SCENES,
    **scenes_doctor.SCENES,
    **scenes_machines.SCENES,
    **scenes_servers.SCENES,
    **scenes_verdicts.SCENES,
    **scenes_runs.SCENES,
    **scenes_verifying.SCENES,
    **scenes_warming.SCENES,
    **scenes_fleet.SCENES,
    **scenes_recipes.SCENES,
    **scenes_profiles.SCENES,
    **scenes_signing.SCENES,
    **scenes_sidebar.SCENES,
    **scenes_many.SCENES,
    **scenes_asking.SCENES,
}


def run(folder: str, scale: int | None = None, scenes: Collection[str] | None = None) -> int:
    """Save the pictures into ``folder``.

    scale: device pixels in one of the window's; None for both 1 and 2, one after the other.
    scenes: which of SCENES to show, None for all.
    Returns 1 if one could not be saved.
    """

    def take(stage: Stage) -> None:
        for name in SCENES if scenes is None else scenes:
            SCENES[name](stage)

    again = ["tests.shots", folder, *(f"--scene={name}" for name in scenes or ())]
    return photographed(folder, scale, take, again, Stage)
