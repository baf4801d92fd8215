"""Facts from bytes, by way of a reader process that may die of them.

A reader that is stuck on an entry for STALL seconds is killed, that entry is called broken, and
the rest goes on with a new reader; a crash is the same event. Of a place that has a budget, an
entry may get less than that; then it is not broken for taking longer, but unread.
"""

from __future__ import annotations

import functools
import json
import os
import select
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from torchkeeper.artifacts.report import Report
from torchkeeper.stores import processes
from torchkeeper.stores.items import File, OnDisk, Source, batches

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Facts


# How long one look at a place may take: it earns time with every file that it meets, by what that
# holds on the disk, and spends it on reading. What an honest place earns is many times what its
# reading takes: a reader gets through 100 MB in a second, and a file is hashed at several hundred.
# Only time of a processor is spent, and numbers of bytes and entries, never time on the clock: a
# slow disk or a busy machine takes nothing from an honest place.

#: Seconds that every place has, and bytes on the disk for which it gets one more.
BASE = 3.0
RATE = 4 << 20
#: What is spent, in seconds: on any entry, on a byte that is hashed, on a reader that was ended.
ENTRY = 50e-6
BYTE = 1 / (250 << 20)
DEATH = 0.05
#: Seconds that one entry gets at least, where there is any time left.
LEAST = 0.125


class Budget:
    """The time that one look at one place has left."""

    def __init__(self) -> None:
        self.left = BASE
        #: How many readers had to be ended here.
        self.deaths = 0
        self._seen = OnDisk()

    @property
    def over(self) -> bool:
        """Whether nothing more is to be read."""
        return self.left <= 0

    def meet(self, files: Sequence[File], source: Source) -> None:
        """Earn what an entry's files hold, and spend what any entry takes; a file with several
        names earns once, and a byte no more for the block of the disk that it takes.
        """
        self.brings(sum([file.size for file in files if file.inode is None]))
        for file in self._seen.new([file for file in files if file.inode]):
            self.brings(held(file, source))
        self.left -= ENTRY

    def brings(self, size: int) -> None:
        """So many bytes are there, of whatever they are."""
        self.left += size / RATE

    def hashes(self, size: int) -> bool:
        """Whether so many bytes can be hashed; their time is spent then."""
        if (cost := size * BYTE) > max(self.left, 0):
            return False
        self.left -= cost
        return True

    def allows(self, stall: float) -> float:
        """Seconds of the processor for one entry, ``stall`` at most: half after each death."""
        return max(LEAST, min(stall * 0.5 ** min(self.deaths, 10), self.left))

    def died(self) -> None:
        self.deaths += 1
        self.left -= DEATH


def held(file: File, source: Source) -> int:
    """How many bytes of a file are really there: fewer than its size where it has holes."""
    if file.inode is None or file.allocated >= file.size:
        return file.size
    try:
        with source.open(file) as stream:
            return present(stream.fileno(), file.size, file.allocated)
    except OSError:
        return file.allocated


def present(handle: int, size: int, allocated: int) -> int:
    """How many bytes of an open file are there, which takes so many on the disk. One that takes
    less than its size and has no hole (SEEK_HOLE of lseek(2)) may be compressed, not written yet,
    or on sshfs: it is all there. Leaves it at its beginning. Raises OSError.
    """
    if allocated >= size or not hasattr(os, "SEEK_HOLE"):
        return size
    try:
        return size if os.lseek(handle, 0, os.SEEK_HOLE) >= size else allocated
    finally:
        os.lseek(handle, 0, os.SEEK_SET)


#: Seconds a reader may take for one entry.
STALL = 2.0
#: How often STALL it may take if it is hardly given the processor.
PATIENCE = 15
#: Bytes and entries sent to a reader at once.
BATCH_BYTES = 1 << 20
BATCH_ITEMS = 64
#: Facts of kernels that are remembered, so that those that are alike are one object.
_ALIKE = 1024
#: Payloads over this are not read: facts could not fit a reader's memory.
MAX_PAYLOAD = 160 << 20

_TEXTS = ("name", "torch", "device", "problem", "code_key", "digest", "why", "direction", "role",
          "group", "triton", "gpu", "python", "own_key", "libs")  # fmt: skip
_MAX_TEXT = 300
#: Lists of instructions and widths with blanks between: a part of one would say another thing.
_LISTS = ("instructions", "widths")
_MAX_LIST = 2000
#: Names of classes and functions of one entry.
_MAX_NAMES = 500
#: Seconds for an answer after which it is asked what the reader has taken of the processor.
_LONG = 0.02


@dataclass(frozen=True)
class Reading:
    """What a reader is asked about: an entry's kind, the names of its files, and some contents."""

    kind: str
    names: list[str]
    contents: dict[str, bytes]

    @functools.cached_property
    def size(self) -> int:
        return sum(map(len, self.contents.values()))


def begin() -> subprocess.Popen[bytes]:
    """Start a process that reads, and talks by pipes. Raises OSError."""
    return processes.begin("torchkeeper.stores.reader_process", {"PYTHONHASHSEED": "random"})


class Reader(AbstractContextManager["Reader"]):
    """A reader process, started when it is first needed and restarted after each death."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""
        #: What the process has taken of the processor when that was last asked, in seconds.
        self._worked = 0.0
        #: The batch that the reader was sent ahead.
        self._begun: list[Reading] = []
        self._alike: dict[bytes, Facts] = {}

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def close(self) -> None:
        process, self._process, self._begun = self._process, None, []
        if process:
            processes.end(process)

    def begin(self, readings: list[Reading], full: bool = False) -> None:
        """Let the reader begin with what ``facts`` will be asked about next."""
        self._drop()
        for batch in batches(readings, BATCH_BYTES, BATCH_ITEMS):
            if self._sent(batch, full):
                self._begun = batch
            return

    def _drop(self) -> None:
        """Forget what was begun; its answers would be taken for others."""
        if self._begun:
            self.close()

    def facts(
        self, asked: list[Reading], report: Report, full: bool = False, budget: Budget | None = None
    ) -> list[Facts]:
        """The facts of each reading, checked; "entry-unread" where there was no time for it."""
        if not asked:
            return []
        if self._begun and self._begun[0] is not asked[0]:
            self._drop()
        found: list[Facts] = []
        for todo in batches(asked, BATCH_BYTES, BATCH_ITEMS):
            while todo:
                report.check()
                if budget and budget.over:
                    self._drop()
                    found += [_problem("entry-unread") for _ in todo]
                    break
                answers = self._ask(todo, report, full, budget)
                found += answers
                todo = todo[len(answers) :]
        return found

    def _ask(
        self, batch: list[Reading], report: Report, full: bool, budget: Budget | None
    ) -> list[Facts]:
        """Answers to a batch, as far as time allows, or up to and with what the reader dies of."""
        begun, self._begun = self._begun, []
        if not begun and not self._sent(batch, full):
            return [_problem("reader-crashed")]
        process = self._process
        assert process
        answers: list[Facts] = []
        while len(answers) < len(batch):
            asked = time.monotonic()
            line, problem = self._line(process, report, budget)
            if budget and (line is None or time.monotonic() - asked > _LONG):
                self._spend(process, budget)
            if line is None:
                if budget:
                    budget.died()
                answers.append(_problem(problem))
                self.close()
                break
            answers.append(self._said(line, batch[len(answers)].kind, full))
            if budget and budget.over and len(answers) < len(batch):
                self.close()
                break
        if budget and self._process:
            self._spend(process, budget)
        return answers

    def _said(self, line: bytes, kind: str, full: bool) -> Facts:
        """The facts in a line; of kernels the same object as before: many are alike."""
        if (known := self._alike.get(line)) is not None and kind == "triton":
            return known
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        facts = _checked(answer) if isinstance(answer, dict) else _problem("reader-crashed")
        if kind == "triton" and not full:
            if len(self._alike) >= _ALIKE:
                self._alike.clear()
            self._alike[line] = facts
        return facts

    def _spend(self, process: subprocess.Popen[bytes], budget: Budget) -> None:
        """Charge what the reader has taken since that was last done."""
        if process.poll() is None:
            worked = processes.processor_seconds(process.pid)
            budget.left -= max(worked - self._worked, 0.0)
            self._worked = worked

    def _sent(self, batch: list[Reading], full: bool) -> bool:
        """Send a batch, to a new reader where there is none; whether it took all of it."""
        if self._process is None:
            self._process, self._rest = begin(), b""
            self._worked = processes.processor_seconds(self._process.pid)
        process = self._process
        assert process.stdin
        header = [
            {"kind": r.kind, "names": r.names, "full": full,
             "sizes": {n: len(data) for n, data in r.contents.items()}}
            for r in batch
        ]  # fmt: skip
        try:
            process.stdin.write(json.dumps(header).encode() + b"\n")
            for reading in batch:
                for data in reading.contents.values():
                    process.stdin.write(data)
            process.stdin.flush()
        except OSError:
            self.close()
            return False
        return True

    def _line(
        self, process: subprocess.Popen[bytes], report: Report, budget: Budget | None
    ) -> tuple[bytes | None, str]:
        """The next line, or None and why there is none: the reader is dead, or has been silent for
        STALL seconds, or for what a budget allows. On a machine that is too busy to let it run, it
        is given PATIENCE times as long: only work on an entry is a sign of what is in it.
        """
        why = "" if b"\n" in self._rest else self._wait(process, report, budget)
        line, newline, self._rest = self._rest.partition(b"\n")
        return line if newline else None, why

    def _wait(self, process: subprocess.Popen[bytes], report: Report, budget: Budget | None) -> str:
        """Until there is a whole line, or ``_line`` gives up: why it does."""
        assert process.stdout
        allowed = budget.allows(STALL) if budget else STALL
        deadline = time.monotonic() + allowed
        last = deadline + (PATIENCE - 1) * STALL
        worked = processes.processor_seconds(process.pid)
        while b"\n" not in self._rest:
            now = time.monotonic()
            if now >= deadline:
                if processes.processor_seconds(process.pid) - worked > allowed / 2:
                    return "entry-unread" if allowed < STALL else "reader-stuck"
                if now >= last:
                    return "reader-starved"
                deadline = now + allowed / 10
            ready, _, _ = select.select([process.stdout], [], [], min(deadline - now, 0.05))
            if not ready:
                try:
                    report.check()
                except BaseException:
                    self.close()
                    raise
                continue
            data = os.read(process.stdout.fileno(), 1 << 20)
            if not data:
                process.wait()
                return "reader-crashed"
            self._rest += data
        return ""


def _texts(value: object, most: int | None = None) -> list[str]:
    some = value[:most] if isinstance(value, list) else []
    return [one[:_MAX_TEXT] for one in some if isinstance(one, str)]


def _problem(code: str) -> Facts:
    return _checked({"problem": code})


def _checked(answer: Mapping[str, object]) -> Facts:
    """The answer with every text a bounded text: a reader may have been taken over."""
    checked = dict(answer)
    for name in _TEXTS:
        value = checked.get(name)
        if value is not None:
            checked[name] = value[:_MAX_TEXT] if isinstance(value, str) else None
    for name in _LISTS:
        value = checked.get(name)
        if value is not None and not (isinstance(value, str) and len(value) <= _MAX_LIST):
            checked[name] = None
    sets = checked.get("requires")
    texts = sets if isinstance(sets, list) else [None]
    if not all(isinstance(one, str) and len(one) <= _MAX_TEXT for one in texts):
        checked["requires"] = None
    widths = checked.get("widths")
    if isinstance(widths, str) and not all(part.isdecimal() for part in widths.split()):
        checked["widths"] = None
    # As JSON has them: a bool is no number.
    if type(checked.get("compile_s")) not in (int, float):
        checked["compile_s"] = None
    if "warp" in checked and type(checked["warp"]) is not int:
        checked["warp"] = None
    checked["opaque"] = True if checked.get("opaque") else None
    for name in ("fx_keys", "triton_keys", "code_keys", "code_names", "prints"):
        checked[name] = _texts(checked.get(name))
    for name in {"strange", "globals"} & checked.keys():
        checked[name] = _texts(checked[name], _MAX_NAMES)
    value = checked.get("kernels")
    checked["kernels"] = [
        (pair[0][:_MAX_TEXT], pair[1][:64])
        for pair in (value if isinstance(value, list) else [])
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(x, str) for x in pair)
    ]
    from torchkeeper.artifacts.manifest import origin  # only here: what is known is not read

    checked["made_in"] = origin(checked.get("made_in"))
    return cast("Facts", checked)
