"""Purging, expiring and publishing in a real Redis: never a key too many, never overwritten."""

from __future__ import annotations

import hashlib
import io
import json
import threading
from pathlib import Path
from typing import BinaryIO

import pytest

from tests.redis_server import Server, dump, serving
from tests.stores.redis.test_listing import KERNEL, Watched, fx_key, none_left
from torchkeeper.artifacts import remote
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.describe import describe
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.items import File, Item, Left
from torchkeeper.stores.reader import Reader
from torchkeeper.stores.redis import connecting, publishing, removing
from torchkeeper.stores.redis.payloads import Streamed, portable
from torchkeeper.stores.redis.publishing import Publisher
from torchkeeper.stores.redis.removing import expire, remove
from torchkeeper.stores.redis.server import MEANINGS, look
from torchkeeper.stores.redis.store import Redis
from torchkeeper.stores.store import Lost


class Kept(list[tuple[str, str]]):
    """What was left, as (path, code)."""

    def __call__(self, item: Item, problem: Problem) -> None:
        self.append((item.path, problem.code))


def contents(server: Server) -> dict[str, bytes]:
    keys = server("KEYS", "*")
    assert isinstance(keys, list)
    values = server.commands(*(("GET", key) for key in keys)) if keys else []
    return {
        key.decode(): value
        for key, value in zip(keys, values, strict=True)
        if isinstance(value, bytes)
    }


# Purging


def test_only_what_was_previewed_goes(full: Server) -> None:
    full.load({"celery": b"1", fx_key(9): b"x"})
    with Redis(full.unix, Report()) as store:
        previewed = [item for item in store.items(Report()) if item.kind == "fxgraph"]
        assert len(previewed) == 8
        # Meanwhile: a new one comes, one changes, one goes.
        full.load({fx_key(10): b"x", previewed[1].path: b"other"})
        full("DEL", previewed[2].path)
        left, report = Kept(), Watched()
        done = remove(store, previewed, report, left)
    assert (done.entries, done.keys, done.failed) == (6, 6, 2)
    assert left == [(previewed[1].path, "entry-changed"), (previewed[2].path, "entry-gone")]
    gone = {item.path for item in previewed} - {previewed[1].path}
    assert done.bytes == sum(
        item.size for item in previewed if item not in (previewed[1], previewed[2])
    )
    assert set(contents(full)) == set(dump()) - gone | {"celery", fx_key(10), previewed[1].path}
    assert report.told[-1] == (8, 8, "entries")


def test_many_keys_in_batches_kernels_whole_and_wrong_types(server: Server) -> None:
    server.load({fx_key(number): b"x" for number in range(3000)})
    server.load({f"triton:{KERNEL}:{name}": b"{}" for name in ("k.json", "k.ptx")})
    server.load({f"triton:B{KERNEL[1:]}:{name}": b"{}" for name in ("k.json", "k.ptx")})
    server("RPUSH", "pt2:list", "a")
    server.load({"other": b"1"})
    with Redis(server.unix, Report()) as store:
        items = store.items(Report())
        server.load({f"triton:{KERNEL}:k.ptx": b"other"})
        left = Kept()
        done = remove(store, items, Report(), left)
    assert (done.entries, done.keys, done.failed) == (3002, 3003, 1)
    assert left == [(f"triton:{KERNEL}:k.json", "entry-changed")]
    assert set(contents(server)) == {
        f"triton:{KERNEL}:k.json", f"triton:{KERNEL}:k.ptx", "other"
    }  # fmt: skip


def test_a_key_that_is_written_at_that_moment_is_looked_at_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.load({fx_key(1): b"x", fx_key(2): b"x"})
    true_look = removing._unchanged
    looks: list[int] = []

    def look_and_write(store: Redis, batch: list[Item], fail: Left) -> list[Item]:
        same = true_look(store, batch, fail)
        if not looks:
            server("SET", fx_key(1), "another payload")
        looks.append(len(same))
        return same

    monkeypatch.setattr(removing, "_unchanged", look_and_write)
    left = Kept()
    with Redis(server.unix, Report()) as store:
        done = remove(store, store.items(Report()), Report(), left)
    assert (done.entries, done.failed, looks) == (1, 1, [2, 1])
    assert left == [(fx_key(1), "entry-changed")]
    assert contents(server) == {fx_key(1): b"another payload"}


def test_a_purge_can_be_stopped_and_may_be_refused(server: Server, tmp_path: Path) -> None:
    server.load({fx_key(number): b"x" for number in range(3000)})
    with Redis(server.unix, Report()) as store:
        items = store.items(Report())
        with pytest.raises(Cancelled):
            remove(store, items, Watched(checks=2), none_left)
        assert 0 < len(contents(server)) < 3000
    allowed = fx_key(1)
    options = ["--user", "some", "on", "nopass", "+@all", "~pt2:*", f"%R~{allowed}"]
    with serving(tmp_path, *options) as one:
        one.load({allowed: b"x", fx_key(2): b"x"})
        one("ACL", "SETUSER", "some", "resetkeys", f"%R~{allowed}", f"~{fx_key(2)}")
        left = Kept()
        with Redis(one.unix.replace("//", "//some@"), Report(), "") as store:
            done = remove(store, store.items(Report()), Report(), left)
        assert (done.entries, done.failed) == (1, 1)
        assert left == [(allowed, "server-forbids")]
        assert set(contents(one)) == {allowed}


def test_a_server_without_room_is_purged_all_the_same(tmp_path: Path) -> None:
    """It queues no command then, so that a transaction is refused."""
    with serving(tmp_path, "--maxmemory-policy", "noeviction") as one:
        one.load({fx_key(number): b"x" * 1000 for number in range(1200)})
        one.load({f"triton:{KERNEL}:{name}": b"{}" for name in ("k.json", "k.ptx")})
        one("RPUSH", "pt2:list", "a")
        one.load({"other": b"1"})
        left = Kept()
        with Redis(one.unix, Report()) as store:
            items = store.items(Report())
            one("DEL", fx_key(3))
            one.load({fx_key(4): b"changed", f"triton:{KERNEL}:k.ptx": b"changed"})
            one("CONFIG", "SET", "maxmemory", "100kb")
            with pytest.raises(Problem, match="server-out-of-memory"):
                store.connection.call("SET", "pt2:x", "1")
            done = remove(store, items, Report(), left)
        one("CONFIG", "SET", "maxmemory", "0")
        assert (done.entries, done.keys, done.failed) == (1199, 1199, 3)
        assert done.bytes == 1198 * 1000
        assert sorted(left) == [
            (fx_key(3), "entry-gone"), (fx_key(4), "entry-changed"),
            (f"triton:{KERNEL}:k.json", "entry-changed"),
        ]  # fmt: skip
        assert set(contents(one)) == {
            fx_key(4), f"triton:{KERNEL}:k.json", f"triton:{KERNEL}:k.ptx", "other"
        }  # fmt: skip


def test_what_another_has_put_there_is_not_counted_as_ours(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two copies of the same at once: each entry is put there by one of them."""
    with Redis(server.unix, Report()) as store:
        publisher = Publisher(store, Report(), none_left)
        publisher.put(*graph(1, b"mine"), 1.0)
        publisher.put(*graph(2, b"mine"), 1.0)
        true_many = store.connection.many

        def many(commands: list[bytes]) -> list[object]:
            replies = true_many(commands)
            if b"STRLEN" in commands[0]:
                server.load({fx_key(1): remote.encode("fxgraph", b"mine", 2.0)})
            return replies

        monkeypatch.setattr(store.connection, "many", many)
        publisher.flush()
        done = publisher.done
    assert (done.entries, done.existed) == (1, 1)


def test_a_replica_is_not_written(full: Server) -> None:
    with Redis(full.unix, Report()) as store:
        items = store.items(Report())
        store.role = "slave"
        for change in (
            lambda: remove(store, items, Report(), none_left),
            lambda: expire(store, items, 5, Report(), none_left),
            lambda: Publisher(store, Report(), none_left),
        ):
            with pytest.raises(Problem, match="server-read-only"):
                change()
    assert contents(full) == dump()


# Expiry


def test_expiry_is_set_and_cleared(full: Server) -> None:
    with Redis(full.unix, Report()) as store:
        items = store.items(Report())
        full("DEL", items[0].path)
        left = Kept()
        done = expire(store, items[:3], 3600.5, Report(), left)
        assert (done.entries, done.failed, left) == (2, 1, [(items[0].path, "entry-gone")])
        ttls = full.commands(*(("PTTL", item.path) for item in items))
        assert [isinstance(ttl, int) and 3_590_000 < ttl <= 3_600_500 for ttl in ttls] == [
            False, True, True, *[False] * 9
        ]  # fmt: skip
        assert expire(store, items[1:], None, Report(), none_left).entries == 11
        assert set(full.commands(*(("PTTL", item.path) for item in items[1:]))) == {-1}
        for wrong in (0, -5, 1e12, float("nan"), float("inf"), 0.0001):
            with pytest.raises(Problem, match="ttl-wrong"):
                expire(store, items, wrong, Report(), none_left)
    assert len(contents(full)) == 11


# The server's page


def test_the_page_of_a_server(full: Server, tmp_path: Path) -> None:
    with Redis(full.unix, Report()) as store:
        page = look(store)
    assert (page.version or "").startswith(("6.", "7.", "8."))
    assert (page.keys, page.expiring, page.max_memory, page.role) == (12, 0, 0, "master")
    assert page.policy == "noeviction"
    assert (page.used_memory or 0) > 500_000
    assert None not in (page.hits, page.misses, page.evicted, page.uptime_s, page.clients)
    assert {"policy-noeviction-no-limit", "never-expires"} <= set(page.meanings) <= set(MEANINGS)
    with serving(tmp_path, "--maxmemory", "3mb", "--maxmemory-policy", "allkeys-lru") as small:
        small.load({fx_key(number): b"x" * 1000 for number in range(3000)})
        with Redis(small.unix, Report()) as store:
            page = look(store)
        assert (page.evicted or 0) > 0
        assert "evicting" in page.meanings
        small("CONFIG", "SET", "maxmemory-policy", "volatile-lru")
        with Redis(small.unix, Report()) as store:
            assert "evicts-nothing-of-ours" in look(store).meanings
        small("CONFIG", "SET", "maxmemory-policy", "noeviction")
        with Redis(small.unix, Report()) as store:
            assert "policy-noeviction-full" in look(store).meanings
        small("ACL", "SETUSER", "blind", "on", "nopass", "~*", "+@read")
        with Redis(small.unix.replace("//", "//blind@"), Report(), "") as store:
            page = look(store)
        assert page.forbidden == ["INFO", "CONFIG GET"]
        assert "facts-forbidden" in page.meanings
        assert (page.version, page.keys) == (None, small("DBSIZE"))


# Publishing


def folder_entries(place: Path) -> list[tuple[Item, float | None]]:
    folder = Folder(str(place))
    with Reader() as reader:
        batches = describe(folder.items(Report()), folder, reader, Report())
        return [(one.item, one.entry.compile_s) for batch in batches for one in batch]


def test_a_folder_is_published_as_pytorch_published_it(server: Server, kept_291: Path) -> None:
    """The run that made the dump and the folder was one and the same."""
    folder, left = Folder(str(kept_291)), Kept()
    graphs = [one for one in folder_entries(kept_291) if one[0].kind in ("fxgraph", "aotautograd")]
    with Redis(server.unix, Report()) as store:
        publisher = Publisher(store, Report(), left)
        for item, compile_s in graphs:
            publisher.put(item, folder, compile_s)
        publisher.flush()
        done = publisher.done
        assert (done.entries, done.existed, left) == (11, 0, [])
        assert contents(server) == {k: v for k, v in dump().items() if "pgo" not in k}
        again = Publisher(store, Report(), left)
        for item, _ in graphs:
            again.put(item, folder, None)  # another time is no other payload
        again.flush()
        assert (again.done.entries, again.done.existed, left) == (0, 11, [])


class Memory:
    """A Source of files in memory."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    def open(self, file: File) -> BinaryIO:
        return io.BytesIO(self.files[file.path])


def graph(number: int, payload: bytes) -> tuple[Item, Memory]:
    key = fx_key(number)[17:-3]
    path = f"fxgraph/{key[1:3]}/{key}/x"
    return Item("fxgraph", key, path, [File(path, len(payload))]), Memory({path: payload})


def put(store: Redis, left: Kept, *entries: tuple[Item, Memory]) -> publishing.Published:
    publisher = Publisher(store, Report(), left)
    for item, source in entries:
        publisher.put(item, source, 1.0)
    publisher.flush()
    return publisher.done


def test_nothing_is_overwritten(server: Server) -> None:
    large = b"l" * (publishing.LARGE + 5)
    bad = {fx_key(3): b"not JSON", fx_key(4): remote.encode("fxgraph", b"other", 1.0)}
    bad[fx_key(5)] = remote.encode("fxgraph", large[:-1] + b"x", 1.0)
    server.load(bad)
    server("RPUSH", fx_key(6), "a")
    left = Kept()
    entries = [graph(n, b"mine") for n in (1, 3, 4, 6)] + [graph(n, large) for n in (2, 5, 7)]
    server("RPUSH", fx_key(7), "a")
    with Redis(server.unix, Report()) as store:
        done = put(store, left, *entries)
        assert (done.entries, done.bytes) == (2, 4 + len(large))
        assert [path for path, _ in left] == [entries[n][0].path for n in (1, 2, 3, 5, 6)]
        assert {code for _, code in left} == {"key-taken"}
        assert {k: v for k, v in contents(server).items() if k in bad} == bad
        assert contents(server)[fx_key(2)] == remote.encode("fxgraph", large, 1.0)
        left.clear()
        done = put(store, left, graph(1, b"mine"), graph(2, large))
        assert (done.entries, done.existed, left) == (0, 2, [])


def test_kinds_that_no_redis_holds(server: Server, kept_291: Path) -> None:
    folder, left = Folder(str(kept_291)), Kept()
    with Redis(server.unix, Report()) as store:
        publisher = Publisher(store, Report(), left)
        others = [one for one in folder_entries(kept_291) if one[0].kind in ("code", "lock")]
        for item, compile_s in others:
            publisher.put(item, folder, compile_s)
        publisher.flush()
        assert publisher.done.entries == 0
    assert {code for _, code in left} == {"kind-not-in-redis"}
    assert len(left) == len(others) > 5


def test_a_kernel_goes_there_and_back(server: Server, kernels: Path) -> None:
    folder = Folder(str(kernels))
    items = [item for item in folder.items(Report()) if item.kind == "triton"]
    with Redis(server.unix, Report()) as store:
        publisher = Publisher(store, Report(), none_left)
        for item in items:
            publisher.put(item, folder, None)
        publisher.flush()
        assert publisher.done.entries == len(items) > 1
        groups = [value for key, value in contents(server).items() if "__grp__" in key]
        assert groups
        assert all(isinstance(json.loads(value)["child_paths"], list) for value in groups)
        back = list(portable(store, store.items(Report()), Report(), none_left))
        above = "triton/0/"
        assert {one.item.path for one in back} == {above + item.path for item in items}
        for one in back:
            for file in one.item.files:
                with one.open(file) as stream:
                    data = stream.read()
                assert hashlib.sha256(data).hexdigest() == file.sha256
                if "__grp__" not in file.name:
                    assert (kernels / file.path.removeprefix(above)).read_bytes() == data
        # And the same again is the same.
        again = Publisher(store, Report(), none_left)
        for item in items:
            again.put(item, folder, None)
        again.flush()
        assert (again.done.entries, again.done.existed) == (0, len(items))


def test_a_server_without_room_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    left = Kept()
    with serving(tmp_path, "--maxmemory", "8mb", "--maxmemory-policy", "noeviction") as small:
        big = b"b" * (publishing.LARGE + 1)
        with Redis(small.unix, Report()) as store:
            entries = [graph(1, b"small"), graph(2, big), *(graph(n, b"x" * 300_000) for n in
                       range(3, 20)), graph(30, b"small")]  # fmt: skip
            done = put(store, left, *entries)
        assert {code for _, code in left} == {"server-out-of-memory"}
        assert 1 <= done.entries < 19
        assert done.entries + len(left) == len(entries)
        assert fx_key(1) in contents(small)
        assert fx_key(2) not in contents(small)


def test_a_server_that_takes_short_values_only(tmp_path: Path) -> None:
    with serving(tmp_path, "--proto-max-bulk-len", "1mb") as one:
        left = Kept()
        entries = [graph(1, b"s"), graph(2, b"x" * 800_000), graph(3, b"x" * (9 << 20)),
                   graph(4, b"x" * 700_000)]  # fmt: skip
        with Redis(one.unix, Report()) as store:
            done = put(store, left, *entries)
        assert (done.entries, {code for _, code in left}) == (2, {"value-too-large"})
        assert set(contents(one)) == {fx_key(1), fx_key(4)}


def test_a_broken_connection_is_made_anew(tmp_path: Path) -> None:
    """The server dies and comes back, empty, while payloads are sent."""
    with serving(tmp_path) as mortal, Redis(mortal.url, Report()) as store:
        publisher = Publisher(store, Report(), none_left)
        entries = {item.key: (item, source) for item, source in (
            graph(1, b"one"), graph(2, b"l" * (publishing.LARGE + 9)), graph(3, b"three")
        )}  # fmt: skip
        (first, source), second, third = entries.values()
        publisher.put(first, source, 1.0)
        publisher.flush()
        mortal.kill()
        late = threading.Timer(0.3, mortal.start)
        late.start()
        publisher.put(*second, 1.0)
        publisher.put(*third, 1.0)
        publisher.flush()
        assert publisher.done.entries == 3
        late.join()
        assert set(contents(mortal)) == {fx_key(2), fx_key(3)}
        # It had not saved the first, which does not count until it is there again.
        assert publisher.gone() == [first]
        assert publisher.done.entries == 2
        publisher.put(first, source, 1.0)
        publisher.flush()
        assert publisher.done.entries == 3
        assert publisher.gone() == []
        assert set(contents(mortal)) == {fx_key(1), fx_key(2), fx_key(3)}


def test_a_server_that_stays_away_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "AWAY_S", 0.3)
    with serving(tmp_path) as mortal, Redis(mortal.url, Report()) as store:
        publisher = Publisher(store, Report(), none_left)
        publisher.put(*graph(1, b"one"), 1.0)
        mortal.kill()
        with pytest.raises(Lost) as caught:
            publisher.flush()
    assert caught.value.problem.code == "server-refused"
    assert caught.value.problem.params["server"] == mortal.url


def test_described_as_in_a_folder(full: Server, kept_291: Path) -> None:
    """What a reader says of a payload is the same, wherever it comes from."""
    here = {}
    folder = Folder(str(kept_291))
    with Reader() as reader:
        for batch in describe(folder.items(Report()), folder, reader, Report()):
            here.update({one.entry.path: one.entry for one in batch})
        with Redis(full.unix, Report()) as store:
            source = Streamed(portable(store, store.items(Report()), Report(), none_left))
            batches = list(describe(source.items(), source, reader, Report()))
    there = [one.entry for batch in batches for one in batch]
    assert len(there) == 12
    for entry in there:
        assert entry.problem is None
        if entry.kind != "pgo":
            twin = here[entry.path]
            assert (entry.name, entry.torch, entry.sha256, entry.compile_s, entry.size) == (
                twin.name, twin.torch, twin.sha256, twin.compile_s, twin.size
            )  # fmt: skip
