"""The key factors that are the same for every graph of a program that changes no setting.

PyTorch makes the key of a graph of some 600 factors (FxGraphHashDetails in
torch/_inductor/codecache.py) and an entry tells the hash of each. Those of an empty graph with one
input on the CPU are what this interpreter would put there: torch's sources, the system, and every
setting as it is by default under these environment variables.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from torchkeeper.artifacts import fxgraph

#: Characters of a value; what is longer is only looked at by people.
_VALUE = 200
_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@contextlib.contextmanager
def private_folder() -> Iterator[None]:
    """Torch's compiler makes its cache folder, and names it in the environment, as soon as it is
    imported: here it is one that goes again.
    """
    variable = "TORCHINDUCTOR_CACHE_DIR"
    before = os.environ.get(variable)
    with tempfile.TemporaryDirectory(
        prefix="torchkeeper-probe-", ignore_cleanup_errors=True
    ) as folder:
        os.environ[variable] = folder
        try:
            yield
        finally:
            os.environ.pop(variable, None)
            if before is not None:
                os.environ[variable] = before


def constants() -> dict[str, tuple[str, str]] | None:
    """``{name: (hash, value)}`` of each constant factor; None where this torch cannot say.

    Imports torch's compiler and starts no compile; to be called in a ``private_folder``.
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
    torch/_inductor/compile_fx.py). An argument this torch does not know is compared with nothing.
    """
    from torch._inductor import config  # noqa: TID251
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
    return found


def system() -> Mapping[str, object] | None:
    """What PyTorch calls the system, ``{hash}`` or ``{device, version, hash}``; None without."""
    try:
        from torch._inductor.codecache import CacheBase  # noqa: TID251

        return dict(CacheBase.get_system())
    except Exception:  # noqa: BLE001
        return None


def vector_bits() -> int | None:
    """The bits of the vectors for which this torch writes C++ code, 0 for none; None where that is
    not known.

    As pick_vec_isa in torch/_inductor/cpu_vec_isa.py, which builds something to be sure.
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
    try:
        from torch._inductor.codecache import torch_key  # noqa: TID251

        return str(torch_key().hex())
    except Exception:  # noqa: BLE001
        return None


def triton_key() -> str | None:
    """The hash of Triton's own sources as it goes into keys; None without a Triton."""
    try:
        from torch._inductor.codecache import triton_key  # noqa: TID251
    except Exception:  # noqa: BLE001
        try:
            from triton.compiler.compiler import triton_key  # noqa: TID251
        except Exception:  # noqa: BLE001
            return None
    with contextlib.suppress(Exception):
        key = triton_key()
        return None if key is None else str(key)
    return None
