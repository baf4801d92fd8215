"""Several machines in one command: one that hangs or fails holds up no other."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.ssh.conftest import Machine, config, started
from tests.ssh.test_mux import LIAR
from torchkeeper.cli import several
from torchkeeper.cli.main import run
from torchkeeper.client.engines import line
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.engines.questions import Asking
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import mux, protocol


@pytest.fixture(autouse=True)
def ends(there: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test has its own list of machines."""
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "kept"))
    yield
    line.close_all()
    Asking.silent, Engine.silent = False, None


@pytest.fixture
def more(there: Machine) -> Iterator[Machine]:
    """The machine under a second name, and one that is away, and one that says nothing."""
    with socket.socket() as away, socket.socket() as silent:
        away.bind(("127.0.0.1", 0))
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        text = there.config.read_text()
        other = text.replace("Host there", "Host other")
        gone = text.replace("Host there", "Host gone")
        gone = gone.replace(f"Port {there.port}", f"Port {away.getsockname()[1]}")
        mute = text.replace("Host there", "Host mute")
        mute = mute.replace(f"Port {there.port}", f"Port {silent.getsockname()[1]}")
        there.config.write_text(text + other + gone + mute)
        yield there


@pytest.mark.slow
def test_entries_of_several_machines(
    tk: Tk, more: Machine, fixture_cache: Path, tmp_path: Path
) -> None:
    here = tmp_path / "here"
    shutil.copytree(fixture_cache, here)
    names = [f"ssh://{one}{fixture_cache}" for one in ("there", "other")]
    rows = tk("ls", "--json", here).objects
    ran = tk("ls", "--json", here, *names)
    assert (ran.code, ran.err) == (0, "")
    for name in (str(here), *names):
        own = [{k: v for k, v in row.items() if k != "place"} for row in ran.objects
               if row["place"] == name]  # fmt: skip
        assert [one["path"] for one in own] == [one["path"] for one in rows]
    summed = tk("du", "--json", here, *names)
    assert summed.code == 0
    totals = [row for row in summed.objects if row["kind"] == "total"]
    assert [row["place"] for row in totals] == [str(here), *names]
    assert len({row["entries"] for row in totals}) == 1
    graphs = tk("du", "--json", here, *names, "--filter", "kind:fxgraph")
    assert [row["entries"] for row in graphs.objects if row["kind"] == "total"] == [7, 7, 7]


def test_one_that_is_away_is_told_and_the_others_are_listed(
    tk: Tk, more: Machine, fixture_cache: Path
) -> None:
    names = [f"ssh://{one}{fixture_cache}" for one in ("gone", "there")]
    for command in ("ls", "du"):
        ran = tk(command, "--json", *names)
        assert ran.code == 4, ran
        *rows, error = ran.objects
        assert {row["place"] for row in rows} == {names[1]}
        assert error["error"]["code"] == "ssh-refused"
        assert "ssh://gone" in error["error"]["what"]
        assert ran.err.count("takes no connection") == 1
    ran = tk("ls", *[f"ssh://gone/{n}" for n in range(2)], "ssh://gone2.invalid/x")
    assert ran.code == 3 and "ssh://gone" in ran.err, ran


def test_one_that_hangs_holds_up_no_other(
    more: Machine, fixture_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the others hold is there before it is given up, also where one is asked at a time."""
    for name, value in {"PATIENCE": 8.0, "AT_ONCE": 1, "SOON": 0.2}.items():
        monkeypatch.setattr(several, name, value)

    def look(machine: str) -> int:
        with Engine(machine) as engine:
            summed = engine.call(protocol.DU, {"place": f"{machine}{fixture_cache}"})
            return len(summed["kinds"])

    came = several.at_once(["ssh://mute", "ssh://there"], look)
    machine, kinds = next(came)
    assert machine == "ssh://there" and isinstance(kinds, int) and kinds > 1
    machine, error = next(came)
    assert machine == "ssh://mute" and isinstance(error, UserError)
    assert (error.code, error.why) == ("ssh-silent", "It said nothing for 8 seconds.")


#: It answers as machines do, but for one that it never answers: of that it only says that it lives.
HANGS = """
hello(); i = asked()["id"]
while True:
    frame(18, 0); frame(2, 1, b"x\\n")
    message(type="progress", id=i, done=3, total=9, unit="files")
    time.sleep(0.1)
"""
#: It takes long, and goes on.
GOES_ON = """
hello(); i = asked()["id"]
for n in range(200):
    message(type="progress", id=i, done=n, total=None, unit="files")
    time.sleep(0.1)
message(type="rows", id=i, rows=[{"path": "/far/away", "reason": "default", "exists": False}])
message(type="result", id=i, result={})
"""


@pytest.fixture
def liar(more: Machine, tmp_path: Path) -> Iterator[Machine]:
    """One more, which says what its ``python3`` has it say."""
    (tmp_path / "liar").mkdir()
    with started(tmp_path / "liar") as made:
        config(made)
        text = made.config.read_text().replace("Host there", "Host liar")
        more.config.write_text(more.config.read_text() + text)
        (made.bin / "python3").rename(made.bin / "python")
        yield made
        line.close_all()


def lie(liar: Machine, what: str) -> None:
    program = liar.bin / "python3"
    program.write_text(
        LIAR.format(python=liar.bin / "python", version=mux.VERSION, lie=f"import time\n{what}")
    )
    program.chmod(0o755)


def test_one_that_never_answers_is_given_up(
    liar: Machine, fixture_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there, and says words that tell nothing; it holds up no other meanwhile."""
    lie(liar, HANGS)
    for name, value in {"AT_ONCE": 1, "SOON": 0.2}.items():
        monkeypatch.setattr(several, name, value)

    def look(machine: str) -> int:
        with Engine(machine) as engine:
            summed = engine.call(protocol.DU, {"place": f"{machine}{fixture_cache}"})
            return len(summed["kinds"])

    came = several.at_once(["ssh://liar", "ssh://there"], look)
    machine, kinds = next(came)
    assert machine == "ssh://there" and isinstance(kinds, int) and kinds > 1
    monkeypatch.setattr(several, "ANSWER", 4.0)
    machine, error = next(came)
    assert machine == "ssh://liar" and isinstance(error, UserError)
    assert error.what == "The engine of ssh://liar does not answer."
    assert error.why == "It has said nothing new for 4 seconds."


@pytest.mark.slow
@pytest.mark.parametrize(("command", "code"), [("overview", 4), ("ls", 4), ("doctor", 5)])
def test_the_others_are_told_where_one_never_answers(
    liar: Machine, fixture_cache: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str], command: str, code: int,
) -> None:  # fmt: skip
    lie(liar, HANGS)
    monkeypatch.setattr(several, "ANSWER", 20.0)
    places = [f"ssh://{one}{fixture_cache}" for one in ("liar", "there")]
    assert run([command, "--json", *places]) == code
    came = capsys.readouterr()
    assert "It has said nothing new for 20 seconds." in came.err
    told = [json.loads(line) for line in came.out.splitlines()]
    assert [one for one in told if one.get("place") == places[1]], "the other is told"


@pytest.mark.slow
def test_one_that_goes_on_is_heard_however_long_it_takes(
    liar: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie(liar, GOES_ON)
    monkeypatch.setattr(several, "ANSWER", 12.0)
    rows = list[object]()

    def look(machine: str) -> object:
        with Engine(machine) as engine:
            return engine.call(protocol.PLACES, {}, lambda one: rows.extend(one.rows))

    came = dict(several.at_once(["ssh://liar", "ssh://gone"], look))
    assert came["ssh://liar"] == {} and len(rows) == 1, came


def test_places_of_machines(tk: Tk, more: Machine, fixture_cache: Path) -> None:
    cache = more.home / "cache"
    shutil.move(fixture_cache, cache)
    more.rc.write_text(f"export TORCHINDUCTOR_CACHE_DIR={cache}")
    ran = tk("places", "--json", "ssh://there", "ssh://gone", "ssh://other")
    assert ran.code == 4, ran
    *rows, error = ran.objects
    assert error["error"]["code"] == "ssh-refused"
    held = {row["path"]: row.get("entries") for row in rows}
    assert held[f"ssh://there{cache}"] == held[f"ssh://other{cache}"]
    assert all(path.startswith(("ssh://there/", "ssh://other/")) for path in held)
    shown = tk("places", "ssh://there", "ssh://gone")
    assert f"ssh://there{cache}" in shown.out
    assert "cannot be reached" in shown.out.splitlines()[-1]
    assert tk("places", "ssh://gone").code == 3
    assert tk("places", "ssh://there/srv").code == 2


def test_hosts_are_kept_in_groups(tk: Tk, more: Machine) -> None:
    assert tk("hosts", "list", "--json").objects == []
    added = tk("hosts", "add", "there", "me@gpu[08-11]:2222", "--group", "gpus", "--json")
    named = [f"ssh://me@gpu{n}:2222" for n in ("08", "09", "10", "11")]
    assert [one["machine"] for one in added.result["added"]] == ["ssh://there", *named]
    assert tk("hosts", "add", "other").code == 0
    assert tk("hosts", "add", "other", "--json").result["added"] == []
    listed = tk("hosts", "list", "--json").objects
    for words in (["--json"], ["--json", "list"]):
        assert tk("hosts", *words).objects == listed
    assert tk("hosts").out == tk("hosts", "list").out
    assert [(row["machine"], row["group"]) for row in listed] == [
        *((machine, "gpus") for machine in ["ssh://there", *named]), ("ssh://other", ""),
    ]  # fmt: skip
    gone = tk("hosts", "remove", "me@gpu[08-11]:2222", "--json")
    assert [one["machine"] for one in gone.result["removed"]] == named
    assert tk("hosts", "remove", "nobody").code == 2
    for wrong in ("-oProxyCommand=x", "a/b", "gpu[9-1]", "a b", "gpu[0-99999]", ""):
        assert tk("hosts", "add", "--", wrong).code == 2, wrong
    assert tk("hosts", "add", "x", "--group", "all").code == 2
    assert tk("places", "--hosts", "nothing").code == 2


def test_the_overview_of_a_group(tk: Tk, more: Machine, fixture_cache: Path) -> None:
    cache = more.home / "cache"
    shutil.move(fixture_cache, cache)
    more.rc.write_text(f"export TORCHINDUCTOR_CACHE_DIR={cache}")
    assert tk("hosts", "add", "there", "other", "gone", "--group", "gpus").code == 0
    alone = tk("overview", "--json", cache)
    ran = tk("overview", "--json", "--hosts", "gpus")
    assert ran.code == 4, ran
    places = {row["place"]: row for row in ran.objects if "problem" in row}
    assert places["ssh://gone"]["problem"]["code"] == "ssh-refused"
    of = [places[f"ssh://{one}{cache}"]["entries"] for one in ("there", "other")]
    (own,) = [row["entries"] for row in alone.objects if "problem" in row]
    assert of == [own, own]
    assert ran.result["entries"] == sum(
        row["entries"] for row in places.values()
    ) >= 2 * own  # fmt: skip
    shown = tk("overview", f"ssh://there{cache}", "ssh://gone")
    assert shown.code == 4
    (row,) = [line for line in shown.out.splitlines() if line.startswith("ssh://gone")]
    assert "cannot be looked at" in row


def test_ssh_asks_nothing_where_there_are_several(
    tk: Tk, there: Machine, fixture_cache: Path, tmp_path: Path
) -> None:
    config(there, UserKnownHostsFile="/dev/null")
    text = there.config.read_text()
    there.config.write_text(text + text.replace("Host there", "Host other"))
    ran = tk("du", "--json", *[f"ssh://{one}{fixture_cache}" for one in ("there", "other")])
    assert ran.code == 3
    assert ran.objects[-1]["error"]["code"] == "ssh-key-unknown"
