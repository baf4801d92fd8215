"""A transfer that broke off goes on from where it was, and what broke off is nowhere seen."""

from __future__ import annotations

import base64
import errno
import os
import random
import shutil
import threading
import time
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.pace import LONG
from tests.ssh import breaking
from tests.ssh.conftest import Machine, ended
from torchkeeper.client.engines import far, ferry, line
from torchkeeper.client.temporary import Ended
from torchkeeper.client.words.problems import UserError, user_error
from torchkeeper.stores import parts


def kept(folder: Path) -> list[Path]:
    return list(folder.glob("torchkeeper-parts-*/*"))


def bundle(file: Path, members: int, seed: int = 0, first: str = "") -> bytes:
    """A file as a bundle is: members that nothing can compress, the same for the same name."""
    with zipfile.ZipFile(file, "w") as zipped:
        for name in [*filter(None, [first]), *(f"{n:04}" for n in range(members))]:
            data = random.Random(f"{seed} {name}").randbytes(60_000)
            zipped.writestr(zipfile.ZipInfo(name), data)
    return file.read_bytes()


def test_what_was_sent_does_not_go_again(there: Machine, orders: Path, tmp_path: Path) -> None:
    for left in kept(there.folder / "tmp"):  # of other tests
        left.unlink()
    file, data = tmp_path / "a", bundle(tmp_path / "a", 100)
    breaking.order(orders, "drop", 4_000_000)
    with pytest.raises(UserError) as raised:
        ferry.send("ssh://there", str(file))
    assert raised.value.code == "ssh-lost"
    ended(there)
    [one] = kept(there.folder / "tmp")
    came = one.stat().st_size
    assert came > 1_000_000
    breaking.order(orders)
    told: list[tuple[int, int]] = []
    # It is another bundle by now: something comes before all that has arrived.
    data = bundle(file, 100, first="!")
    with ferry.sent("ssh://there", [str(file)], lambda *far: told.append(far)) as made:
        there_too = Path(made[str(file)].removeprefix("ssh://there"))
        assert there_too.read_bytes() == data
        assert told[0][0] > came - 500_000 and told[-1] == (len(data), len(data))
        ferry.fetch(made[str(file)], str(tmp_path / "back"), len(data))
    line.close_all()
    ended(there)
    sent, _ = breaking.counts(orders)[-1]
    assert sent < len(data) - came + 700_000
    assert not kept(there.folder / "tmp"), "what has arrived is not kept"


@pytest.mark.slow
def test_what_came_does_not_come_again(there: Machine, orders: Path, tmp_path: Path) -> None:
    file, data = there.home / "a", bundle(there.home / "a", 100)
    target = tmp_path / "b"
    line.to("ssh://there").hello()  # what travels is kept there
    line.close_all()
    ended(there)

    def fetch() -> list[int]:
        told: list[int] = []
        made = ferry.name("ssh://there")
        shutil.copy(file, made.removeprefix("ssh://there"))
        ferry.fetch(made, str(target), len(data), told=lambda done, _: told.append(done))
        return told

    for after in (2_000_000, 3_500_000):
        breaking.order(orders, "drop", after)
        with pytest.raises(UserError):
            fetch()
        assert not target.exists()
    [one] = kept(tmp_path / "own")
    assert one.stat().st_size > 2_500_000
    breaking.order(orders)
    assert fetch()[0] > 2_000_000
    assert target.read_bytes() == data
    line.close_all()
    ended(there)
    assert breaking.counts(orders)[-1][1] < len(data) - 2_000_000
    assert not kept(tmp_path / "own")


def test_what_is_cancelled_comes_no_further(there: Machine, orders: Path, tmp_path: Path) -> None:
    size = 24 << 20
    made = ferry.name("ssh://there")
    file = Path(made.removeprefix("ssh://there"))
    file.write_bytes(random.Random(1).randbytes(size))

    def told(*_: int) -> None:
        raise user_error("cancelled", {})

    with pytest.raises(UserError) as raised:
        ferry.fetch(made, str(tmp_path / "b"), size, told=told)
    assert raised.value.code == "cancelled"
    assert not file.exists() and not (tmp_path / "b").exists()
    with pytest.raises(UserError):  # the line is as before
        ferry.fetch(made, str(tmp_path / "b"), size)
    time.sleep(2)  # all of it would have come
    line.close_all()
    until = time.monotonic() + LONG
    while not (counts := breaking.counts(orders)) and time.monotonic() < until:
        time.sleep(0.05)
    assert counts[-1][1] < size / 2


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("stops", [user_error("cancelled", {}), KeyboardInterrupt(), Ended(15)])
def test_what_is_cancelled_is_not_kept_there_and_what_breaks_is(
    there: Machine, tmp_path: Path, stops: BaseException, begun: bool
) -> None:
    """Of several files, too; also of what had broken off before."""
    files = [str(tmp_path / name) for name in "abc"]
    for seed, name in enumerate(files):
        bundle(Path(name), 60, seed)
    if begun:
        part = there.folder / "tmp/part"
        part.write_bytes(Path(files[1]).read_bytes()[:2_000_000])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("tempfile.tempdir", str(there.folder / "tmp"))
            parts.keep(str(part))
        part.unlink()
    gone = 0

    def told(done: int, size: int) -> None:
        nonlocal gone
        gone += done == size
        if gone == 1 and 2_500_000 < done < size:
            raise stops

    with pytest.raises(type(stops)), ferry.sent("ssh://there", files, told):
        pass
    found = kept(there.folder / "tmp")
    assert not found if not isinstance(stops, Ended) else len(found) >= 2, found
    private = line.to("ssh://there").hello().folder
    assert not os.listdir(private), "nothing fills the disk there while the line stands"
    line.close_all()
    ended(there)
    assert kept(there.folder / "tmp") == found


def test_a_file_without_an_end_is_not_waited_for(
    there: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torchkeeper.engine.mux.PATIENCE", 1.0)
    made = ferry.name("ssh://there")
    os.mkfifo(file := made.removeprefix("ssh://there"))
    handle = os.open(file, os.O_RDWR)
    writes = threading.Thread(target=os.write, args=(handle, bytes(300_000)))
    writes.start()
    with pytest.raises(UserError) as raised:
        ferry.fetch(made, str(tmp_path / "b"), 100)
    assert raised.value.code == "ssh-misspoken"
    writes.join()
    os.close(handle)
    line.close_all()
    ended(there)


def many_kernels(folder: Path, kernels: Path, count: int = 40) -> int:
    """Kernels whose binaries nothing can compress; how many bytes they have."""
    chance, begun = random.Random(4), sorted(one for one in kernels.iterdir() if one.is_dir())
    for number in range(count):
        key = base64.b32encode(chance.randbytes(32)).decode().rstrip("=")
        shutil.copytree(begun[number % len(begun)], folder / key)
        largest = max((folder / key).iterdir(), key=lambda file: file.stat().st_size)
        largest.write_bytes(chance.randbytes(100_000))
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


@pytest.mark.slow
def test_a_copy_that_broke_off_goes_on(
    tk: Tk, there: Machine, orders: Path, kernels: Path, tmp_path: Path
) -> None:
    """As a user types it, to there and back: nothing of it is seen before all of it is there."""
    whole = many_kernels(tmp_path / "kernels", kernels)
    for source, target, into in (
        (tmp_path / "kernels", there.place("new"), there.home / "new"),
        (there.place("new"), tmp_path / "again", tmp_path / "again"),
    ):
        command = "copy", "--json", "--allow-secrets", source, target
        breaking.order(orders, "drop", whole * 2 // 3)
        broken = tk(*command)
        assert broken.objects[-1]["error"]["code"] == "ssh-lost", broken
        assert "goes on" in broken.objects[-1]["error"]["remedy"]
        assert not into.exists()
        ended(there)
        breaking.order(orders)
        assert tk(*command).result["entries"] == 40
        ended(there)
        assert sum(breaking.counts(orders)[-1]) < whole
        assert not tk("ls", "--json", target, "--filter", "is:broken").objects[:-1]
    assert not kept(there.folder / "tmp") and not kept(tmp_path / "own")


def test_what_is_old_or_too_much_goes_and_others_are_not_believed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for n in range(8):
        (tmp_path / f"{n}").write_bytes(b"x" * n)
        parts.keep(str(tmp_path / f"{n}"))
        for path in kept(tmp_path):
            os.utime(path, (os.stat(path).st_mtime - 60,) * 2)
    parts.keep(str(tmp_path / "1"), "ssh://gpu1")  # another's are counted apart
    assert sorted(os.path.getsize(one) for one in parts.there()) == [2, 3, 4, 5, 6, 7]
    assert len(parts.there("ssh://gpu1")) == 1
    os.utime(parts.there()[0], (0, 0))
    assert len(parts.there()) == 5
    [folder] = tmp_path.glob("torchkeeper-parts-*")
    # What has another name is none of these, however old.
    (folder / "mine.txt").touch()
    os.utime(folder / "mine.txt", (0, 0))
    assert len(parts.there()) == 5 and (folder / "mine.txt").exists()
    (folder / "mine.txt").unlink()
    folder.chmod(0o777)
    assert parts.there() == []
    parts.keep(str(tmp_path / "1"))
    assert len(list(folder.iterdir())) == 6


def test_of_two_transfers_none_takes_the_other_s_nor_learns_of_another_machine_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    # The one has a little of what the other has.
    data = [bundle(tmp_path / "a", 100), bundle(tmp_path / "b", 100, seed=1)]
    mixed = data[0][:3_000_000] + data[1][3_000_000:]
    (tmp_path / "part").write_bytes(mixed)
    parts.keep(str(tmp_path / "part"), "ssh://gpu1")
    for machine, file, some in (("ssh://gpu2", 0, 0), ("", 1, 0), ("ssh://gpu1", 0, 2_500_000)):
        with (tmp_path / "ab"[file]).open("rb") as stream, (tmp_path / "made").open("w+b") as made:
            pieces = list(parts.cut(stream, len(data[file])))
            missing, used = parts.fill(pieces, made, machine)
        assert len(data[file]) - sum(b - a for a, b in missing) >= some
        assert (missing == [(0, len(data[file]))]) == (not some)
        assert not used, "most of it is of the other"
    assert len(parts.there("ssh://gpu1")) == 1 and not parts.there() + parts.there("ssh://gpu2")


class Spoiling(list[parts.Piece]):
    """Pieces, of which all that is kept is cut short and goes, once they are looked at again."""

    looks = 0

    def __iter__(self) -> Iterator[parts.Piece]:
        self.looks += 1
        if self.looks == 2:
            for path in parts.there():
                os.truncate(path, 1_500_000)
                os.unlink(path)
        return super().__iter__()


def test_what_is_kept_may_go_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    data = bundle(tmp_path / "a", 60)
    with (tmp_path / "a").open("rb") as stream:
        pieces = Spoiling(parts.cut(stream, len(data)))
    parts.keep(str(tmp_path / "a"))
    with (tmp_path / "made").open("w+b") as made:
        missing, _ = parts.fill(pieces, made)
    [(begin, end)] = missing
    assert 500_000 < begin <= 1_500_000 and end == len(data)
    assert (tmp_path / "made").read_bytes()[:begin] == data[:begin]
    # And what others make and remove all the time is no fault of this one.
    (tmp_path / "a").write_bytes(data)
    over = threading.Event()

    def others() -> None:
        while not over.is_set():
            parts.keep(str(tmp_path / "a"))
            parts.forget(*parts.there())

    others_ = threading.Thread(target=others)
    others_.start()
    try:
        for _ in range(30):
            with (tmp_path / "made").open("w+b") as made:
                parts.fill(pieces, made)
    finally:
        over.set()
        others_.join()


def test_what_is_kept_takes_the_room_of_what_has_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    came = tmp_path / "came"
    with came.open("wb") as file:
        file.truncate(1 << 30)  # so many bytes were said to come
        file.seek(1 << 29)
        file.write(b"x" * 2_000_000)
        file.flush()
        parts.keep(f"/proc/self/fd/{file.fileno()}")
    [one] = parts.there()
    assert os.path.samefile(one, came), "a file without a name is no copy"
    parts.forget(one)
    monkeypatch.setattr(os, "link", no_link)
    parts.keep(str(came))
    [one] = parts.there()
    found = os.stat(one)
    assert not os.path.samefile(one, came) and found.st_size == 1 << 30
    assert found.st_blocks * 512 < 5_000_000
    with open(one, "rb") as kept_:
        assert next(parts.blocks(kept_, [(1 << 29, (1 << 29) + 9)])) == b"x" * 9
    parts.forget(one)
    monkeypatch.setattr(os, "lseek", no_link)  # as a disk that is full
    parts.keep(str(came))
    monkeypatch.undo()
    assert not [path for path in kept(tmp_path) if path.stat().st_blocks]


def no_link(*_: object, **__: object) -> None:
    raise OSError(errno.EXDEV, "another file system")


def test_what_begins_like_members_takes_no_memory(tmp_path: Path) -> None:
    (tmp_path / "lies").write_bytes(b"PK\x03\x04" * 500_000)
    tracemalloc.start()
    with (tmp_path / "lies").open("rb") as stream:
        pieces = list(parts.cut(stream, parts.MOST))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert sum(size for size, _ in pieces) == 2_000_000 and most < 20_000_000


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("/srv/c", "ssh://gpu1/srv/c"),
        ("ssh://gpu1/srv/c", "ssh://gpu1/srv/c"),
        ("redis://127.0.0.1:6379/0", "ssh://gpu1/redis://127.0.0.1:6379/0"),
        ("ssh://gpu2/srv/c", ""),
        ("ssh://gpu2/redis://h", ""),
        ("c", ""),
        ("~/c", ""),
        ("", ""),
    ],
)
def test_what_a_machine_names_is_of_that_machine(said: str, named: str) -> None:
    assert far.name_of("ssh://gpu1", said) == named
    assert far.name_of("", said) == said


def test_jobs_of_a_machine_that_lies() -> None:
    good = {"job": "0" * 16, "op": "warm", "place": "/c", "lives": True, "seconds": 1.0, "ago": 0.0,
            "far": {"type": "progress", "done": 1, "total": 2, "unit": "files"}}  # fmt: skip
    big = {**good, "far": {"type": "progress", "done": 10**200, "total": 10**201, "unit": "files"}}
    no_float = {**good, "far": {"type": "progress", "done": 10**400, "unit": "files"}}
    rows = far.jobs("ssh://there", [good, {**good, "job": "../x"}, big, no_float])
    assert [row.id for row in rows] == ["0" * 16] * 2
    assert "1" in rows[0].words and rows[1].words == ""


def test_pieces_are_put_where_they_belong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    data = bundle(tmp_path / "a", 120)
    (tmp_path / "part").write_bytes(data[:1_000_000] + bytes(500_000) + data[1_500_000:6_000_000])
    parts.keep(str(tmp_path / "part"))
    with (tmp_path / "a").open("rb") as stream:
        pieces = list(parts.cut(stream, len(data)))
        assert sum(size for size, _ in pieces) == len(data) and len(pieces) > 10
        with (tmp_path / "made").open("w+b") as made:
            missing, used = parts.fill(pieces, made)
            assert len(missing) == 2 and used == set(parts.there())
            parts.scatter(parts.blocks(stream, missing), missing, made)
        assert (tmp_path / "made").read_bytes() == data
        for more in (b"", b"x" * (1 + sum(b - a for a, b in missing))):
            with (tmp_path / "made").open("r+b") as made, pytest.raises(ValueError):
                parts.scatter([more], missing, made)
