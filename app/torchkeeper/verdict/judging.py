"""Whether an environment can use an entry, of whatever kind, and why not: from facts alone, without
looking.

A verdict of "usable" promises that a program of this environment hits; where anything that would
decide that is not recorded, the verdict is "unknown". "Stale" promises that no program hits. What
PyTorch would take although it is for another machine is "unsafe": nothing keeps a program from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torchkeeper.artifacts import fxgraph
from torchkeeper.artifacts.entry import VERDICTS, Entry
from torchkeeper.verdict import constants, native
from torchkeeper.verdict.native import Code
from torchkeeper.verdict.probed import Device, DifferenceTold, Env, VerdictTold

#: Differences that are kept of one entry.
_MAX = 50
_VALUE = 200
#: Factors that no program can change.
_TORCH, _SYSTEM, _SYSTEM_HASH = "torch_version", "system_info[", "system_info[hash]"
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
        entry, here = _text(self.entry), _text(self.here)
        return {"factor": self.factor[:_VALUE], "entry": entry, "here": here}


@dataclass(frozen=True)
class Verdict:
    """verdict: one of VERDICTS, or None for a kind in WITHOUT_VERDICT. reasons: why it is unsafe,
    stale, unknown or broken; conditions: what else a program must meet for it to be used.
    """

    verdict: str | None
    reasons: tuple[Difference, ...] = ()
    conditions: tuple[Difference, ...] = ()

    def to_json(self) -> VerdictTold:
        return {
            "verdict": self.verdict,
            "reasons": [one.to_json() for one in self.reasons[:_MAX]],
            "conditions": [one.to_json() for one in self.conditions[:_MAX]],
        }


def unknown(*factors: str) -> Verdict:
    """What would decide is not recorded: these."""
    return Verdict("unknown", tuple(Difference(factor) for factor in factors))


@dataclass
class _Graph:
    """A graph's factors by name, those known here, and what was found of them."""

    own: Mapping[str, set[_Factor]]
    known: Mapping[str, _Factor]
    env: Env
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

    def same_torch(self, torch: str | None) -> None:
        version = self.env.get("torch")
        recorded, here = self.own.get(_TORCH), self.known.get(_TORCH)
        if torch and version is not None and torch != version:
            # The hash is of the version, too.
            self.stale.append(Difference("torch", torch, version))
        elif not recorded or here is None:
            self.unknown.append(Difference(_TORCH))
        elif any(digest != here[0] for digest, _ in recorded):
            # Of the same version it is another build; since 2.14 few entries tell the version.
            self.stale.append(Difference("torch", torch, version))

    def same_system(self) -> None:
        if not self.own or not self.known:
            return
        recorded, known = self.own.get(_SYSTEM_HASH), self.known.get(_SYSTEM_HASH)
        if not recorded or known is None:
            self.unknown.append(Difference("system_info"))
            return
        if {one for one, _ in recorded} == {known[0]}:
            return  # it is the hash of all the rest
        values = {
            name[len(_SYSTEM) : -1]: max(value for _, value in told)
            for name, told in self.own.items()
            if name.startswith(_SYSTEM)
        }
        here = constants.of_probe(self.env.get("system")) or {}
        parts = constants.differing(constants.of_factors(values), here, self.env)
        # Where nothing but the hash differs, nobody can say what does.
        telling = [Difference(*one) for one in parts] or [Difference(_SYSTEM_HASH)]
        # PyTorch takes the GPU that is the current one when it asks first.
        several = len({one["name"] for one in _gpus(self.env)}) > 1
        (self.unknown if several else self.stale).extend(telling)

    def device(self, device: str | None) -> None:
        here = device_types(self.env)
        for wanted in (device or "").split(","):
            if wanted and wanted not in _EVERYWHERE and not is_device_here(wanted, self.env):
                # Every machine has one; where none is told, not all is known.
                differing = Difference("device", wanted, ", ".join(sorted(here)) or None)
                (self.stale if here else self.unknown).append(differing)

    def native(self, code: Code) -> None:
        asked = {value.strip() for _, value in self.own.get(_SIMDLEN, ())}
        simdlen = asked.pop() if len(asked) == 1 else None
        said = [native.width(code, simdlen, self.env), *native.objects(code, self.env)]
        for state, (entry, here) in filter(None, said):
            # No key holds it: it is found, and taken.
            found = self.unsafe if state == "unsafe" else self.unknown
            found.append(Difference(_NATIVE, entry, here))
        if libs := native.libraries(code, self.env):
            found = self.stale if libs == "stale" else self.unknown
            found.append(Difference("Triton's libraries"))
        compiled = code.widths is not None or code.objects
        if compiled and "cxx" in self.env and not self.env["cxx"]:
            self.conditions.append(Difference("C++ compiler", "needed", None))

    def setting(self, name: str) -> None:
        recorded, (digest, value) = self.own.get(name), self.known.get(name, (None, None))
        if recorded is None:
            if name != _THREADS:
                self.unknown.append(Difference(name, None, _text(value)))
        elif differing := sorted(value for one, value in recorded if one != digest):
            self.conditions.append(Difference(name, _text(differing[0]), _text(value)))

    def is_on_cpu(self, device: str | None) -> bool:
        """Whether threads are a factor of its key (FxGraphHashDetails in codecache.py)."""
        if device is not None and "cpu" not in device.split(","):
            return False
        # Where the program says how many, another factor differs.
        return all(
            {digest for digest, _ in self.own.get(name, ())} == {self.known.get(name, (None,))[0]}
            for name in ("inductor_config[cpp.threads]", "inductor_config[cpp.dynamic_threads]")
        )


def damaged(entry: Entry) -> Verdict | None:
    """The verdict of what cannot be read, whatever it holds."""
    if entry.problem is None:
        return None
    return Verdict("broken" if entry.broken else "unknown", (Difference("payload", entry.problem),))


def graph(
    torch: str | None,
    device: str | None,
    factors: Iterable[Sequence[str]] | None,
    env: Env,
    code: Code = _NO_CODE,
) -> Verdict:
    """The verdict of an FX graph or AOTAutograd entry. torch: the version that made it, device: its
    device types, separated by commas; None where that is not recorded. factors: (hash, name, value)
    of its key factors; None or empty where none are recorded. env: as ``verdict.environment.probe``
    tells. code: what it has for the CPU. AOTAutograd's own settings are recorded nowhere, and taken
    for torch's own (``same_autograd`` asks whether those hold here).
    """
    known = env.get("key_factors") or {}
    own: dict[str, set[_Factor]] = {}
    for digest, name, value in factors or ():
        if not fxgraph.of_graph(name):
            own.setdefault(name, set()).add((digest, value))
    found = _Graph(own, known, env)
    found.same_torch(torch)
    found.same_system()
    found.device(device)
    found.native(code)
    if not own:
        found.unknown.insert(0, Difference("key factors"))
    elif known:
        for name in own.keys() | known.keys():
            if name != _TORCH and not name.startswith(_SYSTEM):
                found.setting(name)
        if _THREADS in known and _THREADS not in own and found.is_on_cpu(device):
            found.unknown.append(Difference(_THREADS, None, _text(known[_THREADS][1])))
        config = "inductor_config"
        found.conditions.sort(key=lambda one: (one.factor.startswith(config), one.factor))
        found.unknown.sort(key=lambda one: one.factor)
    return found.verdict()


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
    """A verdict under more conditions, and with more unknown; stale and broken stay so."""
    if said.verdict in (None, "stale", "broken") or not (conditions or unknown):
        return said
    verdict = said.verdict
    if verdict in ("usable", "conditional"):
        verdict = "unknown" if unknown else "conditional"
    return Verdict(verdict, (*said.reasons, *unknown), (*conditions, *said.conditions))


def same_autograd(said: Verdict, env: Env) -> Verdict:
    """The verdict of an AOTAutograd entry; none records AOTAutograd's own settings."""
    if (here := env.get("autograd")) is None:
        return under(said, (), (Difference("functorch_config"),))
    reasons = [
        Difference(f"functorch_config[{name}]", "not recorded", value)
        for name, value in sorted(here.items())
    ]
    return under(said, (), reasons)


def _gpus(env: Env) -> list[Device]:
    return [one for one in env.get("devices", ()) if one["type"] != "cpu"]


def device_types(env: Env) -> set[str]:
    """The sorts of devices of an environment, as Triton names them."""
    return {one["type"] for one in env.get("devices", ())}


def is_device_here(wanted: str, env: Env) -> bool:
    """Whether the device may be here; torch says "cuda" of AMD's GPUs, too."""
    here = device_types(env)
    return wanted in here or (wanted == "cuda" and "hip" in here)


def together(own: Verdict, needed: Sequence[tuple[str, Verdict | None]]) -> Verdict:
    """The verdict of an entry used with others; without a verdict is what is missing."""
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


# Verdicts of the kinds that are not keyed as graphs are: from what each of them holds.

#: What a Triton kernel's key is made of besides what its JSON tells.
_KERNEL = tuple(map(Difference, ("kernel source", "environment variables", "ptxas")))

#: What a program needs for an eager kernel (Library._impl_with_aoti_compile in torch/library.py).
_REGISTERED = tuple(map(Difference, ("the operator registered for AOTI", "these inputs")))


def other(entry: Entry, facts: Mapping[str, Any], env: Env) -> Verdict:
    """The verdict of an entry of another kind, from its facts in short."""
    if entry.kind == "triton":
        return _triton(entry, facts, env)
    if entry.kind == "autotune":
        return _autotune(facts, env)
    if entry.kind == "precompile":
        return _precompile(facts, env)
    if entry.kind == "aoti_eager":
        return _eager(entry, facts, env)
    # A profile is found by the job's id, a generic value by its caller's key; both are hashed.
    return unknown("job id" if entry.kind == "pgo" else "key")


def _triton(entry: Entry, facts: Mapping[str, Any], env: Env) -> Verdict:
    reasons = []
    version, here = facts.get("triton"), env.get("triton")
    if entry.device is not None and not here:
        # Nothing of it can be used without a Triton, whichever made it.
        reasons.append(Difference("triton", _text(version), None))
    elif isinstance(version, str) and version != here:
        reasons.append(Difference("triton", version, _text(here)))
    backend, _, arch = (entry.device or "").partition(":")
    gpus = _gpus(env)
    if entry.device is not None:
        fitting = [one for one in gpus if one["type"] == backend]
        said = ", ".join(f"{one['type']}:{one['arch']}" for one in gpus) or "no GPU"
        unsure = False
        if fitting and arch:
            unsure = any(one["arch"] is None for one in fitting)
            fitting = [one for one in fitting if one["arch"] in (None, arch)]
        if not fitting:
            reasons.append(Difference("device", entry.device, said))
        warp = facts.get("warp")
        warps = {one.get("warp") for one in fitting}
        if fitting and warp is not None and not warps & {None, warp}:
            reasons.append(Difference("warp size", str(warp), ", ".join(sorted(map(str, warps)))))
        if not reasons and unsure:
            return unknown("device")
    if reasons:
        return Verdict("stale", tuple(reasons))
    if facts.get("helper"):
        return unknown("triton")
    needed = {"device": arch, "triton": version, "warp size": facts.get("warp")}
    missing = [name for name, value in needed.items() if not value]
    return unknown(*missing) if missing else Verdict("conditional", (), _KERNEL)


def _autotune(facts: Mapping[str, Any], env: Env) -> Verdict:
    """GEMM choices tell their system; of single results, the source and the system are hashed."""
    if facts.get("choices") is None:
        return unknown("system", "kernel source")
    if (here := constants.of_probe(env.get("system"))) is None:
        return unknown("system")
    versions = facts.get("versions")
    recorded = dict(versions) if isinstance(versions, dict) else {}
    recorded |= {"gpu": facts["gpu"]} if facts.get("gpu") else {}
    if differing := [Difference(*one) for one in constants.differing(recorded, here, {})]:
        return Verdict("stale", tuple(differing))
    return Verdict("conditional", (), (Difference("inductor_config[max_autotune]", "True"),))


def _precompile(facts: Mapping[str, Any], env: Env) -> Verdict:
    """SystemInfo.check_compatibility in torch/_dynamo/package.py compares these."""
    gpu, device, here = facts.get("gpu"), facts.get("device"), dict(env)
    reasons = [
        Difference(name, _text(facts[name]), _text(here[name]))
        for name in ("torch", "python")
        if facts.get(name) and here.get(name) and facts[name] != here[name]
    ]
    gpus = [one["name"] for one in _gpus(env)]
    if gpu and gpu not in gpus:
        reasons.append(Difference("gpu", _text(gpu), ", ".join(gpus) or "no GPU"))
    if reasons:
        return Verdict("stale", tuple(reasons))
    if missing := [name for name in ("torch", "python", "device") if not facts.get(name)]:
        return unknown(*missing)
    if device != "cpu":
        # The toolkit and Triton decide, too, and are not read here.
        return unknown("toolkit", "triton")
    return Verdict("conditional", (), (Difference("program source"), Difference("guards")))


def _eager(entry: Entry, facts: Mapping[str, Any], env: Env) -> Verdict:
    """It records its device and inputs, and mostly the instructions of its library; of the torch
    that built that, only a bundle says something. PyTorch looks at none of it.
    """
    device = (entry.device or "").partition(":")[0]
    if device and not is_device_here(device, env):
        said = ", ".join(sorted(device_types(env)))
        return Verdict("stale", (Difference("device", device, said),))
    if entry.torch and env.get("torch") and entry.torch != env["torch"]:
        return Verdict("unsafe", (Difference("torch", entry.torch, _text(env["torch"])),),
                       _REGISTERED)  # fmt: skip
    used = facts.get("instructions")
    objects = frozenset({frozenset({used if isinstance(used, str) else None})})
    unsure = [] if entry.torch else [Difference("torch_version")]
    for state, (own, there) in native.objects(native.Code(objects=objects), env):
        if state == "unsafe":
            return Verdict("unsafe", (Difference(_NATIVE, own, there),), _REGISTERED)
        unsure.append(Difference(_NATIVE, own, there))
    return Verdict("unknown", tuple(unsure)) if unsure else Verdict("conditional", (), _REGISTERED)


def _text(value: object) -> str | None:
    return None if value is None else str(value)[:_VALUE]
