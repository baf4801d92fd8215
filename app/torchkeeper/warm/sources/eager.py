"""An operator compiled ahead of time for PyTorch's eager mode, kept in ``aoti_eager/``.

A program uses it that registers the operator so (``Library._impl_with_aoti_compile`` in
torch/library.py): it is then looked up by the types, shapes and values of its inputs
(torch/csrc/inductor/aoti_eager/kernel_holder.cpp, torch/_inductor/aoti_eager.py). Only static
shapes are known there, and only inputs of some types.
"""

from __future__ import annotations

import contextlib
import difflib
import io
import json
import logging
import os
import re
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from torchkeeper.artifacts.aoti_eager import digest
from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores.atomic import sync_folder
from torchkeeper.stores.folders import merging
from torchkeeper.stores.items import MARK
from torchkeeper.verdict.commands import instead
from torchkeeper.warm.child import said
from torchkeeper.warm.recipes.recipe import Variant
from torchkeeper.warm.shapes import Counted, Proof
from torchkeeper.warm.sources import Step, Work, running


def found(op: str) -> tuple[str, str, Any]:
    """The namespace of an operator, its name there with the overload, and itself. The default
    overload goes without a name, as in PyTorch's own lists. Raises Problem("name-missing").
    """
    import torch  # noqa: TID251

    space, _, named = op.partition("::")
    name, _, overload = named.partition(".")
    packet = getattr(getattr(torch.ops, space), name, None)
    if packet is None:
        near = ", ".join(difflib.get_close_matches(name, dir(getattr(torch.ops, space)), 3)) or "—"
        raise Problem("name-missing", name=name, module=f"torch.ops.{space}", near=near)
    known, overload, module = packet.overloads(), overload or "default", f"torch.ops.{space}.{name}"
    if overload not in known:
        near = ", ".join(f"{name}.{one}" for one in known[:20])
        raise Problem("name-missing", name=overload, module=module, near=near)
    return space, name if overload == "default" else f"{name}.{overload}", getattr(packet, overload)


def in_order(
    function: Any, args: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[list[Any], Mapping[str, Any]]:
    """The inputs by position, without defaults. Raises Problem("inputs-refused")."""
    schema = function._schema.arguments
    names = [one.name for one in schema]
    strange = [name for name in keywords if name not in names]
    if strange or len(args) > sum(not one.kwarg_only for one in schema):
        why = f"it has no input {strange[0]}" if strange else f"{len(args)} inputs are too many"
        raise Problem("inputs-refused", why=why, where=str(function._schema))
    values = {**dict(zip(names, args, strict=False)), **keywords}
    told = {
        one.name: values[one.name]
        for one in schema
        if one.name in values and not _is_default(one, values[one.name])
    }
    placed: list[Any] = []
    for one in schema:
        if one.kwarg_only or one.name not in told:
            break
        placed.append(told.pop(one.name))
    return placed, told


def _is_default(argument: Any, value: Any) -> bool:
    plain = isinstance(value, (bool, int, float, str, type(None)))
    if not plain or not argument.has_default_value():
        return False
    return type(argument.default_value) is type(value) and bool(argument.default_value == value)


def check_type(value: Any) -> None:
    """Raises Problem("input-type") for what PyTorch cannot compile an eager operator for."""
    import torch  # noqa: TID251

    kinds = (torch.Tensor, bool, int, float, str, torch.dtype, torch.device, torch.layout)
    listed = isinstance(value, list) and all(isinstance(one, torch.Tensor) for one in value)
    if listed or isinstance(value, kinds):
        return
    found = type(value).__name__
    if isinstance(value, (list, tuple)):
        found += f" of {type(value[0]).__name__}" if value else ", empty"
    raise Problem("input-type", found=found)


def as_text(meta: Any) -> Any:
    """A description of inputs with every dtype and the like as a text, as it is on the disk."""
    if isinstance(meta, dict):
        return {key: as_text(value) for key, value in meta.items()}
    if isinstance(meta, list):
        return [as_text(one) for one in meta]
    return meta if isinstance(meta, (bool, int, float, str, type(None))) else str(meta)


# Files that PyTorch rewrites where they stand, written beside them and put there whole. A process
# that is killed meanwhile would else leave nothing of the list of an eager operator, not even what
# was there before (aoti_compile_with_persistent_cache in torch/_inductor/aoti_eager.py).


class Whole(io.StringIO):
    """A file that changes when this is left with a text and without an exception."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__()
        self._path = os.fspath(path)

    def __exit__(self, kind: Any, *rest: Any) -> None:
        text = self.getvalue()
        super().__exit__(kind, *rest)
        if kind is None and text:
            # As PyTorch's own, so that it is swept (write_atomic in torch/_inductor/codecache.py).
            name = f".{os.getpid()}.{threading.get_ident()}.tmp"
            folder = os.path.dirname(self._path)
            partial = os.path.join(folder, name)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(partial)  # of another process that had these numbers
            with open(partial, "x", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, self._path)
            sync_folder(folder or ".")


@contextlib.contextmanager
def whole(module: Any) -> Iterator[None]:
    """What this module opens for writing meanwhile is written so."""

    def opened(path: Any, mode: str = "r", *more: Any, **how: Any) -> Any:
        return Whole(path) if mode == "w" else open(path, mode, *more, **how)

    # It stands before the built-in one.
    module.open = opened
    try:
        yield
    finally:
        del module.open


_LOGGER = "torch._inductor.aoti_eager"
#: The dispatch key that an operator of a device is registered for.
_KEYS = {"cpu": "CPU", "cuda": "CUDA", "xpu": "XPU", "mps": "MPS"}
#: What matters of an exception of Dynamo's (torch/_dynamo/exc.py).
_EXPLAINED = re.compile(r"^\s*(?:Explanation: )(.+)$", re.M)


class _Operator:
    """An operator and its inputs, in the way in which PyTorch would look for it."""

    def __init__(self, variant: Variant, device: str) -> None:
        """Raises Problem: "name-missing", "input-type", "inputs-refused"."""
        self.name: str = variant.item["op"]
        self.space, self.overloaded, self.function = found(self.name)
        self.device = device.partition(":")[0]
        args, keywords = running.inputs_of(variant.item, device)
        self.args, self.keywords = in_order(self.function, args, keywords)
        for value in (*self.args, *self.keywords.values()):
            check_type(value)
        import torch  # noqa: TID251

        try:
            # As it is: compiling would say the same at greater length.
            with torch.no_grad():
                self.function(*self.args, **self.keywords)
        except (RuntimeError, TypeError, IndexError, ValueError, NotImplementedError) as e:
            lines = [line.strip() for line in str(e).splitlines() if line.strip()]
            raise Problem("inputs-refused", why=": ".join(lines[:2])[:500], where=self.name) from e

    def kept(self) -> bool:
        """Whether PyTorch finds it in its cache."""
        from torch._inductor import aoti_eager  # noqa: TID251

        wanted = self._described()
        for item in aoti_eager.load_aoti_eager_cache(self.space, self.overloaded, self.device):
            if item and as_text(item["meta_info"]) == wanted:
                return os.path.isfile(item["kernel_path"])
        return False

    def _described(self) -> Any:
        """Its inputs as the list holds them, and as it is looked up."""
        import torch  # noqa: TID251
        from torch._inductor import aoti_eager  # noqa: TID251

        made = []
        for at, value in enumerate((*self.args, *self.keywords.values())):
            if isinstance(value, torch.Tensor):
                one = aoti_eager.extract_tensor_metadata(False, value)
            elif isinstance(value, list):
                one = aoti_eager.extract_tensor_list_metadata(False, value)
            elif isinstance(value, (bool, int, float)):
                one = aoti_eager.extract_scalar_metadata(self.device, value)
            elif isinstance(value, str):
                one = aoti_eager.extract_string_metadata(value)
            elif isinstance(value, torch.dtype):
                one = aoti_eager.extract_dtype_metadata(value)
            elif isinstance(value, torch.device):
                one = aoti_eager.extract_device_metadata(value)
            else:
                one = aoti_eager.extract_layout_metadata(value)
            made.append({**one, "arg_order": at})
        return as_text(made)

    @property
    def key(self) -> str:
        """Of its entry."""
        return f"{self.overloaded}{MARK}{digest({'meta_info': self._described()})}"

    def compile(self) -> None:
        """Have PyTorch compile it if need be, and list it. Raises Problem("eager-failed")."""
        from torch._inductor import aoti_eager  # noqa: TID251

        with _heard() as causes, whole(aoti_eager):
            path = aoti_eager.aoti_compile_with_persistent_cache(
                self.space, self.overloaded, self.device, False, self.function, tuple(self.args),
                self.keywords,
            )  # fmt: skip
        if not path:
            why = _short(causes[-1]) if causes else "PyTorch made no library, and gave no reason"
            raise Problem("eager-failed", op=self.name, why=why)
        if not self.kept():
            raise Problem("eager-failed", op=self.name, why=self._why_not_kept(path))
        if why := self.runs():
            # One that cannot be used may spoil all of the list. In torch 2.13 types in a list of
            # tensors stay texts when it is loaded, and registering fails (kernel_holder.cpp).
            listed, wanted = str(self._list()), self._described()
            spoilt = [one for one in merging.listed(listed) if one.get("meta_info") == wanted]
            merging.take(listed, spoilt)
            why = f"PyTorch compiled it, but cannot use it: {why}"
            raise Problem("eager-failed", op=self.name, why=why)

    def _list(self) -> Any:
        """The path of PyTorch's list."""
        from torch._inductor import aoti_eager  # noqa: TID251

        return aoti_eager.aoti_eager_cache_dir(self.space, self.device) / f"{self.overloaded}.json"

    def _why_not_kept(self, path: str) -> str:
        """Why PyTorch does not find what it has just compiled."""
        listed = self._list()
        try:
            paths = [one["kernel_path"] for one in json.loads(listed.read_text())]
            gone = [one for one in paths if not (listed.parent / one).exists()]
        except (OSError, ValueError, TypeError, LookupError) as e:
            return f"{listed} cannot be read: {said(e)}"
        if gone:
            lacks = f"names a library that is gone, {gone[0]}; then PyTorch uses none of that list"
            return f"{listed} {lacks}"
        return f"{listed} does not name {path} for these inputs"

    def runs(self) -> str:
        """Run it as a program does that uses this cache; returns why not, or ""."""
        import torch  # noqa: TID251
        from torch._inductor import aoti_eager  # noqa: TID251

        key = _KEYS.get(self.device)
        library = torch.library.Library(self.space, "IMPL")
        register = getattr(library, "_impl_with_aoti_compile", None)
        if key is None or register is None:
            return ""
        asked = []

        def refuse(*given: Any, **_: Any) -> str:
            asked.append(given)
            return ""

        instead_of = instead(aoti_eager, "aoti_compile_with_persistent_cache", refuse)
        try:
            with instead_of, warnings.catch_warnings(), torch.no_grad():
                warnings.simplefilter("ignore")  # that it takes another's place
                register(self.overloaded, key)
                self.function(*self.args, **self.keywords)
        except Exception as e:  # noqa: BLE001  # C++ raises what it likes
            return "PyTorch compiles it again" if asked else said(e)
        finally:
            library._destroy()
        return ""


def make(variant: Variant, device: str, _: Any) -> Work:
    """The operator with these inputs on the device, a hit where the cache has it. Its proof:
    ``load_aoti_eager_cache`` returns it, and a program that registers the operator runs it without
    compiling. Raises Problem as ``_Operator``.
    """
    operator = _Operator(variant, device)
    counts: Counted = {"hits": 0, "misses": 0}
    made: list[tuple[str, str]] = []

    def warm() -> None:
        made[:] = [("aoti_eager", operator.key)]
        kept = operator.kept()
        counts["hits" if kept else "misses"] += 1
        if not kept:
            operator.compile()

    def prove() -> Proof:
        why = operator.runs() if operator.kept() else "it is not in PyTorch's list"
        return {"found": int(not why), "of": 1, "why": why}

    return Work([Step(variant.name, warm)], prove, counts, made)


@contextlib.contextmanager
def _heard() -> Iterator[list[BaseException]]:
    """The exceptions that PyTorch logs instead of raising them."""
    causes: list[BaseException] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if record.exc_info and record.exc_info[1]:
                causes.append(record.exc_info[1])

    handler, logger = Handler(logging.ERROR), logging.getLogger(_LOGGER)
    logger.addHandler(handler)
    try:
        yield causes
    finally:
        logger.removeHandler(handler)


def _short(error: BaseException) -> str:
    explained = _EXPLAINED.search(str(error))
    return f"{type(error).__name__}: {explained[1]}"[:500] if explained else said(error)
