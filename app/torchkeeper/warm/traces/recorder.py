"""Notes in a program what it compiles. Runs there, as ``sitecustomize``, and nowhere else.

``warm.traces.notes`` puts this file's text, under that name, first on a program's
PYTHONPATH. It imports nothing by itself and wraps nothing that is compiled: PyTorch's structured
trace calls it where a compile begins (``dynamo_start`` in torch/_dynamo/convert_frame.py), and the
Python stack tells what was called, with which inputs (``compile_wrapper`` in
torch/_dynamo/eval_frame.py). Of a model it is noted what it was built with. What the program does
is the same with and without, and nothing that goes wrong here reaches it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

#: Variables that name the folder for what is noted, and that of this file. They do not begin with
#: TORCH: PyTorch writes down those that do in what it caches.
FOLDER, HERE = "_TORCHKEEPER_RECORD", "_TORCHKEEPER_RECORD_HERE"
#: What is noted at most: calls, models, arguments of one, bytes of a text.
_CALLS, _MODELS, _ARGUMENTS, _TEXT = 500, 200_000, 200, 1000
_DEEPEST = 8
_PLAIN = (bool, int, float, str)
#: Modules that do in training what they do not do later (torch/nn/modules).
_TRAINED = (
    "Dropout", "BatchNorm", "InstanceNorm", "MultiheadAttention", "Transformer", "RReLU", "RNN",
    "LSTM", "GRU",
)  # fmt: skip
#: What Dynamo sets itself while it compiles (torch/_dynamo/eval_frame.py, _set_dynamic…).
_PATCHED = ("assume_static_by_default", "automatic_dynamic_shapes")
_MODULE = "torch.nn.modules.module"
#: What calls that are one have in common.
_ALIKE = ("inputs", "keywords", "twice", "grad", "training", "autocast", "precision")

#: How the variables begin that are noted.
NOTED = ("TORCH", "TRITON", "OMP_NUM", "MKL_NUM")

Noted = dict[str, object]


class _Watch:
    """Sees torch being imported, without importing it (importlib: ``sys.meta_path``)."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Nothing: others find it. That torch is looked for is all that matters here."""
        try:
            if name == "torch":
                _listen()
            elif name == _MODULE:
                return _with_models(name, path, target)
        except Exception:  # noqa: BLE001, S110  # a program never hears of us
            pass
        return None


def _with_models(name: str, path: Any, target: Any) -> Any:
    """The module as it would be found, with an ear for models that are built."""
    for finder in [one for one in sys.meta_path if not isinstance(one, _Watch)]:
        spec = finder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            _hear(spec.loader)
            return spec
    return None


def _hear(loader: Any) -> None:
    run = loader.exec_module

    def exec_module(module: Any) -> None:
        del loader.exec_module  # as it was
        run(module)
        try:  # noqa: SIM105  # a program that has no torch imports nothing for us
            _hear_models(module)
        except Exception:  # noqa: BLE001, S110
            pass

    loader.exec_module = exec_module


#: What models were built with, by their id, as long as they live.
_built: dict[int, tuple[Any, Noted | None]] = {}


def _hear_models(module: Any) -> None:
    import functools

    torch = module.torch
    init = module.Module.__init__

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        # In what is being compiled there is nothing of ours.
        compiler = getattr(torch, "compiler", None)
        if compiler is not None and not compiler.is_compiling():
            _note_model(self)
        init(self, *args, **kwargs)

    module.Module.__init__ = __init__


def _note_model(model: Any) -> None:
    """What its class's own ``__init__`` was called with, which called this one."""
    try:
        import weakref

        outermost = None
        frame: Any = sys._getframe(2)
        # Dynamo has one of its own there, too (torch/_dynamo/mutation_guard.py).
        while frame is not None and frame.f_code.co_name in ("__init__", "patched_init"):
            code = frame.f_code
            if not code.co_argcount or frame.f_locals.get(code.co_varnames[0]) is not model:
                break
            outermost = frame if code.co_name == "__init__" else outermost
            frame = frame.f_back
        given = None
        # *args and **kwargs are not known by names.
        if outermost is not None and not outermost.f_code.co_flags & 0x0C:
            code = outermost.f_code
            names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
            given = {name: _kept(outermost.f_locals.get(name)) for name in names}
        ident = id(model)
        if len(_built) < _MODELS:
            _built[ident] = (weakref.ref(model, lambda _: _built.pop(ident, None)), given)
    except Exception:  # noqa: BLE001, S110
        pass


class _Other(int):
    """What is not plain, by its id: nothing of the program's is kept alive."""


def _kept(value: Any) -> Any:
    if value is None or _is_plain(value):
        return type(value)(value) if isinstance(value, (list, tuple)) else value
    return _Other(id(value))


def _arguments(model: Any) -> Noted | None:
    """What a model was built with, where all of it is plain; None where it is not, or not known."""
    import inspect

    known = _built.get(id(model))
    if known is None or known[0]() is not model or known[1] is None:
        return None
    noted = {}
    parameters = inspect.signature(type(model).__init__).parameters
    if known[1].keys() != set(list(parameters)[1:]):
        return None  # another class's
    for name, value in known[1].items():
        default = parameters[name].default
        same = value == id(default) if type(value) is _Other else value is default
        if same or (type(value) in _PLAIN and type(default) is type(value) and value == default):
            continue
        if not _is_plain(value) or parameters[name].kind is inspect.Parameter.POSITIONAL_ONLY:
            return None
        noted[name] = value
    return noted if len(noted) <= _ARGUMENTS else None


def _is_plain(value: Any, deep: int = 0) -> bool:
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return deep < 3 and len(value) <= 100 and all(_is_plain(x, deep + 1) for x in value)
    if type(value) is float:
        return value - value == 0
    return type(value) in _PLAIN and (type(value) is not str or len(value) <= _TEXT)


def _listen() -> None:
    """Have PyTorch's trace call us; its logger is there before torch is."""
    import logging
    import threading

    logger = logging.getLogger("torch.__trace")
    if any(type(one).__name__ == "TorchkeeperRecorder" for one in logger.handlers):
        return
    within = threading.local()

    class TorchkeeperRecorder(logging.Handler):
        def emit(self, record: Any) -> None:
            if getattr(within, "busy", False):
                return
            within.busy = True
            try:
                metadata = getattr(record, "metadata", None)
                if isinstance(metadata, dict):
                    _notes.hear(metadata)
            except Exception:  # noqa: BLE001, S110
                pass
            finally:
                within.busy = False

    logger.addHandler(TorchkeeperRecorder())
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_notes.forget)


class _Notes:
    """What this process has compiled."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew, as in a process that was forked: what was heard until then is another's."""
        self.compiled: list[Mapping[str, Any]] = []
        self.by_id: dict[Any, Mapping[str, Any]] = {}
        self.of_compile: dict[Any, Noted] = {}
        self.unseen = 0
        self.calls = 0
        self.watched: list[Any] = []

    def hear(self, metadata: Mapping[str, Any]) -> None:
        """One record of the trace, live: the compile that it is about is under way."""
        compile_id = metadata.get("frame_id"), metadata.get("frame_compile_id")
        if "dynamo_start" in metadata:
            self.begun(compile_id)  # ids begin again after torch._dynamo.reset()
        elif compile_id in self.of_compile:
            call = self.of_compile[compile_id]
            if "aot_joint_graph" in metadata and not call["backward"]:
                call["backward"] = True
                self.write()
            elif "create_symbol" in metadata and not call["symbols"]:
                # Those of sizes and whole numbers; a float always has one.
                call["symbols"] = str(metadata["create_symbol"].get("symbol")).startswith("s")
                self.write()

    def begun(self, compile_id: Any) -> None:
        """A compile begins: note what was called, if that can be seen."""
        frame = _calling()
        if frame is None or self.calls >= _CALLS:
            self.unseen += 1
            self.of_compile.pop(compile_id, None)
            self.write()
            return
        seen = frame.f_locals
        what, args, keywords = seen.get("fn"), seen.get("args", ()), seen.get("kwargs", {})
        one = self.of(what, seen.get("self"))
        tensors = list(_tensors((*args, *keywords.values())))
        call = {
            "inputs": [_input(value) for value in args],
            "keywords": {name: _input(value) for name, value in keywords.items()},
            # Dynamo makes one input of the two.
            "twice": len(set(tensors)) < len(tensors),
            "backward": False,
            "symbols": False,
            "grad": bool(sys.modules["torch"].is_grad_enabled()),
            "training": bool(getattr(_model_of(what), "training", False)),
            "order": self.calls,
            **_around(),
        }
        if compile_id[0] not in one["frames"]:
            one["frames"].append(compile_id[0])
        for known in one["calls"]:
            if all(known[name] == call[name] for name in _ALIKE):
                call = known  # a part of the same call, after a break; or once more
                break
        else:
            one["calls"].append(call)
            self.calls += 1
        self.of_compile[compile_id] = call
        one["settings"].extend(name for name in _settings() if name not in one["settings"])
        self.write()

    def of(self, what: Any, context: Any) -> Mapping[str, Any]:
        """What is known of a thing that is compiled."""
        model = _model_of(what)
        what = _own(what) if model is None else model
        key = id(what), id(context)
        if key not in self.by_id:
            about = _function(what) if model is None else _model(what)
            noted = {"calls": [], "settings": [], "frames": [], **about, **_ways(context)}
            self.by_id[key] = noted
            self.compiled.append(noted)
            self.watch(key, what, context)
        return self.by_id[key]

    def watch(self, key: Any, *things: Any) -> None:
        """Nothing of the program's is kept alive: what goes makes room for another of its id."""
        import weakref

        for one in things:
            try:
                self.watched.append(weakref.ref(one, lambda _: self.by_id.pop(key, None)))
            except TypeError:
                continue

    def write(self) -> None:
        """What is noted until now, whole: the program may be killed at any time."""
        import json

        torch = sys.modules["torch"]
        main = sys.modules.get("__main__")
        spec = getattr(main, "__spec__", None)
        told = {
            "torch": str(getattr(torch, "__version__", "")),
            "python": sys.executable,
            "main": _file(getattr(main, "__file__", None)),
            "main_module": getattr(spec, "name", None),
            "path": sys.path[0] if sys.path else "",
            "folder": os.getcwd(),
            "threads": torch.get_num_threads(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
            "environment": {
                name: value[:_TEXT] for name, value in os.environ.items() if name.startswith(NOTED)
            },
            "unseen": self.unseen,
            "compiled": self.compiled,
        }
        path = os.path.join(os.environ[FOLDER], f"{os.getpid()}.json")
        # Never half of it, for the program may be killed; but not synced, for it is read at once.
        with open(path + ".tmp", "w", encoding="utf-8") as file:
            json.dump(told, file)
        os.replace(path + ".tmp", path)


_notes = _Notes()


def _calling() -> Any:
    """The innermost frame in which something compiled is being called; None where there is none."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if code.co_name in ("compile_wrapper", "_fn") and code.co_filename.endswith(
            os.path.join("torch", "_dynamo", "eval_frame.py")
        ):
            seen = frame.f_locals
            if "fn" in seen and type(seen.get("self")).__name__ == "OptimizeContext":
                return frame
        frame = frame.f_back
    return None


def _own(what: Any) -> Any:
    """Without what Dynamo puts around it (``wrap_inline`` in torch/_dynamo/external_utils.py)."""
    while (
        getattr(getattr(what, "__code__", None), "co_filename", "").endswith("external_utils.py")
        and getattr(what, "__wrapped__", None) is not None
    ):
        what = what.__wrapped__
    return what


def _model_of(what: Any) -> Any:
    """The model that is compiled, where it is one as a whole; else None."""
    what = _own(what)
    module = sys.modules["torch"].nn.Module
    if isinstance(what, module):
        return what
    model = getattr(what, "__self__", None)
    whole = getattr(what, "__name__", "") in ("_call_impl", "_wrapped_call_impl", "__call__")
    # ``model.forward = torch.compile(model.forward)`` compiles the same code.
    own = getattr(what, "__func__", None) is getattr(type(model), "forward", model)
    return model if (whole or own) and isinstance(model, module) else None


def _file(path: Any) -> str | None:
    return os.path.abspath(path) if isinstance(path, str) else None


def _named(what: Any, is_it: Callable[[Any], bool]) -> Noted:
    """Where something is defined, and whether it is found there by its name."""
    module, name = getattr(what, "__module__", None), getattr(what, "__qualname__", None)
    home: Any = sys.modules.get(module) if isinstance(module, str) else None
    found = home
    for part in str(name).split("."):
        found = getattr(found, part, None)
    return {
        "module": str(module)[:_TEXT],
        "name": str(name)[:_TEXT],
        "file": _file(getattr(home, "__file__", None)),
        "there": home is not None and found is not None and is_it(found),
    }


def _parameters(what: Any) -> list[str]:
    """The names of what it takes; none where they are not known."""
    import inspect

    try:
        return [name[:_TEXT] for name in inspect.signature(what).parameters][:_ARGUMENTS]
    except (TypeError, ValueError):
        return []


def _function(what: Any) -> Noted:
    decorated = []

    def is_it(found: Any) -> bool:
        # It may be there as torch.compile made it of this one.
        for again in range(_DEEPEST):
            if found is what:
                decorated.append(again > 0)
                return True
            found = getattr(found, "_torchdynamo_orig_callable", None) or getattr(
                found, "__wrapped__", None
            )
        return False

    kind = "function" if type(what).__name__ == "function" else "other"
    noted = {"kind": kind, "type": type(what).__name__, **_named(what, is_it)}
    return {**noted, "parameters": _parameters(what), "decorated": decorated == [True]}


def _model(model: Any) -> Noted:
    cls = type(model)
    tensors = [*model.parameters(), *model.buffers()]
    floats = {_dtype(t.dtype) for t in tensors if t.is_floating_point()}
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks")
    odd = {
        "hooks": any(getattr(one, name, None) for one in model.modules() for name in hooks),
        "frozen": len({p.requires_grad for p in model.parameters()}) > 1,
        "devices": len({str(t.device) for t in tensors}) > 1,
        "dtypes": len(floats) > 1,
        "strides": any(map(_is_channels_last, tensors)),
    }
    return {
        "kind": "model",
        **_named(cls, lambda found: found is cls),
        "parameters": _parameters(model.forward),
        "args": _arguments(model),
        "dtype": min(floats) if floats else None,
        "device": str(tensors[0].device) if tensors else None,
        "mode_matters": any(map(_mode_matters, model.modules())),
        "odd": [name for name, found in odd.items() if found],
    }


def _is_channels_last(tensor: Any) -> bool:
    """Whether it is in that memory format, and in no other."""
    torch: Any = sys.modules["torch"]
    if tensor.layout is not torch.strided or tensor.is_contiguous():
        return False
    form = {4: torch.channels_last, 5: torch.channels_last_3d}.get(tensor.dim())
    return form is not None and bool(tensor.is_contiguous(memory_format=form))


def _mode_matters(module: Any) -> bool:
    """Whether it does in training what it does not do later."""
    cls = type(module)
    if any(part in cls.__name__ for part in _TRAINED):
        return True
    if cls.__module__.startswith("torch.nn."):
        return False
    if getattr(cls.forward, "__code__", None) is None:
        return True
    # Not only forward itself: it may call another method that looks.
    others = ("torch.nn.", "builtins")
    own = [part for part in cls.__mro__ if not part.__module__.startswith(others)]
    codes = [getattr(one, "__code__", None) for part in own for one in vars(part).values()]
    return any(code is not None and "training" in code.co_names for code in codes)


def _ways(context: Any) -> Noted:
    """How it is compiled: by the names of torch.compile's parameters."""
    backend: Any = getattr(context, "callback", None)
    for _ in range(_DEEPEST):
        inner = getattr(backend, "_torchdynamo_orig_backend", None) or getattr(
            backend, "_torchdynamo_orig_callable", None
        )
        if inner is None:
            break
        backend = inner
    dynamic, fullgraph = getattr(context, "_dynamic", None), getattr(context, "fullgraph", None)
    noted: Noted = {
        "backend": "?",
        "dynamic": dynamic if isinstance(dynamic, bool) else None,
        "fullgraph": bool(fullgraph or getattr(context, "error_on_graph_break", False)),
        "mode": None,
        "options": {},
    }
    # torch.compile puts _TorchCompileInductorWrapper or _TorchCompileWrapper around it.
    function = getattr(backend, "compiler_fn", None)
    if function is not None or getattr(backend, "compiler_name", None) != "inductor":
        noted["backend"] = _backend(backend if function is None else function, backend)
        return noted
    noted["backend"] = "inductor"
    options = dict(getattr(backend, "config", {}))
    modes = ("reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
    inductor: Any = sys.modules.get("torch._inductor")
    for mode in modes if options and inductor is not None else ():
        told = inductor.list_mode_options(mode, dynamic)
        if {name.replace("-", "_"): value for name, value in told.items()} == options:
            return {**noted, "mode": mode}
    if not all(_is_plain(value) for value in options.values()):
        return {**noted, "backend": "inductor with options that are not plain values"}
    return {**noted, "options": options}


def _backend(function: Any, wrapper: Any) -> str:
    """What people call a backend: one of PyTorch's by its name alone."""
    home = str(getattr(function, "__module__", None) or type(function).__module__)
    if home.startswith("torch."):
        name = getattr(wrapper, "compiler_name", None) or getattr(function, "__name__", None)
        return str(name or type(function).__name__)[:80]
    name = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{home}.{name}"[:80]


def _around() -> Noted:
    """What is set around a call: the type of torch.autocast by device, and the precision."""
    torch = sys.modules["torch"]
    cast = [device for device in ("cpu", "cuda", "xpu") if torch.is_autocast_enabled(device)]
    return {
        "autocast": {device: _dtype(torch.get_autocast_dtype(device)) for device in cast},
        "precision": torch.get_float32_matmul_precision(),
    }


def _settings() -> list[str]:
    """What else the program has set for everything that it compiles, in a word each."""
    torch = sys.modules["torch"]
    found = []
    if torch.get_default_dtype() != torch.float32:
        found.append("default dtype")
    if torch.are_deterministic_algorithms_enabled():
        found.append("deterministic algorithms")
    for name in ("torch._inductor.config", "torch._dynamo.config", "torch._functorch.config"):
        for key, entry in getattr(sys.modules.get(name), "_config", {}).items():
            override = getattr(entry, "user_override", None)
            value = override.get() if override and hasattr(override, "get") else override
            unset = value is None or type(value) is object or "_UNSET" in repr(value)
            if not unset and value != entry.default and key not in _PATCHED:
                found.append(f"{name}.{key}")
    return found[:20]


def _dtype(dtype: Any) -> str:
    return str(dtype).replace("torch.", "")


def _input(value: Any, deep: int = 0) -> Any:
    """An input as a recipe says it, or ``{"odd": why}`` for one that a recipe cannot."""
    torch: Any = sys.modules["torch"]
    if value is None:
        return {"none": True}
    if type(value) in (bool, int, str) or type(value) is float:
        return value if _is_plain(value) else {"odd": type(value).__name__}
    if type(value) in (list, tuple):
        if deep >= _DEEPEST or len(value) > 1000:
            return {"odd": "long list"}
        return {type(value).__name__: [_input(one, deep + 1) for one in value]}
    if type(value) is torch.dtype:
        return {"dtype": _dtype(value)}
    if type(value) is torch.device:
        return {"device": str(value)}
    if type(value) is not torch.Tensor and type(value) is not torch.nn.Parameter:
        return {"odd": type(value).__name__[:80]}
    if value.layout is not torch.strided or not value.is_contiguous():
        return {"odd": "tensor that is not contiguous"}
    noted = {"shape": list(value.shape), "dtype": _dtype(value.dtype), "device": str(value.device)}
    return {**noted, "requires_grad": True} if value.requires_grad else noted


def _tensors(values: Iterable[Any], deep: int = 0) -> Iterator[int]:
    """The ids of the tensors that are given."""
    for value in values:
        if type(value) in (list, tuple) and deep < _DEEPEST and len(value) <= 1000:
            yield from _tensors(value, deep + 1)
        elif isinstance(value, sys.modules["torch"].Tensor):
            yield id(value)


def _start() -> None:
    """Watch for torch, and be the ``sitecustomize`` that the user has, if there is one."""
    sys.path[:] = [path for path in sys.path if path != os.environ.get(HERE)]
    if os.environ.get(FOLDER):
        sys.meta_path.insert(0, _Watch())
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        from importlib.util import module_from_spec

        module = module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    _start()
