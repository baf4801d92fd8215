"""What is looked up without an engine, as ``gui.background.lookups`` returns it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypedDict

if TYPE_CHECKING:
    from torchkeeper.client.kept.history import Kept, Running
    from torchkeeper.client.signers import Key, Signer
    from torchkeeper.client.words.problems import UserError


class At(NamedTuple):
    """What is at a path: "folder", "file" or "missing", or what it is offered as."""

    path: str
    what: str


class Room(NamedTuple):
    """What is at a path, and bytes of its file system; None where nobody can say."""

    what: str
    free: int | None
    total: int | None


class Revealed(NamedTuple):
    """What is at a path (``client.paths.what``), and whether a file manager shows it."""

    what: str
    shown: bool


class PastJobs(NamedTuple):
    """The jobs that have ended, and those that other processes run."""

    kept: Kept
    elsewhere: Sequence[Running]


class Keys(TypedDict):
    """The keys to sign with; why an agent's are not known, and why a named file is none."""

    keys: Sequence[Key]
    without_agent: str
    wrong: UserError | None


class Signers(TypedDict):
    """Whose signatures are trusted, whether one is required, and the file that says so."""

    signers: Sequence[Signer]
    required: bool
    file: str
