"""What more just-in-time compilers of a serving machine keep, written by their own code, without a
GPU: ``serving/more.tar.xz``. Needs g++, ninja, torch, and the wheels named in README.md.

    python serving_more.py FOLDER WHEELS

FOLDER: where the caches go. WHEELS: a folder with the wheels, each unpacked into a folder that is
called as its package. Where a compiler wants a GPU, the functions that name and write its entries
are called with an object that g++ has made.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

FOLDER, WHEELS = map(Path, sys.argv[1:])
SOURCE = 'extern "C" int add_one(int x) { return x + 1; }\n'


def module(name: str, path: Path, **needs: object) -> Any:
    """A module of a wheel that is loaded by itself. needs: what it imports, by its full name."""
    for full, attributes in needs.items():
        made = types.ModuleType(full.replace("__", "."))
        vars(made).update(vars(attributes))
        sys.modules[made.__name__] = made
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec and spec.loader
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


def built(path: Path) -> None:
    """An object, as a compiler exports one."""
    command = ["g++", "-O1", "-c", "-xc++", "-", "-o", str(path)]
    subprocess.run(command, input=SOURCE.encode(), check=True)


def torch_extensions() -> None:
    """One in the default folder, one in that of the variable."""
    from torch.utils import cpp_extension

    source = FOLDER / "plain.cpp"
    source.write_text(SOURCE)
    (FOLDER / "home").mkdir()
    os.environ |= {"XDG_CACHE_HOME": str(FOLDER / "home"), "CXXFLAGS": "-s"}
    cpp_extension.load_inline("inlined", SOURCE, no_implicit_headers=True, is_python_module=False,
                              extra_ldflags=["-s"])  # fmt: skip
    os.environ["TORCH_EXTENSIONS_DIR"] = str(FOLDER / "extensions")
    cpp_extension.load("plain", str(source), is_python_module=False, extra_ldflags=["-s"])
    source.unlink()
    (FOLDER / "home" / "torch_extensions").rename(FOLDER / "torch_extensions")
    shutil.rmtree(FOLDER / "home")


def sglang() -> None:
    """Its persistent cache, of a kernel that exports what g++ made."""
    cache = module("cute_aot", WHEELS / "sglang/sglang/kernels/jit/cute_aot_cache.py")
    path = FOLDER / "cute_aot" / cache.hashlib.sha256(b"fingerprint").hexdigest() / "fwd"
    kernel = types.SimpleNamespace(
        export_to_c=lambda object_file_path, function_name: built(Path(object_file_path))
    )
    cache.JITPersistentCache(path)[("key", 1)] = kernel


def quack() -> None:
    """By its own decorator, of a kernel that exports what g++ made."""
    for name in ("cutlass", "cutlass.cute", "tvm_ffi", "quack", "quack.cache"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["cutlass"].__dict__.update(cute=sys.modules["cutlass.cute"], __version__="4.8.1")
    sys.modules["tvm_ffi"].__dict__.update(__version__="0.1.15")
    package = WHEELS / "quack_kernels/quack"
    sys.modules["quack"].__dict__.update(__file__=str(package / "__init__.py"))
    pool = types.SimpleNamespace(get_active_pool=lambda: None)
    folder = str(FOLDER / "quack_cache")
    about = {"CACHE_DIR": folder, "CACHE_ENABLED": True, "EXTRA_SOURCE_DIRS": []}
    sys.modules["quack"].__dict__["cache"] = sys.modules["quack.cache"]
    sys.modules["quack.cache"].__dict__.update(about, async_compile=pool)
    jit = module("quack.cache.jit", package / "cache/jit.py")
    kernel = types.SimpleNamespace(
        export_to_c=lambda object_file_path, function_name: built(Path(object_file_path))
    )
    jit.jit_cache(lambda width: kernel)(1)


def torch_tensorrt() -> None:
    """An engine of made-up bytes, packed and saved by its own cache."""
    import torch

    @dataclasses.dataclass
    class CompilationSettings:
        enabled_precisions: str = "f32"

    CompilationSettings.__module__ = "torch_tensorrt.dynamo._settings"
    CompilationSettings.__qualname__ = "CompilationSettings"
    settings = types.SimpleNamespace(
        CompilationSettings=CompilationSettings,
        _SETTINGS_TO_BE_ENGINE_INVARIANT={"enabled_precisions"},
    )
    engines = module(
        "torch_tensorrt.dynamo._engine_cache",
        WHEELS / "torch_tensorrt/torch_tensorrt/dynamo/_engine_cache.py",
        torch_tensorrt=types.SimpleNamespace(__path__=[]),
        torch_tensorrt___Input=types.SimpleNamespace(Input=object),
        torch_tensorrt__dynamo=types.SimpleNamespace(__path__=[]),
        torch_tensorrt__dynamo___settings=settings,
    )
    graph = torch.fx.symbolic_trace(torch.nn.Linear(2, 2))
    cache = engines.DiskEngineCache(str(FOLDER / "torch_tensorrt_engine_cache"), 1 << 20)
    key = cache.get_hash(graph, ["Input(shape=(2, 2))"], CompilationSettings())
    whole = (b"an engine", ["x"], ["y"], [], CompilationSettings(), False, False)
    cache.insert(key, whole)
    assert cache.check(key)[0] == b"an engine"


def helion() -> None:
    """A configuration that its cache puts, and the name of a backward kernel."""
    import hashlib

    sys.path.insert(0, str(WHEELS / "helion"))
    os.environ["HELION_CACHE_DIR"] = str(FOLDER / "helion")
    from helion.autotuner import base_cache, local_cache
    from helion.runtime.config import Config

    key = base_cache.LooseAutotuneCacheKey((), (), (), "0" * 64, "NVIDIA H100", "13.0", "triton")
    spec = types.SimpleNamespace(
        create_config_generation=lambda **_: types.SimpleNamespace(flatten=lambda _: [1]),
        default_config=lambda: Config(block_sizes=[1]),
    )
    kernel = types.SimpleNamespace(config_spec=spec, backend_cache_key=lambda _: "k")
    cache = object.__new__(local_cache.LocalAutotuneCache)
    cache.key, cache.kernel = key, kernel
    cache.autotuner = types.SimpleNamespace(
        settings=types.SimpleNamespace(autotune_search_acf=None)
    )
    local_cache.bound_structural_policy = lambda _: None
    cache.put(Config(block_sizes=[32], num_warps=4))
    text = (WHEELS / "helion/helion/experimental/autodiff.py").read_text()
    assert 'cache_dir / f"helion_bwd_{source_hash}.py"' in text
    backward = FOLDER / "helion" / "backward"
    backward.mkdir()
    title = '"""\nAuto-generated Helion backward kernel.\n"""\n\n'
    assert repr(title)[1:-1] in text
    source = title + "import torch\nimport helion\n"
    name = hashlib.md5(source.encode(), usedforsecurity=False).hexdigest()
    (backward / f"helion_bwd_{name}.py").write_text(source)


def cute_dsl() -> None:
    """A module that MLIR of the wheel writes as bytecode, by the functions that save all."""
    import hashlib

    for name in [name for name in sys.modules if name.partition(".")[0] == "cutlass"]:
        del sys.modules[name]
    sys.path.insert(0, str(WHEELS / "nvidia_cutlass_dsl_libs_base/nvidia_cutlass_dsl/dsl_packages"))
    from cutlass._mlir import ir

    os.environ["CUTE_DSL_CACHE_DIR"] = str(FOLDER / "cutlass_python_cache")
    vendored = "flashinfer_python/flashinfer/data/cutlass/python/CuTeDSL/cutlass/base_dsl"
    log = types.SimpleNamespace(info=lambda *_: None, debug=lambda *_: None)
    helpers = module(
        "cutlass.base_dsl.cache_helpers",
        WHEELS / vendored / "cache_helpers.py",
        cutlass__base_dsl=types.SimpleNamespace(__path__=[]),
        cutlass__base_dsl__utils=types.SimpleNamespace(__path__=[]),
        cutlass__base_dsl__utils__logger=types.SimpleNamespace(log=lambda: log),
        cutlass__base_dsl__jit_executor=types.SimpleNamespace(JitCompiledFunction=object),
        cutlass__base_dsl__common=types.SimpleNamespace(DSLRuntimeError=RuntimeError),
    )
    with ir.Context(), ir.Location.unknown():
        made = ir.Module.create()
        name = hashlib.sha256(str(made).encode()).hexdigest()
        helpers.dump_cache_to_path(
            "CUTE_DSL", types.SimpleNamespace(ir_module=made), name,
            bytecode_writer=lambda f: helpers.write_bytecode_with_crc32(f, made),
        )  # fmt: skip


if __name__ == "__main__":
    FOLDER.mkdir(parents=True)
    for make in (torch_extensions, sglang, quack, torch_tensorrt, helion, cute_dsl):
        make()
