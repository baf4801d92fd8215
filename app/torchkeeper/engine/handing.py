"""A file that goes from this machine to another without passing by whoever asks: by the ssh of the
account here, with its keys, which asks nobody.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import subprocess
from typing import IO, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.messages import bundles as msg
from torchkeeper.engine.session import Session
from torchkeeper.stores import parts
from torchkeeper.stores.ssh import parse

#: Seconds between two looks whether it is to end, and characters of what ssh says, the last.
_TURN, _SAID = 0.1, 2000


def hand_over(_: Session, params: msg.HandOverParams, report: Report) -> msg.HandOverResult:
    """Write the file ``path`` into the new file ``to``; tells the pieces of it, as they were sent.
    Whether they have arrived says that machine. Raises Problem("ssh-direct").
    """
    to, file = parse(params["to"]), params["path"]
    writes = to.command(f"cat > {shlex.quote(to.path)}", "BatchMode=yes")
    try:
        with open(file, "rb") as source:
            pipe = subprocess.PIPE
            with subprocess.Popen(
                writes, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, bufsize=0
            ) as ssh:
                sending = _Sending(source, ssh, report)
                try:
                    pieces = sending.send()
                finally:
                    ssh.kill()
    except OSError as e:
        raise Problem("ssh-direct", why=e.strerror or str(e)) from e
    if ssh.returncode or sum(length for length, _ in pieces) != sending.size:
        why = sending.said.decode(errors="replace").strip()
        raise Problem("ssh-direct", why=why or f"ssh ended with exit status {ssh.returncode}.")
    return {"pieces": pieces}


class _Sending:
    """A file that goes into ssh as it is read. said: what ssh says, the last of it."""

    def __init__(self, source: IO[bytes], ssh: subprocess.Popen[bytes], report: Report) -> None:
        assert ssh.stdin and ssh.stdout
        self._source, self._ssh, self._report = source, ssh, report
        self._into, self._out = ssh.stdin, ssh.stdout
        self._done, self.size, self.said = 0, os.fstat(source.fileno()).st_size, b""
        os.set_blocking(self._into.fileno(), False)

    def send(self) -> list[parts.Piece]:
        """Send all, and wait for the end of ssh; what has gone. Raises Cancelled."""
        pieces = list[parts.Piece]()
        with contextlib.suppress(BrokenPipeError):  # why says ssh
            pieces += parts.cut(cast("IO[bytes]", self), self.size)
        self._into.close()
        # Not until nothing more can be said: a master of connections, which it has begun, may stay.
        while self._ssh.poll() is None:
            self._turn()
        self._turn()
        return pieces

    def read(self, most: int) -> bytes:
        """Some of the file, once it is on its way."""
        data = self._source.read(most)
        left = memoryview(data)
        while left:
            left = left[self._turn(left) :]
        self._done += len(data)
        self._report.progress(self._done, self.size, "bytes")
        return data

    def _turn(self, data: bytes | memoryview = b"") -> int:
        """Write some of it, and hear what is said; how many bytes have gone."""
        self._report.check()
        into = [self._into] if data else []
        reads, writes, _ = select.select([self._out], into, [], _TURN)
        if reads:
            self.said = (self.said + os.read(self._out.fileno(), _SAID))[-_SAID:]
        return os.write(self._into.fileno(), data) if writes else 0
