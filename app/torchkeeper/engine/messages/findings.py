"""What an operation says on its way: every finding that arrives is checked against these types."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from torchkeeper.artifacts.shapes import Fault, Leaks, Secret
from torchkeeper.engine.messages.dead import Removed
from torchkeeper.engine.messages.entries import Detail, Shown
from torchkeeper.engine.messages.fleet import (
    CellFinding,
    CellLogFinding,
    GatheredFinding,
    NodeFinding,
    QuestionFinding,
)
from torchkeeper.engine.messages.places import Looking, PlaceLooked
from torchkeeper.engine.messages.verdicts import Program
from torchkeeper.settings.shapes import FindingTold
from torchkeeper.stores.shapes import CutOff, Owned
from torchkeeper.verdict.probed import AotTold, CauseTold, GraphTold, VerdictTold
from torchkeeper.warm.shapes import Autograd, Device, Header, Proof


class TakenBackFinding(TypedDict):
    """An import was taken back: how many files are gone, and how many are left. whole: all are."""

    place: str
    files: int
    left: int
    whole: bool


class NoUndoFinding(Fault):
    """What was placed stays, and cannot be undone: why."""

    place: str


class UnprovenFinding(TypedDict):
    """Nobody else will believe the journal that is being written, and why."""

    place: str
    why: str


class LeftoversFinding(TypedDict):
    """Half-written bundles that nobody writes any more were removed; paths: the first of them."""

    count: int
    bytes: int
    paths: list[str]


class UnreadableFinding(TypedDict):
    path: str
    why: str


class _Left(Fault):
    path: str | None


class LeftFinding(_Left, total=False):
    """What was not taken, and why. file: the bundle it is in."""

    kind: str | None
    key: str | None
    file: str


class NowFinding(TypedDict):
    kind: str
    key: str


class _Variant(TypedDict):
    index: int
    state: str


class VariantFinding(_Variant, total=False):
    """A variant and what came of it; log: its last lines. made: kind and key of entries that it
    looked for and that no graph names. A verification tells of several runs.
    """

    made: Sequence[tuple[str, str]]
    recipe: str
    name: str
    source: str
    graphs: int
    hits: int
    misses: int
    bypasses: int
    rebuilt: int
    autograd: Autograd
    seconds: float | Mapping[str, float]
    ratios: Mapping[str, float]
    good: bool
    proof: Proof | None
    device: str
    threads: int
    problem: Fault | None
    log: Sequence[str]
    why: CauseTold | None


class StepFinding(TypedDict):
    """What a variant is at. variant: its index."""

    index: int
    name: str
    variant: int


class _Run(TypedDict):
    name: str


class RunFinding(_Run, total=False):
    """A run of a verification begins; variant: of which, where there are several."""

    variant: int


class JobsFinding(TypedDict):
    """Fewer processes than asked for; why: "cores" or "memory"."""

    asked: int
    given: int
    why: str


class SweptFinding(TypedDict):
    """What an interrupted compile had left was removed; paths: the first of it."""

    count: int
    paths: list[str]


class BuiltFinding(TypedDict):
    path: str


class JudgedFinding(TypedDict):
    """Verdicts, counted on from those before; kind, path and verdict of entries."""

    said: list[VerdictTold]
    of: list[tuple[str, str, int]]


class Finding(TypedDict, total=False):
    """A finding: each has one of these fields, or one and what it belongs to: ``found`` the check
    that found it, ``log`` the index of the variant that it is of. job: what is done goes on without
    the connection, and is called so (``engine.detached``). noted: a piece of a JSON text, of what a
    program noted (``warm.traces.notes``); started: the program.
    """

    aot: AotTold
    built: BuiltFinding
    cell: CellFinding
    cell_log: CellLogFinding
    cells: list[CellFinding]
    gathered: GatheredFinding
    node: NodeFinding
    variant: VariantFinding | int
    variants: list[VariantFinding]
    check: str
    cut_off: CutOff
    detail: Detail
    device: Device
    found: FindingTold
    graph: GraphTold
    header: Header
    job: str
    jobs: JobsFinding
    judged: JudgedFinding
    leaks: Leaks
    left: LeftFinding
    leftovers: LeftoversFinding
    log: str
    looked: PlaceLooked
    looking: Looking
    no_undo: NoUndoFinding
    noted: str
    now: NowFinding
    owners: list[Owned]
    question: QuestionFinding
    recovered: CutOff
    removed: Removed
    run: RunFinding
    secret: Secret
    shown: Shown
    started: Program
    step: StepFinding
    swept: SweptFinding
    taken_back: TakenBackFinding
    unproven: UnprovenFinding
    unreadable: UnreadableFinding
    waiting: Fault
