"""People's own files in a cache: no command names or touches one that was not asked for by name."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Tk
from tests.forest import grow_old, plant
from tests.snapshots import snapshot
from torchkeeper.artifacts.layout import TRASH

#: How many projects, and copies of a cache, so that it is the most of the folder.
SIZES = [(30, 4), pytest.param((2_000, 150), marks=pytest.mark.slow)]

Snapshot = dict[str, tuple[object, ...]]


@pytest.fixture(params=SIZES, ids=lambda size: f"{size[0]} projects")
def forest(kept_291: Path, tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, Snapshot]:
    """A cache with projects in it, all of it old; and what these look like."""
    projects, copies = request.param
    place = Path(shutil.copytree(kept_291, tmp_path / "place"))
    for number in range(copies):
        shutil.copytree(kept_291, place / f"model{number}" / "inductor_cache")
    mine = plant(place, projects)
    grow_old(place)
    assert len(mine) > 500
    return place, planted(place, mine)


def planted(place: Path, mine: list[str]) -> Snapshot:
    return snapshot(place, only=set(mine))


def unnamed(ran: Ran, place: Path, mine: Snapshot) -> None:
    """Nothing of what a command says is about one of these files."""
    said = ran.out + ran.err
    assert "Traceback" not in said
    names = {x for x in mine if "/" in x or "." in x}  # others are words of any text
    quoted = set(re.findall(r'"((?:[^"\\]|\\.)*)"', said))
    whole = [rest for rest in said.split(f"{place}/")[1:] if rest.startswith(tuple(names))]
    assert (quoted & names, whole) == (set(), [])


def test_nothing_of_a_project_goes_with_a_cache(
    tk: Tk, forest: tuple[Path, Snapshot], bare_python: str
) -> None:
    place, mine = forest
    # Of a torch the doctor would try the compiler, too, which takes seconds.
    no_torch = {"TORCHKEEPER_TORCH_PYTHON": bare_python}
    before = sum(path.is_file() for path in place.rglob("*")) - len(mine)
    for command in (
        ("purge", "--suggest", "--keep", "0"),
        ("purge", "--dry-run"),
        ("overview",),
        ("doctor", "--fix", "--yes"),
        ("purge", "--orphans", "--yes", "--now"),
        ("purge", "--broken", "--yes"),
        ("purge", "--filter", "size>0", "--yes"),
        ("trash", "--empty", "--yes"),
        ("purge", "--older", "1d", "--keep", "0", "--yes"),
        ("purge", "--yes", "--now"),
    ):
        ran = tk(command[0], place, *command[1:], "--json", **no_torch)
        assert ran.code in (0, 1, 3, 4, 5), (command, ran.err)
        unnamed(ran, place, mine)
        assert planted(place, list(mine)) == mine, command
    left = {path for path, about in snapshot(place).items() if (place / path).is_file()}
    links = {path for path in mine if (place / path).is_symlink()}
    # Something did go; once the projects are the most of the folder, nothing more does.
    assert len(left - set(mine)) < before
    assert left | links >= set(mine)


@pytest.mark.slow
def test_a_folder_of_projects_is_no_cache(
    tk: Tk, kept_291: Path, tmp_path: Path, bare_python: str
) -> None:
    no_torch = {"TORCHKEEPER_TORCH_PYTHON": bare_python}
    place = Path(shutil.copytree(kept_291, tmp_path / "place"))
    mine = plant(place, 30, seed=7)
    (place / "video.mp4").write_bytes(bytes(8 << 20))
    grow_old(place)
    before = snapshot(place)
    for command in (
        ("purge", "--yes"),
        ("purge", "--orphans", "--older", "1d", "--yes", "--now"),
        ("purge", "--suggest"),
        ("purge", "--filter", "size>0", "--yes"),
        ("purge", "--filter", "kind:unknown", "--yes", "--unknown-too"),
    ):
        ran = tk(command[0], place, *command[1:], **no_torch)
        if "--suggest" in command:
            assert (ran.code, ran.out) == (0, "No entry is dead.\n")  # an empty list is an answer
        else:
            assert ran.code != 0, (command, ran.out)
            assert f"{place} is not a cache" in ran.err
        assert snapshot(place) == before, command
    ran = tk("doctor", place, "--fix", "--yes", "--json", **no_torch)
    assert "Traceback" not in ran.err
    assert snapshot(place) == before
    # What is named goes.
    ran = tk("purge", place, "--filter", "kind:fxgraph,aotautograd", "--yes")
    assert ran.code == 0, ran.err
    after = snapshot(place)
    assert sum(not path.startswith(TRASH) for path in after) < len(before)
    assert {path: after[path] for path in mine} == {path: before[path] for path in mine}


def test_a_folder_that_is_no_cache_stays_whole(tk: Tk, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / ".git").mkdir(parents=True)
    (docs / "thesis.tex").write_text("\\documentclass{book}\n")
    (docs / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    grow_old(docs)
    before = snapshot(docs)
    for more in ((), ("--now",), ("--orphans",), ("--filter", "kind:unknown", "--unknown-too")):
        ran = tk("purge", docs, *more, "--yes")
        assert ran.code != 0
        assert "is not a cache" in ran.err
        assert snapshot(docs) == before


def test_what_nobody_knows_goes_by_its_name_and_a_second_word(
    tk: Tk, kept_291: Path, tmp_path: Path
) -> None:
    place = Path(shutil.copytree(kept_291, tmp_path / "place"))
    (place / "notes.md").write_text("mine\n")
    ran = tk("purge", place, "--yes", "--dry-run")
    assert "1 unknown file left out" in ran.err
    ran = tk("purge", place, "--filter", "kind:unknown", "--yes")
    assert ran.code == 2
    assert "--unknown-too" in ran.err
    ran = tk("purge", place, "--yes", "--unknown-too")
    assert ran.code == 2
    assert (place / "notes.md").exists()
    ran = tk("purge", place, "--filter", "kind:unknown", "--yes", "--unknown-too", "--json")
    assert ran.code == 0, ran.err
    assert ran.result["files"] == 1
    assert not (place / "notes.md").exists()
    assert (place / "fxgraph").is_dir()
    assert tk("undo", place).code == 0
    assert (place / "notes.md").read_text() == "mine\n"
