"""What a check is, and what all checks share: what was looked at, once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.doctor.shapes import Toolchain
from torchkeeper.settings.finding import Finding
from torchkeeper.stores.dead import Dead
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.items import Item, OnDisk
from torchkeeper.stores.mounts import Mount
from torchkeeper.stores.redis.server import Server
from torchkeeper.verdict.judging import Verdict
from torchkeeper.verdict.probed import Env


@dataclass
class FolderLook:
    """A cache folder, listed once. place: as it is named; root: where that leads. Where it does not
    exist, what is said of the disk is said of the nearest folder above. mount: None where the
    system does not tell. store: None where it is not there or cannot be read, which ``problem``
    says. dead: its entries; verdicts: of each, none without a torch. trash: bytes in its trash.
    """

    place: str
    root: str
    report: Report
    exists: bool = False
    mount: Mount | None = None
    store: Folder | None = None
    items: list[Item] = field(default_factory=list)
    dead: Dead | None = None
    verdicts: list[Verdict] = field(default_factory=list)
    trash: int = 0
    problem: Problem | None = None

    @functools.cached_property
    def size(self) -> OnDisk:
        """What its entries take on the disk."""
        return OnDisk(self.items)


@dataclass
class ServerLook:
    """A Redis server, asked once. role: "torch" or "triton" where settings name it, else "". page:
    None where it does not answer as it should. problem: why, or that it wants no password.
    """

    place: str
    role: str
    page: Server | None = None
    problem: Problem | None = None


@dataclass
class MachineLook:
    """What is not of one place. facts, toolchain: as a probe and ``doctor.toolchain`` tell, empty
    without one. values: texts of variables; variables: names of the others that are set. reads: the
    real paths of the folders that known environments use. others: the other caches of this user,
    only listed; None where they are not asked for. index: where listings keep what they read.
    """

    facts: Env
    values: Mapping[str, str]
    toolchain: Toolchain
    reads: frozenset[str]
    folders: list[FolderLook]
    report: Report
    others: list[FolderLook] | None = None
    index: str | None = None
    variables: frozenset[str] | None = None


class Check(NamedTuple):
    """One check ``about`` a "folder", "server" or the "machine". find: says what it found; raises
    Problem where it cannot be made, and Cancelled. reads: whether it needs what is in entries.
    """

    name: str
    about: str
    find: Callable[[Any], Iterable[Finding]]
    reads: bool = False
