"""What is said of recipes in more than one place."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.gui.pages.recipes.known import BUILTIN, Known

#: The sources a recipe can be made for, in the order in which they are offered.
SOURCES = ("callable", "script", "exported", "eager", "triton")
#: What stands for them where a form is filled in instead.
FORM = "form"


def _tr(text: str) -> str:
    return QCoreApplication.translate("Recipes", text)


def purpose() -> str:
    """What a recipe is for."""
    return _tr(
        "A recipe says what to compile ahead of time and in which ways: a model or function, a "
        "script, an exported program, eager operators, or Triton kernels. It is a TOML file that "
        "lies beside the model."
    )


def builtin_help() -> str:
    """What there is in the built-in recipe."""
    return _tr(
        "An op, an MLP trained at two batch sizes, and an attention block, forward and backward."
    )


def instead_of_text(paths: Sequence[str], alone: bool) -> tuple[str, str]:
    """What is said of what has no text to show, as a title and more: folders, several recipes, and
    the built-in one; ``alone``: there is no other.
    """
    if list(paths) != [BUILTIN]:
        if len(paths) > 1:
            return _tr("More than one is chosen"), _tr(
                "Warm all compiles everything that is chosen, one after another. Choose one alone "
                "to see its text."
            )
        return _tr("A folder of recipes"), _tr(
            "Every recipe in it is on the list, and so is one that is put there later. Warm all "
            "compiles them one after another. Choose one to see its text."
        )
    if alone:
        return _tr("No recipe of your own yet"), _tr(
            "A recipe says what is compiled ahead of time. Begin one under New, with a form or an "
            "example; add files or a folder; or drop them here."
        )
    return _tr("It comes with Torchkeeper"), _tr(
        "It needs no model of yours: warm it to see what ends up in a cache, and verify it to see "
        "how much faster a program starts. It has no file, so there is nothing to edit."
    )


def missing() -> str:
    """What stands for what it compiles where it is not there any more."""
    return _tr("missing")


def source_title(source: str) -> str:
    """What is compiled, by the kind of its source."""
    return {
        BUILTIN: _tr("Built in"),
        "callable": _tr("Callable"),
        "script": _tr("Script"),
        "exported": _tr("Exported program"),
        "eager": _tr("Eager operators"),
        "triton": _tr("Triton kernels"),
    }.get(source, printable(source, 40))


def name_of(path: str, name: str = "") -> str:
    """What a recipe, a file or a folder is called."""
    if path == BUILTIN:
        return _tr("Built in: a first look")
    return printable(name or os.path.basename(path.rstrip("/")) or path, 120)


def warmed_text(one: Known) -> str:
    """When it was last warmed, and whether all of it was."""
    if one.warmed is None:
        return _tr("never")
    ago = say.ago(one.warmed.at, time.time())
    if not one.warmed.failed:
        return ago
    whole = one.warmed.done + one.warmed.failed
    return _tr("{}, {} of {} failed").format(ago, f"{one.warmed.failed:,}", f"{whole:,}")
