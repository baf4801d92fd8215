"""Compiling a model or a function as a variant says, and calling it; whose fault an exception
is.
"""

from __future__ import annotations

import contextlib
import errno
import inspect
import os
import re
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.warm.child import chain, said
from torchkeeper.warm.header import choose_device
from torchkeeper.warm.recipes.recipe import Variant
from torchkeeper.warm.recipes.tables import Called
from torchkeeper.warm.sources import Step, Work

#: The user's frames in what Dynamo says (torch/_dynamo/exc.py: format_error_msg), innermost last.
_FRAME = re.compile(r'^\s*File "([^"\n]+)", line (\d+), in ', re.M)
_FROM = "from user code:"
#: What Dynamo raises where a graph's inputs do not fit, and what it quotes (torch/_dynamo/exc.py).
_REFUSED = frozenset({"TorchRuntimeError", "FakeTensorMetaError", "UserError"})
_RAISED = re.compile(r"(?:got |raised )?(\w*(?:Error|Exception))\(['\"](.*?)['\"]\)", re.S)
#: What compilers and PyTorch raise about themselves.
_OURS = frozenset({
    "InductorError", "BackendCompilerFailed", "CppCompileError", "InternalTorchDynamoError",
})  # fmt: skip


@contextlib.contextmanager
def blamed(variant: Variant) -> Iterator[None]:
    """What the user's code raises becomes a Problem that says what, and in which line.
    "inputs-refused" for what a model says of its inputs, "callable-raised" for anything else.
    What PyTorch says of itself, or of a full disk, passes through as it is.
    """
    try:
        yield
    except (Problem, MemoryError, ModuleNotFoundError, SyntaxError):
        raise
    except (Exception, SystemExit) as e:
        if isinstance(e, OSError) and e.errno == errno.ENOSPC:
            raise
        kinds = {type(one).__name__ for one in chain(e)}
        where = _line_of(e, variant)
        if kinds & _OURS or where is None:
            raise
        traceback.print_exc()
        text = str(e)
        if kinds & _REFUSED or (type(e) in (RuntimeError, TypeError) and _in_torch(e)):
            found = _RAISED.search(text)
            why = f"{found[1]}: {found[2]}"[:500] if found else said(e)
            raise Problem("inputs-refused", why=why, where=where) from e
        raise Problem("callable-raised", why=said(e), where=where) from e


def _line_of(error: BaseException, variant: Variant) -> str | None:
    """``file:line`` of the innermost frame that is the user's; None where there is none."""
    frames = _FRAME.findall(str(error).partition(_FROM)[2])
    if own := [f"{file}:{line}" for file, line in frames if is_users(file, variant)]:
        return own[-1]
    for one in chain(error):
        for frame in reversed(traceback.extract_tb(one.__traceback__)):
            if is_users(frame.filename, variant):
                return f"{frame.filename}:{frame.lineno}"
    return None


def _in_torch(error: BaseException) -> bool:
    """Whether PyTorch raised it, and not a line of the user's."""
    # C++ has no frames: then the last line is one that calls it.
    for last in traceback.extract_tb(error.__traceback__)[-1:]:
        line = (last.line or "").lstrip()
        return f"{os.sep}torch{os.sep}" in last.filename or not line.startswith(("raise", "assert"))
    return False


def is_users(file: str, variant: Variant) -> bool:
    """Whether a file is the user's own: not of Python, of an installed package, or ours."""
    if variant.folder and _below(file, variant.folder):
        return "site-packages" not in file[len(variant.folder) :]
    if file.startswith("<") or "site-packages" in file or "dist-packages" in file:
        return False
    ours = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    torch = getattr(sys.modules.get("torch"), "__file__", None)
    others = [sysconfig.get_path("stdlib"), ours, os.path.dirname(torch) if torch else None]
    return not any(_below(file, folder) for folder in others if folder)


def _below(file: str, folder: str) -> bool:
    return os.path.abspath(file).startswith(folder.rstrip(os.sep) + os.sep)


@dataclass(frozen=True)
class Call:
    """What is called, with which inputs, and whether gradients are on, and computed, then.
    training: whether a model is in training then, None where it is as it is. autocast: the dtype of
    a torch.autocast around it.
    """

    what: Any
    inputs: Sequence[Any]
    keywords: Mapping[str, Any]
    backward: bool
    grad: bool
    training: bool | None = None
    autocast: str | None = None


def calls(variant: Variant, device: str, what: Callable[[Called], Any]) -> list[Call]:
    """The calls of the variant's item, of what ``what`` returns. Raises as ``inputs_of``."""
    made = []
    several: Sequence[Called] = variant.item.get("calls", (variant.item,))
    for one in several:
        grad, backward = one.get("grad", variant.grad), one.get("backward", variant.backward)
        more = one.get("training", variant.training), one.get("autocast", variant.autocast)
        made.append(Call(what(one), *inputs_of(one, device), backward, grad, *more))
    return made


def work(variant: Variant, device: str, several: Sequence[Call]) -> Work:
    """Compiled as the variant says, unless it is already, and then called, a step for each call.
    Each thing has one ``torch.compile``, so that what Dynamo learns from one call it knows in the
    next: which sizes vary (automatic_dynamic_shapes in torch/_dynamo/config.py). It learns that of
    code, and so from one model for another of its class (CodeId in torch/_dynamo/pgo.py). Forward
    only is without gradients where anything would have one: as a program that serves. Whether they
    are on is part of AOTAutograd's keys, inference mode is not (autograd_cache.py,
    _record_runtime_state): a call with ``grad`` False warms both. Raises Problem("inputs-refused")
    where the inputs are not as many as it takes.
    """
    if variant.precision:
        import torch  # noqa: TID251

        torch.set_float32_matmul_precision(variant.precision)
    runs: dict[int, Any] = {}
    for call in several:
        what = call.what
        _check_inputs(what, call.inputs, call.keywords)
        if id(what) not in runs:
            runs[id(what)] = what if is_compiled(what) else compiled(variant, what)

    def once(call: Call) -> None:
        with blamed(variant):
            if call.training is not None and hasattr(call.what, "eval"):
                (call.what.train if call.training else call.what.eval)()
            _run(variant, device, runs[id(call.what)], call)

    def step(at: int, call: Call) -> Step:
        name = variant.name if len(several) == 1 else f"{variant.name}, call {at}"
        return Step(name, lambda: once(call))

    return Work([step(at, call) for at, call in enumerate(several, 1)])


def _run(variant: Variant, device: str, run: Any, call: Call) -> None:
    """One call. Raises Problem("no-gradient"), and anything."""
    import torch  # noqa: TID251

    def cast() -> Any:
        if call.autocast is None:
            return run(*call.inputs, **call.keywords)
        with torch.autocast(torch.device(device).type, dtype=dtype(call.autocast)):
            return run(*call.inputs, **call.keywords)

    if not call.backward:
        held = call.what.parameters() if isinstance(call.what, torch.nn.Module) else ()
        needs = any(t.requires_grad for t in (*held, *tensors((call.inputs, call.keywords))))
        with torch.set_grad_enabled(call.grad and torch.is_grad_enabled() and not needs):
            cast()
        return
    # The way back is outside of it, as PyTorch advises (torch/amp/autocast_mode.py).
    if not (outputs := [t for t in tensors(cast()) if t.requires_grad]):
        raise Problem("no-gradient", variant=variant.name)
    # Real: there is no gradient of a complex number.
    sum((torch.view_as_real(t) if t.is_complex() else t).sum() for t in outputs).backward()


def compiled(variant: Variant, what: Any) -> Any:
    """``torch.compile`` of it, with what the variant names and nothing else."""
    import torch  # noqa: TID251

    options = dict(variant.options) or None
    return torch.compile(
        what,
        fullgraph=variant.fullgraph,
        dynamic=variant.dynamic,
        mode=variant.mode,
        options=options,
    )


def is_compiled(what: Any) -> bool:
    """Whether it, or a part of it, is the user's own ``torch.compile``: its ways are the user's."""
    import torch  # noqa: TID251

    return any(
        getattr(one, "_compiled_call_impl", None) is not None
        or hasattr(one, "_torchdynamo_orig_callable")
        or type(one).__name__ == "OptimizedModule"
        for one in (what.modules() if isinstance(what, torch.nn.Module) else (what,))
    )


def _check_inputs(what: Any, inputs: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    takes = getattr(what, "forward", what)
    try:
        signature = inspect.signature(takes)
    except (TypeError, ValueError):
        return  # of C, and says nothing
    try:
        signature.bind(*inputs, **keywords)
    except TypeError as e:
        name = getattr(what, "__qualname__", None) or type(what).__name__
        why = f"{f'{name}{signature}'[:300]}: {e}"
        code = getattr(inspect.unwrap(takes), "__code__", None)
        where = f"{code.co_filename}:{code.co_firstlineno}" if code else "?"
        raise Problem("inputs-refused", why=why, where=where) from e


def tensors(value: Any) -> Iterator[Any]:
    """The tensors in what a model takes or gives, whatever it is in."""
    import torch  # noqa: TID251
    from torch.utils import _pytree  # noqa: TID251

    yield from (one for one in _pytree.tree_leaves(value) if isinstance(one, torch.Tensor))


# Inputs: tensors of a shape, and plain values. A description is a number, a text or a table, of a
# form that ``recipe.checked`` has held: ``{shape, dtype, device, fill, low, high, requires_grad}``,
# ``{dtype}``, ``{device}``, ``{layout}``, ``{list}``, ``{tuple}``, ``{none = true}``.

#: Devices that every torch has.
_EVERYWHERE = ("cpu", "meta")


def inputs_of(item: Called, device: str) -> tuple[list[Any], Mapping[str, Any]]:
    """An item's inputs, on ``device`` if they name none. Raises "input-type", "device-missing"."""
    inputs = [_made(one, device) for one in item.get("inputs", ())]
    return inputs, {name: _made(one, device) for name, one in item.get("keywords", {}).items()}


def _made(given: Any, device: str) -> Any:
    """One input. Raises Problem("input-type", found=…) and Problem("device-missing", device=…)."""
    if not isinstance(given, Mapping):
        return given
    if "shape" in given:
        return _tensor(given, str(given.get("device") or device))
    if "list" in given:
        return [_made(one, device) for one in given["list"]]
    if "tuple" in given:
        return tuple(_made(one, device) for one in given["tuple"])
    if "none" in given:
        return None
    if "dtype" in given:
        return dtype(given["dtype"])
    if "device" in given:
        return _device(str(given["device"]))
    if "layout" in given:
        return _named(given["layout"], "layout")
    raise Problem("input-type", found=str(dict(given))[:200])


def dtype(name: str) -> Any:
    """The torch.dtype of a name, such as "bfloat16". Raises Problem("input-type")."""
    return _named(name, "dtype")


def _named(name: Any, kind: str) -> Any:
    import torch  # noqa: TID251

    found = getattr(torch, str(name).removeprefix("torch."), None)
    if not isinstance(found, getattr(torch, kind)):
        raise Problem("input-type", found=str(name)[:200])
    return found


def _device(name: str) -> Any:
    import torch  # noqa: TID251

    try:
        return torch.device(name)
    except RuntimeError as e:
        raise Problem("device-missing", device=name) from e


def _tensor(given: Mapping[str, Any], device: str) -> Any:
    import torch  # noqa: TID251

    kind = dtype(given["dtype"])
    shape, fill = given["shape"], given["fill"]
    if _device(device).type not in _EVERYWHERE:
        choose_device(torch, device)
    if fill == "randint":
        tensor = torch.randint(given["low"], given["high"], shape, device=device).to(kind)
    elif fill in ("zeros", "ones"):
        tensor = getattr(torch, fill)(shape, dtype=kind, device=device)
    else:
        # Types of 8 bits have no random numbers of their own.
        wide = kind if kind.itemsize > 1 else torch.float32
        tensor = getattr(torch, fill)(shape, dtype=wide, device=device)
        low = given.get("low", 0)
        if fill == "rand" and ("low" in given or "high" in given):
            tensor = tensor * (given.get("high", low + 1) - low) + low
        tensor = tensor.to(kind)
    return tensor.requires_grad_() if given.get("requires_grad") else tensor
