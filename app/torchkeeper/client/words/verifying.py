"""What is asked, and said, of a verification; shared by the window and the command line."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from torchkeeper.client.words import say
from torchkeeper.client.words.problems import printable, user_error
from torchkeeper.client.words.tongue import Nouns, Text, several, tr
from torchkeeper.warm.options import JUDGED, RUNS

if TYPE_CHECKING:
    from torchkeeper.client.kept.verified import KeptVariant, KeptVerification
    from torchkeeper.warm.shapes import Judged

TRUST: Text = (
    "Verifying runs code of the cache: PyTorch loads its entries, as in every program that uses it."
)

#: What each run is called, in the order in which they are made.
_TITLES: dict[str, Text] = {
    "cold": "cold",
    "mega": "stock mega-cache",
    "warm": "as it is",
    "prepared": "prepared",
}
_NOT_GOOD: dict[str, Text] = {"warm": "Not good as it is", "prepared": "Not good prepared"}
#: How fast a run with the target was: beside none at all, beside a stock mega-cache, beside both.
_COMPARED: dict[str, tuple[Text, Text, Text]] = {
    "warm": (
        "as it is {cold} as fast as cold",
        "as it is {mega} as fast as a stock mega-cache",
        "as it is {cold} as fast as cold and {mega} as fast as a stock mega-cache",
    ),
    "prepared": (
        "prepared {cold} as fast as cold",
        "prepared {mega} as fast as a stock mega-cache",
        "prepared {cold} as fast as cold and {mega} as fast as a stock mega-cache",
    ),
}
#: What of a thing is not in it; with the names of what missed.
_MISSING: dict[str, tuple[Text, Text]] = {
    "graphs": (
        "Some graphs are not in it. Warm it with this recipe, and export it again.",
        "Some graphs are not in it ({names}). Warm it with this recipe, and export it again.",
    ),
    "eager": (
        "Some eager kernels are not in it. Warm it with this recipe, and export it again.",
        "Some eager kernels are not in it ({names}). Warm it with this recipe, and export it "
        "again.",
    ),
    "triton": (
        "Some Triton kernels are not in it. Warm it with this recipe, and export it again.",
        "Some Triton kernels are not in it ({names}). Warm it with this recipe, and export it "
        "again.",
    ),
}
_ABOUTS: dict[str, Text] = {
    "cold": "nothing: no cache, an empty temporary folder",
    "mega": "what PyTorch's own save_cache_artifacts kept of the cold run",
    "warm": "a copy of the cache, and an empty temporary folder",
    "prepared": "the same, with the precompiled header there already",
}

#: Why a run was left out, by the reason that a result has.
_SKIPPED: dict[str, Text] = {
    "script": "a script compiles in a process of its own, where nothing saves or loads one",
    "no-graphs": "it holds graphs, and this recipe makes none",
    "no-header": "this program uses no precompiled header",
}
_UNWRITTEN: Nouns = (
    "{n} graph is traced again at each start, though its code is cached: PyTorch writes its "
    "AOTAutograd entry only once its backward graph is compiled, and the program never runs that.",
    "{n} graphs are traced again at each start, though their code is cached: PyTorch writes their "
    "AOTAutograd entries only once their backward graphs are compiled, and the program runs none.",
)
_VARIANTS: Nouns = (
    "{n} of {all} variants is good. {outcome}",
    "{n} of {all} variants are good. {outcome}",
)
#: Graphs of which is said why they were no hit, one for each reason.
_EXPLAINED = 3


def runs(quick: bool, portable: bool) -> list[str]:
    """The runs to ask for. Where no header is precompiled, there is nothing to prepare."""
    return ["warm"] if quick else [x for x in RUNS if not (portable and x == "prepared")]


def title(name: str) -> str:
    return tr(_TITLES[name]) if name in _TITLES else printable(name, 40)


def about(name: str) -> str:
    """What a run finds; empty where that is not known."""
    return tr(_ABOUTS.get(name, ""))


def skipped(reason: str) -> str:
    """Why a run was left out, or would be."""
    return tr(_SKIPPED[reason]) if reason in _SKIPPED else printable(reason, 80)


def beginning(name: str) -> str:
    return f"{title(name)}: {about(name)}" if name in _ABOUTS else printable(name)


def is_strange(place: str) -> bool:
    """Whether what is at a path is somebody else's: any file, or another user's folder."""
    try:
        return not os.path.isdir(place) or os.stat(place).st_uid != os.getuid()
    except OSError:
        return True


def told_by(result: KeptVerification) -> tuple[str, Judged]:
    """The run by which a verification is told, and its counts: the first one with the target that
    was not good, else the last; "" and the result where it tells of none. A program that finds no
    header is a run by itself: that the prepared one was good does not make up for it.
    """
    runs: list[tuple[str, Judged]] = [
        (name, result["runs"][name]) for name in JUDGED if name in result["runs"]
    ]
    if result["good"]:
        return runs[-1] if runs else ("", result)
    return next(((name, run) for name, run in runs if faults(run)), ("", result))


def faults(counts: Judged) -> list[str]:
    """What is not good about a run, in a few words each: "nothing hit", "5 objects built again"."""
    if not counts["hits"]:
        return [tr("nothing hit")]
    found = []
    if missed := counts["misses"]:
        found.append(say.count(missed, "miss", "misses"))
    if missed := _avoidable(counts):
        found.append(say.count(missed, "AOTAutograd miss", "AOTAutograd misses"))
    if counts["rebuilt"]:
        found.append(_rebuilt(counts["rebuilt"]))
    return found


def _avoidable(counts: Judged) -> int:
    """AOTAutograd's misses of which there could have been an entry."""
    return counts["autograd"]["misses"] - counts["unwritten"]


def asides(result: KeptVerification) -> list[str]:
    """What is no fault, and worth a sentence each: what cannot be cached, which runs there were
    not, and why.
    """
    unwritten = told_by(result)[1]["unwritten"]
    said = [several(unwritten, *_UNWRITTEN)] if unwritten else []
    for name, reason in result["skipped"].items():
        said.append(tr("Without the run “{run}”: {why}.", run=title(name), why=skipped(reason)))
    return said


def _rebuilt(count: int) -> str:
    return several(count, "{n} object built again", "{n} objects built again")


def verdict(result: KeptVerification) -> str:
    """Whether it is good; if not, what is not and in which run: "Not good as it is: 3 misses"."""
    name, counts = told_by(result)
    if result["good"]:
        return tr("Good")
    if (variants := result["whole"]["variants"]) > 1:
        bad = variants - result["whole"]["good"]
        return tr("Not good: {bad} of {all} variants", bad=bad, all=variants)
    found, how = ", ".join(faults(counts)), _not_good(result, name)
    return f"{how}: {found}" if found else how


def _not_good(result: KeptVerification, name: str) -> str:
    """That it was not good, and in which run, where there is more than one."""
    return tr("Not good" if _one(result) else _NOT_GOOD.get(name, "Not good"))


def _one(result: KeptVerification) -> bool:
    """Whether there is just one run that the target is judged by, so that none need be named."""
    return sum(name in result["runs"] for name in JUDGED) <= 1


def outcome(result: KeptVerification) -> str:
    """A verification in one sentence."""
    name, counts = told_by(result)
    hits, misses = counts["hits"], counts["misses"]
    found = [say.lookups(hits, misses, counts["bypasses"])]
    if missed := _avoidable(counts):
        found.append(say.count(missed, "AOTAutograd miss", "AOTAutograd misses"))
    things = result["things"]
    looked_up = say.things(things if len(things) > 1 else {_thing(result): counts["graphs"]})
    how = tr("Good") if result["good"] else _not_good(result, name)
    shown = {"things": looked_up, "found": ", ".join(found), "rebuilt": _rebuilt(counts["rebuilt"])}
    said = tr("{verdict}: of {things} {found}; {rebuilt}", verdict=how, **shown)
    if (variants := result["whole"]["variants"]) > 1:
        said = several(result["whole"]["good"], *_VARIANTS, all=variants, outcome=said)
    return "; ".join([said, *_compared(result["ratios"])]) + "."


def _thing(result: KeptVerification) -> str:
    """What it is that was looked up, as ``say.THINGS`` knows it: graphs where there are several."""
    things = result["things"]
    return next(iter(things)) if len(things) == 1 else "graphs"


def of_variant(variant: KeptVariant) -> str:
    """What became of a variant, in a few words: "good", "2 misses", what it failed by."""
    if variant["problem"] is not None:
        return user_error(variant["problem"]["code"], variant["problem"]["params"]).what
    if variant["good"]:
        return tr("good")
    found = []
    if not variant["hits"]:
        found.append(tr("nothing hit"))
    elif variant["misses"]:
        found.append(say.count(variant["misses"], "miss", "misses"))
    if variant["hits"] and variant["rebuilt"]:
        found.append(_rebuilt(variant["rebuilt"]))
    return ", ".join(found) or tr("AOTAutograd misses")


def why_of_variant(variant: KeptVariant) -> str:
    """Why a variant is not good, in a line; empty where that is not known."""
    if variant["problem"] is not None:
        error = user_error(variant["problem"]["code"], variant["problem"]["params"])
        return " ".join(part for part in (error.why, error.remedy) if part)
    return variant["why"] or ""


def _compared(ratios: Mapping[str, float]) -> list[str]:
    told = []
    for name, (beside_cold, beside_mega, beside_both) in _COMPARED.items():
        beside = {
            other: ratio(ratios[f"{name}_{other}"])
            for other in ("cold", "mega")
            if f"{name}_{other}" in ratios
        }
        if len(beside) == 2:
            told.append(tr(beside_both, **beside))
        elif beside:
            told.append(tr(beside_cold if "cold" in beside else beside_mega, **beside))
    return told


def best(result: KeptVerification) -> float | None:
    """How many times as fast as cold the last run with the target was; None without one."""
    told = (result["ratios"].get(f"{name}_cold") for name in reversed(JUDGED))
    return next((found for found in told if found is not None), None)


def ratio(value: float) -> str:
    """How many times: 2.9 ×."""
    return f"{value:.1f} ×"


def advice(result: KeptVerification, made_threads: int | None = None) -> list[str]:
    """What to do about a verification that is not good. made_threads: how many threads the target
    says it was made with. Whoever shows the texts makes PyTorch's names in them printable.
    """
    return [] if result["good"] else list(_advice(result, made_threads))


def _advice(result: KeptVerification, made_threads: int | None) -> Iterator[str]:
    name, counts = told_by(result)
    threads, hits, misses = result["threads"], counts["hits"], counts["misses"]
    if not _one(result) and name == "warm" and not faults(result):
        yield tr(
            "It is good if the precompiled header is there. As it is, without the header, as on a "
            "fresh machine, it is not good."
        )
    if misses and made_threads and threads and made_threads != threads:
        yield tr(
            "It was made for {made}, but this program had {here}. If programs should use {n}, set "
            "OMP_NUM_THREADS={n} for them, and verify with this number; else warm it again.",
            made=say.count(made_threads, "thread", "threads"),
            here=str(threads),
            n=str(made_threads),
        )
    # Of several variants the table says why.
    one_variant = result["whole"]["variants"] <= 1
    every = {why: row for row in result["rows"] if one_variant and (why := row.get("why"))}
    explained = dict(list(every.items())[:_EXPLAINED])
    if not one_variant:
        yield tr(
            "What is not good is missing, or made for another environment: warm it with these "
            "recipes, and verify again. Verify with --portable what you warmed with --portable."
        )
    elif not hits and explained:
        yield tr("Nothing hit. Warm it with this recipe, in this environment.")
    elif not hits:
        yield tr(
            "Nothing hit: it is for another torch, device, number of threads or other settings, or "
            "it was never warmed with this recipe. “torchkeeper check” says which, for each entry. "
            "Verify with --portable what you warmed with --portable."
        )
    elif misses:
        missed = [row["name"] for row in result["rows"] if row["outcome"] == "miss"]
        # What they are called has commas of its own.
        yield tr(_MISSING[_thing(result)][bool(missed)], names="; ".join(dict.fromkeys(missed)))
    yield from (f"{row['name']}: {why}." for why, row in explained.items())
    if hits and _avoidable(counts) and not misses:
        yield tr(
            "AOTAutograd entries are missing, so PyTorch traces again, although all graphs hit. "
            "Export or copy them, too (kind:aotautograd finds them)."
        )
    if counts["rebuilt"] and not misses:
        yield tr(
            "PyTorch built objects again: they are missing, or their names are for torch in "
            "another folder, another compiler or CPU. Export the folder to a bundle where it was "
            "made, with its code (kind:code), and import that here for this environment."
        )
