"""A copy that a server breaks off goes on: in the same run, or the next one where it stopped."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.proxy import Proxy, between
from tests.redis_server import Server, dump, serving
from tests.stores.bundles.test_bundle import Left
from tests.stores.redis.test_changing import contents
from tests.stores.redis.test_listing import fx_key
from tests.stores.test_copying import carry, files
from torchkeeper.artifacts import remote
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.copying import Copied, copy, plan_copy
from torchkeeper.stores.describe import Described
from torchkeeper.stores.folders import importing
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.items import Item
from torchkeeper.stores.needs import needed
from torchkeeper.stores.reader import Reader
from torchkeeper.stores.redis import connecting
from torchkeeper.stores.redis.store import Redis
from torchkeeper.stores.store import Lost, Store


@pytest.fixture
def proxy(full: Server) -> Iterator[Proxy]:
    with between(full.port) as one:
        yield one


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for a server."""
    monkeypatch.setattr(connecting, "AWAY_S", 0.2)


def everything(store: Store) -> list[Described]:
    with Reader() as reader:
        batches = store.read(store.items(Report()), reader, Report())
        return [one for batch in batches for one in batch]


def fetch(url: str, target: Path, placed: Callable[[Item, str], None] | None = None) -> Copied:
    """Copy all of a server to a folder or a bundle; nothing may be left."""
    with Redis(url, Report()) as store:
        store.be_patient()
        left = Left()
        done = copy(store, everything(store), str(target), Report(), left, placed=placed)
        assert left.codes == []
    return done


@pytest.fixture(autouse=True)
def one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each entry arrives before the next is asked for; otherwise all of these would at once."""
    monkeypatch.setattr(importing, "_FILES", 1)


class After:
    """Does something once so many entries have been placed."""

    def __init__(self, count: int, act: Callable[[], None]) -> None:
        self._left = count
        self._act = act

    def __call__(self, _item: Item, _home: str) -> None:
        self._left -= 1
        if self._left == 0:
            self._act()


# In the same run.


@pytest.mark.parametrize("after", [9_000, 400_000])
def test_a_connection_that_breaks_while_it_reads(
    full: Server, proxy: Proxy, tmp_path: Path, after: int
) -> None:
    whole = fetch(full.url, tmp_path / "whole")
    proxy.cut_down, proxy.cuts = after, 3
    done = fetch(proxy.url, tmp_path / "t")
    assert proxy.broken == 3
    assert done == whole
    assert files(tmp_path / "t") == files(tmp_path / "whole")


@pytest.mark.parametrize("after", [2_000, 300_000])
def test_a_connection_that_breaks_while_it_writes(
    full: Server, proxy: Proxy, kept_291: Path, after: int
) -> None:
    full("FLUSHALL")
    proxy.cut_up, proxy.cuts = after, 3
    done, left = carry(kept_291, proxy.url, "fxgraph aotautograd")
    assert (done.entries, done.exists, left.codes) == (11, 0, [])
    assert contents(full) == {key: value for key, value in dump().items() if "pgo" not in key}
    assert proxy.broken == 3


def test_between_two_servers(full: Server, proxy: Proxy, tmp_path: Path) -> None:
    with serving(tmp_path) as other, between(other.port) as second:
        proxy.cut_down = second.cut_up = 100_000
        proxy.cuts = second.cuts = 2
        with Redis(proxy.url, Report()) as store:
            store.be_patient()
            done = copy(store, everything(store), second.url, Report(), Left())
        assert (done.entries, done.exists) == (12, 0)
        assert contents(other) == contents(full)
        assert (proxy.broken, second.broken) == (2, 2)


def test_a_server_that_is_killed_and_started_again(tmp_path: Path, kept_291: Path) -> None:
    lasting = ("--appendonly", "yes", "--appendfsync", "always")
    with serving(tmp_path / "r", *lasting) as mortal:
        mortal.load(dump())
        late = threading.Timer(0.3, mortal.start)

        def die() -> None:
            mortal.kill()
            late.start()

        done = fetch(mortal.url, tmp_path / "t", After(5, die))
        late.join()
        assert done.entries == 12
        assert len(files(tmp_path / "t")) == 12


def test_a_bundle_is_whole_although_the_connection_broke(
    full: Server, proxy: Proxy, tmp_path: Path
) -> None:
    fetch(full.url, tmp_path / "whole.torchcache")
    proxy.cut_down, proxy.cuts, proxy.away_s = 300_000, 2, 0.2
    fetch(proxy.url, tmp_path / "b.torchcache")
    assert proxy.broken == 2
    assert (tmp_path / "b.torchcache").read_bytes() == (tmp_path / "whole.torchcache").read_bytes()


def test_a_scan_that_breaks_finds_every_key_once(server: Server) -> None:
    server("FLUSHALL")
    server.load({fx_key(number): b"x" for number in range(20_000)})
    with between(server.port) as proxy, Redis(proxy.url, Report()) as store:
        proxy.cut_down, proxy.cuts = 200_000, 3
        with pytest.raises(Problem, match="server-lost"):
            store.items(Report())  # who looks is told at once
        store.patient = True
        proxy.cut_down, proxy.cuts = 600_000, 2
        paths = [item.path for item in store.items(Report())]
        assert proxy.broken == 3
    assert len(paths) == len(set(paths)) == store.total == 20_000


def test_a_large_value_is_read_on_where_it_broke(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torchkeeper.stores.redis import payloads

    monkeypatch.setattr(payloads, "SPOOL", 1 << 20)
    server("FLUSHALL")
    payload = bytes(range(256)) * (60 << 10)
    server.load({fx_key(1): remote.encode("fxgraph", payload, 1.0)})
    with between(server.port) as proxy, Redis(proxy.url, Report()) as store:
        store.patient = True
        [item] = store.items(Report())
        proxy.cut_down, proxy.cuts = 12 << 20, 1
        [one] = payloads.portable(store, [item], Report(), lambda *_: None)
        assert (one.item.size, proxy.broken) == (len(payload), 1)
        with store.open(one.origin.files[0]) as stream:
            assert stream.read() == payload


# In the next run.


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("count", [1, 8, 10])
def test_what_has_arrived_stays_and_is_sound(
    full: Server, proxy: Proxy, tmp_path: Path, count: int
) -> None:
    with pytest.raises(Problem) as caught:
        fetch(proxy.url, tmp_path / "t", After(count, proxy.drop))
    assert caught.value.code == "server-broke-off"
    assert caught.value.params == {
        "server": proxy.url, "arrived": count, "total": 12, "place": str(tmp_path / "t")
    }  # fmt: skip
    there = files(tmp_path / "t")
    assert len(there) == count, "nothing half-written, nothing taken back"
    # Whatever names others came after them.
    ones = everything(Folder(str(tmp_path / "t")))
    names = {(one.entry.kind, one.entry.key) for one in ones}
    assert not [one for one in ones if one.entry.problem]
    for one in ones:
        assert {name for name in needed(one.facts) if name[0] == "fxgraph"} <= names
    done = fetch(full.url, tmp_path / "t")
    assert (done.entries, done.exists) == (12 - count, count)
    assert there.items() <= files(tmp_path / "t").items()


@pytest.mark.usefixtures("hasty")
def test_a_server_that_takes_a_part_goes_on_there(
    full: Server, proxy: Proxy, kept_291: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torchkeeper.stores.redis import publishing

    monkeypatch.setattr(publishing, "BATCH", 2)
    full("FLUSHALL")

    def published() -> None:
        if full("DBSIZE") == 6:
            proxy.drop()

    class Watching(Report):
        def check(self) -> None:
            published()

    source = Folder(str(kept_291))
    chosen = [one for one in everything(source) if one.entry.kind in ("fxgraph", "aotautograd")]
    with pytest.raises(Problem) as caught:
        copy(source, chosen, proxy.url, Watching(), Left())
    assert caught.value.code == "server-broke-off"
    # What the last answer would have told of is there, and nobody knows.
    assert caught.value.params["arrived"] in (4, 6)
    assert caught.value.params["total"] == 11
    proxy.refusing = False
    done = copy(source, chosen, proxy.url, Report(), Left())
    assert (done.entries, done.exists) == (5, 6)


@pytest.mark.usefixtures("hasty")
def test_a_bundle_is_whole_or_not_at_all(full: Server, proxy: Proxy, tmp_path: Path) -> None:
    target = tmp_path / "b.torchcache"
    target.write_bytes(b"the old one")

    with Redis(proxy.url, Report()) as store:
        chosen = everything(store)
        proxy.cut_down, proxy.cuts, proxy.away_s = 300_000, 1, 3600
        with pytest.raises(Problem, match="server-broke-off-bundle"):
            copy(store, chosen, str(target), Report(), Left(), replace=True)
    assert proxy.broken == 1
    assert [path.name for path in tmp_path.iterdir()] == ["b.torchcache"]
    assert target.read_bytes() == b"the old one"


@pytest.mark.usefixtures("hasty")
def test_a_preview_that_breaks_says_so(full: Server, proxy: Proxy, tmp_path: Path) -> None:
    with Redis(proxy.url, Report()) as store:
        chosen = everything(store)
        proxy.drop()
        left = Left()
        with pytest.raises(Problem, match="server-lost"):
            plan_copy(store, chosen, str(tmp_path / "t"), Report(), left)
        assert left.codes == []


def test_a_server_that_comes_back_as_another(tmp_path: Path) -> None:
    with serving(tmp_path / "r", "--appendonly", "yes") as mortal:
        mortal.load(dump())

        def change() -> None:
            mortal.commands(("CONFIG", "SET", "requirepass", "hunter2"), ("CLIENT", "KILL", "TYPE",
                            "normal", "SKIPME", "yes"))  # fmt: skip

        with pytest.raises(Problem, match="password-needed"):
            fetch(mortal.url, tmp_path / "t", After(4, change))
    assert len(files(tmp_path / "t")) == 4, "what has arrived stays"


def test_waiting_can_be_cancelled_and_leaves_no_trace(
    full: Server, proxy: Proxy, tmp_path: Path
) -> None:
    class Impatient(Report):
        until = 0.0

        def finding(self, **what: object) -> None:
            if "waiting" in what:
                self.until = time.monotonic() + 0.2

        def check(self) -> None:
            if self.until and time.monotonic() > self.until:
                raise Cancelled

    report = Impatient()
    with Redis(proxy.url, report) as store:
        chosen = everything(store)
        with pytest.raises(Cancelled):
            copy(store, chosen, str(tmp_path / "t"), report, Left(), placed=After(3, proxy.drop))
    assert list(tmp_path.iterdir()) == []


def test_who_is_patient_is_never_without_an_end(full: Server, proxy: Proxy) -> None:
    with pytest.MonkeyPatch.context() as patch, Redis(proxy.url, Report()) as store:
        patch.setattr(connecting, "AWAY_S", 0.3)
        store.patient = True
        proxy.drop()
        with pytest.raises(Lost):
            store.items(Report())
