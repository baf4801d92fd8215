"""What is said of recipes in more than one place."""

from __future__ import annotations

import os
import time

from PySide6.QtCore import QCoreApplication

from torchkeeper.gui.recipes.known import BUILTIN, Known
from torchkeeper.link import say
from torchkeeper.link.words import printable

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
