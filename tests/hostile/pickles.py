"""Pickles that would run something, take all there is, or are real ones with other opcodes."""

from __future__ import annotations

import pickle
import pickletools
import struct
from collections.abc import Sequence
from random import Random
from typing import Any

from tests.hostile import values
from tests.hostile.tripwires import MODULE


def text(value: str) -> bytes:
    """The opcode that pushes a text."""
    data = value.encode("utf-8", "surrogatepass")
    return b"X" + struct.pack("<I", len(data)) + data


def gadgets(trip: str) -> list[bytes]:
    """Pieces of pickles, each of which leaves one object and would make ``trip`` if it ran."""
    path, shell = text(trip), text(f"touch {trip}")
    code = text(f"open({trip!r}, 'w')")
    mkdir, system = b"cposix\nmkdir\n", b"cos\nsystem\n"
    state = b"}" + text("__setstate__") + system + b"s"
    return [
        mkdir + path + b"\x85R",
        system + b"(" + shell + b"tR",
        text("posix") + text("mkdir") + b"\x93" + path + b"\x85R",
        b"cbuiltins\nexec\n" + code + b"\x85R",
        b"cbuiltins\neval\n" + code + b"\x85R",
        b"cbuiltins\nopen\n" + path + text("w") + b"\x86R",
        b"csubprocess\nPopen\n" + shell + b"\x85R",
        b"csubprocess\ncheck_output\n(" + shell + b"l\x85R",
        b"(" + path + b"iposix\nmkdir\n",
        b"(" + mkdir + path + b"o",
        mkdir + path + b"\x85\x81",
        mkdir + path + b"\x85}\x92",
        mkdir + path + b"b",
        # An object whose state brings the method by which the next state is set.
        b"c__main__\nA\n)\x81" + state + b"b" + shell + b"b",
        mkdir + b"}" + text("__reduce__") + mkdir + b"sb" + path + b"\x85R",
        b"cbuiltins\ngetattr\n" + b"cposix\nsystem\n" + text("__call__") + b"\x86R"
        + shell + b"\x85R",
        b"cfunctools\npartial\n" + mkdir + path + b"\x86R)R",
        b"cbuiltins\nmap\n" + mkdir + b"](" + path + b"e\x86R",
        b"c_pickle\nloads\n" + b"B" + _sized(mkdir + path + b"\x85R.") + b"\x85R",
        b"ctorch._utils\n_rebuild_tensor_v2\n)R",
        b"c" + MODULE.encode() + b"\nx\n",
        text(MODULE) + text("x") + b"\x93",
        b"cantigravity\ngeohash\n)R",
        b"cctypes\nCDLL\n" + text(f"{trip}.so") + b"\x85R",
        b"csocket\ncreate_connection\n" + text("127.0.0.1") + b"K\x09\x86\x85R",
        path + b"Q",
        b"P" + trip.encode() + b"\n",
        b"\x82\x01", b"\x83\x01\x01", b"\x84\x01\x01\x01\x01",
        b"cbuiltins\n__import__\n" + text(MODULE) + b"\x85R",
        b"cimportlib\nimport_module\n" + text(MODULE) + b"\x85R",
        b"cposixpath\nos.system\n" + shell + b"\x85R",
        text("os") + text("path.os.system") + b"\x93" + shell + b"\x85R",
        b"c../../../evil\nx\n)R", b"c\n\n)R",
    ]  # fmt: skip


def _sized(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


def nested_key(depth: int) -> bytes:
    """A dict whose key is so many tuples deep: hashing it overflows the C stack."""
    return b"})" + b"\x85" * depth + b"Ns."


def colliding_integers(count: int) -> bytes:
    """A dict of integers that all have one hash: building it takes quadratic time."""
    keys = [pickle.dumps(n * ((1 << 61) - 1), 2)[2:-1] + b"N" for n in range(1, count)]
    return b"\x80\x02}(" + b"".join(keys) + b"u."


def endless_globals(count: int) -> bytes:
    """So many classes, each another."""
    return b"".join(b"cm\nC%d\n0" % n for n in range(count)) + b"N."


def doubled(rounds: int, kind: str) -> bytes:
    """One object that holds another twice, and so on: small, and as a tree 2**rounds large."""
    if kind == "tuples":
        return b"N" + b"2\x86" * rounds
    first = {"lists": b"]", "dicts": b"}"}[kind]
    made = first + b"q\0"
    for n in range(rounds):
        before, mine = bytes([n % 250]), bytes([(n + 1) % 250])
        put = first + b"q" + mine
        if kind == "lists":
            made += put + b"h" + before + b"ah" + before + b"a"
        else:
            made += put + b"K\x01h" + before + b"sK\x02h" + before + b"s"
    # The last is all that is left of them.
    return b"(" + made + b"1h" + bytes([rounds % 250])


#: Bombs that are no text of an object: each takes all memory, time or stack there is.
BOMBS = {
    "nested tuples as a key": nested_key(1_000_000),
    "colliding integers": colliding_integers(50_000),
    "BINBYTES8 of 2^56": b"\x80\x04\x8e" + b"\xff" * 7 + b"\0.",
    "BINUNICODE8 of 2^63": b"\x80\x04\x8d" + b"\0" * 7 + b"\x7f.",
    "BYTEARRAY8 of 2^56": b"\x80\x05\x96" + b"\xff" * 7 + b"\0.",
    "BYTEARRAY8 of 2^30": b"\x80\x05\x96\0\0\0\x40\0\0\0\0.",
    "LONG_BINPUT of 2^31": b"\x80\x02Nr\xff\xff\xff\x7f.",
    "PUT of 2^60": b"Np1152921504606846976\n.",
    "LONG4 of 2 GB": b"\x80\x02\x8b\xff\xff\xff\x7f.",
    "LONG4 of less than nothing": b"\x80\x02\x8b\xff\xff\xff\xff.",
    "a FRAME of 2^62": b"\x80\x04\x95" + b"\0" * 7 + b"\x40N.",
    "an integer of a million digits": b"I" + b"9" * 1_000_000 + b"\n.",
    "a long of a megabyte": b"\x80\x02\x8b" + _sized(b"\x7f" * (1 << 20)) + b".",
    "deep lists": b"\x80\x02" + b"]" * 200_000 + b"a" * 199_999 + b".",
    "deep tuples": b"\x80\x02)" + b"\x85" * 300_000 + b".",
    "deep objects": b"\x80\x02" + b"cm\nC\nq\0" + b"h\0)\x81" * 100_000 + b"b" * 99_999 + b".",
    "endless marks": b"(" * 2_100_000 + b".",
    "endless duplicates": b"]" + b"2" * 2_100_000 + b".",
    "endless globals": endless_globals(100_000),
    "doubled lists": b"\x80\x02" + doubled(60, "lists") + b".",
    "doubled dicts": b"\x80\x02" + doubled(60, "dicts") + b".",
    "doubled tuples": b"\x80\x02" + doubled(60, "tuples") + b".",
    "doubled tuples as a key": b"\x80\x02}" + doubled(60, "tuples") + b"Ns.",
    "a list in itself": b"]2a.",
    "an object in itself": b"cm\nC\n)\x81q\0}" + text("self") + b"h\0sb.",
    "classes with long names": b"".join(
        b"c" + b"m" * 500_000 + b"%d\nC\n0" % n for n in range(40)) + b"N.",
}  # fmt: skip


def body(value: Any) -> bytes:
    """The opcodes that push a plain value."""
    return pickle.dumps(value, 2)[2:-1]


#: Of each class that a kind's pickles are of, the fields that are read.
FIELDS = {
    "fxgraph": ("torch._inductor.output_code", "CompiledFxGraph", (
        "source_code", "inductor_post_grad_graph_str", "runnable_graph_str", "fx_kwargs",
        "device_types", "_fx_graph_cache_debug_lines", "_triton_bundle", "cache_key",
        "_fx_graph_cache_key", "extern_libs_key", "_time_taken_ns", "guards_expr")),
    "aotautograd": ("torch._functorch._aot_autograd.aot_autograd_result", "AOTAutogradResult", (
        "compiled_fw", "compiled_bw", "aot_forward_graph_str", "aot_backward_graph_str",
        "forward_time_taken_ns", "backward_time_taken_ns", "guards_expr")),
    "precompile": ("torch._dynamo.package", "PrecompileCacheEntry", ("dynamo", "backends")),
    "inner": ("m", "Inner", (
        "fx_graph_cache_info", "fx_graph_cache_key", "result", "_fx_graph_cache_debug_lines",
        "kernel_artifacts", "kernel_hash", "system_info", "codes", "fn_name", "device_type",
        "guarded_codes", "python_code", "source_info", "inlined_sources", "module", "co_name",
        "co_filename", "co_firstlineno", "torch_version", "python_version", "gpu_name", "name",
        "filename", "firstlineno", "source_code", "_triton_bundle")),
}  # fmt: skip


def made(module: str, name: str, fields: Sequence[tuple[str, bytes]]) -> bytes:
    """The opcodes of an object of a class, with fields."""
    state = b"}(" + b"".join(text(field) + value for field, value in fields) + b"u"
    return b"c" + module.encode() + b"\n" + name.encode() + b"\n)\x81" + state + b"b"


#: Texts that what is read of a graph looks into.
SOURCES = (
    "# torch version: 2.9.1\n# NVIDIA H200 : 1 \n", "# torch version: " + "9" * 100_000,
    "# File: " + "a" * 300 + ":1 in f, code: x\n" * 1_000, "triton_" + "a_fused_" * 10_000,
    "Original ATen: [" + "aten.mm," * 400 + "]", "x = async_compile.cpp('''" * 2_000,
    "\nasync_compile = AsyncCompile()\n",
    "= async_compile.triton('a', '''" + "\\" * 10_000 + "''')",
    "a = async_compile.triton('k', '''" + "(" * 50_000 + "''')", "at::vec::" * 10_000,
    "; x0 += static_cast<int64_t>(00000L))" * 1_000, "#pragma omp simd simdlen(000)" * 1_000,
    "Vectorized<float>::loadu(" + "x" * 900 + ", static_cast<int64_t>(0));", "\0" * 1_000,
    "[a] b: " + "c" * 1_000_000, "[" * 100_000,
)  # fmt: skip


def _part(chance: Random, trip: str, depth: int) -> bytes:
    """Whatever a field may be: a plain value, a gadget, or objects in lists, tuples and dicts."""
    what = chance.randrange(10)
    if what > 5 or not depth:
        source = text(chance.choice(SOURCES))
        return chance.choice((
            chance.choice(gadgets(trip)), body(values.plain(chance)), source,
            b"](" + source * 3 + b"e",
            chance.choice((doubled(30, "lists"), doubled(40, "tuples"), b"]2a", b"cm\nC\n")),
        ))  # fmt: skip
    parts = [_part(chance, trip, depth - 1) for _ in range(chance.randrange(4))]
    if what == 0:
        return b"](" + b"".join(parts) + b"e"
    if what == 1:
        return b"(" + b"".join(parts) + b"t"
    if what == 2:
        return b"}(" + b"".join(text(f"k{n}") + part for n, part in enumerate(parts)) + b"u"
    return of_class("inner", chance, parts)


def of_class(kind: str, chance: Random, parts: list[bytes]) -> bytes:
    """An object of a class, with parts in fields that are read."""
    module, name, fields = FIELDS[kind]
    return made(module, name, [(chance.choice(fields), part) for part in parts])


def objects(kind: str, trip: str, chance: Random, size: int) -> bytes:
    """A pickle of the class that a kind has, with fields that nobody expects."""
    parts = [_part(chance, trip, 3) for _ in range(size)]
    if kind == "pgo":
        code = b"cm\nCodeId\n" + b"".join((parts * 3)[:3]) + b"\x87\x81"
        return b"\x80\x04}" + code + b"Ns" + b"."
    return b"\x80\x04" + of_class(kind, chance, parts) + b"."


def opcodes(data: bytes) -> list[bytes]:
    """A pickle in its opcodes, without frames, which would tell of every change."""
    names = {at or 0: op.name for op, _, at in pickletools.genops(data)}
    every = sorted(names)
    bounds = dict(zip(every, [*every[1:], len(data)], strict=True))
    return [data[at : bounds[at]] for at in every if names[at] != "FRAME"]


def rewritten(program: list[bytes], chance: Random, count: int, extra: list[bytes]) -> bytes:
    """A real pickle with some opcodes left out, doubled, exchanged, or others put in."""
    done = list(program)
    for _ in range(count):
        at, some = chance.randint(0, len(done)), chance.randint(1, 4)
        what = chance.randrange(8)
        if what == 0:
            del done[at : at + some]
        elif what == 1:
            done[at:at] = done[at : at + some] * 2
        elif what == 2 and at < len(done):
            other = chance.randrange(len(done))
            done[at], done[other] = done[other], done[at]
        elif what in (3, 4):
            done[at : at + 1] = [chance.choice(extra)]
        elif what == 5:
            done.insert(at, bytes([chance.randrange(256)]))
        else:
            done.insert(at, chance.choice(extra))
    return b"".join(done)


def retexted(program: list[bytes], chance: Random, count: int) -> bytes:
    """A real pickle that can be read, in which some texts say something else."""
    done = list(program)
    texts = [at for at, op in enumerate(done) if op[:1] in (b"X", b"\x8c") and len(op) > 12]
    for _ in range(count):
        at = chance.choice(texts)
        said = done[at][2 if done[at][:1] == b"\x8c" else 5 :].decode("utf-8", "surrogatepass")
        start, _, rest = said.partition(": ")
        odd = chance.choice((
            "(" * 5_000, "[" * 2_000, "{" * 2_000, "9" * 5_000, "[[" * 300 + "]]" * 300,
            "a=" * 3_000, "{'a': " * 500, "\\" * 5_000, "'" * 4_999, "s0*" * 3_000,
            "torch.Size([" + "1, " * 3_000,
            values.text(chance), repr(values.plain(chance)), rest * 3, rest[::-1], "\n" * 3_000,
        ))  # fmt: skip
        cut = chance.randint(0, len(rest))
        done[at] = text(f"{start}: {chance.choice((odd, rest[:cut] + odd + rest[cut:]))}")
    return b"".join(done)


#: Opcodes to be put in anywhere.
SNIPPETS = [
    b"0", b"1", b"2", b"(", b"R", b"b", b"o", b"\x81", b"\x92", b"\x93", b"s", b"u", b"a", b"e",
    b"t", b"l", b"d", b"\x85", b"\x86", b"\x87", b"\x8f", b"\x90", b"\x91", b"\x94", b"\x97",
    b"\x98", b"N", b"]", b"}", b")", b"h\0", b"q\0", b"j\0\0\0\0", b"r\xff\xff\xff\0", b"K\x01",
    b"I01\n", b"Lx\n", b"F1e999\n", b"Fnan\n", b"S'\\", b"V\\ud800\n", b"\x80\xff", b"\x8a\xff",
    b"G\x7f\xf0\0\0\0\0\0\0", b"X\xff\xff\xff\xff", b"\x8c\xff", b".", b"g-1\n", b"p-1\n",
]  # fmt: skip
