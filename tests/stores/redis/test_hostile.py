"""Servers that want to keep whoever asks them for ever, or to fill their memory."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Callable, Iterator
from random import Random

import hiredis
import pytest

from torchkeeper.artifacts import remote
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.redis import connecting, publishing, server
from torchkeeper.stores.redis.connecting import pack
from torchkeeper.stores.redis.store import Redis

OK = b"+OK\r\n"
KEY = b"pt2:fx-graph-v1::f" + b"a" * 51 + b":c1"
KERNEL_FILE = b"triton:" + b"A" * 52 + b":"
#: Answers to a command, the words of which are given, piece by piece.
Answer = Callable[[list[bytes]], Iterator[bytes]]


def _said(words: list[bytes]) -> bytes:
    """What a small Redis that means no harm answers."""
    name = words[0].upper()
    if name == b"DBSIZE":
        return b":1\r\n"
    if name == b"SCAN":
        return pack(b"0", b"").replace(b"$0\r\n\r\n", b"*1\r\n$%d\r\n%b\r\n" % (len(KEY), KEY))
    if name == b"STRLEN":
        return b":3\r\n"
    if name == b"INFO":
        return b"$13\r\nrole:master\r\n\r\n"
    return b"+PONG\r\n" if name == b"PING" else OK


@contextlib.contextmanager
def hostile(odd: Answer) -> Iterator[str]:
    """The address of a server that answers as ``odd`` where that yields something, else well."""
    listener = socket.create_server(("127.0.0.1", 0))
    ended = threading.Event()

    def serve(client: socket.socket) -> None:
        reader = hiredis.Reader()
        with client, contextlib.suppress(OSError, hiredis.ProtocolError):
            while not ended.is_set() and (data := client.recv(1 << 16)):
                reader.feed(data)
                while (words := reader.gets()) is not False:
                    pieces = odd(words)
                    first = next(pieces, None)
                    client.sendall(_said(words) if first is None else first)
                    for piece in pieces:
                        if ended.is_set():
                            return
                        client.sendall(piece)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                client.settimeout(60)
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    accepting = threading.Thread(target=accept, daemon=True)
    accepting.start()
    try:
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
    finally:
        ended.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join(60)


def to(name: bytes, *pieces: bytes) -> Answer:
    """Answers one command with these pieces."""
    return lambda words: iter(pieces if words[0].upper() == name else ())


def code_of(url: str) -> str:
    """What listing a server ends with."""
    with pytest.raises(Problem) as caught, Redis(url, Report()) as store:
        store.items(Report())
    return caught.value.code


def test_the_server_of_these_tests_means_no_harm_by_itself() -> None:
    with hostile(lambda _: iter(())) as url, Redis(url, Report()) as store:
        assert [item.path for item in store.items(Report())] == [KEY.decode()]


@pytest.mark.parametrize("name", [b"PING", b"INFO", b"SCAN"])
def test_a_byte_now_and_then_is_no_answer(monkeypatch: pytest.MonkeyPatch, name: bytes) -> None:
    monkeypatch.setattr(connecting, "ANSWER_TIMEOUT", 0.5)

    def trickle(words: list[bytes]) -> Iterator[bytes]:
        for piece in itertools.repeat(b"x") if words[0].upper() == name else ():
            yield piece
            time.sleep(0.02)

    def odd(words: list[bytes]) -> Iterator[bytes]:
        return itertools.chain([b"$99999\r\n"], trickle(words)) if words[0] == name else iter(())

    with hostile(odd) as url:
        assert code_of(url) == "server-timeout"


@pytest.mark.parametrize(
    ("pieces", "code"),
    [
        ((b"+", *[b"x" * 4096] * 64), "server-unbounded"),
        ((b"-ERR ", *[b"x" * 4096] * 64), "server-unbounded"),
        ((b"$" + b"9" * 18 + b"\r\n",), "server-unbounded"),
        ((b"*" + b"9" * 18 + b"\r\n",), "server-unbounded"),
        ((b"*2\r\n$1\r\n0\r\n*99999999\r\n",), "server-unbounded"),
        ((b"*1000000\r\n*1000000\r\n",), "server-unbounded"),
        ((b"*1\r\n" * 100,), "server-not-redis"),
        ((b"%99999999\r\n",), "server-not-redis"),
        ((b">3\r\n$7\r\nmessage\r\n",), "server-not-redis"),
        ((b"x" * 40,), "server-not-redis"),
    ],
)
@pytest.mark.parametrize("name", [b"PING", b"SCAN"])
def test_what_is_longer_than_any_answer_is_not_taken(
    name: bytes, pieces: tuple[bytes, ...], code: str
) -> None:
    with hostile(to(name, *pieces)) as url:
        assert code_of(url) == code


def test_what_nobody_asked_for_is_not_taken_for_an_answer() -> None:
    pushed = b"*3\r\n$7\r\nmessage\r\n$1\r\na\r\n$1\r\nb\r\n"
    with hostile(to(b"PING", b"+PONG\r\n" + pushed)) as url:
        assert code_of(url) == "server-not-redis"


def test_a_scan_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "PAGES", 50)
    numbers = itertools.count(1)

    def page(*keys: bytes) -> Answer:
        def odd(words: list[bytes]) -> Iterator[bytes]:
            if words[0].upper() == b"SCAN":
                cursor = b"%d" % next(numbers)
                listed = pack(*keys) if keys else b"*0\r\n"
                yield b"*2\r\n$%d\r\n%b\r\n%b" % (len(cursor), cursor, listed)

        return odd

    for keys in ((), (KEY,), (b"other",)):
        with hostile(page(*keys)) as url:
            assert code_of(url) == "server-endless"
    with hostile(to(b"SCAN", b"*2\r\n$3\r\nabc\r\n*0\r\n")) as url:
        assert code_of(url) == "server-not-redis"


def test_a_scan_that_brings_more_and_more_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "KEYS", 1000)
    numbers = itertools.count(1)

    def odd(words: list[bytes]) -> Iterator[bytes]:
        if words[0].upper() == b"SCAN":
            cursor = b"%d" % next(numbers)
            yield b"*2\r\n$%d\r\n%b\r\n" % (len(cursor), cursor) + pack(
                *(b"other:%d" % next(numbers) for _ in range(100))
            )

    with hostile(odd) as url:
        assert code_of(url) == "server-endless"


def test_a_scan_that_brings_a_key_now_and_then_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "SECONDS", 0.5)
    monkeypatch.setattr(connecting, "KEYS", 100)
    numbers = itertools.count(1)

    def odd(words: list[bytes]) -> Iterator[bytes]:
        if words[0].upper() == b"SCAN":
            cursor = b"%d" % next(numbers)
            time.sleep(0.2)
            yield b"*2\r\n$%d\r\n%b\r\n" % (len(cursor), cursor) + pack(b"other:" + cursor)

    with hostile(odd) as url:
        assert code_of(url) == "server-endless"
    assert next(numbers) < 30


@pytest.mark.parametrize("name", [b"other:%d", KERNEL_FILE + b"%d"])
def test_a_scan_for_one_kernel_that_brings_more_and_more_is_given_up(
    monkeypatch: pytest.MonkeyPatch, name: bytes
) -> None:
    monkeypatch.setattr(connecting, "PAGES", 50)
    numbers = itertools.count(1)

    def odd(words: list[bytes]) -> Iterator[bytes]:
        if words[0].upper() == b"SCAN":
            cursor = b"%d" % next(numbers)
            yield b"*2\r\n$%d\r\n%b\r\n" % (len(cursor), cursor) + pack(
                *(name % next(numbers) for _ in range(100))
            )

    with (
        hostile(odd) as url,
        Redis(url, Report()) as store,
        pytest.raises(Problem, match="server-endless"),
    ):
        store.items_at([(KERNEL_FILE + b"add.json").decode()], Report())
    assert next(numbers) < 10_000


def test_of_itself_a_server_says_no_more_than_there_is_to_say() -> None:
    with hostile(to(b"INFO", b"$20000000\r\n", b"a:b\r\n" * 4_000_000)) as url:
        assert code_of(url) == "server-unbounded"
    said = b"redis_version:%b\r\nused_memory:%b\r\nmaxmemory:%b\r\n"
    said %= b"7" * 100_000, b"9" * 5000, b"1000"
    with (
        hostile(to(b"INFO", b"$%d\r\n%b\r\n" % (len(said), said))) as url,
        Redis(url, Report()) as store,
    ):
        page = server.look(store)
    assert page.version == "7" * 200
    assert (page.used_memory, page.max_memory) == (None, 1000)


@pytest.mark.parametrize("said", [b"9" * 5000, b"-1", b"1e9", b""])
def test_the_longest_value_is_a_number_or_the_usual_one(said: bytes) -> None:
    answer = pack("proto-max-bulk-len", said)
    with hostile(to(b"CONFIG", answer)) as url, Redis(url, Report()) as store:
        assert publishing._longest(store) == remote.MAX_VALUE


def test_what_a_redis_answers_is_followed_to_its_end() -> None:
    """However it is cut into pieces, the answers are as many as hiredis finds."""
    chance = Random(5)

    def answer(depth: int) -> bytes:
        kind = chance.choice(b"+-:$$$*" if depth < 3 else b"+-:$")
        if kind == ord("*"):
            parts = [answer(depth + 1) for _ in range(chance.randrange(6))]
            return chance.choice((b"*-1\r\n", b"*%d\r\n%b" % (len(parts), b"".join(parts))))
        if kind == ord("$"):
            text = chance.choice((b"*9999999\r\n", b"\r\n", b":1\r\n$5", b"")) * chance.randrange(9)
            return chance.choice((b"$-1\r\n", b"$%d\r\n%b\r\n" % (len(text), text)))
        return b"%c%d\r\n" % (kind, chance.randrange(10**9))

    for _ in range(300):
        data = b"".join(answer(0) for _ in range(chance.randrange(1, 40)))
        bounds, reader, found, at = connecting.Bounds(), hiredis.Reader(), 0, 0
        while at < len(data):
            piece = data[at : at + chance.randrange(1, 60)]
            at += len(piece)
            bounds.look(piece)
            reader.feed(piece)
            while reader.gets() is not False:
                found += 1
            assert bounds.answers == found
        assert not bounds.within
