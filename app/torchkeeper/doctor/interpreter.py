"""What an interpreter cannot do that its torch needs, from what was tried (``doctor.trying``), and
what the rules between settings (``settings.rules``) say of the variables that a program would have.

What PyTorch 2.13.0 does: without a C++ compiler that works every kernel for the CPU fails
(InvalidCxxCompiler, CppCompileError), extern kernels alone compile; a GPU that it does not see is
as none. ``torch._inductor.aoti_eager.aoti_compile_with_persistent_cache`` catches whatever fails
and returns "".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from torchkeeper.artifacts.entry import Problem
from torchkeeper.doctor.check import MachineLook
from torchkeeper.settings.finding import Finding, about_of
from torchkeeper.settings.rules import check
from torchkeeper.settings.texts import UNQUOTED

T = TypeVar("T")


def _told(look: MachineLook, part: T | None) -> T:
    """What was told of one thing. Raises Problem where nothing was."""
    if part is not None:
        return part
    if left := look.toolchain.get("left"):
        raise Problem(left["code"], **left["params"])
    broken = look.toolchain.get("torch")
    if broken and broken["error"]:
        raise Problem("torch-not-tried", why=broken["error"])
    raise Problem("interpreter-not-tried")


def torch(look: MachineLook) -> Iterator[Finding]:
    """Whether torch can be imported."""
    if error := _told(look, look.toolchain.get("torch"))["error"]:
        about = {"python": look.facts.get("executable"), "why": error}
        yield Finding("torch-unusable", "error", (), "", about)


def compiler(look: MachineLook) -> Iterator[Finding]:
    """Whether the C++ compiler builds what torch asks of it, and the result can be loaded."""
    found = _told(look, look.toolchain.get("cxx"))
    about = {"compiler": found["command"], "version": found["version"], "said": found["said"]}
    state, stage = found["state"], found["stage"]
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
    if _told(look, look.toolchain.get("cxx"))["state"] != "works":
        raise Problem("header-not-tried")
    found = _told(look, look.toolchain.get("header"))
    about = {"path": found["path"], "variable": found["variable"]}
    if found["state"] == "missing":
        yield Finding("header-missing", "advice", (), "", about, fix="prepare")
    elif found["state"] == "refused":
        yield Finding("header-of-another", "warning", (), "", about, fix="prepare")
    elif found["state"] == "unknown":
        raise Problem("header-not-tried")


def triton(look: MachineLook) -> Iterator[Finding]:
    """Whether Triton can be used, where there is a GPU that it would be used for."""
    found = _told(look, look.toolchain.get("triton"))
    needed = bool(_told(look, look.toolchain.get("gpu"))["seen"])
    severity = "error" if needed else "warning"
    about = {"why": found["error"] or "", "cc": found["cc"], "ptxas": found["ptxas"]}
    if found["version"] is None:
        if found["error"]:
            yield Finding("triton-broken", severity, (), "", about)
        elif needed:
            yield Finding("triton-missing", "error", (), "", about)
        return
    if not needed:
        return  # what it would compile with matters to nobody
    if found["cc"] is None:
        yield Finding("triton-no-compiler", "error", ("CC",), "", about)
    elif found["cc_said"]:
        yield Finding("triton-compiler-fails", "error", ("CC",), "",
                      {**about, "said": found["cc_said"]})  # fmt: skip
    if found["ptxas_said"]:
        yield Finding("ptxas-fails", "error", ("TRITON_PTXAS_PATH",), "",
                      {**about, "said": found["ptxas_said"]})  # fmt: skip


def gpu(look: MachineLook) -> Iterator[Finding]:
    """Whether a torch that is built for GPUs sees one."""
    found = _told(look, look.toolchain.get("gpu"))
    if not found["built"] or found["seen"]:
        return
    error = found["error"] or ""
    about = {"built": f"{found['built'].upper()} {found['version']}", "why": error,
             "driver": look.facts.get("driver")}  # fmt: skip
    if "too old" in error:
        yield Finding("driver-old", "error", (), "", about)
    elif found["devices"]:
        yield Finding("gpu-unseen", "error", ("CUDA_VISIBLE_DEVICES",), "", about)
    else:
        yield Finding("no-gpu", "advice", (), "", about)


def switches(look: MachineLook) -> Iterator[Finding]:
    """What the rules say, knowing what the interpreter is."""
    blank = any(UNQUOTED.search(one.place) for one in look.folders)
    redis = look.toolchain.get("redis")
    has_redis = None if redis is None else redis["version"] is not None
    known = about_of(look.facts)._replace(redis=has_redis, variables=look.variables)
    for one in check(look.values, known):
        same = one.code == "folder-blank" and one.settings == ("TORCHINDUCTOR_CACHE_DIR",)
        if not (same and blank):  # what is said of the folder itself is not said again
            yield one
