"""What is asked, and said, of a verification; shared by the window and the command line."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

from torchkeeper.link import say
from torchkeeper.link.words import user_error

TRUST = (
    "Verifying runs the code that is in it: PyTorch loads what it finds in a cache, as any program "
    "would that uses it."
)

#: What each run is called, in the order in which they are made.
TITLES = {
    "cold": "cold",
    "mega": "stock mega-cache",
    "warm": "as it is",
    "prepared": "prepared",
}
#: What each run has, in a sentence.
BEGINNINGS = {
    "cold": "cold: the recipe with nothing in the cache",
    "mega": "stock mega-cache: with what PyTorch itself saved of the cold run",
    "warm": "as it is: with a copy of the target and an empty temporary folder",
    "prepared": "prepared: the same, with the precompiled header there",
}

Answer = dict[str, Any]


def runs(quick: bool, portable: bool) -> list[str]:
    """The runs to ask for. Where no header is precompiled, there is nothing to prepare."""
    if quick:
        return ["warm"]
    return ["cold", "mega", "warm"] if portable else list(TITLES)


@contextlib.contextmanager
def scratch() -> Iterator[str]:
    """A temporary folder for all that a verification needs, of which nothing is left afterwards.

    Raises UserError("place-unwritable").
    """
    try:
        folder = tempfile.mkdtemp(prefix="torchkeeper-verifying-")
    except OSError as e:
        about = {"place": tempfile.gettempdir(), "why": e.strerror}
        raise user_error("place-unwritable", about) from e
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def is_strange(place: str) -> bool:
    """Whether what is at a path came from somebody else: a file, which may be from anywhere, or a
    folder of another user's.
    """
    try:
        return not os.path.isdir(place) or os.stat(place).st_uid != os.getuid()
    except OSError:
        return True


def outcome(result: Answer) -> str:
    """A verification in one sentence; result: as ``verified.checked`` returns it."""
    found = [say.count(result["hits"], "hit", "hits")]
    found.append(say.count(result["misses"], "miss", "misses"))
    if result["bypasses"]:
        found.append(say.count(result["bypasses"], "bypass", "bypasses"))
    graphs = say.count(result["graphs"], "graph", "graphs")
    built = say.count(result["rebuilt"], "object", "objects")
    how = "Good" if result["good"] else "Not good"
    said = f"{how}: of {graphs} {', '.join(found)}; {built} built again"
    return "; ".join([said, *_compared(result["ratios"])]) + "."


def _compared(ratios: Answer) -> list[str]:
    """How fast the runs with the target were beside the others."""
    told = []
    for name in ("warm", "prepared"):
        found = [
            f"{ratio(ratios[f'{name}_{other}'])} as fast as {of}"
            for other, of in (("cold", "cold"), ("mega", "a stock mega-cache"))
            if f"{name}_{other}" in ratios
        ]
        if found:
            told.append(f"{TITLES[name]} {' and '.join(found)}")
    return told


def ratio(value: float) -> str:
    """How many times: 2.9 ×."""
    return f"{value:.1f} ×"


def advice(result: Answer, made_threads: int | None = None) -> list[str]:
    """What to do about a verification that is not good; nothing for one that is.

    made_threads: how many threads the target says it was made with.
    """
    said: list[str] = []
    if result["good"]:
        return said
    threads = result["threads"]
    if result["misses"] and made_threads and made_threads != threads:
        said.append(
            f"It was made for {say.count(made_threads, 'thread', 'threads')}, and this program had "
            f"{threads}. Where programs shall have {made_threads}, set OMP_NUM_THREADS="
            f"{made_threads} there, and verify with --threads {made_threads}; else warm it again."
        )
    if not result["hits"]:
        said.append(
            "Nothing hit: it is for another torch, another device or number of threads, or other "
            "settings, or it was never warmed with this recipe. “torchkeeper check” says of each "
            "entry which; what was warmed with --portable is verified with --portable."
        )
    elif result["misses"]:
        missed = [row["name"] for row in result["rows"] if row["outcome"] == "miss"]
        named = f" ({', '.join(dict.fromkeys(missed))})" if missed else ""
        said.append(
            f"Some graphs are not in it{named}. Warm it with this recipe, and export it again."
        )
    if result["autograd"]["misses"] and not result["misses"]:
        said.append(
            "AOTAutograd entries are missing, so that PyTorch traces again although all graphs "
            "hit. Export or copy them, too (--filter kind:aotautograd finds them)."
        )
    if result["rebuilt"] and not result["misses"]:
        said.append(
            "Objects were built again: they are not in it, or have the names of another torch's "
            "path, compiler or CPU. A folder that was moved is exported to a bundle where it was "
            "made, and imported with --env here; the bundle needs its code (kind:code)."
        )
    return said
