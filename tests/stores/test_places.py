"""A place is a place: the same holds of a folder, a bundle and a Redis, on this machine and on
another.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import select
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import torchkeeper
from tests.conftest import RunPlain, objects_of
from tests.redis_server import Server
from tests.ssh.elsewhere import here, named
from tests.stores.bundles.test_bundle import Left
from tests.stores.test_copying import StopAfter, carry, files
from torchkeeper.artifacts.entry import Entry, entry_from_json
from torchkeeper.artifacts.layout import flat_pgo_key, payload_name
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.client.engines import far, line
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.stores.copying import copy
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.reader import Reader

#: Kinds that every place can hold.
KINDS = "fxgraph aotautograd pgo"
#: The sorts of places. What holds of a server through a machine is in test_answers.
SORTS = ("folder", "bundle", "server", "ssh folder",
         pytest.param("ssh bundle", marks=pytest.mark.slow))  # fmt: skip


@pytest.fixture(params=SORTS)
def sort(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each sort; another machine can be reached where it is on one."""
    # It has no torch, which takes seconds to be asked.
    monkeypatch.setenv("TORCHKEEPER_TORCH_PYTHON", os.path.realpath(sys.executable))
    if request.param.startswith("ssh"):
        request.getfixturevalue("there")
    yield request.param
    line.close_all()


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    """Places of each sort that are filled. Not to be changed."""
    return {}


@pytest.fixture
def empty(sort: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place of each sort, in which nothing is yet."""
    if sort == "server":
        server: Server = request.getfixturevalue("server")
        server("SET", "sessions:ada", b"not ours")
        return server.url
    name = str(tmp_path / ("place.torchcache" if "bundle" in sort else "place"))
    return named(name) if sort.startswith("ssh") else name


@pytest.fixture(scope="module")
def source(kept_291: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What of torch 2.9.1 every place can hold. Not to be changed."""
    folder = tmp_path_factory.mktemp("source") / "cache"
    carry(kept_291, folder, KINDS)
    return folder


@pytest.fixture
def place(request: pytest.FixtureRequest, sort: str, made: dict[str, str], source: Path) -> str:
    """The same with these payloads. Not to be changed."""
    if sort not in made or sort == "server":  # others have emptied it
        empty: str = request.getfixturevalue("empty")
        assert copied(source, empty).entries == 12
        made[sort] = empty
    return made[sort]


def copied(source: Path | str, target: Path | str) -> torchkeeper.Placed:
    """As a script copies, from any machine to any."""
    with torchkeeper.open(source) as opened:
        return opened.copy(target, secrets="allow", trust=True)


@contextlib.contextmanager
def asked(place: str) -> Iterator[Callable[..., list[Any]]]:
    """Asks an engine of the place's machine about it: what is told, and the result."""
    with Engine(far.machine_of(place) or None) as engine:

        def ask(op: str, **about: Any) -> list[Any]:
            told: list[Any] = []
            done = engine.call(op, {"place": place, **about}, lambda one: told.extend(
                one.rows or filter(None, [one.body.get("detail")])))  # fmt: skip
            return [*told, done]

        yield ask


def entries(place: str) -> list[Entry]:
    with asked(place) as ask:
        *rows, _ = ask(protocol.LIST, facts=True)
    return [entry_from_json(row) for row in rows]


def payloads(place: str) -> dict[tuple[str, str], bytes]:
    """The payload of each kind and key, as ``open`` gives it; names of files have no colons."""
    store = scheme_of(place).opened(place, Report())
    found = {}
    for item in store.items(Report()):
        if item.kind in KINDS.split():
            with store.open(item.files[0]) as stream:
                found[item.kind, flat_pgo_key(item.key)] = stream.read()
    store.close()
    return found


def test_it_lists_what_was_put_there(place: str) -> None:
    found = entries(place)
    assert Counter(one.kind for one in found) == {"fxgraph": 7, "aotautograd": 4, "pgo": 1}
    assert len({(one.kind, one.path) for one in found}) == len(found)
    assert all(one.size > 0 and one.files for one in found)


def test_one_entry_can_be_asked_for(place: str) -> None:
    with asked(place) as ask:
        *rows, _ = ask(protocol.LIST)
        for row in rows[::3]:
            shown, _ = ask(protocol.DETAIL, kind=row["kind"], path=row["path"])
            assert (shown["entry"]["key"], shown["entry"]["size"]) == (row["key"], row["size"])
        key = "f" + "a" * 51
        gone = f"pt2:fx-graph-v1::{key}:c1" if "redis:" in place else f"fxgraph/aa/{key}/x"
        with pytest.raises(UserError) as raised:
            ask(protocol.DETAIL, kind="fxgraph", path=gone)
        assert raised.value.code == "entry-gone"


def test_every_entry_says_the_same_of_itself(place: str, source: Path) -> None:
    def about(one: Entry) -> tuple[object, ...]:
        return one.kind, flat_pgo_key(one.key), one.name, one.torch, one.device, one.sha256

    ours, theirs = entries(place), entries(str(source))
    assert sorted(map(repr, map(about, ours))) == sorted(map(repr, map(about, theirs)))
    assert not [one for one in ours if one.problem]
    times = {flat_pgo_key(one.key): one.compile_s for one in ours}
    for entry in theirs:
        if entry.compile_s is not None:
            assert times[entry.key] == pytest.approx(entry.compile_s, abs=0.001)


def test_copied_out_again_the_folder_is_the_same(place: str, source: Path, tmp_path: Path) -> None:
    done = copied(place, tmp_path / "back")
    assert (done.entries, done.left) == (12, ())
    assert files(tmp_path / "back") == files(source)


def test_copied_twice_nothing_is_new(place: str, source: Path) -> None:
    if place.endswith(".torchcache"):
        with pytest.raises(UserError) as raised:
            copied(source, place)
        assert raised.value.code == "output-exists"
        return
    again = copied(source, place)
    assert (again.entries, again.exists, again.left) == (0, 12, ())


def test_cancelled_half_way(empty: str, source: Path) -> None:
    if machine := far.machine_of(empty):
        # One that is told so at once may have been quicker.
        with Engine(machine) as engine, contextlib.suppress(UserError):
            about = {"place": named(source), "into": empty, "secrets": "allow"}
            ident, told = engine.send(protocol.COPY, about), ""
            engine.cancel(ident)
            while told not in ("result", "error"):
                select.select([engine], [], [])
                told = [message.type for message in engine.receive()][-1]
        assert told == "result" or not Path(here(empty)).exists()
        return
    store = scheme_of(str(source)).opened(str(source), Report())
    with Reader() as reader:
        batches = store.read(store.items(Report()), reader, Report())
        chosen = [one for batch in batches for one in batch]
    with pytest.raises(Cancelled):
        copy(store, chosen, empty, StopAfter(8), Left())
    if empty.startswith("redis"):
        # What has arrived is whole.
        assert payloads(empty).items() <= payloads(str(source)).items()
    else:
        assert not Path(empty).exists()


def test_others_keys_are_counted_and_never_touched(server: Server, kept_291: Path) -> None:
    server("SET", "sessions:ada", b"not ours")
    carry(kept_291, server.url, KINDS)
    from torchkeeper.stores.redis.store import Redis

    with Redis(server.url, Report()) as store:
        store.items(Report())
        assert store.others == 1
    assert server("GET", "sessions:ada") == b"not ours"


def test_of_several_payloads_the_newest_goes(
    server: Server, fixture_cache: Path, tmp_path: Path
) -> None:
    graph = next(p for p in sorted((fixture_cache / "fxgraph").rglob("*")) if p.is_file())
    other = next(p for p in sorted((fixture_cache / "fxgraph").rglob("*"), reverse=True)
                 if p.is_file())  # fmt: skip
    newer = graph.with_name(payload_name(hashlib.sha256(other.read_bytes()).hexdigest()))
    newer.write_bytes(other.read_bytes())
    done, left = carry(fixture_cache, server.url, "fxgraph")
    assert (done.entries, left.codes) == (7, ["newer-goes"])
    assert payloads(server.url)["fxgraph", graph.parent.name] == other.read_bytes()


def carried_round(server: Server, place: Path, tmp_path: Path) -> tuple[Path, int]:
    """Carry a place to Redis, a bundle and a folder; that folder, and how many graphs there are."""
    bundle, back = tmp_path / "b.torchcache", tmp_path / "back"
    carry(place, server.url)
    carry(server.url, bundle)
    carry(bundle, back)
    first = payloads(str(place))
    assert first == payloads(server.url) == payloads(str(bundle)) == payloads(str(back))
    return back, sum(kind == "fxgraph" for kind, _ in first)


def test_every_payload_is_the_same_after_the_round_trip(
    server: Server, warm_cache: Path, tmp_path: Path
) -> None:
    assert carried_round(server, warm_cache, tmp_path)[1] > 0


@pytest.mark.slow
def test_the_round_trip_hits_everywhere(
    server: Server, warm_cache: Path, run_plain: RunPlain, tmp_path: Path
) -> None:
    """Stock torch hits on each. Every day: on a server in redis/test_with_pytorch.py, on a folder
    that a bundle filled in cli/test_main_job.py.
    """
    back, graphs = carried_round(server, warm_cache, tmp_path)
    # AOTAutograd's keys differ with and without its remote cache, so that its entries miss there,
    # and the graphs are looked up one by one.
    objects_of(warm_cache, tmp_path / "nothing")
    published = run_plain(tmp_path / "nothing", redis=server.url)
    assert (published["hits"], published["misses"]) == (graphs, 0)
    # A server holds no objects.
    objects_of(warm_cache, back)
    prefetched = run_plain(back)
    assert prefetched["misses"] == prefetched["aot_misses"] == 0
    assert prefetched["aot_hits"] > 0


@pytest.mark.slow
def test_what_torch_publishes_can_be_prefetched(
    server: Server, warm_cache: Path, run_plain: RunPlain, tmp_path: Path
) -> None:
    server("FLUSHALL")
    carry(warm_cache, server.url, "fxgraph")
    ours = set(keys_of(server))
    server("FLUSHALL")
    run_plain(tmp_path / "cold", redis=server.url)
    assert {key for key in keys_of(server) if b"fx-graph" in key} == ours
    carry(server.url, tmp_path / "prefetched")
    counters = run_plain(tmp_path / "prefetched")
    assert (counters["hits"], counters["misses"]) == (len(ours), 0)


def keys_of(server: Server) -> list[bytes]:
    """The keys of PyTorch's in a server."""
    found = server("KEYS", "pt2:*")
    assert isinstance(found, list)
    return [key for key in found if isinstance(key, bytes)]
