"""Operations about compile jobs."""

from collections.abc import Mapping
from typing import TypedDict

from torchkeeper.artifacts.shapes import Fault
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
