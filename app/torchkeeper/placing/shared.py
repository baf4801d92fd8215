"""A folder that many machines see, by which a batch system's jobs are asked and answer (the other
side: ``engine.batch``): in it the code of engines, the files that several jobs need, and a folder
for each job. All of it is private, and gone in the end.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import tempfile
import threading
import time
from collections.abc import Mapping
from typing import Any

from torchkeeper.client.engines.process import encoded
from torchkeeper.client.engines.travel import archive
from torchkeeper.client.words.problems import answered, failing_as, printable, user_error
from torchkeeper.client.words.tongue import tr
from torchkeeper.engine import batch, protocol
from torchkeeper.placing.target import Answer, Heard, Lost, Unit, check_size
from torchkeeper.stores.atomic import atomic_write, remove
from torchkeeper.stores.folders import locks
from torchkeeper.stores.names import SUFFIX

#: Seconds until a folder in which nobody shows that he is there is nobody's, where this machine
#: does not know that he is gone.
_OLD = 3600.0
_CODE, _UNIT = "engine.zip", "unit-"


class Shared:
    """The folder, made below ``above``. Raises UserError."""

    def __init__(self, above: str, kind: str) -> None:
        self._lock, self._beaten = threading.Lock(), 0.0
        self._sent = dict[tuple[str, int, int], tuple[str, str]]()
        self._me, self._above = locks.here(), os.path.abspath(above)
        self._prefix = (
            f"torchkeeper-{kind}-{hashlib.sha256(os.fsencode(self._above)).hexdigest()[:8]}-"
        )
        with failing_as("place-unwritable", place=above):
            os.makedirs(above, 0o700, exist_ok=True)
            self.path = tempfile.mkdtemp(prefix=self._prefix, dir=self._above)
            self.code = os.path.join(self.path, _CODE)
            self.beat()
            shutil.copyfile(archive(), self.code)
            self._sweep()

    def beat(self) -> None:
        """Show jobs that somebody waits for them, and others who; to be called again and again."""
        if (now := time.monotonic()) - self._beaten > batch.BEATS or not self._beaten:
            self._beaten = now
            with atomic_write(os.path.join(self.path, batch.ALIVE), 0o600) as file:
                file.write(json.dumps({**self._me, "now": now}).encode())

    def _sweep(self) -> None:
        """Remove folders of those who were ended by force, and had no job that did it."""
        now = os.stat(os.path.join(self.path, batch.ALIVE)).st_mtime
        with os.scandir(self._above) as found:
            for one in found:
                with contextlib.suppress(OSError):
                    mine = one.name.startswith(self._prefix) and one.is_dir(follow_symlinks=False)
                    if mine and _is_nobodys(one.path, now):
                        remove(one.path)

    def is_nobodys(self, job: str) -> bool:
        """Whether a job of this name was asked for below ``above``, and nobody waits for it."""
        if not re.fullmatch(rf"{self._prefix}[a-z0-9_]+-{_UNIT}[a-z0-9_]+", job, re.ASCII):
            return False
        folder, _, unit = job.rpartition(f"-{_UNIT}")
        return not os.path.isdir(os.path.join(self._above, folder, f"{_UNIT}{unit}"))

    def send(self, path: str) -> tuple[str, str]:
        """What a file of here is called there, and its digest; each goes once. Raises OSError."""
        status = os.stat(path)
        known = path, status.st_mtime_ns, status.st_size
        with self._lock:
            if known not in self._sent:
                sha = batch.digest(path)
                name = os.path.join(self.path, sha + os.path.splitext(path)[1])
                _copy(path, name)
                self._sent[known] = name, sha
            return self._sent[known]

    def close(self) -> None:
        remove(self.path)


def _is_nobodys(folder: str, now: float) -> bool:
    """Whether a folder is this user's, and whoever made it is gone. Raises OSError."""
    alive = os.path.join(folder, batch.ALIVE)
    status = os.stat(alive, follow_symlinks=False)
    if status.st_uid != os.geteuid():
        return False
    try:
        gone = locks.is_gone(json.loads(batch.more(alive, 0)))
    except (ValueError, AttributeError, RecursionError):
        gone = None
    return now - status.st_mtime > _OLD if gone is None else gone


class Asked:
    """A unit, in a folder of its own, and what is told of it. name: of its job.
    Raises UserError.
    """

    def __init__(self, shared: Shared, unit: Unit) -> None:
        self._shared, self._unit = shared, unit
        with failing_as("place-unwritable", place=shared.path):
            self.path = tempfile.mkdtemp(prefix=_UNIT, dir=shared.path)
            self.name = "-".join(map(os.path.basename, (shared.path, self.path)))
            try:
                self._ask()
            except BaseException:
                self.close()
                raise
        self._lines = protocol.Lines()
        self._answer = Answer(unit.op)
        #: Bytes that were heard, and whether it is to stop.
        self.heard, self._stopped = 0, False

    @property
    def log(self) -> str:
        return os.path.join(self.path, batch.LOG)

    @property
    def _output(self) -> str:
        return os.path.join(self.path, f"output{SUFFIX}") if self._unit.output else ""

    def _ask(self) -> None:
        unit, digests, there = self._unit, dict[str, str](), dict[str, object]()
        for name, some in unit.files.items():
            sent = [self._shared.send(x) for x in ([some] if isinstance(some, str) else some)]
            digests |= dict(sent)
            there[name] = sent[0][0] if isinstance(some, str) else [path for path, _ in sent]
        if self._output:
            there["output"] = self._output
        about = {"files": digests, "output": self._output, "silence": batch.SILENCE}
        head = protocol.encode(about)
        asked = encoded({"id": 1, "op": unit.op, "params": {**unit.params, **there}})
        # All are there from the start: that a file is missing is remembered by file systems.
        for name, data in ((batch.ASKED, head + asked), (batch.TOLD, b""), (batch.LOG, b"")):
            with open(os.path.join(self.path, name), "wb") as file:
                file.write(data)

    def cancel(self) -> None:
        self._stopped = True
        with (
            failing_as("place-unwritable", place=self.path),
            open(os.path.join(self.path, batch.ASKED), "ab") as file,
        ):
            file.write(protocol.encode({"cancel": 1}))

    def hear(self, heard: Heard) -> Mapping[str, Any] | None:
        """What has come since; the last words of the job where they are among it. Raises Lost for
        what no engine says.
        """
        self._shared.beat()
        try:
            data = batch.more(os.path.join(self.path, batch.TOLD), self.heard)
            self.heard += len(data)
            for line in self._lines.feed(data):
                said = protocol.decode(line)
                if said.get("type") == batch.END:
                    return said
                if said.get("type") != batch.BEAT:
                    self._answer.take(protocol.message_from(said), heard)
        except (OSError, protocol.WireError) as e:
            raise lost(tr("The job does not speak as an engine does."), str(e), self.tail()) from e
        return None

    def result(self, told: Mapping[str, Any]) -> Any:
        """The result, now that the last was told, and the unit's output is here. Raises Lost, and
        UserError for what the engine answers.
        """
        if (answer := self._answer.told) is None:
            file, status = told.get("file"), told.get("status")
            why = tr("It exited with status {code}.", code=str(status)[:20])
            if file:
                why = tr("{file} is not there as it was sent.", file=str(file)[:80])
            raise lost(tr("The engine stopped before it was done."), why, self.tail())
        if answer.type == "error":
            error = answer.body["error"]
            if error["code"] == "cancelled" and not self._stopped:
                # Whoever has the machine wants it back.
                raise lost(tr("The engine was ended before it was done."), self.tail())
            raise answered(error)
        if self._output and "sha256" in told:
            try:
                check_size(os.path.getsize(self._output), self._unit.output)
                _copy(self._output, self._unit.output)
                whole = batch.digest(self._unit.output) == told["sha256"]
            except OSError as e:
                raise lost(tr("The bundle of the job is not here."), e.strerror or str(e)) from e
            if not whole:
                os.unlink(self._unit.output)
                raise lost(tr("The bundle is not what the job has written."))
        return answer.body["result"]

    def tail(self) -> str:
        """The last lines of the log."""
        with contextlib.suppress(OSError):
            data = batch.more(self.log, max(os.path.getsize(self.log) - 4096, 0))
            return "\n".join(map(printable, data.decode(errors="replace").splitlines()[-5:]))
        return ""

    def close(self) -> None:
        remove(self.path)


def lost(what: str, *why: str) -> Lost:
    told = "\n".join(one.strip() for one in why if one.strip())
    return Lost(user_error("slurm-job-lost", {"what": what, "why": told}))


def _copy(source: str, target: str) -> None:
    with open(source, "rb") as opened, atomic_write(target, 0o600) as file:
        shutil.copyfileobj(opened, file, 1 << 20)
