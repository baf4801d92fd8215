"""Preparing an environment, and doing without: the words, and what sets a variable."""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from torchkeeper.artifacts.layout import HEADERS
from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.tongue import Text, tr
from torchkeeper.stores import places
from torchkeeper.warm.options import PRECOMPILE

if TYPE_CHECKING:
    from torchkeeper.warm.shapes import Headers, Prepared

#: The variable that has PyTorch precompile no header, and what a program's environment needs.
VARIABLE = PRECOMPILE
SNIPPET = f"export {VARIABLE}=0"
#: What --portable is, in a sentence.
_PORTABLE: Text = (
    "A portable cache needs no precompiled header: a program starts warm in an empty container, "
    "unprepared."
)
_PORTABLE_CONDITION: Text = (
    "{setting} is part of the keys of these entries: the program must run with it. Without it, "
    "the program finds nothing, and compiles everything again. Set it there:"
)
#: What a compiler's precompiled header ends with (warm/header.py).
_BUILT = (".gch", ".pch")
_ALREADY: Text = "Prepared already: {headers}, {size}, in {folder}."
_BUILT_NOW: Text = "{headers} built in {time}: {size} in {folder}."
_BUILT_BESIDE: Text = "{headers} built in {time}, {n} there already: {size} in {folder}."
#: What preparing is, in a sentence.
WHY: Text = (
    "PyTorch precompiles a C++ header, about 150 MB, once for each temporary folder, before it "
    "first loads or compiles a kernel for the CPU. After Prepare, a program does not wait for it."
)


def prepared() -> bool:
    """Whether programs of this user find a header, of whatever torch, in the temporary folder."""
    folder = os.path.join(places.default_folder(), HEADERS)
    try:
        with os.scandir(folder) as found:
            return any(one.name.endswith(_BUILT) and one.stat().st_size for one in found)
    except OSError:
        return False


def said(answer: Prepared) -> str:
    """What was prepared, in a line: how many headers, how large, and where."""
    built, there = answer["built"], answer["there"]
    size, folder = say.size(answer["bytes"]), printable(answer["folder"])
    headers = say.count(built or there, "header", "headers")
    if not built:
        return tr(_ALREADY, headers=headers, size=size, folder=folder)
    shown = {"headers": headers, "time": say.seconds(answer["seconds"]), "n": there}
    return tr(_BUILT_BESIDE if there else _BUILT_NOW, **shown, size=size, folder=folder)


def finds(answer: Headers) -> str:
    """Which programs find it: those with that temporary folder, of that user."""
    temporary, name = os.path.split(os.path.dirname(answer["folder"]))
    said = tr(
        "Programs of user {user} whose temporary folder is {folder} find what is there, with this "
        "torch, this C++ compiler and this CPU.",
        user=name.removeprefix("torchinductor_"),
        folder=temporary,
    )
    return printable(said)


def warning(answer: Prepared) -> str:
    """What is to be done before another user's programs can use it; or nothing."""
    if not (user := answer["user"]):
        return ""
    said = tr(
        "Programs of {user} lock a file beside the header, so the folder must belong to {user}: "
        "{command}",
        user=user,
        command=f"chown -R {shlex.quote(user)} {shlex.quote(os.path.dirname(answer['folder']))}",
    )
    return printable(said)


def portable_condition() -> str:
    return tr(_PORTABLE_CONDITION, setting=f"{VARIABLE}=0")


def portable_lines() -> list[str]:
    """What to know after a portable warm-up, the last line to be put where programs start."""
    return [tr(_PORTABLE), portable_condition(), f"    {SNIPPET}"]


def threads(count: int) -> str:
    """What entries for a number of threads are for."""
    return tr(
        "Compiled for {threads}: a program finds it with OMP_NUM_THREADS={n} or "
        "torch.set_num_threads({n}), or on a machine where that is the default.",
        threads=say.count(count, "thread", "threads"),
        n=str(count),
    )
