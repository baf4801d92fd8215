"""The reader: a process that turns hostile bytes into facts, and can do nothing else.

It opens no file: it gets bytes on its standard input and writes facts to its standard output. It
never imports torch, runs under RLIMIT_AS, and may be killed at any time by ``stores.reader``.

A request is one JSON line ``[{"kind", "names", "sizes": {name: bytes}, "full"}, …]`` followed by
the bytes of all files in order; the answer is one JSON line of facts for each entry, as soon as
it is known.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from torchkeeper.artifacts import facts

#: Address space of a reader, bytes.
MEMORY = 512 << 20
#: An answer longer than this is cut to its problem; facts of an entry are a few kilobytes, with
#: all texts at most some megabytes.
MAX_ANSWER = 8 << 20
#: Characters of a text that are kept where an answer would be longer than that.
LONG = 250_000


def main() -> None:
    _limit()
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    while line := stdin.readline():
        # All is read before anything is answered: a full pipe would block both sides.
        batch: list[tuple[Any, dict[str, bytes]]] = []
        for item in json.loads(line):
            batch.append((item, {n: stdin.read(size) for n, size in item["sizes"].items()}))
        # Taken out of it: one that is large is not to be in memory with the next.
        while batch:
            stdout.write(_answer(*batch.pop(0)))
            stdout.flush()


def _answer(item: Any, files: dict[str, bytes]) -> bytes:
    try:
        found = facts.read(item["kind"], item["names"], files, item["full"])
        answer = json.dumps(found).encode() + b"\n"
        if len(answer) > MAX_ANSWER:
            answer = json.dumps(_cut(found)).encode() + b"\n"
    except (TypeError, ValueError, RecursionError, MemoryError):
        answer = b'{"problem":"payload-unreadable"}\n'
    return answer if len(answer) <= MAX_ANSWER else b'{"problem":"payload-too-large"}\n'


def _cut(value: Any) -> Any:
    """Facts with their longest texts cut: a graph of 20 MB must not make its entry broken."""
    if isinstance(value, str) and len(value) > LONG:
        return f"{value[:LONG]}\n… {len(value) - LONG:,} characters more"
    if isinstance(value, dict):
        return {name: _cut(inner) for name, inner in value.items()}
    return value


def _limit() -> None:
    try:
        import resource
    except ImportError:  # pragma: no cover - Windows has no such limit
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # It has its pipes; nothing else may be opened, by whatever a hostile entry provokes.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


if __name__ == "__main__":
    main()
