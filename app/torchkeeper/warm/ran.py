"""One run of a verification: the copy of the target that it is made on, and one variant in a fresh
process with a cache folder of its own. Also which caches a program is led to, and to no other.
"""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.layout import ARTIFACT, HEADERS
from torchkeeper.artifacts.report import Report
from torchkeeper.settings.known import BY_NAME, URL, remotes
from torchkeeper.stores.atomic import remove
from torchkeeper.stores.copying import duplicate
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.items import Item
from torchkeeper.verdict.probed import CauseTold
from torchkeeper.warm import supervise, sweep
from torchkeeper.warm.options import JUDGED
from torchkeeper.warm.recipes.recipe import Variant
from torchkeeper.warm.shapes import Proof, Summed, VerifiedGraph
from torchkeeper.warm.traces.graphs import DECIDED

# A program is led to one (TORCHINDUCTOR_CACHE_DIR, TRITON_CACHE_DIR). A folder of vLLM's holds
# those of several programs, its ranks; each has two beside each other, PyTorch's and Triton's.

_GRAPHS = ("fxgraph", "aotautograd")
#: The kind of entries that a source looks for which makes no graphs.
_KINDS = {"triton": "triton", "eager": "aoti_eager"}
#: How vLLM calls the two (vllm/compilation/compiler_interface.py).
_INDUCTOR, _TRITON = "inductor_cache/", "triton_cache/"
#: Caches that a Problem names.
_NAMED = 10

#: Variables of the user's that would lead elsewhere for what is cached, or write there: other
#: folders, servers, traces (torch/_inductor/config.py, torch/_inductor/remote_cache.py,
#: torch/_dynamo/config.py, torch/_logging/_internal.py; triton/knobs.py).
_ELSEWHERE = frozenset({
    "TORCH_TRACE", "TORCH_DTRACE", "TORCH_COMPILE_DEBUG_DIR", "TORCHINDUCTOR_CACHE_DUMP_FILE_PATH",
    "TRITON_CACHE_DIR", "TRITON_DUMP_DIR", "TRITON_OVERRIDE_DIR", "TRITON_CACHE_MANAGER",
    "TRITON_REMOTE_CACHE_BACKEND",
})  # fmt: skip
_SERVERS = ("_REMOTE_", "_REDIS_")


class Used(NamedTuple):
    """The folders of a place that a program is led to, each with a slash at its end, or "" for the
    place itself. triton: None where it is left to PyTorch, which has it in the other.
    """

    inductor: str = ""
    triton: str | None = None


def used(place: str, items: Iterable[Item]) -> Used:
    """The one cache there. Raises Problem("nothing-to-verify" | "verify-which")."""
    graphs, kernels = set(), set()
    for item in items:
        if item.kind in _GRAPHS:
            graphs.add(_above(item.path, item.kind))
        elif item.kind == "triton" and f"/{_TRITON}" in f"/{item.path}":
            kernels.add(_above(item.path, _TRITON.rstrip("/")) + _TRITON)
    if not graphs:
        raise Problem("nothing-to-verify", place=place)
    if "" in graphs:
        return Used()
    # What vLLM keeps of a graph beside its caches, it finds without their keys.
    found = sorted(one for one in graphs if f"/{ARTIFACT}" not in f"/{one}") or sorted(graphs)
    if len(found) > 1:
        # A rank is enough: what is in it is one program's.
        names = [one.removesuffix(_INDUCTOR).rstrip("/") or one.rstrip("/") for one in found]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        said = ", ".join(names[:_NAMED]) + more
        raise Problem("verify-which", place=place, folders=said, count=len(found))
    beside = found[0].removesuffix(_INDUCTOR) + _TRITON
    return Used(found[0], beside if beside in kernels else None)


def led_to(place: str, items: Iterable[Item], sources: Collection[str]) -> Used:
    """As ``used``; where there are no graphs, and what is asked for needs none, the place itself.
    sources: what is to be looked for there. Kernels that lie in it as in a cache of Triton's alone
    are looked for there. Raises Problem as ``used``.
    """
    listed = list(items)
    try:
        return used(place, listed)
    except Problem as problem:
        kinds = {_KINDS[source] for source in sources if source in _KINDS}
        there = [item for item in listed if item.kind in kinds]
        if problem.code != "nothing-to-verify" or not there:
            raise
        plain = any(item.kind == "triton" and item.path.count("/") == 0 for item in there)
        return Used(triton="" if plain else None)


def _above(path: str, folder: str) -> str:
    """What comes before a folder in a path, with its slash."""
    return path[: f"/{path}".rindex(f"/{folder}/")]


def alone(env: Mapping[str, str], temporary: str) -> dict[str, str]:
    """An environment with this temporary folder, led to no other cache than the one it names."""
    ours = {name for name in env if name.startswith(("TORCH", "TRITON"))}
    servers = {name for name in ours if any(part in name for part in _SERVERS)}
    gone = _ELSEWHERE | {x for x in servers if x not in BY_NAME or not BY_NAME[x].in_key}
    kept = {name: value for name, value in env.items() if name not in gone}
    if remotes(kept):
        # A cache on a server that is part of keys is on: with this it has no server at all.
        kept[URL] = ""
    # Triton has a cache in its home where nobody names one (knobs.cache in triton/knobs.py).
    return {**kept, "TMPDIR": temporary, "TRITON_HOME": temporary}


#: Graphs and objects that are named.
MAX_GRAPHS, MAX_BUILT = 500, 50
_MAX_NAME = 100
#: What ends a process that runs machine code which is not for its CPU, or damaged.
_CRASHES = ("SIGILL", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGABRT", "SIGTRAP")
#: Sources that have a proof of their own: counters of FX graphs say nothing of them.
PROVED = ("eager", "triton")


@dataclass
class Ran:
    """What one run came to. built: objects, as paths in its cache folder; proof: if asked for.
    header: whether one was precompiled. written: how many entries of AOTAutograd's it left. PyTorch
    writes one only when the backward graph is compiled, which may be never (try_save_cache_entry in
    torch/_functorch/_aot_autograd/graph_compile.py): warming does not write it, either.
    """

    result: Summed
    graphs: list[VerifiedGraph] = field(default_factory=list)
    built: list[str] = field(default_factory=list)
    proof: Proof | None = None
    written: int = 0
    header: bool = False

    @property
    def unwritten(self) -> int:
        """AOTAutograd's misses that no run of this recipe would make hits."""
        return max(0, self.result["autograd"]["misses"] - self.written)

    @property
    def good(self) -> bool:
        """Whether everything hit that can, and nothing was built."""
        hits, misses = self.result["hits"], self.result["misses"]
        avoidable = self.result["autograd"]["misses"] - self.unwritten
        return hits > 0 and not misses and not avoidable and not self.built


class Heard(Report):
    """Passes on what a job tells, but for what it says of its one variant, and keeps the graphs,
    each when it is known how its lookup ended. quiet: progress is told by somebody else.
    """

    def __init__(self, report: Report, quiet: bool = False) -> None:
        self._report, self._quiet = report, quiet
        self.graphs: dict[str, VerifiedGraph] = {}

    def progress(self, done: int, total: int | None, unit: str) -> None:
        if not self._quiet:
            self._report.progress(done, total, unit)

    def finding(self, **what: Any) -> None:
        if graph := what.get("graph"):
            known = self.graphs.get(graph["id"])
            if graph["outcome"] not in DECIDED or (known and known["outcome"] == graph["outcome"]):
                return
            if known or len(self.graphs) < MAX_GRAPHS:
                self.graphs[graph["id"]] = {
                    "id": graph["id"][:_MAX_NAME],
                    "name": graph["name"][:_MAX_NAME],
                    "outcome": graph["outcome"],
                }
        if "variants" in what or isinstance(what.get("variant"), dict):
            return
        self._report.finding(**what)

    def check(self) -> None:
        self._report.check()


def run(
    job: supervise.Job, home: str, temporary: str, led: Used, name: str, heard: Heard,
    trace: str | None = None, more: supervise.Request | None = None,
) -> Ran:  # fmt: skip
    """Run the one variant of a job on ``home/cache``, with a folder for temporary files. led: where
    in that folder a program is led to. name: of the run, one of RUNS. trace: a folder for
    PyTorch's.
    more: as for ``supervise.run``. Raises as that does, and Problem("verify-crashed").
    """
    [variant] = job.variants
    cache = os.path.join(home, "cache")
    env = environment(job, cache, temporary, led)
    if trace is not None:
        env["TORCH_TRACE"] = trace
    prove = name in JUDGED and variant.source in PROVED
    asked: supervise.Request = {**(more or {}), "prove": True} if prove else more or {}
    before = files(cache)
    try:
        result = supervise.run(job, env, home, heard, more=asked)
    except Problem as problem:
        signal = problem.params.get("signal")
        if name in JUDGED and problem.code == "warm-killed" and signal in _CRASHES:
            about = {"place": job.place, "signal": signal, "step": problem.params.get("step")}
            raise Problem("verify-crashed", **about) from problem
        raise
    after = files(cache)
    new = sorted(path for path in after if after[path] != before.get(path))
    built = [path for path in new if path.endswith(".so")]
    written = sum("/aotautograd/" in f"/{path}" for path in new)
    header = any(True for _ in glob.iglob(os.path.join(glob.escape(temporary), "*", HEADERS)))
    for path in built[:MAX_BUILT] if name in JUDGED else ():
        heard.finding(built={"path": path})
    [row] = result["variants"]
    if not prove or not (proof := row["proof"]):
        return Ran(result, list(heard.graphs.values()), built, None, written, header)
    return of_proof(result, variant, proof, built)


def environment(job: supervise.Job, cache: str, temporary: str, led: Used) -> dict[str, str]:
    """The environment of a run on a cache folder."""
    inductor = os.path.normpath(os.path.join(cache, led.inductor))
    env = alone(supervise.environment(inductor, job.threads, job.portable, job.settings), temporary)
    if led.triton is not None:
        env["TRITON_CACHE_DIR"] = os.path.normpath(os.path.join(cache, led.triton))
    return env


def of_proof(result: Summed, variant: Variant, proof: Proof, built: list[str]) -> Ran:
    """A run that was a proof is told as lookups: what was found is a hit."""
    found, of = proof["found"], proof["of"]
    result = {**result, "graphs": of, "hits": found, "misses": of - found}
    outcome = "hit" if found == of else "miss"
    graph: VerifiedGraph = {
        "id": variant.source,
        "name": variant.name[:_MAX_NAME],
        "outcome": outcome,
    }
    if why := proof.get("why"):
        graph["why"] = {"code": "said", "text": why}
    return Ran(result, [graph], built, proof)


def files(folder: str) -> dict[str, sweep.Mark]:
    """The files below a folder, less locks and what is gone, by their path in it."""
    paths = [os.path.join(above, name) for above, _, names in os.walk(folder) for name in names]
    marks = {
        os.path.relpath(path, folder): sweep.mark(path)
        for path in paths
        if not path.endswith(".lock")
    }
    return {path: mark for path, mark in marks.items() if any(mark)}


# What the runs of several variants share: the copy of the target, and folders for temporary files.

#: Says why graphs were not hits: from the folder that a program was led to, relative to the place,
#: and its trace, to a cause by the graph's id, as ``Near.cause`` in engine/running.py tells it.
Explain = Callable[[str, str], Mapping[str, "CauseTold"]]


@dataclass
class Ground:
    """What the runs of a verification have in common. led: where in a copy a program is led to;
    several: whether there is more than one variant, which share a folder for temporary files;
    marks: the files of the copy that they share.
    """

    source: Folder
    items: list[Item]
    led: Used
    scratch: str
    several: bool
    explain: Explain | None
    marks: dict[str, sweep.Mark] = field(default_factory=dict)

    def temporary(self, name: str) -> str:
        """The folder for temporary files of a run."""
        return os.path.join(self.scratch, *(() if self.several else (name,)), "tmp")

    def copy(self, cache: str, report: Report) -> None:
        """Have an unchanged copy of the target there."""
        if self.several and os.path.isdir(cache):
            if files(cache) == self.marks:
                return
            remove(cache)
        duplicate(self.source, self.items, cache, report)
        if self.several:
            self.marks = files(cache)

    def clear(self, name: str) -> None:
        """Take away what a run has left; the header and the copy stay where others share them."""
        if not self.several or name not in JUDGED:
            remove(os.path.join(self.scratch, name))
        if not self.several:
            return
        temporary = self.temporary(name)
        inside = os.listdir(temporary) if os.path.isdir(temporary) else []
        own = [one for one in inside if os.path.isdir(os.path.join(temporary, one, HEADERS))]
        # Folders that are not taken away whole, each with what stays.
        left = [(temporary, own)] if os.path.isdir(temporary) else []
        for above, kept in [*left, *((os.path.join(temporary, one), [HEADERS]) for one in own)]:
            with os.scandir(above) as entries:
                going = [one for one in entries if one.name not in kept]
            for one in going:
                if one.is_dir(follow_symlinks=False):
                    remove(one.path)
                else:
                    with contextlib.suppress(OSError):
                        os.unlink(one.path)
