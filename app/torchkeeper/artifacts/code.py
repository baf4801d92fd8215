"""Generated sources and built objects (PyCodeCache, CppCodeCache in torch/_inductor/codecache.py).
Also for which vector instructions code was written and built.

A C++ source does not say which kernel it is: its function is always called ``kernel``. The Python
module that PyTorch generated for the graph holds the same text under the kernel's name, so both
are reduced to a digest that joins them.
"""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from torchkeeper.artifacts import vllm
from torchkeeper.artifacts.layout import VLLM_FACTORS, VLLM_FILES, is_servers, payload_name
from torchkeeper.artifacts.patterns import regex

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Facts


# For which vector instructions C++ code was written, and for which it was built.
#
# PyTorch writes loops for vectors of a width, that of the CPU it is on, and no key tells which:
# another CPU that takes them computes nonsense. And it builds them for all that the CPU can do,
# which the name of the built object does not tell.

#: Bits that a vector has on some CPU (torch/_inductor/cpu_vec_isa.py).
_WIDTHS = (128, 256, 512)
_MARKS = ("at::vec::", "_mm256_", "_mm512_", "_tile_", "amx")
#: A load of a type's elements into so many vectors (CppVecKernel._get_load_line, codegen/cpp.py).
_LOAD = regex(
    r"Vec(?:torizedN?|Mask)<(?:\w{1,9}::)?(\w{1,40})(?:,\s?(\d{1,3}))?>::(?:loadu|from)\("
    r"[^;\n]{0,1000}, static_cast<int64_t>\((\d{1,5})L?\)\);"
)
#: A loop over vectors takes as many elements as there are floats in one, or, of loops that are
#: about shorter numbers, twice as many (TilingSelect.select_tiling).
_STEP = regex(r"; ?x\d{1,3} ?\+= ?static_cast<int64_t>\((\d{1,5})L?\)\)")
_SHORT = regex(r"BFloat16|bfloat16|Half|half")
#: In how many vectors its floats are.
_FLOATS = regex(r"(?:Vectorized<float|(?:VectorizedN|VecMask|convert)<float(?:, ?(\d{1,3}))?)[,>]")
#: As many as there are floats in one.
_SIMD = regex(r"#pragma omp [^\n]{0,40}simd simdlen\((\d{1,3})\)")
_BITS = {
    "float": 32, "double": 64, "int32_t": 32, "int64_t": 64, "uint32_t": 32, "uint64_t": 64,
    "int16_t": 16, "uint16_t": 16, "BFloat16": 16, "Half": 16, "int8_t": 8, "uint8_t": 8,
    "bool": 8,
}  # fmt: skip

_PRODUCER = regex(rb"(GNU C[^\0]{1,6000})(\0?)")
#: What GCC calls instructions, and Linux does otherwise.
_LINUX = {
    "sse4.1": "sse4_1", "sse4.2": "sse4_2", "bmi": "bmi1", "avx512vbmi2": "avx512_vbmi2",
    "avx512vnni": "avx512_vnni", "avx512bitalg": "avx512_bitalg",
    "avx512vpopcntdq": "avx512_vpopcntdq", "avx512bf16": "avx512_bf16",
    "avx512fp16": "avx512_fp16", "avx512vp2intersect": "avx512_vp2intersect",
    "avxvnni": "avx_vnni", "avxifma": "avx_ifma",
}  # fmt: skip
_VECTOR = regex(r"sse4_[12]|avx\w*|fma|f16c|bmi[12]|amx\w*")
_V2 = ("sse4_1", "sse4_2")
_V3 = (*_V2, "avx", "avx2", "bmi1", "bmi2", "f16c", "fma")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
_LEVELS = {"x86-64": (), "x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}
_ARM = regex(r"-march=armv[89][\w.-]*?-a((?:\+\w+)*)$")

#: What GCC calls instruction sets of any kind, and Linux does otherwise in /proc/cpuinfo.
#: Sources: i386-options.cc of GCC, arch/x86/include/asm/cpufeatures.h of Linux.
_SETS = {
    **_LINUX, "sse3": "pni", "pclmul": "pclmulqdq", "avx5124vnniw": "avx512_4vnniw",
    "avx5124fmaps": "avx512_4fmaps", "avxvnniint8": "avx_vnni_int8",
    "avxvnniint16": "avx_vnni_int16", "avxneconvert": "avx_ne_convert", "3dnowa": "3dnowext",
    "lzcnt": "abm", "sahf": "lahf_lm", "prfchw": "3dnowprefetch", "rdrnd": "rdrand",
    "sha": "sha_ni", "crc32": "sse4_2", "sse4": "sse4_2", "mwait": "monitor",
}  # fmt: skip
#: Sets that no compiler uses unless a source asks for one by its name, which no generated code
#: does. Linux does not name all of them, and takes some away from a CPU that has them, while GCC
#: asks the CPU alone: xsaves on AMD Zen 1 and 2 (erratum 1386), rdseed on some Zen 5, rdrand on
#: some that have been asleep, fsgsbase as it is told. What was built on such a CPU runs there.
_UNUSED = frozenset(
    {"clflushopt", "cldemote", "clwb", "clzero", "enqcmd", "fsgsbase", "hle", "hreset", "kl"}
    | {"lwp", "monitor", "movdir64b", "movdiri", "mwaitx", "pconfig", "pku", "prefetchi"}
    | {"prefetchwt1", "ptwrite", "rdpid", "rdrand", "rdseed", "rtm", "serialize", "sgx", "shstk"}
    | {"tsxldtrk", "uintr", "usermsr", "waitpkg", "wbnoinvd", "widekl"}
    | {"xsave", "xsavec", "xsaveopt", "xsaves"}
)
#: GCC names these in any list of what “native” meant: as there, or as not there.
_ALWAYS = ("mmx", "sse4.2", "popcnt", "avx", "avx2", "bmi2", "aes", "movbe", "xsave", "avx512f")
#: Options that name none, of those that a program may well add.
_OTHER = regex(r"32|64|x32|.*=.*|cld|fentry|recip|red-zone|relax|stackrealign|vzeroupper")
_X86 = ("fxsr", "mmx", "sse", "sse2")
_X86_V2 = (*_X86, "cx16", "lahf_lm", "pni", "popcnt", "ssse3", *_V2)
_X86_V3 = (*_X86_V2, *_V3, "abm", "movbe")
_X86_LEVELS = {"x86-64": _X86, "x86-64-v2": _X86_V2, "x86-64-v3": _X86_V3,
               "x86-64-v4": (*_X86_V3, *_V4)}  # fmt: skip


def widths(source: str) -> str | None:
    """The bits of the vectors that generated code may have been written for, with blanks between;
    None where it has none. Several, or none at all, where it does not tell.
    """
    if not any(mark in source for mark in _MARKS):
        return None
    if "_tile_" in source or "amx" in source:
        return ""
    possible = set(_WIDTHS)
    short = bool(_SHORT.search(source))
    for kernel in source.split('extern "C"'):
        _, *loops = _STEP.split(kernel)
        for step, body in zip(map(int, loops[::2]), loops[1::2], strict=True):
            if step > 1:
                possible &= {step * 32, step * 16} if short else {step * 32}
                floats = {step * 32 // max(int(n or 1), 1) for n in _FLOATS.findall(body)}
                possible &= floats or possible
    for lanes in map(int, _SIMD.findall(source)):
        possible &= {lanes * 32}
    for kind, count, elements in _LOAD.findall(source):
        # So many fit at least.
        least = int(elements) * _BITS.get(kind, 0) / max(int(count or 1), 1)
        possible = {width for width in possible if width >= least}
    return " ".join(map(str, sorted(possible)))


def instructions(data: bytes) -> str | None:
    """The vector instructions that a built object was told it may use, as Linux calls them, with
    blanks between; None where it does not say. They stand in its debug information: GCC names its
    options there, and what ``native`` meant.
    """
    found = _told(data, _used)
    return None if found is None else " ".join(sorted(found))


def instruction_sets(data: bytes) -> frozenset[str] | None:
    """All instruction sets that a built object was told it may use, as Linux calls them in
    /proc/cpuinfo, such as popcnt, less those that only hand-written code uses; None where it does
    not say, or is not for x86. A CPU that has all of them runs it.
    """
    found = _told(data, _sets)
    return None if found is None else frozenset(found)


def _told(data: bytes, told_by: Callable[[list[str]], set[str] | None]) -> set[str] | None:
    """What the options of all producers of an object tell; None where any tells nothing."""
    found: set[str] = set()
    producers = set(_PRODUCER.findall(data))
    for text, end in producers:
        some = told_by(text.decode("ascii", "replace").split()) if end else None
        if some is None:
            return None  # or what was cut off it may say more
        found |= some
    return found if producers else None


def _sets(options: list[str]) -> set[str] | None:
    found: set[str] = set()
    # What “native” meant is a CPU, and then all that it has and has not.
    known = all(f"-m{name}" in options or f"-mno-{name}" in options for name in _ALWAYS)
    for option in options:
        if option.startswith("-march="):
            level = _X86_LEVELS.get(option[7:])
            if option.startswith("-march=armv") or (level is None and not known):
                return None
            found |= set(level or _X86)
            known = True
        elif option.startswith("-mno-"):
            found.discard(_set(option[5:]))
        elif option.startswith("-m") and not _OTHER.fullmatch(option[2:]):
            found.add(_set(option[2:]))
    return found - _UNUSED if known else None


def _set(name: str) -> str:
    """What Linux calls a set of instructions; one that is not known here is called as it is."""
    return _SETS.get(name, name.replace("-", "_"))


def _used(options: list[str]) -> set[str] | None:
    found: set[str] = set()
    known = False
    for option in options:
        name = _LINUX.get(option[2:], option[2:].replace("-", "_"))
        if option.startswith("-march="):
            level = _LEVELS.get(option[7:])
            arm = _ARM.match(option)
            known = level is not None or arm is not None or "-mno-avx512er" in options
            known = known or any(other.startswith("-mno-") for other in options)
            found |= set(level or ()) | set(arm[1].split("+")[1:] if arm else ())
        elif option.startswith("-mno-"):
            found.discard(_LINUX.get(option[5:], option[5:].replace("-", "_")))
        elif option.startswith("-m") and _VECTOR.fullmatch(name):
            found.add(name)
    return found if known else None


_KERNEL = regex(
    r"^(\w{1,300}) = async_compile\.cpp\w*\((?:\[[^\]]*\], )?r?'''(.*?)'''",
    re.DOTALL | re.MULTILINE,
)
#: A Triton kernel in a module; its text is a literal of its own.
_TRITON_TEXT = regex(r"async_compile\.triton\('\w{1,300}', ('''.*?''')", re.DOTALL)
_TRITON = regex(r"^def (triton_\w{1,300})\(", re.MULTILINE)
_TRITON_CC = regex(r"DeviceProperties\(type='(\w{1,20})'.{0,200}?cc='?(\w{1,20})'?", re.DOTALL)
_AOT_ID = regex(r"^# AOT ID: \['(\w{1,80})'\]", re.MULTILINE)
_CHECK = regex(r"\b_*(\w+?)_chk_kernel")
_BINDINGS = "\n// Python bindings to call"
_BACKEND = regex(r"DeviceProperties\(type='(\w{1,20})'")
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
    """The key of a source (code_hash, write in codecache.py); command: what it is built with."""
    named = text.strip() + (f"||{command}" if command else "")
    return "c" + payload_name(hashlib.sha256(named.encode("utf-8", "replace")).hexdigest())


def for_rocm(text: str) -> bool:
    """Whether Triton kernels of a text are for AMD's GPUs, "cuda" to torch (runtime/hints.py)."""
    return any(match[1] == "hip" for match in _BACKEND.finditer(text))


def names(module: str) -> tuple[list[str], bool]:
    """The keys of the Triton sources a module names; and whether with ``kernels`` that is all. It
    is not where PythonWrapperCodegen writes no such text, or it names something in an unknown way.
    """
    try:
        # PyTorch writes the text of each to a file of its own (define_kernel in
        # torch/_inductor/codegen/triton.py, PyCodeCache.load).
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that are none
            texts = [ast.literal_eval(match[1]) for match in _TRITON_TEXT.finditer(module)]
        found = [key_of(text) for text in dict.fromkeys(texts)]
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return [], False
    every = len(_TRITON_TEXT.findall(module)) == module.count(" = async_compile.triton(")
    every = every and "\nasync_compile = AsyncCompile()\n" in module
    return found, every and len(_KERNEL.findall(module)) == module.count(" = async_compile.cpp")


def facts(texts: dict[str, bytes], full: bool) -> Facts:
    """What the sources of one stem are: name, device where the text tells, kernels, digest.

    role: "module", "triton" or "kernel" for what is written for FX graphs alone; code_names: the
    keys of the sources that a module names; hashes: of what vLLM made a key; instructions: those
    for vectors that what was built of it may use (``instructions``); requires: all sets that it may
    use, in order (``instruction_sets``). Either is None where one of several objects does not tell.
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
    if any(map(is_servers, texts)):
        found["hashes"] = told = _vllm(texts)
        of = told.get("model")
        whose = "vLLM" if VLLM_FILES & texts.keys() else "SGLang"
        more = f" of {of}" if of else " and key factors" if whose == "vLLM" else ""
        found["name"] = f"{whose}'s graph{more}"
    if full:
        sources = {n: texts[n] for n in sorted(texts) if not n.endswith(".so")}
        found["sources"] = {n: data.decode("utf-8", "replace") for n, data in sources.items()}
    return found


def needed_by(objects: list[bytes]) -> Facts:
    """What objects that are loaded together may use: instructions and requires, as of ``facts``;
    None where one of them is cut (MAX_OBJECT) or does not tell.
    """
    whole = all(len(data) < MAX_OBJECT for data in objects)
    used = [instructions(data) if whole else None for data in objects]
    sets = [instruction_sets(data) if whole else None for data in objects]
    words = {word for text in used for word in (text or "").split()}
    return {
        "instructions": None if None in used else " ".join(sorted(words)),
        "requires": None if None in sets else sorted({name for one in sets for name in one or ()}),
    }


def _vllm(texts: dict[str, bytes]) -> dict[str, str]:
    """The hashes that vLLM's key is made of, none of a list that was cut or is not vLLM's; the name
    of the folder that they make, and the model, where they tell.
    """
    factors = vllm.factors(texts.get(VLLM_FACTORS, b""))
    told = {**factors.hashes, "folder": vllm.folder(factors)} if factors else {}
    graphs = (texts[name] for name in sorted(texts) if name.startswith("computation_graph"))
    graph = next(graphs, b"").decode("utf-8", "replace")
    told["model"] = vllm.model(vllm.sources(graph))
    return {name: text for name, text in told.items() if text}


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
