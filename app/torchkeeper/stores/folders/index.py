"""What was read once is not read again: facts of entries, and what files prove of others, kept in
SQLite.

An entry is known again by its place, kind and path, and by the sizes, times and inodes of its
files. The index is only ever a shortcut: where it is damaged, locked, or on a full disk, listing
goes on without it, and one of another version is made anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from torchkeeper.artifacts.entry import Entry, entry_of
from torchkeeper.artifacts.layout import Located
from torchkeeper.stores.items import Item

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Facts

#: To be raised whenever facts change their meaning.
VERSION = 21
#: Seconds to wait for another process that writes.
_PATIENCE = 0.8
#: Seconds after which a place nobody looked at is forgotten.
_KEEP = 120 * 86400

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    place TEXT NOT NULL, kind TEXT NOT NULL, path TEXT NOT NULL, signature INTEGER NOT NULL,
    sha256 TEXT, problem TEXT, facts TEXT NOT NULL, look INTEGER NOT NULL, entry TEXT,
    PRIMARY KEY (place, kind, path)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS proofs (
    place TEXT NOT NULL, path BLOB NOT NULL, about TEXT NOT NULL, PRIMARY KEY (place, path)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS places (place TEXT PRIMARY KEY, seen REAL NOT NULL) WITHOUT ROWID;
"""
_COLUMNS = ("place", "kind", "path", "signature", "sha256", "problem", "facts", "look", "entry")


#: Rows that are parsed at once.
_AT_ONCE = 1000
#: Different facts that are remembered while those of a place are read.
_ALIKE = 5000
_new = tuple.__new__


class Proved(NamedTuple):
    """What has told that a file is what its path says: a file, maybe itself, and its mark then
    (walking.Proving). at: what the path says.
    """

    telling: str
    mark: int
    at: Located


class Known(NamedTuple):
    """What the index keeps of an entry. look: as of Walk.look."""

    signature: int
    sha256: str | None
    problem: str | None
    facts: Facts
    look: int


def signature(item: Item) -> int:
    """A number that changes with the size, time or inode of any file of an item."""
    # By position, for the million of them; of integers alone, to be the same in every process.
    files = item.files
    if len(files) == 1:
        file = files[0]
        return hash(((file[1], file[2], file[4]),))
    return hash(tuple([(file[1], file[2], file[4]) for file in files]))


class Index:
    """The index of one place; without a file it knows nothing and keeps nothing. glimpsing: what
    looks as it is known (Walk.look) need not be looked into. glimpsed: the entries of that.
    proofs: whether what was proved is all that is asked of it.
    """

    def __init__(
        self, place: str, file: str | None = None, glimpsing: bool = False, proofs: bool = False
    ) -> None:
        self.glimpsed: list[Entry] = []
        self.proofs = proofs
        self._place, self._glimpsing = place, glimpsing
        #: What was proved before, from when it is first asked about; and what is now.
        self._proved: dict[str, Proved] | None = None
        self._proving: dict[str, Proved] = {}
        self._known: dict[tuple[str, str], Known] = {}
        self._looks: dict[tuple[str, str], tuple[int, Entry]] = {}
        self._new: list[tuple[Item, Known, str | None]] = []
        self._db: sqlite3.Connection | None = None
        self._opening: threading.Thread | None = None
        if file:
            # Meanwhile the folder is walked, which waits for the disk more than it computes.
            self._opening = threading.Thread(target=self._open, args=(file,), name="index")
            self._opening.start()

    def _opened(self) -> None:
        if self._opening:
            self._opening.join()
            self._opening = None

    def _open(self, file: str) -> None:
        for attempt in (1, 2):
            self._known, self._looks = {}, {}
            try:
                self._db = _connect(file)
                if not self.proofs:
                    self._load()
                return
            except (sqlite3.OperationalError, OSError):
                self._disconnect()  # locked, unwritable, or no room
                return
            except (sqlite3.DatabaseError, ValueError, TypeError):
                self._disconnect()
                for suffix in ("", "-wal", "-shm") if attempt == 1 else ():
                    with contextlib.suppress(OSError):
                        os.unlink(file + suffix)

    def _load(self) -> None:
        assert self._db
        told = "CASE WHEN look THEN entry ELSE facts END" if self._glimpsing else "facts"
        columns = f"kind, path, signature, sha256, problem, look, {told}"
        asked = f"SELECT {columns} FROM entries WHERE place = ?"  # noqa: S608
        cursor = self._db.execute(asked, (_key(self._place),))
        alike = dict[str, object]()
        while rows := cursor.fetchmany(_AT_ONCE):
            # One parse of many is several times as fast as one parse each; those of entries that
            # are alike are one object.
            texts = list({row[6] for row in rows}.difference(alike))
            if len(alike) > _ALIKE:
                alike, texts = {}, list({row[6] for row in rows})
            alike.update(zip(texts, json.loads(f"[{','.join(texts)}]"), strict=True))
            for kind, path, mark, sha256, problem, look, text in rows:
                one, kind = alike[text], sys.intern(kind)
                if isinstance(one, list):
                    self._looks[kind, path] = look, entry_of(one)
                elif isinstance(one, dict):
                    self._known[kind, path] = _new(Known, (mark, sha256, problem, one, look))
                else:
                    raise ValueError("facts are not an object")

    def proved(self, path: str) -> Proved | None:
        """What told of a file when it was last looked at; to be asked of every one."""
        if self._proved is None:
            self._opened()
            self._proved = {}
            # What is damaged is proved again, and another time found to be so.
            with contextlib.suppress(sqlite3.Error, TypeError, ValueError):
                self._load_proofs(self._proved)
        return self._proved.get(path)

    def _load_proofs(self, proved: dict[str, Proved]) -> None:
        asked = "SELECT about FROM proofs WHERE place = ?"
        cursor = self._db.execute(asked, (_key(self._place),)) if self._db else None
        while cursor and (rows := cursor.fetchmany(_AT_ONCE)):
            parsed: list[Any] = json.loads("[" + ",".join(row[0] for row in rows) + "]")
            for path, telling, mark, kind, key, length in parsed:
                # As the names make them, in half the time.
                at = _new(Located, (sys.intern(kind), key, path[:length]))
                proved[path] = _new(Proved, (telling or path, mark, at))

    def prove(self, path: str, proved: Proved) -> None:
        """Keep what tells of a file, also where that is what told before."""
        self._proving[path] = proved

    def glimpse(self, path: str, look: int) -> bool:
        """Whether the kernel in a folder is known by how that looks. It is ``glimpsed`` then."""
        if not (self._glimpsing and look):
            return False
        self._opened()
        entry = "triton", _key(path)
        known = self._looks.get(entry)
        if known is None or known[0] != look:
            return False
        self.glimpsed.append(known[1])
        del self._looks[entry]
        return True

    def get(self, item: Item) -> Known | None:
        """What is kept of an item, if its files are still the same. It is told once and then let
        go of: a big folder has half a million of them.
        """
        if self._opening:
            self._opened()
        known = self._known.pop((item.kind, _key(item.path)), None)
        return known if known and known.signature == signature(item) else None

    def add(self, item: Item, entry: Entry, problem: str | None, facts: Facts) -> None:
        """Keep what was read of an item, and what came of that. problem: of its files."""
        self._opened()
        self._looks.pop((item.kind, _key(item.path)), None)
        if self._db:
            known = Known(signature(item), entry.sha256, problem, facts, item.look or 0)
            self._new.append((item, known, json.dumps(entry[:-1]) if item.look else None))
            if len(self._new) >= 2000:
                self._write(())

    def finish(self) -> None:
        """Write what is new and forget what has vanished; to be called after a whole listing."""
        self._opened()
        gone = [*self._known, *self._looks]  # nobody has asked for
        if self._new or gone:
            self._write(gone)
        if self._proved is not None and self._proving != self._proved:
            self._write_proofs(self._proved, self._proving)
        self.close()

    def _write_proofs(self, before: dict[str, Proved], now: dict[str, Proved]) -> None:
        if not self._db:
            return
        place = _key(self._place)
        rows = list[tuple[object, ...]]()
        for path, one in now.items():
            if before.get(path) != one:
                telling, (kind, key, entry) = one.telling if one.telling != path else "", one.at
                about = json.dumps([path, telling, one.mark, kind, key, len(entry)])
                rows.append((place, os.fsencode(path), about))
        gone = [(place, os.fsencode(path)) for path in before.keys() - now.keys()]
        try:
            with self._db:
                self._db.executemany("REPLACE INTO proofs VALUES (?, ?, ?)", rows)
                self._db.executemany("DELETE FROM proofs WHERE place = ? AND path = ?", gone)
                self._db.execute("REPLACE INTO places VALUES (?, ?)", (place, time.time()))
        except sqlite3.Error:
            self._disconnect()

    def _write(self, gone: Iterable[tuple[str, str]]) -> None:
        if not self._db:
            return
        place = _key(self._place)
        rows, texts = list[tuple[object, ...]](), dict[int, str]()
        for item, (mark, sha256, problem, facts, look), entry in self._new:
            # Those of kernels that are alike are one object.
            if (known := texts.get(id(facts))) is None:
                # Most of what could be known is not.
                known = json.dumps({name: x for name, x in facts.items() if x not in (None, [])})
                texts[id(facts)] = known
            path = _key(item.path)
            rows.append((place, item.kind, path, mark, sha256, problem, known, look, entry))
        self._new = []
        try:
            with self._db:
                put = "REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
                self._db.executemany(put, rows)
                forget = "DELETE FROM entries WHERE place = ? AND kind = ? AND path = ?"
                self._db.executemany(forget, [(place, kind, path) for kind, path in gone])
                self._db.execute("REPLACE INTO places VALUES (?, ?)", (place, time.time()))
        except sqlite3.Error:
            self._disconnect()

    def close(self) -> None:
        """Keep what was added so far, and close the file."""
        self._opened()
        if self._new:
            self._write(())
        self._disconnect()

    def _disconnect(self) -> None:
        db, self._db = self._db, None
        if db:
            with contextlib.suppress(sqlite3.Error):
                db.close()


def _key(text: str) -> str:
    """A path as SQLite can hold it: names that are not UTF-8 have lone surrogates."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _connect(file: str) -> sqlite3.Connection:
    os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    if not os.path.isfile(file):
        raise sqlite3.DatabaseError("not a file")
    # Opened by one thread and used by another, never by both at once.
    db = sqlite3.connect(file, timeout=_PATIENCE, check_same_thread=False)
    try:
        # A hash of integers may differ between versions of Python.
        version = VERSION * 1000 + sys.version_info.minor
        (found,) = db.execute("PRAGMA user_version").fetchone()
        if found != version:
            if found:
                raise sqlite3.DatabaseError("of another version")
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(_SCHEMA)
            db.execute(f"PRAGMA user_version = {version}")
        # Losing the index in a power cut costs a listing, not data; a row that is from before holds
        # the time of its file from before. To wait for the disk would take twice the time.
        db.execute("PRAGMA synchronous = OFF")
        if tuple(row[1] for row in db.execute("PRAGMA table_info(entries)")) != _COLUMNS:
            raise sqlite3.DatabaseError("of another shape")
        old = "SELECT place FROM places WHERE seen < ?"
        limit = (time.time() - _KEEP,)
        if db.execute(old, limit).fetchone():
            with db:
                for table in ("entries", "proofs"):
                    db.execute(f"DELETE FROM {table} WHERE place IN ({old})", limit)  # noqa: S608
                db.execute("DELETE FROM places WHERE seen < ?", limit)
    except BaseException:
        db.close()
        raise
    return db
