"""What a recipe names in Python: an example, a factory or a function, compiled and run once."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from torchkeeper.artifacts.entry import Problem
from torchkeeper.warm.recipes.recipe import Variant
from torchkeeper.warm.recipes.tables import Called
from torchkeeper.warm.sources import Work, running


def make(variant: Variant, device: str, _: Any) -> Work:
    """The variant's model or function on the device, in its type, ready to be compiled. Raises
    Problem: "module-missing", "name-missing", "not-callable", "example-wrong", "arguments-wrong",
    "inputs-refused", "callable-raised"; what PyTorch raises passes through.
    """
    item = variant.item
    if "example" in item:
        found = found_in(item["example"], variant.folder)
        with running.blamed(variant):
            given = called(found, item.get("args", {}), variant, device)
        what, arguments, keywords = _example(item["example"], given)
        with running.blamed(variant):
            what = _placed(what, variant, device)
            arguments = list(_moved(arguments, variant, device))
            keywords = _moved(keywords, variant, device)
        # It is already as it is to be, in training or not, unless the recipe says so.
        ways = variant.backward, variant.grad, variant.training, variant.autocast
        return running.work(variant, device, [running.Call(what, arguments, keywords, *ways)])
    found = found_in(item.get("factory") or item["function"], variant.folder)
    made = dict[str, object]()

    def thing(call: Called) -> object:
        """What a call is of; of a factory, what it made, once for the same arguments."""
        if "factory" not in item:
            return found
        args = call.get("args", item.get("args", {}))
        key = json.dumps(args, sort_keys=True)
        if key not in made:
            what = called(found, args, variant, device)
            if not callable(what):
                raise Problem("example-wrong", name=item["factory"], found=type(what).__name__)
            made[key] = _placed(what, variant, device)
        return made[key]

    with running.blamed(variant):
        calls = running.calls(variant, device, thing)
    if "factory" in item and not all(call.backward for call in calls):
        # Where nothing says otherwise, what goes not backward is not in training.
        calls = [replace(x, training=x.backward) if x.training is None else x for x in calls]
    return running.work(variant, device, calls)


def found_in(name: str, folder: str | None) -> Callable[..., Any]:
    """As ``named``, of what can be called. Raises also Problem("not-callable")."""
    found = named(name, folder)
    if not callable(found):
        raise Problem("not-callable", name=name, found=type(found).__name__)
    what: Callable[..., Any] = found
    return what


def named(name: str, folder: str | None) -> Any:
    """What a name is. Raises "module-missing", "name-missing", "callable-raised"."""
    where, _, path = name.rpartition(":")
    found: Any = _module(where, folder)
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as e:
            near = ", ".join(difflib.get_close_matches(part, dir(found), 3)) or "—"
            raise Problem("name-missing", name=part, module=where, near=near) from e
    return found


def _module(name: str, folder: str | None) -> Any:
    above = folder or os.getcwd()
    file = os.path.join(above, name) if name.endswith(".py") else None
    for one in (above, os.path.dirname(os.path.abspath(file)) if file else above):
        if one not in sys.path:
            sys.path.insert(0, one)
    importlib.invalidate_caches()
    if file and not os.path.isfile(file):
        raise Problem("module-missing", module=name, folder=above)
    try:
        with running.blamed(Variant(0, "", name, "callable", folder=above)):
            return importlib.import_module(name) if file is None else _loaded(file)
    except ModuleNotFoundError as e:
        if file is None and (name == e.name or name.startswith(f"{e.name}.")):
            raise Problem("module-missing", module=name, folder=above) from e
        traceback.print_exc()
        raise Problem("module-needs", module=name, missing=e.name) from e
    except SyntaxError as e:
        where = f"{e.filename}:{e.lineno}"
        raise Problem("callable-raised", why=f"SyntaxError: {e.msg}", where=where) from e


def _loaded(file: str) -> Any:
    """A file as a module of its own, loaded once."""
    name, real = os.path.splitext(os.path.basename(file))[0], os.path.realpath(file)
    for one in (name, f"recipe_{name}"):
        known = sys.modules.get(one)
        if known is not None and os.path.realpath(getattr(known, "__file__", None) or "") == real:
            return known
    spec = None if name in sys.modules else importlib.util.find_spec(name)
    if spec is None or os.path.realpath(spec.origin or "") != real:
        name = f"recipe_{name}"  # the name is another module's
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def called(
    what: Callable[..., Any], args: Mapping[str, object], variant: Variant, device: str
) -> Any:
    """What it returns for args, device, dtype and sizes. Raises Problem("arguments-wrong")."""
    import torch  # noqa: TID251

    given: dict[str, object] = {**variant.sizes, "device": torch.device(device)}
    if variant.dtype:
        given["dtype"] = running.dtype(variant.dtype)
    try:
        signature = inspect.signature(what)
    except (TypeError, ValueError):
        return what(**args)
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = {name for name, one in signature.parameters.items() if one.kind in kinds}
    arguments = {**{name: value for name, value in given.items() if name in named}, **args}
    try:
        signature.bind(**arguments)
    except TypeError as e:
        name = getattr(what, "__qualname__", type(what).__name__)
        why = f"{name}{signature}: {e}"[:500]
        raise Problem("arguments-wrong", name=name, why=why, where=_line_of(what)) from e
    return what(**arguments)


def _line_of(what: Callable[..., Any]) -> str:
    """Where a function or a class begins."""
    what = inspect.unwrap(what)
    if not inspect.isroutine(what) and not inspect.isclass(what):
        what = type(what)
    try:
        return f"{inspect.getsourcefile(what)}:{inspect.getsourcelines(what)[1]}"
    except (OSError, TypeError):
        return "?"


def _example(name: str, given: Any) -> tuple[Any, Sequence[Any], Mapping[str, Any]]:
    """Raises Problem("example-wrong") unless it is (model, inputs) or with keyword inputs, too."""
    good = isinstance(given, tuple) and len(given) in (2, 3) and callable(given[0])
    keywords = (*given, {})[2] if good else None
    if not isinstance(keywords, Mapping):
        raise Problem("example-wrong", name=name, found=_shape_of(given))
    what, arguments = given[:2]
    if not isinstance(arguments, (tuple, list)):
        arguments = (arguments,)
    return what, arguments, keywords


def _shape_of(given: Any) -> str:
    if isinstance(given, tuple):
        return f"({', '.join(type(one).__name__ for one in given[:5])})"
    return type(given).__name__


def _placed(what: Any, variant: Variant, device: str) -> Any:
    """A model on the device and, where the variant names one, in its type; a function as it is."""
    import torch  # noqa: TID251

    if not isinstance(what, torch.nn.Module):
        return what
    what = what.to(device)
    return what.to(running.dtype(variant.dtype)) if variant.dtype else what


def _moved(given: Any, variant: Variant, device: str) -> Any:
    """An example's inputs where the model is, and in its type; None, numbers and texts stay."""
    import torch  # noqa: TID251
    from torch.utils import _pytree  # noqa: TID251

    kind = running.dtype(variant.dtype) if variant.dtype else None

    def move(one: Any) -> Any:
        if not isinstance(one, torch.Tensor):
            return one
        to = kind if kind is not None and one.is_floating_point() else one.dtype
        if one.device == torch.device(device) and one.dtype == to:
            return one
        moved = one.detach().to(device, to)
        return moved.requires_grad_() if one.requires_grad else moved

    return _pytree.tree_map(move, given)
