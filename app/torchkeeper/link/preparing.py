"""Preparing an environment, and doing without: the words, and what sets a variable."""

from __future__ import annotations

import os
import shlex
from typing import Any

from torchkeeper.artifacts.layout import HEADERS
from torchkeeper.link import say
from torchkeeper.link.words import printable
from torchkeeper.stores import places
from torchkeeper.warm.options import PRECOMPILE

#: The variable that has PyTorch precompile no header, and what a program's environment needs.
VARIABLE = PRECOMPILE
SNIPPET = f"export {VARIABLE}=0"
#: What --portable is, in a sentence.
PORTABLE = (
    "A portable cache needs no precompiled header: a program starts warm in an empty container, "
    "unprepared."
)
#: What is to be done for it.
PORTABLE_CONDITION = (
    f"{VARIABLE}=0 is part of the keys of what was compiled: it has to be set where the program "
    "runs. Without it nothing is found, and everything is compiled again. Set it there:"
)
#: What a compiler's precompiled header ends with (warm/header.py).
_BUILT = (".gch", ".pch")
#: What preparing is, in a sentence.
WHY = (
    "PyTorch precompiles a C++ header, about 150 MB, once for each temporary folder, before it "
    "first loads or compiles a kernel for the CPU. Prepared, a program does not wait for it."
)
#: What PLACE is, and why.
INTO = (
    "the temporary folder (TMPDIR) of the programs that will run; by default that of this "
    "environment. PyTorch looks in <temporary folder>/torchinductor_<user> for headers, whatever "
    "TORCHINDUCTOR_CACHE_DIR says, so no other folder would be of use. For another user's "
    "programs, name the folder torchinductor_<user> itself"
)


def prepared() -> bool:
    """Whether programs of this user find a header in the temporary folder that is used here; which
    torch it is of nobody knows without asking that.
    """
    folder = os.path.join(places.default_folder(), HEADERS)
    try:
        with os.scandir(folder) as found:
            return any(one.name.endswith(_BUILT) and one.stat().st_size for one in found)
    except OSError:
        return False


def said(answer: dict[str, Any]) -> str:
    """What was prepared, in a line: how many headers, how large, and where."""
    built, there = int(answer["built"]), int(answer["there"])
    size, folder = say.size(int(answer["bytes"])), printable(str(answer["folder"]))
    if not built:
        return f"Prepared already: {say.count(there, 'header', 'headers')}, {size}, in {folder}."
    known = f", {there:,} there already" if there else ""
    seconds = say.seconds(float(answer["seconds"]))
    return f"{say.count(built, 'header', 'headers')} built in {seconds}{known}: {size} in {folder}."


def finds(answer: dict[str, Any]) -> str:
    """Which programs find it: those with that temporary folder, of that user."""
    above = os.path.dirname(str(answer["folder"]))
    temporary, name = os.path.split(above)
    user = name.removeprefix("torchinductor_")
    return printable(
        f"Programs of user {user} whose temporary folder is {temporary} find it, with this torch, "
        "this C++ compiler and this CPU."
    )


def warning(answer: dict[str, Any]) -> str:
    """What is still to be done before another user's programs can use what was prepared; or
    nothing.
    """
    user = answer.get("user")
    if not user:
        return ""
    above = os.path.dirname(str(answer["folder"]))
    return printable(
        f"Programs of {user} take a lock beside the header, so the folder has to be theirs: "
        f"chown -R {shlex.quote(str(user))} {shlex.quote(above)}"
    )


def portable_lines() -> list[str]:
    """What to know after a portable warm-up, the last line to be put where programs start."""
    return [PORTABLE, PORTABLE_CONDITION, f"    {SNIPPET}"]


def threads(count: int) -> str:
    """What entries for a number of threads are for."""
    many = say.count(count, "thread", "threads")
    return (
        f"Compiled for {many}: a program finds it with OMP_NUM_THREADS={count} or "
        f"torch.set_num_threads({count}), or on a machine where that is the default."
    )
