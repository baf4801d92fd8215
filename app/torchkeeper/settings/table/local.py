"""What steers the caches in a folder: which are on, where they are, what is part of their keys.

Facts of torch 2.9.1 to 2.15.0, of each minor version, from the files that ``source`` names.
"""

from __future__ import annotations

from torchkeeper.settings.setting import Setting

INDUCTOR = "torch/_inductor/config.py"
FUNCTORCH = "torch/_functorch/config.py"
DYNAMO = "torch/_dynamo/config.py"
COMPILER = "torch/compiler/config.py"
MASTER = "TORCHINDUCTOR_FORCE_DISABLE_CACHES"
_FX = ("TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_FX_GRAPH_CACHE_DEFAULT")
_FORCE = (MASTER, "TORCH_COMPILE_FORCE_DISABLE_CACHES")
_FOLDER = "torch/_inductor/runtime/cache_dir_utils.py"
_CACHING = "torch/_inductor/runtime/caching/config.py"

SETTINGS: tuple[Setting, ...] = (
    Setting(_FX[0], "switch", "config", "local",
            "Keeps compiled graphs in the cache folder, and looks for them there.",
            (("2.9", "1"),), INDUCTOR, "torch._inductor.config.fx_graph_cache", True,
            conflicts=(MASTER,), same=_FX),
    Setting(_FX[1], "switch", "config", "local",
            "Is TORCHINDUCTOR_FX_GRAPH_CACHE for programs that do not set it themselves.",
            (("2.10", "1"),), INDUCTOR, "torch._inductor.config.fx_graph_cache", False,
            conflicts=(MASTER,), same=_FX, since="2.10"),
    Setting("TORCHINDUCTOR_AUTOGRAD_CACHE", "switch", "config", "local",
            "Keeps what AOTAutograd made of a graph, so that tracing its backward is saved, too.",
            (("2.9", "1"),), FUNCTORCH, "torch._functorch.config.enable_autograd_cache", True,
            needs=_FX[:1], conflicts=(MASTER,)),
    Setting("TORCHINDUCTOR_AUTOGRAD_CACHE_ALLOW_CUSTOM_AUTOGRAD", "switch", "config", "local",
            "Keeps graphs with autograd functions of the program's own, too.",
            (("2.9", "0"),), FUNCTORCH,
            "torch._functorch.config.autograd_cache_allow_custom_autograd_functions", True,
            needs=("TORCHINDUCTOR_AUTOGRAD_CACHE",), in_key=True),
    Setting(MASTER, "switch", "config", "local",
            "The master switch: no cache is read or written, whatever else is set.",
            (("2.9", "0"),), COMPILER, "torch.compiler.config.force_disable_caches", True,
            same=_FORCE),
    Setting(_FORCE[1], "switch", "config", "local",
            "Another name of the master switch, TORCHINDUCTOR_FORCE_DISABLE_CACHES.",
            (("2.9", "0"),), COMPILER, "torch.compiler.config.force_disable_caches", True,
            same=_FORCE),
    Setting("TORCHINDUCTOR_BUNDLE_TRITON_INTO_FX_GRAPH_CACHE", "switch", "tristate", "local",
            "Keeps the Triton kernels of a graph within its entry, so that it brings them along.",
            (("2.9", "1"),), INDUCTOR, "torch._inductor.config.bundle_triton_into_fx_graph_cache",
            False, needs=_FX[:1], in_key=True),
    Setting("TORCH_CACHING_PRECOMPILE", "switch", "one", "local",
            "Keeps whole compiled functions with their guards, so that nothing is traced again; "
            "experimental.",
            (("2.9", "0"),), DYNAMO, "torch._dynamo.config.caching_precompile", False,
            needs=("TORCHINDUCTOR_AUTOGRAD_CACHE",), conflicts=(MASTER,), in_key=True),
    Setting("TORCH_STRICT_PRECOMPILE", "switch", "one", "local",
            "Makes what precompiling cannot keep an error.",
            (("2.9", "0"),), DYNAMO, "torch._dynamo.config.strict_precompile", False,
            needs=("TORCH_CACHING_PRECOMPILE",)),
    Setting("TORCHINDUCTOR_FREEZING", "switch", "one", "local",
            "Makes the weights of a model constants of its graph; AOTAutograd then keeps nothing.",
            (("2.9", "0"),), INDUCTOR, "torch._inductor.config.freezing", False,
            conflicts=("TORCHINDUCTOR_AUTOGRAD_CACHE",), in_key=True),
    Setting("TORCHINDUCTOR_ENABLE_CACHING_MODULE", "switch", "one", "local",
            "Keeps what PyTorch finds out about padding matrix products in a file, too.",
            (("2.10", "0"),), _CACHING, conflicts=(MASTER,), since="2.10"),
    Setting("TORCHINDUCTOR_DUMP_MEMOIZER_CACHE", "switch", "one", "local",
            "Writes what the caching module has in memory to memoizer_cache.json in the "
            "cache folder.", (("2.10", "0"),), _CACHING,
            needs=("TORCHINDUCTOR_ENABLE_CACHING_MODULE",), since="2.10"),
    Setting("TORCHINDUCTOR_CACHE_DUMP_FILE_PATH", "text", "text", "local",
            "A file that TORCHINDUCTOR_DUMP_MEMOIZER_CACHE wrote, to begin with.",
            (("2.10", None),), _CACHING, needs=("TORCHINDUCTOR_ENABLE_CACHING_MODULE",),
            since="2.10"),
    Setting("TORCHINDUCTOR_DISABLE_MULTI_KERNEL_CACHE", "switch", "one", "local",
            "Does not keep which of several kernels for one purpose was the fastest.",
            (("2.9", "0"),), "torch/_inductor/codegen/multi_kernel.py"),
    Setting("TORCH_COMPILE_DISABLE", "switch", "one", "local",
            "Turns compiling off: programs run as if they had no torch.compile.",
            (("2.9", "0"),), DYNAMO, "torch._dynamo.config.disable", False),
    Setting("TORCHDYNAMO_DISABLE", "switch", "one", "local",
            "Turns compiling off, as TORCH_COMPILE_DISABLE does, whatever a program sets.",
            (("2.9", "0"),), "torch/_dynamo/eval_frame.py"),
    Setting("TORCH_COMPILE_WORKER_MODE", "text", "text", "local",
            "Whether compilers work in processes or in threads: process, thread or auto.",
            (("2.15", "process"),), INDUCTOR, since="2.15"),
    Setting("TORCHINDUCTOR_CACHE_DIR", "folder", "text", "folders",
            "The cache folder; without it, torchinductor_USER in the temporary folder.",
            (("2.9", None),), _FOLDER),
    Setting("TMPDIR", "folder", "text", "folders",
            "The temporary folder, for the default cache folder and precompiled headers.",
            (("2.9", None),), _FOLDER),
    Setting("TORCHINDUCTOR_FILE_LOCK_TIMEOUT", "number", "number", "folders",
            "How many seconds a process waits for another one's lock on an entry; 0 or less: "
            "for ever.", (("2.9", "600"),), INDUCTOR, "torch._inductor.config.file_lock_timeout",
            False, in_key=True),
    Setting("TORCH_DYNAMO_AUTOMATIC_DYNAMIC_LOCAL_PGO", "switch", "config", "profiles",
            "Keeps which sizes a job has seen change, so that its next run is dynamic at once.",
            (("2.9", "1"),), DYNAMO, "torch._dynamo.config.automatic_dynamic_local_pgo", True,
            needs=("TORCH_COMPILE_JOB_ID",), conflicts=(MASTER,)),
    Setting("TORCH_COMPILE_JOB_ID", "text", "config", "profiles",
            "The name of a job: all its runs share one profile, and without one there is none.",
            (("2.9", None),), COMPILER, "torch.compiler.config.job_id", False,
            same=("TORCH_COMPILE_JOB_ID", "TORCH_COMPILE_STICKY_PGO_KEY")),
    Setting("TORCH_COMPILE_STICKY_PGO_KEY", "text", "config", "profiles",
            "Another name of TORCH_COMPILE_JOB_ID.",
            (("2.9", None),), COMPILER, "torch.compiler.config.job_id", False,
            same=("TORCH_COMPILE_JOB_ID", "TORCH_COMPILE_STICKY_PGO_KEY")),
    Setting("TORCH_COMPILE_STATIC_SOURCES", "text", "config", "profiles",
            "Which sizes and numbers are never dynamic, whatever a profile says, as a list "
            "of sources.", (("2.15", ""),), COMPILER, "torch.compiler.config.static_sources",
            False, since="2.15"),
    Setting("TORCH_COMPILE_CACHE_KEY_TAG", "text", "config", "keys",
            "A text that is part of every key: entries of another tag are not found.",
            (("2.9", ""),), COMPILER, "torch.compiler.config.cache_key_tag", False, in_key=True),
    Setting("TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS", "switch", "one", "keys",
            "Compiles the C++ headers of CPU kernels once for each temporary folder.",
            (("2.12", "1"),), INDUCTOR, "torch._inductor.config.cpp_cache_precompile_headers",
            False, in_key=True, since="2.12"),
    Setting("TORCH_COMPILE_ON_ONE_RANK", "switch", "config", "keys",
            "Compiles a graph on one rank for all, which look for their own devices as it runs.",
            (("2.14", "0"),), COMPILER, "torch.compiler.config.compile_on_one_rank", False,
            in_key=True, since="2.14"),
    Setting("TORCHINDUCTOR_LITE_MODE", "switch", "one", "keys",
            "Compiles only what is marked for it, as torch.compile(mode=\"lite\") does, and "
            "falls back to eager operators for the rest.", (("2.15", "0"),), INDUCTOR,
            in_key=True, since="2.15"),
    Setting("TORCHINDUCTOR_NUMERICS", "text", "text", "keys",
            "How near to eager results code is kept: default, strict_pointwise, "
            "strict_reduction or strict.", (("2.14", "default"),), INDUCTOR,
            "torch._inductor.config.numerics", False, in_key=True, since="2.14"),
    Setting("OMP_NUM_THREADS", "number", "text", "keys",
            "How many threads CPU kernels run on; the number is part of the keys of CPU graphs.",
            (("2.9", None),), "torch/_inductor/codecache.py", in_key=True),
)  # fmt: skip
