"""Engine processes: what they answer, how they end, and that none is left behind."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.pace import LONG
from torchkeeper.client.engines import interpreters, process, travel
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.temporary import Ended, signals_as_interrupts
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.engine import home, protocol
from torchkeeper.engine.protocol import MAX_ROWS, TABLE, Message
from torchkeeper.stores.folders import locks

pytestmark = pytest.mark.usefixtures("started_engines")


def until(engine: Engine, done: Callable[[Message], bool]) -> list[Message]:
    """The messages up to one that ends the waiting."""
    found: list[Message] = []
    deadline = time.monotonic() + LONG
    while time.monotonic() < deadline:
        select.select([engine], [], [], 0.2)
        found += engine.receive()
        if any(map(done, found)):
            return found
    pytest.fail("nothing came")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_hello_comes_first() -> None:
    with Engine() as engine:
        (hello,) = until(engine, lambda m: m.type == "hello")
        assert hello.body["protocol"] == 1
        assert hello.body["executable"] == sys.executable
        assert hello.body["operations"] == sorted(TABLE)


def test_rows_come_in_batches(tmp_path: Path) -> None:
    for number in range(1300):
        (tmp_path / f"{number:04d}").touch()
    sizes: list[int] = []

    def count(message: Message) -> None:
        if message.type == "rows":
            sizes.append(len(message.rows))

    with Engine() as engine:
        result = engine.call("list", {"place": str(tmp_path)}, count)
    # Nobody knows them: they are listed, and counted apart.
    assert result["unknown"] == sum(sizes) == 1300
    assert result["entries"] == 0
    assert max(sizes) <= MAX_ROWS


def test_names_that_grow_on_the_wire(tmp_path: Path) -> None:
    for number in range(700):
        name = b"\xff" * 240 + str(number).encode()
        (Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name)))).touch()
    rows: list[object] = []
    with Engine() as engine:
        engine.call("list", {"place": str(tmp_path)}, lambda m: rows.extend(m.rows))
    assert len(rows) == 700


@pytest.mark.parametrize(
    ("op", "params", "code"),
    [
        ("nonsense", {}, "operation-unknown"),
        ("list", {}, "request-malformed"),
        ("list", {"place": 5}, "request-malformed"),
        ("list", {"place": "relative"}, "path-not-absolute"),
        ("list", {"place": "/", "filter": "kind:x"}, "bad-filter"),
        ("purge", {"plan": 99}, "plan-unknown"),
        ("show", {"place": "/nowhere", "key": "x"}, "place-missing"),
    ],
)
def test_errors_leave_the_engine_working(op: str, params: dict[str, object], code: str) -> None:
    with Engine() as engine:
        with pytest.raises(UserError) as caught:
            engine.call(op, params)
        assert caught.value.code == code
        assert code in CATALOGUE
        assert engine.call("places") == {}


def test_a_request_that_is_too_long_is_said_and_not_waited_for() -> None:
    with Engine() as engine:
        with pytest.raises(UserError) as caught:
            engine.call("du", {"place": "/" + "x" * (1 << 20)})
        assert caught.value.code == "request-too-long"
        assert engine.call("places") == {}


def answering(folder: Path, *messages: dict[str, object]) -> str:
    """An interpreter that says just that, whatever it is asked."""
    hello = {"type": "hello", "protocol": protocol.PROTOCOL}
    said = "".join(json.dumps(one) + "\n" for one in (hello, *messages))
    script = folder / "python"
    script.write_text(f"#!{sys.executable}\nimport sys\nprint({said!r}, end='', flush=True)\n"
                      "sys.stdin.read()\n")  # fmt: skip
    script.chmod(0o755)
    return str(script)


def test_a_finding_that_does_not_fit_is_left_out_and_ends_no_change(tmp_path: Path) -> None:
    finding = {"type": "finding", "id": 1}
    python = answering(
        tmp_path,
        {**finding, "left": "all of it"},
        {**finding, "taken_back": {"rm": "-rf"}},
        {**finding, "waiting": {"code": "server-loading", "params": {}}},
        {"type": "result", "id": 1, "result": {}},
    )
    heard: list[Message] = []
    with Engine(python) as engine:
        engine.call("secret", {"place": "redis://h", "password": "x"}, heard.append)
        found = [one for one in heard if one.type == "finding"]
        assert [one.body["waiting"]["code"] for one in found] == ["server-loading"]
        assert [line for line in engine.log if "finding.left is a text" in line]


def test_a_result_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    python = answering(tmp_path, {"type": "result", "id": 1, "result": {"entries": "many"}})
    with Engine(python) as engine, pytest.raises(UserError, match="expected protocol") as caught:
        engine.call("facts", {"place": "redis://h", "items": []})
    assert caught.value.why == "result.entries is a text"


def test_garbage_on_the_wire_is_answered_and_the_engine_goes_on() -> None:
    with Engine() as engine:
        engine._stdin.write(b"this is not JSON\n")
        engine._stdin.flush()
        said = until(engine, lambda message: message.type == "error")[-1]
        assert (said.id, said.body["error"]["code"]) == (None, "request-malformed")
        engine.call("places")


def test_an_engine_that_is_killed_says_so() -> None:
    with Engine() as engine:
        until(engine, lambda m: m.type == "hello")
        os.kill(engine.pid, signal.SIGKILL)
        with pytest.raises(UserError) as caught:
            engine.call("places")
        assert "SIGKILL" in caught.value.why
        assert "memory" in caught.value.why


def test_an_engine_ends_with_its_input_even_when_busy(tmp_path: Path, kept_291: Path) -> None:
    with Engine() as engine:
        engine.send("list", {"place": "/"})
        time.sleep(0.3)
        pid = engine.pid
    assert not alive(pid)


def test_cancel_answers_at_once() -> None:
    with Engine() as engine:
        ident = engine.send("list", {"place": "/"})
        time.sleep(0.3)
        engine.cancel(ident)
        found = until(engine, lambda m: m.type in ("error", "result"))
        assert found[-1].body["error"]["code"] == "cancelled"
        engine.call("places")


def test_a_signal_ends_it_even_where_no_engine_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C can be pressed again; after a terminal was closed, nobody is left who could."""
    monkeypatch.setattr(process, "CANCEL", 0.1)
    with Engine() as engine:
        engine.call("places")
        os.kill(engine._process.pid, signal.SIGSTOP)
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM))
        timer.start()
        with pytest.raises(Ended) as ended, signals_as_interrupts():
            engine.call("places")
        timer.join()
    assert ended.value.number == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_dead_window_leaves_no_engine(tmp_path: Path) -> None:
    script = """if True:
        import sys, time
        from torchkeeper.client.engines.process import Engine
        engine = Engine()
        engine.send("list", {"place": "/"})
        print(engine.pid, flush=True)
        time.sleep(60)
    """
    window = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert window.stdout
    pid = int(window.stdout.readline())
    time.sleep(0.5)
    window.kill()
    window.wait()
    window.stdout.close()
    deadline = time.monotonic() + LONG
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not alive(pid)


@pytest.mark.slow
@pytest.mark.parametrize("python", ["None", "sys.executable"])
def test_an_engine_whose_window_dies_before_it_has_said_hello_leaves_no_folder(
    tmp_path: Path, python: str
) -> None:
    script = f"""if True:
        import os, signal, sys
        from torchkeeper.client.engines.process import Engine
        print(Engine({python}).pid, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", script]
    window = subprocess.run(command, env=env, stdout=subprocess.PIPE, check=False)
    deadline = time.monotonic() + LONG
    while alive(int(window.stdout)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list(tmp_path.iterdir()) == []


def test_what_was_killed_with_its_engine_leaves_no_folder_after_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    script = """if True:
        import os, signal
        from torchkeeper.client.engines.process import Engine
        engine = Engine()
        engine.call("places")
        print(flush=True)
        engine.kill()
        os.kill(os.getpid(), signal.SIGKILL)
    """
    with Engine() as running:
        running.call("places")
        for _ in range(2):
            subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, check=False)
        *left, kept = sorted(tmp_path.iterdir(), key=lambda path: path.samefile(running._home))
        assert kept.samefile(running._home)
        assert left, "it was killed before it could remove it"
        for path in left:  # one that was killed may still be on its way out
            lock = os.open(path, os.O_RDONLY)
            fcntl.flock(lock, fcntl.LOCK_EX)
            os.close(lock)
        starting, handle = home.make()  # of an app whose engine is not there yet
        spared = [tmp_path / f"{left[0].name}-{number}" for number in range(3)]
        spared[0].symlink_to(tmp_path)
        spared[1].mkdir(0o700)
        (spared[1] / "something").write_text("somebody may want it")
        spared[2].mkdir(0o755)
        older = tmp_path / "torchkeeper-engine-abcdefgh"
        for folder in (older, tmp_path / "torchkeeper-engine-new", tmp_path / "other"):
            folder.mkdir(0o700)
        os.utime(older, (0, 0))
        with Engine() as engine:
            engine.call("places")
        names = {Path(starting).name, "torchkeeper-engine-new", "other", kept.name}
        names |= {path.name for path in spared}
        # A folder of another version is removed where no other machine can be at work in it.
        names |= set() if locks.is_local(os.stat(tmp_path).st_dev) else {older.name}
        assert {path.name for path in tmp_path.iterdir()} == names
        os.close(handle)
        running.call("places")


def test_what_prints_before_the_engine_starts_is_no_protocol(tmp_path: Path) -> None:
    site = tmp_path / "sitecustomize.py"
    site.write_text("print('hello from a library', flush=True)\n")
    env = {"PYTHONPATH": str(tmp_path)}
    with (
        Engine(sys.executable, env) as engine,
        pytest.raises(UserError, match="something else when it starts"),
    ):
        engine.call("places")


@pytest.mark.parametrize("program", ["ls", "false"])
def test_what_is_no_python_is_said(program: str) -> None:
    path = shutil.which(program)
    with Engine(path) as engine, pytest.raises(UserError, match="as a Python does") as caught:
        engine.call("places")
    assert caught.value.code == "interpreter-unusable"


def test_one_that_is_killed_before_it_says_anything_is_not_called_no_python() -> None:
    with Engine(sys.executable) as engine:
        engine.kill()
        with pytest.raises(UserError, match="SIGKILL") as caught:
            engine.call("places")
    assert caught.value.code == "engine-gone"


def test_a_foreign_interpreter_gets_only_the_travelling_part(tmp_path: Path) -> None:
    with Engine(sys.executable) as engine:
        until(engine, lambda m: m.type == "hello")
        command = Path(f"/proc/{engine.pid}/cmdline").read_bytes()
        assert str(travel.archive()).encode() in command
        assert engine.call("list", {"place": str(tmp_path)})["entries"] == 0


@pytest.mark.parametrize("loose", ["folder", "file"])
def test_what_others_could_have_written_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loose: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    name = travel.archive().name
    folder = tmp_path / "torchkeeper"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"theirs")
    (folder if loose == "folder" else folder / name).chmod(0o777)
    made = travel.archive.__wrapped__()
    assert zipfile.is_zipfile(made) and made.name == name
    assert (made.parent == folder) == (loose == "file")
    assert made.stat().st_mode & 0o777 == 0o600


def test_interpreters_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        interpreters.chosen(str(tmp_path / "none"))
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho not python; exit 3\n")
    script.chmod(0o755)
    with Engine(str(script)) as engine, pytest.raises(UserError):
        engine.call("places")


def test_the_environment_variable_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(interpreters.VARIABLE, "/usr/bin/python3")
    assert interpreters.chosen(None) == "/usr/bin/python3"
    monkeypatch.delenv(interpreters.VARIABLE)
    assert interpreters.chosen(None) == sys.executable


def test_words_show_no_control_characters() -> None:
    error = user_error("place-missing", {"place": "evil\n\x1b[31m\udcff{x}"})
    assert error.what == r"There is no folder evil\n\x1b[31m\udcff{x}."
    assert printable("x" * 1000).endswith("…")
    assert "engine reported" in user_error("never-heard-of", {"a": 1}).what
    assert user_error("place-unreadable", {}).what == "? cannot be read."


@pytest.mark.slow
def test_an_interrupt_that_comes_while_one_is_told_of_is_told_of_too(many: Path) -> None:
    heard: list[bool] = []

    def first(_: Message) -> None:
        if not heard:
            os.kill(os.getpid(), signal.SIGINT)

    def told(again: bool) -> None:
        heard.append(again)
        if not again:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0)  # where Python would raise it

    with Engine() as engine, pytest.raises(KeyboardInterrupt):
        engine.call("list", {"place": str(many)}, first, told)
    assert heard == [False, True]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with Engine() as engine:
        heard.clear()
        with pytest.raises(KeyboardInterrupt):
            engine.call("list", {"place": str(many)}, first, heard.append)
        assert heard == [False], "what an answer is cut by is told of, and the engine cancels"
        assert engine.call("list", {"place": str(many)})["entries"] == 3000
