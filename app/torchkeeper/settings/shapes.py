"""What is told of settings and of processes, as types of JSON."""

from collections.abc import Mapping
from typing import Any, TypedDict


class OverrideTold(TypedDict):
    """Something in code that sets a setting (``origins.Override``)."""

    where: str
    how: str
    value: str | None
    computed: bool
    wins: bool | None


class OriginTold(TypedDict):
    """The value of a setting, and what made it so (``origins.Origin``)."""

    name: str
    value: str | None
    by: str
    variable: str
    where: str
    computed: bool
    sure: bool
    seen: str
    overrides: list[OverrideTold]
    otherwise: str | None
    cut: bool


class FolderTold(TypedDict):
    """A cache that a process really uses (``processes.Folder``)."""

    path: str
    kind: str
    why: str
    files: int
    seen: str


class ProcessTold(TypedDict):
    """A process that runs Python (``processes.Process``)."""

    pid: int
    name: str
    command: list[str]
    started: float | None
    python: str
    cwd: str
    loaded: bool
    torch: str | None
    triton: str | None
    folders: list[FolderTold]
    workers: int
    elsewhere: bool


class LookedTold(TypedDict):
    """What of a process's sources was looked at (``processes``). kind: as of programs.Program.
    main: its path or name, "" for code. files: how many sources were read. unread: each that was
    not, and why, one of programs.UNREAD. changed: of the script and of what sets something, those
    that were changed since the process was started. stopped: one of programs.STOPPED.
    """

    kind: str
    main: str
    files: int
    unread: list[tuple[str, str]]
    changed: list[str]
    stopped: str


class FindingTold(TypedDict):
    """What a rule or a check found (``finding.Finding``)."""

    code: str
    severity: str
    settings: list[str]
    place: str
    params: Mapping[str, Any]
    change: Mapping[str, str | None]
    fix: str


class SettingsTold(TypedDict):
    """Each setting of an interpreter; the version of torch, and of Triton where there is one."""

    settings: list[OriginTold]
    torch: str | None
    triton: str | None
    findings: list[FindingTold]


class ProcessesTold(TypedDict):
    """hidden: how many of others. sees: "all", or "own" where the system hides others'."""

    count: int
    hidden: int
    sees: str


class OfProcessTold(TypedDict):
    """Each setting. lost: it has written over its environment: no variable is to be seen."""

    process: ProcessTold
    settings: list[OriginTold]
    findings: list[FindingTold]
    lost: bool
    looked: LookedTold
