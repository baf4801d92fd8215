"""Files that appear when they are whole: what a kill leaves, and who removes it."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.stores.bundles.test_bundle import Left, described
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.client.engines import travel
from torchkeeper.client.kept import whole
from torchkeeper.client.words.problems import UserError, leftovers_gone, user_error
from torchkeeper.stores import atomic as module
from torchkeeper.stores.atomic import AtomicFile, atomic_write
from torchkeeper.stores.bundles import export as exporting
from torchkeeper.stores.bundles import signing
from torchkeeper.stores.folders import locks
from torchkeeper.stores.folders.locks import remove_leftovers

#: Exports over an old file, and kills itself before the n-th time that it asks the system to open,
#: link, rename, lock or remove something; the last line of each is what it has left.
_KILLED = """if True:
    import os, signal, sys
    from pathlib import Path
    from tests.stores.bundles.test_bundle import Left, described
    from torchkeeper.artifacts.report import Report
    from torchkeeper.stores.bundles import export as exporting

    place, target, way, replace = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4]
    if way == "named":
        del os.O_TMPFILE  # a system that has no such thing
    folder, ones = described(place)
    output = target / "o"
    asked = limit = -1

    def hook(event, _):
        global asked
        if limit >= 0 and event in ("open", "os.link", "os.rename", "os.remove", "fcntl.flock"):
            asked += 1
            if asked == limit:
                os.kill(os.getpid(), signal.SIGKILL)

    def export():
        exporting.export(ones, folder, str(output), Report(), Left(), bool(replace))

    def ended(at):
        global asked, limit
        if not (child := os.fork()):
            asked, limit = 0, at
            export()
            os.write(pipe[1], str(asked).encode())
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def fresh():
        for path in target.iterdir():
            path.unlink()
        if replace:
            output.write_text("old")

    sys.addaudithook(hook)
    pipe = os.pipe()
    fresh()
    assert ended(1 << 30) == 0
    count, whole = int(os.read(pipe[0], 20)), output.read_bytes()
    assert count > 20
    left = 0
    for at in [*range(1, count - 12, max(count // 8, 1)), *range(count - 12, count + 1)]:
        fresh()
        assert ended(at) == -signal.SIGKILL, at
        now = output.read_bytes() if output.exists() else None
        assert now == whole or now == (b"old" if replace else None), at
        names = [path.name for path in target.iterdir() if path != output]
        assert len(names) <= 1, names
        left += len(names)
        for name in names:
            os.utime(target / name, (0, 0))  # of some file systems only what is old is removed
        if not replace and output.exists():
            output.unlink()
        told = []
        class Told(Report):
            def finding(self, **what):
                told.extend([what["leftovers"]] if "leftovers" in what else [])
        exporting.export(ones, folder, str(output), Told(), Left(), bool(replace))
        assert [path.name for path in target.iterdir()] == ["o"]
        assert output.read_bytes() == whole
        assert [one["count"] for one in told] == [1] * len(names), (at, told)
    print(left)
"""


class Told(Report):
    """Keeps what was removed."""

    def __init__(self) -> None:
        self.gone: list[dict[str, Any]] = []

    def finding(self, **what: Any) -> None:
        self.gone.append(what["leftovers"])


@pytest.fixture(params=["nameless", "named"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With what a file system can do, and without."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE")
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("not on this system")
    return str(request.param)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MB."""
    made = tmp_path / "disk"
    made.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(made)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a small file system")
    try:
        yield made
    finally:
        subprocess.run(["umount", str(made)], check=True)


def old(path: Path, size: int) -> None:
    path.write_bytes(bytes(size))
    os.utime(path, (0, 0))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("replace", ["", pytest.param("replace", marks=pytest.mark.slow)])
@pytest.mark.parametrize("how", ["nameless", "named"])
def test_an_export_that_is_killed_leaves_the_old_or_the_new(
    kept_291: Path, tmp_path: Path, how: str, replace: str
) -> None:
    command = [sys.executable, "-c", _KILLED, str(kept_291), str(tmp_path), how, replace]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    left = int(done.stdout)
    if how == "nameless":
        # Only where it takes another's place does it have a name before, for a moment.
        assert left <= (2 if replace else 0)
    else:
        assert left > 10


def test_it_has_no_name_until_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "f"
    with AtomicFile(str(file)) as made:
        made.stream.write(b"some")
        assert names(tmp_path) == []
        made.stream.flush()
        assert Path(made.path).read_bytes() == b"some"
        made.commit()
    assert file.read_bytes() == b"some"


def test_what_fails_leaves_nothing(way: str, tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("old")
    with pytest.raises(ZeroDivisionError), atomic_write(str(file)) as stream:
        stream.write(b"new")
        assert (len(names(tmp_path)) == 1) == (way == "nameless")
        raise ZeroDivisionError
    assert (names(tmp_path), file.read_text()) == (["f"], "old")
    with pytest.raises(FileExistsError), atomic_write(str(file), replace=False) as stream:
        stream.write(b"new")
    assert (names(tmp_path), file.read_text()) == (["f"], "old")
    with atomic_write(str(file)) as stream:
        stream.write(b"new")
    assert (names(tmp_path), file.read_text()) == (["f"], "new")


def test_who_may_read_it(way: str, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        modes = []
        for mode in (None, 0o600, 0o666):
            with atomic_write(str(tmp_path / "f"), mode):
                pass
            modes.append(stat.S_IMODE((tmp_path / "f").stat().st_mode))
    finally:
        os.umask(before)
    assert modes == [0o640, 0o600, 0o666]


def test_where_no_link_can_be_made_it_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some file systems make files without names, and cannot name them."""

    def refuse(handle: int, path: str) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(module, "_link", refuse)
    for replace in (False, True):
        with atomic_write(str(tmp_path / "f"), 0o640, replace) as stream:
            stream.write(b"x" * 3_000_000)
        assert names(tmp_path) == ["f"]
        assert (tmp_path / "f").read_bytes() == b"x" * 3_000_000
        assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o640
    with pytest.raises(FileExistsError), atomic_write(str(tmp_path / "f"), replace=False):
        pass
    assert names(tmp_path) == ["f"]


def test_a_bundle_in_place_of_another_is_for_the_same_eyes(kept_291: Path, tmp_path: Path) -> None:
    folder, ones = described(kept_291)
    ones = [one for one in ones if one.entry.kind == "pgo"]
    bundle = tmp_path / "b.torchcache"
    bundle.write_text("secret so far")
    bundle.chmod(0o600)
    assert exporting.export(ones, folder, str(bundle), Report(), Left()).entries
    assert stat.S_IMODE(bundle.stat().st_mode) == 0o600


def test_only_what_nobody_writes_any_more_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = Told()
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    with AtomicFile(str(tmp_path / "living")) as made:
        made.stream.write(b"some")
        os.utime(made.path, (0, 0))
        remove_leftovers(str(tmp_path), report)
        assert report.gone == []
        made.commit()
    (tmp_path / "kept").write_text("kept")
    for name in (
        ".torchkeeper-0123456789ab.tmp", "torchkeeper-01234567.tmp", ".torchkeeper-01234567.tmp~",
        ".torchkeeper-journal-0.jsonl", ".partial-01234567",
    ):  # fmt: skip
        (tmp_path / name).write_text("of somebody else's")
    (tmp_path / ".torchkeeper-aaaaaaaa.tmp").mkdir()
    (tmp_path / ".torchkeeper-bbbbbbbb.tmp").symlink_to(tmp_path / "kept")
    os.mkfifo(tmp_path / ".torchkeeper-cccccccc.tmp")
    foreign = tmp_path / ".torchkeeper-dddddddd.tmp"
    foreign.write_text("another user's")
    if not os.geteuid():
        os.chown(foreign, 65534, -1)
    else:
        foreign.unlink()
    before = names(tmp_path)
    old(tmp_path / ".torchkeeper-eeeeeeee.tmp", 1_200_000)
    remove_leftovers(str(tmp_path), report)
    assert names(tmp_path) == before
    [gone] = report.gone
    assert gone == {
        "count": 1, "bytes": 1_200_000, "paths": [str(tmp_path / ".torchkeeper-eeeeeeee.tmp")],
    }  # fmt: skip
    said = "Removed what an export that was cut off had left: 1.2 MB."
    assert leftovers_gone(gone) == said
    remove_leftovers(str(tmp_path / "none"), report)
    assert len(report.gone) == 1


def test_where_others_may_write_only_what_is_old_is_removed(
    disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether another machine writes a file, a lock does not tell everywhere."""
    report = Told()
    for name in ("01234567", "76543210"):
        (disk / f".torchkeeper-{name}.tmp").write_bytes(b"some")
    monkeypatch.setattr(locks, "_LOCAL", set())  # as if it were not memory
    os.utime(disk / ".torchkeeper-01234567.tmp", (0, 0))
    remove_leftovers(str(disk), report)
    assert names(disk) == [".torchkeeper-76543210.tmp"]
    monkeypatch.undo()
    remove_leftovers(str(disk), report)
    assert names(disk) == []


def test_a_full_disk_is_said_with_what_is_needed(
    way: str, kept_291: Path, tmp_path: Path, disk: Path
) -> None:
    folder, ones = described(kept_291)
    (disk / "o").write_text("old")
    (disk / ".torchkeeper-01234567.tmp").write_bytes(bytes(1000))
    with pytest.raises(Problem) as caught:
        exporting.export(ones, folder, str(disk / "o"), Report(), Left())
    assert caught.value.code == "output-full"
    said = str(user_error(caught.value.code, caught.value.params))
    assert "It takes about 2.0 MB, and its disk has 1.0 MB left" in said
    assert (names(disk), (disk / "o").read_text()) == (["o"], "old")


def test_a_disk_without_room_for_a_signed_one(
    kept_291: Path, disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, ones = described(kept_291)
    small = [one for one in ones if one.entry.kind == "code"]
    bundle = disk / "o"
    exporting.export(small, folder, str(bundle), Report(), Left())
    free = os.statvfs(disk)
    (disk / "ballast").write_bytes(bytes(free.f_bavail * free.f_frsize - 8192))
    before = bundle.read_bytes()
    armour = b"-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n"
    digest = signing.copy_manifest(str(bundle), str(tmp_path / "m"), Report())
    with pytest.raises(Problem, match="output-full"):
        signing.attach(str(bundle), armour, digest, Report())
    assert (names(disk), bundle.read_bytes()) == (["ballast", "o"], before)
    # Nor is a setting lost for it.
    setting = disk / "s.json"
    with pytest.raises(OSError, match="No space left"):
        whole.write(str(setting), ["x" * 100] * 1000)
    setting.write_text("old")
    with pytest.raises(OSError, match="No space left"):
        whole.write(str(setting), ["x" * 100] * 1000)
    assert (names(disk), setting.read_text()) == (["ballast", "o", "s.json"], "old")
    # What travels to an interpreter is whole, or is said not to be there.
    monkeypatch.setenv("XDG_CACHE_HOME", str(disk))
    with pytest.raises(UserError, match="own cache folder cannot be written"):
        travel.archive.__wrapped__()
    assert not any((disk / "torchkeeper").iterdir())


def test_a_disk_that_is_read_only(kept_291: Path, disk: Path) -> None:
    folder, ones = described(kept_291)
    remount = ["mount", "-o", "remount,ro", str(disk)]
    subprocess.run(remount, check=True)
    with pytest.raises(Problem) as caught:
        exporting.export(ones, folder, str(disk / "o"), Report(), Left())
    assert caught.value.code == "output-unwritable"
    assert caught.value.params["why"] == "Read-only file system"
