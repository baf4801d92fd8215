"""Every way a connection can fail has a name of its own, and no name has the password in it."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

import pytest

import torchkeeper
from tests.pace import LONG
from tests.redis_server import Server, dump, free_port, serving
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.describe import unread
from torchkeeper.stores.items import File, Item
from torchkeeper.stores.redis import connecting
from torchkeeper.stores.redis.connecting import pack
from torchkeeper.stores.redis.payloads import portable
from torchkeeper.stores.redis.publishing import Publisher
from torchkeeper.stores.redis.store import Redis

SECRET = "hunter2"  # made up


def failure(url: str, password: str | None = None) -> Problem:
    with pytest.raises(Problem) as caught:
        Redis(url, Report(), password).close()
    problem = caught.value
    assert SECRET not in f"{problem} {problem!r} {problem.params}"
    # The words for it are whole.
    from torchkeeper.client.words.catalogue import CATALOGUE
    from torchkeeper.client.words.problems import user_error

    assert problem.code in CATALOGUE
    params = dict.fromkeys(problem.params, "it")
    assert "?" not in user_error(problem.code, params).what
    return problem


def code(url: str, password: str | None = None) -> str:
    return failure(url, password).code


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a password, and a user who may only read pt2 keys and look at nothing else."""
    options = [
        "--requirepass", SECRET,
        "--user", "reader", "on", f">{SECRET}", "~pt2:*", "+scan", "+strlen", "+getrange", "+get",
        "+ping", "+select",
    ]  # fmt: skip
    with serving(tmp_path_factory.mktemp("guarded"), *options) as server:
        yield server


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory, tls: Path) -> Iterator[Server]:
    """A server with TLS that wants a client certificate."""
    with serving(tmp_path_factory.mktemp("secure"), "--tls-auth-clients", "yes", tls=tls) as server:
        yield server


def test_wrong_hosts_and_ports(server: Server, tmp_path: Path) -> None:
    assert code("redis://no-such-host.invalid/0") == "server-unknown-host"
    assert code(f"redis://{'x' * 70}.invalid/0") == "server-unknown-host"
    assert code(f"redis://127.0.0.1:{free_port()}/0") == "server-refused"
    assert code(f"rediss://127.0.0.1:{free_port()}/0") == "server-refused"
    assert code(f"unix://{tmp_path}/no.sock") == "socket-missing"
    assert code(server.url[:-1] + "99") == "database-out-of-range"
    assert code(server.unix + "?db=99") == "database-out-of-range"


def test_a_socket_of_somebody_else(server: Server) -> None:
    mode = server.socket.stat().st_mode
    server.socket.chmod(0)
    # Root may use every socket, so it is somebody else for a moment.
    if root := os.geteuid() == 0:
        os.seteuid(65534)
    try:
        assert code(server.unix) == "socket-forbidden"
    finally:
        if root:
            os.seteuid(0)
        server.socket.chmod(mode)


def listening(answer: bytes | None) -> Iterator[str]:
    """A port that gives one answer to all, or with None none at all."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.ExitStack() as kept:
                while True:
                    try:
                        client, _ = listener.accept()
                    except OSError:
                        return
                    kept.enter_context(client)
                    if answer is not None:
                        client.recv(1000)
                        client.sendall(answer)
                        client.close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"redis://127.0.0.1:{listener.getsockname()[1]}/0"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_what_is_no_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    for answer, expected in (
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "server-not-redis"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "server-not-redis"),
        (b"", "server-lost"),
        (b"-ERR max number of clients reached\r\n", "server-full"),
        (b"-LOADING Redis is loading the dataset in memory\r\n", "server-loading"),
        (b"-DENIED Redis is running in protected mode\r\n", "server-protected"),
        (b"-MASTERDOWN Link with MASTER is down\r\n", "server-stale"),
        (b"-MOVED 3999 127.0.0.1:6381\r\n", "server-cluster"),
        (b"-WHAT is this\r\n", "server-error"),
        (b"*-5\r\n", "server-not-redis"),
        (b"*" + b"9" * 18 + b"\r\n", "server-unbounded"),
        (b"*1\r\n" * 100_000, "server-not-redis"),
    ):
        for url in listening(answer):
            assert code(url) == expected, answer
    monkeypatch.setattr(connecting, "ANSWER_TIMEOUT", 0.3)
    monkeypatch.setattr(connecting, "CONNECT_TIMEOUT", 0.3)
    for url in listening(None):
        assert code(url) == "server-timeout"
        assert code(url.replace("redis:", "rediss:")) == "server-timeout"


def test_waiting_can_be_cancelled() -> None:
    class Impatient(Report):
        def check(self) -> None:
            raise Cancelled

    for url in listening(None):
        with pytest.raises(Cancelled):
            Redis(url, Impatient())


def test_passwords(guarded: Server, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    url = guarded.url
    with_password = url.replace("//", f"//:{SECRET}@")
    assert code(url) == "password-needed"
    assert code(url, "wrong") == "password-wrong"
    assert code(url, "") == "password-wrong"
    assert code(url.replace("//", "//nobody@"), SECRET) == "password-wrong"
    assert code(server.url, SECRET) == "password-unneeded"
    for store in (Redis(with_password, Report()), Redis(url, Report(), SECRET)):
        with store:
            assert store.items(Report()) == []
            assert store.place == url
            assert SECRET not in f"{store.place} {store.address!r}"
    # A place whose password the environment has.
    monkeypatch.setenv("TORCHINDUCTOR_REDIS_URL", with_password)
    with Redis(url, Report()) as store:
        assert store.items(Report()) == []


def test_a_user_who_may_do_little(guarded: Server) -> None:
    url = guarded.url.replace("//", "//reader@")
    with socket.create_connection(("127.0.0.1", guarded.port)) as one:
        one.sendall(pack("AUTH", SECRET))
        assert one.recv(10) == b"+OK\r\n"
        one.sendall(pack("SET", "pt2:x", "1"))
        assert one.recv(10) == b"+OK\r\n"
    with Redis(url, Report(), SECRET) as store:
        assert (store.role, store.connection.quiet) == ("", False)
        assert [item.path for item in store.items(Report())] == ["pt2:x"]
        with pytest.raises(Problem, match="server-forbids"):
            store.connection.call("UNLINK", "pt2:x")
        with pytest.raises(Problem, match="server-forbids"):
            store.connection.call("GET", "other")


class Four:
    """A Source of four bytes."""

    def open(self, _: File) -> BinaryIO:
        return io.BytesIO(b"four")


def test_a_user_who_may_use_some_keys_only(full: Server) -> None:
    """The others are named, and the rest goes on."""
    full("ACL", "SETUSER", "some", "reset", "on", f">{SECRET}", "+@all", "~pt2:fx*")
    full("SET", f"triton:{'A' * 52}:k.json", "{}")
    left: list[tuple[str, str]] = []

    def leave(item: Item, problem: Problem) -> None:
        left.append((item.path, problem.code))

    with Redis(full.url.replace("//", "//some@"), Report(), SECRET) as store:
        items = store.items(Report())
        seen = {item.path: unread(item).entry.problem for item in items}
        assert len(seen) == 13
        assert {seen[path] for path in seen if "fx-graph" in path} == {None}
        assert {seen[path] for path in seen if "fx-graph" not in path} == {"value-forbidden"}
        good = list(portable(store, items, Report(), leave))
        assert len(good) == 7
        assert {code for _, code in left} == {"value-forbidden"}
        publisher = Publisher(store, Report(), leave)
        left.clear()
        for one in good:
            publisher.put(one.item, one, one.compile_s)
        taken = next(key for key in dump() if "autograd" in key).split("::")[1][:-3]
        file = File(f"aotautograd/{taken}/x", 4)
        publisher.put(Item("aotautograd", taken, file.path, [file]), Four(), 1.0)
        publisher.flush()
        done = publisher.done
        assert (done.entries, done.existed) == (0, 7)
        assert left == [(file.path, "server-forbids")]


def test_the_same_server_under_other_names(full: Server, tmp_path: Path) -> None:
    with serving(tmp_path) as other, Redis(full.url, Report()) as store:
        for url, same in (
            (full.unix, True), (full.url.replace("127.0.0.1", "localhost"), True),
            (full.url[:-1] + "1", False), (full.unix + "?db=1", False), (other.url, False),
        ):  # fmt: skip
            with Redis(url, Report()) as second:
                assert store.same_as(second) == same, url


def test_tls(secure: Server, tls: Path, server: Server) -> None:
    base = f"rediss://127.0.0.1:{secure.port}/0"
    ca = f"{base}?ssl_ca_certs={tls}/ca.crt"
    pair = f"&ssl_certfile={tls}/client.crt&ssl_keyfile={tls}/client.key"
    with Redis(ca + pair, Report()) as store:
        assert store.items(Report()) == []
    with Redis(f"{base}?ssl_cert_reqs=none{pair}", Report()) as store:
        assert store.items(Report()) == []
    assert code(base) == "certificate-untrusted"
    assert code(f"{base}?ssl_ca_certs={tls}/other-ca.crt{pair}") == "certificate-untrusted"
    assert code(ca) == "client-certificate-needed"
    expired = f"&ssl_certfile={tls}/expired.crt&ssl_keyfile={tls}/expired.key"
    other = f"&ssl_certfile={tls}/other-ca.crt&ssl_keyfile={tls}/other-ca.key"
    assert code(ca + expired) == "client-certificate-refused"
    assert code(ca + other) == "client-certificate-refused"
    assert code(f"{base}?ssl_ca_certs={tls}/none.crt") == "certificate-file"
    assert code(f"{base}?ssl_ca_certs={tls}/ca.key") == "certificate-file"
    mixed = f"&ssl_certfile={tls}/client.crt&ssl_keyfile={tls}/server.key"
    assert code(ca + mixed) == "certificate-file"
    assert code(base.replace("rediss", "redis")) == "server-wants-tls"


def test_certificates_of_servers(tls: Path, tmp_path: Path) -> None:
    for name, expected in (("expired", "certificate-expired"),
                           ("elsewhere", "certificate-wrong-host")):  # fmt: skip
        options = ["--tls-auth-clients", "no", "--tls-cert-file", f"{tls}/{name}.crt"]
        options += ["--tls-key-file", f"{tls}/{name}.key"]
        with serving(tmp_path / name, *options, tls=tls) as one:
            url = f"rediss://127.0.0.1:{one.port}/0?ssl_ca_certs={tls}/ca.crt"
            assert code(url) == expected
            assert code(url.replace("rediss", "redis").partition("?")[0]) == "server-wants-tls"
            lenient = url + "&ssl_check_hostname=false"
            if name == "elsewhere":
                Redis(lenient, Report()).close()


def test_tls_where_there_is_none(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "CONNECT_TIMEOUT", 1.0)
    assert code(server.url.replace("redis", "rediss", 1)) == "server-no-tls"


def test_a_cluster_is_named(tmp_path: Path) -> None:
    with serving(tmp_path, "--cluster-enabled", "yes") as one:
        assert code(one.url) == "server-cluster"
        assert code(one.url[:-1] + "1") == "server-cluster"


def test_a_replica_is_known_before_anything_is_written(full: Server, tmp_path: Path) -> None:
    # It waits five seconds for other replicas otherwise.
    full("CONFIG", "SET", "repl-diskless-sync-delay", "0")
    with serving(tmp_path, "--replicaof", "127.0.0.1", str(full.port)) as replica:
        deadline = time.monotonic() + LONG
        while replica("DBSIZE") != 12:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with Redis(replica.url, Report()) as store:
            assert store.read_only
            assert len(store.items(Report())) == 12
            with pytest.raises(Problem, match="server-read-only"):
                store.check_writable()
            with pytest.raises(Problem, match="server-read-only"):
                store.connection.call("SET", "pt2:x", "1")
    with Redis(full.url, Report()) as store:
        assert not store.read_only
        store.check_writable()


def test_an_engine_without_site_packages_finds_hiredis(full: Server) -> None:
    script = f"""if True:
        import sys
        sys.path.insert(0, {str(Path(torchkeeper.__file__).parents[1])!r})
        from torchkeeper.artifacts.report import Report
        from torchkeeper.stores.redis.store import Redis
        assert "site" not in sys.modules
        print(len(Redis({full.unix!r}, Report()).items(Report())))
    """
    command = [sys.executable, "-I", "-S", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("12\n", "")
    assert urlsplit(full.url).port == full.port
