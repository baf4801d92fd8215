"""Warm-ups in processes of their own, one of which is killed; and what is to be true afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import random
import select
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tests.conftest import DATA
from tests.pace import LONG
from torchkeeper.client.engines.process import Engine
from torchkeeper.engine.protocol import Message
from torchkeeper.stores import places
from torchkeeper.warm import processes

ROOT = Path(__file__).parent.parent
#: Seconds that anything may take on a machine with too much to do.
PATIENCE = LONG
#: Seconds in which all have to notice that one of them is gone, to end, and to tidy up: an engine
#: waits that long for what it is at (PATIENCE in engine/serve.py).
NOTICE = 20.0
#: What the processes of a warm-up run, in the order in which they start each other.
_RUN = {"engine": "torchkeeper.engine.serve", "worker": "torchkeeper.warm.job"}
_TURN = 0.01
#: The end of a recipe of each source, a variant of it, where that is kept, and as how many.
_SOURCES = {
    "callable": (
        "[compile]\ndynamic = false",
        "[[callable]]\nfunction = 'variant_models:wave'\ninputs = [{{ shape = [{n}] }}]",
        "fxgraph/*/*",
        1,
    ),
    "eager": (
        "[compile]\ndevice = 'cpu'",
        "[[eager]]\nop = 'aten::sin'\ninputs = [{{ shape = [{n}] }}]",
        "aoti_eager/*/*/lib/??????*",
        1,
    ),
    "triton": (
        "",
        "[[triton]]\nkernel = 'recipe_kernels.py:tuned'\ntargets = ['cuda:90', 'hip:gfx942']\n"
        "signature = {{ x = '*fp32:16', n = 'i32' }}\nconstants = {{ scale = {n} }}",
        "triton/*/*",
        4,
    ),
}


class Moment(NamedTuple):
    """Once so many more files are in the place, and then so many seconds later."""

    files: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.seconds:.2f} s after {self.files} files"


@dataclass
class Warm:
    """A warm-up that was just started by "command" or by "window"; ``mark`` is a variable in the
    environment of all its processes.
    """

    by: str
    process: subprocess.Popen[bytes]
    mark: str
    log: Path
    _rest: bytes = b""

    def ask(self, **what: Any) -> None:
        """Have the window do something."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self, name: str) -> dict[str, Any]:
        """The next that the window says with this in it."""
        assert self.process.stdout
        pipe, deadline = self.process.stdout.fileno(), time.monotonic() + PATIENCE
        while True:
            while b"\n" not in self._rest:
                assert time.monotonic() < deadline, self.said
                if select.select([pipe], [], [], 1.0)[0]:
                    data = os.read(pipe, 1 << 16)
                    assert data, self.said
                    self._rest += data
            line, _, self._rest = self._rest.partition(b"\n")
            told: dict[str, Any] = json.loads(line)
            if name in told:
                return told

    @property
    def said(self) -> str:
        """What it has printed until now, less what the offscreen platform always says."""
        lines = self.log.read_text().splitlines()
        return "\n".join(line for line in lines if "propagateSizeHints" not in line)

    @property
    def left(self) -> set[int]:
        """Its processes that are there."""
        return processes.marked(self.mark)

    def find(self, which: str) -> list[int]:
        """Those that are its "worker", "engine", "command" or "window"."""
        if which not in _RUN:
            return [self.process.pid]
        if which == "engine" and self.by == "window":
            # It may have others, which look ahead at what the recipe lacks.
            return sorted({parent for pid in self.find("worker") if (parent := _parent(pid))})
        found = []
        for pid in self.left:
            with contextlib.suppress(OSError, IndexError):  # it ends just now
                words = Path("/proc", str(pid), "cmdline").read_bytes().split(b"\0")
                # Not a copy that is about to become something else, and not the window's own
                # engine, which runs with -I.
                if words[1] == b"-c" and _RUN[which].encode() in words[2] and os.getsid(pid) == pid:
                    found.append(pid)
        return sorted(found)

    def kill(self, which: str, choice: random.Random) -> None:
        """SIGKILL for one of these, as soon as there is one."""
        deadline = time.monotonic() + PATIENCE
        while not (found := self.find(which)):
            assert time.monotonic() < deadline, self.said
            time.sleep(_TURN)
        os.kill(choice.choice(found), signal.SIGKILL)


def _parent(pid: int) -> int:
    """Who started a process; 0 where it is gone, or an orphan."""
    try:
        parent = int(Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0
    return parent if parent != 1 else 0


@dataclass
class Killing:
    """A place, and warm-ups into it that do not end well."""

    folder: Path
    python: str
    temporary: Path
    engine: Engine
    source: str = "callable"
    place: Path = field(init=False)
    started: list[Warm] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.other_place()

    def other_place(self, source: str = "callable") -> None:
        """Go on in an empty place, with recipes of a source."""
        self.source = source
        self.place = self.folder / f"place-{len(self.started)}"
        self.place.mkdir()

    def start(self, by: str, jobs: int = 1, variants: int = 48) -> Warm:
        """A warm-up of so many variants for each job: the first is the last of those that are
        there, the second what an earlier one was interrupted at.
        """
        recipe = self._recipe(variants * jobs)
        mark = f"KILLED_{uuid.uuid4().hex}"
        # Without one, windows find each other in a folder for temporary files, which stays.
        runtime = self.folder / "runtime"
        runtime.mkdir(mode=0o700, exist_ok=True)
        env = {**os.environ, "TMPDIR": str(self.temporary), "XDG_RUNTIME_DIR": str(runtime)}
        env[mark] = "1"
        log = self.folder / f"log-{len(self.started)}"
        if by == "window":
            env |= {"QT_QPA_PLATFORM": "offscreen", "TORCHKEEPER_TORCH_PYTHON": self.python}
            command = ["tests.gui.driven", str(self.place)]
        else:
            command = ["torchkeeper", "warm", str(recipe), "--into", str(self.place),
                       "--env", self.python, "--jobs", str(jobs)]  # fmt: skip
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", *command], env=env, cwd=ROOT, stderr=file,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE if by == "window" else file,
            )  # fmt: skip
        warm = Warm(by, process, mark, log)
        self.started.append(warm)
        if by == "window":
            warm.ask(warm=str(recipe), jobs=jobs)
        return warm

    def again(self, warm: Warm, variants: int = 48) -> None:
        """The next one, in the same window."""
        warm.ask(warm=str(self._recipe(variants)), jobs=1)

    def _recipe(self, variants: int) -> Path:
        head, one, entries, each = _SOURCES[self.source]
        done = len(list(self.place.glob(entries))) // each
        sizes = [max(done, 1) + more for more in range(variants)]
        recipe = self.folder / "recipe.toml"
        recipe.write_text("\n".join([*(one.format(n=n) for n in sizes), head]))
        return recipe

    def wait(self, warm: Warm, moment: Moment) -> None:
        """Until a moment from now."""
        enough, deadline = self.files() + moment.files, time.monotonic() + PATIENCE
        while self.files() < enough:
            assert warm.process.poll() is None, warm.said
            assert time.monotonic() < deadline, warm.said
            time.sleep(_TURN)
        time.sleep(moment.seconds)

    def files(self) -> int:
        """How many files and folders there are."""
        return sum(len(folders) + len(files) for _, folders, files in os.walk(self.place))

    def assert_well(self, warm: Warm) -> float:
        """None of its processes is left, nothing in the place is broken, and no folder of ours lies
        in that for temporary files; returns the seconds that this took to become true.
        """
        begun = time.monotonic()
        while why := self._not_well(warm):
            assert time.monotonic() < begun + NOTICE, f"{why}\n{warm.said}"
            time.sleep(0.05)
        return time.monotonic() - begun

    def _not_well(self, warm: Warm) -> str:
        if left := warm.left:
            return f"processes {left} are left"
        if bad := self.broken():
            return f"broken: {bad}"
        ours = [path.name for path in self.temporary.glob("torchkeeper-*")]
        return f"{ours} are left" if ours else ""

    def broken(self) -> list[dict[str, Any]]:
        """What a check calls broken, or a listing."""
        rows: list[dict[str, Any]] = []

        def heard(message: Message) -> None:
            if message.type == "rows":
                rows.extend(message.body["rows"])

        env = next(iter(json.loads((DATA / "environments.json").read_text()).values()))
        self.engine.call("check", {"place": str(self.place), "env": env}, heard)
        return [row for row in rows if row["verdict"] == "broken" or row["problem"]]

    def close(self) -> None:
        """End whatever a test that failed has left."""
        for warm in self.started:
            for pid in {*warm.left, *([warm.process.pid] if warm.process.poll() is None else [])}:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            warm.process.wait(PATIENCE)
            for pipe in (warm.process.stdin, warm.process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()


@contextlib.contextmanager
def killing(folder: Path, python: str, header_folder: Path) -> Iterator[Killing]:
    """A place in ``folder``, with a folder for temporary files of its own; the C++ header in that
    is the one in ``header_folder``.
    """
    for name in ("variant_models.py", "recipe_kernels.py"):
        (folder / name).write_bytes((DATA / name).read_bytes())
    temporary = folder / "tmp"
    temporary.mkdir()
    shared = header_folder / os.path.basename(places.default_folder())
    shared.mkdir(exist_ok=True)
    (temporary / shared.name).symlink_to(shared)
    with Engine() as engine:
        made = Killing(folder, python, temporary, engine)
        try:
            yield made
        finally:
            made.close()
