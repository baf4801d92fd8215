"""Operations about the doctor."""

from collections.abc import Mapping
from typing import TypedDict

from torchkeeper.artifacts.shapes import Fault
from torchkeeper.doctor.shapes import Toolchain
from torchkeeper.stores.shapes import Users
from torchkeeper.verdict.probed import Env


class _DiagnoseParams(TypedDict):
    places: list[str]


class DiagnoseParams(_DiagnoseParams, total=False):
    """What is looked at, and what is known of it (``engine.diagnosing.diagnose``)."""

    values: dict[str, str] | None
    variables: list[str] | None
    facts: Env
    toolchain: Toolchain
    machine: bool
    reads: list[str]
    only: list[str]


class LeftCheck(Fault):
    """A check that could not be made, and why."""

    check: str
    place: str


class DiagnoseResult(TypedDict):
    checks: list[str]
    left: list[LeftCheck]


class ToolchainParams(TypedDict, total=False):
    """limit_s: seconds that trying may take."""

    limit_s: float | None


ToolchainResult = Toolchain


class _MendParams(TypedDict):
    fix: str
    place: str


class MendParams(_MendParams, total=False):
    """A fix, and ``code`` and ``params`` of the finding. envs: names of environments, for what is
    stale. plan: the number of what was planned, and is carried out.
    """

    code: str
    params: Mapping[str, object]
    envs: list[str]
    plan: int | None
    dry: bool


class MendResult(TypedDict, total=False):
    """What was done, or with ``dry`` would be. failed: files that could not be changed. receipt: of
    what went to the trash. in_use: what stays therefore. Of files changed where they are, paths:
    the first; modes: theirs, in octal; above: the folder above the place that alone is changed.
    shared: as of a plan of a purge.
    """

    plan: int
    shared: str
    entries: int
    locks: int
    headers: int
    unknown: int
    files: int
    bytes: int
    disk_bytes: int
    above: str | None
    paths: list[str]
    modes: list[str]
    failed: int
    receipt: str | None
    in_use: Users
