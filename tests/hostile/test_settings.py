"""Files of our own that somebody else has written, or put something else in the place of."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from tests.hostile import mutations, pickles, tomls, values
from tests.hostile.running import Run
from tests.hostile.tripwires import Arena, memory_bounded
from torchkeeper.artifacts.entry import Problem
from torchkeeper.client import signers
from torchkeeper.client.engines import probes
from torchkeeper.client.kept import protected, runs, verified
from torchkeeper.client.kept import whole as kept
from torchkeeper.client.recipes import files as recipes
from torchkeeper.client.recipes import offered
from torchkeeper.client.words.problems import UserError
from torchkeeper.stores.folders import receipts
from torchkeeper.stores.folders.index import Index
from torchkeeper.stores.items import File, Item
from torchkeeper.warm.recipes.recipe import checked

IDENTITY = ("python", "hostile")
RUN = "20260101-000000-0000"
GOOD_RUN = {
    "id": RUN, "at": 1.0, "command": ["python", "x.py"], "place": "/x", "code": 0, "seconds": 1.0,
    "torch": "2.13.0", "totals": dict.fromkeys(runs.TOTALS, 1), "graphs": [{"id": "0", "why": "x"}],
}  # fmt: skip
GOOD_VERIFIED = {
    "place": "/x", "at": 1.0, "python": "/p", "mark": "m",
    "result": {"torch": "2.13.0", "runs": [], "variants": [], "ratios": {"warm_cold": 1.0}},
}  # fmt: skip


def _cached() -> str:
    return str(probes._cache()._fpath_from_key(IDENTITY))


def _in_trash(place: str) -> str:
    return os.path.join(place, ".torchkeeper-trash", "20260101-000000-abcdef", "receipt.json")


def readers(place: str) -> dict[str, tuple[str, Callable[[], object], object]]:
    """What reads which file, and what is good in it."""
    index = str(Path(place).parent / "index.sqlite")

    def indexed() -> None:
        made = Index("/x", index)
        made.get(Item("code", "k", "p", [File("p", 1, 1)]))
        made.finish()

    bundle = os.path.join(place, "recipe.toml")
    return {
        "kept": (kept.file("places"), lambda: kept.load("places", "places-unreadable", "places"),
                 ["/a", "/b"]),
        "protected": (kept.file("read-only"), protected.protected, ["/a"]),
        "recipes": (kept.file("recipes"), recipes.listed, ["/a"]),
        "a recipe": (bundle, lambda: recipes.read(bundle), {}),
        "a place of recipes": (bundle, lambda: offered._has_recipes(place), {}),
        "runs": (os.path.join(runs.folder(), f"{RUN}.json"), runs.kept, GOOD_RUN),
        "verified": (verified._file(place), lambda: verified.last(place), GOOD_VERIFIED),
        "warmed": (verified.warmed_file(), verified.last_warmed, {"builtin": [1.0, "/x", 1, 0]}),
        "signers": (signers.signers_file(), signers.signers, "a@b ssh-ed25519 AAAA"),
        "probes": (_cached(), lambda: probes.kept(IDENTITY), {"torch": "2"}),
        "trash": (_in_trash(place), lambda: receipts.in_trash(place),
                  {"made": 1.0, "folders": {"a": [493, 1, 1]}}),
        "index": (index, indexed, ""),
    }  # fmt: skip


NAMES = ("kept", "protected", "recipes", "a recipe", "a place of recipes", "runs", "verified",
         "warmed", "signers", "probes", "trash", "index")  # fmt: skip


@pytest.fixture
def place(arena: Arena, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place in the arena, with all settings beside it."""
    made = arena.inside / "place"
    made.mkdir()
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(arena.inside / name))
    arena.allowed.append(str(arena.inside))
    return str(made)


def looked_at(arena: Arena, read: Callable[[], object]) -> None:
    """Read it: what it is, or a Problem or UserError with words."""

    def work() -> None:
        try:
            read()
        except UserError as error:
            assert str(error)
        except Problem as problem:
            assert problem.code

    arena.held(work)


def put(path: str, make: Callable[[str], object]) -> None:
    """Put something in a file's place, by itself or as a link."""
    if os.path.isdir(path) and not os.path.islink(path):
        os.rmdir(path)
    elif os.path.lexists(path):
        os.unlink(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    make(path)


def _huge(path: str) -> None:
    with open(path, "wb") as stream:
        stream.write(b'["a"')
        stream.truncate(4 << 30)


def _brackets(path: str) -> None:
    whole = Path(os.environ["XDG_CACHE_HOME"]) / "brackets"
    if not whole.exists():
        whole.parent.mkdir(exist_ok=True)
        whole.write_bytes(b"[" + b"[]," * 20_000_000 + b"[]]")
    os.link(whole, path)


KINDS: dict[str, Callable[[str], object]] = {
    "a folder": os.mkdir,
    "a pipe": os.mkfifo,
    "zeros without end": lambda path: os.symlink("/dev/zero", path),
    "a terminal": lambda path: os.symlink("/dev/tty", path),
    "a link to itself": lambda path: os.symlink(os.path.basename(path), path),
    "a link to nothing": lambda path: os.symlink("missing/x", path),
    "4 GB": _huge,
    "lists without end": _brackets,
    "nothing": lambda path: Path(path).write_bytes(b""),
    "depth": lambda path: Path(path).write_bytes(b"[" * 300_000),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file(kind: str, arena: Arena, place: str) -> None:
    with memory_bounded():
        for name in NAMES:
            path, read, _ = readers(place)[name]
            put(path, KINDS[kind])
            looked_at(arena, read)
            if os.path.lexists(path):
                put(path, lambda path: Path(path).write_bytes(b""))  # what others need is well


def test_generated(run: Run, arena: Arena, place: str) -> None:
    trip = str(arena.trip / "x")
    every = readers(place)
    extra = pickles.gadgets(trip) + pickles.SNIPPETS
    real = tomls.examples()
    prefix = probes._cache().version_prefix

    def make(chance: Random, size: int) -> tuple[str, bytes]:
        name = chance.choice(NAMES)
        good = every[name][2]
        if "recipe" in name and name != "recipes":
            return name, tomls.made(real, trip, chance, size)
        if name == "probes":
            program = pickles.opcodes(pickle.dumps(values.changed(good, chance, size)))
            data = pickles.rewritten(program, chance, size - 1, extra)
            return name, prefix + data
        if chance.random() < 0.2:
            return name, chance.choice(values.ODD_JSON)
        if chance.random() < 0.3:
            text = good if isinstance(good, str) else json.dumps(good)
            return name, mutations.mutated(text.encode(), chance, size, b"\n" + text.encode())
        return name, values.as_json(values.changed(good, chance, size))

    def check(made: tuple[str, bytes]) -> None:
        path, read, _ = every[made[0]]
        os.makedirs(os.path.dirname(path), exist_ok=True)
        Path(path).write_bytes(made[1])
        looked_at(arena, read)

    with memory_bounded():
        run.many("settings", make, check)


def test_recipes_over_the_wire(arena: Arena) -> None:
    chance = Random(0)
    real = [recipes.looked_at(text)[0] for text in tomls.examples()]

    def look(data: object) -> None:
        try:
            checked(data)
        except Problem as problem:
            assert problem.code == "recipe-wrong"

    for _ in range(300):
        data = values.changed(chance.choice(real), chance, 3)
        arena.held(lambda data=data: look(data))  # type: ignore[misc]


@pytest.mark.slow
@pytest.mark.parametrize("text", tomls.ODD, ids=lambda text: repr(text[:20]))
def test_odd_toml(text: str, arena: Arena) -> None:
    with memory_bounded():
        arena.held(lambda: recipes.looked_at(text))
