"""Copies from one machine to another by the ssh of the first, which do not pass by this one."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import torchkeeper
from tests.bench.memory import peak
from tests.bench.servers import code
from tests.cli.conftest import Tk
from tests.pace import LONG
from tests.ssh import breaking
from tests.ssh.conftest import Machine, config, ended, keygen, started
from tests.ssh.test_resuming import kept, many_kernels
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.messages.bundles import HandOverParams
from torchkeeper.engine.resuming import hand_over
from torchkeeper.engine.session import Session
from torchkeeper.stores import parts

#: Where no ssh of the tests is.
_PATH = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
def two(there: Machine, orders: Path) -> Iterator[Machine]:
    """The machine, which is ``other``, too; the account there has a key of its own and knows it by
    that name.
    """
    text, keys = there.config.read_text(), there.folder / "authorized_keys"
    there.config.write_text(text + text.replace("Host there", "Host other"))
    before, own = keys.read_text(), there.folder / "own"
    own.mkdir()
    keys.write_text(before + keygen(own / "key"))
    lines = [one for one in text.splitlines(keepends=True) if "ProxyCommand" not in one]
    (own / "config").write_text(
        "".join(lines)
        .replace("Host there", "Host other")
        .replace(str(there.folder / "user"), str(own / "key"))
    )
    program = there.bin / "ssh"
    real, file = shutil.which("ssh", path=_PATH), shlex.quote(str(own / "config"))
    program.write_text(f'#!/bin/sh\nexec {real} -F {file} "$@"\n')
    program.chmod(0o755)
    yield there
    program.unlink(missing_ok=True)
    keys.write_text(before)
    shutil.rmtree(own)


def left(two: Machine) -> list[Path]:
    """Files that copies have left there, among those for temporary use."""
    return [one for one in (two.folder / "tmp").rglob("*") if one.is_file()]


def test_a_bundle_does_not_pass_by_here(
    tk: Tk, two: Machine, orders: Path, kernels: Path, tmp_path: Path
) -> None:
    whole = many_kernels(tmp_path / "kernels", kernels)
    source, target = two.place(tmp_path / "kernels"), f"ssh://other{two.home}/new"
    for place in (source, "ssh://other/~/"):
        assert tk("ls", "--json", place).code == 0  # what travels is kept there
    ended(two)
    before = len(breaking.counts(orders))
    ran = tk("copy", "--json", "--direct", "--allow-secrets", source, target)
    assert (ran.code, ran.result["entries"], ran.result["into"]) == (0, 40, target), ran
    assert ran.result["place"] == source
    ended(two)
    late = time.monotonic() + LONG  # each says what it has moved once it has ended
    while len(moved := breaking.counts(orders)[before:]) < 2 and time.monotonic() < late:
        time.sleep(0.05)
    assert len(moved) == 2 and sum(map(sum, moved)) < whole / 4, moved
    rows = [
        {(row["key"], row["sha256"]) for row in tk("ls", "--json", one).objects if "sha256" in row}
        for one in (tmp_path / "kernels", two.home / "new")
    ]
    assert rows[0] == rows[1] and len(rows[0]) == 40
    assert not left(two)
    for source_too in (str(tmp_path / "kernels"), target):
        wrong = tk("copy", "--json", "--direct", source_too, f"{target}2")
        assert wrong.code == 2 and "two other machines" in wrong.objects[-1]["error"]["why"]


def handed(file: Path, to: str) -> None:
    """Hand a file over, as an engine of this machine does."""
    about: HandOverParams = {"path": str(file), "stretches": [(0, 1)], "to": to, "mark": "x"}
    hand_over(Session(), about, Report())


@pytest.mark.parametrize("to", ["ssh://-oProxyCommand=x/y", "ssh://-lroot@h/y", "ssh://h:-1/y"])
def test_no_name_is_an_option_of_ssh(tmp_path: Path, to: str) -> None:
    (tmp_path / "bundle").touch()
    with pytest.raises(Problem) as refused:
        handed(tmp_path / "bundle", to)
    assert refused.value.code == "ssh-address-wrong"


def test_one_that_broke_off_goes_on(
    two: Machine, orders: Path, kernels: Path, tmp_path: Path
) -> None:
    """As a script has it, which keeps its ways to both machines: theirs alone breaks."""
    whole, kept_ = many_kernels(tmp_path / "kernels", kernels, 80), 0
    theirs = orders.parent / "theirs" / "orders"
    theirs.parent.mkdir()
    proxy = shlex.join([sys.executable, breaking.__file__, str(two.port), str(theirs)])
    with (two.folder / "own/config").open("a") as file:
        file.write(f"ProxyCommand {proxy}\n")
    source = torchkeeper.open(two.place(tmp_path / "kernels"))
    target = torchkeeper.open(f"ssh://other{two.home}/new")
    for after in (whole // 2, whole // 4):
        breaking.order(theirs, "drop", after)
        with pytest.raises(torchkeeper.Error) as raised:
            source.copy(target, direct=True, secrets="allow")
        assert raised.value.code == "ssh-lost" and "goes on" in raised.value.remedy
        assert "ssh://other" in raised.value.what
        assert not (two.home / "new").exists()
        kept_ = sum(one.stat().st_blocks * 512 for one in kept(two.folder / "tmp"))
        assert parts.LEAST <= kept_ < whole
    breaking.order(theirs)
    assert source.copy(target, direct=True, secrets="allow").entries == 80
    assert sum(breaking.counts(theirs)[-1]) < whole - kept_ + 1_500_000
    assert not left(two), "nothing is kept of what has arrived"
    rows = [{(one.key, one.sha256) for one in torchkeeper.open(place).entries()}
            for place in (tmp_path / "kernels", two.home / "new")]  # fmt: skip
    assert rows[0] == rows[1] and len(rows[0]) == 80
    for wrong in (torchkeeper.open(tmp_path / "kernels"), torchkeeper.open(two.home / "new")):
        with pytest.raises(torchkeeper.Error) as raised:
            wrong.copy(target, direct=True)
        assert raised.value.code == "wrong-usage" and "two other" in raised.value.why


def test_a_machine_that_is_not_meant_is_sent_nothing(
    tk: Tk, two: Machine, fixture_cache: Path, tmp_path: Path
) -> None:
    """Of the same name there, with files of its own, and whatever comes is read."""
    (tmp_path / "wrong").mkdir()
    with started(tmp_path / "wrong") as wrong:
        config(wrong)
        own = two.folder / "own/config"
        own.write_text(wrong.config.read_text().replace("Host there", "Host other"))
        wrong.rc.write_text(
            f"tmp={two.folder}/tmp; exec < <(tee ~/got; touch ~/end)\n"
            'SSH_ORIGINAL_COMMAND=${SSH_ORIGINAL_COMMAND//"$tmp"//nowhere}'
        )
        source, target = two.place(fixture_cache), f"ssh://other{two.home}/new"
        ran = tk("copy", "--json", "--direct", "--allow-secrets", source, target)
        until = time.monotonic() + LONG
        while not (wrong.home / "end").exists() and time.monotonic() < until:
            time.sleep(0.02)
        assert (wrong.home / "got").read_bytes() == b""
    error = ran.objects[-1]["error"]
    assert (ran.code, error["code"]) == (3, "ssh-direct"), ran
    assert "may be another machine" in error["why"] and "No such file" in error["why"]
    ended(two)
    assert not left(two) and not (two.home / "new").exists()


def test_one_that_says_nothing_is_not_waited_for(
    two: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torchkeeper.engine.resuming.SILENCE", 1.0)
    two.rc.write_text("exec cat > /dev/null\n")
    (tmp_path / "bundle").write_bytes(b"x")
    with pytest.raises(Problem) as raised:
        handed(tmp_path / "bundle", two.place("x"))
    assert raised.value.params["why"] == "It said nothing for 1 seconds."


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("no key", "Permission denied"),
        ("key unknown", "Host key verification failed"),
        ("no ssh", "No such file or directory"),
        ("name unknown", "Could not resolve hostname"),
        ("command", "only borg here"),
        ("another program", "another program"),
        ("half", "another program"),
        ("full", "No space left"),
    ],
)
def test_why_it_cannot_is_told(
    tk: Tk, two: Machine, fixture_cache: Path, how: str, why: str
) -> None:
    own = two.folder / "own/config"
    if how == "no key":
        own.write_text(own.read_text().replace("own/key", "own/none"))
    elif how == "key unknown":
        own.write_text(own.read_text().replace(str(two.known), "/dev/null"))
    elif how == "name unknown":
        own.write_text(own.read_text().replace("Host other", "Host x"))
    does = {
        "command": "echo only borg here >&2; exit 3",
        "another program": "exit 0",
        "half": 'eval "${SSH_ORIGINAL_COMMAND/; cat/; head -c 1000}"; exit 0',
        "full": 'eval "${SSH_ORIGINAL_COMMAND% > *} > /dev/full"; exit',
    }
    two.rc.write_text(
        f'case "$SSH_ORIGINAL_COMMAND" in cat*) {does.get(how, ":")};; esac\n'
        + (f"PATH={shlex.quote(str(two.bin))}\n" if how == "no ssh" else "")
    )
    if how == "no ssh":
        (two.bin / "ssh").unlink()
    source, target = two.place(fixture_cache), f"ssh://other{two.home}/new"
    ran = tk("copy", "--json", "--direct", "--allow-secrets", source, target)
    error = ran.objects[-1]["error"]
    assert (ran.code, error["code"]) == (3, "ssh-direct"), ran
    assert why in error["why"]
    assert error["what"] == "ssh://there cannot send a file to ssh://other by its own ssh."
    assert "ssh other" in error["remedy"] and "Leave “direct” out" in error["remedy"]
    assert not (two.home / "new").exists()
    ended(two)
    assert not left(two)


@pytest.mark.slow
def test_a_cancelled_one_ends_there(tk: Tk, two: Machine, fixture_cache: Path) -> None:
    two.rc.write_text('case "$SSH_ORIGINAL_COMMAND" in cat*) touch ~/began; exec sleep 20;; esac')
    command = [sys.executable, "-m", "torchkeeper", "copy", "--direct", "--allow-secrets",
               two.place(fixture_cache), f"ssh://other{two.home}/new"]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + LONG
        while not (two.home / "began").exists() and time.monotonic() < until:
            time.sleep(0.05)
        assert theirs(two)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=LONG)
    assert process.returncode == 130
    while theirs(two) and time.monotonic() < until:
        time.sleep(0.05)
    assert not theirs(two)
    ended(two)
    assert not left(two) and not (two.home / "new").exists()


@pytest.mark.slow
@pytest.mark.parametrize("direct", [False, True])
def test_a_gigabyte_takes_little_memory(two: Machine, tmp_path: Path, direct: bool) -> None:
    """Of each process on the way, ours and those there, but for ssh and sshd themselves."""
    config(two)  # without the line that counts, which is slow
    text = two.config.read_text()
    two.config.write_text(text + text.replace("Host there", "Host other"))
    code(tmp_path / "cache", 120, 8 << 20)
    command = [sys.executable, "-m", "torchkeeper", "copy", "--allow-secrets",
               *(["--direct"] if direct else []), two.place(tmp_path / "cache"),
               f"ssh://other{two.home}/new"]  # fmt: skip
    peaks = dict[str, float]()
    with subprocess.Popen(command) as process:
        while process.poll() is None:
            for one in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    line = (one / "cmdline").read_bytes()
                    ours = one.name == str(process.pid) or (
                        f"{two.bin}/python3".encode() in line or b"torchkeeper" in line
                    )
                    if ours and str(tmp_path.parent).encode() in (one / "environ").read_bytes():
                        peaks[one.name] = max(peaks.get(one.name, 0), peak(int(one.name)))
            time.sleep(0.1)
    assert process.returncode == 0
    assert sum(file.stat().st_size for file in (two.home / "new").rglob("*.cpp")) > 1e9
    assert len(peaks) >= 3 and max(peaks.values()) < 120, peaks
    shutil.rmtree(two.home / "new")


def theirs(two: Machine) -> list[Path]:
    """The ssh processes that were begun there."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{two.folder}/own/config".encode() in (process / "cmdline").read_bytes():
                found.append(process)
    return found
