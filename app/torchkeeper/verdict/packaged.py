"""Whether a model that AOTInductor has packaged can be loaded in an environment. What a package
tells of it torch compares itself where it loads one, and only warns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torchkeeper.verdict import native
from torchkeeper.verdict.judging import Difference, Verdict, device_types, is_device_here
from torchkeeper.verdict.probed import Env

_NATIVE = "vector instructions"
#: What torch calls a platform, and how what a probe calls it begins.
_PLATFORMS = {"linux": "linux", "darwin": "darwin", "win32": "windows"}


def model(said: Mapping[str, str], instructions: Sequence[str | None], env: Env) -> Verdict:
    """The verdict of a model by its metadata, and the vector instructions that each of its objects
    may use, as far as it says. Which torch built it no package tells.
    """
    differing = []
    machine, here = said.get("AOTI_MACHINE"), env.get("machine")
    if machine and here and machine != here:
        differing.append(Difference("machine", machine, here))
    platform, system = said.get("AOTI_PLATFORM"), env.get("platform", "").lower()
    if platform and system and not system.startswith(_PLATFORMS.get(platform, platform)):
        differing.append(Difference("platform", platform, system[:100]))
    device = said.get("AOTI_DEVICE_KEY", "").partition(":")[0]
    if device and "devices" in env and not is_device_here(device, env):
        differing.append(Difference("device", device, ", ".join(sorted(device_types(env)))))
    capability = said.get("AOTI_COMPUTE_CAPABILITY", "")
    gpus = [one["arch"] for one in env.get("devices", ()) if one["type"] != "cpu"]
    unsure = [Difference("torch_version")]
    if device not in ("", "cpu") and not differing:
        known = [arch for arch in gpus if arch is not None]
        if not capability or len(known) < len(gpus):
            unsure.append(Difference("device", capability or None, ", ".join(known) or None))
        elif _plain(capability) not in map(_plain, known):
            differing.append(Difference("device", f"{device}:{capability}", ", ".join(known)))
    if differing:
        return Verdict("stale", tuple(differing))
    used = frozenset(frozenset({one}) for one in instructions)
    for state, (own, there) in native.objects(native.Code(objects=used), env):
        if state == "unsafe":
            return Verdict("unsafe", (Difference(_NATIVE, own, there),))
        unsure.append(Difference(_NATIVE, own, there))
    return Verdict("unknown", tuple(unsure))


def _plain(arch: str) -> str:
    """A GPU's architecture, as any of torch, its packages and Triton call it: 90, 9.0, sm_90a."""
    return arch.lower().removeprefix("sm_").rstrip("a").replace(".", "").partition(":")[0]
