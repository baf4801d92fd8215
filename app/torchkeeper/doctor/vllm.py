"""Checks of what vLLM keeps: variables in its keys that are one pod's own, secrets that stand
there, and keys that differ in nothing that could change code.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace

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
    yield from _of(_keys(look), look.place, look.root)


def elsewhere(look: MachineLook) -> Iterator[Finding]:
    """The same of the caches that nobody has named, by the folder of all keys that they lie in."""
    found: dict[str, list[Key]] = {}
    for one in look.others or ():
        for key in _keys(one):
            home = _home(key, one)
            if above := _above(key, home):
                path = home[len(above) :].lstrip("/")
                found.setdefault(above, []).append(replace(key, path=path))
    for above, some in found.items():
        yield from _of(some, above, above)


def _home(key: Key, look: FolderLook) -> str:
    return os.path.join(look.root, key.path).rstrip("/")


def _above(key: Key, home: str) -> str:
    """The folder that has those of all keys; "" where no path tells."""
    return home.rpartition(f"/{key.folder}/{key.rank}")[0] if key.folder else ""


def _of(some: Iterable[Key], place: str, root: str) -> Iterator[Finding]:
    own, secrets, where = dict[str, None](), dict[str, None](), ""
    moved = list[tuple[str, str]]()
    for key in some:
        for name, text in key.factors.env.items():
            if name in variables.own() and text not in (variables.value(name, {}), "null"):
                own[name] = None
            if variables.is_secret(name) and text not in ("null", '""'):
                secrets[name] = None
                where = where or key.path
        home = os.path.join(root, key.path).rstrip("/")
        gone = sorted(one for one in key.listed if os.path.realpath(one) != home)
        path = f"{key.path}/{layout.VLLM_INDEX}".lstrip("/")
        moved += [(path, one) for one in gone[:1]]
    if moved:
        about = {"path": moved[0][0], "other": moved[0][1], "count": len(moved)}
        yield Finding("vllm-moved", "advice", (), place, about)
    if own:
        about = {"names": _names(own)}
        yield Finding("vllm-own-variables", "warning", tuple(own), place, about)
    if secrets:
        about = {"names": _names(secrets), "path": f"{where}/cache_key_factors.json".lstrip("/")}
        yield Finding("vllm-secret", "warning", tuple(secrets), place, about)


def alike(look: MachineLook) -> Iterator[Finding]:
    """Keys of one place or several that differ in variables alone that cannot change code."""
    same: dict[object, dict[str, list[tuple[Key, FolderLook]]]] = {}
    for one in [*look.folders, *(look.others or ())]:
        for key in _keys(one):
            env = key.factors.env.items()
            if key.folder and len(key.factors.hashes) == len(HASHES):
                of = frozenset(pair for pair in env if not variables.is_idle(pair[0]))
                what = of, *key.factors.hashes.values()
                same.setdefault(what, {}).setdefault(key.folder, []).append((key, one))
    for found in same.values():
        if len(found) < 2:
            continue
        (first, look_of), *_ = next(iter(found.values()))
        names, folders, sizes = dict[str, None](), dict[str, None](), list[int]()
        for some in found.values():
            pairs = first.factors.env.items() ^ some[0][0].factors.env.items()
            names.update(dict.fromkeys(sorted({name for name, _ in pairs})))
            # A place may lie in another.
            homes = {_home(key, one): key for key, one in some}
            sizes.append(sum(key.size for key in homes.values()))
            folders.update(dict.fromkeys(_above(key, home) for home, key in homes.items()))
        if names:
            keys_of = _names(dict.fromkeys(found))
            about = {"names": _names(names), "count": len(found), "keys": keys_of,
                     "folders": _names(folders), "size_bytes": sum(sizes[1:])}  # fmt: skip
            place = look_of.place
            yield Finding("vllm-compiled-again", "warning", tuple(names), place, about)


def _names(names: dict[str, None]) -> str:
    some = list(names)
    return ", ".join(some[:_NAMED]) + (", …" if len(some) > _NAMED else "")
