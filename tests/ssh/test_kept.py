"""What travels is kept there, and runs from there only as it was sent."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.snapshots import snapshot
from tests.ssh.conftest import Machine
from torchkeeper.client.engines import line
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.engines.travel import archive
from torchkeeper.engine import far_end, protocol


def folder(there: Machine) -> Path:
    return there.home / ".cache/torchkeeper/far"


def sent(there: Machine, place: Path) -> int:
    """How many bytes of what travels a new connection sends, which has to work."""
    line.close_all()
    went: list[int] = []
    way = line.to("ssh://there")
    took = way.took

    def counted(data: bytes) -> None:
        before = len(way._out)
        took(data)
        if not way._hello:
            went.append(len(way._out) - before)

    way.took = counted  # type: ignore[method-assign]
    with Engine("ssh://there") as engine:
        assert engine.call(protocol.DU, {"place": there.place(place)})["kinds"]
    return sum(went)


def test_it_is_sent_once_and_kept_for_its_user_alone(there: Machine, fixture_cache: Path) -> None:
    assert sent(there, fixture_cache) > 1_000_000
    assert sent(there, fixture_cache) == 0
    (kept,) = folder(there).iterdir()
    assert kept.read_bytes() == archive().read_bytes()
    assert kept.stat().st_mode & 0o7777 == 0o600
    assert folder(there).stat().st_mode & 0o7777 == 0o700


def test_it_is_kept_where_the_account_says(
    there: Machine, fixture_cache: Path, tmp_path: Path
) -> None:
    there.rc.write_text(f"export XDG_CACHE_HOME={tmp_path}/other")
    sent(there, fixture_cache)
    assert sent(there, fixture_cache) == 0
    assert len(list((tmp_path / "other/torchkeeper/far").iterdir())) == 1
    assert not (there.home / ".cache").exists()


def _other(kept: Path, evil: bytes) -> None:
    kept.write_bytes(evil)


def _longer(kept: Path, evil: bytes) -> None:
    kept.write_bytes(kept.read_bytes() + b"x")


def _shorter(kept: Path, evil: bytes) -> None:
    os.truncate(kept, 1000)


def _flipped(kept: Path, evil: bytes) -> None:
    data = bytearray(kept.read_bytes())
    data[len(data) // 2] ^= 1
    kept.write_bytes(data)


def _link(kept: Path, evil: bytes) -> None:
    other = kept.parents[3] / "same.zip"
    kept.rename(other)
    kept.symlink_to(other)


def _pipe(kept: Path, evil: bytes) -> None:
    kept.unlink()
    os.mkfifo(kept)


def _folder(kept: Path, evil: bytes) -> None:
    kept.unlink()
    kept.mkdir()


def _nothing(kept: Path, evil: bytes) -> None:
    kept.unlink()


def test_what_is_not_as_it_was_sent_never_runs(there: Machine, fixture_cache: Path) -> None:
    sent(there, fixture_cache)
    (kept,) = folder(there).iterdir()
    (there.home / "evil/torchkeeper").mkdir(parents=True)
    ran = there.home / "ran"
    (there.home / "evil/torchkeeper/__init__.py").write_text(f"open({str(ran)!r}, 'w')")
    evil = Path(shutil.make_archive(str(there.home / "evil"), "zip", there.home / "evil"))
    for damage in (_other, _longer, _shorter, _flipped, _link, _pipe, _nothing, _folder):
        damage(kept, evil.read_bytes())
        assert sent(there, fixture_cache) > 1_000_000, damage
        assert not ran.exists()
        if damage is not _folder:  # which is not ours
            assert kept.read_bytes() == archive().read_bytes()
            assert not kept.is_symlink()


def _open_to_others(far: Path) -> None:
    far.chmod(0o755)


def _others_write_above(far: Path) -> None:
    far.parent.chmod(0o777)


def _link_to_another(far: Path) -> None:
    other = far.parent.parent / "other"
    far.rename(other)
    far.symlink_to(other)


def _link_above(far: Path) -> None:
    other = far.parent.parent / "other"
    far.parent.rename(other)
    far.parent.symlink_to(other)


def _file_in_its_place(far: Path) -> None:
    shutil.rmtree(far)
    far.write_text("mine")


def _of_another_user(far: Path) -> None:
    os.chown(far, 65534, 65534)  # which only root does


@pytest.mark.slow
def test_a_folder_that_others_could_change_is_not_used(there: Machine, fixture_cache: Path) -> None:
    sent(there, fixture_cache)
    cache, good = there.home / ".cache", there.home / "good"
    cache.rename(good)
    for change in (_open_to_others, _others_write_above, _link_to_another, _link_above,
                   _file_in_its_place, *([] if os.geteuid() else [_of_another_user])):  # fmt: skip
        shutil.copytree(good, cache)
        change(folder(there))
        before = snapshot(there.home)
        assert sent(there, fixture_cache) > 1_000_000, change
        assert snapshot(there.home) == before
        shutil.rmtree(cache)


def test_a_cache_folder_that_cannot_be_written_is_done_without(
    there: Machine, fixture_cache: Path
) -> None:
    (there.home / ".cache").write_text("a file of the user's")
    assert sent(there, fixture_cache) > 1_000_000
    there.rc.write_text("export XDG_CACHE_HOME=/proc/nowhere")
    assert sent(there, fixture_cache) > 1_000_000


def test_copies_of_other_versions_go_in_time_and_nothing_else(
    there: Machine, fixture_cache: Path
) -> None:
    sent(there, fixture_cache)
    (kept,) = folder(there).iterdir()
    kept.unlink()
    digests = [f"{n:064x}" for n in range(6)]
    ours = [f"{digest}.zip" for digest in digests[:4]] + [f"{digests[4]}.zip.{'0' * 16}"]
    strange = [f"{digests[5]}.zip.bak", f"{digests[5]}.ZIP", f"{'g' * 64}.zip", "notes", "a.zip"]
    for age, name in enumerate([*ours, *strange]):
        file = folder(there) / name
        file.write_text("x")
        os.utime(file, (1e9 - age, 1e9 - age))
    sent(there, fixture_cache)
    left = {file.name for file in folder(there).iterdir()}
    assert left == {kept.name, *ours[: far_end._COPIES - 1], *strange}
