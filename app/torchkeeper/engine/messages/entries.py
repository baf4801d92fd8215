"""Operations about one entry, and names."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from torchkeeper.artifacts import forms
from torchkeeper.artifacts.builds import Claims, MadeIn
from torchkeeper.artifacts.shapes import EntryRow, Tally
from torchkeeper.engine.messages import Nothing, OfPlace
from torchkeeper.engine.messages.bundles import FilesParams, Into, KindOutcomes, Outcomes
from torchkeeper.stores.shapes import Space
from torchkeeper.verdict.probed import VerdictTold


class EntryParams(OfPlace):
    kind: str
    path: str


class ShowParams(OfPlace):
    """key: the key of entries, or the start of only one."""

    key: str


#: How many entries were shown.
ShowResult = Tally


class EntryFile(TypedDict):
    """A file of an entry; mtime: seconds since the epoch, None where nobody keeps it."""

    path: str
    size: int
    mtime: float | None


class _Related(TypedDict):
    needs: list[tuple[str, str]]
    missing: list[tuple[str, str]]
    needed_by: list[tuple[str, str]]


class Related(_Related, total=False):
    """Who needs whom, as kinds and keys; unread: how many may need it too, and were not read."""

    unread: int


class Shown(Related):
    """All that is known of an entry. facts: what its payload says."""

    entry: EntryRow
    facts: Mapping[str, object]
    files: list[EntryFile]


DetailParams = EntryParams
DetailResult = Nothing


class LongText(TypedDict):
    name: str
    chars: int


class Detail(TypedDict):
    """An entry without its long texts. facts: what its payload says. needs: keys, by the facts that
    name them. factors: how many there are.
    """

    entry: EntryRow
    facts: Mapping[str, object]
    files: list[EntryFile]
    needs: Mapping[str, list[str]]
    texts: list[LongText]
    factors: int


NeedsParams = EntryParams
NeedsResult = Related


class _TextParams(EntryParams):
    name: str


class TextParams(_TextParams, total=False):
    """A part of a text; offset: in characters."""

    offset: int


class TextResult(TypedDict):
    """A part of a text; chars: of all of it."""

    name: str
    offset: int
    text: str
    chars: int


FactorsParams = EntryParams


class FactorsRow(TypedDict):
    hash: str
    name: str
    value: str


class FactorsResult(TypedDict):
    count: int


class _FormParams(TypedDict):
    file: str


class FormParams(_FormParams, total=False):
    """envs: the environment whose verdict is wanted, known before."""

    envs: Sequence[str] | None


class FormModel(TypedDict):
    """A model in a package. needs: libraries that its objects need."""

    name: str
    device: str | None
    capability: str | None
    machine: str | None
    platform: str | None
    isa: str | None
    needs: list[str]
    verdict: VerdictTold | None


class FormResult(TypedDict):
    """A file in which a program keeps what torch compiled for it. form: None of any other. said:
    what else it tells of itself, by name. holds: how many files of each sort (forms.What). strange:
    what its pickle names that PyTorch never does.
    """

    form: forms.Form | None
    name: str | None
    torch: str | None
    python: str | None
    device: str | None
    gpu: str | None
    said: dict[str, str]
    holds: dict[forms.What, int]
    size: int
    models: list[FormModel]
    strange: list[str]
    verdict: VerdictTold | None


RunnableParams = OfPlace


class RunnableKind(TypedDict):
    """What of a kind could run, and how many entries could not be read."""

    kind: str
    entries: int
    pickles: int
    sources: int
    objects: int
    unread: int


class RunnableName(TypedDict):
    """What pickles name. strange: PyTorch never does. key: of the first entry that names it."""

    name: str
    strange: bool
    entries: int
    kinds: list[str]
    key: str


class RunnableResult(TypedDict):
    """What of a place could run. globals: what is strange first. strange: how many entries name
    such. more: something may be missing, because there was too much or it could not be read.
    """

    kinds: list[RunnableKind]
    globals: list[RunnableName]
    strange: int
    more: bool


class CompareParams(Into, FilesParams, total=False):
    """What would be imported into a folder. rows: a row for each entry is wanted. cache, fits: as
    of an import.
    """

    cache: str
    env: str | None
    fits: bool
    rows: bool


class ComparedFile(Outcomes):
    """What becomes of the entries of a bundle. needed: bytes on the disk for what is new."""

    file: str
    kinds: list[KindOutcomes]
    needed: int


class CompareResult(TypedDict):
    """What an import would do. renamed: how many objects would have another name there."""

    files: list[ComparedFile]
    needed: int
    space: Space
    renamed: int


class CompareRow(TypedDict):
    """What becomes of an entry, one of ``stores.folders.placing.OUTCOMES``. path: in the folder;
    inside: in the bundle. code: why it is left or differs, else None.
    """

    file: str
    kind: str
    key: str
    path: str
    inside: str
    size: int
    outcome: str
    code: str | None


class OriginParams(TypedDict):
    files: Sequence[str]


class Origin(Claims):
    file: str
    made_in: MadeIn | None


class OriginResult(TypedDict):
    files: list[Origin]


class _NamedParams(TypedDict):
    file: str
    rows: list[tuple[str, str]]


class NamedParams(_NamedParams, total=False):
    """rows: paths in the bundle, and the new key of each. first: forget those told before."""

    first: bool


class NamedResult(TypedDict):
    names: int


NamesParams = OriginParams
NamesResult = FactorsResult


class NamesRow(TypedDict):
    """An object in a bundle: the path of its entry there, and the name it has to have here."""

    file: str
    path: str
    key: str
