"""What a probe tells of an environment; and of verdicts, differences and lookups; as types."""

from collections.abc import Mapping
from typing import TypedDict


class _Device(TypedDict):
    type: str
    name: str
    arch: str | None


class Device(_Device, total=False):
    """A device. But for the CPU also memory (bytes) and warp (size), None where not known."""

    memory: int | None
    warp: int | None


class Compiler(TypedDict):
    """A C++ compiler; version: its first line on itself."""

    path: str
    version: str


class Switch(TypedDict):
    """A folder or a switch. value: "set" for a secret. by: the variable that decided."""

    name: str
    value: bool | int | str | None
    by: str | None


class Remote(TypedDict):
    """What programs look for on a server. fxgraph, aotautograd, autotune, bundle, pgo, triton:
    whether that remote cache is on. disabled: whether a switch for all turns PyTorch's off. redis:
    whether Python's redis package is there, without which PyTorch goes on without a server. server,
    triton_server: where PyTorch and Triton look, without a password; None for what is no address.
    """

    disabled: bool
    redis: bool
    server: str | None
    triton_server: str | None
    fxgraph: bool
    aotautograd: bool
    autotune: bool
    bundle: bool
    pgo: bool
    triton: bool


class Command(TypedDict):
    """A command by which torch may build. what: "kernel", the code of a graph, or "check", by which
    PyTorch sees what its compiler can do. isa: PyTorch's name of the vector instructions, "none"
    for none. extra: the text that goes into names. portable: the same with words for the folders of
    torch, Python and the compiler, so that two are equal where only these differ.
    """

    what: str
    isa: str
    extra: str
    portable: str


class Native(TypedDict, total=False):
    """How native code is made, and for what, as of Env. python: its binary interface."""

    compiler: str
    libc: str | None
    python: str | None
    cpu_flags: list[str]
    threads: int | None
    torch: str | None
    torch_key: str | None
    commands: list[Command]


class Env(TypedDict, total=False):
    """An environment, as ``verdict.environment.probe`` tells it. What is not there, or None, is not
    known. torch, torch_git, triton, cuda, hip: versions, None where there is none. threads: what
    goes into the key of CPU entries, None without torch. cxx: the C++ compiler that PyTorch would
    use. cache_dir: the folder PyTorch would use. devices: those that torch sees, the CPU last.
    torch_error: one line, only where torch is installed and cannot be imported. torch_key,
    triton_key: hashes of their sources; triton_libs: of what Triton links into kernels. system:
    what PyTorch calls the system, with its hash. key_factors: hash and value of every key factor
    that does not depend on the graph. caches: whether programs look into a folder at all for
    "fxgraph" and "aotautograd". autograd: as ``verdict.autograd.settings``. vector: the vector
    instructions of the CPU; vector_bits: of the vectors for which torch writes C++ code, 0 for
    none; cpu_capability: what torch's own kernels use. cpu_flags: what the CPU can do, as Linux has
    it; libc: the C library, None for no GNU one. driver: of GPUs. settings: folders and switches.
    """

    python: str
    executable: str
    platform: str
    machine: str
    cpu: str
    threads: int | None
    torch: str | None
    torch_error: str
    torch_git: str | None
    triton: str | None
    cuda: str | None
    hip: str | None
    cxx: Compiler | None
    cache_dir: str
    devices: list[Device]
    torch_key: str | None
    triton_key: str | None
    triton_libs: str | None
    system: Mapping[str, object] | None
    key_factors: Mapping[str, tuple[str, str]] | None
    caches: Mapping[str, bool | None] | None
    remote: Remote | None
    autograd: Mapping[str, str] | None
    vector: list[str]
    vector_bits: int | None
    cpu_capability: str | None
    cpu_flags: list[str]
    libc: str | None
    native: Native | None
    driver: str | None
    settings: list[Switch]


# What is told of verdicts, differences and lookups, as types of JSON.


class DifferenceTold(TypedDict):
    """A factor: what an entry has, and what is here (``judging.Difference``)."""

    factor: str
    entry: str | None
    here: str | None


class VerdictTold(TypedDict):
    """What is said of an entry (``judging.Verdict``)."""

    verdict: str | None
    reasons: list[DifferenceTold]
    conditions: list[DifferenceTold]


class FieldTold(TypedDict):
    """A part of an input that differs; None where one of both has no such part."""

    field: str
    a: str | None
    b: str | None


class _FactorTold(TypedDict):
    group: str
    factor: str
    a: str | None
    b: str | None
    follows: bool


class FactorTold(_FactorTold, total=False):
    """A factor that differs between two entries (``comparing.Difference``). called: of an input."""

    half: str
    called: str
    fields: list[FieldTold]


class KeyFactorTold(TypedDict):
    """A factor of a key of vLLM's that differs (``vllm.Factor``)."""

    factor: str
    a: str | None
    b: str | None
    idle: bool


class GraphDifferenceTold(TypedDict):
    """What differs between the texts of two graphs (``comparing.GraphDifference``)."""

    only_a: list[str]
    only_b: list[str]
    model_a: list[str]
    model_b: list[str]
    diff: list[str]
    same_ops: bool
    alike: float
    same_model: bool | None
    cut: bool


class ComparedTold(TypedDict, total=False):
    """What differs between two entries (``comparing.Comparison``), but for the factors."""

    recorded: tuple[bool, bool]
    same_graph: bool | None
    inputs: tuple[int, int]
    graph: GraphDifferenceTold | None
    device_index: bool


class ComparisonTold(ComparedTold, total=False):
    """What differs between two entries, with the factors, causes first."""

    differences: list[FactorTold]


class _CauseTold(TypedDict):
    code: str


class CauseTold(_CauseTold, ComparisonTold, total=False):
    """Why a graph was compiled (``engine.running.Near.cause``). text: why compiling it failed.
    nearest: the key of the entry it is compared with. reason: why PyTorch did not look it up.
    """

    text: str
    nearest: str
    reason: str


class _GraphTold(TypedDict):
    id: str
    name: str
    outcome: str
    seconds: float | None
    phases: list[tuple[str, float]]


class GraphTold(_GraphTold, total=False):
    """A graph that was looked up (``warm.traces.trace.Graph``). source: where its function is. at:
    seconds since the epoch. where: where a hit came from, "local", "remote" or "unknown". variant:
    the index of the variant it is of, in a compile job, which tells no more than the first of
    these.
    """

    reason: str | None
    process: str
    source: str
    direction: str
    key: str | None
    aot: str | None
    at: float | None
    where: str | None
    cause: CauseTold | None
    variant: int


class AotTold(TypedDict):
    """An AOTAutograd lookup (``warm.traces.trace.Aot``). saved: seconds. there: whether the folder
    held it before; None where that is not known. dropped: it was found, and so were its graphs, and
    PyTorch did not take it. graphs: the ids of those that are of it.
    """

    id: str
    process: str
    name: str
    outcome: str
    key: str | None
    saved: float | None
    reason: str | None
    there: bool | None
    dropped: bool
    graphs: list[str]
