"""Verifies a cache folder with stock PyTorch as the judge, by its counters and by which files
appear; what PyTorch does not count, by the proof that its source has (``sources.Work``).

Each run of a variant is a fresh process with a temporary folder, and a cache folder of its own: an
empty one, or a copy of nothing but the target.

| run | has |
|---|---|
| cold | nothing |
| mega | what torch.compiler.save_cache_artifacts() returned at the end of the cold run |
| warm | a copy of the target |
| prepared | a copy of the target, and the header that PyTorch precompiles, built beforehand |

A single variant has an empty temporary folder for each run. Several share one, in which the header
is built once before all of them: what they are compared by is their own, and ``prepared`` is what
``warm`` is already. Everything else is taken out of it after each run. They share the copy of the
target, too, as long as nobody has changed anything in it; then it is made anew.
"""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.artifacts.shapes import Fault
from torchkeeper.stores.atomic import remove
from torchkeeper.stores.copying import room
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.preconditions import space
from torchkeeper.warm import prepare, ran, supervise, together
from torchkeeper.warm.following import fitting, things, told_of
from torchkeeper.warm.options import JUDGED, NO_MEGA, RUNS
from torchkeeper.warm.ran import MAX_BUILT, MAX_GRAPHS, Explain, Ground, Heard, Ran, Used, led_to
from torchkeeper.warm.recipes.recipe import Variant
from torchkeeper.warm.shapes import Run, Verified, VerifiedGraph, VerifiedVariant, Verifying

#: Bytes of the variants, and of the graphs, of a result, one line of the wire; findings tell all.
MAX_BYTES = 400_000

Runs = Mapping[str, Ran]


def of_variant(variant: Variant, runs: Runs, problem: Fault | None) -> VerifiedVariant:
    """What became of a variant; why: of its first graph that was no hit. A problem is not good."""
    one = _last(runs)
    why = [graph["why"] for graph in (one.graphs if one else ()) if "why" in graph]
    counts = _sum([one] if one else [])
    seconds = {name: ran.result["seconds"] for name, ran in runs.items()}
    proof = one.proof if one else None
    return {
        "index": variant.index,
        "recipe": variant.recipe,
        "name": variant.name,
        "source": variant.source,
        "good": problem is None and good([runs]),
        "seconds": seconds,
        "ratios": _ratios(seconds),
        "hits": counts["hits"],
        "misses": counts["misses"],
        "rebuilt": counts["rebuilt"],
        "proof": {"found": proof["found"], "of": proof["of"]} if proof else None,
        "why": why[0] if why else None,
        "problem": problem,
    }


def good(variants: Iterable[Runs]) -> bool:
    """Whether every run of every variant with the target was good, and there was one."""
    return all(
        any(name in JUDGED for name in runs)
        and all(ran.good for name, ran in runs.items() if name in JUDGED)
        for runs in variants
    )


def told(
    variants: Sequence[Runs], rows: Sequence[VerifiedVariant], wanted: Iterable[str] = ()
) -> Verified:
    """The result of a verification: of a single variant what that is, of several the sums. wanted:
    the runs that were asked for.
    """
    last = [(at, one) for at, runs in enumerate(variants) if (one := _last(runs))]
    made = {name: [one[name] for one in variants if name in one] for name in RUNS}
    runs = {name: _sum(some) for name, some in made.items() if some}
    # What took no time for want of a run is not faster than what had one.
    whole = [one for one, row in zip(variants, rows, strict=True) if row["problem"] is None]
    spent = {name: sum(x[name].result["seconds"] for x in whole if name in x) for name in runs}
    graphs: list[VerifiedGraph] = []
    for at, one in last:
        for graph in one.graphs[: MAX_GRAPHS - len(graphs)]:
            graphs.append({**graph, "variant": rows[at]["index"]} if len(variants) > 1 else graph)
    built = [path for _, one in last for path in one.built]
    totals = _sum([one for _, one in last])
    first = last[0][1].result if last else None
    return {
        "graphs": totals["graphs"],
        "hits": totals["hits"],
        "misses": totals["misses"],
        "bypasses": totals["bypasses"],
        "rebuilt": totals["rebuilt"],
        "unwritten": totals["unwritten"],
        "autograd": totals["autograd"],
        "things": things(
            (rows[at]["source"], one.result["graphs"], one.result["hits"] + one.result["misses"])
            for at, one in last
        ),
        "whole": {"variants": len(rows), "good": sum(row["good"] for row in rows)},
        "built": built[:MAX_BUILT],
        "rows": fitting(graphs, MAX_BYTES),
        "seconds": {name: total["seconds"] for name, total in runs.items()},
        "ratios": _ratios(spent),
        "runs": runs,
        "skipped": {name: _unlike(name, rows[0]["source"]) for name in wanted if name not in runs},
        "good": all(row["good"] for row in rows),
        "device": first["device"] if first else "",
        "threads": first["threads"] if first else 0,
        "torch": first["torch"] if first else "",
        "variants": fitting(rows, MAX_BYTES),
    }


def _last(runs: Runs) -> Ran | None:
    """The last run with the target."""
    return next((runs[name] for name in reversed(JUDGED) if name in runs), None)


def _sum(ran: Sequence[Ran]) -> Run:
    some = [one.result for one in ran]
    return {
        "graphs": sum(one["graphs"] for one in some),
        "hits": sum(one["hits"] for one in some),
        "misses": sum(one["misses"] for one in some),
        "bypasses": sum(one["bypasses"] for one in some),
        "rebuilt": sum(len(one.built) for one in ran),
        "unwritten": sum(one.unwritten for one in ran),
        "seconds": sum(one["seconds"] for one in some),
        "autograd": {
            "hits": sum(one["autograd"]["hits"] for one in some),
            "misses": sum(one["autograd"]["misses"] for one in some),
        },
    }


def _ratios(seconds: Mapping[str, float]) -> dict[str, float]:
    """How many times as long as with the target the other runs took."""
    return {
        f"{name}_{other}": seconds[other] / max(seconds[name], 1e-9)
        for name in JUDGED
        if name in seconds
        for other in ("cold", "mega")
        if other in seconds
    }


#: Bytes of a run's temporary folder: two headers of 149 MB, what is built, what compilers need.
_WORK = 400 << 20
#: Bytes below which a disk is taken for full when something failed.
_NOTHING = 1 << 20
#: What whoever found the disk full says; a compiler then takes away what it had written.
_FULL = os.strerror(errno.ENOSPC)
#: What is wrong with more than one variant of several.
_FOR_ALL = frozenset({
    "torch-missing", "torch-broken", "threads-not-taken", "caches-disabled", "disk-full",
    "place-unwritable", "verify-no-room", "mega-cache-unsupported",
})  # fmt: skip
#: Variants that one finding tells.
_VARIANTS = 200


def verify(params: Verifying, report: Report, explain: Explain | None = None) -> Verified:
    """Run recipes on a copy of nothing but the folder ``place``; findings ``run={"name"}``, those
    of ``warm``, and ``built={"path"}``. Where the only cache is one in the folder, as in that of a
    rank of vLLM's, the program is led to it.

    Good is where with the target everything hit, at least one graph, and no object was built. Of
    several variants findings say which they are of, and one that fails has a ``problem``. What
    ``explain`` can tell is said of graphs that were no hit.

    settings in the request: as of ``supervise.warm``, less what leads to another cache.

    Raises Problem as ``supervise.run``, ``ran.led_to`` and Folder do, and "verify-server",
    "verify-no-room", "verify-crashed"; passes Cancelled on. Neither a process nor a file is left.
    """
    job, runs = checked(params)
    source = Folder(job.place)
    items = source.items(report)
    led = led_to(source.place, items, {variant.source for variant in job.variants})
    try:
        scratch = tempfile.mkdtemp(prefix="torchkeeper-verify-", dir=params.get("scratch"))
    except OSError as e:
        above = params.get("scratch") or tempfile.gettempdir()
        raise Problem("place-unwritable", place=above, why=e.strerror or str(e)) from e
    try:
        free = space(scratch)["free"]
        if free is not None and free < room(items) + _WORK:
            raise _no_room(scratch, room(items), free)
        ground = Ground(source, items, led, scratch, len(job.variants) > 1, explain)
        return _all_variants(job, runs, ground, report)
    finally:
        remove(scratch)


def checked(params: Verifying) -> tuple[supervise.Job, set[str]]:
    """The job of a request, and its runs. Raises Problem("bad-request" | "recipe-unknown" |
    "verify-server"). Without ``runs`` all are asked for; mega takes cold along, which it needs.
    """
    place = params["place"]
    if not scheme_of(place).verifiable:
        raise Problem("verify-server", place=place)
    job = supervise.checked(params, place)
    runs = set(params.get("runs") or RUNS)
    if not runs <= set(RUNS) or not runs & set(JUDGED):
        raise Problem("bad-request", field="runs")
    scratch = params.get("scratch")
    if scratch is not None and not os.path.isabs(scratch):
        raise Problem("bad-request", field="scratch")
    if "mega" in runs:
        runs.add("cold")
    return job, runs


def runs_of(variant: Variant, runs: Iterable[str], several: bool) -> list[str]:
    """The runs that make sense for a variant, in order: none of a mega-cache where it is not in
    one, or not known to be compiled in the job's process, and none prepared where no header is
    missing.
    """
    wanted, proved = set(runs), variant.source in ran.PROVED
    if variant.source in NO_MEGA:
        wanted.discard("mega")
    if "prepared" in wanted and (several or proved):
        wanted = (wanted - {"prepared"}) | {"warm"}
    return [name for name in RUNS if name in wanted]


def _unlike(name: str, source: str) -> str:
    """Why no variant of a source has had a run."""
    return NO_MEGA.get(source, "no-graphs") if name == "mega" else "no-header"


def _no_room(scratch: str, copy: int, free: int) -> Problem:
    needed, above = (copy + _WORK) // 10**6, os.path.dirname(scratch)
    return Problem("verify-no-room", place=above, needed_mb=needed, free_mb=free // 10**6)


def _all_variants(
    job: supervise.Job, runs: Iterable[str], ground: Ground, report: Report
) -> Verified:
    variants = job.variants
    rows, done = list["VerifiedVariant"](), list[dict[str, Ran]]()
    if ground.several:
        queued = [told_of(variant) for variant in variants]
        for begin in range(0, len(queued), _VARIANTS):
            report.finding(variants=queued[begin : begin + _VARIANTS])
        os.makedirs(ground.temporary(""))
        # Where a run may look for a precompiled header.
        devices = [one.device for one in variants if one.source != "triton" and not one.portable]
        if any((one or job.device or "cpu").startswith("cpu") for one in devices):
            _prepare(ground.temporary(""), job.limit_s, report)

    def ended(variant: Variant, made: dict[str, Ran], problem: Fault | None = None) -> None:
        rows.append(of_variant(variant, made, problem))
        done.append(made)
        if ground.several:
            report.finding(variant={**rows[-1], "state": "failed" if problem else "done"})
            report.progress(len(rows), len(variants), "variants")

    if ground.several:
        report.progress(0, len(variants), "variants")
    for some in together.groups(variants):
        begun = len(rows)
        if len(some) > 1 and runs_of(some[0], runs, True) == ["warm"]:
            together.prove(job, some, ground, report, lambda one, ran: ended(one, {"warm": ran}))
        for variant in some[len(rows) - begun :]:
            if ground.several:
                report.finding(variant={"index": variant.index, "state": "compiling"})
            problem: Fault | None = None
            made: dict[str, Ran] = {}
            try:
                one = replace(job, variants=(variant,), jobs=1)
                _runs(one, runs_of(variant, runs, ground.several), ground, report, made)
            except Problem as e:
                if not ground.several or e.code in _FOR_ALL:
                    raise
                problem = {"code": e.code, "params": e.params}
            ended(variant, made, problem)
    prepared = {"prepared"} if ground.several else set[str]()
    return told(done, rows, [name for name in RUNS if name in set(runs) - prepared])


def _runs(
    job: supervise.Job, names: Sequence[str], ground: Ground, report: Report, done: dict[str, Ran]
) -> None:
    """Make the runs of a job's one variant; ``done`` has them, as far as it came."""
    [variant], scratch = job.variants, ground.scratch
    mega = os.path.join(scratch, "mega-cache")
    for name in names:
        # A run on another device, or of what is portable, has no header to prepare.
        if name == "prepared" and "warm" in done and not done["warm"].header:
            continue
        report.finding(run={"name": name, **({"variant": variant.index} if ground.several else {})})
        home, temporary = os.path.join(scratch, name), ground.temporary(name)
        more: supervise.Request = {}
        try:
            os.makedirs(temporary, exist_ok=True)
            os.makedirs(home, exist_ok=True)
            if name in JUDGED:
                ground.copy(os.path.join(home, "cache"), report)
                if name == "prepared":
                    _prepare(temporary, job.limit_s, report)
            elif name == "cold" and "mega" in names:
                more = {"save": mega}
            elif name == "mega":
                more = {"load": mega}
            done[name] = _run(job, name, ground, report, more)
        except (Problem, OSError) as e:
            free = space(scratch)["free"]
            said = str(e.params) if isinstance(e, Problem) else str(e)
            full = isinstance(e, Problem) and e.code == "disk-full"
            if full or _FULL in said or (free is not None and free < _NOTHING):
                raise _no_room(scratch, room(ground.items), free or 0) from e
            if isinstance(e, Problem):
                raise
            raise Problem("place-unwritable", place=scratch, why=e.strerror or str(e)) from e
        finally:
            ground.clear(name)


def _run(
    job: supervise.Job, name: str, ground: Ground, report: Report, more: supervise.Request
) -> Ran:
    home, temporary = os.path.join(ground.scratch, name), ground.temporary(name)
    heard = Heard(report, ground.several)
    if name not in JUDGED:
        return ran.run(job, home, temporary, Used(), name, heard, more=more)
    trace = os.path.join(ground.scratch, "trace") if ground.explain else None
    try:
        one = ran.run(job, home, temporary, ground.led, name, heard, trace, more)
        if ground.explain and trace and not one.proof and one.result["misses"]:
            causes = ground.explain(ground.led.inductor, trace)
            for graph in one.graphs:
                if graph["outcome"] != "hit" and graph["id"] in causes:
                    graph["why"] = causes[graph["id"]]
        return one
    finally:
        if trace:
            remove(trace)


def _prepare(temporary: str, limit_s: float | None, report: Report) -> None:
    """Have the header built where the run will look. Where none is used, there is none to build."""
    try:
        prepare.prepare({"into": temporary, "limit_s": limit_s}, report)
    except Problem as problem:
        if problem.code not in ("headers-off", "headers-unknown"):
            raise
