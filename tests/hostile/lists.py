"""A cache folder in which somebody has put lists of kernels, links and other things beforehand."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

from tests.hostile import facts, values
from tests.hostile.listing import KEY, PATHS


def spoil(root: Path, outside: Path, chance: Random, size: int) -> None:
    """Put things into a folder where a bundle would place its own."""
    paths = [*PATHS.values(), f"aoti_eager/aten/cpu/lib/aa/c{KEY}.wrapper.so",
             "aoti_eager/aten/cpu/lib/locks/add.lock", "aoti_eager/aten/cpu/lib/locks"]  # fmt: skip
    for _ in range(size):
        path = root / chance.choice(paths)
        # Any part of what leads there, too.
        for _ in range(chance.randrange(4)):
            path = path.parent if path.parent != root else path
        above = Path(os.path.realpath(path.parent))
        if not above.is_relative_to(os.path.realpath(root)) or os.path.lexists(path):
            continue  # a link that was put there leads elsewhere
        try:
            above.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        what = chance.randrange(8)
        if what == 0:
            path.symlink_to(outside)
        elif what == 1:
            path.symlink_to(outside / "dangling")
        elif what == 2:
            path.symlink_to(path.name)
        elif what == 3:
            os.mkfifo(path)
        elif what == 4:
            path.mkdir()
        elif what == 5:
            path.symlink_to("/dev/zero")
        else:
            kind = "group" if path.name.startswith("__grp__") else "eager"
            path.write_bytes(facts.json_of(kind, chance, size))


def items(chance: Random, size: int) -> tuple[bytes, dict[str, object]]:
    """The bytes of a list, and an item to be put into it."""
    made = values.changed(facts.GOOD["eager"][0], chance, size)
    item = made if isinstance(made, dict) else {}
    return facts.json_of("eager", chance, size), {**item, "kernel_path": "lib/aa/x.so"}
