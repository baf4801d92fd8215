"""Generated sources and built objects (PyCodeCache, CppCodeCache in torch/_inductor/codecache.py).

A C++ source does not say which kernel it is: its function is always called ``kernel``. The Python
module that PyTorch generated for the graph holds the same text under the kernel's name, so both
are reduced to a digest that joins them.
"""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import re
import warnings
from typing import TYPE_CHECKING

from torchkeeper.artifacts import vectors
from torchkeeper.artifacts.layout import VLLM_FACTORS, is_vllm

if TYPE_CHECKING:
    from torchkeeper.artifacts.payload import Facts

_KERNEL = re.compile(
    r"^(\w{1,300}) = async_compile\.cpp\w*\((?:\[[^\]]*\], )?r?'''(.*?)'''",
    re.DOTALL | re.MULTILINE,
)
#: A Triton kernel in a module; its text is a literal of its own.
_TRITON_TEXT = re.compile(r"async_compile\.triton\('\w{1,300}', ('''.*?''')", re.DOTALL)
_TRITON = re.compile(r"^def (triton_\w{1,300})\(", re.MULTILINE)
_TRITON_CC = re.compile(r"DeviceProperties\(type='(\w{1,20})'.{0,200}?cc='?(\w{1,20})'?", re.DOTALL)
_AOT_ID = re.compile(r"^# AOT ID: \['(\w{1,80})'\]", re.MULTILINE)
_CHECK = re.compile(r"\b_*(\w+?)_chk_kernel")
_BINDINGS = "\n// Python bindings to call"
_BACKEND = re.compile(r"DeviceProperties\(type='(\w{1,20})'")
_DEVICES = (("empty_strided_cuda(", "cuda"), ("empty_strided_xpu(", "xpu"))

#: A built object is read this far: what its compiler was told stands behind its code.
MAX_OBJECT = 4 << 20
#: The last is vLLM's; other JSON beside code is AOTInductor's and says nothing.
SOURCES = (".py", ".cpp", ".h", ".cu", ".metal", VLLM_FACTORS)


def digest(text: str) -> str:
    """What joins a kernel's text in a Python module with its C++ source."""
    own = text.partition(_BINDINGS)[0].strip()
    return hashlib.sha256(own.encode("utf-8", "replace")).hexdigest()[:24]


def kernels(module: str) -> list[tuple[str, str]]:
    """(name, digest) of every C++ kernel in a generated Python module."""
    return [(match[1], digest(match[2])) for match in _KERNEL.finditer(module)]


def key_of(text: str, command: str = "") -> str:
    """The key under which PyTorch writes a source (code_hash, write in codecache.py); ``command``:
    what it adds to one that it builds.
    """
    named = text.strip() + (f"||{command}" if command else "")
    digest = hashlib.sha256(named.encode("utf-8", "replace")).digest()
    return "c" + base64.b32encode(digest)[:51].decode().lower()


def triton_sources(module: str) -> list[str]:
    """The keys of the Triton sources that a generated Python module has compiled.

    PyTorch writes the text of each to a file of its own (define_kernel in
    torch/_inductor/codegen/triton.py, PyCodeCache.load). Raises ValueError or SyntaxError for a
    text that is no literal.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes that are none
        texts = [ast.literal_eval(match[1]) for match in _TRITON_TEXT.finditer(module)]
    return [key_of(text) for text in dict.fromkeys(texts)]


def for_rocm(text: str) -> bool:
    """Whether the Triton kernels of a text are for a GPU of AMD's, which torch calls "cuda"
    (DeviceProperties.create in torch/_inductor/runtime/hints.py).
    """
    return any(match[1] == "hip" for match in _BACKEND.finditer(text))


def names(module: str) -> tuple[list[str], bool]:
    """The keys of the Triton sources a module names; and whether with ``kernels`` that is all.

    It is not where the text is none that PythonWrapperCodegen writes, or names something in a
    way that is not known here.
    """
    try:
        found = triton_sources(module)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return [], False
    every = len(_TRITON_TEXT.findall(module)) == module.count(" = async_compile.triton(")
    every = every and "\nasync_compile = AsyncCompile()\n" in module
    return found, every and len(_KERNEL.findall(module)) == module.count(" = async_compile.cpp")


def facts(texts: dict[str, bytes], full: bool) -> Facts:
    """What the sources of one stem are: name, device where the text tells, kernels, digest.

    role: "module", "triton" or "kernel" for what is written for FX graphs alone; code_names: the
    keys of the sources that a module names; hashes: of what vLLM made a key; instructions: those
    for vectors that what was built of it may use (vectors.instructions); requires: all sets of
    instructions that it may use, in order (vectors.instruction_sets). Either is None where one of
    several objects does not tell.

    texts: the source files and built objects by name, each possibly cut.
    """
    found: Facts = {"name": None, "device": None, "kernels": []}
    objects = []
    for name, data in sorted(texts.items()):
        if name.endswith(".so"):
            objects.append(data)
            continue
        text = data.decode("utf-8", "replace")
        if name.endswith(".py"):
            found.update(_module(text))
        elif name.endswith((".cpp", ".cu")):
            found["digest"] = digest(text)
            if _BINDINGS in text:
                found["role"] = "kernel"
            if check := _CHECK.search(text):
                found["name"] = f"check for {check[1].upper()}"
                found["device"] = "cpu"
    if objects:
        found.update(needed_by(objects))
    if any(map(is_vllm, texts)):
        found["name"] = "vLLM's graph and key factors"
        found["hashes"] = _hashes(texts.get(VLLM_FACTORS, b""))
    if full:
        sources = {n: texts[n] for n in sorted(texts) if not n.endswith(".so")}
        found["sources"] = {n: data.decode("utf-8", "replace") for n, data in sources.items()}
    return found


def needed_by(objects: list[bytes]) -> Facts:
    """What objects that are loaded together may use: instructions and requires, as of ``facts``.
    What is behind a cut (MAX_OBJECT) may say more.
    """
    whole = all(len(data) < MAX_OBJECT for data in objects)
    used = [vectors.instructions(data) if whole else None for data in objects]
    sets = [vectors.instruction_sets(data) if whole else None for data in objects]
    words = {word for text in used for word in (text or "").split()}
    return {
        "instructions": None if None in used else " ".join(sorted(words)),
        "requires": None if None in sets else sorted({name for one in sets for name in one or ()}),
    }


def _hashes(factors: bytes) -> dict[str, str]:
    """What vLLM's key was made of: ``code``, ``compiler``, ``config``, each as a hash.

    A list that was cut or is none of vLLM's tells nothing (VllmBackend.__call__ in
    vllm/compilation/backends.py).
    """
    try:
        said = json.loads(factors)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(said, dict):
        return {}
    parts = {name: said.get(f"{name}_hash") for name in ("code", "compiler", "config")}
    return {name: value[:100] for name, value in parts.items() if isinstance(value, str)}


def _module(text: str) -> Facts:
    graph = _AOT_ID.search(text)
    if not graph and (triton := _TRITON.search(text)):
        # A module has the texts of its kernels in it.
        target = _TRITON_CC.search(text)
        device = f"{target[1]}:{target[2]}" if target else None
        return {"name": triton[1], "device": device, "role": "triton"}
    device = next((name for call, name in _DEVICES if f" = {call}" in text), "cpu")
    device = "hip" if device == "cuda" and for_rocm(text) else device
    return {
        "name": f"graph {graph[1]}" if graph else None,
        "device": device if graph else None,
        "kernels": kernels(text),
        "code_names": names(text)[0],
        "role": "module" if graph else None,
    }
