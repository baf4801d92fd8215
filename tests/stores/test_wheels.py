"""What we say of other compilers' caches, held to their own code: where each lies and by which
variable, what its files are called, and what is in a key. Where a newer version says something
else, the test that fails is called after the fact, and says which file to read.
"""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

import pytest

from tests import wheels
from torchkeeper.artifacts.jits import known


class Fact(NamedTuple):
    """What we say, by the cache; the library, the file in it, and the code that says so there."""

    cache: str
    what: str
    library: str
    path: str
    says: tuple[str, ...]


def _facts(cache: str, library: str, path: str, **says: str | tuple[str, ...]) -> list[Fact]:
    return [
        Fact(cache, what, library, path, (code,) if isinstance(code, str) else code)
        for what, code in says.items()
    ]


_DSL = "flashinfer/data/cutlass/python/CuTeDSL/cutlass/base_dsl"
_SGLANG_JIT = "sglang/kernels/jit/utils/compile"
FACTS = [
    *_facts(
        "FlashInfer", "flashinfer", "flashinfer/jit/env.py",
        variable='os.getenv("FLASHINFER_WORKSPACE_BASE", pathlib.Path.home().as_posix())',
        folder='FLASHINFER_BASE_DIR / ".cache" / "flashinfer"',
        version_and_gpu="return FLASHINFER_CACHE_DIR / flashinfer_version / arch",
        below=('FLASHINFER_WORKSPACE_DIR / "cached_ops"', 'FLASHINFER_WORKSPACE_DIR / "generated"'),
    ),
    *_facts(
        "FlashInfer", "flashinfer", "flashinfer/jit/core.py",
        build='jit_env.FLASHINFER_JIT_DIR / self.name / "build.ninja"',
        object='jit_env.FLASHINFER_JIT_DIR / self.name / f"{self.name}.so"',
        lock=('get_tmpdir() / f"{self.name}.lock"', 'jit_env.FLASHINFER_JIT_DIR / "tmp"'),
    ),
    *_facts(
        "FlashInfer", "flashinfer", "flashinfer/jit/cpp_ext.py",
        proof='"ninja_required_version = 1.3", f"name = {name}",',
    ),
    *_facts(
        "FlashInfer tuning", "flashinfer", "flashinfer/autotuner/autotuner.py",
        proof=('_METADATA_KEY = "_metadata"',
               "ordered[_METADATA_KEY] = original_metadata or current_meta",
               "json.dump(ordered, f, indent=2)"),
        what_it_is_for=('meta["flashinfer_version"]', 'meta["cuda_version"]', 'meta["gpu"]'),
    ),
    *_facts(
        "FlashInfer tuning", "flashinfer", "flashinfer/autotune_cache.py",
        variable='os.getenv("FLASHINFER_AUTOTUNE_CACHE_DIR")',
        folder='jit_env.FLASHINFER_CACHE_DIR / "autotune"',
        names=('_SCHEMA = "v2"', ".hexdigest()[:16]", ".hexdigest()[:24]",
               'self.entries_dir / f"{op_hash}.json"', 'self.env_dir / "manifest.json"'),
    ),
    *_facts(
        "FlashInfer tuning", "sglang", "sglang/srt/model_executor/runner/flashinfer_autotune.py",
        folder='Path(envs.SGLANG_CACHE_DIR.get()) / "flashinfer" / "autotune" '
        "/ flashinfer_version / arch / cache_key",
        key="hashlib.sha256(model_key.encode()).hexdigest()[:16]",
        rank='f"rank_tp{get_parallel().tp_rank}_pp{get_parallel().pp_rank}_dp'
        '{get_parallel().dp_rank or 0}"',
        without_reuse='cache_path.parent / "runs"',
    ),
    *_facts(
        "FlashInfer tuning", "vllm",
        "vllm/model_executor/warmup/flashinfer_autotune_cache.py",
        variable="override_dir = envs.VLLM_FLASHINFER_AUTOTUNE_CACHE_DIR",
        folder='Path(envs.VLLM_CACHE_ROOT) / "flashinfer_autotune_cache"',
        key="hashlib.sha256(config_hash.encode()).hexdigest()",
        names=('"autotune_configs.json"', 'f"autotune_configs_dp{dp_rank}_rank{rank}.json"'),
    ),
    *_facts(
        "TileLang", "tilelang", "tilelang/env.py",
        variable='EnvVar("TILELANG_CACHE_DIR", os.path.expanduser("~/.tilelang/cache"))',
    ),
    *_facts(
        "TileLang", "tilelang", "tilelang/cache/kernel_cache.py",
        names=('device_kernel_path = "device_kernel.cu"', 'kernel_lib_path = "kernel_lib.so"',
               'params_path = "params.json"', 'manifest_path = "manifest.json"'),
        folders=('cache_root_dir = "kernels"', 'staging_root_dir = ".staging"'),
    ),
    *_facts(
        "TileLang", "tilelang", "tilelang/autotuner/param.py",
        names=('LATENCY_PATH = "latency.json"', 'FUNCTION_PATH = "function.pkl"',
               'BEST_CONFIG_PATH = "best_config.json"'),
    ),
    *_facts(
        "TileLang", "tilelang", "tilelang/cache/cuda_binary_cache.py",
        folder='cache_root_dir = "cuda-binaries"',
    ),
    *_facts(
        "tvm-ffi", "tvm_ffi", "tvm_ffi/cpp/extension.py",
        variable='os.environ.get("TVM_FFI_CACHE_DIR", str(Path("~/.cache/tvm-ffi").expanduser()))',
        key=("def _hash_sources(", "return m.hexdigest()[:16]"),
        names=('build_dir / "main.cpp"', 'build_dir / "cuda.cu"', 'build_dir / "build.ninja"'),
        lock='FileLock(str(build_dir / "lock"))',
        proof='ninja.append("ninja_required_version = 1.3")',
    ),
    *_facts(
        "tvm-ffi", "tvm_ffi", "tvm_ffi/_optional_torch_c_dlpack.py",
        addon='f"libtorch_c_dlpack_addon_torch{major}{minor}-{device}-{abi_tag}{suffix}"',
    ),
    *_facts(
        "DeepGEMM", "deep_gemm", "deep_gemm/include/deep_jit/cache/disk.hpp",
        variable='env.get<std::string>("JIT_CACHE_DIR")',
        folder='std::filesystem::path(home) / ".dj"',
        entry=('std::format("{}.{}", tag, digest)', 'dir / "cache" / entry_name'),
        unfinished='paths[0] / "tmp" / get_uuid()',
        proof='kCommitFileName = ".committed"',
    ),
    *_facts(
        "DeepGEMM", "deep_gemm", "deep_gemm/include/deep_jit/runtime/config.hpp",
        what_is_in_a_key='{"python_library_root", python_library_root.string()}',
    ),
    *_facts(
        "DeepGEMM", "sglang", "sglang/srt/layers/deep_gemm_wrapper/compile_utils.py",
        sglang_has_the_last_word='os.environ["DG_JIT_CACHE_DIR"] = envs.SGLANG_DG_CACHE_DIR.get()',
        lock=('Path(os.environ["DG_JIT_CACHE_DIR"]) / "locks"',
              'f"{kernel_type.name}_n{n}_k{k}_g{num_groups}.lock"'),
    ),
    *_facts(
        "QuACK", "quack", "quack/cache/__init__.py", variable='os.getenv("QUACK_CACHE_DIR", None)'
    ),
    *_facts(
        "QuACK", "quack", "quack/cache/jit.py",
        folder='Path(tempfile.gettempdir()) / getuser() / "quack_cache"',
        key="hashlib.sha256(pickle.dumps(key)).hexdigest()",
        names=('cache_path / f"{sha}.o"', 'cache_path / f"{sha}.lock"'),
    ),
    *_facts(
        "Helion", "helion", "helion/autotuner/local_cache.py",
        variable='os.environ.get("HELION_CACHE_DIR")',
        folder='Path(cache_dir()) / "helion"',
        of_triton='str(get_helion_cache_dir() / "triton" / str(device_index))',
        name='get_helion_cache_dir() / f"{self.key.stable_hash()}.best_config"',
    ),
    *_facts(
        "Helion", "helion", "helion/_compiler/triton/backend.py",
        of_triton=('if "TRITON_CACHE_DIR" not in os.environ:',
                   'os.environ["TRITON_CACHE_DIR"] = triton_dir'),
    ),
    *_facts(
        "Helion", "helion", "helion/experimental/autodiff.py",
        backward=('get_helion_cache_dir() / "backward"', 'f"helion_bwd_{source_hash}.py"'),
    ),
    *_facts(
        "CuTe DSL", "flashinfer", f"{_DSL}/cache_helpers.py",
        variable='os.getenv("CUTE_DSL_CACHE_DIR", None)',
        folder='"cutlass_python_cache"',
        name='f"{dsl_name.lower()}_{fname}.mlir"',
        unfinished='f"tmp.pid_{pid}_{rnd_id}"',
    ),
    *_facts(
        "Torch-TensorRT", "torch_tensorrt", "torch_tensorrt/dynamo/_defaults.py",
        folder='os.path.join(tempfile.gettempdir(), "torch_tensorrt_engine_cache")',
    ),
    *_facts(
        "Torch-TensorRT", "torch_tensorrt", "torch_tensorrt/dynamo/_engine_cache.py",
        name='"blob.bin"',
    ),
    *_facts(
        "SGLang", "sglang", "sglang/kernels/jit/cute_aot_cache.py",
        names=('self.cache_path / f"{sha256_hex}.o"', 'self.cache_path / f"{sha256_hex}.lock"'),
        off_where_it_is_empty="envs.SGLANG_CUTE_AOT_CACHE_DIR.get() or None",
    ),
    *_facts(
        "SGLang JIT", "sglang", f"{_SGLANG_JIT}/cache.py",
        variable='envs.SGLANG_JIT_CACHE_DIR.get() or "~/.cache/sglang/jit"',
        names=('_BUILD_KEY_PREFIX = "build-"', '_DEPS_KEY_PREFIX = "deps-"', "_KEY_HEX_LEN = 16",
               '_DEPS_FILE = "sgl_deps.json"'),
        folder='cache_root() / _target_tag() / module_name / f"{_BUILD_KEY_PREFIX}{build_key}"',
        gpu='prefix = "mp" if is_musa_runtime() else "sm"',
    ),
    *_facts(
        "SGLang JIT", "sglang", f"{_SGLANG_JIT}/loader.py",
        lock='_LOCK_FILE = ".lock"', unfinished='scope / f".staging-{uuid.uuid4().hex}"',
    ),
    *_facts(
        "SGLang JIT", "sglang", f"{_SGLANG_JIT}/ninja.py",
        proof=('"ninja_required_version = 1.3", f"cxx = ',
               'f"build {spec.module_name}.so: link '),
    ),
    *_facts(
        "SGLang JIT", "sglang", f"{_SGLANG_JIT}/spec.py",
        name='_MODULE_NAME_PREFIX = "sgl_kernel_jit_"',
    ),
    *_facts(
        "trees", "sglang", "sglang/srt/compilation/compiler_interface.py",
        key=("system_factors = CacheBase.get_system()", "torch_factors = torch_key()",
             "hashlib.md5( str(factors).encode(), usedforsecurity=False"),
        below=('os.path.join(self.base_cache_dir, "inductor_cache")',
               'os.path.join(self.base_cache_dir, "triton_cache")'),
    ),
    *_facts(
        "trees", "sglang", "sglang/srt/compilation/backend.py",
        folder='os.path.join( base_cache_dir, "torch_compile_cache", cache_hash, )',
        rank=("rank = 0", "dp_rank = 0", 'f"rank_{rank}_{dp_rank}", model_tag'),
        list='os.path.join(cache_dir, "sglang_compile_cache.py")',
        graph='f"computation_graph_{time.time()}.py"',
        list_that_nobody_reads="# TODO(Yuwei): support cache loading",
    ),
    *_facts(
        "trees", "sglang", "sglang/multimodal_gen/runtime/managers/gpu_worker.py",
        images=('envs.SGLANG_DIFFUSION_CACHE_ROOT, "torch_compile_cache"',
                '("TORCHINDUCTOR_CACHE_DIR", "inductor")', '("TRITON_CACHE_DIR", "triton")'),
    ),
    *_facts(
        "trees", "sglang", "sglang/multimodal_gen/envs.py",
        images=('os.getenv( "XDG_CACHE_HOME"',
                'os.path.join(get_default_cache_root(), "sgl_diffusion")'),
    ),
]  # fmt: skip


def _plain(code: str) -> str:
    """Code with every gap made one space."""
    return re.sub(r"\s+", " ", code)


def _named(fact: Fact) -> str:
    return f"{fact.cache} {fact.what} in {fact.path.rpartition('/')[2]}".replace(" ", "-")


@pytest.mark.slow
@pytest.mark.parametrize(
    "fact",
    [pytest.param(fact, marks=wheels.needed(fact.library), id=_named(fact)) for fact in FACTS],
)
def test_a_fact_is_what_the_library_says(fact: Fact) -> None:
    text = _plain(wheels.source(fact.library, fact.path))
    gone = [code for code in fact.says if _plain(code) not in text]
    version = f"{wheels.NAMES[fact.library]} {wheels.version(fact.library)}"
    assert not gone, f"{version} changes “{fact.what}” of {fact.cache}: read {fact.path}"


def test_facts_are_of_caches_that_are_known() -> None:
    """And of each whose library can be had."""
    titles = {cache.title for cache in known.CACHES}
    told = {fact.cache for fact in FACTS} - {"trees"}
    assert told <= titles
    assert titles - told == {"PyTorch extensions", "jiterator", "CUDA driver", "DeepEP"}


@pytest.mark.slow
@wheels.needed("sglang")
def test_every_cache_variable_of_sglang_is_known() -> None:
    """A newer version that has another says which."""
    tree = ast.parse(wheels.source("sglang", "sglang/srt/environ.py"))
    (every,) = (x for x in tree.body if isinstance(x, ast.ClassDef) and x.name == "Envs")
    names = {
        target.id
        for x in every.body
        if isinstance(x, ast.Assign)
        for target in x.targets
        if isinstance(target, ast.Name)
    }
    found = {name for name in names if re.search(r"_CACHE_(?:DIR|ROOT|PATH)$", name)}
    assert "SGLANG_CACHE_DIR" in found
    mine = {home[1:].partition("/")[0] for cache in known.CACHES for home in cache.homes}
    assert found - mine == set()
