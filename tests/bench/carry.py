"""A bundle on the next machine: ``python -m tests.bench.carry [times]``.

Stock PyTorch runs the built-in recipe (tests/bench/judge.py), each time with an empty temporary
folder of its own: with nothing, with its own mega-cache, and with what a bundle placed there, under
the torch that made it and under the same torch at another path for another user. PyTorch's counters
tell hits and misses, and what lies in the cache folder afterwards which objects it built.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torchkeeper
from tests.bench import measure

#: How many times as fast as cold a bundle is to be that is imported as it is; and once the
#: environment is prepared, or where no header is precompiled, as fast as cold and as a mega-cache.
AS_IT_IS, PREPARED = 2.5, 6.0
#: The variable that leaves precompiled headers out, and its value.
PORTABLE = {"TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0"}
_JUDGE = Path(__file__).with_name("judge.py")


@dataclass(frozen=True)
class Side:
    """Whoever runs the recipe: an interpreter, and a user's name."""

    python: str
    user: str
    env: Mapping[str, str] = field(default_factory=dict)

    def variables(self, folder: Path) -> dict[str, str]:
        """The environment of a program that has this folder for its caches and its temporary
        files, and no variable of PyTorch's but its own.
        """
        ours = ("TORCH", "TRITON_", "OMP_", "TMPDIR")
        env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        temporary = folder / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        env |= {"TMPDIR": str(temporary), "TORCHINDUCTOR_CACHE_DIR": str(folder / self.user)}
        # What a probe told is kept for all runs of a user.
        env |= measure.environment(folder.parent / f"ours-{self.user}")
        return env | {"USER": self.user, "LOGNAME": self.user, **self.env}


def run(side: Side, folder: Path, *more: str) -> dict[str, Any]:
    """What the judge told of a run in a folder, and ``built``, the objects that appeared."""
    env = side.variables(folder)
    place = Path(env["TORCHINDUCTOR_CACHE_DIR"])
    before = _objects(place)
    app = str(Path(torchkeeper.__file__).parent.parent)
    done = subprocess.run(
        [side.python, str(_JUDGE), app, *more], env=env, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"The recipe failed under {side.python}:\n{done.stderr[-2000:]}")
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    after = _objects(place)
    built = sorted(str(path) for path in after if after[path] != before.get(path))
    return {**told, "built": built}


def _objects(place: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in place.rglob("*.so")}


def tk(side: Side, folder: Path, *arguments: str) -> str:
    """Run a command of ours, as it is for that side; returns what it printed."""
    env = side.variables(folder)
    command = [sys.executable, "-m", "torchkeeper", *arguments]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def elsewhere(python: str, folder: Path) -> str:
    """A second virtual environment of the same torch at another path; returns its interpreter.

    Its files are links to those of the first where one disk holds both: they are many, and big.
    """
    subprocess.run([python, "-m", "venv", "--without-pip", str(folder)], check=True)
    second = str(folder / "bin" / "python")
    where = "import sysconfig; print(sysconfig.get_path('platlib'))"
    found = "import torch; print(torch.__file__)"
    source = Path(_said(python, found)).parent.parent
    target = Path(_said(second, where))
    # What is installed beside torch may be our own package, which is not part of it.
    skipped = shutil.ignore_patterns("*torchkeeper*", "*.pth", "PySide6*", "shiboken6*")
    shutil.copytree(
        source, target, copy_function=_link, symlinks=True, ignore=skipped, dirs_exist_ok=True
    )
    assert Path(_said(second, found)).is_relative_to(target)
    return second


def _said(python: str, code: str) -> str:
    done = subprocess.run(
        [python, "-W", "ignore", "-c", code], stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout.strip()


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@dataclass
class Bench:
    """All runs, in folders below one: names of runs with their seconds, and what went wrong."""

    scratch: Path
    times: int
    seconds: dict[str, list[float]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def cold(self, name: str, side: Side, turn: int, *more: str) -> None:
        """A run with nothing, or with a mega-cache."""
        folder = self.scratch / f"{name}-{turn}".replace(" ", "-")
        self._note(name, run(side, folder, *more))
        shutil.rmtree(folder)

    def warm(self, name: str, side: Side, turn: int, bundle: Path, prepared: bool = False) -> None:
        """A run with what a bundle placed; everything has to hit, and nothing to be built."""
        folder = self.scratch / f"{name}-{turn}".replace(" ", "-").replace(",", "")
        place = side.variables(folder)["TORCHINDUCTOR_CACHE_DIR"]
        tk(side, folder, "import", str(bundle), "--into", place, "--trust", "--env", side.python)
        if prepared:
            tk(side, folder, "prepare", "--env", side.python)
        told = run(side, folder)
        self._note(name, told)
        misses = told["graphs"]["miss"] + told["autograd"]["miss"]
        if misses or told["built"] or not told["graphs"]["hit"]:
            self.faults.append(f"{name}: {told['graphs']}, {told['autograd']}, {told['built']}")
        shutil.rmtree(folder)

    def _note(self, name: str, told: Mapping[str, Any]) -> None:
        self.seconds.setdefault(name, []).append(told["seconds"])
        print(
            f"{name:44} {told['seconds']:6.2f} s  {told['graphs']['hit']} hits, "
            f"{told['graphs']['miss']} misses, {len(told['built'])} objects built",
            flush=True,
        )

    def median(self, name: str) -> float:
        """Seconds of a run."""
        return statistics.median(self.seconds[name])


def measured(scratch: Path, python: str, times: int = 3) -> Bench:
    """Run everything so many times, in turn, so that all see the same machine."""
    bench = Bench(scratch, times)
    here = Side(python, "maker")
    there = Side(elsewhere(python, scratch / "elsewhere" / "venv"), "someone")
    portable = Side(python, "maker", PORTABLE)
    bundle, plain = scratch / "made.torchcache", scratch / "portable.torchcache"
    made = scratch / "made"
    for side, more, file in ((here, (), bundle), (portable, ("--portable",), plain)):
        tk(side, made, "warm", "--into", str(made / file.stem), "--env", python, *more)
        tk(side, made, "export", str(made / file.stem), "-o", str(file))
    shutil.rmtree(made)
    mega = scratch / "mega-cache.bin"
    for turn in range(times):
        bench.cold("cold", here, turn, *(("--save", str(mega)) if not turn else ()))
        bench.cold("mega-cache", here, turn, "--load", str(mega))
        bench.warm("as it is", here, turn, bundle)
        bench.warm("prepared", here, turn, bundle, prepared=True)
        bench.cold("cold, portable", portable, turn)
        bench.warm("portable", portable, turn, plain)
        bench.warm("elsewhere, as it is", there, turn, bundle)
        bench.warm("elsewhere, prepared", there, turn, bundle, prepared=True)
        other = Side(there.python, there.user, PORTABLE)
        bench.warm("elsewhere, portable", other, turn, plain)
    return bench


def show(bench: Bench) -> bool:
    """Print the table; whether every aim is met."""
    cold, mega = bench.median("cold"), bench.median("mega-cache")
    print(f"\n{'':24}{'seconds':>10}{'of cold':>10}{'of mega-cache':>16}  aim")
    good = not bench.faults
    for name in bench.seconds:
        seconds = bench.median(name)
        line = f"{name:24}{seconds:10.2f}{cold / seconds:9.1f}×{mega / seconds:15.1f}×"
        if name.startswith("cold") or name == "mega-cache":
            print(line)
            continue
        aims = [AS_IT_IS, None] if name.endswith("as it is") else [PREPARED, PREPARED]
        met = all(
            aim is None or whole / seconds >= aim
            for aim, whole in zip(aims, (cold, mega), strict=True)
        )
        said = f"≥ {AS_IT_IS}× of cold" if aims[1] is None else f"≥ {PREPARED:.0f}× of both"
        print(f"{line}  {said}{'' if met else '  MISSED'}")
        good &= met
    for fault in bench.faults:
        print(f"FAULT {fault}")
    return good


def main(arguments: Sequence[str]) -> int:
    """Measure and print; 1 where an aim is missed."""
    python = os.environ.get("TORCHKEEPER_TORCH_PYTHON", sys.executable)
    with tempfile.TemporaryDirectory(prefix="torchkeeper-bench-") as scratch:
        bench = measured(Path(scratch), python, int(arguments[0]) if arguments else 3)
        return 0 if show(bench) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
