"""Redis servers as they can be: each a real one, and what real torch does with it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doctor.conftest import Doctor, Found, Stock
from tests.redis_server import Server, certificates, free_port, serving
from torchkeeper.client.words import findingwords

SWITCH = "TORCHINDUCTOR_FX_GRAPH_REMOTE_CACHE"
URL = "TORCHINDUCTOR_REDIS_URL"
CHECKS = ("reachable", "writes", "memory", "expiry")


def at(doctor: Doctor, url: str, place: str) -> Found:
    """What is found of the server that the variables name."""
    return doctor(place, only=CHECKS, values={URL: url, SWITCH: "1"})


def keys(server: Server, password: str = "") -> object:
    """How many there are."""
    log_in: list[tuple[bytes | str | int, ...]] = [("AUTH", password)] if password else []
    return server.commands(*log_in, ("DBSIZE",))[-1]


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a password."""
    folder = tmp_path_factory.mktemp("locked")
    with serving(folder, "--requirepass", "the right one") as server:
        yield server


@pytest.mark.parametrize("password", [":the+wrong+one@", ""])
@pytest.mark.slow
def test_of_a_refused_password_torch_says_nothing(
    doctor: Doctor, remote_stock: Stock, locked: Server, tmp_path: Path, password: str
) -> None:
    url = f"redis://{password}127.0.0.1:{locked.port}/0"
    said = remote_stock(tmp_path / "cache", **{URL: url})
    assert said["ok"]
    assert "fxgraph_cache_write_error" not in said["counters"]
    assert "redis" not in said["log"].lower()
    assert keys(locked, "the right one") == 0

    found = at(doctor, url, locked.url)
    assert found.codes == ["server-password"]
    about = found["server-password"]
    assert (about.severity, about.settings) == ("error", (URL,))
    assert "wrong" not in str(about.to_json()).replace("password-wrong", "")
    assert "PyTorch does not report that" in findingwords.said(about).why
    # What could not be looked at is not healthy.
    assert found.result["checks"] == ["reachable"]
    assert {one["check"] for one in found.result["left"]} == {"writes", "memory", "expiry"}


@pytest.mark.slow
def test_a_password_that_is_not_wanted(
    doctor: Doctor, remote_stock: Stock, torch_python: str, tmp_path: Path
) -> None:
    """It depends on the package whether torch gets in; that it does not is silent, too."""
    script = "import redis; print(redis.__version__)"
    version = subprocess.run([torch_python, "-c", script], capture_output=True, text=True,
                             check=True).stdout  # fmt: skip
    with serving(tmp_path / "server") as server:
        url = f"redis://:any@127.0.0.1:{server.port}/0"
        said = remote_stock(tmp_path / "cache", **{URL: url})
        assert said["ok"]
        assert "redis" not in said["log"].lower()
        assert bool(keys(server)) == (int(version.partition(".")[0]) >= 8)
        found = at(doctor, url, server.url)
        assert found["server-wants-none"].severity == "warning"
        # The rest is looked at all the same.
        assert found.result["checks"] == list(CHECKS)


def test_a_server_whose_password_no_setting_tells(doctor: Doctor, locked: Server) -> None:
    """Nothing is wrong with that, and nothing is known of it; with its password it is."""
    found = doctor(locked.url, only=CHECKS)
    assert found.codes == []
    assert {one["code"] for one in found.result["left"]} == {"password-needed"}
    doctor.engine.call("secret", {"place": locked.url, "password": "the right one"})
    assert doctor(locked.url, only=CHECKS).result["left"] == []


@pytest.mark.slow
def test_the_right_password(
    doctor: Doctor, remote_stock: Stock, locked: Server, tmp_path: Path
) -> None:
    url = f"redis://:the%20right%20one@127.0.0.1:{locked.port}/0"
    assert remote_stock(tmp_path / "cache", **{URL: url})["ok"]
    assert isinstance(count := keys(locked, "the right one"), int)
    assert count > 0
    found = at(doctor, url, locked.url)
    assert "server-password" not in found.codes
    assert found.result["left"] == []
    locked.commands(("AUTH", "the right one"), ("FLUSHALL",))


@pytest.mark.slow
def test_a_server_that_is_not_there(doctor: Doctor, remote_stock: Stock, tmp_path: Path) -> None:
    url = f"redis://127.0.0.1:{free_port()}/0"
    said = remote_stock(tmp_path / "cache", **{URL: url})
    assert said["ok"]
    assert "redis" not in said["log"].lower()
    found = at(doctor, url, url)
    assert found["server-unusable"].severity == "error"
    assert found["server-unusable"].params["problem"] == "server-refused"


@pytest.mark.slow
def test_a_replica_refuses_writes(doctor: Doctor, remote_stock: Stock, tmp_path: Path) -> None:
    with serving(tmp_path / "server", "--replicaof", f"127.0.0.1 {free_port()}") as server:
        said = remote_stock(tmp_path / "cache", **{URL: server.url})
        assert said["ok"]
        assert said["counters"]["fxgraph_cache_write_error"] == 1
        assert "fx graph unable to write to cache" in said["log"]
        found = at(doctor, server.url, server.url)
        assert found["server-replica"].severity == "error"


@pytest.mark.slow
def test_a_server_whose_memory_is_full(doctor: Doctor, remote_stock: Stock, tmp_path: Path) -> None:
    options = ("--maxmemory", "100kb", "--maxmemory-policy", "noeviction")
    with serving(tmp_path / "server", *options) as server:
        said = remote_stock(tmp_path / "cache", **{URL: server.url})
        assert said["ok"]
        assert said["counters"]["fxgraph_cache_write_error"] == 1
        assert "used memory > 'maxmemory'" in said["log"]
        assert keys(server) == 0
        found = at(doctor, server.url, server.url)
        assert found["server-full-up"].severity == "error"
        assert found["server-full-up"].params["max_bytes"] == 100 << 10


@pytest.mark.slow
def test_a_server_without_a_limit_keeps_all_for_ever(
    doctor: Doctor, remote_stock: Stock, tmp_path: Path
) -> None:
    with serving(tmp_path / "server") as server:
        assert remote_stock(tmp_path / "cache", **{URL: server.url})["ok"]
        [ttl] = {server("TTL", key) for key in server("KEYS", "*")}  # type: ignore[attr-defined]
        assert ttl == -1  # never
        found = at(doctor, server.url, server.url)
        assert found.codes == ["server-no-limit", "server-never-expires"]
        (open_,) = doctor(server.url, only=("exposed",), values={URL: server.url}).findings
        said = findingwords.said(open_.finding)
        assert "Everybody on this machine may write" in said.what and "requirepass" in said.remedy
        assert {one.finding.severity for one in found.findings} == {"advice"}
        assert "torchkeeper ttl" in findingwords.said(found["server-never-expires"]).remedy
        doctor.engine.call("ttl", {"place": server.url, "select": {}, "ttl_s": 86_400})
        server("CONFIG", "SET", "maxmemory", "100mb")
        server("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        found = at(doctor, server.url, server.url)
        assert found.codes == []
        assert found.result["checks"] == list(CHECKS)


@pytest.mark.slow
def test_a_user_who_may_not_write(doctor: Doctor, remote_stock: Stock, tmp_path: Path) -> None:
    with serving(tmp_path / "server") as server:
        server("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@all", "-set")
        url = f"redis://reader:pw@127.0.0.1:{server.port}/0"
        said = remote_stock(tmp_path / "cache", **{URL: url})
        assert said["ok"]
        assert said["counters"]["fxgraph_cache_write_error"] == 1
        assert keys(server) == 0
        place = f"redis://reader@127.0.0.1:{server.port}/0"
        assert at(doctor, url, place)["server-refuses-writes"].severity == "error"


def test_a_server_that_had_to_evict(doctor: Doctor, tmp_path: Path) -> None:
    options = ("--maxmemory", "2mb", "--maxmemory-policy", "allkeys-lru")
    with serving(tmp_path / "server", *options) as server:
        for number in range(40):
            server("SET", f"filler{number}", b"x" * 100_000)
        found = at(doctor, server.url, server.url)
        assert found["server-evicting"].severity == "advice"
        assert found["server-evicting"].params["evicted"] > 0


@pytest.mark.slow
def test_a_server_that_evicts_nothing_of_ours(
    doctor: Doctor, remote_stock: Stock, tmp_path: Path
) -> None:
    """By its policy it evicts what expires, which is nothing: it fills up, and refuses writes."""
    options = ("--maxmemory", "2mb", "--maxmemory-policy", "volatile-lru")
    with serving(tmp_path / "server", *options) as server:
        server("SET", "filler", b"x" * 100_000)
        found = at(doctor, server.url, server.url)
        assert found["server-evicts-nothing"].severity == "warning"
        for number in range(40):
            server("SET", f"filler{number}", b"x" * 100_000)
        said = remote_stock(tmp_path / "cache", **{URL: server.url})
        assert said["counters"]["fxgraph_cache_write_error"] == 1
        full = {"server-full-up", "server-nearly-full"}
        assert full & set(at(doctor, server.url, server.url).codes)


@pytest.mark.slow
def test_tls_on_a_server_that_speaks_none(doctor: Doctor, locked: Server, tmp_path: Path) -> None:
    url = f"rediss://127.0.0.1:{locked.port}/0"
    found = at(doctor, url, url)
    assert found["server-unusable"].params["problem"] == "server-no-tls"


@pytest.mark.slow
def test_tls_that_is_wanted(doctor: Doctor, remote_stock: Stock, tmp_path: Path) -> None:
    with serving(tmp_path / "server", tls=certificates(tmp_path / "certificates")) as server:
        url = server.url
        assert remote_stock(tmp_path / "cache", **{URL: url})["ok"]
        found = at(doctor, url, url)
        assert found["server-unusable"].params["problem"] == "server-wants-tls"
