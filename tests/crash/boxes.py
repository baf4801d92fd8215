"""Real caches, small, with every kind in them, at a path where each point finds them anew."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.crash.oracle import age

#: What of the cache of torch 2.9.1 is taken of each kind: the smallest so many.
_FEW = {"fxgraph/*/*/*": 2, "aotautograd/*/*": 1, "dynamo/*": 1, "locks/*": 1}
#: And as many stems of code of each kind of file.
_CODE = {".so": 2, ".py": 1}


@dataclass
class Box:
    """A folder that is emptied and filled again for each point, always at the same path: kernels
    name theirs. holds: the name of what is in it to the byte, if that is known.
    """

    root: Path
    kept: Path
    holds: str = ""
    _made: dict[str, Path] = field(default_factory=dict)

    def keep(self, name: str, fill: Callable[[Path], None]) -> None:
        """Have ``fill`` put something into the empty box, once, for ``fresh``."""
        if name not in self._made:
            self.clear()
            fill(self.root)
            self._made[name] = self.kept / name
            shutil.move(self.root, self._made[name])

    def fresh(self, name: str) -> None:
        """Have in the box what was kept under a name, times included."""
        if self.holds == name:
            return
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self._made[name], self.root, symlinks=True)
        self.holds = name

    def clear(self) -> None:
        """Have nothing in the box."""
        self.holds = ""
        shutil.rmtree(self.root, ignore_errors=True)
        self.root.mkdir()


@dataclass(frozen=True)
class Caches:
    """Where the entries come from."""

    clean_291: Path
    other_kinds: Path
    kernels: Path

    def mix(self, place: Path) -> None:
        """Make a cache folder with a few entries of every kind, all of them old."""
        place.mkdir()
        for pattern, few in _FEW.items():
            paths = [path for path in self.clean_291.glob(pattern) if path.is_file()]
            for path in sorted(paths, key=lambda path: (path.stat().st_size, path))[:few]:
                _copy(path, place / path.relative_to(self.clean_291))
        for suffix, few in _CODE.items():
            for path in sorted(self.clean_291.glob(f"??/*{suffix}"))[:few]:
                for file in path.parent.glob(path.name.partition(".")[0] + ".*"):
                    _copy(file, place / file.relative_to(self.clean_291))
        other = self.other_kinds / "cache"
        for path in sorted([*other.glob("cache/*"), *other.glob("dynamo/*/entry")]):
            _copy(path, place / path.relative_to(other))
        (place / "zz").mkdir()
        (place / "zz" / f"{'c' + 'z' * 51}.best_config").write_text('{"XBLOCK": 128}')
        (place / "zz" / f"{'czz' + 'y' * 49}.py").write_text("import torch\n")
        self._eager(other / "aoti_eager", place / "aoti_eager")
        self._kernel(place / "triton" / "0")
        age(place)

    def folders(self, place: Path, of: str) -> None:
        """Make a Triton cache of kernels, one with a stranger's folder in it, and two graphs. of:
        the first letters of the kernels.
        """
        place.mkdir()
        for first in of:
            self._kernel(place, first + 51 * "A")
        (place / (52 * "A") / "mine").mkdir()
        for path in sorted(self.clean_291.glob("fxgraph/*/*/*"))[:2]:
            _copy(path, place / path.relative_to(self.clean_291))
        (place / "fxgraph").chmod(0o2710)
        age(place)

    def _eager(self, source: Path, target: Path) -> None:
        """The list with two kernels, and their libraries."""
        path = source / "aten" / "cpu" / "abs.json"
        _copy(path, target / "aten" / "cpu" / "abs.json")
        for item in json.loads(path.read_text()):
            library = path.parent / item["kernel_path"]
            for file in library.parent.glob(library.name.partition(".")[0] + ".*"):
                _copy(file, target / file.relative_to(source))
        _copy(path.parent / "lib" / "locks" / "abs.lock", target / "aten/cpu/lib/locks/abs.lock")

    def _kernel(self, above: Path, key: str = "") -> None:
        """One that names its own folder."""
        source = min(path for path in self.kernels.iterdir() if list(path.glob("*.cubin")))
        target = above / (key or source.name)
        shutil.copytree(source, target)
        for group in target.glob("__grp__*"):
            group.write_text(group.read_text().replace(str(source), str(target)))


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(path, target)


def spoil(place: Path) -> None:
    """Cut a graph and an object short, let a kernel name another folder, and drop one of a list."""
    for path in (next(place.glob("fxgraph/*/*/*")), next(place.glob("??/*.so"))):
        os.truncate(path, path.stat().st_size // 2)
    for group in place.glob("triton/*/*/__grp__*"):
        group.write_text(group.read_text().replace("/place/", "/gone/"))
    path = place / "aoti_eager" / "aten" / "cpu" / "abs.json"
    first, *_ = json.loads(path.read_text())
    path.write_text(json.dumps([first], indent=4))
    age(place)


def halve(place: Path) -> None:
    """Take away every other file that is not of a list or a kernel, and one file of the kernel."""
    files = [path for path in sorted(place.rglob("*")) if path.is_file()]
    plain = [path for path in files if path.relative_to(place).parts[0] not in _WHOLE]
    for path in [*plain[::2], next(place.glob("triton/*/*/*.cubin"))]:
        path.unlink()
        for folder in path.parents:
            if folder == place or any(folder.iterdir()):
                break
            folder.rmdir()
    age(place)


_WHOLE = ("aoti_eager", "triton")
