"""Files on their way: what is there of those whose transfer broke off, at this end
(``stores.parts``), and what goes to another machine without passing by whoever asks.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import time

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.messages import bundles as msg
from torchkeeper.engine.session import Session
from torchkeeper.stores import parts
from torchkeeper.stores.ssh import parse

#: Seconds between two looks at ssh; bytes that are read of what it says, and kept.
_TURN, _SAYS, _SAID = 0.1, 1 << 16, 2000


def resume(_: Session, params: msg.ResumeParams, report: Report) -> msg.ResumeResult:
    """Without ``output``, the pieces of the file ``path``. With ``pieces``, the new file
    ``output`` has what is there of them, and the result what is missing. With ``stretches``, these
    of ``path`` make the new file ``output``, or with ``back`` become those of ``output``.
    """
    path, output = params.get("path", ""), params.get("output", "")
    stretches, pieces = params.get("stretches", ()), params.get("pieces")
    try:
        if pieces is not None:
            with open(output, "x+b") as made:
                wanted = [(size, digest) for size, digest in pieces]  # hashable, as JSON has none
                missing, used = parts.fill(wanted, made)
            parts.keep(output)
            parts.forget(*used)
            return {"missing": missing}
        with open(path, "rb") as source:
            if not output:
                found = []
                for piece in parts.cut(source, os.fstat(source.fileno()).st_size):
                    report.check()
                    found.append(piece)
                return {"pieces": found}
            with open(output, "r+b" if params.get("back") else "xb") as made:
                if params.get("back"):
                    parts.scatter(iter(lambda: source.read(parts.BLOCK), b""), stretches, made)
                    parts.forget(path)
                else:
                    made.writelines(parts.blocks(source, stretches))
    except (OSError, ValueError) as e:
        raise Problem("output-unwritable", file=output or path, why=str(e)) from e
    return {}


def hand_over(_: Session, params: msg.HandOverParams, report: Report) -> msg.HandOverResult:
    """Write the file ``path`` into the new file ``to``. Whether it has arrived says that machine.
    Raises Problem("ssh-direct").
    """
    to, pipe, said = parse(params["to"]), subprocess.PIPE, b""
    does = to.command(f"cat > {shlex.quote(to.path)}", "BatchMode=yes")
    try:
        with (
            open(params["path"], "rb") as file,
            subprocess.Popen(does, stdin=file, stdout=pipe, stderr=subprocess.STDOUT) as ssh,
        ):
            assert ssh.stdout
            size, hears = os.fstat(file.fileno()).st_size, ssh.stdout.fileno()
            os.set_blocking(hears, False)
            try:
                lives = True
                while lives:
                    report.check()
                    # Where ssh is in the file, we are, too.
                    report.progress(os.lseek(file.fileno(), 0, os.SEEK_CUR), size, "bytes")
                    time.sleep(_TURN)
                    lives = ssh.poll() is None
                    # Not to its end: a master of connections, which ssh has begun, may hold it.
                    with contextlib.suppress(BlockingIOError):
                        said = (said + os.read(hears, _SAYS))[-_SAID:]
            finally:
                ssh.kill()
    except OSError as e:
        raise Problem("ssh-direct", why=e.strerror or str(e)) from e
    if ssh.returncode:
        why = said.decode(errors="replace").strip()
        raise Problem("ssh-direct", why=why or f"ssh ended with exit status {ssh.returncode}.")
    return {}
