"""Plain values (numbers, text, bytes, tuples, lists, dicts, sets) to and from pickles.

``decode`` is a reader of its own and not Python's unpickler: it has no opcode that names, makes or
calls anything, so a pickle that asks for more than plain values is refused, whatever it asks for.
It is armoured, so that it needs no reader process: no recursion, nothing allocated that the bytes
do not hold, and bounds on size, steps, nesting, keys and time. In exchange it is some ten times as
slow as pickle.loads, which does not matter for values such as these.
"""

from __future__ import annotations

import pickle
import struct
import time
from collections.abc import Callable
from typing import Any

#: The longest pickle that is read or written, in bytes.
MAX_BYTES = 64 << 20
#: How many opcodes a pickle may have; they are read within about a second.
MAX_STEPS = 2_000_000
#: How many parts a value may have when what it holds several times is counted each time.
MAX_PARTS = 1_000_000
#: How deep lists, tuples and dicts may lie in each other. Python's own pickler gets no further.
MAX_DEPTH = 1_000
#: How many parts a key may have: a tuple's hash visits all of them, each time, by recursion.
MAX_KEY_PARTS = 1_000
#: Seconds of this thread's processor time until the last key; what takes longer has keys chosen to
#: collide. Values of as many keys as there may be take half a second.
MAX_SECONDS = 1.5


class NotPlain(ValueError):
    """These bytes are no pickle of a plain value, or this value has none."""


def encode(value: object) -> bytes:
    """The bytes that pickle.dumps makes of it, by this Python's default protocol. Raises NotPlain
    for what cannot be pickled. What can is not always plain: only ``decode`` says.
    """
    try:
        return pickle.dumps(value)
    except Exception as e:  # a value of the caller's, whose methods may raise anything
        raise NotPlain(f"it cannot be pickled: {type(e).__name__}") from e


def decode(data: bytes) -> Any:
    """The value of a pickle of any protocol. What follows its end is ignored, as by pickle.loads.
    Raises NotPlain for everything else, and imports, makes and calls nothing.
    """
    if len(data) > MAX_BYTES:
        raise NotPlain(f"it has more than {MAX_BYTES} bytes")
    try:
        value = _Machine(data).run()
    except NotPlain:
        raise
    except (LookupError, TypeError, ValueError, struct.error, MemoryError) as e:
        raise NotPlain("it is damaged") from e
    _check_shape(value)
    return value


def _check_shape(value: object) -> None:
    """Raises NotPlain for what is too deep, too large when written out, or holds itself."""
    level: list[Any] = [value]
    parts = depth = 0
    while level:
        parts += len(level)
        depth += 1
        if parts > MAX_PARTS:
            raise NotPlain(f"it has more than {MAX_PARTS} parts")
        if depth > MAX_DEPTH:
            raise NotPlain(f"it is more than {MAX_DEPTH} levels deep")
        below: list[Any] = []
        for part in level:
            if isinstance(part, dict):
                below += part.keys()
                below += part.values()
            elif isinstance(part, (tuple, list, set, frozenset)):
                below += part
            if len(below) > MAX_PARTS:
                raise NotPlain(f"it has more than {MAX_PARTS} parts")
        level = below


def _check_key(key: object) -> None:
    """Raises NotPlain for a key whose hash takes long or needs a deep stack."""
    waiting: list[Any] = [key]
    parts = 0
    while waiting:
        part = waiting.pop()
        parts += 1
        if isinstance(part, int):
            parts += part.bit_length() >> 10
        elif isinstance(part, (tuple, frozenset)):
            parts += len(part)
            if parts <= MAX_KEY_PARTS:
                waiting += part
        if parts > MAX_KEY_PARTS:
            raise NotPlain(f"a key has more than {MAX_KEY_PARTS} parts")


class _Machine:
    """The stack machine of Python's pickle, less all that is not plain (Lib/pickletools.py)."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self.stack: list[Any] = []
        #: Where in the stack each open mark is.
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self._until = time.thread_time() + MAX_SECONDS

    def run(self) -> Any:
        steps = _STEPS
        for _ in range(MAX_STEPS):
            opcode = self._data[self._at]
            self._at += 1
            if opcode == _STOP:
                return self.stack.pop()
            step = steps.get(opcode)
            if step is None:
                raise NotPlain("it holds more than plain values")
            step(self)
        raise NotPlain(f"it has more than {MAX_STEPS} steps")

    # What an opcode's argument is made of.

    def take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise NotPlain("it is cut off")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def number(self, size: int, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def counted(self, size: int) -> bytes:
        """So many bytes as a number of ``size`` bytes says."""
        return self.take(self.number(size))

    def text(self, size: int) -> str:
        return self.counted(size).decode("utf-8", "surrogatepass")

    def long(self, size: int) -> int:
        return self.number(self.number(size), signed=True)

    def line(self) -> bytes:
        end = self._data.index(b"\n", self._at)
        line = self._data[self._at : end]
        self._at = end + 1
        return line

    def marked(self) -> list[Any]:
        """What was pushed since the latest mark, taken off the stack."""
        mark = self.marks.pop()
        items = self.stack[mark:]
        del self.stack[mark:]
        return items

    # What opcodes do, where it takes more than a line.

    def proto(self) -> None:
        if self.number(1) > 5:
            raise NotPlain("its pickle protocol is too new")

    def pop(self) -> None:
        if self.marks and self.marks[-1] == len(self.stack):
            self.marks.pop()
        else:
            self.stack.pop()

    def int_line(self) -> None:
        line = self.line()
        # Protocol 0 has no opcodes for these two.
        known = {b"00": False, b"01": True}
        self.stack.append(known[line] if line in known else int(line, 0))

    def extend(self, items: list[Any]) -> None:
        top = self.stack[-1]
        if type(top) is not list:
            raise NotPlain("it is damaged")
        top.extend(items)

    def taken(self, size: int) -> list[Any]:
        """So many values from the top of the stack."""
        items = self.stack[-size:]
        if len(items) < size:
            raise NotPlain("it is damaged")
        del self.stack[-size:]
        return items

    def make_dict(self) -> None:
        items = self.marked()
        self.stack.append({})
        self.set_items(items)

    def set_items(self, items: list[Any]) -> None:
        top = self.stack[-1]
        if type(top) is not dict or len(items) % 2:
            raise NotPlain("it is damaged")
        for i in range(0, len(items), 2):
            _check_key(items[i])
            self._check_time(i)
            top[items[i]] = items[i + 1]

    def add_items(self) -> None:
        items = self.marked()
        top = self.stack[-1]
        if type(top) is not set:
            raise NotPlain("it is damaged")
        self._fill(top, items)

    def make_frozenset(self) -> None:
        made: set[Any] = set()
        self._fill(made, self.marked())
        self.stack.append(frozenset(made))

    def _fill(self, target: set[Any], items: list[Any]) -> None:
        for i, item in enumerate(items):
            _check_key(item)
            self._check_time(i)
            target.add(item)

    def _check_time(self, i: int) -> None:
        if i % 256 == 0 and time.thread_time() > self._until:
            raise NotPlain(f"it takes more than {MAX_SECONDS:g} seconds to read")

    def put(self, at: int) -> None:
        self.memo[at] = self.stack[-1]


_STOP = pickle.STOP[0]
#: What each opcode does. Those that are not here need a class, a function or something from afar.
_STEPS: dict[int, Callable[[_Machine], object]] = {
    pickle.PROTO[0]: _Machine.proto,
    pickle.FRAME[0]: lambda m: m.take(8),  # its length, which only helps to read ahead
    pickle.MARK[0]: lambda m: m.marks.append(len(m.stack)),
    pickle.POP[0]: _Machine.pop,
    pickle.POP_MARK[0]: _Machine.marked,
    pickle.DUP[0]: lambda m: m.stack.append(m.stack[-1]),
    pickle.NONE[0]: lambda m: m.stack.append(None),
    pickle.NEWTRUE[0]: lambda m: m.stack.append(True),
    pickle.NEWFALSE[0]: lambda m: m.stack.append(False),
    pickle.INT[0]: _Machine.int_line,
    pickle.BININT[0]: lambda m: m.stack.append(m.number(4, signed=True)),
    pickle.BININT1[0]: lambda m: m.stack.append(m.number(1)),
    pickle.BININT2[0]: lambda m: m.stack.append(m.number(2)),
    pickle.LONG[0]: lambda m: m.stack.append(int(m.line().rstrip(b"L"), 0)),
    pickle.LONG1[0]: lambda m: m.stack.append(m.long(1)),
    pickle.LONG4[0]: lambda m: m.stack.append(m.long(4)),
    pickle.FLOAT[0]: lambda m: m.stack.append(float(m.line())),
    pickle.BINFLOAT[0]: lambda m: m.stack.append(struct.unpack(">d", m.take(8))[0]),
    pickle.UNICODE[0]: lambda m: m.stack.append(m.line().decode("raw-unicode-escape")),
    pickle.SHORT_BINUNICODE[0]: lambda m: m.stack.append(m.text(1)),
    pickle.BINUNICODE[0]: lambda m: m.stack.append(m.text(4)),
    pickle.BINUNICODE8[0]: lambda m: m.stack.append(m.text(8)),
    pickle.SHORT_BINBYTES[0]: lambda m: m.stack.append(m.counted(1)),
    pickle.BINBYTES[0]: lambda m: m.stack.append(m.counted(4)),
    pickle.BINBYTES8[0]: lambda m: m.stack.append(m.counted(8)),
    pickle.EMPTY_LIST[0]: lambda m: m.stack.append([]),
    pickle.LIST[0]: lambda m: m.stack.append(m.marked()),
    pickle.APPEND[0]: lambda m: m.extend([m.stack.pop()]),
    pickle.APPENDS[0]: lambda m: m.extend(m.marked()),
    pickle.EMPTY_TUPLE[0]: lambda m: m.stack.append(()),
    pickle.TUPLE[0]: lambda m: m.stack.append(tuple(m.marked())),
    pickle.TUPLE1[0]: lambda m: m.stack.append(tuple(m.taken(1))),
    pickle.TUPLE2[0]: lambda m: m.stack.append(tuple(m.taken(2))),
    pickle.TUPLE3[0]: lambda m: m.stack.append(tuple(m.taken(3))),
    pickle.EMPTY_DICT[0]: lambda m: m.stack.append({}),
    pickle.DICT[0]: _Machine.make_dict,
    pickle.SETITEM[0]: lambda m: m.set_items(m.taken(2)),
    pickle.SETITEMS[0]: lambda m: m.set_items(m.marked()),
    pickle.EMPTY_SET[0]: lambda m: m.stack.append(set()),
    pickle.ADDITEMS[0]: _Machine.add_items,
    pickle.FROZENSET[0]: _Machine.make_frozenset,
    pickle.PUT[0]: lambda m: m.put(int(m.line())),
    pickle.BINPUT[0]: lambda m: m.put(m.number(1)),
    pickle.LONG_BINPUT[0]: lambda m: m.put(m.number(4)),
    pickle.MEMOIZE[0]: lambda m: m.put(len(m.memo)),
    pickle.GET[0]: lambda m: m.stack.append(m.memo[int(m.line())]),
    pickle.BINGET[0]: lambda m: m.stack.append(m.memo[m.number(1)]),
    pickle.LONG_BINGET[0]: lambda m: m.stack.append(m.memo[m.number(4)]),
}
