"""Operations about fleets: many machines that warm one place."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from torchkeeper.artifacts.shapes import Fault, Secrets
from torchkeeper.warm.shapes import Compiling


class _Node(TypedDict):
    """A node, whatever can be said of it."""

    target: str
    name: str
    state: str
    kind: str
    torch: str
    devices: Sequence[str]
    slots: int
    labels: Mapping[str, str]
    why: Fault | None


class NodeFinding(_Node, total=False):
    """A node of a target, and what it has. state: "ready", "lost" or "unusable". kind: of those
    whose entries are alike. devices: names. slots: how many cells at a time. why: it is not ready.
    factors: what decides of the kind, by what people call it.
    """

    factors: Mapping[str, str]


class _Cell(TypedDict):
    """A variant for one kind of node."""

    cell: str
    state: str


class CellFinding(_Cell, total=False):
    """A cell, and what has become of it (``fleet.cells.STATES``). recipe, name, source: of its
    variant; kind: of the nodes that it is for, "" where any will do; target: of a kernel, the GPU.
    node: where it was, or is.
    proved_on: where it was proven. seconds: that compiling took; found: with the gathered cache.
    graphs, hits, misses: of the proof, else of the compile; rebuilt: of the proof. shared: how many
    graphs it found when it was compiled because others had compiled them in the same run. there:
    the place had it before. log: its last lines, of what failed, of each node.
    """

    index: int
    recipe: str
    name: str
    source: str
    kind: str
    target: str
    node: str
    proved_on: str
    seconds: float | None
    found: float | None
    graphs: int
    hits: int
    misses: int
    rebuilt: int
    shared: int
    there: bool
    problem: Fault | None
    log: Sequence[str]


class GatheredFinding(TypedDict):
    """A bundle of a node has come, and its entries are in the place, or are to be."""

    node: str
    entries: int
    bytes: int


class CellLogFinding(TypedDict):
    """A line of what a cell says."""

    cell: str
    line: str


class QuestionFinding(TypedDict):
    """ssh asks for something on its way to a machine (``client.engines.questions.Question``); an
    answer says the number of the asker (``engine.answers``). text: empty where all is answered.
    """

    asker: int
    about: str
    kind: str
    text: str
    again: bool


class NodesParams(TypedDict, total=False):
    """on: the targets. python: the interpreter on each. slots: cells at a time on each node. asks:
    whether somebody answers what ssh asks (``question``).
    """

    on: Sequence[str]
    python: str | None
    slots: int | None
    asks: bool


class NodesResult(TypedDict):
    """Each node is a finding."""

    nodes: int
    ready: int


class FleetParams(NodesParams, Compiling, total=False):
    """into: the place. state: the folder in which is kept what was done. prove: whether each cell
    is proven. again: also what was proven only partly before. share: each unit also begins with
    what others have compiled since for the same kind of node. dry: only what would be done.
    secrets: as of an export, for a place that others may read. named: what the recipes are called,
    for who wants to go on from what was done. Passwords are told before (``secret``).
    """

    into: str
    state: str
    prove: bool
    again: bool
    share: bool
    dry: bool
    secrets: Secrets | None
    named: Sequence[str]


class FleetResult(TypedDict):
    """Rows are the cells (CellFinding). states: how many are in each. compiled: how many were, now.
    there: how many the place had. entries, bytes: what was gathered now. shared: how many graphs
    cells found now because others had compiled them. cut: it was cancelled.
    state: the folder in which is kept what was done.
    """

    cells: int
    states: Mapping[str, int]
    compiled: int
    there: int
    entries: int
    bytes: int
    shared: int
    seconds: float
    nodes: int
    cut: bool
    into: str
    state: str
