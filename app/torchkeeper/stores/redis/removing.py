"""Taking exactly the previewed keys out of a Redis, and giving keys an expiry. Also items in a
tenth of the memory, as a purge may be of a million.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torchkeeper.artifacts.entry import Problem, measured, tallied, tally
from torchkeeper.artifacts.report import Cancelled, Report
from torchkeeper.stores.describe import Described
from torchkeeper.stores.folders.in_use import InUse
from torchkeeper.stores.items import File, Item, Left
from torchkeeper.stores.redis.connecting import Refusal, encoded, pack, problem_of
from torchkeeper.stores.redis.database import Database, RedisItem
from torchkeeper.stores.store import Removal

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Amount
    from torchkeeper.stores.shapes import Done, Users


#: Items that are packed together.
_AT_ONCE = 500


class Packed:
    """Items that can be gone through again and again, in the order in which they were added."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._waiting: list[Item] = []
        self._count = 0
        #: Redis keys and bytes of all of them.
        self.keys = self.size = 0

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        for part in self._parts:
            yield from map(_made, json.loads(part))
        yield from self._waiting

    def add(self, items: Iterable[Item]) -> None:
        for item in items:
            self._count += 1
            self.keys += len(item.files) if item.kind == "triton" else 1
            self.size += item.size
            self._waiting.append(item)
            if len(self._waiting) >= _AT_ONCE:
                self._parts.append(json.dumps([_told(one) for one in self._waiting]).encode())
                self._waiting = []


def _told(item: Item) -> tuple[Any, ...]:
    if isinstance(item, RedisItem):
        return item.kind, item.path, item.length
    return item.kind, item.path, item.key, item.files


def _made(told: list[Any]) -> Item:
    if len(told) == 3:
        return RedisItem(*told)
    kind, path, key, files = told
    return Item(kind, key, path, [File(*file) for file in files])


#: Redis keys that are taken at once. The server answers nobody else meanwhile.
BATCH = 500
#: The longest time to live, in seconds: a hundred years.
MAX_TTL = 100 * 366 * 86400
#: How often a batch is looked at again because somebody wrote one of its keys at that moment.
_TRIES = 20
#: Seconds that a server has to answer what it was sent before a purge was cancelled.
_UNHURRIED = 1.0


@dataclass
class Changed:
    """What was done: entries that are gone, or have a new time to live; bytes and redis keys that
    are gone; and how many entries could not be changed.
    """

    entries: int = 0
    keys: int = 0
    bytes: int = 0
    failed: int = 0


class ServerRemoval(Removal):
    """A purge of a server, from which what goes is gone for good."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._items = Packed()

    def add(self, chosen: Sequence[Described], report: Report, left: Left) -> dict[int, Item]:
        items = [one.origin or one.item for one in chosen]
        self._items.add(items)
        return dict(enumerate(items))

    def told(self) -> Amount:
        counts, size = tallied(len(self._items)), measured(self._items.size, on_disk=False)
        return {**counts, "files": self._items.keys, **size}

    def in_use(self) -> Users:
        return {**InUse().told([]), "left": 0, "stays": tally(())}

    def carry_out(self, now: bool, report: Report, left: Left, password: str | None) -> Done:
        # Cancelled between a transaction and its answer, nobody could say what is gone.
        with Database(self.place, _Unhurried(report), password) as store:
            done = remove(store, self._items, report, left)
        counts, size = tallied(done.entries), measured(done.bytes, on_disk=False)
        return {**counts, "files": done.keys, **size, "failed": done.failed, "receipt": None}


class _Unhurried(Report):
    """Lets what was begun come to its end before it is cancelled, unless that takes long."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._since: float | None = None

    def check(self) -> None:
        """Raises Cancelled some time after the request was."""
        try:
            self._report.check()
        except Cancelled:
            self._since = self._since or time.monotonic()
            if time.monotonic() - self._since > _UNHURRIED:
                raise


def remove(store: Database, items: Sequence[Item] | Packed, report: Report, left: Left) -> Changed:
    """Take these items out for good, in batches, with ``progress`` in entries.

    Only what is still as it was listed: an item of which a key is gone, or has a value of another
    length, is left as "entry-gone" or "entry-changed". The look and the removal are one
    transaction, so that nobody can write between them. Raises Problem("server-read-only") before
    anything, and those of Connection where it breaks. Where it ends early, a finding ``removed``
    says what is gone by then: {bytes, of, sure} and counts, as ``of`` has them of all (``tally``).
    """
    store.check_writable()
    done = Changed()
    try:
        for batch in _batches(items):
            report.check()
            _remove(store, batch, done, left)
            report.progress(done.entries + done.failed, len(items), "entries")
    except (Cancelled, Problem) as e:
        # What was sent last before a connection broke may have been done.
        about = {"bytes": done.bytes, "of": tallied(len(items)), "sure": isinstance(e, Cancelled)}
        report.finding(removed={**tallied(done.entries), **about})
        raise
    report.progress(len(items), len(items), "entries")
    return done


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    batch: list[Item] = []
    keys = 0
    for item in items:
        batch.append(item)
        keys += len(item.files)
        if keys >= BATCH:
            yield batch
            batch, keys = [], 0
    if batch:
        yield batch


def _remove(store: Database, batch: list[Item], done: Changed, left: Left) -> None:
    def fail(item: Item, problem: Problem) -> None:
        done.failed += 1
        left(item, problem)

    for _ in range(_TRIES):
        batch = _unchanged(store, batch, fail)
        if not batch:
            store.connection.ask("UNWATCH")
            return
        keys = [(item, encoded(file.path)) for item in batch for file in item.files]
        replies = store.connection.many([
            pack("MULTI"), *(pack("UNLINK", key) for _, key in keys), pack("EXEC")
        ])  # fmt: skip
        refused = {
            item.path: str(reply)
            for (item, _), reply in zip(keys, replies[1:-1], strict=True)
            if isinstance(reply, Refusal)
        }
        if any(said.startswith("OOM") for said in refused.values()):
            # Where its memory is full a server queues no command, not even one that frees some.
            _remove_by_script(store, batch, done, fail)
            return
        if refused:
            # Then the server takes back the whole transaction: once more without those.
            for item in batch:
                if item.path in refused:
                    fail(item, problem_of(refused[item.path], store.place))
            batch = [item for item in batch if item.path not in refused]
            continue
        answer = replies[-1]
        if isinstance(answer, Refusal):
            raise problem_of(str(answer), store.place)
        if isinstance(answer, list):
            done.entries += len(batch)
            done.keys += sum(one for one in answer if isinstance(one, int))
            done.bytes += sum(item.size for item in batch)
            return
        # Somebody wrote one of the keys since we looked: look again.
    for item in batch:
        fail(item, Problem("entry-changed"))


#: Removes KEYS where each is a string of the length in ARGV, or for -1 none but there.
_SCRIPT = """
local said = 'same'
for i, key in ipairs(KEYS) do
  local kind = redis.call('TYPE', key).ok
  if kind == 'none' then
    said = 'gone'
  elseif (kind == 'string') ~= (ARGV[i] ~= '-1') then
    return 'changed'
  elseif kind == 'string' and redis.call('STRLEN', key) ~= tonumber(ARGV[i]) then
    return 'changed'
  end
end
if said == 'same' then
  for _, key in ipairs(KEYS) do redis.call('UNLINK', key) end
end
return said
"""


def _remove_by_script(store: Database, batch: list[Item], done: Changed, fail: Left) -> None:
    """As ``_remove``, the look and the removal of each item in a script, one after the other."""
    commands = []
    for item in batch:
        keys = [encoded(file.path) for file in item.files]
        sizes = [file.size if file.regular else -1 for file in item.files]
        commands.append(pack("EVAL", _SCRIPT, len(keys), *keys, *sizes))
    for item, answer in zip(batch, store.connection.many(commands), strict=True):
        if answer == b"same":
            done.entries += 1
            done.keys += len(item.files)
            done.bytes += item.size
        elif answer == b"gone":
            fail(item, Problem("entry-gone", path=item.path))
        elif isinstance(answer, Refusal):
            fail(item, problem_of(str(answer), store.place))
        else:
            fail(item, Problem("entry-changed"))


def _unchanged(store: Database, batch: list[Item], fail: Left) -> list[Item]:
    """The items whose keys are as they were listed, and from now on watched."""
    keys = [encoded(file.path) for item in batch for file in item.files]
    if not keys:
        return []
    commands = [pack("WATCH", *keys), *(pack("STRLEN", key) for key in keys)]
    watched, *lengths = store.connection.many(commands)
    if isinstance(watched, Refusal):
        # Some keys may be forbidden to us; which, only their own answers tell.
        store.connection.many([pack("WATCH", key) for key in keys])
    same = []
    answers = iter(lengths)
    for item in batch:
        problem = None
        for file in item.files:
            problem = _difference(file, next(answers), store.place) or problem
        if problem:
            fail(item, problem)
        else:
            same.append(item)
    return same


def _difference(file: File, answer: object, place: str) -> Problem | None:
    if isinstance(answer, Refusal):
        if not str(answer).startswith("WRONGTYPE"):
            return problem_of(str(answer), place)
        return Problem("entry-changed") if file.regular else None
    if answer == file.size and file.regular:
        return None
    return Problem("entry-changed") if answer else Problem("entry-gone", path=file.path)


def expire(
    store: Database, items: Sequence[Item] | Packed, ttl_s: float | None, report: Report, left: Left
) -> Changed:
    """Have these items end in so many seconds, or with None never. Raises Problem("ttl-wrong") for
    a time that would remove them at once or makes no sense, and "server-read-only" before anything.
    """
    if ttl_s is not None and not 0.001 <= ttl_s <= MAX_TTL:
        # A server takes a time that is over for an order to remove.
        raise Problem("ttl-wrong", ttl=ttl_s)
    store.check_writable()
    done = Changed()
    for batch in _batches(items):
        report.check()
        keys = [encoded(file.path) for item in batch for file in item.files]
        replies = iter(store.connection.many([
            pack("PERSIST", key) if ttl_s is None else pack("PEXPIRE", key, int(ttl_s * 1000))
            for key in keys
        ]))  # fmt: skip
        for item in batch:
            mine = [next(replies) for _ in item.files]
            refused = [str(reply) for reply in mine if isinstance(reply, Refusal)]
            if refused:
                problem = problem_of(refused[0], store.place)
            elif ttl_s is not None and 0 in mine:
                problem = Problem("entry-gone", path=item.path)
            else:
                done.entries += 1
                continue
            done.failed += 1
            left(item, problem)
        report.progress(done.entries + done.failed, len(items), "entries")
    return done
