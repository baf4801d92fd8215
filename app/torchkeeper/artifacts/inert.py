"""Reading a pickle without running it.

``load`` builds the object graph of a pickle with inert stand-ins for every class and function it
names: nothing is imported and nothing is called. It does not protect from pickles that exhaust
memory or time; that is why it only ever runs in a reader process (``stores.reader``).
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

#: A cache entry names a few hundred classes; a bomb names millions.
MAX_GLOBALS = 20_000
#: Letters of a name that is got of a class.
MAX_NAME = 300
_GETATTR = ("builtins", "getattr")
#: Attributes that opcodes look up in an instance and call (pickle.py).
_OF_OPCODES = frozenset({"append", "extend", "add", "__setstate__"})
#: Types that call what they are made of, as ``str`` does its ``__str__``.
CALLING = frozenset(("builtins", name) for name in ("bool", "float", "int", "str"))
#: Classes of sympy that take text for what it says; all others evaluate it (sympy/core/sympify.py).
_SYMPY = ("sympy.", "torch.utils._sympy.")
_OF_TEXT = frozenset({"Symbol", "Dummy", "Integer", "Float"})
#: How many items an inert mapping or list keeps; the rest is dropped, not the entry.
MAX_ITEMS = 10_000


class Inert:
    """Stands for an instance of a class that was not imported."""

    __slots__ = ("args", "called", "items", "state")

    module = ""
    qualname = ""
    #: Told of what happens to an instance that PyTorch's own pickles do not do, as ``__call__``.
    noted: Callable[[str], object] | None = None

    args: tuple[Any, ...]
    items: list[Any]
    state: Any
    #: Set only where it was got by ``getattr``: to be told that it is called.
    called: Callable[[], object]

    def __new__(cls, *args: Any, **_kwargs: Any) -> Inert:
        self = object.__new__(cls)
        self.args = args
        self.items = []
        self.state = None
        return self

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        """Takes anything, keeps nothing."""

    def __setstate__(self, state: Any) -> None:
        self.state = state
        # An attribute of such a name is what the next opcodes call.
        if noted := type(self).noted:
            for part in state if isinstance(state, tuple) else (state,):
                for name in _OF_OPCODES.intersection(part if isinstance(part, dict) else ()):
                    noted(name)

    def __call__(self, *args: Any, **_kwargs: Any) -> Inert:
        """What REDUCE calls where a function was got from an object."""
        if called := getattr(self, "called", None):
            called()
        elif noted := type(self).noted:
            noted("__call__")
        return Inert(*args)

    def append(self, item: Any) -> None:
        """What APPEND calls on a list-like object."""
        if len(self.items) < MAX_ITEMS:
            self.items.append(item)

    def extend(self, items: Any) -> None:
        """What APPENDS calls on a list-like object."""
        for item in items:
            self.append(item)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.append((key, value))

    add = append


class TooManyGlobals(pickle.UnpicklingError):
    """The pickle names more classes than any cache entry does."""


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self._classes: dict[tuple[str, str], type[Inert]] = {}
        #: Whether ``getattr`` was called only with what has a named class; None: not called.
        self._got_of_named: bool | None = None

    @property
    def named(self) -> list[tuple[str, str]]:
        """Module and name of what was named; not ``getattr`` where all that it got is."""
        return [one for one in self._classes if one != _GETATTR or not self._got_of_named]

    def find_class(self, module: str, name: str) -> type[Inert]:
        found = self._classes.get((module, name))
        if found is None:
            if len(self._classes) >= MAX_GLOBALS:
                raise TooManyGlobals
            members: dict[str, object] = {"__slots__": (), "module": module, "qualname": name}
            members["noted"] = lambda what: self.find_class(module, f"{name}.{what}")
            if (module, name) == _GETATTR:
                members["__new__"] = self._get
            elif (module, name) in CALLING or (module.startswith(_SYMPY) and name not in _OF_TEXT):
                members["__new__"] = self._make
            found = type("Inert", (Inert,), members)
            self._classes[module, name] = found
        return found

    def _get(self, cls: type[Inert], *args: Any, **_kwargs: Any) -> Inert:
        """What a call of ``getattr`` gives. Of a class and of what is of one it names what is got,
        as ``Class.name``: Python 3.11.0 to 3.11.3 pickle each member of an enum so (enum.py), and
        any Python a method, such as a Triton kernel has (JITFunction in triton/runtime/jit.py). If
        that is called, ``Class.name()`` is named, too.
        """
        owner, name = args if len(args) == 2 else (None, None)
        of = owner if isinstance(owner, type) else type(owner)
        got = of is not owner and hasattr(owner, "called")
        if not got and issubclass(of, Inert) and of.module and isinstance(name, str):
            self._got_of_named = self._got_of_named is not False
            whole = f"{of.qualname}.{name[:MAX_NAME]}"
            self.find_class(of.module, whole)
            found: Inert = of(name)
            found.called = partial(self.find_class, of.module, f"{whole}()")
            return found
        self._got_of_named = False
        return Inert.__new__(cls, *args)

    def _make(self, cls: type[Inert], *args: Any, **_kwargs: Any) -> Inert:
        if cls.module == "builtins" or _has_text(args):
            done = "()" if cls.module == "builtins" else ".sympify"
            self.find_class(cls.module, cls.qualname + done)
        return Inert.__new__(cls, *args)

    def persistent_load(self, pid: Any) -> Inert:
        return Inert(pid)


def _has_text(value: object) -> bool:
    """Whether there is text in it, however deep."""
    waiting, seen = [value], set[int]()
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            return True
        if isinstance(one, (list, tuple, set, frozenset, dict)) and id(one) not in seen:
            seen.add(id(one))
            waiting += [*one, *one.values()] if isinstance(one, dict) else one
    return False


def load(data: bytes) -> Any:
    """The object graph of a pickle, with Inert for every instance. Raises pickle.UnpicklingError,
    EOFError, ValueError and whatever else a bad pickle provokes; callers catch Exception.
    """
    unpickler = _Unpickler(io.BytesIO(data))
    try:
        return unpickler.load()
    finally:
        _last[:] = unpickler.named


#: Names of the pickle that was read last, or as much of it as could be.
_last: list[tuple[str, str]] = []


def last_named() -> list[tuple[str, str]]:
    """What the pickle names that ``load`` read last, or named until it failed; told once."""
    named, _last[:] = list(_last), []
    return named


def each(data: bytes, most: int) -> Iterator[Loaded]:
    """Of bytes that begin with a pickle, what it holds and names, and then that of those that
    follow it at once, ``most`` in all. What is no pickle any more is the end, without an error.
    """
    stream = io.BytesIO(data)
    for _ in range(most):
        start = stream.tell()
        unpickler = _Unpickler(stream)
        obj, whole = None, True
        try:
            obj = unpickler.load()
        except Exception:  # noqa: BLE001 - hostile bytes may provoke any error
            whole = False
        # One that fails before it has named anything may do so here only, for want of memory.
        if whole or unpickler.named or not start:
            yield Loaded(obj, unpickler.named, start, stream.tell() if whole else None)
        if not whole:
            return


class Loaded(NamedTuple):
    """A pickle among others: what it holds, the modules and names in it, where it begins, and where
    the next does; None where it could not be read to its end.
    """

    obj: Any
    named: list[tuple[str, str]]
    start: int
    end: int | None


def class_name(obj: Any) -> str:
    """The class an inert object stands for, or the type's own name."""
    return type(obj).qualname if isinstance(obj, Inert) else type(obj).__name__


def fields(obj: Any) -> Mapping[str, Any]:
    """The attributes an inert object would have had."""
    state = obj.state if isinstance(obj, Inert) else None
    # A state of (dict, slots) is what pickle writes for classes with __slots__.
    parts = state if isinstance(state, tuple) else (state,)
    found: dict[str, object] = {}
    for part in parts:
        if isinstance(part, dict):
            found.update((k, v) for k, v in part.items() if isinstance(k, str))
    return found


def text(value: Any) -> str | None:
    """The value if it is text, else None."""
    return value if isinstance(value, str) else None


def place(file: Any, line: Any) -> str:
    """``file:line``, with ``?`` for what is no text or number: that is not written out."""
    number = line if isinstance(line, int) and abs(line) < 1 << 63 else "?"
    return f"{text(file) or '?'}:{number}"


def seconds(nanoseconds: Any) -> float | None:
    """A duration from nanoseconds, or None for anything but a sane number."""
    is_number = isinstance(nanoseconds, (int, float)) and not isinstance(nanoseconds, bool)
    return float(nanoseconds) / 1e9 if is_number and 0 < nanoseconds < 10**18 else None


def texts(value: Any, limit: int = 1000) -> list[str]:
    """The strings in a list, tuple or set, or in an inert OrderedSet; at most ``limit``."""
    if isinstance(value, Inert):
        inner: Any = value.args[0] if value.args else value.items
        return [] if isinstance(inner, Inert) else texts(inner, limit)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [item for item in list(value)[:limit] if isinstance(item, str)]
    return []
