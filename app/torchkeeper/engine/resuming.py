"""Files on their way: what is there of those whose transfer broke off, at this end
(``stores.parts``), and what goes to another machine without passing by whoever asks.
"""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
import time

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.messages import bundles as msg
from torchkeeper.engine.mux import SILENCE
from torchkeeper.engine.session import Session
from torchkeeper.stores import parts
from torchkeeper.stores.ssh import parse

#: Seconds between two looks at ssh; bytes of what it says and hears at once, and that are kept; how
#: it ends where the way is at fault, and not what it runs.
_TURN, _SAYS, _SAID, _NO_WAY = 0.1, 1 << 16, 2000, 255


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
    """Write these stretches of the file ``path`` into the file ``to``, but nothing before what is
    in that, ``mark``, has come from there: the name may be another machine's here. Whether all has
    arrived says that machine. Raises Problem("ssh-direct"), or ("ssh-lost") once something goes.
    """
    to, pipe, mark, said = parse(params["to"]), subprocess.PIPE, params["mark"].encode(), b""
    name, left, seen, hears = shlex.quote(to.path), [*params["stretches"]][::-1], False, True
    does = to.command(f"cat {name}; cat > {name}", "BatchMode=yes")
    try:
        with (
            open(params["path"], "rb") as file,
            subprocess.Popen(does, 0, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT) as ssh,
        ):
            assert ssh.stdin and ssh.stdout
            size = os.fstat(file.fileno()).st_size
            done = size - sum(end - begin for begin, end in left)
            into, out = ssh.stdin.fileno(), ssh.stdout.fileno()
            os.set_blocking(into, False)
            os.set_blocking(out, False)
            try:
                lives, latest = True, time.monotonic() + SILENCE
                while lives:
                    report.check()
                    report.progress(done, size, "bytes")
                    if not seen and time.monotonic() > latest:  # it may wait for what is to come
                        raise Problem("ssh-direct", why=f"It said nothing for {SILENCE:g} seconds.")
                    select.select([out] * hears, [into] * bool(seen and left), [], _TURN)
                    lives = ssh.poll() is None
                    # Not to its end: a master of connections, which ssh has begun, may hold it.
                    with contextlib.suppress(BlockingIOError):
                        said += (more := os.read(out, _SAYS))
                        hears = bool(more)
                    if not seen and mark in said:
                        seen, said = True, said.partition(mark)[2]
                    said = said[-_SAID:]
                    if seen and not left:
                        ssh.stdin.close()
                    elif seen:
                        begin, end = left.pop()
                        some = os.pread(file.fileno(), min(end - begin, _SAYS), begin)
                        try:
                            count = os.write(into, some)
                        except BlockingIOError:
                            count = 0
                        except BrokenPipeError:  # it takes no more, and says why
                            left.clear()
                            continue
                        done += count
                        if some and begin + count < end:
                            left.append((begin + count, end))
            finally:
                ssh.kill()
    except OSError as e:
        raise Problem("ssh-direct", why=e.strerror or str(e)) from e
    if status := ssh.returncode:
        why = said.decode(errors="replace").strip() or f"ssh ended with exit status {status}."
        if seen and status in (_NO_WAY, -signal.SIGKILL):
            raise Problem("ssh-lost", machine=to.machine, why=why)
        raise Problem("ssh-direct", why=why, elsewhere=not seen and status != _NO_WAY)
    return {}
