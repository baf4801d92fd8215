"""JSON against the types of messages: what does not fit is refused, with where and why."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, Union

#: Characters of a value that a refusal shows.
_SHOWN = 60


def misfit(kind: Any, value: object, where: str) -> str:
    """Why a JSON value is not of a type, beginning with where that is; "" if it is.

    Types are TypedDict, NamedTuple, dict, Mapping, list, Sequence, tuple, Literal, unions, None and
    the scalars. ``object`` and Any take anything, a float takes a whole number, and a field that a
    TypedDict does not have is ignored: a newer engine may say more.
    """
    if kind in (Any, object):
        return ""
    if typing.is_typeddict(kind):
        return _fields(kind, value, where)
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        whys = [misfit(one, value, where) for one in inner]
        # Where a type fits but for something within it, that is what is wrong.
        within = (why for why in whys if why != _wrong(where, value))
        return "" if "" in whys else next(within, whys[0])
    if origin is Literal:
        return "" if value in inner and type(value) is not bool else _wrong(where, value)
    origin = origin or kind
    if origin in (dict, Mapping):
        if not isinstance(value, dict):
            return _wrong(where, value)
        of = inner[1] if inner else object
        return _first(misfit(of, one, f"{where}.{name}") for name, one in value.items())
    if isinstance(origin, type) and issubclass(origin, tuple):
        return _parts(origin, inner, value, where)
    if origin in (list, Sequence):
        return _each(inner[0] if inner else object, value, where)
    if kind in (None, type(None)):
        return "" if value is None else _wrong(where, value)
    if isinstance(value, bool) and kind is not bool:
        return _wrong(where, value)
    return (
        "" if isinstance(value, (int, float) if kind is float else kind) else _wrong(where, value)
    )


def _fields(kind: Any, value: object, where: str) -> str:
    if not isinstance(value, dict):
        return _wrong(where, value)
    if missing := kind.__required_keys__ - value.keys():
        return f"{where}.{min(missing)} is missing"
    hints = _hints(kind)
    some = (misfit(hints[k], v, f"{where}.{k}") for k, v in value.items() if k in hints)
    return _first(some)


def _parts(kind: type, inner: tuple[Any, ...], value: object, where: str) -> str:
    """A tuple: of as many of a type as there are, or of one of each of its types."""
    if not inner and hasattr(kind, "_fields"):
        inner = tuple(_hints(kind).values())
    if len(inner) == 2 and inner[1] is Ellipsis:
        return _each(inner[0], value, where)
    if not isinstance(value, (list, tuple)) or len(value) != len(inner):
        return _wrong(where, value)
    return _first(
        misfit(of, one, f"{where}[{at}]")
        for at, (of, one) in enumerate(zip(inner, value, strict=True))
    )


def _each(of: Any, value: object, where: str) -> str:
    if not isinstance(value, (list, tuple)):
        return _wrong(where, value)
    return _first(misfit(of, one, f"{where}[{at}]") for at, one in enumerate(value))


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _first(whys: typing.Iterable[str]) -> str:
    return next((why for why in whys if why), "")


def _wrong(where: str, value: object) -> str:
    shown = repr(value)
    return f"{where} is {shown[:_SHOWN]}{'…' if len(shown) > _SHOWN else ''}"
