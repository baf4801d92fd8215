"""The wire between the app and an engine: one JSON object a line, UTF-8, at most 1 MiB.

The engine speaks first (``hello``). A request is ``{"id", "op", "params"}``; the answers carry
its id: any number of ``progress``, ``rows`` (at most 500) and ``finding``, then one ``result`` or
``error``. ``{"cancel": id}`` asks for an early end, which is an ``error`` with code ``cancelled``.
Fields that are not known are ignored. What arrives is checked as if an enemy had sent it, against
the types of messages, too: what does not fit is refused, with where and why (``misfit``).
"""

from __future__ import annotations

import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union, cast

if TYPE_CHECKING:
    from torchkeeper.engine.messages.findings import Finding

PROTOCOL = 1
MAX_LINE = 1 << 20
MAX_ROWS = 500
#: The environment variable by which the app tells its own engines where the index file is.
INDEX = "TORCHKEEPER_INDEX"

TYPES = ("hello", "progress", "rows", "finding", "result", "error")


class WireError(ValueError):
    """A line that does not follow the protocol."""


class Message(NamedTuple):
    """One line from an engine. ``id`` is None only in ``hello`` and in errors about no request."""

    type: str
    id: int | None
    body: Mapping[str, Any]

    @property
    def rows(self) -> list[Any]:
        """The rows of a ``rows`` message; none in any other."""
        return list(self.body["rows"]) if self.type == "rows" else []

    @property
    def finding(self) -> Finding:
        """What a ``finding`` message says; it was checked when it came."""
        said = {name: one for name, one in self.body.items() if name not in ("type", "id")}
        return cast("Finding", said)


def encode(obj: Mapping[str, object]) -> bytes:
    """One line. Raises WireError if it would be longer than MAX_LINE."""
    line = json.dumps(obj, separators=(",", ":")).encode() + b"\n"
    if len(line) > MAX_LINE:
        raise WireError(f"a line of {len(line)} bytes is over the limit of {MAX_LINE}")
    return line


def decode(line: bytes) -> dict[str, object]:
    """The object of one line. Raises WireError for anything else."""
    if len(line) > MAX_LINE:
        raise WireError("a line is too long")
    try:
        obj = json.loads(line)
    except (ValueError, RecursionError) as e:
        raise WireError("a line is not JSON") from e
    if not isinstance(obj, dict):
        raise WireError("a line is not an object")
    return obj


def message_from(obj: Mapping[str, object]) -> Message:
    """The Message in one decoded line from an engine. Raises WireError."""
    kind = obj.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        raise WireError("a message of an unknown type")
    ident = obj.get("id")
    if ident is not None and (not isinstance(ident, int) or isinstance(ident, bool)):
        raise WireError("an id is not a number")
    if kind == "rows":
        rows = obj.get("rows")
        if not isinstance(rows, list) or len(rows) > MAX_ROWS:
            raise WireError("rows is not a list of at most 500")
    if kind == "error":
        error = obj.get("error")
        if not isinstance(error, dict) or not isinstance(error.get("code"), str):
            raise WireError("an error without a code")
        if not isinstance(error.get("params", {}), dict):
            raise WireError("the params of an error are not an object")
    if kind == "result" and not isinstance(obj.get("result"), dict):
        raise WireError("a result is not an object")
    return Message(kind, ident, obj)


class Lines:
    """Cuts a byte stream into lines, bounded by MAX_LINE."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[bytes]:
        """The complete lines, now that ``data`` has arrived. Raises WireError on an endless one."""
        self._rest += data
        if b"\n" not in data:
            if len(self._rest) > MAX_LINE:
                raise WireError("a line is too long")
            return []
        *lines, rest = self._rest.split(b"\n")
        self._rest = bytearray(rest)
        return [bytes(line) for line in lines if line]


# JSON against the types of messages.

#: What a refusal calls a value.
_JSON_NAMES: dict[type, str] = {
    type(None): "null", bool: "a truth value", int: "a number", float: "a number", str: "a text",
    list: "a list", dict: "an object",
}  # fmt: skip


class _Wrong(NamedTuple):
    """What does not fit: where that is in what was checked, and what it is."""

    where: str
    what: str


#: Checks a value against one type, in microseconds; None where it fits. Made once for each type.
_Check = Callable[[object], _Wrong | None]


def misfit(kind: Any, value: object, where: str) -> str:
    """Why a JSON value is not of a type, beginning with where that is; "" if it is. Types are
    TypedDict, NamedTuple, dict, Mapping, list, Sequence, tuple, Literal, unions, None and the
    scalars. ``object`` and Any take anything, a float takes a whole number, and a field that a
    TypedDict does not have is ignored: a newer engine may say more.
    """
    wrong = _check_of(kind)(value)
    return "" if wrong is None else f"{where}{wrong.where} {wrong.what}"


@cache
def _check_of(kind: Any) -> _Check:
    if kind in (Any, object):
        return lambda _: None
    if typing.is_typeddict(kind):
        return _fields(kind)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return _either([_check_of(one) for one in inner])
    if origin is Literal:
        return lambda x: None if x in inner and type(x) is not bool else _wrong(x)
    origin = origin or kind
    if origin in (dict, Mapping):
        return _values(_check_of(inner[1] if inner else object))
    if isinstance(origin, type) and issubclass(origin, tuple):
        return _parts(origin, inner)
    if origin in (list, Sequence):
        return _each(_check_of(inner[0] if inner else object))
    if kind in (None, types.NoneType):
        return lambda x: None if x is None else _wrong(x)
    # A bool is an int to Python, and a whole number a float to whoever writes JSON.
    if kind is float:
        return lambda x: None if type(x) in (float, int) else _wrong(x)
    return lambda x: None if type(x) is kind else _wrong(x)


def _fields(kind: Any) -> _Check:
    # Looked at when a field comes: of many findings a message has one.
    hints, checks = typing.get_type_hints(kind), dict[str, _Check]()
    required = kind.__required_keys__

    def check(value: object) -> _Wrong | None:
        if not isinstance(value, dict):
            return _wrong(value)
        if not required <= value.keys():
            return _Wrong(f".{min(required - value.keys())}", "is missing")
        for name, one in value.items():
            if name not in hints:
                continue
            if (of := checks.get(name)) is None:
                of = checks[name] = _check_of(hints[name])
            if (wrong := of(one)) is not None:
                return _Wrong(f".{name}{wrong.where}", wrong.what)
        return None

    return check


def _either(checks: list[_Check]) -> _Check:
    def check(value: object) -> _Wrong | None:
        every = []
        for of in checks:
            if (wrong := of(value)) is None:
                return None
            every.append(wrong)
        # Where a type fits but for something within it, that is what is wrong.
        return next((one for one in every if one.where), every[0])

    return check


def _values(of: _Check) -> _Check:
    def check(value: object) -> _Wrong | None:
        if not isinstance(value, dict):
            return _wrong(value)
        for name, one in value.items():
            if (wrong := of(one)) is not None:
                return _Wrong(f".{name}{wrong.where}", wrong.what)
        return None

    return check


def _parts(kind: type, inner: tuple[Any, ...]) -> _Check:
    """A tuple: of as many of a type as there are, or of one of each of its types."""
    if not inner and hasattr(kind, "_fields"):
        inner = tuple(typing.get_type_hints(kind).values())
    if len(inner) == 2 and inner[1] is Ellipsis:
        return _each(_check_of(inner[0]))
    checks = [_check_of(one) for one in inner]

    def check(value: object) -> _Wrong | None:
        if not isinstance(value, (list, tuple)) or len(value) != len(checks):
            return _wrong(value)
        for at, of in enumerate(checks):
            if (wrong := of(value[at])) is not None:
                return _Wrong(f"[{at}]{wrong.where}", wrong.what)
        return None

    return check


def _each(of: _Check) -> _Check:
    def check(value: object) -> _Wrong | None:
        if not isinstance(value, (list, tuple)):
            return _wrong(value)
        for at, one in enumerate(value):
            if (wrong := of(one)) is not None:
                return _Wrong(f"[{at}]{wrong.where}", wrong.what)
        return None

    return check


def _wrong(value: object) -> _Wrong:
    # Not what it is: it may be a password.
    return _Wrong("", f"is {_JSON_NAMES.get(type(value), 'something else')}")
