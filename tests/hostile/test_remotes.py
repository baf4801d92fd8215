"""What others may have put into a Redis: read by itself, and out of a real server."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.hostile import remotes, values
from tests.hostile.listing import Watched
from tests.hostile.placing import check_placed, told
from tests.hostile.running import Run
from tests.hostile.tripwires import Arena
from tests.pace import LONG
from tests.redis_server import Server, serving
from tests.stores.building import import_bundle
from torchkeeper.artifacts import remote
from torchkeeper.artifacts.entry import Problem, entry_from_json
from torchkeeper.artifacts.report import Report
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.engine import protocol
from torchkeeper.stores.items import Item
from torchkeeper.stores.redis import kernels
from torchkeeper.stores.redis.payloads import FromServer, described
from torchkeeper.stores.redis.store import Redis

KINDS = ("fxgraph", "aotautograd", "pgo", "autotune")


def test_values(run: Run, arena: Arena) -> None:
    trip = str(arena.trip / "x")

    def make(chance: Random, size: int) -> tuple[bytes, str, str, int]:
        name = remotes.key(chance).decode("utf-8", "surrogateescape")
        cut = chance.randint(1, 50)
        return remotes.value(chance, size, trip), name, chance.choice(remotes.FORMATS), cut

    def look(value: bytes, key: str, form: str, cut: int) -> None:
        for kind in KINDS:
            found = remote.decode(kind, value)
            assert (found.payload is None) == (found.problem is not None)
            assert found.problem is None or found.problem in CATALOGUE
            assert found.compile_s is None or 0 <= found.compile_s < 1e12
        decoder = remote.Decoder()
        payload = b"".join(decoder.feed(value[n : n + cut]) for n in range(0, len(value), cut))
        if (end := decoder.end()).problem is None:
            assert (payload, end.compile_s) == remote.decode("fxgraph", value)[:2]
        remote.group_names(remote.group_from_redis(value))
        remote.group_names(remote.group_for_redis(value))
        keys = remote.TritonKeys(form)
        at = keys.locate(key)
        remote.may_be_kernels(key)
        if at and at.file:
            assert keys.key(at.key, at.file) == key
        if (found_at := remote.locate(key)) and found_at.kind != "unknown":
            assert remote.redis_key(found_at.kind, found_at.key)

    run.many("values", make, lambda made: arena.held(lambda: look(*made)))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("hostile-redis")) as running:
        yield running


def looked_at(server: Server, reader: Watched, target: Path) -> list[str | None]:
    """Everything that is done with what is in a server; the problems of its entries."""
    problems: list[str | None] = []

    def left(_: Item, problem: Problem) -> None:
        told(problem)

    with Redis(server.unix, Report()) as store:
        items = store.items(Report())
        store.items_at([item.path for item in items], Report())
        payloads = [item for item in items if item.kind != "triton"]
        chosen = []
        for batch in described(store, payloads, reader, Report()):
            chosen += batch
        for batch in described(store, [i for i in items if i.kind == "triton"], reader, Report()):
            chosen += batch
        list(kernels.described(store, [i for i in items if i.kind == "triton"], reader, Report()))
        for one in chosen:
            row = protocol.decode(protocol.encode(one.entry.to_json()))
            entry_from_json(row)
            assert one.entry.problem is None or one.entry.problem in CATALOGUE
            problems.append(one.entry.problem)
        assert len(chosen) == len(items)
        import_bundle(FromServer(chosen, store, left), str(target), Report(), left)
    return problems


def test_a_server(run: Run, arena: Arena, server: Server) -> None:
    arena.sockets = True
    trip = str(arena.trip / "x")

    def make(chance: Random, size: int) -> dict[bytes, bytes]:
        return {remotes.key(chance): remotes.value(chance, size, trip) for _ in range(size)}

    with Watched() as reader:

        def check(made: dict[bytes, bytes]) -> None:
            server("FLUSHALL")
            server.commands(*(("SET", key, value) for key, value in made.items()))
            arena.held(lambda: looked_at(server, reader, arena.target))
            check_placed(arena)
            shutil.rmtree(arena.target, ignore_errors=True)

        run.many("redis", make, check)
        reader.look()


def test_keys_that_come_to_one_file(arena: Arena, server: Server) -> None:
    arena.sockets = True
    server("FLUSHALL")
    for key in ("a:0:b", "a_0_b", "a/0/b"):
        server("SET", f"pt2:dynamo-pgo::{key}:c1", b'{"data": ""}')
    with Watched() as reader:
        assert arena.held(lambda: looked_at(server, reader, arena.target)) == ["payload-empty"] * 3


def test_a_key_longer_than_a_line(arena: Arena, server: Server) -> None:
    arena.sockets = True
    server("FLUSHALL")
    server("SET", b"pt2:" + b"\xff" * 600_000, b"1")
    server("SET", b"pt2:dynamo-pgo::" + b"x" * 3_000_000 + b":c1", b'{"data": ""}')
    server("SET", b"triton:" + b"A" * 52 + b":" + b"x" * 3_000_000, b"1")
    server("SET", "pt2:" + "é" * 4_000, b"1")
    with Watched() as reader:
        assert arena.held(lambda: looked_at(server, reader, arena.target)) == [None]


_CLIENT = """if True:
    import resource, sys
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    from torchkeeper.artifacts.entry import Problem
    from torchkeeper.artifacts.report import Report
    from torchkeeper.stores.redis.store import Redis
    try:
        Redis(sys.argv[1], Report())
    except Problem as problem:
        print(problem.code)
"""


def test_a_server_that_promises_more_than_there_is_memory_for(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        command = [sys.executable, "-c", _CLIENT, f"unix://{path}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as client:
            answering, _ = listener.accept()
            with answering:
                answering.recv(1 << 16)
                answering.sendall(b"*4294967295\r\n" * 9)
                assert client.communicate(timeout=LONG)[0] == b"server-unbounded\n"


def test_odd_json(arena: Arena) -> None:
    for data in values.ODD_JSON:
        for kind in KINDS:
            arena.held(lambda data=data, kind=kind: remote.decode(kind, data))  # type: ignore[misc]
        with contextlib.suppress(Problem):
            arena.held(lambda data=data: remote.group_from_redis(data))  # type: ignore[misc]
