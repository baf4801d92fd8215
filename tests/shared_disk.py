"""A file system that the kernel has for one of other machines: a folder, by way of FUSE (fuse(4),
include/uapi/linux/fuse.h). ``python -m tests.shared_disk FOLDER POINT TYPE`` serves it until it is
unmounted, and prints a line when it is there.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Callable

_IN, _OUT = struct.Struct("<IIQQIIII"), struct.Struct("<IiQ")
_SIZE = 1 << 20
_NOSUID_NODEV = 6


class _Folder:
    """Answers by the numbers that the kernel knows files by."""

    def __init__(self, root: str) -> None:
        self._paths = {1: root}
        self._numbers = {root: 1}

    def answer(self, code: int, node: int, body: bytes) -> bytes | None:
        """What is sent for a request; None where nothing is. Raises OSError."""
        if code in (2, 42):  # FORGET, BATCH_FORGET
            return None
        known: dict[int, Callable[[str, bytes], bytes]] = {
            1: self._lookup, 3: self._getattr, 4: self._setattr, 9: self._mkdir, 10: self._unlink,
            11: self._rmdir, 12: self._rename, 14: self._open, 15: self._read, 16: self._write,
            17: self._statfs, 18: self._close, 20: self._nothing, 25: self._nothing,
            26: self._init, 27: self._opendir, 28: self._readdir, 29: self._nothing,
            30: self._nothing, 35: self._create, 45: self._rename2,
        }  # fmt: skip
        if code not in known:
            raise OSError(errno.ENOSYS, "")
        return known[code](self._paths.get(node, ""), body)

    def _nothing(self, _path: str, _body: bytes) -> bytes:
        return b""

    def _init(self, _path: str, body: bytes) -> bytes:
        _, minor = struct.unpack_from("<II", body)
        return struct.pack("<IIIIHHIIHHII24x", 7, min(minor, 31), 0, 0, 0, 0, _SIZE, 1, 0, 0, 0, 0)

    def _child(self, path: str, name: bytes) -> str:
        return f"{path}/{os.fsdecode(name.partition(bytes(1))[0])}"

    def _attr(self, path: str) -> bytes:
        at = os.lstat(path)
        times = [divmod(ns, 10**9) for ns in (at.st_atime_ns, at.st_mtime_ns, at.st_ctime_ns)]
        return struct.pack(
            "<6Q10I", at.st_ino, at.st_size, at.st_blocks, *(s for s, _ in times),
            *(ns for _, ns in times), at.st_mode, at.st_nlink, at.st_uid, at.st_gid, 0, 4096, 0,
        )  # fmt: skip

    def _entry(self, path: str) -> bytes:
        attr = self._attr(path)
        number = self._numbers.setdefault(path, len(self._numbers) + 1)
        self._paths[number] = path
        return struct.pack("<QQQQII", number, 0, 0, 0, 0, 0) + attr

    def _lookup(self, path: str, body: bytes) -> bytes:
        return self._entry(self._child(path, body))

    def _getattr(self, path: str, _body: bytes) -> bytes:
        return struct.pack("<QII", 0, 0, 0) + self._attr(path)

    def _setattr(self, path: str, body: bytes) -> bytes:
        valid, _, _, size = struct.unpack_from("<IIQQ", body)
        (mode,) = struct.unpack_from("<I", body, 68)
        if valid & 1:
            os.chmod(path, mode & 0o7777)
        if valid & 8:
            os.truncate(path, size)
        return self._getattr(path, b"")

    def _mkdir(self, path: str, body: bytes) -> bytes:
        mode, umask = struct.unpack_from("<II", body)
        made = self._child(path, body[8:])
        os.mkdir(made, mode & ~umask)
        return self._entry(made)

    def _unlink(self, path: str, body: bytes) -> bytes:
        os.unlink(self._child(path, body))
        return b""

    def _rmdir(self, path: str, body: bytes) -> bytes:
        os.rmdir(self._child(path, body))
        return b""

    def _rename(self, path: str, body: bytes, start: int = 8) -> bytes:
        (folder,) = struct.unpack_from("<Q", body)
        old, new, *_ = body[start:].split(b"\0")
        source, target = self._child(path, old), self._child(self._paths[folder], new)
        os.rename(source, target)
        for number, known in list(self._paths.items()):
            if known == source or known.startswith(f"{source}/"):
                self._paths[number] = target + known[len(source) :]
        self._numbers = {one: number for number, one in self._paths.items()}
        return b""

    def _rename2(self, path: str, body: bytes) -> bytes:
        if struct.unpack_from("<I", body, 8)[0]:
            raise OSError(errno.EINVAL, "")
        return self._rename(path, body, 16)

    def _open(self, path: str, body: bytes) -> bytes:
        (flags,) = struct.unpack_from("<I", body)
        return struct.pack("<QII", os.open(path, flags & ~os.O_NOFOLLOW), 0, 0)

    def _create(self, path: str, body: bytes) -> bytes:
        flags, mode, umask, _ = struct.unpack_from("<4I", body)
        made = self._child(path, body[16:])
        handle = os.open(made, flags | os.O_CREAT, mode & 0o7777 & ~umask)
        return self._entry(made) + struct.pack("<QII", handle, 0, 0)

    def _read(self, _path: str, body: bytes) -> bytes:
        handle, offset, size = struct.unpack_from("<QQI", body)
        return os.pread(handle, size, offset)

    def _write(self, _path: str, body: bytes) -> bytes:
        handle, offset, size = struct.unpack_from("<QQI", body)
        return struct.pack("<II", os.pwrite(handle, body[40 : 40 + size], offset), 0)

    def _close(self, _path: str, body: bytes) -> bytes:
        os.close(struct.unpack_from("<Q", body)[0])
        return b""

    def _opendir(self, _path: str, _body: bytes) -> bytes:
        return struct.pack("<QII", 0, 0, 0)

    def _readdir(self, path: str, body: bytes) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        out = b""
        for number, name in enumerate(sorted(os.listdir(path)), 1):
            if number > offset:
                kind = os.lstat(f"{path}/{name}").st_mode >> 12
                said = os.fsencode(name)
                one = struct.pack("<QQII", number + 1, number, len(said), kind) + said
                one += bytes(-len(one) % 8)
                if len(out) + len(one) > size:
                    break
                out += one
        return out

    def _statfs(self, path: str, _body: bytes) -> bytes:
        at = os.statvfs(path)
        return struct.pack("<5Q4I24x", at.f_blocks, at.f_bfree, at.f_bavail, at.f_files, at.f_ffree,
                           at.f_bsize, 255, at.f_frsize, 0)  # fmt: skip


def main(folder: str, point: str, kind: str) -> None:
    handle = os.open("/dev/fuse", os.O_RDWR)
    how = f"fd={handle},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"there", point.encode(), kind.encode(), _NOSUID_NODEV, how.encode()):
        sys.exit(os.strerror(ctypes.get_errno()))
    print("there", flush=True)
    served = _Folder(folder)
    while True:
        try:
            asked = os.read(handle, _SIZE + 4096)
        except OSError as e:
            if e.errno == errno.EINTR:
                continue
            return  # it was unmounted
        _, code, unique, node, *_ = _IN.unpack_from(asked)
        try:
            said, error = served.answer(code, node, asked[_IN.size :]), 0
        except OSError as e:
            said, error = b"", -(e.errno or errno.EIO)
        if said is not None:
            os.write(handle, _OUT.pack(_OUT.size + len(said), error, unique) + said)


if __name__ == "__main__":
    main(*sys.argv[1:])
