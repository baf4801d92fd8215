"""The way to another machine: one connection, whatever its account prints, and what ssh says where
there is none, in its own words.
"""

from __future__ import annotations

import contextlib
import os
import queue
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.pace import LONG
from tests.ssh import breaking
from tests.ssh.conftest import Machine, config, ended, keygen
from tests.terminals import Terminal
from torchkeeper.client import terminal
from torchkeeper.client.engines import boot, line
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.engines.questions import Asking, Question
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.stores import processes


@pytest.fixture(autouse=True)
def no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is asked but a terminal, also where tests of the window ran before."""
    monkeypatch.setattr(Asking, "by", None)


def wrong(tk: Tk, place: str, code: str) -> str:
    """What is said of a place that cannot be reached, for this problem."""
    ran = tk("ls", "--json", place)
    assert ran.code == 3, ran
    assert ran.objects[-1]["error"]["code"] == code, ran
    assert "Traceback" not in ran.err
    return ran.err


def test_what_an_account_prints_as_it_starts_does_no_harm(
    tk: Tk, there: Machine, fixture_cache: Path
) -> None:
    there.rc.write_text(
        'echo "Welcome!"; echo torchkeeper-; head -c 70000 /dev/urandom; echo "no tty" >&2; '
        "head -c 200000 /dev/zero >&2\n"
    )
    ran = tk("ls", "--json", there.place(fixture_cache))
    assert (ran.code, ran.err) == (0, "")
    assert ran.objects == tk("ls", "--json", fixture_cache).objects


def test_an_account_that_prints_for_ever_is_given_up(tk: Tk, there: Machine) -> None:
    there.rc.write_text("exec yes")
    assert "prints too much" in wrong(tk, there.place("x"), "ssh-misspoken")


def test_all_engines_share_one_connection(there: Machine, fixture_cache: Path) -> None:
    place = there.place(fixture_cache)
    with Engine("ssh://there") as one, Engine("ssh://there") as other:
        a = one.call(protocol.DU, {"place": place})
        b = other.call(protocol.DU, {"place": place})
        each_is_alone(there)
        python = line.to("ssh://there").hello().executable
        with Engine(f"ssh://there{python}") as third:
            c = third.call(protocol.DU, {"place": place})
        assert a == b == c
    assert there.sessions() == 1
    line.close_all()


def test_an_engine_that_has_looked_ends_there_by_itself(
    there: Machine, fixture_cache: Path
) -> None:
    """Nobody waits for it, and the connection stays."""
    waits = threading.Event()

    def wait() -> None:  # it hears of nothing meanwhile
        waits.wait(LONG)

    with Engine("ssh://there") as engine:
        engine.call(protocol.DU, {"place": there.place(fixture_cache)})
        assert list((there.folder / "tmp").glob("torchkeeper-engine-*"))
        line.to("ssh://there").wake(wait)
    assert engine._process.poll() is None, "it is not known yet"
    waits.set()
    until = time.monotonic() + LONG
    while time.monotonic() < until and list((there.folder / "tmp").glob("torchkeeper-engine-*")):
        time.sleep(0.02)
    assert line.standing("ssh://there") and not list((there.folder / "tmp").glob("*-engine-*"))
    line.close_all()


def each_is_alone(there: Machine) -> None:
    """Two engines are copies of what started them, and have nothing of each other."""
    found = dict[str, int]()
    for pid in processes.listed():
        with contextlib.suppress(OSError):
            found[os.readlink(f"/proc/{pid}/cwd")] = pid
    engines = [pid for path, pid in found.items()
               if path.startswith(f"{there.folder}/tmp/torchkeeper-engine-")]  # fmt: skip
    assert len(engines) == 2
    above = {processes.read(pid, "stat").rpartition(b")")[2].split()[1] for pid in engines}
    assert len(above) == 1, "one process started both"
    pipes = Counter[str]()
    for pid in engines:
        assert os.getsid(pid) == pid
        assert processes.arguments(pid) == processes.arguments(int(next(iter(above))))
        assert processes.is_ours(processes.arguments(pid))
        files = os.listdir(f"/proc/{pid}/fd")
        held = {os.readlink(f"/proc/{pid}/fd/{one}") for one in files}
        assert not [one for one in held if one.startswith(("/memfd", "socket"))]
        pipes.update(one for one in held if one.startswith("pipe"))
    assert set(pipes.values()) == {1} and len(pipes) == 6, "its own three, and no other's"


def test_an_engine_that_nobody_hears_holds_up_no_other(
    there: Machine, many: Path, fixture_cache: Path
) -> None:
    with Engine("ssh://there") as deaf, Engine("ssh://there") as one:
        for _ in range(3):
            deaf.send(protocol.LIST, {"place": there.place(many)})
        assert one.call(protocol.DU, {"place": there.place(fixture_cache)})["kinds"]
        rows = list[object]()
        ends = 0
        while ends < 3:
            for message in deaf.receive():
                rows += message.rows
                ends += message.type == "result"
    assert len(rows) > 3 * 1000
    line.close_all()


def test_a_key_that_is_not_known(tk: Tk, there: Machine) -> None:
    config(there, UserKnownHostsFile="/dev/null")
    said = wrong(tk, there.place("x"), "ssh-key-unknown")
    assert "Host key verification failed." in said
    assert "“ssh there” shows it" in said


def test_a_key_that_has_changed(tk: Tk, there: Machine, tmp_path: Path) -> None:
    known = tmp_path / "known"
    known.write_text(f"[127.0.0.1]:{there.port} {keygen(tmp_path / 'other')}")
    config(there, UserKnownHostsFile=known)
    said = wrong(tk, there.place("x"), "ssh-key-changed")
    assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in said


def test_somebody_who_is_not_let_in(tk: Tk, there: Machine, tmp_path: Path) -> None:
    keygen(tmp_path / "other")
    config(there, IdentityFile=tmp_path / "other")
    said = wrong(tk, there.place("x"), "ssh-denied")
    assert "Permission denied (publickey)." in said


def test_a_machine_that_does_not_exist(tk: Tk, there: Machine) -> None:
    config(there, HostName="nowhere.invalid")
    assert "Could not resolve hostname" in wrong(tk, there.place("x"), "ssh-host-unknown")


def test_a_machine_without_sshd(tk: Tk, there: Machine) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        config(there, Port=nobody.getsockname()[1])
        assert "Connection refused" in wrong(tk, there.place("x"), "ssh-refused")


def test_a_machine_that_does_not_answer(tk: Tk, there: Machine) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        config(there, Port=silent.getsockname()[1], ConnectTimeout=1)
        assert "timed out" in wrong(tk, there.place("x"), "ssh-silent")


def test_what_is_silent_while_it_connects_is_given_up(
    there: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that takes the connection, and a network that drops in the midst of it."""
    monkeypatch.setattr(terminal, "SLOW", 1.0)
    monkeypatch.setattr(line, "GIVEN_UP", 3.0)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        config(there, Port=silent.getsockname()[1])
        with pytest.raises(UserError) as raised:
            line.to("ssh://there").hello()
    assert (raised.value.code, raised.value.why) == ("ssh-silent", "It said nothing for 3 seconds.")


def test_a_network_that_drops_while_ssh_connects(
    there: Machine, orders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(line, "GIVEN_UP", 3.0)
    monkeypatch.setattr(terminal, "SLOW", 1.0)
    breaking.order(orders, "hush", 1500)
    with Engine("ssh://there") as engine, pytest.raises(UserError) as raised:
        engine.call(protocol.DU, {"place": there.place()})
    assert raised.value.code == "ssh-silent"


def locked(there: Machine, folder: Path) -> Path:
    """The key of there with a passphrase; the configuration has that."""
    key = folder / "locked"
    key.write_bytes((there.folder / "user").read_bytes())
    key.chmod(0o600)
    subprocess.run(["ssh-keygen", "-q", "-p", "-P", "", "-N", "opensesame", "-f", key], check=True)
    config(there, IdentityFile=key)
    return key


def test_a_question_is_never_given_up(
    there: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal, "SLOW", 0.2)
    asked: queue.SimpleQueue[Question] = queue.SimpleQueue()
    monkeypatch.setattr(Asking, "by", asked.put)
    locked(there, tmp_path)
    way = line.to("ssh://there")
    question = asked.get()
    with monkeypatch.context() as hasty:
        hasty.setattr(line, "GIVEN_UP", 1.0)
        assert not way.answers(4)
    question.answer("opensesame")
    assert way.hello().home


#: A command that says soon what it waits for, and does not wait long.
HASTY = """
import sys
from torchkeeper.cli.main import run
from torchkeeper.client import terminal
from torchkeeper.client.engines import line
terminal.SLOW, line.GIVEN_UP = 2.0, float(sys.argv.pop(1))
sys.exit(run(sys.argv[1:]))
"""


def test_on_a_terminal_it_is_said_what_is_waited_for(
    there: Machine, fixture_cache: Path, tmp_path: Path
) -> None:
    place, program = there.place(fixture_cache), (sys.executable, "-c", HASTY)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        config(there, Port=silent.getsockname()[1])
        shown = Terminal(["6", "du", place], program=program)
        shown.until("ssh://there has said nothing for 2 seconds. It is given up after 6; Ctrl-C")
        shown.until("ssh://there does not answer.")
        assert shown.end() == 3
    # One that asks is not silent, and nothing is written into its question.
    locked(there, tmp_path)
    shown = Terminal(["60", "du", place], program=program)
    shown.until("Enter passphrase for key")
    shown.hear(6)
    assert shown.said.endswith("locked': "), shown.said
    shown.type("opensesame\n")
    shown.until("fxgraph")
    assert shown.end() == 0
    assert "has said nothing" not in shown.said


def test_on_a_terminal_it_is_said_who_waits_for_a_turn(there: Machine, fixture_cache: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        config(there, Port=silent.getsockname()[1])
        one = there.config.read_text()
        there.config.write_text(one + one.replace("Host there", "Host other"))
        places = [there.place(fixture_cache), "ssh://other/tmp/copied"]
        program = (sys.executable, "-c", HASTY)
        shown = Terminal(["60", "copy", *places, "--allow-secrets"], 200, program=program)
        shown.until("ssh://other waits: ssh may ask for one machine at a time, and is not done "
                    "with ssh://there.")  # fmt: skip
        shown.type("\x03")
        assert shown.end() == 130


def test_a_machine_without_python(tk: Tk, there: Machine) -> None:
    there.rc.write_text("PATH=/nowhere")
    assert "python3" in wrong(tk, there.place("x"), "ssh-no-python")


@pytest.mark.parametrize("version", ["3.9.18", "3.6.8"])
def test_a_python_that_is_too_old(tk: Tk, there: Machine, version: str) -> None:
    number = tuple(map(int, version.split(".")))
    old = there.home / "python3"
    # The very words that are sent, in a Python that says that it is older.
    old.write_text(
        f'#!/bin/sh\nexec {there.bin}/python3 -I -S -c "import sys; '
        f"sys.version_info = {number}; sys.version = '{version} (x)'; "
        'exec(sys.argv[1])" "$4"\n'
    )
    old.chmod(0o755)
    there.rc.write_text("PATH=$HOME:$PATH")
    assert f"It is Python {version}." in wrong(tk, there.place("x"), "ssh-python-old")


def test_without_ssh(tk: Tk, there: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(there.home))
    wrong(tk, there.place("x"), "ssh-missing")


def test_what_ssh_says_is_plain_text_with_a_bound(tk: Tk, there: Machine) -> None:
    there.rc.write_text(
        r"""printf '\033[31mred\033[0m %s\n' "$(head -c 9000 /dev/zero | tr '\0' x)" >&2; exit 3"""
    )
    ran = tk("ls", there.place("x"))
    assert ran.code == 3
    assert "\x1b" not in ran.err
    assert len(ran.err) < 2000
    assert "There is no way to ssh://there." in ran.err


def test_a_place_that_is_not_there(tk: Tk, there: Machine) -> None:
    ran = tk("ls", there.place("nothing"))
    assert (ran.code, ran.out) == (3, "")
    assert "There is no folder ssh://there/~/nothing." in ran.err


def test_a_home_is_found(tk: Tk, there: Machine, fixture_cache: Path) -> None:
    fixture_cache.rename(there.home / "cache")
    assert tk("ls", "--json", there.place("cache")).code == 0
    assert tk("ls", "--json", "ssh://there/~/cache/").code == 0


def test_a_connection_that_breaks_says_so(there: Machine, many: Path) -> None:
    with Engine("ssh://there") as engine:
        engine.send(protocol.LIST, {"place": there.place(many)})
        while not list(engine.receive()):
            pass
        line.to("ssh://there")._process.kill()
        with pytest.raises(UserError) as raised:
            while True:
                list(engine.receive())
    assert raised.value.code == "ssh-lost"
    with Engine("ssh://there") as engine:  # the next begins anew
        assert engine.call(protocol.DU, {"place": there.place(many)})["kinds"]
    line.close_all()


@pytest.mark.slow
def test_a_request_while_all_connections_end_or_right_after_has_an_end(
    there: Machine, fixture_cache: Path
) -> None:
    params = {"place": there.place(fixture_cache)}
    came = Counter[str]()
    for n in range(30):
        with Engine("ssh://there") as engine, Engine("ssh://there") as other:
            if n % 3:
                engine.call(protocol.DU, params)
            end = threading.Timer(n % 10 / 20, line.close_all)
            end.start()

            def ask(engine: Engine = engine) -> None:
                try:
                    engine.call(protocol.DU, params)
                    came["answered"] += 1
                except UserError as error:
                    came[error.code] += 1

            if not n % 2:
                end.join()
            asks = threading.Thread(target=ask, daemon=True)
            asks.start()
            asks.join(LONG)
            assert not asks.is_alive(), n
            end.join()
            ask(other)
    assert came.total() == 60 and came.keys() <= {"answered", "ssh-lost", "ssh-failed", "cancelled"}
    line.close_all()
    ended(there)


def test_an_interpreter_that_is_not_there(there: Machine) -> None:
    with Engine("ssh://there/nowhere/python") as engine, pytest.raises(UserError) as raised:
        engine.call(protocol.PROBE)
    assert raised.value.code == "interpreter-unusable"
    assert "No such file or directory" in raised.value.why
    line.close_all()


def test_nothing_of_here_is_lent_and_ssh_sees_no_option(there: Machine) -> None:
    from torchkeeper.stores.ssh import parse

    argv = boot.command(parse("ssh://me@gpu1:22"), "token", "0" * 64, 1000)
    assert argv[argv.index("--") + 1] == "gpu1"
    assert argv[argv.index("-l") + 1] == "me"
    assert "ForwardAgent=no" in argv and "ClearAllForwardings=yes" in argv
    assert not any("ControlMaster" in one for one in argv)
    assert not set("'!\\\n") & set(argv[-1].split("-c '")[1].removesuffix("'"))


def test_on_a_terminal_ssh_asks_itself(there: Machine, fixture_cache: Path, tmp_path: Path) -> None:
    config(there, IdentityFile=locked(there, tmp_path), UserKnownHostsFile=tmp_path / "known")
    place = there.place(fixture_cache)
    terminal = Terminal(["du", place])
    terminal.until("Are you sure you want to continue connecting (yes/no")
    terminal.type("yes\n")
    terminal.until("Enter passphrase for key")
    terminal.type("opensesame\n")
    terminal.until("fxgraph")
    assert terminal.end() == 0
    assert "opensesame" not in terminal.said
    # Two machines ask one after the other, and nothing is written into their questions.
    one = there.config.read_text()
    there.config.write_text(one + one.replace("Host there", "Host other"))
    terminal = Terminal(["copy", place, f"ssh://other{tmp_path}/copied", "--allow-secrets"])
    for _ in range(2):
        terminal.until("Enter passphrase for key")
        terminal.hear(3)  # in which a line that tells of seconds is written anew
        question = terminal.said[terminal.said.rindex("Enter passphrase for key") :]
        assert question.count("\n") == 0 and question.endswith("locked': "), question
        terminal.said = terminal.said.replace("Enter passphrase", "Entered")
        terminal.type("opensesame\n")
    assert terminal.end() == 0
    assert "opensesame" not in terminal.said
    # Ctrl-C where it asks ends it all.
    terminal = Terminal(["du", place])
    terminal.until("Enter passphrase for key")
    terminal.type("\x03")
    assert terminal.end() == 130


def test_a_way_that_cannot_be_begun_says_so(there: Machine) -> None:
    assert line.to("ssh://there").hello().home  # what travels is made by now
    line.close_all()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Far below what is open: what another thread closes meanwhile makes no room.
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    filler = []
    try:
        with contextlib.suppress(OSError):
            while True:
                filler.append(os.open(os.devnull, os.O_RDONLY))
        with pytest.raises(UserError) as raised:
            line.to("ssh://there")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for handle in filler:
            os.close(handle)
    assert raised.value.code == "ssh-failed" and "open files" in raised.value.why
    assert line.to("ssh://there").hello().home
    line.close_all()


def test_the_end_of_questions_writes_into_no_pipe_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Who listens has just dealt with one, and sees that it is the end before that is written."""
    asking = Asking("ssh://there", lambda _: None)
    listens = next(one for one in threading.enumerate() if one.name == "line-asked")
    close = os.close

    def closed(handle: int) -> None:
        close(handle)
        if threading.current_thread() is not listens:
            os.write(asking._asked, b"confirm\0Well?\0")
            listens.join(0.5)

    monkeypatch.setattr(os, "close", closed)
    asking.end()
    listens.join(LONG)
    assert not listens.is_alive()


def mute(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, an ssh that takes the connection and says nothing."""
    program = folder / "ssh"
    program.write_text("#!/bin/sh\nexec sleep 100\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setattr(terminal, "is_there", lambda: True)


def test_a_process_that_is_forked_has_a_turn_and_connections_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever holds them in the other will never let go of them in this."""
    mute(tmp_path, monkeypatch)
    line.to("ssh://first")
    with line._lines.lock, warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of a fork where there are threads
        if not (child := os.fork()):
            signal.alarm(round(LONG / 10))
            made = line.to("ssh://first")
            taken = terminal.Terminal.taken is made._asking
            made.hang_up()
            os._exit(not taken)
    assert os.waitpid(child, 0)[1] == 0
    line.close_all()
    assert not terminal.Terminal.taken


def test_who_waits_for_the_terminal_holds_up_nobody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One machine takes the connection and says nothing; the next would ask, too."""
    mute(tmp_path, monkeypatch)
    line.to("ssh://first")
    came = list[str]()

    def second() -> None:
        try:
            line.to("ssh://second")
        except UserError as error:
            came.append(error.code)

    def others() -> None:
        line.to("ssh://third", silent=True)
        came.append("third")
        line.close_all()

    waits, goes = (threading.Thread(target=one, daemon=True) for one in (second, others))
    waits.start()
    time.sleep(0.3)
    goes.start()
    goes.join(LONG / 10)
    waits.join(LONG / 10)
    assert came == ["third", "cancelled"]
    assert not terminal.Terminal.taken
