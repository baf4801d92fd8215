"""What keys and values in a Redis are, both ways.

PyTorch's keys are ``pt2:<cache id>::<key>:c1`` (RedisRemoteCache in
torch/_inductor/remote_cache.py), Triton's ``triton:<key>:<filename>`` unless
``TRITON_REDIS_KEY_FORMAT`` says otherwise (triton/knobs.py, triton/runtime/cache.py).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import string
from typing import Any, NamedTuple

from torchkeeper.artifacts.triton import is_key

#: Every key of PyTorch's starts so.
PREFIX = "pt2:"
#: As RedisRemoteCacheBackend in triton/runtime/cache.py has it by default.
TRITON_FORMAT = "triton:{key}:{filename}"
#: The most bytes a value can have, unless a server is told otherwise (proto-max-bulk-len).
MAX_VALUE = 512 << 20
#: Bytes of a key; those of PyTorch and Triton have some hundred. A longer one is somebody else's.
MAX_KEY = 8 << 10

#: Cache ids: torch/_inductor/codecache.py, torch/_functorch/_aot_autograd/autograd_cache.py,
#: torch/_dynamo/pgo.py, torch/_inductor/runtime/autotune_cache.py. A single autotune result has a
#: hash where the others have an id; that is a part of its key, as the id is of a bundle's.
_KEY = re.compile(
    r"pt2:(?:fx-graph-v1::(?P<fxgraph>f[a-z2-7]{51})"
    r"|autograd-experimental::(?P<aotautograd>a[a-z2-7]{51})"
    r"|dynamo-pgo::(?P<pgo>.+)"
    r"|(?P<autotune>(?:bundled-autotune-v1|[0-9a-f]{64})::[0-9a-f]{64})"
    r"):c1",
    re.DOTALL,
)
#: A Triton key as it is made today (_base32 in triton/runtime/cache.py).
_KERNEL = re.compile("(?<![A-Z0-9])[A-Z2-7]{52}(?![A-Z0-9])")
_IDS = {"fxgraph": "fx-graph-v1", "aotautograd": "autograd-experimental", "pgo": "dynamo-pgo"}
#: The kinds that a Redis can hold; kernels are in the remote cache of Triton.
KINDS = frozenset({*_IDS, "autotune", "triton"})
#: A value exactly as PyTorch writes it, which need not go through a JSON parser.
_PLAIN = re.compile(rb'\{"data": "([A-Za-z0-9+/]*={0,2})"(?:, "time_taken_ms": (\d{1,15}))?\}')
#: What code_state_path in torch/_dynamo/pgo.py makes of ``<job>:<rank>:<tag>``.
_FLAT_PGO = re.compile(r"(.+)_(None|\d+)_(.*)", re.DOTALL)


class Remote(NamedTuple):
    """What a redis key holds: a payload, or one file of a Triton kernel."""

    kind: str
    key: str
    file: str | None = None


class Value(NamedTuple):
    """A value as it was read: the payload, or why there is none, as a code for
    ``client.words.problems``. compile_s: seconds that compiling took, None where that is not said.
    """

    payload: bytes | None
    compile_s: float | None = None
    problem: str | None = None


#: Stand for the two fields among the parts of a format, which no text of one can be.
KEY, FILE = "\0key", "\0file"


def _parts(form: str) -> list[str] | None:
    """A format of str.format in parts; None for one that Triton's use of it would not bear."""
    parts = []
    try:
        for text, name, how, conversion in string.Formatter().parse(form):
            parts += [text] if text else []
            if name is None:
                continue
            if name not in ("key", "filename") or how or conversion not in (None, "s"):
                return None
            parts.append(KEY if name == "key" else FILE)
    except ValueError:
        return None
    return parts


def may_be_kernels(redis_key: str) -> bool:
    """Whether a key that is not recognised may be Triton's, in another format."""
    return _KERNEL.search(redis_key) is not None


class TritonKeys:
    """Triton's redis keys in one format, which has ``{key}`` and ``{filename}`` in it. ``{{``
    stands for a brace, as in the tags of Redis. In a format that lacks one of the two no key is
    recognised, and none can be made.
    """

    def __init__(self, form: str = TRITON_FORMAT) -> None:
        parts = _parts(form)
        #: What a key is put together from; None where the format makes none.
        self._parts = parts if parts and {KEY, FILE} <= set(parts) else None
        known = {KEY: "(?P<key>[A-Za-z0-9_-]{43,64}?)", FILE: "(?P<file>[^/:]+)"}
        again = {KEY: "(?P=key)", FILE: "(?P=file)"}
        pattern = ""
        seen: set[str | None] = set()
        for part in self._parts or ():
            pattern += (again if part in seen else known).get(part) or re.escape(part)
            seen.add(part if part in known else None)
        self._pattern = re.compile(pattern)
        #: What every such key starts with.
        self.prefix = parts[0] if parts and parts[0] not in known else ""

    def locate(self, redis_key: str) -> Remote | None:
        """The kernel and the file a redis key is for, or None where it is not Triton's."""
        match = self._pattern.fullmatch(redis_key) if self._parts is not None else None
        if match is None or not is_key(match["key"]):
            return None
        return Remote("triton", match["key"], match["file"])

    def key(self, key: str, filename: str) -> str | None:
        """The redis key of a kernel's file, or None where the format makes none."""
        if self._parts is None:
            return None
        return "".join({KEY: key, FILE: filename}.get(part, part) for part in self._parts)


def locate(redis_key: str) -> Remote | None:
    """What a redis key of PyTorch's is: a payload, or ``unknown``; None for others' keys."""
    if match := _KEY.fullmatch(redis_key):
        return Remote(str(match.lastgroup), str(match[match.lastindex or 0]))
    return Remote("unknown", redis_key) if redis_key.startswith(PREFIX) else None


def redis_key(kind: str, key: str) -> str | None:
    """Where PyTorch looks for a payload, or None for kinds and keys that no Redis holds. A PGO key
    may be as in the name of a file; an autotune result's has to be the one that it has in a Redis.
    """
    if kind != "autotune" and kind not in _IDS:
        return None
    if kind == "pgo" and ":" not in key and (match := _FLAT_PGO.fullmatch(key)):
        # File names have ``_`` for ``:``; what a job's or a tag's own name had replaced is lost.
        key = ":".join(match.groups())
    made = f"{PREFIX}{key}:c1" if kind == "autotune" else f"{PREFIX}{_IDS[kind]}::{key}:c1"
    found = locate(made)
    return made if found and found.kind == kind else None


def decode(kind: str, value: bytes) -> Value:
    """The payload in a value of PyTorch's. Never raises for bad content. Problems:
    "value-too-large", "value-not-json", "value-without-data", "value-not-base64".
    """
    if len(value) > MAX_VALUE:
        return Value(None, problem="value-too-large")
    plain = None if kind == "autotune" else _PLAIN.fullmatch(value)
    if plain:
        data, taken = plain[1], int(plain[2]) if plain[2] else None
    else:
        try:
            said: Any = json.loads(value)
        except (ValueError, RecursionError, MemoryError):
            return Value(None, problem="value-not-json")
        if not isinstance(said, dict):
            return Value(None, problem="value-without-data")
        if kind == "autotune":
            # The value is what the file holds (both use RemoteCacheJsonSerde).
            return Value(value)
        data, taken = said.get("data"), said.get("time_taken_ms")
    if not isinstance(data, (str, bytes)):
        return Value(None, problem="value-without-data")
    try:
        payload = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return Value(None, problem="value-not-base64")
    usable = isinstance(taken, (int, float)) and not isinstance(taken, bool) and 0 <= taken < 1e12
    return Value(payload, taken / 1000 if usable and isinstance(taken, (int, float)) else None)


class Decoder:
    """Decodes a value of PyTorch's that comes in pieces, for one that is too large to hold. Only
    values as PyTorch writes them are understood; others are "value-not-json".
    """

    _HEAD = b'{"data": "'
    _TAIL = re.compile(rb'"(?:, "time_taken_ms": (\d{1,15}))?\}')

    def __init__(self) -> None:
        self._rest = b""
        self._tail: bytearray | None = None
        self._begun = False
        self._problem: str | None = None

    def feed(self, piece: bytes) -> bytes:
        """The part of the payload that is known by now."""
        if self._problem:
            return b""
        if self._tail is not None:
            self._tail += piece[:100]
            return b""
        data = self._rest + piece
        if not self._begun:
            if len(data) < len(self._HEAD):
                self._rest = data
                return b""
            if not data.startswith(self._HEAD):
                self._problem = "value-not-json"
                return b""
            self._begun = True
            data = data[len(self._HEAD) :]
        end = data.find(b'"')
        if end >= 0:
            self._tail = bytearray(data[end : end + 100])
            data, self._rest = data[:end], b""
        else:
            whole = len(data) - len(data) % 4
            data, self._rest = data[:whole], data[whole:]
        try:
            return base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            self._problem = "value-not-base64"
            return b""

    def end(self) -> Value:
        """What the end of the value says; the payload in it is empty, for it was given before."""
        match = self._TAIL.fullmatch(self._tail or b"")
        if self._problem or not match:
            return Value(None, problem=self._problem or "value-not-json")
        return Value(b"", int(match[1]) / 1000 if match[1] else None)


def envelope(kind: str, compile_s: float | None) -> tuple[bytes, bytes]:
    """What PyTorch writes before and after the base64 of a payload, byte for byte. FX graphs:
    FxGraphCache._save_graph; AOTAutograd: AOTAutogradCache.save; PGO profiles:
    put_remote_code_state, without a time. ``compile_s`` is the entry's own, 0 where it is None.
    """
    if kind == "pgo":
        return b'{"data": "', b'"}'
    # Through nanoseconds, because a float of seconds is rarely what it was: 1.001 * 1000 < 1001.
    taken = round((compile_s or 0) * 1e9) // 1_000_000
    return b'{"data": "', b'", "time_taken_ms": %d}' % taken


def encode(kind: str, payload: bytes, compile_s: float | None) -> bytes:
    """The value that PyTorch itself would write for a payload."""
    if kind == "autotune":
        return payload
    before, after = envelope(kind, compile_s)
    return before + base64.b64encode(payload) + after


def _group(data: bytes) -> tuple[dict[str, object], object]:
    """A Triton group file, and the names in it; nothing of what is none."""
    try:
        said = json.loads(data)
    except (ValueError, RecursionError):
        said = None
    group = said if isinstance(said, dict) else {}
    return group, group.get("child_paths")


def group_names(data: bytes) -> list[str]:
    """The names in a Triton group file as it is in a Redis; none where it is not one."""
    _, names = _group(data)
    return [x for x in names if isinstance(x, str)] if isinstance(names, (list, dict)) else []


def group_from_redis(data: bytes) -> bytes:
    """A Triton group file as a folder has it, with relative paths. In a Redis it is a list of names
    (RemoteCacheManager.put_group). What is not is left as it is.
    """
    group, names = _group(data)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return data
    return json.dumps({**group, "child_paths": {name: name for name in sorted(names)}}).encode()


def group_for_redis(data: bytes) -> bytes:
    """A Triton group file as RemoteCacheManager.put_group writes it: names without a folder."""
    _, names = _group(data)
    return json.dumps({"child_paths": sorted(names)}).encode() if isinstance(names, dict) else data
