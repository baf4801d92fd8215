"""The index is a shortcut: never wrong, and never in the way."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.pace import LONG
from tests.sampling import sampled
from torchkeeper.artifacts.entry import Entry
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.describe import describe
from torchkeeper.stores.folders import index as indexing
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.folders.index import Index
from torchkeeper.stores.items import File, Item
from torchkeeper.stores.reader import Budget, Reader, Reading


class CountingReader(Reader):
    """A real reader that counts how often it is asked, and of how many entries."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = self.times = 0

    def facts(
        self,
        readings: list[Reading],
        report: Report,
        full: bool = False,
        budget: Budget | None = None,
    ) -> list[Any]:
        self.asked += len(readings)
        self.times += bool(readings)
        return super().facts(readings, report, full, budget)


def listing(place: Path, file: Path) -> tuple[list[Entry], int]:
    """The entries, and how many had to be read."""
    folder = Folder(str(place))
    index = Index(folder.root, str(file))
    reader = CountingReader()
    with reader:
        batches = describe(folder.items(Report()), folder, reader, Report(), index=index)
        found = [one.entry for batch in batches for one in batch]
        index.finish()
        return found, reader.asked


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "private" / "index.sqlite"


def test_what_is_known_is_not_read_again(fixture_cache: Path, file: Path) -> None:
    first, asked = listing(fixture_cache, file)
    assert asked == 44
    again, asked = listing(fixture_cache, file)
    assert asked == 0
    assert again == first
    assert file.stat().st_mode & 0o777 == 0o600


def test_changes_are_noticed(fixture_cache: Path, file: Path) -> None:
    listing(fixture_cache, file)
    payload = next(p for p in (fixture_cache / "fxgraph").rglob("*") if p.is_file())
    data = payload.read_bytes()
    payload.write_bytes(data[:-1] + b"x")
    found, asked = listing(fixture_cache, file)
    assert asked == 1
    assert [e.path for e in found if e.problem] == [str(payload.relative_to(fixture_cache))]
    # Another file of the same size and time is another file.
    status = payload.stat()
    other = payload.with_name("other")
    other.write_bytes(data)
    os.utime(other, ns=(status.st_atime_ns, status.st_mtime_ns))
    other.rename(payload)
    found, asked = listing(fixture_cache, file)
    assert asked == 1
    assert not [e for e in found if e.problem]


def test_facts_that_are_alike_stay_with_their_entries(tmp_path: Path, file: Path) -> None:
    """More than are remembered at a time while they are read, some of them alike."""
    items = [Item("jit", f"{n}", f"{n}", [File(f"{n}", n, n, 0, (1, n))]) for n in range(12_000)]
    names = {item.key: f"name {n if n % 3 else n % 1000}" for n, item in enumerate(items)}
    index = Index(str(tmp_path), str(file))
    for item in items:
        entry = Entry(item.kind, item.key, names[item.key], 1, 1)
        index.add(item, entry, None, {"name": names[item.key]})
    index.finish()
    again = Index(str(tmp_path), str(file))
    found = {item.key: known.facts["name"] for item in items if (known := again.get(item))}
    assert found == names
    again.close()


def test_joins_are_made_anew(fixture_cache: Path, file: Path) -> None:
    listing(fixture_cache, file)
    shutil.rmtree(fixture_cache / "fxgraph")
    found, asked = listing(fixture_cache, file)
    assert asked == 0
    assert {e.torch for e in found if e.kind == "aotautograd"} == {None}


def test_the_vanished_are_forgotten(fixture_cache: Path, file: Path) -> None:
    listing(fixture_cache, file)
    shutil.rmtree(fixture_cache / "aotautograd")
    found, _ = listing(fixture_cache, file)
    assert not [e for e in found if e.kind == "aotautograd"]
    with sqlite3.connect(file) as db:
        kinds = {kind for (kind,) in db.execute("SELECT DISTINCT kind FROM entries")}
    db.close()
    assert "aotautograd" not in kinds
    assert "fxgraph" in kinds


@pytest.mark.parametrize("content", [b"", b"not a database at all" * 100, None])
def test_a_damaged_index_is_made_anew(
    fixture_cache: Path, file: Path, content: bytes | None
) -> None:
    first, _ = listing(fixture_cache, file)
    data = file.read_bytes()
    file.write_bytes(data[:5000] + b"\xff" * 3000 + data[8000:] if content is None else content)
    found, _ = listing(fixture_cache, file)
    assert found == first
    assert listing(fixture_cache, file) == (first, 0)


def test_an_index_of_another_version_is_made_anew(
    fixture_cache: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, asked = listing(fixture_cache, file)
    monkeypatch.setattr(indexing, "VERSION", indexing.VERSION + 1)
    assert listing(fixture_cache, file) == (first, asked)
    assert listing(fixture_cache, file) == (first, 0)


def test_a_locked_index_is_not_waited_for_long(
    fixture_cache: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "_PATIENCE", 0.2)
    first, _ = listing(fixture_cache, file)
    payload = next(p for p in (fixture_cache / "aotautograd").rglob("*") if p.is_file())
    payload.touch()
    holder = sqlite3.connect(file, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    found, asked = listing(fixture_cache, file)
    assert len(found) == len(first)
    assert asked <= 44
    holder.close()


def test_an_index_that_cannot_be_written(fixture_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for file in (tmp_path / "file" / "index.sqlite", Path("/proc/index.sqlite")):
        assert listing(fixture_cache, file)[1] == 44


def test_names_that_are_not_text(tmp_path: Path, file: Path) -> None:
    place = tmp_path / "place"
    folder = place / "dynamo"
    folder.mkdir(parents=True)
    name = os.fsdecode(b"code_state_\xff_0_.pkl")
    (folder / name).write_bytes(b"\x80\x04}.")
    first = listing(place, file)
    assert first[1] == 1
    assert listing(place, file) == (first[0], 0)


@pytest.mark.slow
def test_two_processes_share_one_index(fixture_cache: Path, file: Path, tmp_path: Path) -> None:
    script = """if True:
        import sys
        from pathlib import Path
        sys.path.insert(0, sys.argv[1])
        from tests.stores.folders.test_index import listing
        for _ in range(6):
            for path in Path(sys.argv[2]).glob("fxgraph/*/*/*"):
                path.touch()
            print(len(listing(Path(sys.argv[2]), Path(sys.argv[3]))[0]))
    """
    root = str(Path(__file__).parents[3])
    places = [fixture_cache, Path(shutil.copytree(fixture_cache, tmp_path / "second"))]
    both = [
        subprocess.Popen(
            [sys.executable, "-c", script, root, str(place), str(file)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for place in places
    ]
    outputs = [process.communicate(timeout=LONG)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert {line for output in outputs for line in output.split()} == {"70"}
    for place in places:
        assert listing(place, file)[1] <= 7
        assert listing(place, file)[1] == 0


def test_a_cancelled_listing_forgets_nothing(fixture_cache: Path, file: Path) -> None:
    listing(fixture_cache, file)
    folder = Folder(str(fixture_cache))
    index = Index(folder.root, str(file))
    with Reader() as reader:
        next(describe(folder.items(Report()), folder, reader, Report(), index=index))
    index.close()
    assert listing(fixture_cache, file)[1] == 0


def _directory(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _loop(file: Path) -> None:
    file.unlink()
    file.symlink_to(file)


def _random(file: Path) -> None:
    size = file.stat().st_size
    file.write_bytes(random.Random(1).randbytes(size))


def _random_rows(file: Path) -> None:
    data = bytearray(file.read_bytes())
    chance = random.Random(2)
    for at in range(4096, len(data), 97):
        data[at] = chance.randrange(256)
    file.write_bytes(data)


def _truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:9000])


def _run(file: Path, script: str) -> None:
    with contextlib.closing(sqlite3.connect(file)) as db:
        db.executescript(script)


def _other_columns(file: Path) -> None:
    _run(file, "DROP TABLE entries; CREATE TABLE entries (place TEXT, what TEXT)")


def _no_table(file: Path) -> None:
    _run(file, "DROP TABLE entries")


def _other_values(file: Path) -> None:
    _run(file, "UPDATE entries SET facts = '[1]'")


def _binary_values(file: Path) -> None:
    _run(file, "UPDATE entries SET facts = x'00ff'")


@sampled(
    ("harm", "mended"),
    [
        (_directory, False),
        (_fifo, True),
        (_loop, True),
        (_random, True),
        (_random_rows, True),
        (_truncated, True),
        (_other_columns, True),
        (_no_table, True),
        (_other_values, True),
        (_binary_values, True),
    ],
    most=4,
)
def test_whatever_lies_in_its_place_does_no_harm(
    fixture_cache: Path, file: Path, harm: Callable[[Path], None], mended: bool
) -> None:
    first, _ = listing(fixture_cache, file)
    for suffix in ("-wal", "-shm"):
        Path(f"{file}{suffix}").unlink(missing_ok=True)
    harm(file)
    assert listing(fixture_cache, file)[0] == first
    found, asked = listing(fixture_cache, file)
    assert found == first
    assert asked == (0 if mended else 44)


def test_a_lock_that_is_held_for_ever_is_not_waited_for(fixture_cache: Path, file: Path) -> None:
    first, _ = listing(fixture_cache, file)
    script = (
        "import sqlite3, sys; db = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "db.execute('PRAGMA locking_mode = EXCLUSIVE'); db.execute('BEGIN EXCLUSIVE');"
        "db.execute('DELETE FROM places'); print('held', flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout
    assert holder.stdout.readline() == b"held\n"
    found, asked = listing(fixture_cache, file)
    assert holder.poll() is None, "it holds the lock until its input ends"
    holder.communicate()
    assert found == first
    assert asked == 44
    assert listing(fixture_cache, file) == (first, 0)


def test_a_full_disk(fixture_cache: Path, file: Path, tmp_path: Path) -> None:
    """The limit on the size of files stands for it: SQLite hears of both in the same way."""
    script = """if True:
        import resource, signal, sys
        from pathlib import Path
        sys.path.insert(0, sys.argv[1])
        from tests.stores.folders.test_index import listing
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        for limit in (0, 5000, 20_000):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            print(len(listing(Path(sys.argv[2]), Path(sys.argv[3]))[0]))
    """
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", script, root, str(fixture_cache), str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (["70", "70", "70"], "")
    first, _ = listing(fixture_cache, file)
    assert listing(fixture_cache, file) == (first, 0)
