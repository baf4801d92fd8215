"""All the settings that steer caches, each environment variable described once as plain data, and
what its text comes to; tests/settings holds it to torch.

Facts of torch 2.9.1 to 2.15.0, of each minor version, and of Triton 3.5.1, 3.6.0 and 3.7.1, from
the files that ``source`` names and triton/runtime/cache.py, autotuner.py and
triton/compiler/compiler.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

#: What a value is, for whoever edits it: on or off; on, off, or left to PyTorch; a text; a folder;
#: an address with scheme; the name of a host; a port; a whole number; MODULE:CLASS.
TYPES = ("switch", "tristate", "text", "folder", "url", "host", "port", "number", "class")

#: How the text of a variable becomes a value:
#: config: "1" and "0" are on and off, of any other text a switch is on unless it is empty, and a
#:   text that is "1" or "0" is no text any more but True or False (_read_env_variable in
#:   torch/utils/_config_module.py).
#: tristate: "1" and "0", any other is as if it were not set (get_tristate_env there).
#: one: on is "1" and nothing else.
#: triton: as getenv_bool of Triton, in any case: 1, true, on, y, yes (knobs.py, python/src/ir.cc).
#: number: as int() takes it; else the import of torch, or the compile, fails.
#: text: as it is.
READINGS = ("config", "tristate", "one", "triton", "number", "text")

#: What a setting is about, in the order of a form.
GROUPS = ("local", "folders", "remote", "server", "profiles", "keys", "triton")


class Setting(NamedTuple):
    """One environment variable. name: of the variable. type: one of TYPES. reading: one of
    READINGS. group: one of GROUPS. does: what it does, in a sentence. defaults: (torch version from
    which it is so, the value that a user would write, or None for none), the oldest first; Triton's
    variables have Triton's versions. config: the attribute in Python, as
    torch._inductor.config.fx_graph_cache, or "". forces: whether the variable wins over what a
    program sets there; None where there is no such attribute. needs: variables that have to be on,
    or set, for this one to have an effect. conflicts: variables that take its effect away, or whose
    effect it takes away. same: where more variables than one mean the same, all of them, this one
    included, the winner first. secret: whether its value may hold a password. in_key: whether it is
    part of the keys of entries, so that with another value others are used. since: the first
    version that has it, until: the first that has it no more; "" where not known or not so. source:
    where that stands, a file of PyTorch or Triton.
    """

    name: str
    type: str
    reading: str
    group: str
    does: str
    defaults: tuple[tuple[str, str | None], ...]
    source: str
    config: str = ""
    forces: bool | None = None
    needs: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    secret: bool = False
    in_key: bool = False
    since: str = ""
    until: str = ""


MASTER = "TORCHINDUCTOR_FORCE_DISABLE_CACHES"
GRAPHS = "TORCHINDUCTOR_FX_GRAPH_CACHE"
REMOTE_GRAPHS = "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE"
AUTOGRAD = "TORCHINDUCTOR_AUTOGRAD_CACHE"
REMOTE_AUTOGRAD = "TORCHINDUCTOR_AUTOGRAD_REMOTE_CACHE"
BUNDLED = "TORCHINDUCTOR_BUNDLED_AUTOTUNE_REMOTE_CACHE"
REMOTE_PROFILES = "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_REMOTE_PGO"
LOCAL_PROFILES = "TORCH_DYNAMO_AUTOMATIC_DYNAMIC_LOCAL_PGO"
JOB = "TORCH_COMPILE_JOB_ID"
URL = "TORCHINDUCTOR_REDIS_URL"
HOST = "TORCHINDUCTOR_REDIS_HOST"
PORT = "TORCHINDUCTOR_REDIS_PORT"

_INDUCTOR = "torch/_inductor/config.py"
_FUNCTORCH = "torch/_functorch/config.py"
_DYNAMO = "torch/_dynamo/config.py"
_COMPILER = "torch/compiler/config.py"
_FOLDER = "torch/_inductor/runtime/cache_dir_utils.py"
_CACHING = "torch/_inductor/runtime/caching/config.py"
_SERVER = "torch/_inductor/remote_cache.py"
_KNOBS = "triton/knobs.py"
_FX = (GRAPHS, "TORCHINDUCTOR_FX_GRAPH_CACHE_DEFAULT")
_FORCE = (MASTER, "TORCH_COMPILE_FORCE_DISABLE_CACHES")
_JOBS = (JOB, "TORCH_COMPILE_STICKY_PGO_KEY")
_STICKY = (REMOTE_PROFILES, JOB)
_BACKEND = ("TRITON_REMOTE_CACHE_BACKEND",)

#: What steers the caches in a folder, those on a Redis server, and Triton's own.
_TABLE = (
    Setting(GRAPHS, "switch", "config", "local",
            "Keeps compiled graphs in the cache folder, and looks for them there.", (("2.9", "1"),),
            _INDUCTOR, "torch._inductor.config.fx_graph_cache", True, conflicts=(MASTER,),
            same=_FX),
    Setting(_FX[1], "switch", "config", "local",
            "The value of TORCHINDUCTOR_FX_GRAPH_CACHE for programs that do not set that.",
            (("2.10", "1"),), _INDUCTOR, "torch._inductor.config.fx_graph_cache", False,
            conflicts=(MASTER,), same=_FX, since="2.10"),
    Setting(AUTOGRAD, "switch", "config", "local",
            "Keeps the graphs of AOTAutograd, so that PyTorch does not trace the backward again.",
            (("2.9", "1"),), _FUNCTORCH, "torch._functorch.config.enable_autograd_cache", True,
            needs=(GRAPHS,), conflicts=(MASTER,)),
    Setting("TORCHINDUCTOR_AUTOGRAD_CACHE_ALLOW_CUSTOM_AUTOGRAD", "switch", "config", "local",
            "Also keeps graphs with the program's own autograd functions.", (("2.9", "0"),),
            _FUNCTORCH, "torch._functorch.config.autograd_cache_allow_custom_autograd_functions",
            True, needs=(AUTOGRAD,), in_key=True),
    Setting(MASTER, "switch", "config", "local",
            "The master switch: PyTorch uses no cache, whatever else is set.",
            (("2.9", "0"),), _COMPILER, "torch.compiler.config.force_disable_caches", True,
            same=_FORCE),
    Setting(_FORCE[1], "switch", "config", "local",
            "Another name of the master switch, TORCHINDUCTOR_FORCE_DISABLE_CACHES.",
            (("2.9", "0"),), _COMPILER, "torch.compiler.config.force_disable_caches", True,
            same=_FORCE),
    Setting("TORCHINDUCTOR_BUNDLE_TRITON_INTO_FX_GRAPH_CACHE", "switch", "tristate", "local",
            "Keeps the Triton kernels of a graph in its entry, so that they travel with it.",
            (("2.9", "1"),), _INDUCTOR, "torch._inductor.config.bundle_triton_into_fx_graph_cache",
            False, needs=(GRAPHS,), in_key=True),
    Setting("TORCH_CACHING_PRECOMPILE", "switch", "one", "local",
            "Keeps whole compiled functions with their guards, so that PyTorch does not trace them "
            "again; experimental.",
            (("2.9", "0"),), _DYNAMO, "torch._dynamo.config.caching_precompile", False,
            needs=(AUTOGRAD,), conflicts=(MASTER,), in_key=True),
    Setting("TORCH_STRICT_PRECOMPILE", "switch", "one", "local",
            "Raises an error if precompiling cannot keep a function.", (("2.9", "0"),), _DYNAMO,
            "torch._dynamo.config.strict_precompile", False, needs=("TORCH_CACHING_PRECOMPILE",)),
    Setting("TORCHINDUCTOR_FREEZING", "switch", "one", "local",
            "Turns the weights of a model into constants; AOTAutograd then keeps nothing.",
            (("2.9", "0"),), _INDUCTOR, "torch._inductor.config.freezing", False,
            conflicts=(AUTOGRAD,), in_key=True),
    Setting("TORCHINDUCTOR_ENABLE_CACHING_MODULE", "switch", "one", "local",
            "Also keeps in a file what PyTorch measures about padding matrix products.",
            (("2.10", "0"),), _CACHING, conflicts=(MASTER,), since="2.10"),
    Setting("TORCHINDUCTOR_DUMP_MEMOIZER_CACHE", "switch", "one", "local",
            "Writes the memory of the caching module to memoizer_cache.json in the cache "
            "folder.", (("2.10", "0"),), _CACHING, needs=("TORCHINDUCTOR_ENABLE_CACHING_MODULE",),
            since="2.10"),
    Setting("TORCHINDUCTOR_CACHE_DUMP_FILE_PATH", "text", "text", "local",
            "A file of TORCHINDUCTOR_DUMP_MEMOIZER_CACHE, which PyTorch reads at its start.",
            (("2.10", None),), _CACHING, needs=("TORCHINDUCTOR_ENABLE_CACHING_MODULE",),
            since="2.10"),
    Setting("TORCHINDUCTOR_DISABLE_MULTI_KERNEL_CACHE", "switch", "one", "local",
            "Does not keep which of several kernels for the same work is the fastest.",
            (("2.9", "0"),), "torch/_inductor/codegen/multi_kernel.py"),
    Setting("TORCH_COMPILE_DISABLE", "switch", "one", "local",
            "Turns compiling off: programs run without torch.compile.", (("2.9", "0"),),
            _DYNAMO, "torch._dynamo.config.disable", False),
    Setting("TORCHDYNAMO_DISABLE", "switch", "one", "local",
            "Turns compiling off, as TORCH_COMPILE_DISABLE does, whatever a program sets.",
            (("2.9", "0"),), "torch/_dynamo/eval_frame.py"),
    Setting("TORCH_COMPILE_WORKER_MODE", "text", "text", "local",
            "Whether PyTorch compiles in processes or in threads: process, thread or auto.",
            (("2.15", "process"),), _INDUCTOR, since="2.15"),
    Setting("TORCHINDUCTOR_CACHE_DIR", "folder", "text", "folders",
            "The cache folder; by default torchinductor_USER in the temporary folder.",
            (("2.9", None),), _FOLDER),
    Setting("TMPDIR", "folder", "text", "folders",
            "The temporary folder, for the default cache folder and precompiled headers.",
            (("2.9", None),), _FOLDER),
    Setting("TORCHINDUCTOR_FILE_LOCK_TIMEOUT", "number", "number", "folders",
            "How many seconds a process waits while another one locks an entry; 0 or less: for "
            "ever.", (("2.9", "600"),), _INDUCTOR, "torch._inductor.config.file_lock_timeout",
            False, in_key=True),
    Setting(LOCAL_PROFILES, "switch", "config", "profiles",
            "Keeps which sizes change in a job, so that its next run makes them dynamic at once.",
            (("2.9", "1"),), _DYNAMO, "torch._dynamo.config.automatic_dynamic_local_pgo", True,
            needs=(JOB,), conflicts=(MASTER,)),
    Setting(JOB, "text", "config", "profiles",
            "The name of a job, whose runs share one profile. Without it, there is no profile.",
            (("2.9", None),), _COMPILER, "torch.compiler.config.job_id", False, same=_JOBS),
    Setting(_JOBS[1], "text", "config", "profiles",
            "Another name of TORCH_COMPILE_JOB_ID.", (("2.9", None),), _COMPILER,
            "torch.compiler.config.job_id", False, same=_JOBS),
    Setting("TORCH_COMPILE_STATIC_SOURCES", "text", "config", "profiles",
            "A list of sources, whose sizes and numbers are never dynamic, whatever a profile "
            "says.", (("2.15", ""),), _COMPILER, "torch.compiler.config.static_sources", False,
            since="2.15"),
    Setting("TORCH_COMPILE_CACHE_KEY_TAG", "text", "config", "keys",
            "A text that is part of every key: programs do not find entries with another tag.",
            (("2.9", ""),), _COMPILER, "torch.compiler.config.cache_key_tag", False, in_key=True),
    Setting("TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS", "switch", "one", "keys",
            "Compiles the C++ headers of CPU kernels once for each temporary folder.",
            (("2.12", "1"),), _INDUCTOR, "torch._inductor.config.cpp_cache_precompile_headers",
            False, in_key=True, since="2.12"),
    Setting("TORCH_COMPILE_ON_ONE_RANK", "switch", "config", "keys",
            "Compiles a graph on one rank for all ranks. Each finds its own devices as it runs.",
            (("2.14", "0"),), _COMPILER, "torch.compiler.config.compile_on_one_rank", False,
            in_key=True, since="2.14"),
    Setting("TORCHINDUCTOR_LITE_MODE", "switch", "one", "keys",
            "Compiles only what is marked for it, as torch.compile(mode=\"lite\") does, and uses "
            "eager operators for the rest.", (("2.15", "0"),), _INDUCTOR, in_key=True,
            since="2.15"),
    Setting("TORCHINDUCTOR_NUMERICS", "text", "text", "keys",
            "How close results stay to eager mode: default, strict_pointwise, strict_reduction "
            "or strict.", (("2.14", "default"),), _INDUCTOR, "torch._inductor.config.numerics",
            False, in_key=True, since="2.14"),
    Setting("OMP_NUM_THREADS", "number", "text", "keys",
            "How many threads CPU kernels use; the number is part of the keys of CPU graphs.",
            (("2.9", None),), "torch/_inductor/codecache.py", in_key=True),
    Setting(REMOTE_GRAPHS, "tristate", "tristate", "remote",
            "Also keeps compiled graphs on a Redis server.", (("2.9", None),), _INDUCTOR,
            "torch._inductor.config.fx_graph_remote_cache", False, conflicts=(MASTER,)),
    Setting(REMOTE_AUTOGRAD, "tristate", "tristate", "remote",
            "Also keeps the graphs of AOTAutograd on a Redis server.", (("2.9", None),),
            _FUNCTORCH, "torch._functorch.config.enable_remote_autograd_cache", False,
            needs=(REMOTE_GRAPHS,), conflicts=(MASTER,), in_key=True),
    Setting("TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE", "tristate", "tristate", "remote",
            "Also keeps the best configuration of each Triton kernel on a Redis server.",
            (("2.9", None),), _INDUCTOR, "torch._inductor.config.autotune_remote_cache", False,
            conflicts=(MASTER,)),
    Setting(BUNDLED, "tristate", "tristate", "remote",
            "Keeps the best configurations of all Triton kernels of a graph together on a Redis "
            "server; needs a GPU.", (("2.9", None),), _INDUCTOR,
            "torch._inductor.config.bundled_autotune_remote_cache", False, in_key=True),
    Setting(REMOTE_PROFILES, "tristate", "tristate", "remote",
            "Also keeps the profile of a job, with the sizes that change, on a Redis server.",
            (("2.9", None),), _DYNAMO, "torch._dynamo.config.automatic_dynamic_remote_pgo", False,
            needs=(JOB,), conflicts=(MASTER,)),
    Setting("TORCHINDUCTOR_NON_BLOCKING_REMOTE_CACHE_WRITE", "switch", "config", "remote",
            "Has no effect in published versions of PyTorch, but is part of keys.",
            (("2.9", "1"),), _INDUCTOR, "torch._inductor.config.non_blocking_remote_cache_write",
            True, in_key=True),
    Setting(URL, "url", "text", "server",
            "The Redis server, as redis://host:port/0; it overrides host and port.",
            (("2.9", None),), _SERVER, conflicts=(HOST, PORT), secret=True),
    Setting(HOST, "host", "text", "server",
            "The host of a Redis server that needs no password.",
            (("2.9", "localhost"),), _SERVER, conflicts=(URL,), secret=True),
    Setting(PORT, "port", "number", "server",
            "The port of the Redis server.", (("2.9", "6379"),), _SERVER, conflicts=(URL,)),
    Setting("TORCH_COMPILE_STICKY_PGO_READ", "text", "config", "profiles",
            "Another job, whose profile on the server this job reads if it has none yet.",
            (("2.9", None),), _COMPILER, "torch.compiler.config.pgo_extra_read_key", False,
            needs=_STICKY),
    Setting("TORCH_COMPILE_STICKY_PGO_WRITE", "text", "config", "profiles",
            "Another job, under whose name this job also writes its profile to the server.",
            (("2.9", None),), _COMPILER, "torch.compiler.config.pgo_extra_write_key", False,
            needs=_STICKY),
    Setting("TRITON_CACHE_DIR", "folder", "text", "folders",
            "The folder of Triton's kernels; by default a folder in the cache folder.",
            (("3.5", None),), _KNOBS, "triton.knobs.cache.dir", False),
    Setting("TRITON_HOME", "folder", "text", "folders",
            "The folder of .triton/cache, for Triton without torch.compile.",
            (("3.5", None),), _KNOBS, "triton.knobs.cache.home_dir", False,
            conflicts=("TRITON_CACHE_DIR",)),
    Setting("TRITON_CACHE_MANAGER", "class", "text", "triton",
            "The class that keeps kernels; for a server, triton.runtime.cache:RemoteCacheManager.",
            (("3.5", None),), _KNOBS, "triton.knobs.cache.manager_class", False),
    Setting("TRITON_REMOTE_CACHE_BACKEND", "class", "text", "triton",
            "The class that reaches the server; for Redis, "
            "triton.runtime.cache:RedisRemoteCacheBackend.", (("3.5", None),), _KNOBS,
            "triton.knobs.cache.remote_manager_class", False, needs=("TRITON_CACHE_MANAGER",)),
    Setting("TRITON_REDIS_KEY_FORMAT", "text", "text", "triton",
            "How Triton names its keys on the server.", (("3.5", "triton:{key}:{filename}"),),
            _KNOBS, "triton.knobs.redis.key_format", False, needs=_BACKEND),
    Setting("TRITON_REDIS_HOST", "host", "text", "triton",
            "The host of Triton's Redis server.", (("3.5", "localhost"),), _KNOBS,
            "triton.knobs.redis.host", False, needs=_BACKEND, secret=True),
    Setting("TRITON_REDIS_PORT", "port", "number", "triton",
            "The port of Triton's Redis server.", (("3.5", "6379"),), _KNOBS,
            "triton.knobs.redis.port", False, needs=_BACKEND),
    Setting("TRITON_ALWAYS_COMPILE", "switch", "triton", "triton",
            "Compiles every kernel again, whatever the cache has.", (("3.5", "0"),), _KNOBS,
            "triton.knobs.compilation.always_compile", False),
    Setting("TRITON_STORE_BINARY_ONLY", "switch", "triton", "triton",
            "Keeps only the binary of each kernel, without its intermediate code.", (("3.5", "0"),),
            _KNOBS, "triton.knobs.compilation.store_binary_only", False),
    Setting("TRITON_CACHE_AUTOTUNING", "switch", "triton", "triton",
            "Keeps the results of triton.autotune for a program's own kernels.", (("3.5", "0"),),
            _KNOBS, "triton.knobs.autotuning.cache", False),
    Setting("TRITON_INTERPRET", "switch", "triton", "triton",
            "Interprets kernels on the CPU: Triton compiles and keeps none.", (("3.5", "0"),),
            _KNOBS, "triton.knobs.runtime.interpret", False),
)  # fmt: skip
#: In the order of a form.
SETTINGS = tuple(sorted(_TABLE, key=lambda one: GROUPS.index(one.group)))
BY_NAME = {one.name: one for one in SETTINGS}
#: The switches of the caches on a server.
REMOTES = tuple(one.name for one in SETTINGS if one.group == "remote" and one.type == "tristate")

#: What a setting can come to; None where it is left to PyTorch.
Value = bool | int | str | None


def default(setting: Setting, version: str | None = None) -> str | None:
    """The text that is as good as none in a version, or in the newest known."""
    known = [value for since, value in setting.defaults if at_least(version, since)]
    return known[-1] if known else setting.defaults[-1][1]


def at_least(version: str | None, other: str) -> bool:
    """Whether a version is another one or later; one that is not known is taken for late."""
    return version is None or _numbers(version) >= _numbers(other)


def there(setting: Setting, version: str | None = None) -> bool:
    """Whether a version of torch (of Triton, for Triton's settings) reads a variable at all."""
    begun = not setting.since or at_least(version, setting.since)
    return begun and not (setting.until and at_least(version, setting.until))


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split("+", maxsplit=1)[0].split(".")
    digits = ("".join(filter(str.isdigit, part)) for part in parts)
    return tuple(int(one[:9] or 0) for one in digits)[:3]


def value(setting: Setting, text: str | None, version: str | None = None) -> Value:
    """What a text comes to. Raises ValueError where whoever reads it fails."""
    if text is None or (setting.reading == "tristate" and text not in ("0", "1")):
        text = default(setting, version)
    if text is None:
        return None
    if setting.reading == "config":
        read = {"1": True, "0": False}.get(text, text)
        return bool(read) if setting.type in ("switch", "tristate") else read
    if setting.reading in ("tristate", "one"):
        return text == "1"
    if setting.reading == "triton":
        return text.lower() in ("1", "true", "on", "y", "yes")
    return int(text) if setting.reading == "number" else text


def decides(values: Mapping[str, str], name: str, version: str | None = None) -> str | None:
    """The variable that decides a setting, of all that mean the same; None where none is set."""
    same = BY_NAME[name].same or (name,)
    return next((x for x in same if x in values and there(BY_NAME[x], version)), None)


def on(values: Mapping[str, str], name: str, version: str | None = None) -> bool:
    """Whether a switch is on among the variables of an environment."""
    decided = decides(values, name, version)
    return value(BY_NAME[name], values[decided] if decided else None, version) is True


def remotes(values: Mapping[str, str], version: str | None = None) -> list[str]:
    """The switches of the caches on a server that are on."""
    return [name for name in REMOTES if on(values, name, version)]
