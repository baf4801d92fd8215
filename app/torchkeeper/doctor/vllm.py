"""Checks of what vLLM keeps: variables in its keys that are one pod's own, secrets that stand
there, and keys that differ in nothing that could change code.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from torchkeeper.artifacts import layout
from torchkeeper.artifacts.vllm import HASHES
from torchkeeper.doctor.check import FolderLook, MachineLook
from torchkeeper.settings import vllm as variables
from torchkeeper.settings.finding import Finding
from torchkeeper.stores.vllm import Key, keys

#: Variables that are named.
_NAMED = 6


def _keys(look: FolderLook) -> list[Key]:
    if look.store is None:
        return []
    return list(keys(look.items, look.store, look.root, look.report))


def kept(look: FolderLook) -> Iterator[Finding]:
    """What of the variables in its keys is one pod's own, what is a secret, and which lists name
    another folder.
    """
    own, secrets, where = dict[str, None](), dict[str, None](), ""
    for key in _keys(look):
        for name, text in key.factors.env.items():
            if name in variables.own() and text not in (variables.value(name, {}), "null"):
                own[name] = None
            if variables.is_secret(name) and text not in ("null", '""'):
                secrets[name] = None
                where = where or key.path
        home = os.path.join(look.root, key.path)
        if gone := sorted(one for one in key.listed if os.path.realpath(one) != home.rstrip("/")):
            about = {"path": f"{key.path}/{layout.VLLM_INDEX}".lstrip("/"), "other": gone[0]}
            yield Finding("vllm-moved", "advice", (), look.place, about)
    if own:
        about = {"names": _names(own)}
        yield Finding("vllm-own-variables", "warning", tuple(own), look.place, about)
    if secrets:
        about = {"names": _names(secrets), "path": f"{where}/cache_key_factors.json".lstrip("/")}
        yield Finding("vllm-secret", "warning", tuple(secrets), look.place, about)


def alike(look: MachineLook) -> Iterator[Finding]:
    """Keys of one place or several that differ in variables alone that cannot change code."""
    same: dict[object, dict[str, tuple[Key, str]]] = {}
    for one in [*look.folders, *(look.others or ())]:
        for key in _keys(one):
            env = key.factors.env.items()
            if key.folder and len(key.factors.hashes) == len(HASHES):
                of = frozenset(pair for pair in env if not variables.is_idle(pair[0]))
                what = of, key.part, *key.factors.hashes.values()
                same.setdefault(what, {}).setdefault(key.folder, (key, one.place))
    for found in same.values():
        if len(found) < 2:
            continue
        (first, place), *others = found.values()
        names: dict[str, None] = {}
        for other, _ in others:
            pairs = first.factors.env.items() ^ other.factors.env.items()
            names.update(dict.fromkeys(sorted({name for name, _ in pairs})))
        if names:
            about = {"names": _names(names), "count": len(found), "other": others[0][1],
                     "size_bytes": sum(key.size for key, _ in others)}  # fmt: skip
            yield Finding("vllm-compiled-again", "warning", tuple(names), place, about)


def _names(names: dict[str, None]) -> str:
    some = list(names)
    return ", ".join(some[:_NAMED]) + (", …" if len(some) > _NAMED else "")
