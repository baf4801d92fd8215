"""Facts of any kind: the one function a reader process serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torchkeeper.artifacts import (
    aoti_eager,
    autotune,
    code,
    dynamo,
    fxgraph,
    inert,
    named,
    ondisk,
    triton,
)
from torchkeeper.artifacts.jits import known as jits
from torchkeeper.artifacts.layout import ARTIFACT, MEMOIZED, PRECOMPILED, VLLM_MODEL

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Facts

#: Kinds whose files are pickles, and what comes after a kind where only what they name is asked.
PICKLES = frozenset({"fxgraph", "aotautograd", "pgo", "precompile", "ondisk"})
NAMED = "/named"
#: Bytes of an entry from which on running out of memory is no sign of damage.
LARGE = 32 << 20

#: What reads the kinds that have one file, of which nothing but the bytes tells.
_READERS = {"fxgraph": fxgraph.facts, "aotautograd": fxgraph.aot_facts, "pgo": dynamo.profile}


def read(kind: str, names: list[str], files: dict[str, bytes], full: bool) -> Facts:
    """The facts of one entry. names: its files; files: the contents of those that are to be read,
    by name. ``strange``, where there is any: what the pickle names that PyTorch never does
    (artifacts.named); of a kind and NAMED only what ``named.facts`` tells. ``problem`` in the
    answer is a code for ``client.words.problems``; ``why`` says what was wrong. Never raises for
    bad content, but may end the process.
    """
    try:
        if kind.endswith(NAMED):
            return named.facts(kind.removesuffix(NAMED), files)
        inert.last_named()  # of another entry
        found = _read(kind, names, files, full)
        if kind in PICKLES and (some := named.strange(kind, inert.last_named())):
            found["strange"] = some
        return found
    except MemoryError:
        # A small payload that asks for more memory than there is lies about its sizes.
        large = sum(map(len, files.values())) > LARGE
        return {"problem": "payload-too-large" if large else "payload-unreadable"}
    except RecursionError:
        return {"problem": "payload-unreadable", "why": "nested too deeply"}
    except Exception as e:  # noqa: BLE001 - hostile bytes may provoke any error
        return {"problem": "payload-unreadable", "why": f"{type(e).__name__}: {e}"[:200]}


def _read(kind: str, names: list[str], files: dict[str, bytes], full: bool) -> Facts:
    if kind == "triton":
        return triton.facts(files, names, full)
    if kind == "code":
        return code.facts(files, full)
    if kind == "aoti_eager":
        return aoti_eager.facts(files, names)
    if kind == "jit":
        return jits.facts(names, files)
    name = PRECOMPILED if PRECOMPILED in files else next(iter(files))
    data = files[name]
    if not data:
        return {"problem": "payload-empty"}
    if reader := _READERS.get(kind):
        return reader(data, full)
    if kind == "precompile":
        if name == VLLM_MODEL:
            return dynamo.model(data, full)
        artifact = name.startswith(ARTIFACT)
        return dynamo.artifact(name, data) if artifact else dynamo.precompiled(data, full)
    if kind == "autotune":
        return autotune.facts(data, full, names[0])
    if kind == "ondisk":
        return ondisk.memoized(data) if names[0] == MEMOIZED else ondisk.facts(data)
    raise ValueError(f"nothing to read in {kind}")
