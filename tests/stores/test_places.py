"""A place is a place: the same holds of a folder, a bundle and a Redis."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import RunPlain, objects_of
from tests.redis_server import Server, serving
from tests.stores.bundles.test_bundle import Left
from tests.stores.test_copying import StopAfter, carry, files
from torchkeeper.artifacts.entry import Entry, Problem
from torchkeeper.artifacts.layout import flat_pgo_key, payload_name
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.copying import copy
from torchkeeper.stores.describe import Described
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.reader import Reader

#: Kinds that every place can hold.
KINDS = "fxgraph aotautograd pgo"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("redis")) as one:
        yield one


@pytest.fixture(params=["folder", "bundle", "server"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place of each sort, in which nothing is yet."""
    if request.param == "server":
        one: Server = request.getfixturevalue("server")
        one("FLUSHALL")
        one("SET", "sessions:ada", b"not ours")
        return one.url
    return str(tmp_path / ("place.torchcache" if request.param == "bundle" else "place"))


@pytest.fixture
def place(empty: str, kept_291: Path) -> str:
    """The same with the payloads of torch 2.9.1."""
    carry(kept_291, empty, KINDS)
    return empty


def entries(place: str) -> list[Described]:
    store = scheme_of(place).opened(place, Report())
    with Reader() as reader:
        items = store.items(Report())
        found = [one for batch in store.read(items, reader, Report()) for one in batch]
    store.close()
    return found


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
    store = scheme_of(place).opened(place, Report())
    items = store.items(Report())
    assert Counter(item.kind for item in items) == {"fxgraph": 7, "aotautograd": 4, "pgo": 1}
    assert store.total == len(items)
    assert len({item.identity for item in items}) == len(items)
    assert all(item.size > 0 and item.files for item in items)
    assert sorted(i.identity for i in store.stream(Report())) == sorted(i.identity for i in items)
    store.close()


def test_one_item_can_be_asked_for(place: str) -> None:
    store = scheme_of(place).opened(place, Report())
    for wanted in store.items(Report())[::3]:
        beside = store.items_beside(wanted.path, Report())
        assert [i.size for i in beside if i.identity == wanted.identity] == [wanted.size]
    gone = "pt2:fx-graph-v1::" + "f" + "a" * 51 + ":c1" if "redis:" in place else "fxgraph/aa/b"
    assert not [i for i in store.items_beside(gone, Report()) if i.path == gone]
    store.close()


def test_every_payload_is_byte_for_byte_the_folders(place: str, kept_291: Path) -> None:
    assert payloads(place) == payloads(str(kept_291))


def test_every_entry_says_the_same_of_itself(place: str, kept_291: Path) -> None:
    def about(entry: Entry) -> tuple[object, ...]:
        return (
            entry.kind,
            flat_pgo_key(entry.key),
            entry.name,
            entry.torch,
            entry.device,
            entry.sha256,
        )

    ours = sorted(map(repr, (about(one.entry) for one in entries(place))))
    theirs = [one.entry for one in entries(str(kept_291)) if one.entry.kind in KINDS.split()]
    assert ours == sorted(map(repr, map(about, theirs)))
    assert not [one for one in entries(place) if one.entry.problem]
    times = {flat_pgo_key(one.entry.key): one.entry.compile_s for one in entries(place)}
    for entry in theirs:
        if entry.compile_s is not None:
            assert times[entry.key] == pytest.approx(entry.compile_s, abs=0.001)


def test_copied_out_again_the_folder_is_the_same(
    place: str, kept_291: Path, tmp_path: Path
) -> None:
    done, left = carry(place, tmp_path / "back")
    assert left.codes == []
    before = {
        path: data for path, data in files(kept_291).items() if path[:2] in ("fx", "ao", "dy")
    }
    assert files(tmp_path / "back") == before
    assert done.entries == len(before)


def test_copied_twice_nothing_is_new(place: str, kept_291: Path) -> None:
    if place.endswith(".torchcache"):
        with pytest.raises(Problem, match="output-exists"):
            carry(kept_291, place, KINDS)
        return
    again, left = carry(kept_291, place, KINDS)
    assert (again.entries, again.exists, left.codes) == (0, 12, [])


def test_cancelled_half_way(empty: str, kept_291: Path) -> None:
    store = scheme_of(str(kept_291)).opened(str(kept_291), Report())
    chosen = [one for one in entries(str(kept_291)) if one.entry.kind in KINDS.split()]
    with pytest.raises(Cancelled):
        copy(store, chosen, empty, StopAfter(8), Left())
    if empty.startswith("redis"):
        # What has arrived is whole.
        assert payloads(empty).items() <= payloads(str(kept_291)).items()
    else:
        assert not Path(empty).exists()


def test_others_keys_are_counted_and_never_touched(server: Server, kept_291: Path) -> None:
    server("FLUSHALL")
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
    server("FLUSHALL")
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
    server("FLUSHALL")
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
