"""Which classes and functions a pickle names, and which of them PyTorch itself never does.

To unpickle is to call what is named. What PyTorch writes is no less code: it has functions among
what it names that run a text of the pickle (torch.fx.graph_module.reduce_graph_module), and the
sources and objects beside are run, too. So nothing here proves a cache harmless; what is strange,
however, has no business in one.

The table is what torch 2.9.1 and 2.13.0 were seen to write on a CPU and 2.11.0 on a GPU, what
2.13.0 to 2.15.0 keep of a Triton kernel (CachingAutotuner in
torch/_inductor/runtime/triton_heuristics.py), and what a tensor is pickled with (torch/_tensor.py,
``_reduce_ex_internal``; torch/storage.py, ``__reduce__``).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts import inert

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Facts

#: How deep pickles are read in one another, how many in all and in a row, and how many objects.
_MAX_DEPTH, _MAX_PICKLES, _MAX_FOLLOWING, _MAX_OBJECTS = 6, 500, 8, 300_000
#: Names that are told of one entry.
MAX_TOLD = 500

_TYPES = (
    "bfloat16", "bool", "complex128", "complex32", "complex64", "float16", "float32", "float64",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "half", "double", "float",
    "int", "int16", "int32", "int64", "int8", "long", "short", "uint16", "uint32", "uint64",
    "uint8", "strided", "contiguous_format", "channels_last", "channels_last_3d", "preserve_format",
)  # fmt: skip
#: Members of enums that Python 3.11.0 to 3.11.3 pickle by name (inspect.py;
#: torch/_functorch/_aot_autograd/schemas.py). Those in capitals of PyTorch's own need no list.
_MEMBERS = {
    "inspect._ParameterKind": (
        "POSITIONAL_ONLY", "POSITIONAL_OR_KEYWORD", "VAR_POSITIONAL", "KEYWORD_ONLY", "VAR_KEYWORD",
    ),
    "torch._functorch._aot_autograd.schemas.OutputType": (
        "non_alias", "alias_of_input", "is_input", "alias_of_intermediate_save_as_output",
        "alias_of_intermediate", "alias_of_intermediate_base_is_user_output", "unsafe_view_alias",
        "custom_function_view",
    ),
}  # fmt: skip
_KNOWN = frozenset({
    "builtins.list", "builtins.set", "builtins.frozenset", "builtins.dict", "builtins.tuple",
    "builtins.slice", "builtins.range", "builtins.complex", "builtins.bytearray",
    "collections.OrderedDict", "collections.Counter", "collections.defaultdict",
    "inspect.Parameter", "inspect.Signature", "inspect._ParameterKind", "inspect._empty",
    "torch.Tensor", "torch.Size", "torch.device", "torch.dtype", "torch.nn.parameter.Parameter",
    *(f"torch.{name}" for name in _TYPES),
    *(f"{enum}.{name}" for enum, names in _MEMBERS.items() for name in names),
    "torch._utils.torch.contiguous_format", "torch._utils._rebuild_meta_tensor_no_storage",
    "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor", "torch._tensor.Tensor",
    "torch._utils._rebuild_parameter", "torch.storage._load_from_bytes",
    "torch.storage.UntypedStorage", "torch.storage.TypedStorage",
    "torch._guards.CompileId", "torch._inductor.decomposition.select_decomp_table",
    "torch._subclasses.functional_tensor.FunctionalTensor",
    "torch._subclasses.fake_tensor.FakeTensor",
    "torch.compiler._cache.CacheArtifactRecorder", "torch.fx.graph_module.reduce_graph_module",
    "torch.torch_version.TorchVersion", "torch.utils._ordered_set.OrderedSet",
    # A Triton kernel, with the configurations that were tried, and its arguments: how those may be
    # annotated, and what they may be by default.
    "triton.runtime.jit.JITFunction", "triton.runtime.jit.KernelParam",
    "triton.runtime.autotuner.Config",
    *(f"triton.language.core.{name}" for name in ("constexpr", "dtype", "tensor", "pointer_type")),
})  # fmt: skip
#: What a Triton kernel holds, and no pickle calls: methods, and types that annotate its arguments.
_HELD_ONLY = frozenset({
    "torch._inductor.runtime.autotune_cache.AutotuneCache.save",
    "triton.runtime.jit.JITFunction.create_binder",
    *map(".".join, inert.CALLING),
})  # fmt: skip
_AOT = "torch._dynamo.aot_compile_types"
#: What only entries of one kind name: the guards of a precompiled function, which are rebuilt by
#: methods that are looked up (GuardsStatePickler in torch/_dynamo/guards.py).
_OF_KIND = {
    # What Torch-TensorRT has beside an engine.
    "jit": frozenset({"torch_tensorrt.dynamo._settings.CompilationSettings"}),
    "precompile": frozenset({
        "builtins.getattr", "functools.partial", "torch._C._dynamo.guards.GlobalStateGuard",
        "torch._guards.Guard", "torch._guards.GuardsSet", "traceback.FrameSummary",
        "traceback.StackSummary", "torch.utils._traceback.CapturedTraceback",
        # What aot_compile saves.
        f"{_AOT}.BundledAOTAutogradSerializableCallable",
        f"{_AOT}.BundledAOTAutogradSerializableCallable.deserialize_compile_artifacts",
    }),
}  # fmt: skip
_GUARD = re.compile(
    r"torch\._dynamo\.guards\.(?:GuardBuilder\.[A-Z][A-Z_]*|GuardsStatePickler\._unpickle_[a-z_]+)"
)
#: Modules whose classes PyTorch keeps in what it compiles.
_MODULES = re.compile(
    r"torch\.(?:_inductor|_functorch|_dynamo|fx|_higher_order_ops|utils\._sympy)(?:\.\w+)*"
    r"|sympy\.(?:core|functions|logic|sets)(?:\.\w+)*"
)
_CLASS = re.compile(r"_?[A-Z]\w*(?:\.[A-Z]\w*)*")
#: Classes, some of them in modules of PyTorch, that start a program, write a file or load a library
#: when they are made.
_ACTING = re.compile(
    r"Popen|Process|Thread|Pool|Executor|Path|File|Builder|Compiler|Loader|Library|DLL|CodeCache"
    r"|Worker|Server|Socket|Lock"
    # Classes that make classes; and Python's own, which a pickle names by where they are from.
    r"|(?:Kind|Exp|Table|Tracker|Template|Class|Signature)Meta|Singleton|FunctionClass"
    r"|UndefinedFunction|ManagedProperties|VariadicSignatureType"
    r"|(?:Function|Method|Code|Module|Cell|Frame|Traceback|Wrapper|Proxy|Reference)Type|Partial"
    r"|ExitStack|ContextManager|EventLoop|Future|Callable|EntryPoint|StringIO|Buffered|WeakKey"
)
#: Classes of that look that a cache holds.
_HELD = frozenset({"_DynamoCodeCacheEntry", "_GuardedCodeCacheEntry"})


def is_strange(kind: str, module: str, name: str) -> bool:
    """Whether PyTorch never names this in an entry of a kind."""
    whole = f"{module}.{name}"
    if whole in _HELD_ONLY:
        return False
    name, whole = name.removesuffix("()"), whole.removesuffix("()")
    if whole in _KNOWN or whole in _OF_KIND.get(kind, ()):
        return False
    if kind == "precompile" and _GUARD.fullmatch(whole):
        return False
    if not _MODULES.fullmatch(module) or not _CLASS.fullmatch(name):
        return True
    return bool(_ACTING.search(name)) and name not in _HELD


def strange(kind: str, named: list[tuple[str, str]], most: int = 20) -> list[str]:
    """Those of some names that are strange, as ``module.name``."""
    return [f"{m}.{n}" for m, n in named if is_strange(kind, m, n)][:most]


def facts(kind: str, files: dict[str, bytes]) -> Facts:
    """What an entry's pickles name, those in texts of pickles included.

    pickles: how many there are; globals: ``module.name`` of all that is named, MAX_TOLD at most,
    what is strange first; strange: those of them that are; more: whether there was more than could
    be looked through, so that something may be missing.
    """
    names: dict[tuple[str, str], None] = {}
    pickles, more = 0, False
    budget = _MAX_OBJECTS
    # That of a generic cache begins after four bytes of a version.
    waiting = [(data[4:] if kind == "ondisk" else data, 0) for data in files.values()]
    while waiting:
        data, depth = waiting.pop()
        for loaded in inert.each(data, _MAX_FOLLOWING):
            pickles += 1
            names.update(dict.fromkeys(loaded.named))
            more = more or loaded.end is None
            texts, budget = _texts(loaded.obj, budget)
            more = more or budget <= 0
            inner = [text for text in texts if text[:1] == b"\x80" and text[1:2] in _PROTOCOLS]
            room = _MAX_PICKLES - pickles - len(waiting) if depth < _MAX_DEPTH else 0
            more, inner = more or len(inner) > room, inner[: max(room, 0)]
            waiting += [(text, depth + 1) for text in inner]
    found = sorted(names, key=lambda one: (not is_strange(kind, *one), one))
    return {
        "pickles": pickles,
        "globals": [f"{module}.{name}"[:300] for module, name in found[:MAX_TOLD]],
        "strange": strange(kind, found, MAX_TOLD),
        "more": more or len(found) > MAX_TOLD,
    }


_PROTOCOLS = (b"\x02", b"\x03", b"\x04", b"\x05")


def _texts(obj: Any, budget: int) -> tuple[list[bytes], int]:
    """The bytes in an object graph, each object looked at once, and what is left of a budget."""
    found: list[bytes] = []
    seen: set[int] = set()
    waiting = [obj]
    while waiting and budget > 0:
        one = waiting.pop()
        budget -= 1
        if isinstance(one, (bytes, bytearray)):
            if len(one) > 3:
                found.append(bytes(one))
            continue
        if not isinstance(one, (dict, list, tuple, set, frozenset, inert.Inert)) or id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, inert.Inert):
            waiting += [one.args, one.items, one.state]
        else:
            waiting += one
    return found, budget
