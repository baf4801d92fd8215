"""The line to another machine is cut at random points of what a user types: nothing is lost,
nothing is half there, a job is found again, and typed once more it comes to its end.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, Tk
from tests.snapshots import snapshot
from tests.ssh import points
from tests.ssh.breaking import order
from tests.ssh.conftest import Machine, ended
from tests.ssh.test_resuming import many_kernels

#: What is done, how often, and after how many bytes at most it is cut.
COPIES = {"copy there": 5, "copy here": 5, "export": 3, "import": 3}
OTHERS = {"list": 3, "purge": 4, "warm": 4}
MOST = {"copy there": 2_500_000, "copy here": 2_500_000, "export": 2_500_000, "import": 2_500_000,
        "list": 300_000, "purge": 11_000, "warm": 12_000}  # fmt: skip
#: How a way ends that is cut, before it is there and after.
LOST = {"ssh-lost", "ssh-failed", "ssh-silent"}
KERNELS = 20


def contents(folder: Path) -> dict[str, object]:
    """What a folder holds besides trash."""
    found = snapshot(folder) if folder.exists() else {}
    return {path: one for path, one in found.items() if path != "." and ".torchkeeper" not in path}


def names(folder: Path) -> set[Path]:
    """The folders of kernels."""
    found = (one.relative_to(folder) for one in folder.rglob("*.json"))
    return {one for one in found if not one.parts[0].startswith(".torchkeeper")}


@pytest.fixture
def cut(
    tk: Tk, there: Machine, orders: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> Callable[..., Ran]:
    """Runs a command whose line is cut at the point of this test, and waits until nothing of it
    runs any more there.
    """
    what, number = request.node.callspec.params["what"], request.node.callspec.params["number"]
    assert tk("ls", there.place(there.home)).code == 0  # what travels is kept there

    def run(*command: object, again: int = 0) -> Ran:
        # The silence of a second time is the same one, and takes a minute.
        hows = points.HOWS[:2] if again else points.HOWS
        how, after = points.chosen("command", what, number + again, MOST[what], hows)
        order(orders, how, after)
        ran = tk(*command)
        order(orders)
        ended(there)
        lost = ran.code != 0
        points.came(request, "command", what, number + again, how, after, lost)
        if lost:
            assert ran.objects[-1]["error"]["code"] in LOST, ran
        assert points.leftovers(there, tmp_path / "own", there.home, tmp_path) == []
        return ran

    return run


@pytest.mark.parametrize(("what", "number"), points.points(COPIES))
def test_a_copy(
    tk: Tk, there: Machine, cut: Callable[..., Ran], kernels: Path, tmp_path: Path, what: str,
    number: int,
) -> None:  # fmt: skip
    """Folders and bundles, to there and to here; cut once more where it goes on."""
    many_kernels(tmp_path / "kernels", kernels, KERNELS)
    before, whole = contents(tmp_path / "kernels"), names(tmp_path / "kernels")
    source: object = tmp_path / "kernels"
    bundle = tmp_path / "b.torchcache"
    if what in ("copy here", "export"):
        shutil.move(tmp_path / "kernels", there.home / "c")
        source = there.place("c")
    if what == "import":
        assert tk("copy", "--allow-secrets", source, bundle).code == 0
        source = bundle
    into = {"export": bundle, "copy here": tmp_path / "new"}.get(what, there.home / "new")
    target = into if what in ("export", "copy here") else there.place("new")
    command = ["copy", "--json", "--allow-secrets", source, target]
    command += ["--trust"] if what == "import" else []

    def is_whole() -> bool:
        if what == "export":
            listed = tk("ls", "--json", bundle).objects
            return sum("sha256" in row for row in listed) == KERNELS
        return names(into) == whole

    for again in (0, 100):
        ran = cut(*command, again=again)
        assert (ran.code == 0 or into.exists()) == (into.exists() and is_whole())
        if into.exists():
            break
    if not into.exists():
        assert tk(*command).code == 0
    assert is_whole()
    assert not tk("ls", "--json", target, "--filter", "is:broken").objects[:-1]
    of = there.home / "c" if what in ("copy here", "export") else tmp_path / "kernels"
    assert contents(of) == before
    ended(there)
    assert points.leftovers(there, tmp_path / "own", there.home, tmp_path) == []


@pytest.mark.parametrize(("what", "number"), points.points({"list": OTHERS["list"]}))
def test_a_list(
    tk: Tk, there: Machine, cut: Callable[..., Ran], many: Path, what: str, number: int
) -> None:
    shutil.copytree(many, there.home / "c")
    before = contents(there.home / "c")
    cut("ls", "--json", there.place("c"))
    rows = tk("ls", "--json", there.place("c")).objects
    assert sum("sha256" in row for row in rows) == 3000
    assert contents(there.home / "c") == before


@pytest.mark.parametrize(("what", "number"), points.points({"purge": OTHERS["purge"]}))
def test_a_purge(
    tk: Tk, there: Machine, cut: Callable[..., Ran], kernels: Path, what: str, number: int
) -> None:
    many_kernels(there.home / "c", kernels, KERNELS)
    before, place = contents(there.home / "c"), there.place("c")
    ran = cut("purge", "--json", "--yes", place)
    after = contents(there.home / "c")
    assert after in ({}, before) if ran.code else after == {}
    if not after:
        assert tk("undo", "--json", place).code == 0
        assert contents(there.home / "c") == before
    assert tk("purge", "--json", "--yes", place).code == 0
    assert contents(there.home / "c") == {}
    assert tk("undo", "--json", place).code == 0
    assert contents(there.home / "c") == before


@pytest.mark.torch
@pytest.mark.parametrize(("what", "number"), points.points({"warm": OTHERS["warm"]}))
def test_a_warm_up(
    tk: Tk, there: Machine, cut: Callable[..., Ran], recipe: Path, torch_python: str, what: str,
    number: int,
) -> None:  # fmt: skip
    place = there.place("cache")
    command = "warm", "--json", recipe, "--into", place, "--env", f"ssh://there{torch_python}"
    ran = cut(*command)
    # It goes on there, unless it had not begun, and what came of it is told afterwards.
    jobs = [one["id"] for one in tk("jobs", "ssh://there", "--json").objects if "id" in one]
    assert len(jobs) <= 1 and (jobs or "The job goes on there" not in ran.out), ran
    for job in jobs:
        followed = tk("jobs", "ssh://there", "--follow", job, "--json")
        assert followed.code == 0 and followed.result["done"] == 1, followed
    again = tk(*command)
    assert again.code == 0 and again.result["done"] == 1, again
    assert len([one for one in tk("ls", place, "--json").objects if "sha256" in one]) == 1
    assert not tk("ls", "--json", place, "--filter", "is:broken").objects[:-1]
    assert tk("jobs", "ssh://there", "--json").result == {"jobs": 0, "running": 0, "damaged": 0}
