"""Operations about bundles, copies and signatures."""

from collections.abc import Mapping, Sequence
from typing import Literal, TypedDict

from torchkeeper.artifacts.builds import MadeIn
from torchkeeper.artifacts.shapes import Leaks, Secrets, Tally
from torchkeeper.engine.messages import Nothing, OfPlace, Select
from torchkeeper.stores.shapes import Space

#: How an environment builds objects, as its probe says (``native``); a bundle tells that.
Builders = Mapping[str, object]


class Maker(TypedDict):
    """Who tells how objects were built. torch: said to have built them, None if none is named."""

    what: Literal["bundle", "environment"]
    torch: str | None


class Described(TypedDict):
    """Of how many entries with ``objects`` a bundle tells how they were built, and who does."""

    objects: int
    described: int
    maker: Maker | None


class Counts(TypedDict):
    entries: int
    files: int
    bytes: int


class Outcomes(TypedDict):
    """How much is new, there already, comes twice, differs from what is kept, or has a problem."""

    new: Counts
    there: Counts
    twice: Counts
    differs: Counts
    left: Counts


class Written(Counts):
    """How much goes elsewhere; its bytes are those of contents."""

    content_bytes: int


class KindCounts(Counts):
    kind: str


class KindOutcomes(Outcomes):
    kind: str


class PlanExportParams(OfPlace, total=False):
    """needs: with what the entries need. also: places of which what the filter means goes, too.
    mega: as a mega-cache, without what that cannot hold.
    """

    select: Select
    needs: bool
    also: Sequence[str]
    mega: bool
    builders: Builders | None
    secrets: Secrets | None


class PlanExportResult(Described, Written):
    """As of ``stores.bundles.export.Planned``. lacking: how many would be without FX graphs that
    they need and that the place has. stays: how many of the selection are no entries.
    """

    size: int
    room: int
    kinds: list[KindCounts]
    torches: Sequence[tuple[str, int]]
    devices: Sequence[tuple[str, int]]
    made_in: MadeIn | None
    leaks: Leaks
    lacking: int
    stays: Tally


class _ExportParams(OfPlace):
    output: str


class ExportParams(_ExportParams, total=False):
    """sign: it appears when it is signed, and is held until then. The others are as of
    PlanExportParams.
    """

    select: Select
    needs: bool
    also: Sequence[str]
    mega: bool
    replace: bool
    sign: bool
    builders: Builders | None
    secrets: Secrets | None


class _ExportResult(Described, Written):
    stays: Tally
    output: str
    size: int
    leaks: Leaks


class ExportResult(_ExportResult, total=False):
    """What is in a bundle of ``size`` bytes. held: it has no name until it is signed."""

    held: bool


class FilesParams(TypedDict, total=False):
    """Bundles: several, or one."""

    files: Sequence[str]
    file: str


class Into(TypedDict):
    """A place that gets something."""

    into: str


class ImportParams(Into, FilesParams, total=False):
    """env: the environment that objects are for. manifests: the sha256 of each manifest as it was
    looked at, by the file. vouched: a file of allowed signers, one of whom must have signed.
    cache: only what is of this one. fits: only what that environment can use, and what that needs.
    """

    cache: str
    env: str | None
    fits: bool
    manifests: Mapping[str, str]
    vouched: str


class ImportResult(Counts):
    """What was placed, what was there already, what came twice, and how many objects have another
    name there. receipt: for undo, or None.
    """

    exists: int
    doubles: int
    renamed: int
    receipt: str | None


class CachesParams(FilesParams):
    """Bundles whose entries are to go each into its own cache."""


class CacheRow(Counts):
    """A cache, how much of it there is, and where it is on this machine, if anything tells; reason:
    as of ``stores.places.Place``.
    """

    cache: str
    into: str | None
    reason: str | None
    there: bool


class CachesResult(TypedDict):
    caches: list[CacheRow]


class ImportRow(TypedDict):
    """What was placed; the path is that in the folder."""

    kind: str
    key: str
    path: str


class CopyParams(OfPlace, Into, total=False):
    """dry: only say what it would come to. alone: without what the entries need. noted: a folder
    has a receipt then, for undo, which it has by default. The others are as of ImportParams and
    ExportParams.
    """

    select: Select
    dry: bool
    replace: bool
    alone: bool
    builders: Builders | None
    env: str | None
    secrets: Secrets | None
    vouched: str
    noted: bool


class _TargetParams(TypedDict):
    path: str


class TargetParams(_TargetParams, total=False):
    """owners: who else can change it is to be found, too."""

    owners: bool


class TargetResult(TypedDict):
    """What is at a path; size and mtime are None where nothing is. space: that of its folder."""

    what: Literal["missing", "file", "folder", "other"]
    size: int | None
    mtime: float | None
    space: Space


class ResumeParams(TypedDict, total=False):
    """See ``resuming.resume``; for pieces and stretches, ``stores.parts``."""

    path: str
    output: str
    pieces: list[tuple[int, str]]
    stretches: list[tuple[int, int]]
    back: bool


class ResumeResult(TypedDict, total=False):
    pieces: list[tuple[int, str]]
    missing: list[tuple[int, int]]


class HandOverParams(TypedDict):
    """to: a file on another machine, by its name (``stores.ssh``), which has ``mark`` in it."""

    path: str
    stretches: list[tuple[int, int]]
    to: str
    mark: str


HandOverResult = Nothing


class _CopyResult(Written):
    what: str
    exists: int
    doubles: int
    receipt: str | None
    stays: Tally
    leaks: Leaks | None
    renamed: int
    place: str
    into: str


class CopyResult(_CopyResult, total=False):
    """What was written to a "folder", "bundle" or "server". kinds, needed (bytes on the disk for
    what is new) and there (what is at ``into``, None of a server): only of what is foretold.
    """

    kinds: list[KindOutcomes]
    needed: int
    there: TargetResult | None


class LeaksParams(OfPlace, total=False):
    """kind, path: one entry; without them all of the place."""

    kind: str
    path: str


LeaksResult = Leaks


class _SignatureParams(TypedDict):
    file: str


class SignatureParams(_SignatureParams, total=False):
    """signers: a file of allowed signers."""

    signers: str | None


class SignatureResult(TypedDict):
    """Who signed a bundle, as of ``artifacts.sshsig.Signature``."""

    status: str
    signer: str | None
    key: str | None
    fingerprint: str | None
    manifest: str


class Signed(TypedDict, total=False):
    """held: the bundle is what the engine holds since it was exported, for the name ``output``."""

    file: str
    held: bool
    output: str
    replace: bool


class _CopyManifestParams(TypedDict):
    target: str


class CopyManifestParams(_CopyManifestParams, Signed, total=False):
    """target: a new file."""


class CopyManifestResult(TypedDict):
    manifest: str


class _AttachSignatureParams(TypedDict):
    signature: str
    manifest: str


class AttachSignatureParams(_AttachSignatureParams, Signed, total=False):
    """signature: its text. manifest: the sha256 of what was signed."""


class AttachSignatureResult(TypedDict):
    size: int


class _SignResult(TypedDict):
    signature: SignatureResult


class SignResult(_SignResult, total=False):
    """What came of signing, in several requests. size: of the bundle; before: who had signed it."""

    size: int
    before: SignatureResult | None
