"""What Dynamo keeps: precompiled functions, with guards and compiled graphs, and PGO profiles.

Sources: torch/_dynamo/package.py (PrecompileCacheEntry, ``dynamo/<key>/entry``) and pgo.py (the
pickled code state). What vLLM saves of a graph's pieces is in torch/_inductor/standalone_compile.py
(CompiledArtifact.save), a whole model in torch/_dynamo/aot_compile.py
(AOTCompiledFunction.serialize).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts import fxgraph, inert, vllm

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Facts

_HEADERS = (b"CacheCompiledArtifact", b"AOTCompiledArtifact")
#: What ``model`` tells of the cache of a precompiled program.
PRECOMPILED = "precompile"


def precompiled(data: bytes, full: bool) -> Facts:
    """name: of the function; torch, device; python and gpu it needs; variants: how often it was
    compiled for other inputs, each with guards of its own; graphs: how many are compiled in it.
    With ``full`` the code objects with file and line, and the modules it was traced through. Raises
    as ``fxgraph.facts`` does.
    """
    obj = inert.load(data)
    if inert.class_name(obj) != "PrecompileCacheEntry":
        raise TypeError(f"a pickle of {inert.class_name(obj)}")
    whole = inert.fields(obj)
    dynamo = inert.fields(whole.get("dynamo"))
    system = inert.fields(dynamo.get("system_info"))
    codes = [inert.fields(code) for code in _list(dynamo.get("codes"))]
    backends = whole.get("backends")
    found: Facts = {
        "name": inert.text(dynamo.get("fn_name")),
        "torch": _version(system.get("torch_version")),
        "device": inert.text(dynamo.get("device_type")),
        "python": inert.text(system.get("python_version")),
        "gpu": inert.text(system.get("gpu_name")),
        "variants": sum(len(_list(code.get("guarded_codes"))) for code in codes),
        "graphs": len(backends) if isinstance(backends, dict) else None,
    }
    if full:
        found["functions"] = [_said(inert.fields(code.get("python_code"))) for code in codes[:500]]
        found["modules"] = _modules(inert.fields(dynamo.get("source_info")))
    return found


def _said(code: Mapping[str, object]) -> str:
    """A code object by its name and place."""
    place = inert.place(code.get("co_filename"), code.get("co_firstlineno"))
    return f"{inert.text(code.get('co_name')) or '?'} at {place}"


def _modules(source_info: Mapping[str, object]) -> list[str]:
    """The modules that a function was traced through."""
    traced = source_info.get("inlined_sources")
    sources = traced if isinstance(traced, (set, frozenset, list)) else ()
    names = {inert.text(inert.fields(source).get("module")) for source in sources}
    return sorted(filter(None, names))[:500]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _version(value: Any) -> str | None:
    """A TorchVersion is a text of a class of its own."""
    if isinstance(value, inert.Inert) and value.args:
        value = value.args[0]
    return inert.text(value)


def model(data: bytes, full: bool) -> Facts:
    """Of a function or model compiled ahead as a whole: as ``precompiled``, without variants.
    backend: what it was compiled with. Of the cache of a program that was
    precompiled (torch.compiler.precompile of 2.15): format PRECOMPILED, name: its own format, its
    version, and digest: the sha256 of the code that it is for. Of a pickle that is built otherwise,
    as other versions may do, only a name. Raises as ``fxgraph.facts`` does.
    """
    state = inert.load(data)
    if isinstance(state, dict) and {"format", "version", "code_hash"} <= state.keys():
        version = state["version"]
        return {
            "format": PRECOMPILED,
            "name": inert.text(state["format"]),
            "digest": inert.text(state["code_hash"]),
            "version": version if isinstance(version, int) else inert.text(version),
        }
    if not isinstance(state, dict) or "original_code" not in state:
        return {"name": "compiled model"}
    code = inert.fields(state["original_code"])
    system = inert.fields(state.get("system_info"))
    found: Facts = {
        "name": inert.text(code.get("co_qualname")) or inert.text(code.get("co_name")),
        "torch": _version(system.get("torch_version")),
        "device": inert.text(state.get("device_type")),
        "python": inert.text(system.get("python_version")),
        "gpu": inert.text(system.get("gpu_name")),
        "backend": inert.text(state.get("backend_name")),
    }
    if full:
        found["functions"] = [_said(code)]
        found["modules"] = _modules(inert.fields(state.get("source_info")))
    return found


def artifact(name: str, data: bytes) -> Facts:
    """Of a piece of a graph that vLLM had compiled: its name and the class that reads it. It starts
    with a checksum of 4 bytes and the name of the class, with its length as a uint64
    (torch/utils/_appending_byte_serializer.py, BytesWriter). Raises ValueError for anything else.
    """
    for header in _HEADERS:
        if data[4:].startswith(struct.pack(">Q", len(header)) + header):
            one = vllm.piece(name)
            said = f"piece {one.number} for {one.sizes}" if one else name.replace("_", " ")
            return {"name": said, "format": header.decode()}
    raise ValueError("not an artifact that torch saved")


def profile(data: bytes, full: bool) -> Facts:
    """As ``precompiled``, of a profile. name: its functions; ``full``: all, with file and line."""
    obj = inert.load(data)
    if inert.class_name(obj) not in ("defaultdict", "dict"):
        raise TypeError(f"a pickle of {inert.class_name(obj)}")
    pairs = obj.items if isinstance(obj, inert.Inert) else list(obj.items())
    functions: list[tuple[str, str]] = []
    for key, _ in pairs:
        state = inert.fields(key)
        args: tuple[Any, ...] = key.args if isinstance(key, inert.Inert) else ()
        name = inert.text(state.get("name")) or (inert.text(args[2]) if len(args) > 2 else None)
        file = inert.text(state.get("filename")) or (inert.text(args[0]) if args else None)
        line = state.get("firstlineno", args[1] if len(args) > 1 else None)
        if name:
            functions.append((name, inert.place(file, line) if file else ""))
    users = [one for one in functions if fxgraph.TORCH not in one[1]] or functions
    names = list(dict.fromkeys(map(fxgraph.called, users)))
    said = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    found: Facts = {"name": f"{said}: profile" if names else None}
    if full:
        found["functions"] = [f"{name} at {place}" for name, place in functions[:500]]
    return found
