"""A machine with the caches of twelve other compilers, 100,000 files: ``python -m tests.bench.jits
[files]``.

What compilers wrote (tests/data/serving) is there many times over, under keys of their own, as
links of a few files to each; the file that tells is a copy each, as many names of one file would be
told by one look. The overview is the window's (tests.bench.jitswindow), from going to its page
until that is painted.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.bench import measure
from tests.bench.measure import Figure
from tests.conftest import DATA, unpack_archive

FILES = 100_000
#: Seconds within which the window shows an overview once indexed.
MOST = 2.0
TIMES = 5
#: Seconds that its main thread may be at work at a time.
_FRAME = 0.016

#: From folders: what has a name of its own there, and which part of that is the digits of a key.
_KEYS = {
    "deep_gemm/cache": "[0-9a-f]{32}$",
    "tilelang/0.1.15/cuda-binaries": "^[0-9a-f]{64}$",
    "tilelang/0.1.15/linux-x86_64/kernels": "^[0-9a-f]{64}$",
    "tvm-ffi": "[0-9a-f]{16}$",
    "workspace/.cache/flashinfer/0.7.2.post1/90a/cached_ops": "scale_f32$",
    "cutlass_python_cache": "[0-9a-f]{64}",
    "quack_cache/*": "[0-9a-f]{64}",
    "cute_aot/*/fwd": "[0-9a-f]{64}",
    "helion": "[0-9a-f]{64}",
    "helion/backward": "[0-9a-f]{32}",
    "torch_extensions/py311_cpu": "^inlined$",
    "torch/kernels": "[0-9a-f]{40}$",
    "torch_tensorrt_engine_cache": "[a-z2-7]{153}$",
}
_WALK_AND_STAT = """
import os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        os.stat(os.path.join(folder, name))
"""


def machine(folder: Path, files: int) -> int:
    """What is said above, below a folder; how many entries and parts of entries were made."""
    for name in ("jit", "more"):
        unpack_archive(DATA / "serving" / f"{name}.tar.xz", folder)
    for lock in folder.rglob("*.lock"):
        lock.unlink()
    chance = random.Random(1)
    sources = [
        (path, re.compile(key))
        for below, key in _KEYS.items()
        for path in sorted(folder.glob(f"{below}/*"))
        if re.search(key, path.name)
    ]
    there, made = sum(len(names) for _, _, names in os.walk(folder)), 0
    while there < files:
        # Each kind has as many files as every other.
        for source, key in sources:
            share = files // len(sources)
            size = max(1, sum(path.is_file() for path in source.rglob("*")))
            for _ in range(max(1, share // size // 8)):
                there += _again(source, key, chance)
                made += 1
            if there >= files:
                break
    return made


def _again(source: Path, key: re.Pattern[str], chance: random.Random) -> int:
    """One more, under another key."""

    def other(match: re.Match[str]) -> str:
        if match[0] in ("scale_f32", "inlined"):
            return f"{match[0]}_{chance.randrange(10**9)}"
        digits = "0123456789abcdef" if re.fullmatch("[0-9a-f]+", match[0]) else "abcdefgh234567"
        return "".join(chance.choice(digits) for _ in match[0])

    target = source.with_name(key.sub(other, source.name))
    if source.is_file():
        shutil.copy2(source, target)
        return 1
    target.mkdir()
    before, after = source.name, target.name
    for path in source.iterdir():
        name = path.name.replace(before, after)
        if path.name == "build.ninja":
            (target / name).write_text(path.read_text().replace(before, after))
        elif path.name in ("manifest.json", "metadata.json", "kernel.cubin", "blob.bin"):
            shutil.copy2(path, target / name)
        else:
            os.link(path, target / name)
    return len(list(target.iterdir()))


def figures(scratch: Path, files: int = FILES, times: int = TIMES) -> list[Figure]:
    """Measure on such a machine, first with nothing kept, then once indexed."""
    place, env = scratch / "machine", measure.environment(scratch)
    place.mkdir()
    machine(place, files)
    os.sync()
    walk = measure.python(_WALK_AND_STAT, str(place))
    # What was written a moment ago is proved again (walking.Proving).
    written = time.time()
    while time.time() < written + 4:
        measure.run(walk)
    ls = [sys.executable, "-m", "torchkeeper", "ls", str(place), "--json"]
    home = scratch / "home"
    home.mkdir()
    # Or the window finds the caches of whoever measures, too.
    env |= {"HOME": str(home), "TMPDIR": str(home)}
    window = [sys.executable, "-m", "tests.bench.jitswindow", str(place), str(home)]
    found: dict[str, list[tuple[float, float]]] = {}
    slices = []
    for _ in range(times):
        shutil.rmtree(scratch / "cache", ignore_errors=True)
        first, bare = measure.run(ls, env), measure.run(walk).seconds
        found.setdefault("ls, first time", []).append((first.seconds, bare))
        found.setdefault("… once indexed", []).append((measure.run(ls, env).seconds, bare))
        seen = json.loads(measure.run(window, env).out)
        found.setdefault("the window's overview, once indexed", []).append((seen["seconds"], bare))
        slices.append(seen["slice"])
    rows = []
    for what, pairs in found.items():
        ours, reference = (statistics.median(some) for some in zip(*pairs, strict=True))
        text = what if what.startswith("…") else f"{files:,} files of twelve compilers: {what}"
        most = MOST if "window" in what else None
        rows.append(Figure(text, ours, reference, None, "os.walk and stat, start included", most))
    longest = statistics.median(slices)
    rows.append(Figure("… longest slice of its main thread", longest, _FRAME, None,
                       "a frame of 60 in a second", _FRAME))  # fmt: skip
    return rows


def main(files: int = FILES) -> int:
    """Measure and print, with what else the machine had to do."""
    with tempfile.TemporaryDirectory(prefix="torchkeeper-bench-") as folder:
        found = figures(Path(folder), files)
    print("load:", *(f"{load:.1f}" for load in os.getloadavg()))
    return 0 if measure.show(found) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else FILES))
