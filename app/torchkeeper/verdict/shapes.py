"""What is told of verdicts, differences and lookups, as types of JSON."""

from typing import TypedDict


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
    """A factor that differs between two entries (``comparing.Difference``)."""

    half: str
    fields: list[FieldTold]


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


class ComparisonTold(ComparedTold, total=False):
    """What differs between two entries, with the factors, causes first."""

    differences: list[FactorTold]


class _CauseTold(TypedDict):
    code: str


class CauseTold(_CauseTold, ComparisonTold, total=False):
    """Why a graph was compiled (``engine.running.Near.cause``). text: why compiling it failed.
    nearest: the key of the entry that it is compared with. reason: why PyTorch says that it did not
    look it up.
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
    seconds since the epoch. where: where a hit came from, "local", "remote" or "unknown". cell: the
    index of the cell that it is of, in a compile job, which tells no more than the first of these.
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
    cell: int


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
