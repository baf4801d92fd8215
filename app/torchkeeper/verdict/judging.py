"""Whether an environment can use an entry, and why not: from facts alone, without looking.

A verdict of "usable" promises that a program of this environment hits; where anything that would
decide that is not recorded, the verdict is "unknown". "Stale" promises that no program hits. What
PyTorch would take although it is for another machine is "unsafe": nothing keeps a program from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from torchkeeper.artifacts import fxgraph
from torchkeeper.artifacts.entry import VERDICTS, Entry
from torchkeeper.verdict import native, systems
from torchkeeper.verdict.native import Code
from torchkeeper.verdict.probed import Env
from torchkeeper.verdict.shapes import DifferenceTold, VerdictTold

#: Differences that are kept of one entry.
_MAX = 50
_VALUE = 200
#: Factors that no program can change.
_TORCH = "torch_version"
_SYSTEM = "system_info["
_SYSTEM_HASH = "system_info[hash]"
#: Factors that only some graphs have: without them, they do not matter to a graph.
_THREADS = "cpp_runtime_thread_count"
_NATIVE = "vector instructions"
_SIMDLEN = "inductor_config[cpp.simdlen]"
_NO_CODE = Code()
#: Device types that every machine has.
_EVERYWHERE = frozenset({"cpu", "meta"})
#: Hash and value of a key factor.
_Factor = tuple[str, str]
#: Verdicts of what PyTorch takes, if it looks.
_TAKEN = frozenset({"usable", "conditional", "unsafe"})


@dataclass(frozen=True)
class Difference:
    """One factor: what the entry has, and what is here; None where that is not known."""

    factor: str
    entry: str | None = None
    here: str | None = None

    def to_json(self) -> DifferenceTold:
        """The difference as a JSON object."""
        return {"factor": self.factor[:_VALUE], "entry": _cut(self.entry), "here": _cut(self.here)}


@dataclass(frozen=True)
class Verdict:
    """verdict: one of VERDICTS, or None for a kind in WITHOUT_VERDICT.

    reasons: why it is unsafe, stale, unknown or broken; conditions: what a program must meet for it
    to be used, besides what made it so.
    """

    verdict: str | None
    reasons: tuple[Difference, ...] = ()
    conditions: tuple[Difference, ...] = ()

    def to_json(self) -> VerdictTold:
        """verdict, reasons and conditions as a JSON object."""
        return {
            "verdict": self.verdict,
            "reasons": [one.to_json() for one in self.reasons[:_MAX]],
            "conditions": [one.to_json() for one in self.conditions[:_MAX]],
        }


def unknown(*factors: str) -> Verdict:
    """What would decide is not recorded: these."""
    return Verdict("unknown", tuple(Difference(factor) for factor in factors))


@dataclass
class _Found:
    """What was found of one entry on the way to its verdict."""

    stale: list[Difference] = field(default_factory=list)
    unsafe: list[Difference] = field(default_factory=list)
    unknown: list[Difference] = field(default_factory=list)
    conditions: list[Difference] = field(default_factory=list)

    def verdict(self) -> Verdict:
        conditions = tuple(self.conditions)
        if self.stale:
            # Nothing a program meets makes it good.
            return Verdict("stale", tuple(self.stale))
        if self.unsafe:
            return Verdict("unsafe", (*self.unsafe, *self.unknown), conditions)
        if self.unknown:
            return Verdict("unknown", tuple(self.unknown), conditions)
        return Verdict("conditional" if conditions else "usable", (), conditions)


def damaged(entry: Entry) -> Verdict | None:
    """The verdict of what cannot be read, whatever it holds."""
    if entry.broken:
        return Verdict("broken", (Difference("payload", entry.problem),))
    if entry.problem:
        return Verdict("unknown", (Difference("payload", entry.problem),))
    return None


def graph(
    torch: str | None,
    device: str | None,
    factors: Iterable[Sequence[str]] | None,
    env: Env,
    code: Code = _NO_CODE,
) -> Verdict:
    """The verdict of an FX graph or AOTAutograd entry.

    torch: the version that made it, device: its device types, separated by commas; None where
    that is not recorded. factors: (hash, name, value) of its key factors; None or empty where
    none are recorded. env: as ``verdict.environment.probe`` tells. code: what it has for the CPU.
    AOTAutograd's own settings are recorded nowhere, and taken for torch's own
    (``same_autograd`` asks whether those hold here).
    """
    found = _Found()
    known = env.get("key_factors") or {}
    own: dict[str, set[_Factor]] = {}
    for digest, name, value in factors or ():
        if not fxgraph.of_graph(name):
            own.setdefault(name, set()).add((digest, value))
    _same_torch(torch, own, known, env, found)
    _same_system(own, known, env, found)
    _device(device, env, found)
    _native(code, own, env, found)
    if not own or not known:
        if not own:
            found.unknown.insert(0, Difference("key factors"))
        return found.verdict()
    for name in own.keys() | known.keys():
        if name != _TORCH and not name.startswith(_SYSTEM):
            _setting(name, own.get(name), known.get(name), found)
    if _THREADS in known and _THREADS not in own and _on_cpu(device, own, known):
        found.unknown.append(Difference(_THREADS, None, _value(known[_THREADS])))
    found.conditions.sort(key=lambda one: (one.factor.startswith("inductor_config"), one.factor))
    found.unknown.sort(key=lambda one: one.factor)
    return found.verdict()


def _same_torch(
    torch: str | None,
    own: Mapping[str, set[_Factor]],
    known: Mapping[str, _Factor],
    env: Env,
    found: _Found,
) -> None:
    version = env.get("torch")
    if torch and version is not None and torch != version:
        # The hash is of the version, too.
        found.stale.append(Difference("torch", torch, version))
        return
    recorded, here = own.get(_TORCH), _hash(known.get(_TORCH))
    if not recorded or here is None:
        found.unknown.append(Difference(_TORCH))
    elif any(digest != here for digest, _ in recorded):
        # Of the same version it is another build; since 2.14 few entries tell the version.
        found.stale.append(Difference("torch", torch, version))


def _same_system(
    own: Mapping[str, set[_Factor]],
    known: Mapping[str, _Factor],
    env: Env,
    found: _Found,
) -> None:
    if not own or not known:
        return
    recorded, digest = own.get(_SYSTEM_HASH), _hash(known.get(_SYSTEM_HASH))
    if not recorded or digest is None:
        found.unknown.append(Difference("system_info"))
        return
    if {one for one, _ in recorded} == {digest}:
        return  # it is the hash of all the rest
    values = {
        name[len(_SYSTEM) : -1]: max(value for _, value in told)
        for name, told in own.items()
        if name.startswith(_SYSTEM)
    }
    here = systems.of_probe(env.get("system")) or {}
    parts = systems.differing(systems.of_factors(values), here, env)
    # Where nothing but the hash differs, nobody can say what does.
    telling = [Difference(*one) for one in parts] or [Difference(_SYSTEM_HASH)]
    # PyTorch takes the GPU that is the current one when it asks first.
    gpus = {one["name"] for one in env.get("devices", ()) if one["type"] != "cpu"}
    (found.unknown if len(gpus) > 1 else found.stale).extend(telling)


def _device(device: str | None, env: Env, found: _Found) -> None:
    here = device_types(env)
    for wanted in (device or "").split(","):
        if wanted and wanted not in _EVERYWHERE and not is_device_here(wanted, env):
            said = ", ".join(sorted(here))
            # Every machine has one; where none is told, not all is known.
            differing = Difference("device", wanted, said or None)
            (found.stale if here else found.unknown).append(differing)


def _native(
    code: Code,
    own: Mapping[str, set[_Factor]],
    env: Env,
    found: _Found,
) -> None:
    asked = {value.strip() for _, value in own.get(_SIMDLEN, ())}
    simdlen = asked.pop() if len(asked) == 1 else None
    said = [native.width(code, simdlen, env), *native.objects(code, env)]
    for state, (entry, here) in filter(None, said):
        differing = Difference(_NATIVE, entry, here)
        # No key holds it: it is found, and taken.
        (found.unsafe if state == "unsafe" else found.unknown).append(differing)
    if libs := native.libraries(code, env):
        (found.stale if libs == "stale" else found.unknown).append(Difference("Triton's libraries"))
    if code.compiled and "cxx" in env and not env["cxx"]:
        found.conditions.append(Difference("C++ compiler", "needed", None))


def _setting(name: str, recorded: set[_Factor] | None, here: _Factor | None, found: _Found) -> None:
    digest = _hash(here)
    if recorded is None:
        if name != _THREADS:
            found.unknown.append(Difference(name, None, _value(here)))
    elif differing := sorted(value for one, value in recorded if one != digest):
        found.conditions.append(Difference(name, _cut(differing[0]), _value(here)))


def _on_cpu(
    device: str | None, own: Mapping[str, set[_Factor]], known: Mapping[str, _Factor]
) -> bool:
    """Whether the number of threads is a factor of its key, as far as that is known
    (FxGraphHashDetails in torch/_inductor/codecache.py).
    """
    if device is not None and "cpu" not in device.split(","):
        return False
    # Where the program says how many, another factor differs.
    return all(
        {digest for digest, _ in own.get(name, ())} == {_hash(known.get(name))}
        for name in ("inductor_config[cpp.threads]", "inductor_config[cpp.dynamic_threads]")
    )


def _hash(known: _Factor | None) -> str | None:
    return None if known is None else known[0]


def _value(known: _Factor | None) -> str | None:
    return None if known is None else _cut(known[1])


def _cut(value: str | None) -> str | None:
    return None if value is None else value[:_VALUE]


def taken_blindly(said: Verdict) -> bool:
    """Whether what makes it bad is native code or another key, at which PyTorch does not look."""
    return any(one.factor in (_NATIVE, "code", "key") for one in said.reasons)


def looked_for(kind: str, said: Verdict, env: Env) -> Verdict:
    """The verdict of a graph in a folder, given whether programs look for its kind there at all."""
    if said.verdict not in _TAKEN:
        return said
    on = (env.get("caches") or {}).get(kind)
    if on is True:
        return same_autograd(said, env) if kind == "aotautograd" else said
    name = f"{kind} cache"
    if on is False:
        return under(said, (Difference(name, "on", "off"),))
    return under(said, (), (Difference(name),))


def under(
    said: Verdict, conditions: Sequence[Difference], unknown: Sequence[Difference] = ()
) -> Verdict:
    """A verdict under more conditions, and with more that is not known; what no program finds stays
    what it is.
    """
    if said.verdict in (None, "stale", "broken") or not (conditions or unknown):
        return said
    verdict = said.verdict
    if verdict in ("usable", "conditional"):
        verdict = "unknown" if unknown else "conditional"
    return Verdict(verdict, (*said.reasons, *unknown), (*conditions, *said.conditions))


def same_autograd(said: Verdict, env: Env) -> Verdict:
    """The verdict of an AOTAutograd entry that is good by itself: none records AOTAutograd's own
    settings.
    """
    here = env.get("autograd")
    if here is None:
        return under(said, (), (Difference("functorch_config"),))
    reasons = [
        Difference(f"functorch_config[{name}]", "not recorded", value)
        for name, value in sorted(here.items())
    ]
    return under(said, (), reasons)


def device_types(env: Env) -> set[str]:
    """The sorts of devices of an environment, as Triton names them."""
    return {one["type"] for one in env.get("devices", ())}


def is_device_here(wanted: str, env: Env) -> bool:
    """Whether an environment may have the device that an entry says it is for.

    torch says "cuda" of AMD's GPUs, too, so that of an entry which tells no more either will do.
    """
    here = device_types(env)
    return wanted in here or (wanted == "cuda" and "hip" in here)


def together(own: Verdict, needed: Sequence[tuple[str, Verdict | None]]) -> Verdict:
    """The verdict of an entry that is used only with others, whose keys and verdicts are given;
    without a verdict is what the place does not have.
    """
    worst, conditions = own, list(own.conditions)
    for key, other in needed:
        if other is None:
            said = Verdict("broken", (Difference("fxgraph", key),))
        elif other.verdict is None:
            continue
        elif other.verdict in (own.verdict, "usable"):
            said = other
        else:
            reasons = [Difference(f"fxgraph {x.factor}", x.entry, x.here) for x in other.reasons]
            said = Verdict(other.verdict, tuple(reasons), other.conditions)
        conditions += [one for one in said.conditions if one not in conditions]
        if _rank(said) > _rank(worst):
            worst = said
    more = len(conditions) > len(worst.conditions)
    if more and worst.verdict in ("conditional", "unknown", "unsafe"):
        return Verdict(worst.verdict, worst.reasons, tuple(conditions))
    return worst


def _rank(one: Verdict) -> int:
    return VERDICTS.index(one.verdict) if one.verdict in VERDICTS else -1
