"""Where a server of SGLang looks for what torch.compile has made: the name of the folder is a hash
over what PyTorch calls the system and over torch's own sources, and over nothing else (compute_hash
of sglang/srt/compilation/compiler_interface.py, 0.5.23). What is in that, PyTorch finds by its own
keys; the list that lies beside it nobody reads again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from torchkeeper.artifacts import beside
from torchkeeper.artifacts.patterns import regex

#: A file in a cache of a part of a model; SGLang knows no other rank than the first.
_INSIDE = regex(
    rf"(?:.*/)?([0-9a-f]{{10}})/{beside.RANK}/[\w.-]{{1,100}}/(?:inductor_cache|triton_cache)/.*"
)


def folder(env: Mapping[str, object]) -> str:
    """What SGLang calls the folder with such an interpreter, as a probe tells it; "" where nobody
    knows.
    """
    key, system = env.get("torch_key"), env.get("system")
    if not isinstance(key, str) or not isinstance(system, Mapping):
        return ""
    try:
        factors = [dict(system), bytes.fromhex(key)]
    except ValueError:  # another machine has told what is no hash
        return ""
    return hashlib.md5(str(factors).encode(), usedforsecurity=False).hexdigest()[:10]


def folders(paths: Iterable[str]) -> set[str]:
    """The names of SGLang's folders in which some files lie, by their full paths."""
    return {match[1] for path in paths if (match := _INSIDE.fullmatch(path))}
