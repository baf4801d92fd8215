"""Every kind of place answers all that is asked of a store, and all that is asked of a name."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.redis_server import Server
from tests.stores.test_copying import carry
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.client.engines.joining import Joining
from torchkeeper.engine.session import Session
from torchkeeper.stores.items import Item
from torchkeeper.stores.names import Scheme, scheme_of
from torchkeeper.stores.shapes import Beside
from torchkeeper.stores.store import Removal, Store

#: Of another machine a server alone is opened here; what is asked of the others over ssh is in
#: ``tests/ssh/test_answers.py``.
SORTS = ("folder", "bundle", "server", "server through ssh")
#: What each kind says it can.
CAN: dict[str, dict[str, object]] = {
    "folder": {"purgeable": True, "on_disk": True, "complete": True, "marked": True,
               "signable": False, "fetches_named": False, "tells": {"age", "owner"}},
    "bundle": {"purgeable": False, "on_disk": False, "complete": True, "marked": False,
               "signable": True, "fetches_named": False, "tells": set()},
    "server": {"purgeable": True, "on_disk": False, "complete": False, "marked": False,
               "signable": False, "fetches_named": True, "tells": {"used", "expires"}},
}  # fmt: skip
#: What is said of each kind besides its entries.
BESIDE = {
    "folder": {"trash", "owners"},
    "bundle": {
        "trash",
        "format",
        "made_in",
        "native",
        "objects",
        "built",
        "unportable",
        "portable",
    },
    "server": {"trash", "format", "owners", "others", "kernels_maybe"},
}


@pytest.fixture(params=SORTS)
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """Each kind, and how it is reached: by this process, as by an engine."""
    sort, _, through = str(request.param).partition(" ")
    if not through:
        yield sort
        return
    request.getfixturevalue("there")
    folder = request.getfixturevalue("tmp_path") / "engine"
    folder.mkdir()
    request.getfixturevalue("monkeypatch").chdir(folder)
    handle = os.open(folder, os.O_RDONLY)
    joining = Joining(handle)
    yield str(request.param)
    joining.close()
    os.close(handle)


@pytest.fixture
def sort(way: str) -> str:
    return way.partition(" ")[0]


@pytest.fixture
def store(
    way: str, sort: str, kept_291: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Store]:
    """A place of each kind with the payloads of torch 2.9.1, open."""
    place = str(tmp_path / ("place.torchcache" if sort == "bundle" else "place"))
    if sort == "server":
        one: Server = request.getfixturevalue("server")
        place = one.url if way == sort else f"ssh://there/{one.url}"
    carry(kept_291, place, "fxgraph aotautograd pgo")
    with scheme_of(place).opened(place, Report()) as opened:
        yield opened


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session()
    yield made
    made.close()


def code_of(ask: Callable[[], object]) -> str | None:
    """The problem that a question ends with."""
    try:
        ask()
    except Problem as problem:
        return problem.code
    return None


def test_each_kind_says_what_it_can(store: Store, sort: str, way: str) -> None:
    assert {name: getattr(store, name) for name in CAN[sort]} == CAN[sort]
    assert (store.identity is None) == (sort != "server")
    assert (store.remote_cache is None) == (way != "server"), "no program finds one through ssh"
    assert store.same_as(store) == (sort == "server")
    assert store.whole and not store.unreadable and not store.refused


def test_each_kind_answers_everything(store: Store, sort: str, session: Session) -> None:
    report, left = Report(), list[Item]()

    def gone(item: Item, _: Problem) -> None:
        left.append(item)

    items = store.survey(report)
    assert {i.identity for i in items} == {i.identity for i in store.stream(report)}
    assert store.total == len(items) == 12
    graph = next(item for item in items if item.kind == "fxgraph")
    aot = next(item for item in items if item.kind == "aotautograd")
    assert graph.identity in {item.identity for item in store.items_beside(graph.path, report)}
    assert graph.identity in {item.identity for item in store.items_of_key(graph.key, report)}
    assert code_of(lambda: store.items_of_key("f", report)) == "key-ambiguous"
    assert code_of(lambda: store.items_of_key("nothing", report)) == "key-unknown"

    found = [one for batch in store.entries(session, report, items) for one in batch]
    assert len(found) == len(items)
    assert [one.entry.key for some in store.timed([found], True) for one in some] == [
        one.entry.key for one in found
    ]
    read = [one for some in store.read([graph], session.reader, report) for one in some]
    assert [one.entry.key for one in read] == [graph.key]
    assert store.tells_unread(frozenset({"kind", "size"})) == (sort == "server")
    assert sum(map(len, store.unread(report, 5))) == len(items)
    keys = [one.facts["fx_keys"] for one in found if one.entry.key == aot.key]
    paths = [store.graph_beside(aot, key) for key in keys[0]]
    beside = [item for path in paths for item in store.items_beside(path, report)]
    assert {item.key for item in beside if item.kind == "fxgraph"} >= set(keys[0])
    related = store.relatives(aot.kind, aot.path, session, report)
    assert {item.key for item in related.needs} == set(keys[0])
    [(full, same)] = store.in_full(aot.key, session, report)
    assert full.facts and {item.key for item in same.needs} == set(keys[0])
    assert store.put_off(graph) is None
    named = store.named_by(
        [one for one in found if one.entry.key == aot.key], True, session, report
    )
    assert {one.entry.key for one in named} == (set(keys[0]) if sort == "server" else set())

    times, rests = store.uses(items, report)
    assert (times is None) == (sort != "folder")
    # A server before 7.2 does not know.
    assert (rests is None) == (sort == "bundle") or (sort, rests) == ("server", None)
    store.tell_unreadable(report)
    assert store.mark(items) == store.mark(items) != store.mark(items[1:])
    kept = store.index(None)
    assert (kept is None) == (sort != "folder")
    if kept is not None:
        kept.close()
    assert (store.owners() is None) == (sort == "bundle")
    told: Beside = {"trash": None}
    store.tell_beside(told, [])
    assert set(told) == BESIDE[sort]
    assert set(store.strays()) == ({"others", "kernels_maybe"} if sort == "server" else set())
    assert set(store.room()) in (set(), {"free_bytes", "total_bytes", "disk"})
    for answer in (store.trash(), store.orphans(items, None)):
        assert (answer is None) == (sort != "folder")
    assert (store.makers() is None) == (sort != "bundle")
    store.be_patient()
    offered = store.offer(found, report, gone)
    assert len(offered.items()) == len(items) and not left
    assert len(store.for_bundle(found, gone)[0]) == len(items)

    wanted = {"bundle": "place-not-folder"}.get(sort)
    assert code_of(store.check_purgeable) == wanted
    if wanted is None:
        removal = store.removal(insisted=True)
        assert isinstance(removal, Removal)
        assert len(removal.add(found, report, gone)) == len(items)
        assert removal.told()["entries"] == len(items)
        assert {"processes", "left", "stays"} <= set(removal.in_use())
        assert removal.carry_out(False, report, gone, None)["entries"] == 12
        assert not store.items(report)


#: Fields of a filter, and with what problem each kind refuses to be asked for them.
FIELDS = {
    "age": {"bundle": "age-unknown", "server": "age-unknown"},
    "owner": {"bundle": "owner-unknown", "server": "owner-unknown"},
    "used": {"folder": "times-of-servers", "bundle": "times-of-servers"},
    "expires": {"folder": "times-of-servers", "bundle": "times-of-servers"},
    "size": {},
}


def test_what_a_kind_cannot_tell_it_refuses(store: Store, sort: str) -> None:
    for field, codes in FIELDS.items():
        code = code_of(lambda: store.check_asked(frozenset({field})))  # noqa: B023
        old = sort == "server" and field == "used" and code == "use-unknown"  # before Redis 7.2
        assert old or code == codes.get(sort), field


def test_nothing_is_asked_of_a_store_that_is_not_asked_here() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    asked = {name for name in vars(Store) if not name.startswith("_")}
    assert len(asked) > 40
    assert {name for name in asked if name not in source} == set()


@pytest.mark.parametrize(
    "name",
    ["/a/cache", "redis://:word@here:6380/2", "UNIX:///run/redis.sock",
     "ssh://gpu1/redis://:word@here:6380/2"],
)  # fmt: skip
def test_a_name_answers_everything(name: str) -> None:
    scheme, local = scheme_of(name), name.startswith("/")
    assert scheme.local == local == scheme.has_trash == scheme.on_disk == scheme.holds_objects
    assert scheme.verifiable == local == (scheme.checks == "folder") == (not scheme.word)
    for fact in ("may_want_password", "shared", "remote_cache", "keeps_times", "lazy",
                 "keeps_part", "wants_digests"):  # fmt: skip
        assert getattr(scheme, fact) != local, fact
    place, password = scheme.parted(name)
    assert password == ("word" if "word" in name else None) and "word" not in place
    assert scheme.normal(place) == place and scheme.same(place, True)
    assert scheme.becomes(place) == ("folder" if local else "server") and not scheme.elsewhere
    assert scheme.way(place) == ("ssh://gpu1" if "ssh" in name else "")
    assert scheme.machine(place) == ""
    assert scheme.full_path(place, "x") == ("/a/cache/x" if local else "x")
    assert isinstance(scheme.owners(place), list)


@pytest.mark.parametrize("name", ["ssh://gpu1/a/cache", "ssh://gpu1/~/b.torchcache"])
def test_a_name_of_another_machine_says_what_that_has(name: str) -> None:
    scheme, here = scheme_of(name), scheme_of("/a/cache")
    assert scheme.machine(name) == scheme.way(name) == "ssh://gpu1" and scheme.elsewhere
    for fact in ("is_files", "has_trash", "holds_objects", "may_want_password", "shared",
                 "remote_cache", "keeps_times", "lazy", "keeps_part", "wants_digests"):  # fmt: skip
        assert getattr(scheme, fact) == getattr(here, fact), fact
    assert not scheme.local and not scheme.on_disk and scheme.owners(name) == []
    assert scheme.parted(name) == (name, None) and scheme.same(name, True) == name
    assert scheme.becomes(name) == ("bundle" if name.endswith(".torchcache") else "folder")
    assert scheme.full_path(name, "x") == f"{name}/x"
    assert code_of(lambda: scheme.opened(name, Report())) == "place-elsewhere"


def test_a_kind_that_says_nothing_of_itself_can_nothing() -> None:
    class Other(Scheme):
        begins = ("other://",)

    scheme: Any = Other()
    cannot = ("local", "has_trash", "on_disk", "remote_cache", "holds_objects", "verifiable",
              "keeps_times", "lazy", "keeps_part", "wants_digests")  # fmt: skip
    assert not any(getattr(scheme, name) for name in cannot)
    assert scheme.owners("other://here") == []
    assert scheme.parted("other://here") == ("other://here", None)
