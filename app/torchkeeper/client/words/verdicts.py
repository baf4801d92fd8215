"""Verdicts in words. What entries have is strangers': whoever shows these words makes them
printable.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import VERDICTS, Entry
from torchkeeper.client.words import preparing, say
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.client.words.problems import printable, template
from torchkeeper.client.words.tongue import Nouns, Text, several, tr
from torchkeeper.settings import known

if TYPE_CHECKING:
    from torchkeeper.engine.messages.verdicts import JudgeResult
    from torchkeeper.verdict.probed import DifferenceTold, VerdictTold

#: What is said where an entry has nothing. Objects that torch built before 2.13 do not say theirs.
_NOTHING: dict[str, Text] = {"vector instructions": "not recorded"}
_THREADS = "cpp_runtime_thread_count"
_HEADERS = "inductor_config[cpp_cache_precompile_headers]"
#: What a factor is called; others are called as PyTorch calls them.
_NAMES: dict[str, Text] = {
    "torch": "torch",
    "torch_version": "torch's sources",
    "system_info[hash]": "the system",
    "system_info[device]": "the GPU",
    "system_info[version]": "CUDA or ROCm, and Triton",
    "system_info[device_interfaces]": "device backends",
    _THREADS: "threads",
    _HEADERS: "precompiled headers",
    "cuda_matmul_settings": "matmul precision",
    "deterministic_algorithms_settings": "deterministic algorithms",
    "cache_key_tag": "cache key tag",
    "default_dtype": "default dtype",
    "fxgraph": "its FX graph",
    "fxgraph cache": "the cache of FX graphs",
    "aotautograd cache": "AOTAutograd's cache",
    "functorch_config": "AOTAutograd's settings",
    "fxgraph remote cache": "the remote cache of FX graphs",
    "aotautograd remote cache": "AOTAutograd's remote cache",
    "autotune remote cache": "the remote cache of autotuning",
    "bundle remote cache": "the remote cache of autotuning, bundled",
    "pgo remote cache": "the remote cache of profiles",
    "triton remote cache": "Triton's remote cache",
    "caches": "PyTorch's caches",
    "server": "the server",
    "triton_server": "Triton's server",
    "redis package": "Python's redis package",
    "gpu": "GPU",
    "triton": "Triton",
    "cuda": "CUDA",
    "hip": "ROCm",
    "device_interfaces": "device backends",
    "compile_on_one_rank": "compiling on one rank",
    "nested_inductor_config_patches": "settings of parts of the graph",
    "provenance_tracking_level": "tracking of where kernels come from",
    "provenance_tracking_to_timeline": "that tracking in the timeline",
}
_IMPLIED = "custom_backend_codegen_implications["
#: Whose values are of PyTorch's own making.
_UNTOLD = (_IMPLIED, "nested_inductor_config_patches")
#: What names another entry by its key.
_KEYED = frozenset({"fxgraph", "code", "key", "payload"})
#: A dictionary, and a hash in whatever letters.
_UNREADABLE = re.compile(r"\{.{2}|.*(?:[0-9a-f]{40}|[a-z2-7]{50})", re.DOTALL)
#: What has sources of the same version that differ.
_BUILT = frozenset({"torch", "triton", "device_interfaces"})
#: What turns a remote cache on.
_SWITCHES = {
    "fxgraph remote cache": f"{known.REMOTE_GRAPHS}=1",
    "aotautograd remote cache": f"{known.REMOTE_AUTOGRAD}=1",
    "autotune remote cache": "TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE=1",
    "bundle remote cache": f"{known.BUNDLED}=1",
    "pgo remote cache": f"{known.REMOTE_PROFILES}=1",
    "triton remote cache": "TRITON_CACHE_MANAGER=triton.runtime.cache:RemoteCacheManager "
    "TRITON_REMOTE_CACHE_BACKEND=triton.runtime.cache:RedisRemoteCacheBackend",
}
#: What makes an entry broken that can be read.
_DAMAGE: dict[str, Text] = {
    "code": "PyTorch cannot load what was built from it: {entry}",
    "key": "its own key is {entry}",
}
_COUNTED: dict[str, Text] = {
    "usable": "{n} usable",
    "conditional": "{n} conditional",
    "unsafe": "{n} unsafe",
    "stale": "{n} stale",
    "unknown": "{n} unknown",
    "broken": "{n} broken",
}
_WITHOUT: Nouns = ("{n} without a verdict", "{n} without a verdict")
#: Why there is none, of what is counted apart, and by the kind of entries.
_NO_ENTRY: Text = "It is no entry: no program looks it up."
_NONE: dict[str, Text] = {
    "code": "It has no verdict of its own; the entry that needs it has one.",
    "jit": "Nobody can tell whether its compiler will use it.",
}
#: A value that Python reads as it is written.
_PLAIN = re.compile(r"True|False|None|-?[0-9]{1,9}(?:\.[0-9]{1,9})?|'[A-Za-z0-9_., -]{0,60}'")
_MAX_NAMED = 3
#: Characters of a value, and of the reasons of one verdict.
_MAX_VALUE, _MAX_WHY = 200, 400


def factor(name: str) -> str:
    if name in _NAMES:
        return tr(_NAMES[name])
    if name.startswith("fxgraph "):
        return tr("its FX graph: {factor}", factor=factor(name[8:]))
    if name.startswith(_IMPLIED):
        return tr("settings of the backend for {device}", device=name[len(_IMPLIED) : -1])
    for prefix in ("inductor_config[", "fx_kwargs[", "inductor_config_comms[", "functorch_config["):
        if name.startswith(prefix):
            return name[len(prefix) : -1]
    return name


def none(kind: str) -> str:
    """Why what is of a kind has no verdict (``artifacts.entry.WITHOUT_VERDICT``), in a sentence."""
    return tr(_NONE.get(kind, _NO_ENTRY))


def unreadable(*values: object) -> bool:
    """Whether nobody reads one of these: a dictionary, or a hash."""
    return any(_UNREADABLE.match(str(value or "")) for value in values)


def difference(one: DifferenceTold) -> str:
    """``torch 2.9.1+cu128, here 2.13.0+cpu``; only the factor's name where no values are known."""
    name, entry, here = one["factor"], one["entry"], one["here"]
    if name == "payload" and entry in CATALOGUE:
        return template(CATALOGUE[entry].what, {}).rstrip(".").format_map(_Missing())
    if name in _DAMAGE and entry is not None:
        return tr(_DAMAGE[name], entry=entry)
    said = factor(name)
    if entry is None and here is None:
        return said
    if name == "torch" and entry is None:
        return tr("another torch than {here}", here=here)
    if name.startswith(_UNTOLD) or (name not in _KEYED and unreadable(entry, here)):
        return tr("{factor}: not the same as here", factor=said)
    if name in _BUILT and entry == here:
        return tr("another build of {factor} {version}", factor=said, version=here)
    return tr(
        "{factor} {entry}, here {here}",
        factor=said,
        entry=tr(_NOTHING.get(name, "none")) if entry is None else entry,
        here=tr("none") if here is None else here,
    )


def remedy(one: DifferenceTold) -> str:
    """How a program meets a condition: ``set OMP_NUM_THREADS=2 or …``; empty for its own affair."""
    name, entry = one["factor"], str(one["entry"])
    if name == _THREADS and entry.isdecimal():
        return tr("set OMP_NUM_THREADS={n} or torch.set_num_threads({n})", n=entry)
    setting = _SWITCHES.get(name, "")
    if name == _HEADERS and entry in ("True", "False"):
        setting = f"{preparing.VARIABLE}={int(entry == 'True')}"
    elif name == "server":
        setting = f"{known.URL}={entry}"
    return tr("set {setting} where the program runs", setting=setting) if setting else ""


def must(one: DifferenceTold) -> str:
    """What a program must do to meet a condition, as a sentence; empty where nobody can say."""
    if done := remedy(one):
        return done[0].upper() + done[1:]
    name, entry = one["factor"], one["entry"]
    if name.startswith("inductor_config[") and entry is not None and _PLAIN.fullmatch(entry):
        return tr("Set {setting}", setting=f"torch._inductor.config.{factor(name)} = {entry}")
    if name == "cuda_matmul_settings" and entry in ("highest", "high", "medium"):
        return tr("Call {call}", call=f'torch.set_float32_matmul_precision("{entry}")')
    return ""


def condition(one: DifferenceTold) -> str:
    """A difference that a program can change, and how it does where that is known."""
    said, done = difference(one), remedy(one)
    return tr("{difference}: {remedy}", difference=said, remedy=done) if done else said


#: Why an entry has a verdict; of others that says all.
_WHY: dict[str, Text] = {
    "conditional": "if the program has {conditions}",
    "unknown": "not known: {reasons}",
    "unsafe": "loaded anyway: {reasons}",
}


class _Missing(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "…"


def why(row: VerdictTold) -> str:
    """Why an entry has its verdict; empty where that says all."""
    reasons, conditions = _listed(row["reasons"]), _listed(row["conditions"], condition)
    if row["verdict"] in ("stale", "broken"):
        return reasons
    return tr(_WHY.get(row["verdict"] or "", ""), reasons=reasons, conditions=conditions)


def counted_as(verdict: str, count: int) -> str:
    """So many entries with a verdict, as “3 unsafe”."""
    return tr(_COUNTED[verdict], n=count) if verdict in _COUNTED else f"{count:,} {verdict}"


def unsafe() -> str:
    """What it means that an entry is unsafe, in two sentences."""
    return tr(
        "PyTorch loads it here, although it is for another machine. It may compute wrong results, "
        "or crash the program."
    )


def _listed(
    every: Sequence[DifferenceTold], said_as: Callable[[DifferenceTold], str] = difference
) -> str:
    said = "; ".join(said_as(one) for one in every[:_MAX_NAMED])
    return say.and_more(said, len(every) - _MAX_NAMED)


class Why(str):
    """Why an entry has its verdict, in words; each reason and condition is known besides."""

    __slots__ = ("row",)

    #: As an engine told it.
    row: VerdictTold

    @property
    def reasons(self) -> list[str]:
        return _each(self.row["reasons"])

    @property
    def conditions(self) -> list[str]:
        """Each condition in words that can be shown, and how a program meets it."""
        return _each(self.row["conditions"], condition)

    @property
    def to_meet(self) -> list[tuple[str, str]]:
        """Each condition in words that can be shown, and what the program must do to meet it."""
        every = self.row["conditions"]
        return list(zip(_each(every), _each(every, must), strict=True))


def told(row: VerdictTold) -> tuple[str, Why]:
    """A verdict and why, from what came over the wire; one that is not known says so."""
    verdict = row["verdict"] if row["verdict"] in VERDICTS else "unknown"
    reasons, conditions = (list(map(_bounded, row[of])) for of in ("reasons", "conditions"))
    checked: VerdictTold = {"verdict": verdict, "reasons": reasons, "conditions": conditions}
    made = Why(printable(why(checked), _MAX_WHY))
    made.row = checked
    return verdict, made


def _bounded(one: DifferenceTold) -> DifferenceTold:
    entry, here = (value and value[:_MAX_VALUE] for value in (one["entry"], one["here"]))
    return {"factor": one["factor"][:_MAX_VALUE], "entry": entry, "here": here}


def _each(
    every: Sequence[DifferenceTold], said_as: Callable[[DifferenceTold], str] = difference
) -> list[str]:
    return [printable(said_as(one), 3 * _MAX_VALUE) for one in every]


def summary(answer: JudgeResult) -> str:
    """``312 usable, 40 stale: made by torch 2.9.1+cu128``."""
    counts, versions = answer["verdicts"], ", ".join(list(answer["made_by"])[:_MAX_NAMED])
    said = []
    for name, count in counts.items():
        if name != "none" and count:
            text = counted_as(name, count)
            if name == "stale" and versions:
                text = tr("{stale}: made by torch {versions}", stale=text, versions=versions)
            said.append(text)
    # What says more than a number comes last.
    parts = [", ".join(sorted(said, key=lambda text: ":" in text))] if said else []
    if without := counts.get("none", 0):
        parts.append(several(without, *_WITHOUT))
    return "; ".join(parts) or tr("no entries")


def counted(entries: Iterable[Entry], torch: str) -> JudgeResult:
    """The counts of entries that have their verdicts, as an engine tells them, for a torch."""
    counts, made_by = Counter[str](), Counter[str]()
    for entry in entries:
        counts[entry.verdict or "none"] += 1
        if entry.verdict == "stale" and entry.torch not in (None, torch):
            made_by[str(entry.torch)] += 1
    return {"verdicts": _in_order(counts), "made_by": dict(made_by.most_common(20))}


def _in_order(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in (*VERDICTS, "none") if counts[name]}


def warning(answer: JudgeResult, torch: str) -> str:
    """That nothing of what was judged is of use to a torch; empty where something may well be."""
    there = {name for name, count in answer["verdicts"].items() if count}
    if there & {"usable", "conditional"} or not there & {"stale", "broken"}:
        return ""
    if there & {"unknown", "unsafe"}:
        return tr("No entry in it is known to work here with torch {torch}.", torch=torch)
    return tr("No entry in it works here with torch {torch}.", torch=torch)


def together(answers: Iterable[JudgeResult]) -> JudgeResult:
    verdicts, made_by = Counter[str](), Counter[str]()
    for answer in answers:
        verdicts.update(answer["verdicts"])
        made_by.update(answer["made_by"])
    return {"verdicts": _in_order(verdicts), "made_by": dict(made_by)}
