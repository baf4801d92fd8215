"""What the search for secrets costs: ``python -m tests.bench.screening [times]``.

``export`` and ``copy`` of 335 MB in large files, and of 5,000 small entries, each as it is and with
the search switched off, in turn, so that both see the same machine; a figure is the median of its
runs. The bytes are real ones: graphs, sources and objects that torch 2.9.1 made (tests/data), its
kernels if there is a Triton, and the shared objects of Qt.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import os
import random
import shutil
import sys
import tarfile
import tempfile
from base64 import b32encode
from collections.abc import Iterator
from pathlib import Path

import PySide6

from tests.bench import listing, measure
from tests.bench.measure import Figure
from torchkeeper.artifacts import layout

LARGE, EACH = 335_000_000, 8 << 20
SMALL = 5_000
#: How many times as long as without the search it may take.
OF_LARGE, OF_SMALL = 2.0, 1.5
#: Stands in the graphs, and would be an end of it.
_PLANTED = b"hunter2-not-a-real-password"
_KERNELS = 8

#: The command line, with another program for its engines.
_CLI = """import runpy, sys
sys.executable = sys.argv.pop(1)
runpy.run_module("torchkeeper", run_name="__main__")
"""
#: An engine, started as client.engines.process starts it, with nothing before its work, or with no
#: search.
_ENGINE = """#!/bin/sh
shift 4
exec {python} -I -S -c 'import sys; sys.path.insert(0, sys.argv.pop(1))
{before}
from torchkeeper.engine.serve import main; main()' "$@"
"""
_WITHOUT = """from torchkeeper.stores.screening import Screen
Screen._look = lambda self, items, source: []"""


def made() -> dict[str, bytes]:
    """The files that torch 2.9.1 made, by their paths in its cache, with no secret in them."""
    found = {}
    with tarfile.open(listing.DATA / "torch-2.9.1" / "cache.tar.gz") as archive:
        for member in archive:
            if file := archive.extractfile(member):
                path = member.name.partition("/")[2]
                found[path] = file.read().replace(_PLANTED, b"x" * len(_PLANTED))
    return found


def large(place: Path, size: int = LARGE, each: int = EACH) -> None:
    """A cache of so many bytes in large files: a third each graphs, sources and objects."""
    files = made()
    graphs = _endless([d for p, d in sorted(files.items()) if p.startswith("fxgraph/")])
    sources = _endless([d for p, d in sorted(files.items()) if p.endswith((".py", ".cpp"))])
    objects = itertools.cycle(_objects(each))
    head = next(d for p, d in sorted(files.items()) if p.endswith(".so"))
    chance = random.Random(1)
    for number in range(size // each):
        if number % 3 == 0:
            _graph(place, _key(chance), _piece(graphs, each))
            continue
        if number % 3 == 1:
            name, data = f"{_stem(chance)}.py", _piece(sources, each)
        else:
            # Its section header table ends where it did: what comes after is as of a library.
            name, data = f"{_stem(chance)}.so", head + next(objects)
        path = place / name[1:3] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def small(place: Path, count: int = SMALL, python: str = sys.executable) -> None:
    """A cache of so many entries as they are: one in four a kernel, if there is a Triton."""
    files = made()
    chance = random.Random(2)
    graphs = [d for p, d in sorted(files.items()) if p.startswith("fxgraph/")]
    stems: dict[str, list[str]] = {}
    for path in files:
        if path.count("/") == 1 and path.endswith((".py", ".cpp", ".so")):
            stems.setdefault(path.partition("/")[2].partition(".")[0], []).append(path)
    groups = list(stems.values())
    listing.kernels(place / "triton" / "0", count // 4, python)
    shutil.rmtree(place / "triton" / "made")
    for number in range(count - count // 4):
        if number % 4 == 0:
            # As of another graph: what comes behind a pickle's end is nobody's.
            _graph(place, _key(chance), graphs[number // 4 % len(graphs)] + b"%d" % number)
            continue
        stem = _stem(chance)
        for path in groups[number % len(groups)]:
            file = place / stem[1:3] / f"{stem}.{path.partition('.')[2]}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(files[path])


def _graph(place: Path, key: str, data: bytes) -> None:
    path = place / layout.payload_path("fxgraph", key, hashlib.sha256(data).hexdigest())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _endless(parts: list[bytes]) -> Iterator[bytes]:
    return itertools.cycle(parts)


def _piece(parts: Iterator[bytes], size: int) -> bytes:
    whole = io.BytesIO()
    while whole.tell() < size:
        whole.write(next(parts))
    return whole.getvalue()


def _objects(each: int) -> list[bytes]:
    """Pieces of shared objects of Qt."""
    whole = b""
    for path in sorted(Path(PySide6.__file__).parent.glob("Qt/lib/libQt6[CGW]*.so*")):
        whole += path.read_bytes()
    return [whole[at : at + each] for at in range(0, len(whole) - each, each)]


def _stem(chance: random.Random) -> str:
    return "c" + b32encode(chance.randbytes(32)).decode().rstrip("=").lower()[:51]


def _key(chance: random.Random) -> str:
    return "f" + _stem(chance)[1:]


def figures(scratch: Path, times: int = 5) -> list[Figure]:
    """Measure."""
    env = measure.environment(scratch)
    commands = []
    for name, before in (("whole", ""), ("bare", _WITHOUT)):
        engine = scratch / name
        engine.write_text(_ENGINE.format(python=sys.executable, before=before))
        engine.chmod(0o700)
        commands.append(measure.python(_CLI, str(engine)))
    large(scratch / "large")
    small(scratch / "small")
    os.sync()
    found = []
    for name, place, limit in (
        (f"{LARGE // 10**6} MB in large files", scratch / "large", OF_LARGE),
        (f"{SMALL:,} small entries", scratch / "small", OF_SMALL),
    ):
        for verb, more in (("export", ("-o",)), ("copy", ("--replace",))):
            arguments = [verb, str(place), *more, str(scratch / "x.torchcache")]
            whole, bare = ([*command, *arguments] for command in commands)
            assert "private" not in measure.run(bare, env).out
            ours, reference = measure.medians(whole, bare, env, times)
            what = f"{verb} of {name}"
            found.append(Figure(what, ours, reference, limit, "no search"))
    return found


def main() -> int:
    """Measure and print; 1 if a figure is over its aim."""
    times = int(sys.argv[1]) if sys.argv[1:] else 5
    with tempfile.TemporaryDirectory(prefix="torchkeeper-bench-") as scratch:
        return 0 if measure.show(figures(Path(scratch), times)) else 1


if __name__ == "__main__":
    sys.exit(main())
