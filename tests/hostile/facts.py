"""JSON, sources and objects as they lie in a cache folder, or nearly so."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from random import Random
from typing import Any

from tests.hostile import pickles, values
from tests.hostile.listing import KEY
from tests.hostile.mutations import mutated

#: What is good of each kind, as values.
GOOD: dict[str, Any] = {
    "triton": {"name": "k", "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
               "triton_version": "3.7.1", "num_warps": 4, "hash": "a"},
    "group": {"child_paths": {"k.json": "/tmp/x/k.json", "k.cubin": "/tmp/x/k.cubin"}},
    "autotune": {"XBLOCK": 16, "num_warps": 4, "num_stages": 1, "triton_cache_hash": "A" * 52},
    "choices": {"system": {"device": {"name": "H200"}, "version": {"cuda": "12.8", "triton": "a"},
                           "hash": "b"},
                "cache": {"mm": {"in": {"high": {"c": 1.5}}}}},
    "eager": [{"meta_info": [
        {"is_dynamic": False, "device_type": "cpu", "device_index": -1, "dtype": "torch.float32",
         "sizes": [4, 8], "strides": [8, 1], "requires_grad": False, "dispatch_key_set": 32769,
         "arg_order": 0},
        {"arg_order": 1, "dtype": "torch.int64", "scalar_value": 1},
        {"arg_order": 2, "tensor_list": [{"dtype": "torch.float32", "sizes": [1]}]}],
        "kernel_path": f"lib/aa/c{KEY}.wrapper.so"}],
    "memoized": {"collections": {"a": {"k": 1}, "null": {}}},
    "vllm": {"code_hash": "a", "compiler_hash": "b", "config_hash": "c", "env": {}},
}  # fmt: skip

#: Paths that a list or a group of files must not lead to.
OUTSIDE = ("/etc/passwd", "../../../../../evil.so", "lib/../../evil.so", "lib/aa/../../../x.so",
           "lib", "lib/", "/", "", ".", "lib//x.so", "lib/aa/x.so\0", "file:///evil.so", "~/x.so",
           "lib/aa/" + "x" * 300 + ".so", "lib\\aa\\x.so")  # fmt: skip

MODULE = """# AOT ID: ['0_forward']
async_compile = AsyncCompile()
cpp_fused_add_0 = async_compile.cpp_pybinding(['float*'], '''
#include <x.h>
extern "C" void kernel(float* p) { for (; x0 += static_cast<int64_t>(8L)) at::vec::Vectorized<float>::loadu(p, static_cast<int64_t>(8)); }
''')
triton_poi_0 = async_compile.triton('triton_poi_0', '''
import triton
''', device_str='cuda')
def triton_poi_0(x): pass
"""  # noqa: E501
#: Bytes as they stand in an object of g++.
PRODUCER = b"\x7fELF\x02\x01\x01" + bytes(57) + b"GNU C++17 12.2.0 -mavx2 -march=x86-64-v3 -g1\0"


def source(trip: str) -> bytes:
    """A Python source that leaves ``trip`` when it is imported, run or compiled to run."""
    return f"open({trip!r}, 'w')\n{MODULE}".encode()


def json_of(kind: str, chance: Random, size: int) -> bytes:
    """JSON of a kind with parts that nobody expects; or none."""
    how = chance.randrange(8)
    if how == 0:
        return chance.choice(values.ODD_JSON)
    good = GOOD[kind]
    if how == 1:
        return mutated(
            json.dumps(good).encode(), chance, size, values.as_json(values.plain(chance))
        )
    if kind == "eager" and how < 4:
        path = chance.choice((*OUTSIDE, values.plain(chance)))
        return values.as_json([{**good[0], "kernel_path": path}] * size)
    if kind == "group" and how < 4:
        paths = {values.text(chance): chance.choice(OUTSIDE) for _ in range(size)}
        return values.as_json({"child_paths": {**paths, "k.cubin": chance.choice(OUTSIDE)}})
    if how == 7:
        return values.as_json(values.plain(chance, 5))
    return values.as_json(values.changed(good, chance, size))


def code_of(kind: str, chance: Random, size: int, trip: str, real: list[bytes]) -> bytes:
    """A source or an object, damaged or made up."""
    how = chance.randrange(4)
    if kind == "object":
        data = chance.choice((PRODUCER, b"\x7fELF", PRODUCER * 100, b"GNU C" * 10_000))
        return mutated(data, chance, size, b"GNU C -march=native -mno-avx512er\0")
    if how == 0:
        return mutated(source(trip), chance, size, MODULE.encode())
    if how == 1:
        return chance.choice(pickles.SOURCES).encode() * size
    if how == 2:
        return mutated(chance.choice(real), chance, size, chance.choice(real))
    return b"# AOT ID: ['0']\n" + mutated(chance.choice(real), chance, size, source(trip))


def sources(cache: Path) -> list[bytes]:
    """Real sources."""
    files = sorted([*cache.glob("*/*.py"), *cache.glob("*/*.cpp")])
    return [path.read_bytes() for path in files]


#: A source in C that leaves the file named by TRIP when it is loaded.
CONSTRUCTOR = """#include <fcntl.h>
__attribute__((constructor)) static void fire(void) { open(TRIP, O_CREAT | O_WRONLY, 0600); }
"""


def cut_headers(data: bytes) -> list[bytes]:
    """An object whose section table lies elsewhere, or that ends before it."""
    far = data[:40] + struct.pack("<Q", 1 << 62) + data[48:]
    many = data[:58] + b"\xff\xff\xff\xff" + data[62:]
    return [far, many, data[:64], data[: len(data) // 2], b"\x7fELF"]
