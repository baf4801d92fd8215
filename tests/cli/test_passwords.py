"""A password that is typed into an address, or into what was to be one, is said nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.redis_server import serving
from torchkeeper.artifacts.masking import hidden, without_logins

PASSWORD = "hunter2"  # made up


@pytest.mark.parametrize(
    "words",
    [
        "ls HTTP://x:{}@y", "ls redis:/:{}@h", "ls :{}@host", "ls me:{}@host:6379",
        "ls redis://:{}@h:port", "ls redis://:{}/x@h", "recipe check redis://:{}@h",
        "config import redis://:{}@h", "config import HTTP://x:{}@y", "server redis//:{}@h",
        "doctor reddis://:{}@h", "redis://:{}@h:port", "rediss//x:{}@h", "ls --env redis://:{}@h x",
        "import redis://:{}@h --into /nowhere", "du x redis://:{}@h", "overview http://x:{}@y",
        "warm redis://:{}@h", "verify http://x:{}@h", "purge http://x:{}@h --yes", "ls redis://h?password={}&x=1",
        "env --env redis://:{}@h", "protect redis://:{}@h", "history redis://:{}@h",
        "run --env http://x:{}@y -- x", "import b --into rdis://me:{}@h:6379",
        "ls redis:\\\\me:{}@h",
        "export x -o redis:/:{}@localhost", "import b --into me:{}@localhost:6379",
        "config import redis://:{}", "recipe check redis://:{}", "run redis://:{}", "ls redis::{}",
        "ls redis//:{}", "config import http://x:{}", "du reddis:////me:{}",
        "config import redis://u：{}＠h", "ls redis：//u：{}＠h", "recipe check me：{}＠h",
    ],
)  # fmt: skip
def test_a_mistyped_address_is_never_said(tk: Tk, tmp_path: Path, words: str) -> None:
    ran = tk(*words.format(PASSWORD).split(" "), cwd=tmp_path)
    assert ran.code not in (0, 134)
    assert PASSWORD not in ran.out + ran.err
    assert "Traceback" not in ran.err
    assert list(tmp_path.iterdir()) == [], "nor does it name anything on the disk"


def test_a_password_that_is_typed_is_said_to_be_seen(tk: Tk, tmp_path: Path) -> None:
    with serving(tmp_path, "--requirepass", PASSWORD) as server:
        ran = tk("server", server.url.replace("//", f"//:{PASSWORD}@"))
        assert ran.code == 0 and PASSWORD not in ran.out + ran.err
        assert ran.err.count("Other users of this machine see") == 1
        assert "TORCHKEEPER_REDIS_PASSWORD" in ran.err
        quiet = tk("server", server.url, TORCHKEEPER_REDIS_PASSWORD=PASSWORD)
        assert quiet.code == 0 and "Other users of this machine see" not in quiet.err


def test_who_can_write_to_a_server_is_said(tk: Tk, kept_291: Path, tmp_path: Path) -> None:
    with serving(tmp_path / "redis") as server:
        to = tk("copy", "--allow-secrets", kept_291, server.url)
        assert to.code == 0 and to.err.count("Everybody on this machine may write") == 1
        dry = tk("copy", "--dry-run", kept_291, server.url)
        assert "Everybody on this machine may write" in dry.err
        back = tk("copy", "--allow-secrets", server.url, tmp_path / "back")
        assert "Everybody on this machine may write" in back.err
        out = tk("export", "--allow-secrets", server.url, "-o", tmp_path / "out.torchcache")
        assert "Everybody on this machine may write" in out.err
        ran = tk("server", server.url)
        assert "Everybody on this machine may write" in ran.err and "requirepass" in ran.err
        (one,) = tk("server", server.url, "--json").objects[0]["owners"]
        assert one["code"] == "server-open" and not one["grave"]
    listed = tk("places", TORCHINDUCTOR_REDIS_HOST="cache.example").out
    assert "[is reached without TLS, is used without a password]" in listed
    listed = tk("places", TORCHINDUCTOR_REDIS_URL="rediss://:hunter2@cache.example").out
    assert "rediss://cache.example" in listed and "[is" not in listed


@pytest.mark.parametrize(
    "text",
    [
        "redis://h:6379/0 wants a password", "git@github.com:a/b", "me@host: it is busy",
        "/data/a:b/c@d", "at 12:30 bob@example.org wrote", "image@sha256:abc",
        "It must start with redis://, rediss:// or unix://", "(redis://h:6379): it is busy",
        "redis://[::1]:6379/0, redis://h: 6379", "The image redis:7.2", "/data/redis/a:b",
        "redis:6379", "“redis://h:6379”. unix:///run/a:b and https://example.org:8080/a:b?c=d:e",
    ],
)  # fmt: skip
def test_what_holds_no_password_is_said_as_it_is(text: str) -> None:
    assert without_logins(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("There is no “redis://:pw”.", "There is no “redis://:…”."),
        ("redis://me:p“w cannot be read", "redis://me:… cannot be read"),
        ("redis：//me：pw＠h", "redis://me:…@h"),
        ("rediss::pw, http://x:p/w@h", "rediss::…, http://x:…@h"),
    ],
)
def test_what_looks_like_a_password_is_an_ellipsis(text: str, shown: str) -> None:
    assert without_logins(text) == shown
    assert without_logins(shown) == shown
    assert "pw" not in hidden([text])[0]
