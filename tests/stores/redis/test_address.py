"""Addresses of servers: redis-py's forms, and never a password in what is shown or kept."""

from __future__ import annotations

import traceback

import pytest
from redis import Redis

from torchkeeper.artifacts.entry import Problem
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.redis.address import Address, from_environment, parse

SECRET = "hunter2"  # made up


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("redis://", "redis://localhost:6379/0"),
        ("redis://h", "redis://h:6379/0"),
        ("REDIS://H:1/2", "redis://h:1/2"),
        ("redis://h/3?db=4", "redis://h:6379/4"),
        (f"redis://:{SECRET}@h/1", "redis://h:6379/1"),
        (f"redis://me:{SECRET}@h", "redis://me@h:6379/0"),
        (f"redis://m%40e:{SECRET}%2F@h", "redis://m%40e@h:6379/0"),
        (f"redis://h?password={SECRET}&username=me", "redis://me@h:6379/0"),
        (f"redis://:{SECRET}@[::1]:7/0", "redis://[::1]:7/0"),
        ("redis://h?socket_timeout=5&decode_responses=yes", "redis://h:6379/0"),
        ("rediss://h?ssl_cert_reqs=none", "rediss://h:6379/0?ssl_cert_reqs=none"),
        (
            f"rediss://u:{SECRET}@h/2?ssl_ca_certs=/a%20b/ca.crt&ssl_certfile=/c&ssl_keyfile=/k",
            "rediss://u@h:6379/2?ssl_ca_certs=/a+b/ca.crt&ssl_certfile=/c&ssl_keyfile=/k",
        ),
        ("rediss://h?ssl_check_hostname=false", "rediss://h:6379/0?ssl_check_hostname=false"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock"),
        (f"unix://me:{SECRET}@/run/r%20s?db=3", "unix://me@/run/r%20s?db=3"),
    ],
)
def test_addresses(text: str, canonical: str) -> None:
    address, password = parse(text)
    assert str(address) == canonical
    assert parse(canonical) == (address, None)
    assert scheme_of(text).remote_cache
    assert SECRET not in f"{address!s} {address!r}"
    assert (password or "").rstrip("/") == (SECRET if SECRET in text else "")
    # redis-py, and so PyTorch, goes to the same place.
    client = Redis.from_url(text if text[:5] != "REDIS" else text.lower())
    theirs = client.connection_pool.connection_kwargs
    assert theirs.get("password") == password
    assert (theirs.get("username") or "") == address.username
    assert (theirs.get("db") or 0) == address.db
    if address.scheme != "unix":
        assert theirs.get("host", "localhost") == address.host
        assert theirs.get("port", 6379) == address.port
    else:
        assert theirs["path"] == address.path


@pytest.mark.parametrize(
    "text",
    [
        "", "host:6379", "http://h", "redis:/h", f"redis://:{SECRET}/x@h/0", "redis://h:99999/0",
        f"redis://:12?{SECRET}@h", f"redis://h?password=a@{SECRET}",
        f"redis://:{SECRET}#x@h", f"redis://:{SECRET}?x@h", "redis://h:port/0", "redis://h:0/0",
        "redis://h/x", "redis://h/-1", "redis://h?db=x", f"redis://[::1:{SECRET}@h",
        f"redis://h?passwort={SECRET}", "redis://h?ssl_ca_certs=/x", "rediss://h?ssl_cert_reqs=no",
        "rediss://h?ssl_ca_certs=relative", "rediss://h?ssl_keyfile=/k", "unix://", "unix://host/x",
        f"redis://:{SECRET} @h", f"redis://:{SECRET}\n@h", "redis://h\x00/0",
    ],
)  # fmt: skip
def test_nonsense_is_named_without_being_quoted(text: str) -> None:
    with pytest.raises(Problem) as caught:
        parse(text)
    assert caught.value.code == "address-wrong"
    said = "".join(traceback.format_exception(caught.value))
    assert SECRET not in said.partition("Error")[2]
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def test_what_is_no_address() -> None:
    for path in ("/tmp/redis", "redis:", "redis", "s3://x", "file.torchcache", "./redis://x"):
        assert scheme_of(path).local


def test_servers_that_the_environment_names() -> None:
    found = list(from_environment({
        "TORCHINDUCTOR_REDIS_URL": f"redis://:{SECRET}@team:6380/1",
        "TORCHINDUCTOR_REDIS_HOST": "unused",
        "TRITON_REDIS_HOST": "::1",
    }))  # fmt: skip
    assert found == [
        (Address("redis", "team", 6380, db=1), SECRET, "TORCHINDUCTOR_REDIS_URL"),
        (Address("redis", "::1"), None, "TRITON_REDIS_HOST"),
    ]
    [one] = from_environment({"TORCHINDUCTOR_REDIS_PORT": "7000"})
    assert str(one.address) == "redis://localhost:7000/0"
    assert list(from_environment({"TORCHINDUCTOR_REDIS_URL": "nonsense"})) == []
    assert list(from_environment({})) == []
    # No host, and a password is not taken for the name of a user.
    assert list(from_environment({"TRITON_REDIS_HOST": f"{SECRET}@h"})) == []
