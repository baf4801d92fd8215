"""JSON against the types of messages: what does not fit is refused, with where and why."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple, Union

#: What a refusal calls a value.
_NAMES: dict[type, str] = {
    type(None): "null", bool: "a truth value", int: "a number", float: "a number", str: "a text",
    list: "a list", dict: "an object",
}  # fmt: skip


class _Wrong(NamedTuple):
    """What does not fit: where that is in what was checked, and what it is."""

    where: str
    what: str


#: Checks a value against one type; None where it fits. Made once for each type: an entry of a
#: hundred thousand is checked in a few microseconds.
_Check = Callable[[object], _Wrong | None]


def misfit(kind: Any, value: object, where: str) -> str:
    """Why a JSON value is not of a type, beginning with where that is; "" if it is.

    Types are TypedDict, NamedTuple, dict, Mapping, list, Sequence, tuple, Literal, unions, None and
    the scalars. ``object`` and Any take anything, a float takes a whole number, and a field that a
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
    return _Wrong("", f"is {_NAMES.get(type(value), 'something else')}")
