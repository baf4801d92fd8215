"""One connection for many: what the other end says is checked, whatever it is."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.pace import LONG
from tests.sampling import sampled
from tests.ssh.conftest import Machine
from torchkeeper.client.engines import line
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import mux, past, protocol

#: How a machine that lies begins: it has a zip, and says what it likes.
LIAR = """\
#!{python} -IS
import json, os, re, struct, sys, zlib
token = re.search("torchkeeper-[0-9a-f]+:", sys.argv[4])[0]
f = open(0, "rb", closefd=False)
def say(data):
    while data:
        data = data[os.write(1, data):]
def frame(kind, channel, payload=b""):
    say(struct.pack(">BIH", kind, channel, len(payload)) + payload)
def message(channel=1, **what):
    frame(1, channel, json.dumps(what).encode() + b"\\n")
def packed(data, end=zlib.Z_SYNC_FLUSH):
    made = zlib.compressobj(9, zlib.DEFLATED, -15)
    return made.compress(data) + made.flush(end)
def hello(**other):
    told = dict(version={version}, python="3.11.2", executable="/usr/bin/python3", home="/home/me",
                folder="/tmp/x")
    say(b"\\n" + token.encode() + json.dumps({{**told, **other}}).encode() + b"\\n")
def asked():
    # The frame that opens a channel, and the request that follows.
    for _ in range(2):
        kind, channel, length = struct.unpack(">BIH", f.read(7))
        what = f.read(length)
    return json.loads(what)
{lie}
while f.read(1):
    pass
"""


@pytest.fixture
def lying(there: Machine) -> Callable[[str], str]:
    """A machine that says what a piece of Python says; its name."""

    def lie(source: str) -> str:
        file = there.home / "python3"
        file.write_text(LIAR.format(python=there.bin / "python3", version=mux.VERSION, lie=source))
        file.chmod(0o755)
        there.rc.write_text("PATH=$HOME:$PATH")
        return there.place("/srv/cache")

    return lie


#: A liar, and the code of the error with which it is refused.
LIES = {
    "no object": ("say(b'\\n' + token.encode() + b'[1]\\n')", "ssh-misspoken"),
    "no JSON": ("say(b'\\n' + token.encode() + b'{\\n')", "ssh-misspoken"),
    "deep": ("say(b'\\n' + token.encode() + b'[' * 9000 + b'\\n')", "ssh-misspoken"),
    "a word without an end": ("say(token.encode() + b'x' * (1 << 20))", "ssh-misspoken"),
    "another version": ("hello(version=1)", "ssh-misspoken"),
    "a home that is no path": ("hello(home='x')", "ssh-misspoken"),
    "a home that climbs": ("hello(home='/a/../..')", "ssh-misspoken"),
    "a home with escapes": ("hello(home='/\\x1b[31m')", "ssh-misspoken"),
    "a home that is a number": ("hello(home=7)", "ssh-misspoken"),
    "a folder that is long": ("hello(folder='/' + 'x' * 5000)", "ssh-misspoken"),
    "a folder with a line": ("hello(folder='/x\\ny')", "ssh-misspoken"),
    "a Python that is none": ("hello(python=None)", "ssh-misspoken"),
    "an old Python with escapes": (
        "say(token.encode() + b'old \\x1b[31m2.7' + token.encode())", "ssh-python-old"),
    "a flood before the first word": ("say(b'x' * (1 << 22))", "ssh-misspoken"),
    "a frame that is too long": ("hello(); say(b'\\1\\0\\0\\0\\1\\xff\\xff')", "ssh-misspoken"),
    "a frame of no kind": ("hello(); frame(99, 1)", "ssh-misspoken"),
    "it opens": ("hello(); frame(6, 1, b'{}')", "ssh-misspoken"),
    "it signals": ("hello(); frame(8, 1, b'9')", "ssh-misspoken"),
    "it writes to our input": ("hello(); asked(); frame(0, 1, b'x')", "ssh-misspoken"),
    "it grants what it does not take": ("hello(); asked(); frame(4, 1, b'0000')", "ssh-misspoken"),
    "nothing again": ("hello(); asked(); frame(16, 1, b'\\0' * 8)", "ssh-misspoken"),
    "what was never said": (
        "hello(); asked(); frame(16, 1, b'\\0' * 7 + b'\\1')", "ssh-misspoken"),
    "half a number": ("hello(); asked(); frame(16, 1, b'\\0' * 7)", "ssh-misspoken"),
    "no compressed data": ("hello(); asked(); frame(10, 1, b'\\xff' * 9)", "ssh-misspoken"),
    "a bomb": ("hello(); asked(); frame(13, 1, packed(b'x' * (1 << 25)))", "ssh-misspoken"),
    "compressed data that ends": (
        "hello(); asked(); frame(13, 1, packed(b'x', zlib.Z_FINISH))", "ssh-misspoken"),
    "compressed nothing": ("hello(); asked(); frame(13, 1, packed(b''))", "ssh-misspoken"),
    "the same again and again": (
        "hello(); asked(); frame(13, 1, packed(b'x' * 32000))\n"
        "while True: frame(16, 1, b'\\0' * 7 + b'\\1' + b'\\0' * 7 + b'\\1')", None),
    "one word without an end": (
        "hello(); asked(); frame(13, 1, packed(b'x' * 32000))\n"
        "while True: frame(16, 1, (b'\\0' * 7 + b'\\1') * 4000)", "ssh-misspoken"),
    "it wants it twice": (
        "say(b'\\n' + token.encode() + b'want\\n'); f.read(int(f.read(8), 16)); "
        "say(b'\\n' + token.encode() + b'want\\n')", "ssh-misspoken"),
    "it grants too much": (
        "hello(); asked(); frame(3, 1, b'\\xff\\xff\\xff\\xff')", "ssh-misspoken"),
    "it grants a word": ("hello(); asked(); frame(3, 1, b'x')", "ssh-misspoken"),
    "more than is asked for": (
        "hello(); asked()\nwhile True: frame(2, 1, b'x' * 32768); frame(2, 1, b'y' * 32768)",
        None),
    "after the end": ("hello(); asked(); frame(1, 1); frame(1, 1, b'x')", None),
    "an end that is no object": ("hello(); asked(); frame(7, 1, b'[]')", "ssh-misspoken"),
    "an end without JSON": ("hello(); asked(); frame(7, 1, b'x')", "ssh-misspoken"),
    "an end of another type": (
        "hello(); asked(); frame(7, 1, b'{\"status\": \"0\"}')", "ssh-misspoken"),
    "an end that is huge": (
        "hello(); asked(); frame(7, 1, b'{\"status\": 1e400}')", "ssh-misspoken"),
    "no JSON from an engine": ("hello(); asked(); frame(1, 1, b'hi there\\n')", None),
    "a line without an end": (
        "hello(); asked()\nfor _ in range(40): frame(1, 1, b'x' * 32768)", None),
    "a result of another type": (
        "hello(); i = asked()['id']; message(type='result', id=i, result={'kinds': 'x'})", None),
    "a result that is none": (
        "hello(); i = asked()['id']; message(type='result', id=i, result=7)", None),
    "rows without an end": (
        "hello(); i = asked()['id']; message(type='rows', id=i, rows=[{}] * 501)", None),
    "an answer that is the work of seconds": (
        "hello(); message(type='hello', id=None, protocol=1); i = asked()['id']; "
        "d = json.dumps({'type': 'progress', 'id': i, "
        "'x': ['/srv/cache', [[]] * 40000]}).encode() + b'\\n'\n"
        "for n in range(0, len(d), 30000): frame(1, 1, d[n : n + 30000])", "protocol"),
    "an error of its own": (
        "hello(); i = asked()['id']; message(type='error', id=i, "
        "error={'code': 'x\\x1b[31m', 'params': {'a': 'b\\x1b[0m' * 999}})", None),
    "an error that has no code": (
        "hello(); i = asked()['id']; message(type='error', id=i, error={})", None),
    "a type that is none": ("hello(); i = asked()['id']; message(type='run', id=i)", None),
    "another protocol": ("hello(); asked(); message(type='hello', id=None, protocol=99)", None),
    "it goes": ("hello(); asked(); sys.exit(0)", "ssh-lost"),
    "it goes at once": ("sys.exit(0)", "ssh-failed"),
    "it goes in the middle": ("hello(); say(b'\\1\\0\\0'); sys.exit(0)", "ssh-lost"),
}  # fmt: skip


@sampled("name", list(LIES), 8)
def test_a_machine_that_lies_is_refused(lying: Callable[[str], str], name: str) -> None:
    lie, code = LIES[name]
    place = lying(lie)
    with Engine("ssh://there") as engine, pytest.raises(UserError) as raised:
        engine.call(protocol.DU, {"place": place})
    said = str(raised.value)
    assert code in (None, raised.value.code), said
    assert "\x1b" not in said
    assert len(said) < 10_000
    line.close_all()


def test_rows_of_a_machine_that_lies_are_no_paths_here(lying: Callable[[str], str]) -> None:
    """What is not an entry is refused where it is read, as from any engine."""
    place = lying(
        "hello(); i = asked()['id']; message(type='rows', id=i, rows=[{'path': '../../etc'}]); "
        "message(type='result', id=i, result={'trash': None, 'place': '/etc/passwd'})"
    )
    with Engine("ssh://there") as engine:
        rows = list[object]()
        told = engine.call(protocol.LIST, {"place": place}, lambda one: rows.extend(one.rows))
    assert told["place"] == "/etc/passwd", "as it said: it is no name that we asked about"
    assert rows == [{"path": "../../etc"}]
    line.close_all()


@pytest.mark.parametrize("closes", [False, True])
def test_what_ended_just_before_its_connection_hears_of_that(
    lying: Callable[[str], str], closes: bool
) -> None:
    """More has come of it than anybody has read."""
    place = lying(
        "hello(); i = asked()['id']\n"
        "for n in range(9000): message(type='progress', id=i, done=n, total=None, unit='files')\n"
        "frame(7, 1, b'{\"status\": 0}')\n" + ("" if closes else "sys.exit(0)")
    )
    with Engine("ssh://there") as engine:
        engine.send(protocol.DU, {"place": place})
        way, until = line.to("ssh://there"), time.monotonic() + LONG / 10
        while engine._process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        assert engine._process.poll() == 0
        if closes:
            line.close_all()
        while not way._over:
            time.sleep(0.01)
        with pytest.raises(UserError) as raised:
            while time.monotonic() < until:
                list(engine.receive())
        assert raised.value.code in ("ssh-lost", "engine-gone")
        assert line.to("ssh://there").hello().home
    line.close_all()


class End(mux.Mux):
    """An end that notes what it is told."""

    def __init__(self, into: int, out: int) -> None:
        super().__init__(into, out)
        self.told: list[tuple[int, int, object]] = []

    def control(self, kind: int, channel: int, payload: bytes) -> None:
        self.told.append((kind, channel, json.loads(payload)))


def test_streams_arrive_as_they_went_whatever_the_pieces(tmp_path: Path) -> None:
    rng = random.Random(7)
    ab, ba = os.pipe(), os.pipe()
    a, b = End(ba[0], ab[1]), End(ab[0], ba[1])
    sent, sinks = {}, {}
    for channel in range(1, 9):
        data = rng.randbytes(rng.choice([0, 1, 70_000, 3_000_000]))
        source, sink = tmp_path / f"s{channel}", tmp_path / f"t{channel}"
        source.write_bytes(data)
        said = channel % 2 == 0
        a.add(channel, 1, os.open(source, os.O_RDONLY), reads=True, said=said)
        b.add(channel, 1, os.open(sink, os.O_WRONLY | os.O_CREAT), reads=False)
        sent[channel], sinks[channel] = data, sink
    a.tell(mux.OPEN, 3, x="y")
    while a._streams or b._streams:
        a.turn(0)
        b.turn(0)
    assert {n: sink.read_bytes() for n, sink in sinks.items()} == sent
    assert b.told == [(mux.OPEN, 3, {"x": "y"})]


def test_silence_ends_a_connection_and_words_keep_it() -> None:
    ab, ba = os.pipe(), os.pipe()
    a, b = End(ba[0], ab[1]), End(ab[0], ba[1])
    a.heed(0.09)
    b.heed(0.09)
    for _ in range(30):  # ten times as long as silence may be
        a.turn()
        b.turn()
    assert not a.told and not b.told, "words are no news"
    with pytest.raises(mux.Silent):
        for _ in range(9):
            a.turn()


@pytest.mark.slow
def test_who_was_stopped_listens_before_a_connection_is_lost() -> None:
    """As a machine that slept, where its clock goes on meanwhile."""
    ab, ba = os.pipe(), os.pipe()
    if not (child := os.fork()):
        end = End(ba[0], ab[1])
        end.heed(3)
        try:
            while True:
                end.turn()
        finally:
            os._exit(1)
    os.read(ab[0], 1)  # it is at it
    os.kill(child, signal.SIGSTOP)
    time.sleep(6)
    os.kill(child, signal.SIGCONT)
    time.sleep(0.5)
    os.write(ba[1], mux.HEAD.pack(mux.ALIVE, 0, 0))
    time.sleep(1)
    assert os.waitpid(child, os.WNOHANG) == (0, 0)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def rows(numbers: Sequence[int], request: int) -> bytes:
    """What an engine says of some entries."""
    every = [{"kind": "triton", "path": f"k/{n:064}", "size": n, "more": [{}, {}]} for n in numbers]
    some = [every[at : at + 300] for at in range(0, len(every), 300)]
    said = [protocol.encode({"type": "rows", "id": request, "rows": one}) for one in some]
    done = {"type": "result", "id": request, "result": {"entries": len(every)}}
    return b"".join([*said, protocol.encode(done)])


def test_what_has_gone_before_does_not_go_again(tmp_path: Path) -> None:
    """Whatever is between: of another list only what is new goes."""
    ab, ba = os.pipe(), os.pipe()
    a, b = End(ba[0], ab[1]), End(ab[0], ba[1])
    went: list[int] = []
    took = b.took

    def counted(data: bytes) -> None:
        went[-1] += len(data)
        took(data)

    b.took = counted  # type: ignore[method-assign]
    every = list(range(6000))
    listed = [every, every, [n for n in every if n % 1000 != 17], [*range(-40, 0), *every]]
    for channel, numbers in enumerate(listed, 1):
        source, sink = tmp_path / f"s{channel}", tmp_path / f"t{channel}"
        source.write_bytes(rows(numbers, channel))
        went.append(0)
        a.add(channel, 1, os.open(source, os.O_RDONLY), reads=True, said=True)
        b.add(channel, 1, os.open(sink, os.O_WRONLY | os.O_CREAT), reads=False)
        while a._streams or b._streams:
            a.turn(0)
            b.turn(0)
        assert sink.read_bytes() == source.read_bytes()
    assert went[0] < (tmp_path / "s1").stat().st_size / 2
    assert went[1] < 1000
    assert went[2] < went[0] / 4
    assert went[3] < went[0] / 4


def test_no_more_is_remembered_than_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(past, "ROOM", 1000)
    monkeypatch.setattr(past, "_EACH", 0)
    ours, theirs = past.Past(), past.Past()
    rng = random.Random(3)
    for _ in range(300):
        chunk = bytes([rng.randrange(40)]) * 97
        if (number := ours.number(chunk)) is None:
            ours.add(chunk)
            theirs.add(chunk)
        else:
            ours.add(chunk)
            assert theirs.again(past.RUN.pack(number, 1), 1000) == chunk
    assert len(ours._chunks) == len(ours._numbers) == 10
    with pytest.raises(ValueError):
        theirs.again(past.RUN.pack(0, 1), 1000)


def test_what_is_remembered_of_small_chunks_takes_bounded_room() -> None:
    """A chunk of four bytes takes some two hundred to remember: a stranger can send millions."""
    ours = past.Past()
    for n in range(100_000):
        ours.add(n.to_bytes(3, "big") + b"\n")
    assert len(ours._chunks) == len(ours._numbers) < 70_000


@pytest.mark.parametrize("dropped", [False, True])
def test_what_was_not_asked_for_is_no_work(tmp_path: Path, dropped: bool) -> None:
    """A frame of a few bytes may stand for a million chunks, and who hears of that can be gone."""
    ab, ba = os.pipe(), os.pipe()
    end, word = End(ba[0], ab[1]), past.Packer(6).packed(b"\n")
    if dropped:
        end.add(1, 1, os.open(tmp_path / "x", os.O_WRONLY | os.O_CREAT), reads=False)
        end.drop(1)
        end.took(mux.HEAD.pack(mux.CHUNKS + 1, 1, len(word)) + word)
        end._astray = 40
    else:
        end._past.add(b"\n")
    again = mux.HEAD.pack(mux.SAME + 1, 1, past.RUN.size) + past.RUN.pack(0, mux.WINDOW)
    with pytest.raises(mux.Broken):
        end.took(again)
    assert end._past._next < 50


def test_what_is_asked_for_and_not_read_ends_the_connection() -> None:
    """Each frame makes one that is longer."""
    ab, ba = os.pipe(), os.pipe()

    class Talking(End):
        def control(self, kind: int, channel: int, payload: bytes) -> None:
            self.tell(mux.ENDED, channel, why="x" * 2000)

    far = Talking(ab[0], ba[1])
    with pytest.raises(mux.Broken):
        for _ in range(100):
            far.took((mux.HEAD.pack(mux.OPEN, 1, 2) + b"{}") * 100)
    assert len(far._out) < 20 << 20


def test_a_stream_that_nobody_reads_takes_bounded_room(tmp_path: Path) -> None:
    ab, ba, unread = os.pipe(), os.pipe(), os.pipe()
    a, b = End(ba[0], ab[1]), End(ab[0], ba[1])
    with open("/dev/zero", "rb") as zero:
        a.add(1, 0, os.dup(zero.fileno()), reads=True)
        b.add(1, 0, unread[1], reads=False)
        for _ in range(3000):
            a.turn(0)
            b.turn(0)
    (stream,) = b._streams.values()
    assert len(stream.waiting) <= mux.WINDOW
    assert len(a._out) <= mux.ROOM + mux.PIECE + mux.HEAD.size
