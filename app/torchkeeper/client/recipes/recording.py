"""Has a program note what it compiles, and keeps what it noted: ``torchkeeper run --recipe``.

``warm.traces.recorder`` runs in the program. What it writes is the program's own say: bounded here,
and looked at field by field where it becomes a recipe (``client.recipes.recorded``).
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from importlib import resources

from torchkeeper.client import temporary
from torchkeeper.client.kept import whole
from torchkeeper.client.recipes.noted import Note
from torchkeeper.warm.traces import recorder

#: Processes whose notes are read, and bytes of one's.
_FILES, _BYTES = 200, 32 << 20


@contextlib.contextmanager
def heard(env: dict[str, str]) -> Iterator[str]:
    """The folder that the programs started with ``env``, which is changed, write their notes to.

    Python runs ``sitecustomize`` from the first folder of its path that has it, at its start.
    """
    with temporary.folder("record") as folder:
        site, notes = os.path.join(folder, "site"), os.path.join(folder, "notes")
        os.mkdir(site)
        os.mkdir(notes)
        source = (
            resources.files("torchkeeper.warm.traces").joinpath("recorder.py").read_text("utf-8")
        )
        with open(os.path.join(site, "sitecustomize.py"), "w", encoding="utf-8") as file:
            file.write(source)
        env[recorder.FOLDER], env[recorder.HERE] = notes, site
        above = env.get("PYTHONPATH")
        env["PYTHONPATH"] = os.pathsep.join([site, above] if above else [site])
        yield notes


def notes_in(folder: str) -> list[Note]:
    """What each process noted, in the order in which they wrote last; what is no such is left."""
    found: list[Note] = []
    try:
        with os.scandir(folder) as entries:
            files = [e for e in entries if e.name.endswith(".json") and e.is_file()]
        files.sort(key=lambda one: one.stat().st_mtime_ns)
    except OSError:
        return []
    for one in files[:_FILES]:
        try:
            said = json.loads(whole.read(one.path, _BYTES))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(said, dict) and isinstance(said.get("compiled"), list):
            found.append(said)
    return found
