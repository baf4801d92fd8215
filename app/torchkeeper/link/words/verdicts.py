"""Verdicts in words, the same in the window and on the command line.

What entries have comes from strangers: whoever shows these words makes them printable.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from torchkeeper.artifacts.entry import VERDICTS, Entry
from torchkeeper.link.words import preparing, say
from torchkeeper.link.words.catalogue import CATALOGUE
from torchkeeper.link.words.problems import printable, template
from torchkeeper.link.words.tongue import Text, several, tr
from torchkeeper.settings.checks import about

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
#: Whose values are of PyTorch's own making.
_UNTOLD = ("custom_backend_codegen_implications[", "nested_inductor_config_patches")
#: What names another entry by its key.
_KEYED = frozenset({"fxgraph", "code", "key", "payload"})
_IMPLIED = "custom_backend_codegen_implications["
#: A dictionary, and a hash in whatever letters.
_UNREADABLE = re.compile(r"\{.{2}|.*(?:[0-9a-f]{40}|[a-z2-7]{50})", re.DOTALL)
#: What has sources of the same version that differ.
_BUILT = frozenset({"torch", "triton", "device_interfaces"})
#: What turns a remote cache on.
_SWITCHES = {
    "fxgraph remote cache": f"{about.REMOTE_GRAPHS}=1",
    "aotautograd remote cache": f"{about.REMOTE_AUTOGRAD}=1",
    "autotune remote cache": "TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE=1",
    "bundle remote cache": f"{about.BUNDLED}=1",
    "pgo remote cache": f"{about.REMOTE_PROFILES}=1",
    "triton remote cache": "TRITON_CACHE_MANAGER=triton.runtime.cache:RemoteCacheManager "
    "TRITON_REMOTE_CACHE_BACKEND=triton.runtime.cache:RedisRemoteCacheBackend",
}
#: What makes an entry broken that can be read.
_DAMAGE: dict[str, Text] = {
    "code": "PyTorch cannot load what was built of it: {entry}",
    "key": "it was written as {entry}",
}
#: So many entries with a verdict.
_COUNTED: dict[str, Text] = {
    "usable": "{n} usable",
    "conditional": "{n} conditional",
    "unsafe": "{n} unsafe",
    "stale": "{n} stale",
    "unknown": "{n} unknown",
    "broken": "{n} broken",
}
#: A value that Python reads as it is written.
_PLAIN = re.compile(r"True|False|None|-?[0-9]{1,9}(?:\.[0-9]{1,9})?|'[A-Za-z0-9_., -]{0,60}'")
_MAX_NAMED = 3
#: Characters of a value, and of the reasons of one verdict.
_MAX_VALUE, _MAX_WHY = 200, 400


def factor(name: str) -> str:
    """What a factor is called."""
    if name in _NAMES:
        return tr(_NAMES[name])
    if name.startswith("fxgraph "):
        return tr("of its FX graph, {factor}", factor=factor(name[8:]))
    if name.startswith(_IMPLIED):
        device = name[len(_IMPLIED) : -1]
        return tr("settings of the backend for {device}", device=device)
    for prefix in ("inductor_config[", "fx_kwargs[", "inductor_config_comms[", "functorch_config["):
        if name.startswith(prefix):
            return name[len(prefix) : -1]
    return name


def unreadable(*values: object) -> bool:
    """Whether nobody reads one of these: a dictionary, or a hash."""
    return any(_UNREADABLE.match(str(value or "")) for value in values)


def difference(one: dict[str, Any]) -> str:
    """``torch 2.9.1+cu128, here 2.13.0+cpu``; only the factor's name where no values are known."""
    name, entry, here = str(one.get("factor")), one.get("entry"), one.get("here")
    if name == "payload" and entry in CATALOGUE:
        return template(CATALOGUE[str(entry)].what, {}).rstrip(".").format_map(_Missing())
    if name in _DAMAGE and entry is not None:
        return tr(_DAMAGE[name], entry=entry)
    said = factor(name)
    if entry is None and here is None:
        return said
    if name == "torch" and entry is None:
        return tr("another torch than {here}", here=here)
    if name.startswith(_UNTOLD) or (name not in _KEYED and unreadable(entry, here)):
        return tr("{factor}, another than here", factor=said)
    if name in _BUILT and entry == here:
        return tr("{factor} {version}, built otherwise than here", factor=said, version=here)
    return tr(
        "{factor} {entry}, here {here}",
        factor=said,
        entry=tr("none") if entry is None else entry,
        here=tr("none") if here is None else here,
    )


def remedy(one: dict[str, Any]) -> str:
    """What a program does to meet a condition: ``set OMP_NUM_THREADS=2 or …``; empty where that
    is its own affair.
    """
    name, entry = str(one.get("factor")), str(one.get("entry"))
    if name == _THREADS and entry.isdecimal():
        return tr("set OMP_NUM_THREADS={n} or torch.set_num_threads({n})", n=entry)
    if name == _HEADERS and entry in ("True", "False"):
        setting = f"{preparing.VARIABLE}={int(entry == 'True')}"
        return tr("set {setting} where the program runs", setting=setting)
    if name in _SWITCHES:
        return tr("set {setting} where the program runs", setting=_SWITCHES[name])
    if name == "server":
        return tr("set {setting} where the program runs", setting=f"{about.URL}={entry}")
    return ""


def must(one: dict[str, Any]) -> str:
    """What a program must do to meet a condition, as a sentence; empty where nobody can say."""
    if done := remedy(one):
        return done[0].upper() + done[1:]
    name, entry = str(one.get("factor")), one.get("entry")
    if name.startswith("inductor_config[") and entry is not None and _PLAIN.fullmatch(str(entry)):
        setting = f"torch._inductor.config.{factor(name)} = {entry}"
        return tr("Set {setting}", setting=setting)
    if name == "cuda_matmul_settings" and entry in ("highest", "high", "medium"):
        call = f'torch.set_float32_matmul_precision("{entry}")'
        return tr("Call {call}", call=call)
    return ""


def condition(one: dict[str, Any]) -> str:
    """A difference that a program can change, and how it does where that is known."""
    done = remedy(one)
    if done:
        return tr("{difference}: {remedy}", difference=difference(one), remedy=done)
    return difference(one)


class _Missing(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "…"


def why(row: dict[str, Any]) -> str:
    """Why an entry has its verdict; empty where that says all."""
    verdict = row.get("verdict")
    if verdict == "conditional":
        conditions = _listed(row.get("conditions"), condition)
        return tr("if the program has {conditions}", conditions=conditions)
    if verdict == "unknown":
        return tr("not known: {reasons}", reasons=_listed(row.get("reasons")))
    if verdict == "unsafe":
        return tr("taken all the same: {reasons}", reasons=_listed(row.get("reasons")))
    if verdict in ("stale", "broken"):
        return _listed(row.get("reasons"))
    return ""


def counted_as(verdict: str, count: int) -> str:
    """So many entries with a verdict, as “3 unsafe”."""
    return tr(_COUNTED[verdict], n=count) if verdict in _COUNTED else f"{count:,} {verdict}"


def unsafe() -> str:
    """What it means that an entry is unsafe, in two sentences."""
    return tr(
        "PyTorch takes it here, although it is for another machine. It may compute wrong results, "
        "or end the program."
    )


def _listed(differences: object, said_as: Callable[[dict[str, Any]], str] = difference) -> str:
    every = [one for one in (differences if isinstance(differences, list) else [])
             if isinstance(one, dict)]  # fmt: skip
    said = "; ".join(said_as(one) for one in every[:_MAX_NAMED])
    return say.and_more(said, len(every) - _MAX_NAMED)


class Why(str):
    """Why an entry has its verdict, in words that can be shown; each reason and condition is known
    besides.
    """

    __slots__ = ("row",)

    #: As an engine told it: verdict, reasons, conditions.
    row: dict[str, Any]

    @property
    def reasons(self) -> list[str]:
        """Each reason in words that can be shown."""
        return _each(self.row.get("reasons"))

    @property
    def conditions(self) -> list[str]:
        """Each condition in words that can be shown, and how a program meets it."""
        return _each(self.row.get("conditions"), condition)

    @property
    def to_meet(self) -> list[tuple[str, str]]:
        """Each condition in words that can be shown, and what the program must do to meet it."""
        every = self.row.get("conditions")
        return list(zip(_each(every), _each(every, must), strict=True))


def told(row: object) -> tuple[str, Why]:
    """A verdict and why, from what came over the wire. Raises ValueError where it is not as
    promised.
    """
    if not isinstance(row, dict):
        raise ValueError("a verdict is not an object")
    verdict = row.get("verdict")
    verdict = verdict if verdict in VERDICTS else "unknown"
    checked = {
        "verdict": verdict,
        **{name: _differences(row.get(name)) for name in ("reasons", "conditions")},
    }
    made = Why(printable(why(checked), _MAX_WHY))
    made.row = checked
    return verdict, made


def _differences(told: object) -> list[dict[str, str | None]]:
    return [
        {name: _text(one.get(name)) for name in ("factor", "entry", "here")}
        for one in (told if isinstance(told, list) else [])
        if isinstance(one, dict)
    ]


def _text(value: object) -> str | None:
    return None if value is None else str(value)[:_MAX_VALUE]


def _each(differences: object, said_as: Callable[[dict[str, Any]], str] = difference) -> list[str]:
    every = differences if isinstance(differences, list) else []
    return [printable(said_as(one), 3 * _MAX_VALUE) for one in every]


def summary(answer: dict[str, Any]) -> str:
    """``312 usable, 40 stale: made by torch 2.9.1+cu128``."""
    counts = {str(k): v for k, v in answer["verdicts"].items() if isinstance(v, int) and v}
    made_by = [str(version) for version in answer.get("made_by") or {}]
    said = []
    for name, count in counts.items():
        if name == "none":
            continue
        text = counted_as(name, count)
        if name == "stale" and made_by:
            versions = ", ".join(made_by[:_MAX_NAMED])
            text = tr("{stale}: made by torch {versions}", stale=text, versions=versions)
        said.append(text)
    # What says more than a number comes last.
    said.sort(key=lambda text: ":" in text)
    without = counts.get("none", 0)
    parts = [", ".join(said)] if said else []
    if without:
        parts.append(
            several(
                without, "{n} other file without a verdict", "{n} other files without a verdict"
            )
        )
    return "; ".join(parts) or tr("no entries")


def counted(entries: Iterable[Entry], torch: str) -> dict[str, Any]:
    """The counts of entries that have their verdicts, as an engine tells them, for a torch."""
    counts: Counter[str] = Counter()
    made_by: Counter[str] = Counter()
    for entry in entries:
        counts[entry.verdict or "none"] += 1
        if entry.verdict == "stale" and entry.torch not in (None, torch):
            made_by[str(entry.torch)] += 1
    order = {name: counts[name] for name in (*VERDICTS, "none") if counts[name]}
    return {"verdicts": order, "made_by": dict(made_by.most_common(20))}


def warning(answer: dict[str, Any], torch: str) -> str:
    """That nothing of what was judged is of use to a torch; empty where something may well be."""
    counts = answer["verdicts"]
    if any(counts.get(name) for name in ("usable", "conditional")):
        return ""
    if not any(counts.get(name) for name in ("stale", "broken")):
        return ""
    if counts.get("unknown") or counts.get("unsafe"):
        return tr("Nothing in it is known to be of use here, to torch {torch}.", torch=torch)
    return tr("Nothing in it can be used here, by torch {torch}.", torch=torch)


def together(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The counts of several places as one."""
    found: dict[str, Any] = {"verdicts": {}, "made_by": {}}
    for answer in answers:
        for part, counts in found.items():
            for name, count in (answer.get(part) or {}).items():
                counts[name] = counts.get(name, 0) + count
    order = [*VERDICTS, "none"]
    found["verdicts"] = {name: n for name in order if (n := found["verdicts"].get(name))}
    return found
