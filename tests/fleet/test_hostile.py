"""A node that lies: what it says of itself, of cells and of its bundles ends nothing of the others,
and nobody is taken for the owner of what he has not brought.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from queue import SimpleQueue
from typing import Any, cast

import pytest

from tests.fleet.conftest import ADD, CELLS, Warm, held, keys, warmed_alone
from torchkeeper.artifacts.entry import PORTABLE
from torchkeeper.artifacts.report import Report
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine.protocol import Message
from torchkeeper.fleet import retention
from torchkeeper.fleet.cells import Cell, Place
from torchkeeper.fleet.gathering import Gathering
from torchkeeper.fleet.heard import Heard
from torchkeeper.fleet.last import Keeper
from torchkeeper.fleet.run import Fleet
from torchkeeper.fleet.state import State
from torchkeeper.placing.machines import Machines
from torchkeeper.placing.target import Node, check_size

#: An interpreter that passes on what the true one says, as ``lie`` has changed it.
LIAR = """#!{python}
import json, os, subprocess, sys, threading
true = subprocess.Popen([{python!r}, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
op, params = None, {{}}

def ask():
    global op, params
    for line in sys.stdin.buffer:
        told = json.loads(line)
        op, params = told.get("op", op), told.get("params", params)
        true.stdin.write(line)
        true.stdin.flush()
    true.stdin.close()

def say(told):
    os.write(1, json.dumps(told).encode() + b"\\n")

{lie}

threading.Thread(target=ask, daemon=True).start()
for line in true.stdout:
    told = json.loads(line) if op in ("fill", "prove") else None
    if told is None:
        os.write(1, line)
    elif (told := lie(told)) is not None:
        say(told)
sys.exit(true.wait())
"""
RESULT = "    if told['type'] == 'result':\n        "


def liar(folder: Path, body: str) -> str:
    python = folder / "python"
    text = LIAR.format(python=sys.executable, lie=f"def lie(told):\n{body}\n    return told")
    python.write_text(text)
    python.chmod(0o755)
    return str(python)


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            RESULT + "open(params['output'], 'wb').write(b'PK' + bytes(500))", id="no-bundle"
        ),
        pytest.param(RESULT + "os.unlink(params['output'])", id="gone", marks=pytest.mark.slow),
        pytest.param(
            RESULT + "return {'type': 'nothing'}", id="another-protocol", marks=pytest.mark.slow
        ),
        pytest.param(
            RESULT + "return {'type': 'error', 'id': told['id'], 'error': "
            "{'code': 'made-up', 'params': {'a': ['x' * 1040000]}}}",
            id="a-long-error",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "    if 'variant' in told or 'variants' in told: return None",
            id="says-nothing",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_a_node_answers_is_said_of_it(warm: Warm, tmp_path: Path, body: str) -> None:
    """It is lost, with why; with no other node that is what came of the fleet; and the state is as
    if it had not been there.
    """
    lost: list[Any] = []

    def hear(message: Any, _: Any) -> None:
        if message.type == "finding" and message.body.get("node", {}).get("state") == "lost":
            lost.append(message.body["node"]["why"])

    try:
        ran = warm(tmp_path / "place", hear, slots=1, only=[0, 1], python=liar(tmp_path, body))
    except UserError as e:
        assert e.code not in ("unexpected", "internal")
    else:
        assert ran.result["states"]["failed"] == 2
    assert lost
    again = warm(tmp_path / "place", only=[0, 1])
    assert again.result["compiled"] == 2
    assert len(held(tmp_path / "place")) == 2


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(
            "    if isinstance(one := told.get('variant'), dict) and one['state'] == 'done':\n"
            "        say(told)\n        say({**told, 'variant': {**one, 'state': 'failed'}})",
            id="done-and-failed",
        ),
        pytest.param(
            "    if told['type'] == 'result': say({'type': 'rows', 'id': told['id'], 'rows': "
            "[{'kind': 'fxgraph', 'key': 'another'}, 5, {}]})",
            id="rows",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "    if isinstance(one := told.get('variant'), dict):\n"
            "        say({**told, 'log': 'x'})\n"
            "        say({**told, 'variant': one['index'], 'log': 'y' * 1040000})",
            id="logs",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "    if told['type'] == 'result' and op == 'prove':\n"
            "        rows = told['result']['variants']\n"
            "        rows += [{**rows[0], 'index': 17}, {**rows[0], 'hits': 10**4000}]",
            id="other-cells",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_a_node_says_of_cells_ends_nothing(warm: Warm, tmp_path: Path, body: str) -> None:
    ran = warm(tmp_path / "place", slots=1, only=[0, 1], prove=True, python=liar(tmp_path, body))
    assert ran.result["cells"] == 2
    assert keys(tmp_path / "place")
    state = State(str(tmp_path / "state"))
    state.read()
    assert {name for unit in state.new.values() for name in unit} <= keys(tmp_path / "place")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param(
            RESULT + "told['result']['new'] = 0",
            "neither what it has sent nor the place has triton",
            id="sends-nothing",
        ),
        pytest.param(
            RESULT + "import shutil; shutil.copy({other!r}, params['output'])",
            "neither what it has sent nor the place has triton", id="sends-others",
        ),
        pytest.param(
            "    if isinstance(one := told.get('variant'), dict): one.pop('made', 0)",
            "names no entry", id="names-nothing", marks=pytest.mark.slow,
        ),
    ],
)  # fmt: skip
def test_what_nobody_has_sent_is_not_warm(
    warm: Warm, recipes: Path, tmp_path: Path, body: str, said: str
) -> None:
    """A cell that a node only says it has done has failed there, and goes to another node."""
    warmed_alone(recipes, tmp_path / "other")
    other = tmp_path / "other.torchcache"
    with Engine() as engine:
        engine.call("export", {"place": str(tmp_path / "other"), "output": str(other)})
    body = body.replace("{other!r}", repr(str(other)))
    python = liar(tmp_path, body)
    (recipes / "add.toml").write_text(ADD.replace("B = [64, 128]", "B = [32]"))
    ran = warm(tmp_path / "place", slots=1, only=[0, 1], python=python)
    assert ran.result["states"]["failed"] == 2
    for row in ran.cells:
        assert any(said in line for line in row["log"]), row["log"]
    assert not (tmp_path / "place").exists(), "nothing of it is merged"
    assert not os.listdir(tmp_path / "state/bundles")
    again = warm(tmp_path / "place", only=[0, 1])
    assert again.result["compiled"] == 2


def test_what_recipes_cannot_make_is_not_taken(other_kinds: Path, tmp_path: Path) -> None:
    bundle = tmp_path / "sent.torchcache"
    with Engine() as engine:
        engine.call(
            "export", {"place": str(other_kinds), "output": str(bundle), "secrets": "allow"}
        )
    before = bundle.read_bytes()
    gathering = Gathering(str(tmp_path / "into"), None, {})
    try:
        every = gathering.names(str(bundle))
        assert {kind for kind, _ in every} == {"fxgraph", "aotautograd"}
        assert gathering.keep(str(bundle), every, PORTABLE) == every
        assert bundle.read_bytes() == before
        assert not gathering.keep(str(bundle), every, {"triton"})
        mine = gathering.keep(str(bundle), every, {"triton", "fxgraph"})
        assert {kind for kind, _ in mine} == {"fxgraph"}
        assert gathering.names(str(bundle)) == mine
    finally:
        gathering.close()


def test_what_a_node_says_has_bounds(tmp_path: Path) -> None:
    with pytest.raises(UserError) as told:
        check_size(1 << 60, str(tmp_path / "one"))
    assert told.value.code == "fleet-too-large"
    assert told.value.remedy
    check_size(1000, str(tmp_path / "one"))
    row: Any = {"index": 0, "source": "triton"}
    lines = list[str]()
    place = Place(Machines("n", [""]), Node("n", "", 1, None), "")
    heard = Heard(place, [Cell("c", row, "", "g")], lambda _, line: lines.append(line))
    for number in range(30_000):
        heard(Message("finding", 1, {"variant": 0, "log": "x" * 2000}))
        graph = {"id": f"{number}", "key": f"k{number}", "outcome": "miss", "variant": 0}
        heard(Message("finding", 1, {"graph": graph}))
    heard(Message("finding", 1, {"variant": {"index": 0, "state": "done"}}))
    assert len(lines) < 30_000
    assert max(map(len, lines)) <= 1000
    assert len(heard.done("u")["c"].keys) <= 10_000


def test_only_what_was_found_or_written_is_looked_for_again() -> None:
    """A graph that was passed by has no entry, whatever key it has."""
    row: Any = {"index": 0, "source": "callable"}
    place = Place(Machines("n", [""]), Node("n", "", 1, None), "")
    heard = Heard(place, [Cell("c", row, "", "g")], lambda *_: None)
    for ident, outcome in (("a", "miss"), ("b", "miss"), ("b", "bypass"), ("c", "none")):
        graph = {"id": ident, "key": f"f{ident}", "outcome": outcome, "variant": 0}
        heard(Message("finding", 1, {"graph": graph}))
    made = [["aoti_eager", "abs.out#1"]]
    heard(Message("finding", 1, {"variant": {"index": 0, "state": "done", "made": made}}))
    done = heard.done("u")["c"]
    assert done.named == {("fxgraph", "fa"), ("aoti_eager", "abs.out#1")}


def test_a_bundle_that_nobody_could_read_is_not_thrown_away(tmp_path: Path) -> None:
    """An engine that ends, as where there is no memory, says nothing of what it was to read."""
    state, params = State(str(tmp_path / "state")), {"into": str(tmp_path / "place")}
    with state.held():
        Path(state.bundle("00" * 8)).write_bytes(b"whole")
        state.came("00" * 8, {}, frozenset({("triton", "K")}), True)
        gathering = Gathering(params["into"], None, {})
        gathering._reader.kill()
        last = Keeper(state.folder, cast("Any", params), [])
        told, scratch = SimpleQueue[Any](), str(tmp_path)
        fleet = Fleet(cast("Any", params), [], state, gathering, told, scratch, Report(), last)
        with pytest.raises(UserError):
            fleet.look()
        gathering.close()
        assert list(state.pending) == ["00" * 8]
        assert Path(state.bundle("00" * 8)).read_bytes() == b"whole"


def test_what_was_there_is_no_fleets(warm: Warm, recipes: Path, tmp_path: Path) -> None:
    """What a user has made himself, a fleet does not have go, although it has made the same."""
    place = tmp_path / "place"
    first = warm(tmp_path / "other", only=[0, 1, 2], slots=1)
    assert first.result["compiled"] == 3
    warmed_alone(recipes, place)
    assert len(keys(place)) == CELLS
    # As of a node that compiles anew what the place has.
    journal = tmp_path / "state/journal.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines() if line]
    state = State(str(tmp_path / "state"))
    with Engine() as engine:
        for one in lines:
            if "came" in one:
                output = state.bundle(one["came"])
                engine.call("export", {"place": str(tmp_path / "other"), "output": output})
    journal.write_text("".join(json.dumps(one) + "\n" for one in lines if "came" in one))
    warm(place, only=[5])
    state.read()
    assert not state.pending
    assert any(state.new.values())
    gone = retention.outdated(state, set())
    assert not gone.graphs | gone.rest


@pytest.mark.slow
def test_what_a_fleet_has_brought_is_its_own(warm: Warm, tmp_path: Path) -> None:
    warm(tmp_path / "place", only=[0, 1, 2])
    state = State(str(tmp_path / "state"))
    state.read()
    gone = retention.outdated(state, set())
    assert gone.graphs | gone.rest == keys(tmp_path / "place")


@pytest.mark.parametrize(
    ("problem", "keys", "goes"),
    [(None, [], True), ("payload-too-large", [], False), (None, ["f"] * 500, False)],
)
def test_what_a_record_of_others_may_need_stays(
    problem: str | None, keys: list[str], goes: bool
) -> None:
    """One that was not read, or that needs more than is told, may need any graph."""
    gone = retention.Outdated(frozenset({("fxgraph", "fa")}), frozenset())
    row = {"kind": "aotautograd", "key": "a", "path": "aotautograd/a", "problem": problem}
    told = [{"detail": {"needs": {"fx_keys": keys}}}]
    left = retention.unneeded("/p", gone, [row], lambda *_: (None, [], told))
    assert left.graphs == (gone.graphs if goes else frozenset())
