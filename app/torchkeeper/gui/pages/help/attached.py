"""Which part of the window What's This explains with which ideas; later parts do it themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import VERDICTS
from torchkeeper.gui.pages.help.ideas import explain

if TYPE_CHECKING:
    from torchkeeper.gui.inspector.pane import Inspector
    from torchkeeper.gui.shell import Shell
    from torchkeeper.gui.verdicts.controller import VerdictController

#: Ideas by the actions that are about them.
ACTIONS = {
    "warm": ("recipe", "profile"),
    "verify": ("verification", "header"),
    "prepare": ("header",),
    "environment-prepare": ("header",),
    "recipes": ("recipe",),
    "export": ("bundle",),
    "import": ("bundle", "mega-cache", "signature"),
    "sign": ("signature",),
    "signers": ("signature",),
    "clean-up": ("stale", "broken", "orphan", "trash"),
    "compare": ("key-factor",),
    "compare-two": ("key-factor",),
    "compare-nearest": ("key-factor",),
    "purge": ("trash",),
    "undo": ("trash",),
    "empty-trash": ("trash",),
    "environments": ("environment",),
    "add-interpreter": ("environment",),
    **{f"only-{name}": (name,) for name in VERDICTS},
}


def to_window(window: Shell) -> None:
    """Explain what is there from the start."""
    for ident, ideas in ACTIONS.items():
        explain(window.actions_[ident], *ideas)
    explain(window.places_pane, "place")
    explain(window.table, "entry")
    explain(window.head.box, "filter")
    explain(window.undo_bar, "trash")
    explain(window.trash_label, "trash")


def to_here(here: VerdictController) -> None:
    """Explain the verdicts and the environment they are about."""
    explain(here.chooser, "environment")
    explain(here.bar, "verdict")
    for verdict, button in here.bar.buttons.items():
        explain(button, verdict)


def to_inspector(inspector: Inspector) -> None:
    """Explain what the inspector tells."""
    summary = inspector.summary
    explain(inspector, "entry")
    explain(summary.verdict, "verdict")
    explain(summary.facts, "needs", "orphan")
    explain(summary.orphan, "orphan")
    explain(summary.problem, "broken")
    explain(summary.measured, "recipe")
    explain(summary.sharing, "bundle")
    explain(inspector.factors, "key-factor")
    explain(inspector.files, "payload")
