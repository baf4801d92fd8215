"""A Redis that only another machine reaches is a place like any other Redis."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.pace import LONG
from tests.redis_server import Server, certificates, dump, free_port, serving
from tests.ssh.conftest import Machine
from tests.ssh.test_serving import serving as forced
from torchkeeper.artifacts.entry import Problem
from torchkeeper.client.engines import line
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.redis import WAY
from torchkeeper.stores.redis.address import parse
from torchkeeper.stores.redis.connecting import Connection

THERE = "ssh://there/"


@pytest.fixture
def server(server: Server) -> Server:
    server.load(dump())
    return server


def code_of(engine: Engine, place: str) -> tuple[str, str]:
    with pytest.raises(UserError) as raised:
        engine.call(protocol.DU, {"place": place})
    return raised.value.code, raised.value.why


def test_a_name_says_how_it_is_reached() -> None:
    for name, kept in {
        "SSH://me@gpu1:22/redis://:word@127.0.0.1": "ssh://me@gpu1:22/redis://127.0.0.1:6379/0",
        "ssh://[::1]/rediss://ada:word@h:1/2": "ssh://[::1]/rediss://ada@h:1/2",
        "ssh://gpu1/unix:///run/r.sock?db=3": "ssh://gpu1/unix:///run/r.sock?db=3",
    }.items():
        scheme = scheme_of(name)
        place, password = scheme.parted(name)
        assert (place, password) == (kept, "word" if "word" in name else None)
        assert scheme_of(place) is scheme_of("redis://h") is scheme
        assert (scheme.machine(place), scheme.way(place)) == ("", place[: place.index("/", 6)])
        assert str(parse(place).address) == place
    ways, hosts = ("", "ssh://a/", "ssh://b/"), ("localhost", "127.0.0.1")
    names = [f"{way}redis://{host}/0" for way in ways for host in hosts]
    same = {scheme_of(name).same(name, True) for name in names}
    assert len(same) == 3
    for name in ("ssh://-x/redis://h", "ssh://a:b@gpu1/redis://h", "ssh://gpu1/redis://h/x"):
        with pytest.raises(Problem) as raised:
            scheme_of(name).parted(name)
        assert raised.value.code in ("ssh-address-wrong", "address-wrong")


@pytest.mark.slow
def test_every_command_takes_it(
    tk: Tk, there: Machine, server: Server, fixture_cache: Path, tmp_path: Path
) -> None:
    """With a password, which is in no process there."""
    server("CONFIG", "SET", "requirepass", "a-secret-word")
    place, near = THERE + server.url, server.url
    password = {"TORCHKEEPER_REDIS_PASSWORD": "a-secret-word"}
    there.rc.write_text(f"ps -eo args >> {there.folder}/seen; env >> {there.folder}/seen")
    assert tk("ls", "--json", place).objects[-1]["error"]["code"] == "password-needed"
    for command in ("ls", "overview"):
        ran, here = (tk(command, "--json", one, **password) for one in (place, near))
        assert (ran.code, len(ran.objects)) == (here.code, len(here.objects)), ran
        assert len(ran.objects) > 1, ran
    listed = tk("ls", "--json", place, fixture_cache, **password)
    every = 12 + len(tk("ls", "--json", fixture_cache).objects)
    assert (listed.code, len(listed.objects)) == (0, every)
    told = tk("server", "--json", place, **password).objects[0]
    assert told["keys"] == 12 and told["changes"] == {"copy": None, "expire": None, "purge": None}
    plain = {one["what"] for one in told["owners"]}
    assert "server-plain" not in plain, "ssh is between"
    bundle, folder = tmp_path / "b.torchcache", tmp_path / "f"
    assert tk("export", place, "-o", bundle, "--allow-secrets", **password).code == 0
    assert tk("copy", place, folder, "--allow-secrets", **password).code == 0
    purged = tk("purge", "--json", "--yes", "--filter", "kind:fxgraph", place, **password)
    assert purged.result["entries"] == 7
    for source in (bundle, fixture_cache):
        ran = tk("copy", source, place, "--allow-secrets", "--trust", **password)
        assert ran.code == 0, ran
    assert tk("ttl", place, "30d", **password).code == 0
    server.commands(("AUTH", "a-secret-word"), ("CONFIG", "SET", "requirepass", ""))
    keys = server("KEYS", "*")
    assert isinstance(keys, list) and sum(b"fx-graph" in key for key in keys) == 7
    assert "a-secret-word" not in (there.folder / "seen").read_text()


def test_entries_go_between_a_machine_and_a_server(
    tk: Tk, there: Machine, server: Server, fixture_cache: Path
) -> None:
    """Each way, whether the server is near or behind the machine; no word of it is there."""
    password = {"TORCHKEEPER_REDIS_PASSWORD": "a-secret-word"}
    source = there.place(fixture_cache)
    some = "--json", "--filter", "kind:fxgraph", "--alone"
    for n, place in enumerate((server.url, THERE + server.url)):
        server("FLUSHALL")
        server("CONFIG", "SET", "requirepass", "a-secret-word")
        locked = tk("copy", *some, "--allow-secrets", source, place)
        assert locked.objects[-1]["error"]["code"] == "password-needed", locked
        dry = tk("copy", *some, "--allow-secrets", "--dry-run", source, place, **password)
        assert (dry.code, dry.result["entries"]) == (0, 7), dry
        ran = tk("copy", *some, "--allow-secrets", source, place, **password)
        assert (ran.code, ran.result["entries"], ran.result["what"]) == (0, 7, "server"), ran
        assert (ran.result["place"], ran.result["into"]) == (source, place)
        again = tk("copy", *some, "--allow-secrets", source, place, **password)
        assert (again.code, again.result["entries"], again.result["exists"]) == (0, 0, 7)
        back = tk("copy", *some, "--allow-secrets", place, there.place(f"new{n}"), **password)
        assert (back.code, back.result["entries"], back.result["what"]) == (0, 7, "folder"), back
        server.commands(("AUTH", "a-secret-word"), ("CONFIG", "SET", "requirepass", ""))
        keys = server("KEYS", "*")
        assert isinstance(keys, list) and len(keys) == 7
        files = {one.name: one.read_bytes() for one in fixture_cache.glob("fxgraph/*/*/*")}
        new = (there.home / f"new{n}").glob("fxgraph/*/*/*")
        assert files == {one.name: one.read_bytes() for one in new}
    assert not [one for one in (there.folder / "tmp").rglob("*") if one.is_file()]


@pytest.mark.slow
def test_what_is_wrong_is_told_as_of_one_that_is_near(there: Machine, server: Server) -> None:
    """And all over one connection."""
    away = free_port()
    with Engine() as engine:
        for name, code in {
            f"redis://127.0.0.1:{away}/0": "server-refused",
            "redis://nobody.invalid/0": "server-unknown-host",
            "redis://a..b/0": "server-unknown-host",
            f"unix://{server.socket}.x": "socket-missing",
            f"rediss://127.0.0.1:{server.port}/0": "server-no-tls",
            f"redis://ada@127.0.0.1:{server.port}/0": "password-wrong",
            f"redis://127.0.0.1:{server.port}/99": "database-out-of-range",
        }.items():
            assert code_of(engine, THERE + name)[0] == code_of(engine, name)[0] == code, name
        summed = engine.call(protocol.DU, {"place": THERE + server.unix})
        assert summed["kinds"] == engine.call(protocol.DU, {"place": server.url})["kinds"]
        assert summed["owners"] == [], "whose its socket is there is not known here"
        assert there.sessions() == 1
        text = there.config.read_text()
        there.config.write_text(text + text.replace("Host there", "Host gone").replace(
            f"Port {there.port}", f"Port {away}"))  # fmt: skip
        code, why = code_of(engine, f"ssh://gone/{server.url}")
        assert code == "ssh-refused" and "onnection refused" in why
        folder = engine._home
    assert not os.path.exists(folder)
    with Engine("ssh://there") as far_off:
        engine = Engine()
        engine.call(protocol.DU, {"place": THERE + server.url})
        with pytest.raises(UserError) as raised:
            far_off.call(protocol.COPY, {"place": THERE + server.url, "into": "ssh://there/x"})
        assert raised.value.code == "places-apart"
        engine.close_and_wait()


def test_tls_is_with_the_server(there: Machine, tmp_path: Path) -> None:
    folder = certificates(tmp_path / "tls")
    with serving(tmp_path / "r", tls=folder) as server, Engine() as engine:
        server.load(dump())
        name = f"{THERE}rediss://127.0.0.1:{server.port}/0"
        files = {
            "ssl_ca_certs": "ca.crt",
            "ssl_certfile": "client.crt",
            "ssl_keyfile": "client.key",
        }
        own = "&".join(f"{option}={folder}/{file}" for option, file in files.items())
        assert (
            sum(
                one["entries"]
                for one in engine.call(protocol.DU, {"place": f"{name}?{own}"})["kinds"]
            )
            == 12
        )
        assert code_of(engine, name)[0] == "certificate-untrusted"
        plain = f"{THERE}redis://127.0.0.1:{server.port}/0"
        assert code_of(engine, plain)[0] == "server-wants-tls"


def test_a_connection_that_breaks_is_begun_anew(there: Machine, server: Server) -> None:
    place = {"place": THERE + server.url}
    with Engine() as engine:
        first = engine.call(protocol.DU, place)
        os.kill(line.to("ssh://there")._process.pid, signal.SIGKILL)
        wait_for(lambda: line._lines.of["ssh://there"].failure is not None)
        assert engine.call(protocol.DU, place)["kinds"] == first["kinds"]
        assert there.sessions() == 2
        wait_for(lambda: " addr=127.0.0.1" not in str(server("CLIENT", "LIST")))


def wait_for(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


#: What a machine says instead of the line that is to come first, and the code of what comes of it.
LIES = {
    "nothing": (b"", "server-lost"),
    "no JSON": (b"{\n", "server-lost"),
    "deep": (b"[" * 9000 + b"\n", "server-lost"),
    "a line without an end": (b"x" * 100_000, "server-lost"),
    "no text": (b'{"code": 7, "params": {}}\n', "server-lost"),
    "no parameters": (b'{"code": "x", "params": []}\n', "server-lost"),
    "what takes the place of another": (b'{"code": "x", "params": {"code": "y"}}\n', "x"),
    "a server of its own": (b'{"code": "x", "params": {"server": "y", "why": [1]}}\n', "x"),
    "no Redis": (b'{"code": ""}\nHTTP/1.1 400\r\n', "server-not-redis"),
}


def test_a_machine_that_lies_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    address = parse(f"{THERE}redis://h:1/0").address
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(WAY)
        one.listen()
        told = b""

        def lie() -> None:
            with contextlib.suppress(OSError):  # the test is over
                while True:
                    made, _ = one.accept()
                    with contextlib.suppress(OSError), made:
                        made.recv(1000)
                        made.sendall(told)

        threading.Thread(target=lie, daemon=True).start()
        for name, (told, code) in LIES.items():  # noqa: B007
            with pytest.raises(Problem) as raised:
                Connection(address, None, lambda: None)
            assert raised.value.code == code, name
            assert raised.value.params["server"] == str(address)
        one.shutdown(socket.SHUT_RDWR)


def test_a_key_reaches_only_the_servers_that_it_may(
    there: Machine, tmp_path: Path, server: Server
) -> None:
    with forced(there, tmp_path / "none", "--only", tmp_path), Engine() as engine:
        assert code_of(engine, THERE + server.url)[0] == "not-served"
    about = ("--only", tmp_path, "--server", f"redis://127.0.0.1:{server.port}")
    with forced(there, tmp_path / "one", *about), Engine() as engine:
        assert engine.call(protocol.DU, {"place": THERE + server.url})["kinds"]
        for name in (server.unix, f"redis://127.0.0.1:{there.port}/0", "redis://localhost/0"):
            assert code_of(engine, THERE + name)[0] == "not-served"


def test_places_of_a_machine_name_its_servers(tk: Tk, there: Machine, server: Server) -> None:
    there.rc.write_text(f"export TORCHINDUCTOR_REDIS_URL=redis://:word@127.0.0.1:{server.port}/0")
    found = {one["path"] for one in tk("places", "--json", "ssh://there").objects}
    assert THERE + server.url in found and "word" not in str(found)
    there.rc.write_text("export TORCHINDUCTOR_REDIS_URL='rediss://h/0?ssl_ca_certs=/etc/passwd'")
    assert not any("redis" in one["path"] for one in tk("places", "--json", "ssh://there").objects)
    assert tk("overview", "--json", "ssh://there").code == 0
