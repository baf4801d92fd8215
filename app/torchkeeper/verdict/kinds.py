"""Verdicts of the kinds that are not keyed as graphs are: from what each of them holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torchkeeper.artifacts.entry import Entry
from torchkeeper.verdict import native, systems
from torchkeeper.verdict.judging import (
    Difference,
    Verdict,
    device_types,
    is_device_here,
    unknown,
)
from torchkeeper.verdict.probed import Env

#: What a Triton kernel's key is made of besides what its JSON tells.
_KERNEL = tuple(map(Difference, ("kernel source", "environment variables", "ptxas")))

#: What a program needs for an eager kernel (Library._impl_with_aoti_compile in torch/library.py).
_REGISTERED = tuple(map(Difference, ("the operator registered for AOTI", "these inputs")))


def other(entry: Entry, facts: Mapping[str, Any], env: Env) -> Verdict:
    """The verdict of an entry of a kind other than fxgraph and aotautograd, from its facts in
    short; env: as ``verdict.environment.probe`` tells.
    """
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
    gpus = [one for one in env.get("devices", ()) if one["type"] != "cpu"]
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
        if fitting and warp is not None and None not in warps and warp not in warps:
            known = ", ".join(sorted(map(str, warps)))
            reasons.append(Difference("warp size", str(warp), known))
        if not reasons and unsure:
            return unknown("device")
    if reasons:
        return Verdict("stale", tuple(reasons))
    if facts.get("helper"):
        return unknown("triton")
    missing = [
        name
        for name, value in (("device", arch), ("triton", version), ("warp size", facts.get("warp")))
        if not value
    ]
    return unknown(*missing) if missing else Verdict("conditional", (), _KERNEL)


def _autotune(facts: Mapping[str, Any], env: Env) -> Verdict:
    """GEMM choices tell their system; of single results, the source and the system are hashed."""
    if facts.get("choices") is None:
        return unknown("system", "kernel source")
    here = systems.of_probe(env.get("system"))
    if here is None:
        return unknown("system")
    versions = facts.get("versions")
    recorded = dict(versions) if isinstance(versions, dict) else {}
    recorded |= {"gpu": facts["gpu"]} if facts.get("gpu") else {}
    differing = [Difference(*one) for one in systems.differing(recorded, here, {})]
    if differing:
        return Verdict("stale", tuple(differing))
    return Verdict("conditional", (), (Difference("inductor_config[max_autotune]", "True"),))


def _precompile(facts: Mapping[str, Any], env: Env) -> Verdict:
    """SystemInfo.check_compatibility in torch/_dynamo/package.py compares these."""
    torch, python, gpu = (facts.get(name) for name in ("torch", "python", "gpu"))
    reasons = []
    here = {"torch": env.get("torch"), "python": env.get("python")}
    for name, own in (("torch", torch), ("python", python)):
        if own and here[name] and own != here[name]:
            reasons.append(Difference(name, _text(own), _text(here[name])))
    gpus = [one["name"] for one in env.get("devices", ()) if one["type"] != "cpu"]
    if gpu and gpu not in gpus:
        reasons.append(Difference("gpu", _text(gpu), ", ".join(gpus) or "no GPU"))
    if reasons:
        return Verdict("stale", tuple(reasons))
    device = facts.get("device")
    missing = [n for n, v in (("torch", torch), ("python", python), ("device", device)) if not v]
    if missing:
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
            differing = Difference("vector instructions", own, there)
            return Verdict("unsafe", (differing,), _REGISTERED)
        unsure.append(Difference("vector instructions", own, there))
    if unsure:
        return Verdict("unknown", tuple(unsure))
    return Verdict("conditional", (), _REGISTERED)


def _text(value: object) -> str | None:
    return None if value is None else str(value)[:200]
