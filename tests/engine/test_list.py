"""A listing that is asked for again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.ssh.elsewhere import ANYWHERE
from torchkeeper.artifacts.entry import tally
from torchkeeper.client.engines.process import Engine
from torchkeeper.engine.protocol import Message

pytestmark = ANYWHERE


def counted(result: dict[str, Any]) -> int:
    """How many rows a listing says that it has: entries, and what is counted apart."""
    return sum(result[name] for name in tally(()))


def test_what_is_as_it_was_is_not_sent_again(fixture_cache: Path) -> None:
    with Engine() as engine:

        def listed(unless: str) -> tuple[dict[str, Any], int]:
            messages: list[Message] = []
            params = {"place": str(fixture_cache), "unless": unless}
            result = engine.call("list", params, messages.append)
            return result, sum(len(m.rows) for m in messages)

        first, rows = listed("")
        assert rows == counted(first)
        again, rows = listed(first["mark"])
        assert rows == 0
        assert again["same"]
        assert again["mark"] == first["mark"]
        assert again["trash"] == first["trash"]
        source = next(fixture_cache.rglob("*.main.cpp"))
        data = source.read_bytes()
        for change in (
            lambda: source.write_bytes(data + b"\n"),
            lambda: source.write_bytes(data),
            source.unlink,
            lambda: (fixture_cache / "new").write_bytes(b""),
        ):
            before = again["mark"]
            change()
            again, rows = listed(before)
            assert rows == counted(again)
            assert again["mark"] != before


@pytest.mark.parametrize("secret", [None, b"redis://:hunter2-not-a-real-password@127.0.0.1/"])
def test_a_listing_tells_of_the_leaks_that_the_whole_search_finds(
    clean_291: Path, tmp_path: Path, secret: bytes | None
) -> None:
    cache, bundle = tmp_path / "cache", str(tmp_path / "b.torchcache")
    shutil.copytree(clean_291, cache)
    if secret:
        module = min(cache.glob("??/*.py"))
        module.write_bytes(module.read_bytes() + b"# " + secret + b"\n")
    with Engine() as engine:

        def found(op: str, **params: Any) -> list[Any]:
            messages: list[Message] = []
            engine.call(op, {"place": bundle, **params}, messages.append)
            return [m.body[x] for m in messages for x in ("secret", "leaks") if x in m.body]

        engine.call("export", {"place": str(cache), "output": bundle, "secrets": "allow"})
        told = found("list", leaks=True)
        assert told == found("leaks")
        assert [one["file"] for one in told[:-1]] == ([module.name] if secret else [])
        assert told[-1]["secrets"] == bool(secret)
        assert told[-1]["private"]
        assert found("list") == []
