"""What a payload tells of itself, as types: the facts of an entry, which the modules of the kinds
read (``artifacts.facts``) and ``stores.reader`` checks.
"""

from __future__ import annotations

from typing import TypedDict

from torchkeeper.artifacts.builds import MadeIn

#: Facts that only join entries with each other.
JOINING = frozenset({"kernels", "digest", "fx_keys", "triton_keys", "code_key", "code_keys"}
                    | {"code_names", "role", "opaque", "group", "warp", "widths", "own_key"}
                    | {"libs", "prints"})  # fmt: skip


class Facts(TypedDict, total=False):
    """What an entry tells; each kind has some of it, and with ``full`` also its texts.

    problem: a code; why: what was wrong. strange: what its pickle names that PyTorch never does.
    The rest is told where it is read: ``fxgraph``, ``aotautograd``, ``code``, ``triton``,
    ``precompile``, ``autotune``, ``aoti_eager``, ``pgo``, ``ondisk``, ``named``. What is an object
    here nobody has checked when it comes from a reader: whoever takes it looks at it.
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
