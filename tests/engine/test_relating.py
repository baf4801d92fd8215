"""Who needs whom on a server: told in a bounded time, and what is not known is said."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.conftest import Ask
from tests.redis_server import Server, dump, serving
from tests.ssh.elsewhere import ANYWHERE
from torchkeeper.artifacts.report import Report
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine.session import Session
from torchkeeper.stores.items import Item
from torchkeeper.stores.needs import Relatives, needed
from torchkeeper.stores.redis import payloads
from torchkeeper.stores.redis.payloads import described, related
from torchkeeper.stores.redis.store import Redis

LETTERS = "abcdefghijklmnopqrstuvwxyz234567"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with what torch 2.9.1 left in one among 3,000 others' graphs."""
    with serving(tmp_path_factory.mktemp("redis")) as made:
        made.load(dump())
        made.load({
            f"pt2:fx-graph-v1::f{LETTERS[n % 32]}{LETTERS[n // 32 % 32]}{LETTERS[n // 1024]}"
            f"{'z' * 48}:c1": b"{}" for n in range(3000)
        })  # fmt: skip
        yield made


def commands(server: Server, name: str) -> int:
    """How often the server was told this command since it was last asked."""
    stats = server("INFO", "commandstats")
    assert isinstance(stats, bytes)
    server("CONFIG", "RESETSTAT")
    lines = [x for x in stats.splitlines() if x.startswith(b"cmdstat_%b:" % name.encode())]
    return int(lines[0].partition(b"calls=")[2].partition(b",")[0]) if lines else 0


def pair(server: Server) -> tuple[Item, Item]:
    """An AOTAutograd entry and a graph that it names."""
    with Redis(server.url, Report()) as store, Session().reader as reader:
        items = store.items_at(list(dump()), Report())
        batches = list(described(store, items, reader, Report()))
    every = {(x.entry.kind, x.entry.key): x for batch in batches for x in batch}
    for (kind, _), one in every.items():
        for key in one.facts.get("fx_keys") or () if kind == "aotautograd" else ():
            graph = every["fxgraph", key]
            assert one.origin and graph.origin
            return one.origin, graph.origin
    raise AssertionError("none names another")


def asked(session: Session, server: Server, of: Item) -> Relatives:
    with Redis(server.url, Report()) as store:
        facts = [x.facts for some in described(store, [of], session.reader, Report()) for x in some]
        return related(session, store, of, needed(facts[0]), Report())


@ANYWHERE
def test_both_directions_are_told_among_thousands(server: Server, ask: Ask) -> None:
    aot, graph = pair(server)
    told, _ = ask("needs", place=server.url, kind=aot.kind, path=aot.path)
    assert ["fxgraph", graph.key] in told["needs"]
    assert told["needed_by"] == [] and "unread" not in told
    told, _ = ask("needs", place=server.url, kind=graph.kind, path=graph.path)
    assert ["aotautograd", aot.key] in told["needed_by"]
    assert "unread" not in told
    # No Redis has code.
    assert {kind for kind, _ in told["missing"]} == {"code"}
    with pytest.raises(UserError, match="not there any more"):
        ask("needs", place=server.url, kind="fxgraph", path=graph.path.replace("f", "g"))


def test_no_value_is_fetched_that_cannot_need_it_and_none_twice(server: Server) -> None:
    _, graph = pair(server)
    session = Session()
    commands(server, "getrange")
    for expected in (1 + 4, 1):  # itself, and the four AOTAutograd entries
        assert len(asked(session, server, graph).needed_by) == 1
        assert commands(server, "getrange") == expected
    session.close()


def test_what_was_not_looked_at_in_time_is_said(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, graph = pair(server)
    session = Session()
    monkeypatch.setattr(payloads, "SECONDS", 0.0)
    first = asked(session, server, graph)
    assert 0 < first.unread <= 3012
    monkeypatch.setattr(payloads, "SECONDS", 60.0)
    monkeypatch.setattr(payloads, "MAX_VALUE", 1000)
    small = asked(session, server, graph)
    assert (small.unread, small.needed_by) == (4, [])
    monkeypatch.setattr(payloads, "MAX_VALUE", 1 << 20)
    whole = asked(session, server, graph)
    assert whole.unread == 0 and len(whole.needed_by) == 1
    session.close()


def test_a_value_that_changed_is_read_again(server: Server) -> None:
    aot, graph = pair(server)
    session = Session()
    assert len(asked(session, server, graph).needed_by) == 1
    value = server("GET", aot.path)
    assert isinstance(value, bytes)
    server("SET", aot.path, b"{}")
    assert asked(session, server, graph).needed_by == []
    server("SET", aot.path, value)
    assert len(asked(session, server, graph).needed_by) == 1
    session.close()


@ANYWHERE
def test_only_what_is_to_be_shown_is_fetched(server: Server, ask: Ask) -> None:
    aot, graph = pair(server)
    commands(server, "getrange")
    _, messages = ask("show", place=server.url, key=aot.key)
    [shown] = [m.body["shown"] for m in messages if m.type == "finding"]
    assert shown["entry"]["path"] == aot.path
    assert shown["entry"]["name"] and shown["facts"]
    assert ["fxgraph", graph.key] in shown["needs"]
    assert commands(server, "getrange") < 10
    _, messages = ask("show", place=server.url, key=graph.key[:20])
    [shown] = [m.body["shown"] for m in messages if m.type == "finding"]
    assert ["aotautograd", aot.key] in shown["needed_by"]
    for key, code in (("f", "key-ambiguous"), ("fffff2", "key-unknown"), ("", "key-unknown")):
        with pytest.raises(UserError) as caught:
            ask("show", place=server.url, key=key)
        assert caught.value.code == code


@ANYWHERE
def test_a_kernel_is_shown(tmp_path: Path, ask: Ask) -> None:
    with serving(tmp_path / "r") as server:
        key = "A" * 52
        server.load({
            f"triton:{key}:__grp__k.json": b'{"child_paths": ["k.json"]}',
            f"triton:{key}:k.json": b'{"name": "k", "target": {"backend": "cuda", "arch": 80}}',
        })  # fmt: skip
        _, messages = ask("show", place=server.url, key="AAAA")
    [shown] = [m.body["shown"] for m in messages if m.type == "finding"]
    assert (shown["entry"]["name"], shown["entry"]["device"]) == ("k", "cuda:80")
    assert shown["needed_by"] == []
