"""Operations about compile jobs."""

from collections.abc import Mapping
from typing import TypedDict

from torchkeeper.artifacts.shapes import Fault
from torchkeeper.warm import shapes


class CellsParams(shapes.Compiling, total=False):
    """As of a warm-up. into: the place that is looked at, too, where one is named."""

    into: str


class CellsResult(TypedDict):
    """How many cells there are, and how many of them have a problem."""

    cells: int
    problems: int


class CellsRow(TypedDict):
    """A cell, and the problem that it is known to have before anything of it is imported.

    memory: bytes that it may take. seconds: that it may take. target: of a kernel, the GPU.
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


class WarmParams(shapes.Warming):
    """A warm-up: the place to fill, and with what."""


class WarmResult(shapes.Warmed):
    """What became of the cells of a warm-up, and how many entries the place has more."""


class VerifyParams(shapes.Verifying):
    """A verification: the place, and what is run with it."""


class VerifyResult(shapes.Verified):
    """What a verification came to."""


class PrepareParams(shapes.Preparing):
    """Where headers go that are built ahead."""


class PrepareResult(shapes.Prepared):
    """The headers that are there now."""
