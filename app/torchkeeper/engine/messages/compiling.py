"""Operations about compile jobs."""

from collections.abc import Mapping
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
