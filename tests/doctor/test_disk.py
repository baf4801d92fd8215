"""What a folder is on: real file systems, and what real torch does there."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import Served
from tests.doctor.conftest import Doctor, Mounting, Stock
from torchkeeper.artifacts.report import Report
from torchkeeper.client.words import findingwords
from torchkeeper.doctor.check import FolderLook
from torchkeeper.doctor.folders import file_system
from torchkeeper.stores import mounts
from torchkeeper.stores.items import Item


@pytest.mark.slow
def test_a_read_only_file_system(doctor: Doctor, mounted: Mounting, stock: Stock) -> None:
    """Every compile fails there, and the doctor says so; not that it is full, nor whose it is."""
    disk = mounted("ro,size=1m")
    said = stock(disk)
    assert not said["ok"]
    assert "Read-only file system" in said["error"]
    found = doctor(disk, only=("file-system", "room", "owner"))
    assert found["folder-read-only"].severity == "error"
    assert found["folder-read-only"].params["point"] == str(disk)
    assert {"folder-read-only", "folder-in-memory"} == set(found.codes)


@pytest.mark.slow
def test_a_full_file_system(doctor: Doctor, mounted: Mounting, stock: Stock) -> None:
    disk = mounted("size=64k")
    with (disk / "full").open("wb", buffering=0) as file, pytest.raises(OSError, match="No space"):
        while True:
            file.write(bytes(4096))
    said = stock(disk)
    assert not said["ok"]
    assert "No space left on device" in said["error"]
    found = doctor(disk, only=("room",))
    assert found.codes == ["disk-is-full"]
    assert found["disk-is-full"].severity == "error"
    assert found["disk-is-full"].params["free_bytes"] == 0


@pytest.mark.slow
def test_no_inodes(doctor: Doctor, mounted: Mounting, stock: Stock) -> None:
    """Bytes are free, and no file can be made."""
    disk = mounted("size=3g,nr_inodes=2")
    (disk / "last").touch()
    said = stock(disk)
    assert not said["ok"]
    assert "No space left on device" in said["error"]
    found = doctor(disk, only=("room",))
    assert found.codes == ["no-inodes"]
    assert found["no-inodes"].params["free"] == 0


@pytest.mark.slow
def test_little_room_is_a_warning(doctor: Doctor, mounted: Mounting, stock: Stock) -> None:
    """Where there is less than a while of work takes, torch still compiles."""
    disk = mounted("size=100m,nr_inodes=1000")
    assert stock(disk)["ok"]
    found = doctor(disk, only=("room",))
    assert found.codes == ["disk-nearly-full", "few-inodes"]
    assert {one.finding.severity for one in found.findings} == {"warning"}


@pytest.mark.slow
def test_in_memory(doctor: Doctor, mounted: Mounting, stock: Stock) -> None:
    """A cache in memory is as good as any, until the machine starts again."""
    disk = mounted("size=3g")
    assert stock(disk)["ok"]
    found = doctor(disk, only=("file-system", "room"))
    assert found.codes == ["folder-in-memory"]
    about = found["folder-in-memory"]
    assert (about.severity, about.params["type"]) == ("advice", "tmpfs")
    assert about.params["size_bytes"] > 10_000


def test_a_folder_that_is_not_there_is_told_of_by_what_is_above(
    doctor: Doctor, mounted: Mounting
) -> None:
    disk = mounted("size=64k,noexec")
    found = doctor(disk / "not" / "there", only=("file-system", "room"))
    assert "folder-noexec" in found.codes
    assert "disk-is-full" in found.codes
    assert not (disk / "not").exists()


@pytest.mark.slow
def test_noexec_is_no_matter_to_extern_kernels(
    doctor: Doctor, mounted: Mounting, stock: Stock
) -> None:
    disk = mounted("size=3g,noexec")
    assert stock(disk)["ok"]
    found = doctor(disk, only=("file-system",))
    assert found["folder-noexec"].severity == "error"


@pytest.mark.slow
def test_noexec_fails_every_kernel_for_the_cpu(mounted: Mounting, stock: Stock) -> None:
    said = stock(mounted("size=3g,noexec"), "sin")
    assert not said["ok"]
    assert "failed to map segment from shared object" in said["error"]


@pytest.mark.slow
def test_a_disk_has_nothing_wrong(doctor: Doctor, cache: Path) -> None:
    if (mount := mounts.mount_of(str(cache))) is None or mount.type in ("overlay", "tmpfs"):
        pytest.skip("the temporary folder is on no disk")
    found = doctor(cache, only=("file-system", "names", "clock", "owner"))
    assert found.codes == []
    assert found.result["left"] == []
    assert found.result["checks"] == ["file-system", "owner", "names", "clock"]


#: Lines as kernels write them (proc_pid_mountinfo(5)).
_MOUNTINFO = """\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
40 27 0:40 / /home/with\\040blank rw - nfs4 files:/home rw,vers=4.2,local_lock=none
41 27 0:41 / /scratch rw - nfs files:/scratch rw,vers=3,nolock,local_lock=all
42 27 0:42 / /windows rw - cifs //files/share rw,nobrl
43 27 0:43 / /ssh rw,noexec - fuse.sshfs me@there: rw
45 27 0:45 / /data rw - lustre 10.0.0.1@tcp:/fs rw,localflock
46 27 0:46 / /bucket rw - fuse.gcsfuse caches rw,user_id=0
47 27 0:47 / /mountpoint rw - fuse mountpoint-s3 rw,user_id=0
48 27 0:48 / /late rw - nfs4 files:/late rw,vers=4.2,acdirmax=300,local_lock=none
49 27 0:49 / /now rw - nfs4 files:/now rw,vers=4.2,acregmin=0,acdirmax=0,local_lock=none
44 40 0:44 / /home/with\\040blank/near rw - overlay overlay rw,lowerdir=/a
a line that is none
"""


@pytest.mark.parametrize(
    ("path", "codes"),
    [
        ("/home", []),
        ("/home/with blank/cache", ["folder-on-network"]),
        ("/home/with blank/near/cache", ["folder-in-container"]),
        ("/scratch/cache", ["folder-locks-local"]),
        ("/windows", ["folder-locks-local"]),
        ("/ssh/cache", ["folder-noexec", "folder-on-network"]),
        ("/data", ["folder-locks-local"]),
        ("/bucket/cache", ["folder-of-objects"]),
        ("/mountpoint", ["folder-of-objects"]),
        ("/late", ["folder-on-network", "folder-seen-late"]),
        ("/now", ["folder-on-network"]),
    ],
)
def test_network_file_systems_by_what_linux_tells(path: str, codes: list[str]) -> None:
    """No test can mount a file server's: the lines are those of real kernels."""
    look = FolderLook(path, path, Report())
    look.mount = mounts.mount_of(path, mounts.mounts_in(_MOUNTINFO))
    assert look.mount is not None
    assert [one.code for one in file_system(look)] == codes


@pytest.mark.parametrize(("path", "codes"), [
    ("/home/with blank/cache", {"kinds-loaded": "code, triton"}),
    ("/scratch", {"kinds-loaded": "code, triton", "kinds-locked": "code, ondisk"}),
    ("/bucket", {"kinds-loaded": "code, triton", "kinds-locked": "code, ondisk",
                 "kinds-renamed": "fxgraph, triton"}),
    ("/", {}),
])  # fmt: skip
def test_what_breaks_is_said_by_kind(path: str, codes: dict[str, str]) -> None:
    look = FolderLook(path, path, Report())
    look.mount = mounts.mount_of(path, mounts.mounts_in(_MOUNTINFO))
    look.items = [Item(kind, "k", kind) for kind in ("fxgraph", "triton", "code", "ondisk", "lock")]
    found = {one.code: one for one in file_system(look)}
    kinds = {code: one.params["kinds"] for code, one in found.items() if code.startswith("kinds")}
    assert kinds == codes
    for one in found.values():
        told = findingwords.said(one)
        text = " ".join((told.what, told.why, told.remedy))
        assert "{" not in text
        assert "torchkeeper copy" in text


def test_a_file_system_in_memory_or_an_overlay_is_of_one_machine(mounted: Mounting) -> None:
    disk = mounted("size=1m")
    for name in ("lower", "upper", "work", "over"):
        (disk / name).mkdir()
    how = f"lowerdir={disk}/lower,upperdir={disk}/upper,workdir={disk}/work"
    over = ["mount", "-t", "overlay", "-o", how, "overlay", str(disk / "over")]
    told = mounts.mount_of(str(disk / "there" / "not"))
    assert told and (told.type, told.memory, told.network) == ("tmpfs", True, False)
    if subprocess.run(over, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount an overlay")
    try:
        told = mounts.mount_of(str(disk / "over" / "cache"))
        assert told and (told.type, told.network, told.objects) == ("overlay", False, False)
        assert told.point == str(disk / "over")
    finally:
        subprocess.run(["umount", str(disk / "over")], check=True)


@pytest.mark.parametrize(("kind", "codes"), [
    ("fuse.shared", {"folder-on-network", "kinds-loaded"}),
    ("fuse.gcsfuse", {"folder-of-objects", "kinds-renamed", "kinds-locked", "kinds-loaded"}),
])  # fmt: skip
def test_what_breaks_on_a_file_system_of_several_machines(
    doctor: Doctor, served: Served, kept_291: Path, kind: str, codes: set[str]
) -> None:
    found = doctor(served(kept_291, kind), only=("file-system",))
    assert set(found.codes) == codes
    assert found["kinds-loaded"].params["kinds"] == "code"
