"""Triton's kernels in a Redis: a key for each of their files, and no list of them.

Their paths are the redis keys of their group files, which say what other files there are, so that
a kernel can be looked at without a scan. Where there is no group file, it is that of the JSON
file, or of whatever there is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from torchkeeper.artifacts import remote, triton
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.describe import MAX_SOURCE, Described, unread
from torchkeeper.stores.items import File, Item
from torchkeeper.stores.reader import Reader, Reading
from torchkeeper.stores.redis.connecting import Connection, Endless, can_be_key, encoded, pack

#: Files that one kernel may have; Triton's have ten.
_MAX_FILES = 200


class Server(Protocol):
    """What is asked of the server that kernels are on (redis.database)."""

    place: str
    connection: Connection
    triton: remote.TritonKeys

    def page_of(self, reply: object) -> tuple[bytes, list[bytes]]: ...


def made(keys: remote.TritonKeys, key: str, files: list[File]) -> Item:
    """The item of a kernel, given all its files."""
    files.sort()
    home = files[0]
    if len(files) > 1:
        home = min(files, key=lambda file: _rank(_name(keys, file)))
    return Item("triton", key, home.path, files)


def _rank(name: str) -> tuple[int, str]:
    return (0 if _is_group(name) else 1 if name.endswith(".json") else 2), name


def _name(keys: remote.TritonKeys, file: File) -> str:
    found = keys.locate(file.path)
    return found.file or "" if found else ""


def named(keys: remote.TritonKeys, item: Item) -> Described:
    """What the names of a kernel's files tell."""
    names = [_name(keys, file) for file in item.files]
    one = unread(item)
    problem = one.entry.problem or ("triton-incomplete" if triton.unfinished(names) else None)
    entry = one.entry._replace(name=triton.name_of(names), problem=problem, orphan=None)
    return replace(one, entry=entry)


def is_known(store: Server, path: str) -> bool:
    """Whether what is at a path can be found without a scan: a payload, or a kernel's group."""
    at = store.triton.locate(path)
    return at is None or _is_group(at.file)


def items_at(store: Server, paths: Sequence[str], report: Report) -> list[Item]:
    """The kernels that some paths are of; those without a group file take a scan each."""
    found = [(path, at) for path in paths if (at := store.triton.locate(path))]
    items = _grouped(store, [(path, at.key) for path, at in found if _is_group(at.file)])
    known = {item.path for item in items}
    for path, at in found:
        if path not in known:
            item = _scanned(store, at.key, report)
            if item is not None and item.path == path:
                items.append(item)
    return items


def _is_group(name: str | None) -> bool:
    return (name or "").startswith(triton.GROUP_PREFIX)


def _grouped(store: Server, groups: list[tuple[str, str]]) -> list[Item]:
    """Kernels by what their group files name: of those only that are there and can be read."""
    replies = store.connection.many([
        pack("GETRANGE", encoded(path), 0, MAX_SOURCE) for path, _ in groups
    ])  # fmt: skip
    asked: list[tuple[str, list[str]]] = []
    for (path, key), reply in zip(groups, replies, strict=True):
        names = remote.group_names(reply) if isinstance(reply, bytes) else []
        paths = [store.triton.key(key, name) for name in names[:_MAX_FILES]]
        others = dict.fromkeys(x for x in paths if x and can_be_key(x) and store.triton.locate(x))
        if names:
            asked.append((key, [path, *(x for x in others if x != path)]))
    commands = [pack("STRLEN", encoded(path)) for _, some in asked for path in some]
    lengths = iter(store.connection.many(commands))
    found = [(key, _files(some, lengths)) for key, some in asked]
    return [made(store.triton, key, files) for key, files in found if files]


def _files(paths: list[str], lengths: Iterable[object]) -> list[File]:
    """Files by their paths and what STRLEN answers; what is not there is left out."""
    told = [(path, length) for path, length in zip(paths, lengths, strict=False) if length != 0]
    return [
        File(path, length) if isinstance(length, int) else File(path, 0, regular=False)
        for path, length in told
    ]


def _scanned(store: Server, key: str, report: Report) -> Item | None:
    """A kernel by a scan for its key. Raises Problem("server-endless") for too many files."""
    pattern = store.triton.key("\0", "\1") or ""
    escaped = re.sub(r"([*?\[\]\\])", r"\\\1", pattern).replace("\0", key).replace("\1", "*")
    cursor, mine = b"0", set[str]()
    about = store.connection.ask("DBSIZE")
    endless = Endless(store.place, about if isinstance(about, int) else 0)
    while True:
        report.check()
        reply = store.connection.ask("SCAN", cursor, "MATCH", escaped, "COUNT", 5000)
        cursor, some = store.page_of(reply)
        before = len(mine)
        paths = (one.decode("utf-8", "surrogateescape") for one in some)
        mine |= {x for x in paths if (at := store.triton.locate(x)) and at.key == key}
        endless.page(cursor, len(mine) - before)
        if len(mine) > _MAX_FILES:
            raise Problem("server-endless", server=store.place)
        if cursor == b"0":
            break
    lengths = store.connection.many([pack("STRLEN", encoded(path)) for path in mine])
    files = _files(list(mine), lengths)
    return made(store.triton, key, files) if files else None


def described(
    store: Server, items: Iterable[Item], reader: Reader, report: Report
) -> Iterator[list[Described]]:
    """Kernels with what their JSON says; no other file is fetched, so that no digest is known."""
    for item in items:
        report.check()
        files = [(file, _name(store.triton, file)) for file in item.files]
        small = [(f, name) for f, name in files if name.endswith(".json") and f.regular]
        commands = [pack("GETRANGE", encoded(f.path), 0, MAX_SOURCE) for f, _ in small]
        contents = {}
        for (_, name), reply in zip(small, store.connection.many(commands), strict=True):
            if isinstance(reply, bytes) and reply:
                contents[name] = remote.group_from_redis(reply) if _is_group(name) else reply
        one = named(store.triton, item)
        [facts] = reader.facts([Reading("triton", [name for _, name in files], contents)], report)
        called = facts.get("name") or one.entry.name
        problem = one.entry.problem or facts.get("problem")
        entry = one.entry._replace(name=called, device=facts.get("device"), problem=problem)
        yield [Described(entry, item, facts)]
