"""A Triton kernel, compiled as a launch of it on a GPU would compile it; no GPU is needed.

Triton's own launcher does it (``JITFunction.run`` with ``warmup`` in triton/runtime/jit.py), with
stand-ins for tensors and for the driver, so that the hash is the one that a launch on that GPU
computes: arguments specialised, options filled in.

Kernels go to TRITON_CACHE_DIR where that is set, else to ``triton/<index of the GPU>`` in
TORCHINDUCTOR_CACHE_DIR: there programs of torch.compile find them (torch/_inductor/runtime/
cache_dir_utils.py). A program that launches kernels itself needs
``TRITON_CACHE_DIR=<place>/triton/0``.
"""

from __future__ import annotations

import base64
import contextlib
import importlib.util
import json
import os
import re
import sys
import traceback
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torchkeeper.artifacts import triton as cached
from torchkeeper.artifacts.entry import Problem
from torchkeeper.verdict.commands import variable
from torchkeeper.warm.child import said
from torchkeeper.warm.recipes.recipe import Variant
from torchkeeper.warm.recipes.tables import Item
from torchkeeper.warm.shapes import Counted, Proof
from torchkeeper.warm.sources import Step, Work

# How Triton sees an argument (specialize_impl in runtime/jit.py, get_tensor_specialization).

_ARGUMENT = re.compile(r"(?P<pointer>\*k?)?(?P<type>\w+?)(?::(?P<known>16|1))?")
_DESCRIPTOR = re.compile(r"tensordesc<(\w+)\[([0-9, ]+)\]>")
#: The names of torch.dtype for Triton's types that have others there (triton/_utils.py).
_BYTES = {"8": 1, "16": 2, "32": 4, "64": 8}
_SAME = {"i1": "u1"}


@dataclass(frozen=True)
class _Dtype:
    """A dtype: Triton looks at its name, and asks for what follows where a tensor is described."""

    name: str
    itemsize: int
    is_floating_point: bool

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class _Tensor:
    """A tensor of which only the address is looked at, and how many bytes lie behind it."""

    dtype: _Dtype
    address: int

    def data_ptr(self) -> int:
        return self.address

    @staticmethod
    def ptr_range() -> int:
        """Of AMD's backend: below 2 GiB, as almost all tensors are."""
        return 0


class Driver:
    """Takes the place of the GPU's driver, which Triton asks what it is to compile for."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def get_current_target(self) -> Any:
        return self._target

    @staticmethod
    def get_current_device() -> int:
        return 0

    @staticmethod
    def get_current_stream(_: int) -> int:
        return 0

    @classmethod
    @contextlib.contextmanager
    def active(cls, target: Any) -> Iterator[None]:
        """While it lasts, Triton compiles for this target."""
        from triton.runtime import driver  # noqa: TID251

        # Asking for the active one would look for a GPU.
        before = driver._active
        driver.set_active(cls(target))
        try:
            yield
        finally:
            driver._active = before


def given(text: str) -> Any:
    """What stands for an argument of a signature such as ``*fp32:16``, ``i32``, ``i32:1``. A number
    that is not known to be a multiple of 16 is none, nor 1. Raises ValueError.
    """
    if described := _DESCRIPTOR.fullmatch(text):
        return _descriptor(described[1], [int(one) for one in described[2].split(",")])
    if (matched := _ARGUMENT.fullmatch(text)) is None:
        raise ValueError(text)
    kind, known = matched["type"], matched["known"]
    if matched["pointer"]:
        return _Tensor(_dtype(kind), 4096 if known else 4104)
    if kind in ("i1", "u1"):
        return True
    if kind.startswith(("fp", "bf")):
        return 1.5
    if known == "1":
        return 1
    least = {"i64": 1 << 32, "u64": 1 << 63}.get(kind, 16)
    return least if known else least + 3


def taken(value: Any) -> Any:
    """A constant as the kernel takes it: ``"tl.float16"`` is Triton's own dtype."""
    if isinstance(value, str) and value.startswith("tl."):
        import triton.language as tl  # noqa: TID251

        found = getattr(tl, value[3:], None)
        if isinstance(found, tl.dtype):
            return found
    return value


def unlike(asked: str, made: Any) -> bool:
    """Whether a launch gives an argument another type than was asked for."""
    if made == "constexpr":
        return not asked.endswith(":1")
    wanted = asked.partition(":")[0].replace(" ", "")
    return str(made).replace(" ", "") != _SAME.get(wanted, wanted).replace("*i1", "*u1")


def _dtype(name: str) -> _Dtype:
    bits = re.search(r"\d+", name)
    return _Dtype(name, _BYTES.get(bits[0] if bits else "", 1), name.startswith(("fp", "bf")))


def _descriptor(kind: str, block: list[int]) -> Any:
    """A tensor that is described to the GPU, of any shape that its block fits in."""
    from triton.tools.tensor_descriptor import TensorDescriptor  # noqa: TID251

    strides = [1]
    for size in reversed(block[1:]):
        strides.insert(0, strides[0] * max(size, 16))
    return TensorDescriptor(_Tensor(_dtype(kind), 4096), list(block), strides, list(block))


_TARGET = re.compile(r"(\w+):(\w+)")
#: What compilers say of a GPU that they do not know (ptxas; LLVM's AMDGPU).
_UNKNOWN_GPU = ("is not defined for option 'gpu-name'", "unsupported target", "invalid literal")

Marks = dict[str, int]


@dataclass(frozen=True)
class _Launch:
    """One way to launch a kernel: what stands for its arguments, and its options."""

    name: str
    arguments: Mapping[str, object]


def make(variant: Variant, device: str, _: Any) -> Work:
    """The kernel in the ways that the variant asks for: one, or one for each of its configurations
    where it is autotuned and the variant leaves them open. counts: a hit for each that was there.
    Raises as ``callables.named`` and "triton-missing", "triton-broken", "compile-disabled",
    "kernel-target", "not-a-kernel", "kernel-argument-unknown", "kernel-arguments-missing".
    """
    _check_triton()
    item, name = variant.item, variant.item["kernel"]
    target = _target(item.get("target"), name)
    function, configs = _kernel(name, variant.folder)
    launches = [_launch(function, item, config, name) for config in _chosen(configs, item)]
    cache = folder(device)
    counts: Counted = {"hits": 0, "misses": 0}
    made: list[tuple[str, str]] = []

    def warm(launch: _Launch) -> None:
        missed = _compile(function, launch, target, cache, item, made)
        counts["misses" if missed else "hits"] += 1

    def prove() -> Proof:
        missed = [_compile(function, launch, target, cache, item, []) for launch in launches]
        first = next((one for one in missed if one), "")
        return {"found": missed.count(""), "of": len(launches), "why": first}

    steps = [Step(launch.name, lambda launch=launch: warm(launch)) for launch in launches]  # type: ignore[misc]
    return Work(steps, prove, counts, made)


def folder(device: str) -> str:
    """Where kernels go, and are looked for."""
    own = os.environ.get("TRITON_CACHE_DIR")
    index = device.partition(":")[2] or "0"
    return own or os.path.join(os.environ["TORCHINDUCTOR_CACHE_DIR"], "triton", index)


def _check_triton() -> None:
    if importlib.util.find_spec("triton") is None:
        raise Problem("triton-missing", python=sys.executable)
    if os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "on", "yes", "y"):
        raise Problem("compile-disabled", variable="TRITON_INTERPRET")
    try:
        import triton.compiler  # noqa: TID251
        import triton.runtime  # noqa: TID251

        # What each process does once, and takes longer than compiling: it is not the kernel's.
        if importlib.util.find_spec("torch") is not None:
            import torch  # noqa: F401, TID251
        if (key := getattr(triton.runtime.cache, "triton_key", None)) is not None:
            key()
    except Exception as e:
        traceback.print_exc()
        raise Problem("triton-broken", python=sys.executable, why=said(e)) from e


def _target(name: str | None, kernel: str) -> Any:
    """The GPU that is named, else the one that is here. Raises Problem("kernel-target")."""
    from triton.backends import backends  # noqa: TID251
    from triton.backends.compiler import GPUTarget  # noqa: TID251
    from triton.runtime import driver  # noqa: TID251

    if name is None:
        try:
            return driver.active.get_current_target()
        except Exception as e:
            why, here = "There is no GPU here", "the GPU of this machine"
            raise Problem("kernel-target", kernel=kernel, target=here, why=why) from e
    if (matched := _TARGET.fullmatch(name)) is None:
        why = "It must be written backend:architecture"
        raise Problem("kernel-target", kernel=kernel, target=name, why=why)
    backend, arch = matched.groups()
    # As the drivers tell it: of AMD's, those before RDNA (gfx10) have warps of 64.
    warp = 64 if backend == "hip" and re.fullmatch(r"gfx[1-9][0-9a-f]{2}", arch) else 32
    target = GPUTarget(backend, int(arch) if arch.isdigit() else arch, warp)
    if not any(one.compiler.supports_target(target) for one in backends.values()):
        why = f"This Triton has no backend {backend}"
        raise Problem("kernel-target", kernel=kernel, target=name, why=why)
    return target


def _kernel(name: str, above: str | None) -> tuple[Any, list[dict[str, object]]]:
    """The jitted function, and the configurations that it is autotuned over."""
    from triton.runtime.autotuner import Autotuner  # noqa: TID251
    from triton.runtime.jit import JITFunction  # noqa: TID251

    from torchkeeper.warm.sources import callables

    found = callables.named(name, above)
    configs: list[dict[str, object]] = [{}]
    while not isinstance(found, JITFunction):
        if isinstance(found, Autotuner):
            configs = [config.all_kwargs() for config in found.configs]
        inner = getattr(found, "fn", None)  # of an Autotuner, of Heuristics
        if inner is None or inner is found or isinstance(found, type):
            raise Problem("not-a-kernel", kernel=name, found=type(found).__name__)
        found = inner
    return found, configs


def _chosen(configs: Sequence[Mapping[str, object]], item: Item) -> list[dict[str, object]]:
    """The configurations that agree with what the recipe itself gives; its own where none does."""
    launch = {"num_warps": item.get("num_warps"), "num_stages": item.get("num_stages")}
    own: dict[str, object] = {key: value for key, value in launch.items() if value is not None}
    own |= item.get("constants", {})
    found = [{**one, **own} for one in configs if all(one.get(k, v) == v for k, v in own.items())]
    return found or [own]


def _launch(function: Any, item: Item, config: Mapping[str, object], kernel: str) -> _Launch:
    """Raises Problem where the names are not those of the kernel's arguments."""
    signature = item.get("signature", {})
    options = ("num_warps", "num_stages", "num_ctas", "maxnreg", "ir_override")
    names = {param.name: param for param in function.params}
    takes, there = ", ".join(names), {*signature, *config}
    for argument in (*signature, *config):
        if argument not in names and argument not in options:
            raise Problem("kernel-argument-unknown", kernel=kernel, argument=argument, takes=takes)
    missing = [one for one, param in names.items() if one not in there and not param.has_default]
    if missing:
        about = {"missing": ", ".join(missing), "takes": takes}
        raise Problem("kernel-arguments-missing", kernel=kernel, **about)
    arguments = {name: given(text) for name, text in signature.items()}
    arguments |= {name: taken(value) for name, value in config.items()}
    told = ", ".join(f"{name} {value}" for name, value in config.items())
    where = item.get("target") or "this GPU"
    return _Launch(f"{function.__name__} for {where}" + (f", {told}" if told else ""), arguments)


def _compile(
    function: Any, launch: _Launch, target: Any, cache: str, item: Item,
    keys: list[tuple[str, str]],
) -> str:  # fmt: skip
    """Have Triton compile it; returns why it was not there, or "". keys: gets the kind and key of
    its entry. Raises Problem.
    """
    about = {"kernel": item["kernel"], "target": f"{target.backend}:{target.arch}"}
    before = _marks(cache)
    try:
        with variable("TRITON_CACHE_DIR", cache), Driver.active(target):
            # What this process has compiled it would not look for on the disk again.
            function.device_caches.clear()
            compiled = function.run(grid=(1,), warmup=True, **launch.arguments)
    except Problem:
        raise
    except Exception as e:
        if isinstance(e, OSError) and not isinstance(e, FileNotFoundError):
            raise  # the disk: full, not writable
        if isinstance(e, ModuleNotFoundError) and e.name == "torch":  # AMD's backend asks it
            raise Problem("torch-missing", python=sys.executable) from e
        traceback.print_exc()
        text = str(e)
        if any(one in text for one in _UNKNOWN_GPU):
            why = _detail(text, next(one for one in text.splitlines() if one.strip()))
            raise Problem("kernel-target", why=why, **about) from e
        raise Problem("kernel-failed", why=_why(e), where=_where(e, function), **about) from e
    for name, text in item.get("signature", {}).items():
        made = compiled.src.signature.get(name)
        if unlike(text, made):
            raise Problem(
                "kernel-argument", kernel=item["kernel"], argument=name, asked=text, made=made
            )
    # What the folder of a kernel with this hash may be called (triton/runtime/cache.py).
    digest = compiled.hash
    own = {digest, base64.b32encode(bytes.fromhex(digest)).decode().rstrip("=")}
    after = _marks(cache)
    keys += [("triton", name) for name in sorted(after.keys() & own)]
    # Others may be compiling into the same cache: only what became of its own folder counts.
    if after.keys() & own and all(after.get(name) == before.get(name) for name in own):
        return ""
    metadata = json.loads(json.dumps(compiled.metadata._asdict(), default=vars))
    return why_unfound(cache, function.__name__, before, metadata)


def _marks(cache: str) -> Marks:
    """When each kernel's folder was last written to, in nanoseconds: Triton renames into it."""
    try:
        with os.scandir(cache) as entries:
            return {one.name: one.stat().st_mtime_ns for one in entries if one.is_dir()}
    except FileNotFoundError:
        return {}


def _chain(error: BaseException) -> list[BaseException]:
    """An exception, and what led to it, innermost last."""
    found = [error]
    while (cause := found[-1].__cause__) is not None and cause not in found:
        found.append(cause)
    return found


def _why(error: BaseException) -> str:
    """What Triton says is wrong, in a line: the innermost of its errors that says something."""
    for one in reversed(_chain(error)):
        text = getattr(one, "error_message", None) or ("" if hasattr(one, "node") else str(one))
        if text:
            return _detail(text, f"{type(one).__name__}: {text.strip().splitlines()[0]}")
    return said(error)


def _detail(text: str, first: str) -> str:
    """Of what a tool said, the line that matters, else the first."""
    lines = [one.strip() for one in text.splitlines()]
    return next((one for one in lines if one.startswith("ptxas")), first)[:500]


def _where(error: BaseException, function: Any) -> str:
    """``file:line: text`` of the user's line that Triton stopped at (CompilationError in
    triton/compiler/errors.py); the kernel's own first line where it does not say.
    """
    from triton.runtime import jit  # noqa: TID251

    file, first = function.fn.__code__.co_filename, function.fn.__code__.co_firstlineno
    for one in reversed(_chain(error)):
        source, node = getattr(one, "src", None), getattr(one, "node", None)
        line = getattr(node, "lineno", None)
        if isinstance(source, str) and isinstance(line, int):
            texts = source.splitlines()
            text = texts[line - 1].strip() if line <= len(texts) else ""
            for known in getattr(jit, "_triton_jit_function_registry", {}).values():
                if known.src == source:
                    file = known.fn.__code__.co_filename
                    above = "".join(known.raw_src).split(source.split("\n", 1)[0])[0].count("\n")
                    return f"{file}:{known.starting_line_number + above + line - 1}: {text}"
            return f"{file}: {text}"
    return f"{file}:{first}"


# Why Triton did not find a kernel in its cache.

#: Kernels of the name that are read, and bytes of their JSON.
_MOST_READ, _MOST_BYTES = 200, 1 << 20
#: What Triton writes of itself and of the options that are in the hash (CompiledKernel in
#: triton/compiler/compiler.py), and what people call it.
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion")
_TOLD = {"triton_version": "Triton", "device": "the target", **{name: name for name in _OPTIONS}}


def why_unfound(cache: str, name: str, there: Collection[str], wanted: Mapping[str, object]) -> str:
    """What the nearest kernel of a name is for instead, in a line. there: the folders of the
    kernels that were there, in ``cache``. wanted: Triton's metadata of what was looked for.
    """
    own = _told(wanted)
    found: list[list[str]] = []
    for folder in sorted(there):
        try:
            with open(os.path.join(cache, folder, f"{name[:150]}.json"), "rb") as file:
                told = json.loads(file.read(_MOST_BYTES))
        except (OSError, ValueError, RecursionError):
            continue
        if not isinstance(told, dict):
            continue
        told = _told(told)
        found.append([
            f"{called} {told[key]} instead of {own[key]}"
            for key, called in _TOLD.items()
            if key in told and key in own and told[key] != own[key]
        ])  # fmt: skip
        if len(found) >= _MOST_READ:
            break
    if not found:
        return f"The cache had no kernel named {name}"
    nearest = min(found, key=len)
    if not nearest:
        return (
            f"The cache had a kernel named {name} for the same target and options, but its source, "
            "its signature, a constant, or an environment variable of Triton differs"
        )
    return f"The nearest kernel in the cache has {', '.join(nearest)}"


def _told(metadata: Mapping[str, object]) -> Mapping[str, object]:
    about: dict[str, object] = {**metadata, "device": cached.device(metadata)}
    return {
        key: about[key]
        for key in _TOLD
        if key in about and isinstance(about[key], (str, int, type(None)))
    }
