"""Operations about compile jobs."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from torchkeeper.artifacts.shapes import Fault
from torchkeeper.engine.messages import Nothing
from torchkeeper.warm import shapes


class VariantsParams(shapes.Compiling, total=False):
    """As of a warm-up. into: the place that is looked at, too, where one is named."""

    into: str


class VariantsResult(TypedDict):
    variants: int
    problems: int


class VariantsRow(TypedDict):
    """A variant, and the problem that it has before anything of it is imported. memory,
    seconds: bytes and time that it may take. target: of a kernel, the GPU.
    """

    index: int
    recipe: str
    name: str
    source: str
    folder: str | None
    device: str | None
    dtype: str | None
    mode: str | None
    sizes: Mapping[str, int]
    threads: int | None
    portable: bool
    seconds: float | None
    memory: int | None
    target: str | None
    problem: Fault | None


WarmParams = shapes.Warming
WarmResult = shapes.Warmed
VerifyParams = shapes.Verifying
VerifyResult = shapes.Verified
PrepareParams = shapes.Preparing
PrepareResult = shapes.Prepared


class Seeded(shapes.Compiling, total=False):
    """What is compiled in a folder of the engine's own, which goes with it. seeds: bundles whose
    entries are there before.
    """

    seeds: Sequence[str]


class FillParams(Seeded, total=False):
    """output: the bundle of what is new. builders: as of an export."""

    output: str
    builders: Mapping[str, object] | None


class FillRow(TypedDict):
    """An entry that is new."""

    kind: str
    key: str


class FillResult(TypedDict):
    """new: how many entries are in the bundle, which has so many bytes; it is there unless it would
    be empty. cut: it was cancelled, and what was done by then is in it. torch, device: as of a
    warm-up, "" where it was cut.
    """

    new: int
    size: int
    cut: bool
    torch: str
    device: str


class ProveParams(Seeded, total=False):
    """What is to be found among the seeds."""


ProveResult = shapes.Verified


class DetachParams(TypedDict):
    """An operation that goes on without the connection, and its parameters."""

    op: str
    params: Mapping[str, Any]


class FollowParams(TypedDict, total=False):
    """end: the job is to end. op, place: what it does, and where, for whoever asks."""

    job: str
    end: bool
    op: str
    place: str


DetachResult = Nothing  # in truth the result of the operation; that of FOLLOW, too
FollowResult = Nothing
JobsParams = Nothing
JobsResult = Nothing


class Far(TypedDict, total=False):
    """The last that was told of how far something is."""

    type: str
    done: float
    total: float | None
    unit: str
    error: Fault


class _About(TypedDict, total=False):
    about: str


class JobsRow(_About):
    """A job. about: a command. lives: whether it runs. seconds: that it has; ago: since its end."""

    job: str
    op: str
    place: str | None
    lives: bool
    seconds: float
    ago: float
    far: Far


class Began(_About):
    """The first line of a job: what it does, since when, and its process (``locks.here``)."""

    op: str
    place: str | None
    at: float
    boot: str
    space: str
    pid: int
    since: str | None
