"""What an interpreter cannot do that its torch needs, from what was tried (``doctor.trying``).

What PyTorch 2.13.0 does: without a C++ compiler that works every kernel for the CPU fails
(InvalidCxxCompiler, CppCompileError), extern kernels alone compile; a GPU that it does not see is
as none. ``torch._inductor.aoti_eager.aoti_compile_with_persistent_cache`` catches whatever fails
and returns "".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.doctor.check import MachineLook
from torchkeeper.settings.finding import Finding


def _part(look: MachineLook, name: str) -> Mapping[str, Any]:
    """What was told of one thing. Raises Problem where nothing was."""
    found = look.toolchain.get(name)
    if isinstance(found, Mapping):
        return found
    left = look.toolchain.get("left")
    if isinstance(left, Mapping) and isinstance(left.get("params"), Mapping):
        raise Problem(str(left.get("code")), **left["params"])
    broken = look.toolchain.get("torch")
    if isinstance(broken, Mapping) and broken.get("error"):
        raise Problem("torch-not-tried", why=str(broken["error"]))
    raise Problem("interpreter-not-tried")


def torch(look: MachineLook) -> Iterator[Finding]:
    """Whether torch can be imported."""
    if error := _part(look, "torch").get("error"):
        about = {"python": look.facts.get("executable"), "why": error}
        yield Finding("torch-unusable", "error", (), "", about)


def compiler(look: MachineLook) -> Iterator[Finding]:
    """Whether the C++ compiler builds what torch asks of it, and the result can be loaded."""
    found = _part(look, "cxx")
    about = {"compiler": found.get("command"), "version": found.get("version"),
             "said": found.get("said")}  # fmt: skip
    state, stage = found.get("state"), found.get("stage")
    if state == "missing":
        yield Finding("no-compiler", "error", ("CXX",), "", about)
    elif state == "unloadable":
        yield Finding("object-unloadable", "error", ("CXX",), "", about)
    elif state == "fails" and stage == "openmp":
        yield Finding("compiler-no-openmp", "error", ("CXX",), "", about)
    elif state == "fails" and stage == "python":
        yield Finding("compiler-no-python", "error", ("CXX",), "", about)
    elif state == "fails":
        yield Finding("compiler-fails", "error", ("CXX",), "", about)
    eager = [one.place for one in look.folders if any(x.kind == "aoti_eager" for x in one.items)]
    if state != "works" and eager:
        yield Finding("eager-silent", "warning", (), eager[0], about)


def header(look: MachineLook) -> Iterator[Finding]:
    """Whether the precompiled C++ header is there, and of this compiler."""
    if _part(look, "cxx").get("state") != "works":
        raise Problem("header-not-tried")
    found = _part(look, "header")
    about = {"path": found.get("path"), "variable": found.get("variable")}
    if found.get("state") == "missing":
        yield Finding("header-missing", "advice", (), "", about, fix="prepare")
    elif found.get("state") == "refused":
        yield Finding("header-of-another", "warning", (), "", about, fix="prepare")
    elif found.get("state") == "unknown":
        raise Problem("header-not-tried")


def triton(look: MachineLook) -> Iterator[Finding]:
    """Whether Triton can be used, where there is a GPU that it would be used for."""
    found, gpu = _part(look, "triton"), _part(look, "gpu")
    needed = bool(gpu.get("seen"))
    severity = "error" if needed else "warning"
    about = {"why": found.get("error") or "", "cc": found.get("cc"), "ptxas": found.get("ptxas")}
    if found.get("version") is None:
        if found.get("error"):
            yield Finding("triton-broken", severity, (), "", about)
        elif needed:
            yield Finding("triton-missing", "error", (), "", about)
        return
    if not needed:
        return  # what it would compile with matters to nobody
    if found.get("cc") is None:
        yield Finding("triton-no-compiler", "error", ("CC",), "", about)
    elif found.get("cc_said"):
        yield Finding("triton-compiler-fails", "error", ("CC",), "",
                      {**about, "said": found.get("cc_said")})  # fmt: skip
    if found.get("ptxas_said"):
        yield Finding("ptxas-fails", "error", ("TRITON_PTXAS_PATH",), "",
                      {**about, "said": found.get("ptxas_said")})  # fmt: skip


def gpu(look: MachineLook) -> Iterator[Finding]:
    """Whether a torch that is built for GPUs sees one."""
    found = _part(look, "gpu")
    if not found.get("built") or found.get("seen"):
        return
    error = str(found.get("error") or "")
    about = {"built": f"{found['built'].upper()} {found.get('version')}", "why": error,
             "driver": look.facts.get("driver")}  # fmt: skip
    if "too old" in error:
        yield Finding("driver-old", "error", (), "", about)
    elif found.get("devices"):
        yield Finding("gpu-unseen", "error", ("CUDA_VISIBLE_DEVICES",), "", about)
    else:
        yield Finding("no-gpu", "advice", (), "", about)
