"""The key factors that are the same for every graph of a program that changes no setting, and what
PyTorch calls the system.

PyTorch makes the key of a graph of some 600 factors (FxGraphHashDetails in
torch/_inductor/codecache.py) and an entry tells the hash of each. Those of an empty graph with one
input on the CPU are what this interpreter would put there: torch's sources, the system, and every
setting as it is by default under these environment variables.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torchkeeper.artifacts import fxgraph
from torchkeeper.verdict.commands import variable

#: Characters of a value; what is longer is only looked at by people.
_VALUE = 200
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@contextlib.contextmanager
def private_folder() -> Iterator[None]:
    """Torch's compiler makes a cache folder when it is imported: here one that goes again."""
    made = tempfile.TemporaryDirectory(prefix="torchkeeper-probe-", ignore_cleanup_errors=True)
    with made as folder, variable("TORCHINDUCTOR_CACHE_DIR", folder):
        yield


def constants() -> dict[str, tuple[str, str]] | None:
    """``{name: (hash, value)}`` of each constant factor; None where this torch cannot say. Imports
    torch's compiler and starts no compile; to be called in a ``private_folder``.
    """
    try:
        import torch  # noqa: TID251
        from torch._inductor import codecache  # noqa: TID251

        module = torch.fx.GraphModule({}, torch.fx.Graph())
        # With an input on the CPU the number of threads is a factor, too.
        details = codecache.FxGraphHashDetails(module, [torch.empty(1)], _arguments(), [])
        lines = codecache.FxGraphCachePickler(module).debug_lines(details)
    except Exception:  # noqa: BLE001  # an older or newer torch may be built otherwise
        return None
    return {
        name: (digest, _ADDRESS.sub("", value)[:_VALUE])
        for digest, name, value in fxgraph.key_factors(lines)
        if not fxgraph.of_graph(name)
    }


def _arguments() -> Any:
    """What the compiler is called with by a program that asks for nothing (compile_fx_inner in
    torch/_inductor/compile_fx.py), of what this torch takes: no key of another has more.
    """
    from torch._inductor import compile_fx, config  # noqa: TID251
    from torch._inductor.utils import BoxedBool  # noqa: TID251

    found: dict[str, object] = {
        "cpp_wrapper": config.cpp_wrapper,
        "cudagraphs": BoxedBool(config.triton.cudagraphs),
        "extern_node_serializer": None,
        "fx_wrapper": getattr(config, "fx_wrapper", False),
        "layout_opt": None,
    }
    with contextlib.suppress(ImportError):
        from torch._inductor.decomposition import select_decomp_table  # noqa: TID251

        found["get_decomp_fn"] = select_decomp_table
    # From 2.6 on PyTorch has this list; before, all that there was is named above.
    known = getattr(compile_fx, "_CompileFxKwargs", None)
    taken = found.keys() if known is None else known.__annotations__
    return {name: value for name, value in found.items() if name in taken}


def system() -> Mapping[str, object] | None:
    """What PyTorch calls the system, ``{hash}`` or ``{device, version, hash}``; None without."""
    try:
        from torch._inductor.codecache import CacheBase  # noqa: TID251

        return dict(CacheBase.get_system())
    except Exception:  # noqa: BLE001
        return None


def vector_bits() -> int | None:
    """The bits of the vectors for which this torch writes C++ code, 0 for none; None where that is
    not known. As pick_vec_isa in torch/_inductor/cpu_vec_isa.py, which builds something to be sure.
    """
    with contextlib.suppress(Exception):
        import torch  # noqa: TID251

        arch, system = platform.machine(), sys.platform
        if system == "darwin":
            return 128 if arch == "arm64" else 0
        asked = os.environ.get("ATEN_CPU_CAPABILITY")
        if asked == "default":
            return 0
        if arch in ("x86_64", "AMD64"):
            from torch._inductor.cpu_vec_isa import x86_isa_checker  # noqa: TID251

            known = x86_isa_checker()
            if "avx512" in known and not (asked == "avx2" and "avx2" in known):
                return 512
            return 256 if "avx2" in known else 0
        if arch == "aarch64":
            has = torch.cpu.get_capabilities()
            if (has.get("sve2") or has.get("sve")) and has.get("bf16"):
                return 128 if has.get("sve_max_length") == 128 else 256
            return 128
    return None


def triton_libs() -> str | None:
    """Hashes of what Triton links into kernels, in PyTorch's words; None without a GPU."""
    with contextlib.suppress(Exception):
        from torch.utils import _triton  # noqa: TID251

        return str(_triton._extern_libs_key(_triton.triton_backend()))
    return None


def torch_key() -> str | None:
    """The hash of torch's own sources, hexadecimal."""
    with contextlib.suppress(Exception):
        from torch._inductor.codecache import torch_key  # noqa: TID251

        return str(torch_key().hex())
    return None


#: Where PyTorch or Triton has a function of that name, the newest first; PyTorch's own come first.
_TRITON_KEY = (
    "torch._inductor.codecache", "torch._inductor.runtime.triton_compat", "triton.runtime.cache",
    "triton.compiler.compiler",
)  # fmt: skip


def triton_key() -> str | None:
    """The hash of Triton's own sources as it goes into keys; None without a Triton."""
    for module in _TRITON_KEY:
        with contextlib.suppress(Exception):
            key = importlib.import_module(module).triton_key()
            return None if key is None else str(key)
    return None


# What PyTorch calls the system, of which a key holds the hash: the GPU, the versions of what uses
# it, and what other backends tell (CacheBase.get_system in torch/_inductor/codecache.py). Triton's
# version is followed by hashes of its sources, which say nothing to people.

#: Characters of a value that are told.
_MAX = 80
#: Of Triton's sources there are some thirty hashes, of 64 digits each.
_QUOTED = re.compile(r"'(\w{1,40})': '([^']{0,20000})'")
#: The version, and the hash of Triton's first source (triton_key in triton/runtime/cache.py).
_KEY = re.compile(r"([0-9][0-9A-Za-z.+_]{0,40}?)[0-9a-f]{64}(?:-|$)")
#: The parts of a system, by the names that key factors have in it.
_DEVICE, _VERSION, _OTHERS = "device", "version", "device_interfaces"


def of_factors(values: Mapping[str, str]) -> dict[str, str]:
    """What a system is, from the values of its key factors: ``{"version": "{'triton': '…'}"}``."""
    found = versions(values.get(_VERSION))
    if name := versions(values.get(_DEVICE)).get("name"):
        found["gpu"] = name
    if others := values.get(_OTHERS):
        found["device_interfaces"] = others
    return found


def of_probe(system: Mapping[str, object] | None) -> dict[str, str] | None:
    """The same of ``CacheBase.get_system``, as a probe tells it; None where it does not."""
    if system is None:
        return None
    device, versions = system.get(_DEVICE), system.get(_VERSION)
    found = {}
    if isinstance(device, Mapping) and isinstance(device.get("name"), str):
        found["gpu"] = str(device["name"])
    if isinstance(versions, Mapping):
        found |= {str(name): str(value) for name, value in versions.items() if value is not None}
    if others := system.get(_OTHERS):
        found["device_interfaces"] = str(others)
    return found


def differing(
    own: Mapping[str, object], here: Mapping[str, str], known: Mapping[str, object]
) -> Iterable[tuple[str, str | None, str | None]]:
    """(name, there, here) of each part that differs; known: versions beside the keys."""
    for name in dict.fromkeys((*own, *here)):
        a, b = own.get(name), here.get(name)
        if a != b:
            there = told(name, b)
            if there is None and isinstance(version := known.get(name), str):
                there = version[:_MAX]
            yield name, told(name, a), there


def told(name: str, value: object) -> str | None:
    """A part of a system as people say it, without hashes."""
    if value is None:
        return None
    text = str(value)
    if name == "triton":
        return triton_version(text) or text[:12]
    if name == "device_interfaces":
        # Of what each of them tells nothing is known here.
        names = re.findall(r"'(\w{1,40})': \{", text[:2000])
        return ", ".join(dict.fromkeys(names))[:_MAX] or None
    return text[:_MAX]


def triton_version(key: str) -> str | None:
    """Triton's version in the text that stands for its sources; None where it is no such text."""
    match = _KEY.match(key)
    return match[1] if match else None


def tritons(a: str | None, b: str | None) -> tuple[str | None, str | None, bool]:
    """Two such texts as people say them, and whether by versions, else by their hashes."""
    own, other = (triton_version(key or "") for key in (a, b))
    if own != other and (own or a is None) and (other or b is None):
        return own, other, True
    hashes = [(key or "")[len(said or "") :].split("-") for key, said in ((a, own), (b, other))]
    pairs = itertools.zip_longest(*hashes, fillvalue="")
    one, two = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
    return (None if a is None else one[:12]), (None if b is None else two[:12]), False


def versions(text: str | None) -> dict[str, str]:
    """The parts of a key factor that tells several, as the versions."""
    return dict(_QUOTED.findall(text or ""))
