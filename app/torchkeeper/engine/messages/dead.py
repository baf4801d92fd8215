"""Operations about what is dead, and the trash."""

from typing import TypedDict

from torchkeeper.artifacts.shapes import Amount, EntryRow, Measured, Tally
from torchkeeper.engine.messages import Dying, OfPlace, Select
from torchkeeper.stores.shapes import CutOff, Done, Trash, Users


class Unknown(TypedDict):
    goes: int
    stays: int


class PlanPurgeParams(OfPlace, total=False):
    """in_use: what processes use goes, too. rows: whether somebody wants them, which is so unless
    it is said. others: what is not selected, of which it is to be told how much that would be.
    """

    select: Select
    in_use: bool
    rows: bool
    others: Dying


class _PlanPurgeResult(Measured):
    plan: int
    entries: int
    locks: int
    headers: int
    unknown: Unknown
    files: int
    in_use: Users


class PlanPurgeResult(_PlanPurgeResult, total=False):
    """A plan by its number, and how much goes. because: of what goes for being dead, how much for
    which reason; what has several counts for the first. more: how much more each of ``others`` by
    itself would take, also of what is in use. rests: what last uses rest on. shared: the file
    system, where other machines may use it, too.
    """

    shared: str
    because: dict[str, Amount]
    more: dict[str, Amount]
    rests: str | None


class PlanPurgeRow(EntryRow, total=False):
    """An entry that goes; because: for which reasons. last_used: seconds since the epoch."""

    because: list[str]
    last_used: float | None


class SuggestParams(OfPlace, total=False):
    """envs: in all of which stale is stale. filter: what plans of this look ask about. look: the
    number of an earlier answer, to judge anew without looking again. beside: other places.
    """

    envs: list[str] | None
    filter: str
    look: int | None
    beside: list[str]


class SuggestResult(Amount):
    """How much there is, and how much of it are headers. look: the number of this look.
    rests: what last uses rest on, None where nobody knows them. covers: places beside that are
    counted with it, and why, as a Problem's code.
    """

    header_bytes: int
    look: int
    rests: str | None
    covers: dict[str, str]


class _PurgeParams(TypedDict):
    plan: int


class PurgeParams(_PurgeParams, total=False):
    """A plan by its number, of a place. now: past the trash."""

    place: str
    now: bool


PurgeResult = Done


class UndoParams(OfPlace, total=False):
    """receipt: of a purge or an import, by default of the latest. rows: as of PlanPurgeParams."""

    receipt: str | None
    rows: bool


class UndoResult(Done):
    """undid: what was undone, "purge", or "import": then ``receipt`` is of what moved to the trash
    for that.
    """

    undid: str


class UndoRow(TypedDict):
    kind: str
    path: str


TrashParams = OfPlace
TrashResult = Trash
EmptyTrashParams = TrashParams
EmptyTrashResult = Amount


class RecoverParams(OfPlace, total=False):
    """insisted: what becomes of what is not believed (``guard.recover``). dry: only tell."""

    insisted: str
    dry: bool


class RecoverResult(TypedDict):
    recovered: list[CutOff]


class _Removed(Tally):
    bytes: int
    of: Tally
    sure: bool


class Removed(_Removed, total=False):
    """How much a purge that ended early has removed, of how much. sure: whether that is certain.
    trash: of a folder, whether it is in the trash.
    """

    trash: bool
