"""Compiling a model or a function in a cell's way, and calling it as often as the cell says."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.warm.recipes.cells import Cell
from torchkeeper.warm.sources import Step, Work, inputs
from torchkeeper.warm.sources.blame import blamed

if TYPE_CHECKING:
    from torchkeeper.warm.recipes.tables import Called


@dataclass(frozen=True)
class Call:
    """What is called, with which inputs, and whether gradients are on, and computed, then.

    training: whether a model is in training then, None where it is as it is. autocast: the dtype
    of a torch.autocast around it.
    """

    what: Any
    inputs: Sequence[Any]
    keywords: Mapping[str, Any]
    backward: bool
    grad: bool
    training: bool | None = None
    autocast: str | None = None


def calls(cell: Cell, device: str, what: Callable[[Called], Any]) -> list[Call]:
    """The calls that the cell's item describes. what: what each is of, by its description.

    Raises as ``inputs.of`` and ``what``.
    """
    made = []
    several: Sequence[Called] = cell.item.get("calls", (cell.item,))
    for one in several:
        grad, backward = one.get("grad", cell.grad), one.get("backward", cell.backward)
        more = one.get("training", cell.training), one.get("autocast", cell.autocast)
        made.append(Call(what(one), *inputs.of(one, device), backward, grad, *more))
    return made


def work(cell: Cell, device: str, several: Sequence[Call]) -> Work:
    """Compiled as the cell says, unless it is already, and then called, a step for each call.

    Each thing has one ``torch.compile``, so that what Dynamo learns from one call it knows in the
    next: which sizes vary (automatic_dynamic_shapes in torch/_dynamo/config.py). It learns that of
    code, and so from one model for another of its class (CodeId in torch/_dynamo/pgo.py).
    Forward only is without gradients where anything would have one: as a program that serves.
    Whether they are on is part of AOTAutograd's keys, inference mode is not (autograd_cache.py,
    _record_runtime_state): a call with ``grad`` False warms both.
    Raises Problem("inputs-refused") where the inputs are not as many as it takes.
    """
    if cell.precision:
        import torch  # noqa: TID251

        torch.set_float32_matmul_precision(cell.precision)
    runs: dict[int, Any] = {}
    for call in several:
        what = call.what
        _check_inputs(what, call.inputs, call.keywords)
        if id(what) not in runs:
            runs[id(what)] = what if is_compiled(what) else compiled(cell, what)

    def once(call: Call) -> None:
        with blamed(cell):
            if call.training is not None and hasattr(call.what, "eval"):
                (call.what.train if call.training else call.what.eval)()
            _run(cell, device, runs[id(call.what)], call)

    def step(at: int, call: Call) -> Step:
        name = cell.name if len(several) == 1 else f"{cell.name}, call {at}"
        return Step(name, lambda: once(call))

    return Work([step(at, call) for at, call in enumerate(several, 1)])


def _run(cell: Cell, device: str, run: Any, call: Call) -> None:
    """One call. Raises Problem("no-gradient"), and anything."""
    import torch  # noqa: TID251

    def cast() -> Any:
        if call.autocast is None:
            return run(*call.inputs, **call.keywords)
        with torch.autocast(torch.device(device).type, dtype=inputs.dtype(call.autocast)):
            return run(*call.inputs, **call.keywords)

    if not call.backward:
        needs = any(t.requires_grad for t in _all_tensors(call.what, call.inputs, call.keywords))
        with torch.set_grad_enabled(call.grad and torch.is_grad_enabled() and not needs):
            cast()
        return
    # The way back is outside of it, as PyTorch advises (torch/amp/autocast_mode.py).
    outputs = [t for t in tensors(cast()) if t.requires_grad]
    if not outputs:
        raise Problem("no-gradient", cell=cell.name)
    # Real: there is no gradient of a complex number.
    total = sum((torch.view_as_real(t) if t.is_complex() else t).sum() for t in outputs)
    total.backward()


def compiled(cell: Cell, what: Any) -> Any:
    """``torch.compile`` of it, with what the cell names and nothing else."""
    import torch  # noqa: TID251

    return torch.compile(
        what,
        fullgraph=cell.fullgraph,
        dynamic=cell.dynamic,
        mode=cell.mode,
        options=dict(cell.options) or None,
    )


def is_compiled(what: Any) -> bool:
    """Whether it, or a part of it, is the user's own ``torch.compile``: its ways are the user's."""
    import torch  # noqa: TID251

    def own(one: Any) -> bool:
        return (
            getattr(one, "_compiled_call_impl", None) is not None
            or hasattr(one, "_torchdynamo_orig_callable")
            or type(one).__name__ == "OptimizedModule"
        )

    if isinstance(what, torch.nn.Module):
        return any(own(module) for module in what.modules())
    return own(what)


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
        takes_what = f"{name}{signature}"[:300]
        raise Problem(
            "inputs-refused", why=f"{takes_what}: {e}", where=_where_defined(takes)
        ) from e


def _where_defined(what: Any) -> str:
    code = getattr(inspect.unwrap(what), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else "?"


def _all_tensors(what: Any, *given: Any) -> Iterator[Any]:
    import torch  # noqa: TID251

    if isinstance(what, torch.nn.Module):
        yield from what.parameters()
    yield from tensors(given)


def tensors(value: Any) -> Iterator[Any]:
    """The tensors in what a model takes or gives, whatever it is in."""
    import torch  # noqa: TID251
    from torch.utils import _pytree  # noqa: TID251

    yield from (one for one in _pytree.tree_leaves(value) if isinstance(one, torch.Tensor))
