"""What a node has compiled is found by others in the same run; what is gathered is the same."""

from __future__ import annotations

import shutil
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from tests.conftest import ALONE
from tests.fleet.conftest import CELLS, Warm, keys
from tests.fleet.test_fleet import contents
from tests.fleet.test_hosts import hosts, machines
from tests.redis_server import Server
from torchkeeper.artifacts.report import Report
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.recipes import files
from torchkeeper.client.words.problems import user_error
from torchkeeper.fleet import run, sharing
from torchkeeper.fleet.cells import Place, kind_of
from torchkeeper.fleet.gathering import Gathering
from torchkeeper.fleet.last import Keeper
from torchkeeper.fleet.run import Fleet
from torchkeeper.fleet.sharing import Shared
from torchkeeper.fleet.state import State
from torchkeeper.placing.machines import Machines
from torchkeeper.placing.target import Heard, Node, Unit
from torchkeeper.verdict.probed import Env

__all__ = ["hosts", "machines"]
MODEL = "def some(x):\n    return (x.sin() * 2 + 1).relu()\n"
RECIPE = """[[callable]]
function = "model.py:some"
inputs = [{ shape = [8] }]
[compile]
device = "cpu"
dynamic = false
threads = 1
"""
#: Recipes of the same graph.
SAME = 4


def together(files: Sequence[str], output: str) -> None:
    Path(output).write_text("".join(Path(one).read_text() for one in files))


def given(shared: Shared, kind: str) -> tuple[list[str], set[str]]:
    """The texts of what a unit begins with, and the keys that it is said to have."""
    files, names = shared.of(kind, threading.Event())
    return [Path(one).read_text() for one in files], {key for _, key in names}


def test_a_unit_begins_with_few_bundles_of_all_that_came(tmp_path: Path) -> None:
    shared, came = Shared(str(tmp_path), together), tmp_path / "came"
    for number in range(200):
        came.write_text(f"{number},")
        shared.expect("a")
        shared.add("a", str(came), frozenset({("fxgraph", str(number))}))
    came.unlink()
    texts, names = given(shared, "a")
    assert "".join(texts) == "".join(f"{number}," for number in range(200)), "in their order"
    assert names == {str(number) for number in range(200)}
    assert len(texts) < 3 * sharing.TOGETHER
    assert given(shared, "b") == ([], set())


def test_what_cannot_be_merged_is_left_out(tmp_path: Path) -> None:
    """A bundle may be a hostile node's: it costs those that would be merged with it."""
    came = tmp_path / "came"

    def fails(files: Sequence[str], output: str) -> None:
        if any("bad" in Path(one).read_text() for one in files):
            raise user_error("not-a-bundle", {"path": files[0]})
        together(files, output)

    shared = Shared(str(tmp_path), fails)
    for number in range(3 * sharing.TOGETHER):
        came.write_text("bad" if number == 1 else f"{number},")
        shared.add("a", str(came), frozenset({("fxgraph", str(number))}))
    wanted = range(sharing.TOGETHER, 3 * sharing.TOGETHER)
    assert given(shared, "a")[1] == {str(number) for number in wanted}


def test_of_much_it_is_what_came_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "MOST", 10)
    shared, came = Shared(str(tmp_path), together), tmp_path / "came"
    for number in range(4):
        came.write_text("four")
        shared.add("a", str(came), frozenset({("fxgraph", str(number))}))
    assert given(shared, "a") == (["four", "four"], {"2", "3"})


def test_what_there_is_no_room_for_is_left_out(tmp_path: Path) -> None:
    came, scratch = tmp_path / "came", tmp_path / "scratch"
    came.write_text("some")
    shared = Shared(str(scratch), together)
    for there in (False, True):
        if there:
            scratch.mkdir()
        shared.expect("a")
        shared.add("a", str(came), frozenset({("fxgraph", "one")}))
        assert given(shared, "a") == ((["some"], {"one"}) if there else ([], set()))


@pytest.mark.slow
def test_the_same_kernels_of_another_recipe_are_found(
    warm: Warm, recipes: Path, tmp_path: Path
) -> None:
    """The same entries, byte for byte; with it the second recipe compiles nothing anew."""
    shutil.copy(recipes / "add.toml", recipes / "same.toml")
    some = {"only": [0, 1, 9, 24, 25, 33], "slots": 1}
    plain = warm(tmp_path / "plain", state=str(tmp_path / "plain.state"), **some)
    assert plain.result["entries"] == 6
    shared = warm(tmp_path / "shared", share=True, **some)
    assert shared.result["entries"] == 3
    assert shared.result["states"]["warm"] == shared.result["compiled"] == 6
    assert keys(tmp_path / "shared") == keys(tmp_path / "plain")
    assert contents(tmp_path / "shared") == contents(tmp_path / "plain")
    again = warm(tmp_path / "shared", share=True, **some)
    assert (again.result["compiled"], again.result["there"]) == (0, 6)


@pytest.mark.slow
def test_machines_find_what_others_have_compiled(
    warm: Warm, recipes: Path, hosts: list[str], tmp_path: Path
) -> None:
    """Four recipes of the same kernels on two machines: the first two begin at the same time."""
    for number in range(SAME - 1):
        shutil.copy(recipes / "add.toml", recipes / f"same{number}.toml")
    some = [row * CELLS + number for row in range(SAME) for number in (0, 9)]
    asked = {"on": hosts[:2], "python": sys.executable, "slots": 1, "only": some}
    plain = warm(tmp_path / "plain", state=str(tmp_path / "plain.state"), **asked)
    assert plain.result["entries"] == 2 * SAME
    shared = warm(tmp_path / "shared", share=True, **asked)
    assert shared.result["entries"] <= 2 * len(hosts[:2])
    assert shared.result["states"]["warm"] == 2 * SAME
    assert keys(tmp_path / "shared") == keys(tmp_path / "plain")
    assert contents(tmp_path / "shared") == contents(tmp_path / "plain")


@pytest.fixture
def same(
    tmp_path: Path, torch_python: str, header_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, Any]:
    """What is asked of four recipes of one graph."""
    for name, value in {"TMPDIR": str(header_folder), **ALONE}.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "same"
    folder.mkdir()
    (folder / "model.py").write_text(MODEL)
    for number in range(SAME):
        (folder / f"r{number}.toml").write_text(RECIPE)
    wired = files.wire(files.chosen([str(folder)]))
    return {"recipes": wired, "python": torch_python, "secrets": "allow"}


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("place", ["place", "all.torchcache"])
def test_a_graph_that_another_compiled_is_a_hit(
    warm: Warm, same: dict[str, Any], tmp_path: Path, place: str
) -> None:
    """It is compiled by those alone that begin at the same time. Then each cell is proven with what
    the place has.
    """
    ran = warm(tmp_path / place, share=True, prove=True, **same)
    assert ran.result["states"]["proven"] == SAME, ran.cells
    found = [row["shared"] for row in ran.cells if row["shared"]]
    assert len(found) >= SAME - 2
    assert ran.result["shared"] == len(found)
    plain = warm(tmp_path / f"plain-{place}", state=str(tmp_path / "plain.state"), **same)
    assert plain.result["shared"] == 0
    assert keys(tmp_path / place) == keys(tmp_path / f"plain-{place}")


def test_what_others_put_on_a_server_is_told_from_what_was_there(
    full: Server, tmp_path: Path
) -> None:
    gathering, file = Gathering(full.url, None, {}), str(tmp_path / "new.torchcache")
    held = gathering.held()
    one = next(name for name in sorted(held) if name[0] == "fxgraph")
    assert gathering.besides(held, file) == frozenset()
    assert gathering.besides(held - {one}, file) == {one}
    assert gathering.names(file) == {one}
    gathering.close()


class Meanwhile(Machines):
    """This machine; while its first unit runs, somebody else fills a server."""

    def __init__(self, python: str, source: Path, server: str) -> None:
        super().__init__("local", [""], python)
        self._what: dict[str, object] = {"place": str(source), "into": server, "secrets": "allow"}
        self._filled = False

    def run(self, node: Node, unit: Unit, heard: Heard, stop: threading.Event) -> Any:
        result = super().run(node, unit, heard, stop)
        if not self._filled:
            self._filled = True
            with Engine() as engine:
                engine.call("copy", self._what)
        return result


@pytest.mark.slow
@pytest.mark.torch
def test_what_another_fleet_publishes_meanwhile_is_a_hit(
    warm: Warm, same: dict[str, Any], server: Server, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    wired = same["recipes"][:2]
    wired[1]["data"]["callable"][0]["inputs"][0]["shape"] = [12]
    theirs = tmp_path / "theirs"
    warm(theirs, **{**same, "recipes": wired})
    for name in ("_AGAIN", "_RARELY"):
        monkeypatch.setattr(run, name, 0)
    target, state = Meanwhile(same["python"], theirs, server.url), State(str(tmp_path / "ours"))
    [node] = target.nodes()
    place = Place(target, node, kind_of(node.facts))
    gathering = Gathering(server.url, "allow", {})
    (tmp_path / "scratch").mkdir()
    with state.held():
        params: Any = {"recipes": wired, "into": server.url, "share": True}
        scratch = str(tmp_path / "scratch")
        last = Keeper(state.folder, params, [])
        fleet = Fleet(params, [place], state, gathering, SimpleQueue(), scratch, Report(), last)
        result = fleet.warm()
    gathering.close()
    assert result["states"]["warm"] == result["compiled"] == 2
    assert result["shared"] == 1, "the one that was not begun yet"
    assert {one for one in keys(server.url) if one[0] == "fxgraph"} == {
        one for one in keys(theirs) if one[0] == "fxgraph"
    }


class Filled(Gathering):
    """A place that somebody else fills after it was looked at, and before nodes are given of it."""

    def usable(self, facts: Env | None, file: str) -> bool:
        with Engine() as engine:
            engine.call("copy", {"place": f"{self.into}.theirs", "into": self.into})
        return super().usable(facts, file)


@pytest.mark.slow
def test_what_another_put_there_since_is_warm(recipes: Path, tmp_path: Path) -> None:
    place = str(tmp_path / "place")
    params: Any = {"recipes": files.wire(files.chosen([str(recipes)])), "only": [0, 1]}
    with Engine() as engine:
        engine.call("warm", {**params, "into": f"{place}.theirs"})
    target, state = Machines("local", [""], sys.executable), State(str(tmp_path / "state"))
    [node] = target.nodes()
    some, gathering = [Place(target, node, kind_of(node.facts))], Filled(place, None, {})
    (tmp_path / "scratch").mkdir()
    with state.held():
        params["into"], scratch = place, str(tmp_path / "scratch")
        last = Keeper(state.folder, params, [])
        fleet = Fleet(params, some, state, gathering, SimpleQueue(), scratch, Report(), last)
        result = fleet.warm()
    gathering.close()
    assert (result["states"]["warm"], result["entries"]) == (2, 0)
