"""What an interpreter can do, as ``doctor.trying`` tells it. Nothing else is here: the window loads
it to know what may come over the wire.
"""

from typing import TypedDict


class Package(TypedDict):
    """A package: its version, or why it cannot be imported; neither where there is none."""

    version: str | None
    error: str | None


class Built(TypedDict):
    """What came of a C++ compiler. state: "works", "missing", "fails" or "unloadable". stage: the
    first thing that fails, of ``doctor.trying.STAGES``. said: what the compiler said.
    """

    state: str
    stage: str
    said: str


class Cxx(Built):
    """The C++ compiler that torch would use."""

    command: str
    version: str | None


class _Header(TypedDict):
    state: str
    path: str | None
    variable: str


class Header(_Header, total=False):
    """The precompiled C++ header. state: "there", "missing", "refused" by the compiler, "off" by a
    setting, or "unknown"; said: why that.
    """

    said: str


class Triton(Package):
    """cc: the C compiler it would use, None for none; cc_said: why it is of no use, "" where it
    works. ptxas the same, None where the torch is not for CUDA.
    """

    cc: str | None
    cc_said: str | None
    ptxas: str | None
    ptxas_said: str | None


class Gpu(TypedDict):
    """built: "cuda", "hip" or None; version: of that. seen: how many GPUs; error: what torch
    says of that. devices: whether the system has such devices.
    """

    built: str | None
    version: str | None
    seen: int
    error: str | None
    devices: bool


class Threads(TypedDict):
    """How many threads torch uses, and on how many processors it may run."""

    threads: int
    cpus: int


class Untried(TypedDict):
    """Why not all could be tried: a problem in code and figures."""

    code: str
    params: dict[str, str | int | float | None]


class Toolchain(TypedDict, total=False):
    """All of it, as far as it was told; torch: whether it can be imported."""

    torch: Package
    cxx: Cxx
    header: Header
    triton: Triton
    gpu: Gpu
    redis: Package
    threads: Threads
    left: Untried
