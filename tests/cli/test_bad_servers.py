"""What is wrong with a server or in it is named by every command, and the rest goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.redis_server import Server, certificates, dump, serving
from tests.stores.redis.test_listing import HASH, KERNEL, fx_key


@pytest.fixture
def server(server: Server) -> Server:
    server.load(dump())
    return server


COMMANDS = (
    ("ls", "{}"), ("du", "{}"), ("show", "{}", "f"), ("copy", "{}", "/nowhere/t"),
    ("copy", "/tmp", "{}"), ("purge", "{}", "--yes"), ("ttl", "{}", "1d"), ("server", "{}"),
)  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words[:2]))
def test_every_command_names_it(tk: Tk, server: Server, command: tuple[str, ...]) -> None:
    ran = tk(*(word.format(server.url[:-1] + "99") for word in command))
    assert ran.code == 3
    assert "has no database with this number" in ran.err
    assert "Check the number" in ran.err
    assert ran.out == ""


def test_a_client_certificate_that_is_wanted(tk: Tk, tmp_path: Path) -> None:
    folder = certificates(tmp_path / "tls")
    with serving(tmp_path / "r", "--tls-auth-clients", "yes", tls=folder) as secure:
        url = f"rediss://127.0.0.1:{secure.port}/0?ssl_ca_certs={folder}/ca.crt"
        ran = tk("du", url)
        assert ran.code == 3
        assert "wants a certificate from you" in ran.err
        assert "ssl_certfile" in ran.err


@pytest.mark.slow
def test_the_target_is_looked_at_before_the_source_is_read(
    tk: Tk, server: Server, kept_291: Path, tmp_path: Path
) -> None:
    for source in (kept_291, server.url):
        assert "does not answer" in tk("copy", "--allow-secrets", source, "redis://127.0.0.1:1").err
        ran = tk("copy", "--allow-secrets", source, "/dev/null")
        assert ran.code == 3
        assert "/dev/null is not a folder" in ran.err
    ran = tk("copy", "--allow-secrets", server.url, server.unix)
    assert ran.code == 1
    assert "onto itself" in ran.err
    (tmp_path / "thesis.odt").write_bytes(b"precious")
    ran = tk("copy", "--allow-secrets", server.url, tmp_path / "thesis.odt", "--replace")
    assert ran.code == 1
    assert "neither a bundle nor a mega-cache" in ran.err
    assert (tmp_path / "thesis.odt").read_bytes() == b"precious"


def test_both_servers_have_a_password(tk: Tk, server: Server, tmp_path: Path) -> None:
    with serving(tmp_path, "--requirepass", "hunter2") as other:
        server("CONFIG", "SET", "requirepass", "hunter3")
        try:
            source = server.url.replace("//", "//:hunter3@")
            ran = tk(
                "copy", "--allow-secrets", source, other.url.replace("//", "//:hunter2@"), "--json"
            )
            assert (ran.code, ran.result["entries"]) == (0, 12)
            assert "hunter" not in ran.out + ran.err
            needed = tk("copy", "--allow-secrets", source, other.url)
            assert needed.code == 3
            assert f"{other.url} wants a password" in needed.err
            assert "TORCHKEEPER_REDIS_PASSWORD" in needed.err
        finally:
            server.commands(("AUTH", "hunter3"), ("CONFIG", "SET", "requirepass", ""))


def test_a_full_server_is_named_and_can_be_purged(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    options = ("--maxmemory", "2mb", "--maxmemory-policy", "noeviction")
    with serving(tmp_path, *options) as small:
        ran = tk("copy", "--allow-secrets", kept_291, small.url)
        assert ran.code == 4
        assert "has no memory left" in ran.err
        assert " copied to " in ran.out, "the rest went on"
        small("CONFIG", "SET", "maxmemory", "1mb")
        purged = tk("purge", small.url, "--yes", "--json")
        assert purged.code == 0
        assert purged.result["entries"] > 5
        assert small("DBSIZE") == 0


@pytest.mark.slow
def test_values_that_are_not_what_their_key_promises(
    tk: Tk, server: Server, tmp_path: Path
) -> None:
    server.load({
        fx_key(1): b"\xff\x00", fx_key(2): b'{"data": "QUJ*", "time_taken_ms": 1}',
        fx_key(3): b'{"a": 1}', fx_key(4): b"", "other": b"1",
        f"team:{KERNEL}:k.json": b"{}", f"pt2:{HASH}::{HASH}:c1": b"{}",
    })  # fmt: skip
    server("RPUSH", fx_key(5), "a")
    server("HSET", f"triton:{KERNEL}:k.json", "a", "b")
    server("SET", b"pt2:dynamo-pgo::../../x\n\x00\xff\x1b[31m:c1", b'{"data": "QUJD"}')
    server("SET", b"pt2:\xff\xfe\n", b"x")
    listed = tk("ls", server.url, "--filter", "is:broken")
    assert listed.code == 0
    for code in ("not-json", "not-base64", "without-data", "wrong-type"):
        assert f"[broken: value-{code}]" in listed.out
    assert "\x1b" not in listed.out + listed.err
    assert "\0" not in listed.out
    shown = tk("show", server.url, "../../x")
    assert shown.code == 0
    assert "An entry of kind pgo cannot have the name" in shown.out
    copied = tk("copy", "--allow-secrets", server.url, tmp_path / "t")
    assert copied.code == 4
    assert copied.out.startswith("12 entries")
    for words in ("is not JSON", "cannot be decoded", "holds no payload", "is not a string",
                  "name is refused", "only a Redis can hold it", "1 unknown file"):  # fmt: skip
        assert words.lower() in copied.err.lower()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t"]
    counted = tk("du", server.url)
    assert "2 other keys there, never touched" in counted.err
    assert "1 of them looks like Triton's in another format" in counted.err
    named = tk("du", server.url, "--json", TRITON_REDIS_KEY_FORMAT="team:{key}:{filename}")
    kinds = {row["kind"]: row for row in named.objects}
    assert kinds["triton"]["entries"] == 1
    assert kinds["total"]["others"] == 2, "the one in the usual format is another's now"
    purged = tk("purge", server.url, "--filter", "is:broken", "--yes", "--json")
    assert (purged.code, purged.result["entries"]) == (0, 7)
    assert {bytes(key) for key in _keys(server)} == {
        *(key.encode() for key in dump()), b"other", f"team:{KERNEL}:k.json".encode(),
        f"pt2:{HASH}::{HASH}:c1".encode(), b"pt2:\xff\xfe\n",
    }  # fmt: skip


def _keys(server: Server) -> list[bytes]:
    keys = server("KEYS", "*")
    assert isinstance(keys, list)
    return keys


def test_what_by_nature_cannot_go_is_no_failure(tk: Tk, server: Server, kept_291: Path) -> None:
    server("FLUSHALL")
    ran = tk("copy", "--allow-secrets", kept_291, server.url, "--json")
    assert (ran.code, ran.result["entries"]) == (0, 12)
    codes = {one["code"] for one in ran.result["left"]}
    assert codes == {"kind-not-in-redis"}


def test_a_user_who_may_do_little(tk: Tk, server: Server, tmp_path: Path) -> None:
    server("ACL", "SETUSER", "some", "reset", "on", ">hunter2", "+@all", "-pexpire", "~pt2:fx*")
    url = server.url.replace("//", "//some:hunter2@")
    listed = tk("ls", url, "--json")
    assert listed.code == 0
    hidden = [row for row in listed.objects if row["problem"] == "value-forbidden"]
    assert len(hidden) == 5
    copied = tk("copy", "--allow-secrets", url, tmp_path / "t")
    assert copied.code == 4
    assert copied.out.startswith("7 entries")
    assert "this user may not read the value" in copied.err
    ran = tk("ttl", url, "1d")
    assert (ran.code, ran.out) == (1, "Nothing was changed.\n")
    assert "does not allow this user" in ran.err
    purged = tk("purge", url, "--yes", "--json")
    assert (purged.code, purged.result["entries"], purged.result["failed"]) == (4, 7, 5)
    assert server("DBSIZE") == 5
