"""Entries of a store in memory, described as those of any other: read by a reader, put in rows."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any, BinaryIO

from tests.hostile.tripwires import MOST_MEMORY
from torchkeeper.artifacts.entry import Entry, entry_from_json
from torchkeeper.artifacts.report import Report
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.engine import protocol
from torchkeeper.engine.detail import Full, send_detail, send_factors
from torchkeeper.stores.describe import describe
from torchkeeper.stores.folders.index import Index
from torchkeeper.stores.items import File, group, taken_apart
from torchkeeper.stores.reader import Reader

#: Where a payload of each kind lies.
KEY = "a" * 51
HEX = "0123456789abcdef" * 4
PATHS = {
    "fxgraph": f"fxgraph/aa/f{KEY}/x",
    "aotautograd": f"aotautograd/a{KEY}/x",
    "pgo": "dynamo/code_state_x_0_.pkl",
    "precompile": f"dynamo/{HEX}/entry",
    "model": "rank_0_0/model",
    "artifact": "artifact_x",
    "ondisk": f"cache/inductor_on_disk_cache/{HEX[:32]}",
    "memoized": "memoizer_cache.json",
    "autotune": f"aa/{HEX}.best_config",
    "choices": f"cache/{HEX}",
    "triton": f"triton/0/{'A' * 52}/k.json",
    "group": f"triton/0/{'A' * 52}/__grp__k.json",
    "eager": "aoti_eager/aten/cpu/add.json",
    "module": f"aa/c{KEY}.py",
    "source": f"aa/c{KEY}.cpp",
    "object": f"aa/c{KEY}.so",
    "vllm": "cache_key_factors.json",
}


class Watched(Reader):
    """A reader of which more is known: that it stays small, and has nothing but its pipes."""

    def __enter__(self) -> Watched:
        return self

    def look(self) -> None:
        """Asserts it of a reader that runs."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        proc = Path(f"/proc/{process.pid}")
        lines = (proc / "status").read_text().splitlines()
        [peak] = [line for line in lines if line.startswith("VmHWM:")]
        assert int(peak.split()[1]) << 10 < MOST_MEMORY
        opened = {os.readlink(fd) for fd in (proc / "fd").iterdir()}
        assert {one.partition(":")[0] for one in opened} <= {"pipe", "/dev/null"}, opened
        assert not (proc / "task" / str(process.pid) / "children").read_text()


class Memory:
    """A Source of files in memory."""

    def __init__(self, contents: dict[str, bytes]) -> None:
        self.contents = contents
        self.files = [File(path, len(data), 1) for path, data in contents.items()]

    def open(self, file: File) -> BinaryIO:
        return io.BytesIO(self.contents[file.path])


class Told(Report):
    """Whatever is told must fit the wire."""

    def rows(self, rows: Any) -> None:
        protocol.encode({"rows": rows})

    def finding(self, **what: Any) -> None:
        protocol.encode(what)


def listed(contents: dict[str, bytes], reader: Reader, full: bool = False) -> list[Entry]:
    """The entries of some files, as a listing has them, or an inspector; every one a verdict."""
    source = Memory(contents)

    def beside(folder: str) -> list[File]:
        return [file for file in source.files if file.path.rpartition("/")[0] == folder]

    items = taken_apart(group(source.files), beside, source)
    found: list[Entry] = []
    index = Index("/hostile", None)
    for batch in describe(items, source, reader, Report(), full=full, index=index):
        for one in batch:
            row = protocol.decode(protocol.encode(one.entry.to_json()))
            assert entry_from_json(row) == one.entry or one.entry.compile_s != one.entry.compile_s
            assert one.entry.problem is None or one.entry.problem in CATALOGUE, one.entry.problem
            if full:
                whole = Full(one.entry, one.item, one.facts)
                send_detail(whole, Told())
                send_factors(whole, Told())
            found.append(one.entry)
    index.close()
    assert found, "an entry is not told"
    return found
