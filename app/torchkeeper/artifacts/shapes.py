"""What is told of entries, of how much there is, and of secrets in them, as types of JSON; and what
a payload tells of itself: the facts of an entry, which the modules of the kinds read
(``artifacts.facts``) and ``stores.reader`` checks.

Nothing is loaded for them at a start: who makes or reads such JSON imports its type under
TYPE_CHECKING; the messages of an engine (``engine.messages``) are made of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypedDict

from torchkeeper.artifacts.builds import MadeIn


class Tally(TypedDict):
    """How many entries there are, and what else, counted apart (``entry.tally``)."""

    entries: int
    locks: int
    headers: int
    unknown: int


class _Measured(TypedDict):
    bytes: int


class Measured(_Measured, total=False):
    """So many bytes, and once more by what they are (``entry.measured``)."""

    content_bytes: int
    disk_bytes: int


class Sized(Tally, Measured):
    """How many, and how much."""


class Held(Tally):
    """What a place holds (``entry.holds``); bytes: of the entries; apart_bytes: of all else."""

    bytes: int
    content_bytes: int
    apart_bytes: int


class Amount(Sized):
    """How much some entries are, with their files."""

    files: int


class Fault(TypedDict):
    """A Problem (``entry.Problem``)."""

    code: str
    params: Mapping[str, object]


class EntryRow(TypedDict):
    """An entry (``entry.Entry``), but for the words of its verdict."""

    kind: str
    key: str
    name: str | None
    size: int
    files: int
    mtime: float | None
    torch: str | None
    device: str | None
    compile_s: float | None
    path: str
    sha256: str | None
    problem: str | None
    orphan: str | None
    expires: float | None
    used: float | None
    verdict: str | None
    owner: str | None


# What was found in entries that nobody else should read, as types of JSON.

#: What becomes of secrets: they go along, they are replaced, or the entries that hold them stay.
#: With None a secret is an end of the request.
Secrets = Literal["allow", "redact", "leave"]


class Where(TypedDict):
    """A place in an entry: the file, "key" for the key itself, and the offset in bytes."""

    kind: str
    key: str
    path: str
    file: str
    offset: int


class Secret(Where):
    """A secret that was found: as of ``leakforms.Leak``, and how often it stands there."""

    what: str
    name: str
    excerpt: str
    times: int
    redactable: bool


class Private(Where):
    """A ``leakforms.Fact``, where it was found first, in how many entries it is, and how often."""

    what: str
    value: str
    entries: int
    times: int


class Leaks(TypedDict):
    """How many secrets were found in how many entries. redacted: of how many entries they were
    replaced; fixed: of how many they cannot be. private: the most frequent first.
    """

    secrets: int
    entries: int
    redacted: int
    fixed: int
    private: list[Private]


#: Facts that only join entries with each other.
JOINING = frozenset({"kernels", "digest", "fx_keys", "triton_keys", "code_key", "code_keys"}
                    | {"code_names", "role", "opaque", "group", "warp", "widths", "own_key"}
                    | {"libs", "prints"})  # fmt: skip


class Facts(TypedDict, total=False):
    """What an entry tells; each kind has some of it, and with ``full`` also its texts. problem: a
    code; why: what was wrong. strange: what its pickle names that PyTorch never does. The rest is
    told where it is read, in the module of the kind, or in ``named``. What is an object here nobody
    has checked when it comes from a reader: whoever takes it looks at it.
    """

    problem: str | None
    why: str | None
    strange: list[str]
    globals: list[str]
    name: str | None
    torch: str | None
    device: str | None
    compile_s: float | None
    made_in: MadeIn | None
    code_key: str | None
    code_keys: list[str]
    code_names: list[str]
    fx_keys: list[str]
    triton_keys: list[str]
    own_key: str | None
    kernels: list[tuple[str, str]]
    group: str | None
    prints: list[str]
    widths: str | None
    libs: str | None
    opaque: bool | None
    direction: str | None
    digest: str | None
    role: str | None
    instructions: str | None
    requires: list[str] | None
    triton: str | None
    warp: int | None
    python: str | None
    gpu: str | None
    # Graphs.
    function: object
    ops: object
    inputs: object
    guards: object
    graph: object
    backward_graph: object
    source: object
    factors: object
    # Code and kernels.
    hashes: object
    sources: object
    metadata: object
    helper: object
    missing: object
    op: object
    library: object
    # Precompiled functions, profiles, autotune results, values of generic caches.
    variants: object
    graphs: object
    backend: object
    format: object
    functions: object
    modules: object
    config: object
    versions: object
    choices: object
    prefix: object
    version: object
    # What pickles name.
    pickles: object
    more: object
