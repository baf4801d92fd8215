"""Operations about environments and processes, verdicts there, and why something was compiled."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from torchkeeper.artifacts.shapes import EntryRow
from torchkeeper.engine.messages import Nothing, OfPlace
from torchkeeper.settings.shapes import OfProcessTold, ProcessesTold, ProcessTold, SettingsTold
from torchkeeper.stores.shapes import Owned
from torchkeeper.verdict.probed import ComparedTold, ComparisonTold, DifferenceTold, Env


class _CheckParams(OfPlace):
    env: Env


class CheckParams(_CheckParams, total=False):
    """shared: what many entries have in common is told once, as ``judged``."""

    filter: str | None
    shared: bool


class CheckRow(EntryRow):
    reasons: list[DifferenceTold]
    conditions: list[DifferenceTold]


class SharedRow(EntryRow):
    """An entry where verdicts are ``shared``; said: which of those that ``judged`` told, from 0."""

    said: int


class JudgeParams(OfPlace):
    """envs: names of environments that ``know`` told."""

    envs: list[str]


class JudgeResult(TypedDict):
    """How many entries there are of each verdict, "none" for those without one; and of what is
    stale, how many each version of torch made.
    """

    verdicts: dict[str, int]
    made_by: dict[str, int]


class CheckResult(JudgeResult):
    """owners: who else can change what lies there; None where nobody looked."""

    owners: list[Owned] | None


class _Asked(TypedDict, total=False):
    kind: str
    path: str
    key: str


class Wanted(_Asked, total=False):
    """An entry: kind and path, or how its key begins; its place, if not that of the other."""

    place: str


class ExplainParams(OfPlace, _Asked, total=False):
    """An entry, and ``other``; or ``nearest``, the places to look in for the one nearest to it."""

    other: Wanted
    nearest: list[str]


class PlacedEntry(OfPlace, EntryRow):
    """An entry, and the place it is in."""


class _ExplainResult(TypedDict):
    a: PlacedEntry
    b: PlacedEntry | None


class ExplainResult(_ExplainResult, ComparedTold, total=False):
    """b: the other entry, None where there is none of the kind. count: how many rows there are."""

    count: int


class Explained(ExplainResult, ComparisonTold):
    """The result with its rows as ``differences``."""


class _ExplainTraceParams(TypedDict):
    trace: str


class ExplainTraceParams(_ExplainTraceParams, total=False):
    """trace: a folder or a file. known: what was ``held`` before is what the program found.
    remote: such a cache was on. place: without ``known``, where to look for what is near.
    """

    known: bool
    remote: bool
    place: str


class ExplainTraceResult(TypedDict):
    """local, remote, unknown: hits, by where they came from. spent, saved: seconds. files: of the
    trace. compiles: how often one began. odd: lines that are no records; cut: records that are not
    whole; full: not all was read. elsewhere: what was compiled is not in the folder; None where
    nobody knows. looked_at: how many entries were, of those that were ``there``.
    """

    graphs: int
    hits: int
    misses: int
    bypasses: int
    local: int
    remote: int
    unknown: int
    spent: float
    saved: float
    torch: str | None
    files: int
    compiles: int
    odd: int
    cut: int
    full: bool
    elsewhere: bool | None
    looked_at: int
    there: int | None


class Program(OfPlace):
    """A program that runs: its command without secrets, the folder that it has started in, and its
    cache folder. env: what PyTorch goes by of its environment.
    """

    command: list[str]
    folder: str
    env: Mapping[str, str]


class _RunParams(OfPlace):
    command: list[str]
    folder: str
    env: Mapping[str, str] | None


class RunParams(_RunParams, total=False):
    """A program, the folder it starts in, "" for the home, and its environment, None for that of
    the engine's account: with ``settings`` alone if there are some, and then ``given``. place: its
    cache folder, "" for that of its environment. scratch: a folder for meanwhile. whole: all that
    it prints is told. notes: so is what it notes of its compiles.
    """

    settings: Mapping[str, str] | None
    given: Mapping[str, str]
    scratch: str
    whole: bool
    notes: bool


class RunResult(ExplainTraceResult, Program):
    """code: its exit status, or 128 + the signal. began: seconds since the epoch. alive: processes
    that it started, and that go on, each by its id and its start (``warm.processes.start_of``).
    """

    alive: Sequence[Sequence[int]]
    code: int
    began: float
    seconds: float


class ProbeParams(TypedDict, total=False):
    """The window asks ``again`` for what is kept of an interpreter; an engine always looks."""

    again: bool


#: The environment of the engine's interpreter.
ProbeResult = Env


class InstalledParams(TypedDict):
    """path: of an interpreter."""

    path: str


class InstalledResult(TypedDict):
    """known_by: a hash, which is another where a probe of the interpreter may tell something new:
    of files, the start of the machine, and the variables that it would have.
    """

    known_by: str


class KnowParams(TypedDict):
    """python: the name by which the environment is asked about from now on."""

    python: str
    env: Env


KnowResult = Nothing
SettingsParams = Nothing
SettingsResult = SettingsTold
ProcessesParams = Nothing
ProcessesRow = ProcessTold
ProcessesResult = ProcessesTold


class ProcessSettingsParams(TypedDict):
    pid: int


ProcessSettingsResult = OfProcessTold


class HeldParams(OfPlace, total=False):
    """trace: the folder of the trace; what it holds already is not the program's."""

    trace: str


class HeldResult(TypedDict):
    fxgraph: int
    aotautograd: int
    exists: bool


VllmParams = OfPlace


class PieceTold(TypedDict):
    """A compiled part of a graph (``artifacts.vllm.Piece``)."""

    name: str
    low: int
    high: int
    index: int
    bytes: int


class VllmRow(TypedDict):
    """What vLLM keeps for a part of a model, of one rank. path: its folder in the place. folder:
    what the folder of the key is called, rank, part: those below; "" where no path tells. named:
    what these factors make of its name; "" where not all are known. env: variables, as JSON;
    hashes: by ``artifacts.vllm.HASHES``. model: what the file of the model's code is called;
    sources: files whose lines its graph names.
    """

    path: str
    folder: str
    rank: str
    part: str
    named: str
    env: dict[str, str]
    hashes: dict[str, str]
    model: str
    sources: list[str]
    pieces: list[PieceTold]
    files: int
    bytes: int


class VllmResult(TypedDict):
    count: int


class VllmVariablesParams(TypedDict):
    pid: int


class VllmVariablesResult(TypedDict):
    """variables: those of the process that vLLM reads."""

    variables: dict[str, str]
