"""Who else can write to a server: real ones, and some that say what one of them would."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.redis_server import Server, serving
from tests.stores.redis.test_hostile import hostile
from torchkeeper.artifacts.report import Report
from torchkeeper.client.words import owned
from torchkeeper.stores.redis import server as exposed
from torchkeeper.stores.redis.address import parse
from torchkeeper.stores.redis.store import Redis


def seen(url: str) -> list[tuple[str, bool, object]]:
    with Redis(url, Report()) as store:
        some = exposed.found(store)
    assert len(owned.told(some)) == len(some)
    assert all("?" not in one.what + one.why for one in owned.told(some))
    return [(one["what"], one["grave"], one.get("reach")) for one in some]


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("exposed")) as server:
        yield server


def test_a_server_without_a_password_is_open_to_this_machine(one: Server) -> None:
    assert seen(one.url) == [("server-open", False, "machine")]


def test_a_server_with_a_password_is_open_to_nobody(one: Server) -> None:
    one("CONFIG", "SET", "requirepass", "hunter2")
    try:
        assert seen(one.url.replace("//", "//:hunter2@")) == []
        assert seen(one.unix.replace("//", "//:hunter2@")) == []
    finally:
        one.commands(("AUTH", "hunter2"), ("CONFIG", "SET", "requirepass", ""))


def test_a_password_of_ones_own_closes_no_server_that_lets_others_in(one: Server) -> None:
    one("ACL", "SETUSER", "me", "on", ">hunter2", "+@all", "~*")
    url = one.url.replace("//", "//me:hunter2@")
    assert seen(url) == [("server-open", False, "machine")]
    one("ACL", "SETUSER", "me", "-acl", "-config")
    assert seen(url) == [], "it does not say, and we were asked for a password"
    one("ACL", "DELUSER", "me")


def test_who_may_not_write_opens_nothing(one: Server) -> None:
    one("ACL", "SETUSER", "admin", "on", ">hunter2", "+@all", "~*")
    one("ACL", "SETUSER", "default", "-@all", "+@read", "+ping", "+info", "+acl", "+config")
    try:
        assert seen(one.url) == []
    finally:
        one.commands(("AUTH", "admin", "hunter2"), ("ACL", "SETUSER", "default", "+@all"))
        one("ACL", "DELUSER", "admin")


def test_a_socket_is_judged_by_its_rights(one: Server, among: Path) -> None:
    with serving(among) as other:
        path = parse(other.unix).address.path
        os.chmod(among, 0o755)
        os.chmod(path, 0o777)
        assert [what for what, _, _ in seen(other.unix)] == ["socket-open"]
        os.chmod(path, 0o700)
        assert seen(other.unix) == []


@pytest.mark.parametrize(
    ("bind", "protected", "expected"),
    [
        (b"* -::*", b"no", ("server-open", True, "network")),
        (b"", b"no", ("server-open", True, "network")),
        (b"* -::*", b"yes", ("server-open", False, "machine")),
        (b"127.0.0.1 -::1", b"no", ("server-open", False, "machine")),
        (None, None, ("server-open", False, "unknown")),
    ],
)
def test_where_it_answers_is_what_it_says(
    bind: bytes | None, protected: bytes | None, expected: tuple[str, bool, str]
) -> None:
    told = {b"bind": bind, b"protected-mode": protected, b"requirepass": b""}

    def odd(words: list[bytes]) -> Iterator[bytes]:
        if words[0] == b"ACL":
            yield b"-ERR unknown command\r\n"
        elif words[0] == b"CONFIG":
            value = told[words[2]]
            name = b"$%d\r\n%b\r\n" % (len(words[2]), words[2])
            if value is None:
                yield b"-NOPERM no\r\n"
            else:
                yield b"*2\r\n%b$%d\r\n%b\r\n" % (name, len(value), value)

    with hostile(odd) as url:
        assert seen(url) == [expected]


def test_an_address_alone_tells_of_tls() -> None:
    def told(url: str) -> list[str]:
        return [one["what"] for one in exposed.glance(parse(url).address)]

    assert told("redis://cache.example") == told("redis://10.0.0.7") == ["server-plain"]
    for url in ("rediss://cache.example", "redis://localhost", "redis://127.0.0.1", "redis://[::1]",
                "unix:///run/redis.sock"):  # fmt: skip
        assert told(url) == []
