"""What is asked of compile jobs, and what they tell, as types."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from torchkeeper.artifacts.shapes import Fault
from torchkeeper.verdict.probed import CauseTold


class SentRecipe(TypedDict):
    """A recipe as its file has it. folder: the absolute path of where that lies."""

    name: str
    folder: str
    data: Any


class Compiling(TypedDict, total=False):
    """What is compiled, and how. recipes: "builtin", which it is without any, and those that were
    read. device, threads, portable: for recipes that say nothing of it themselves. limit_s: seconds
    that a variant may take. jobs: processes at a time. each: a single variant that fails does so as
    one of several. settings: texts by variable, as a profile has them, and no other of the
    described settings; they may hold a password. only: the indexes of the variants that are
    compiled. sent: the path of what recipes from another machine need (``sent.placed``).
    trace: the folder that PyTorch's traces of a warm-up go to.
    """

    recipes: Sequence[str | SentRecipe] | None
    device: str | None
    threads: int | None
    portable: bool
    limit_s: float | None
    jobs: int
    each: bool
    settings: Mapping[str, str] | None
    only: Sequence[int] | None
    sent: str
    trace: str


class Autograd(TypedDict):
    """Lookups of AOTAutograd's entries."""

    hits: int
    misses: int


class Counts(TypedDict):
    """Graphs, and how their lookups ended."""

    graphs: int
    hits: int
    misses: int
    bypasses: int
    autograd: Autograd


class Counted(TypedDict, total=False):
    """The same, as far as a source counts that itself."""

    graphs: int
    hits: int
    misses: int
    bypasses: int
    autograd: Autograd


class Found(TypedDict):
    """Of what a source looks for itself, how much was found of how much there should be."""

    found: int
    of: int


class Proof(Found, total=False):
    """What a source's own proof came to. why: why that is not all."""

    why: str


class Done(Counts):
    """What a variant came to. seconds: that compiling it took. device: its kind. made: kind and key
    of the entries that it looked for and that no graph names.
    """

    made: Sequence[tuple[str, str]]
    seconds: float
    proof: Proof | None
    device: str
    threads: int


class Became(Counted, total=False):
    """What becomes of a variant, done or failed. log: its last lines, made: kind and key of entries
    that it looked for and that no graph names; these only findings have.
    """

    made: Sequence[tuple[str, str]]
    seconds: float
    proof: Proof | None
    device: str
    threads: int
    problem: Fault
    log: Sequence[str]


class WarmVariant(Became):
    """A variant; state: queued, starting, compiling, done, failed or cancelled."""

    index: int
    recipe: str
    name: str
    source: str
    state: str


class Warming(Compiling):
    """The place to fill, and with what."""

    into: str


class Summed(Counts):
    """What became of the variants of a job, and sums. variants: as many as fit, without their logs.
    things: how many things were looked up of each sort (``warm.following.things``). torch: its
    version, "" where none was needed. done, failed: how many variants.
    """

    variants: Sequence[WarmVariant]
    things: Mapping[str, int]
    seconds: float
    device: str
    threads: int
    torch: str
    done: int
    failed: int


class Warmed(Summed):
    """The same, and how many entries the place has more than before; kinds: of each kind."""

    added: int
    kinds: Mapping[str, int]
    locks: int
    headers: int
    unknown: int


class _Verifying(Compiling, total=False):
    runs: Sequence[str]
    scratch: str | None


class Verifying(_Verifying):
    """The place to verify. runs: without it all of RUNS. scratch: a path to work in."""

    place: str


class LookedUp(TypedDict):
    """A graph, and how its lookup ended."""

    id: str
    name: str
    outcome: str


class VerifiedGraph(LookedUp, total=False):
    """A graph of the last run. why: of no hit, if known. variant: where there are several."""

    why: CauseTold
    variant: int


class VerdictOfVariant(TypedDict):
    """seconds: of each run. ratios: to the target's, as ``warm_cold``."""

    index: int
    recipe: str
    name: str
    source: str
    good: bool
    seconds: Mapping[str, float]
    ratios: Mapping[str, float]
    hits: int
    misses: int
    rebuilt: int
    proof: Found | None
    problem: Fault | None


class VerifiedVariant(VerdictOfVariant):
    """The same. why: the cause of the first graph that was no hit, if that is known."""

    why: CauseTold | None


class Judged(Counts):
    """Counts of what was run with the target. rebuilt: how many objects were built again.
    unwritten: of AOTAutograd's misses, those that the run wrote no entry for, either.
    """

    rebuilt: int
    unwritten: int


class Run(Judged):
    """A run, or the sum of one run of several variants."""

    seconds: float


class Whole(TypedDict):
    """How many variants there were, and how many of them are good."""

    variants: int
    good: int


class Verification(Judged):
    """What a verification came to, with the counts of the last run with the target. things: as of a
    warm-up. built: paths of objects built again. seconds, ratios: as of a variant. runs: by name.
    skipped: runs that were asked for and that no variant had, each with why: script, no-graphs or
    no-header.
    """

    things: Mapping[str, int]
    whole: Whole
    built: Sequence[str]
    seconds: Mapping[str, float]
    ratios: Mapping[str, float]
    runs: Mapping[str, Run]
    skipped: Mapping[str, str]
    good: bool
    device: str
    threads: int
    torch: str


class Verified(Verification):
    """The same. rows: graphs of the last run with the target. variants: as many as fit."""

    rows: Sequence[VerifiedGraph]
    variants: Sequence[VerifiedVariant]


class Preparing(TypedDict, total=False):
    """into: a temporary folder, or one of a user's in it; None for the usual one."""

    into: str | None
    limit_s: float | None


class Headers(TypedDict):
    """How many headers were built, how many were there, the bytes of all, and their folder."""

    built: int
    there: int
    bytes: int
    folder: str


class Prepared(Headers):
    """The same. user: whose programs they are for, where that is another user."""

    seconds: float
    user: str | None


class Header(TypedDict):
    """A header that was looked for. built: or else it was there. bytes: its size."""

    path: str
    built: bool
    bytes: int
    seconds: float


class Device(TypedDict):
    """The device that is compiled for, and why as a code (``warm.header.choose_device``)."""

    type: str
    name: str
    why: str
