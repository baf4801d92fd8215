"""What the module of generic caches named by the argument does, one line for each thing asked.

The same script runs with PyTorch's module and with ours; the temporary folder is its own.
"""

# ruff: noqa: B023 (what is asked is asked at once)

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import pickle
import sys
import tempfile
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import patch

caches = importlib.import_module(sys.argv[1])
TMP = Path(tempfile.gettempdir())
NAMES = ["Cache", "InMemoryCache", "AsyncCache", "OnDiskCache", "InductorOnDiskCache"]
CONCRETE = ["InMemoryCache", "OnDiskCache", "InductorOnDiskCache"]
KEYS = ["", "k", "é", 0, -1, 1 << 80, (), ("a", 1), (("a", "a"), (1, (2,)))]
VALUES = [
    "", "text", 0, 1 << 80, (), ("a", (1, 2.5, None, True)), b"", bytes(range(256)), {},
    {"zero": "z", 1: 2, (2,): ("t",), b"three": [4]}, [], ["s", 1, {"d": [b"x" * 300]}],
]  # fmt: skip
UNPICKLABLE = lambda: None  # noqa: E731
VARIABLE = "GENERIC_CACHES"


def said(name, ask):
    """Print what a call returns or raises."""
    try:
        result = repr(ask())
    except Exception as e:  # noqa: BLE001
        result = "raises " + " < ".join(x.__name__ for x in type(e).__mro__[:2])
    print(name, result.replace(caches.__name__, "MODULE"))


def files(folder):
    """Every file below a folder: its path and the hash of its content."""
    return [
        (str(path.relative_to(TMP)), hashlib.sha256(path.read_bytes()).hexdigest())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]


def shape():
    for name in ("Key", "Value"):
        variable = getattr(caches, name)
        said(name, lambda: (variable, variable.__constraints__, variable.__bound__))
    said("CacheError", lambda: [x.__name__ for x in caches.CacheError.__mro__])
    for name in NAMES:
        kind = getattr(caches, name)
        said(name, lambda: [x.__name__ for x in kind.__mro__])
        said(f"{name} bases", lambda: kind.__orig_bases__)
        said(f"{name} abstract", lambda: sorted(kind.__abstractmethods__))
        said(f"{name} parameters", lambda: kind[str, int])
        said(f"{name} made", lambda: type(kind()).__name__)
        for member in ("__init__", "get", "insert", "get_async", "insert_async", "from_env_var",
                       "from_file_path", "_fpath_from_key", "_flock_from_fpath"):  # fmt: skip
            if hasattr(kind, member):
                said(f"{name}.{member}", lambda: str(inspect.signature(getattr(kind, member))))
                said(f"{name}.{member} is", lambda: type(inspect.getattr_static(kind, member)))
        for member in ("version", "base_dir", "version_prefix"):
            if hasattr(kind, member):
                said(f"{name}.{member}", lambda: type(inspect.getattr_static(kind, member)))


def get_and_insert(name):
    for number, value in enumerate(VALUES):
        cache = getattr(caches, name)()
        if name != "InMemoryCache":
            cache.base_dir = cache.base_dir / f"values-{number}"
        for key in KEYS:
            said(f"{name} {key!r} get", lambda: cache.get(key))
            said("insert", lambda: cache.insert(key, value))
            said("insert again", lambda: cache.insert(key, "another"))
            said("get", lambda: cache.get(key))
            said("type", lambda: type(cache.get(key)))
        if name != "InMemoryCache":
            for line in files(cache.base_dir):
                print(line)


def on_disk(name):
    kind = getattr(caches, name)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(TMP / "elsewhere")
    cache = kind()
    said(f"{name} name", lambda: cache.name)
    said("folder", lambda: cache.base_dir.relative_to(TMP))
    said("folder again", lambda: cache.base_dir is cache.base_dir)
    said("version", lambda: (cache.version, kind.version, cache.version_prefix))
    said("read only", lambda: setattr(cache, "version_prefix", b""))
    path = cache._fpath_from_key("k")
    said("path", lambda: path.relative_to(TMP))
    said("lock", lambda: Path(cache._flock_from_fpath(path).lock_file).relative_to(TMP))
    said("locks are there", (path.parent / "locks").exists)
    said("get", lambda: cache.get("k"))
    said("insert", lambda: cache.insert("k", "old"))

    with patch.object(caches.OnDiskCache, "version", 1):
        said("stale insert", lambda: cache.insert("k", "new"))
        said("stale get", lambda: cache.get("k"))
        said("stale is there", path.exists)
        said("insert", lambda: cache.insert("k", "new"))
        said("get", lambda: cache.get("k"))
        said("content", path.read_bytes)
    said("back", lambda: cache.get("k"))
    said("insert", lambda: cache.insert("k", "back"))

    class Other(caches.OnDiskCache):
        version = 7

    said("a subclass's version", lambda: Other("x").version_prefix)
    said("a subclass's folder", lambda: Other("x").base_dir.relative_to(TMP))

    path.write_bytes(cache.version_prefix + pickle.dumps("value")[::-1])
    said("damaged", lambda: cache.get("k"))
    said("damaged is there", path.exists)
    said("damaged insert", lambda: cache.insert("k", "new"))
    path.write_bytes(b"")
    said("empty", lambda: cache.get("k"))
    said("empty is there", path.exists)
    path.mkdir()
    said("a folder", lambda: cache.get("k"))
    said("into a folder", lambda: cache.insert("k", "new"))
    said("key", lambda: cache._fpath_from_key(lambda: None))
    said("key get", lambda: cache.get(UNPICKLABLE))
    said("key insert", lambda: cache.insert(UNPICKLABLE, 1))
    said("value", lambda: cache.insert("unpicklable", UNPICKLABLE))
    said("value at once", lambda: cache.insert("k", UNPICKLABLE))

    with ThreadPoolExecutor(8) as executor:
        said("async", lambda: cache.get_async("a", executor).result())
        won = [cache.insert_async(("a", i % 5), i, executor) for i in range(40)]
        won = {i: future.result() for i, future in enumerate(won)}
        said("async inserts", lambda: sum(won.values()))
        kept = [cache.get_async(("a", i), executor).result() for i in range(5)]
        said("async gets", lambda: sorted(i for i in won if won[i]) == sorted(kept))


def in_memory():
    kind = caches.InMemoryCache

    def env(name, text):
        os.environ.pop(VARIABLE, None)
        if text is not None:
            os.environ[VARIABLE] = text
        said(f"env {name}", lambda: (type(cache := kind.from_env_var(VARIABLE)), cache._cache))

    def pair(key, value):
        return f"{pickle.dumps(key)!r},{pickle.dumps(value)!r}"

    env("unset", None)
    env("empty", "")
    env("blank", " ; ;; ")
    for key in ("k", 5, ("t", 1)):
        for value in ("v", 7, ("t", 2), b"v", {"d": 1}, ["l"]):
            env("one", pair(key, value))
    env("two", f"{pair('a', 1)};{pair('b', 2)}")
    env("spaces", f"  {pair('a', 1).replace(',', ' , ')} ; {pair('b', 2)} ;")
    env("twice", f"{pair('a', [1])};{pair('a', [1])}")
    env("differs", f"{pair('a', 1)};{pair('a', 2)}")
    env("no comma", pair("a", 1).replace(",", ""))
    env("no literal", pair("a", 1).replace(",", "/,") + "/")
    env("no literal value", f"{pickle.dumps('a')!r},name")
    env("no pickle", f"{pickle.dumps('a')[::-1]!r},{pickle.dumps(1)!r}")
    env("no pickled value", f"{pickle.dumps('a')!r},{pickle.dumps(1)[::-1]!r}")
    env("a semicolon in it", pair("a;b", 1))

    file = TMP / "kept"

    def kept(name, content):
        file.write_bytes(content)
        said(f"file {name}", lambda: (type(cache := kind.from_file_path(file)), cache._cache))

    said("file missing", lambda: kind.from_file_path(TMP / "missing")._cache)
    said("file folder", lambda: kind.from_file_path(TMP)._cache)
    kept("good", pickle.dumps(dict(zip(KEYS, VALUES, strict=False))))
    kept("reversed", pickle.dumps({"a": 1})[::-1])
    kept("list", pickle.dumps([1, 2]))
    kept("more after it", pickle.dumps({"a": 1}) + b"more")

    class Own(kind):
        pass

    said("subclass", lambda: type(Own.from_file_path(file)).__name__)
    said("subclass", lambda: type(Own.from_env_var("NOT_SET")).__name__)
    cache = kind()
    said("apart", lambda: (cache.insert("a", 1), kind().get("a")))
    said("lock", lambda: isinstance(cache._lock, types.ModuleType) or cache._lock.locked())
    said("unhashable", lambda: cache.insert([], 1))
    said("unhashable", lambda: cache.get({}))


shape()
for each in CONCRETE:
    get_and_insert(each)
for each in CONCRETE[1:]:
    on_disk(each)
in_memory()
