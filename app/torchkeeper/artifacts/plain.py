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
    """The bytes that pickle.dumps makes of it, by this Python's default protocol.

    Raises NotPlain for what cannot be pickled. What can is not always plain: only ``decode`` says.
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
        self._marks: list[int] = []
        self._memo: dict[int, Any] = {}
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
                raise NotPlain("it asks for more than plain values")
            step(self)
        raise NotPlain(f"it has more than {MAX_STEPS} steps")

    # What an opcode's argument is made of.

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if end > len(self._data):
            raise NotPlain("it is cut off")
        taken = self._data[self._at : end]
        self._at = end
        return taken

    def _number(self, size: int) -> int:
        return int.from_bytes(self._take(size), "little")

    def _line(self) -> bytes:
        end = self._data.index(b"\n", self._at)
        line = self._data[self._at : end]
        self._at = end + 1
        return line

    def _marked(self) -> list[Any]:
        """What was pushed since the latest mark, taken off the stack."""
        mark = self._marks.pop()
        items = self.stack[mark:]
        del self.stack[mark:]
        return items

    # Opcodes.

    def op_proto(self) -> None:
        if self._number(1) > 5:
            raise NotPlain("it is of a later protocol")

    def op_frame(self) -> None:
        self._take(8)  # its length, which only helps to read ahead

    def op_mark(self) -> None:
        self._marks.append(len(self.stack))

    def op_pop(self) -> None:
        if self._marks and self._marks[-1] == len(self.stack):
            self._marks.pop()
        else:
            self.stack.pop()

    def op_pop_mark(self) -> None:
        self._marked()

    def op_dup(self) -> None:
        self.stack.append(self.stack[-1])

    def op_int_line(self) -> None:
        line = self._line()
        # Protocol 0 has no opcodes for these two.
        known = {b"00": False, b"01": True}
        self.stack.append(known[line] if line in known else int(line, 0))

    def op_long_line(self) -> None:
        self.stack.append(int(self._line().rstrip(b"L"), 0))

    def op_unsigned(self, size: int) -> None:
        self.stack.append(self._number(size))

    def op_long(self, size: int) -> None:
        taken = self._take(self._number(size))
        self.stack.append(int.from_bytes(taken, "little", signed=True))

    def op_binint(self) -> None:
        self.stack.append(int.from_bytes(self._take(4), "little", signed=True))

    def op_float_line(self) -> None:
        self.stack.append(float(self._line()))

    def op_binfloat(self) -> None:
        self.stack.append(struct.unpack(">d", self._take(8))[0])

    def op_unicode_line(self) -> None:
        self.stack.append(self._line().decode("raw-unicode-escape"))

    def op_text(self, size: int) -> None:
        self.stack.append(self._take(self._number(size)).decode("utf-8", "surrogatepass"))

    def op_bytes(self, size: int) -> None:
        self.stack.append(self._take(self._number(size)))

    def op_list(self) -> None:
        self.stack.append(self._marked())

    def op_append(self) -> None:
        item = self.stack.pop()
        self._list().append(item)

    def op_appends(self) -> None:
        items = self._marked()
        self._list().extend(items)

    def _list(self) -> list[Any]:
        top = self.stack[-1]
        if type(top) is not list:
            raise NotPlain("it is damaged")
        return top

    def op_tuple(self) -> None:
        self.stack.append(tuple(self._marked()))

    def op_short_tuple(self, size: int) -> None:
        items = tuple(self.stack[-size:])
        if len(items) < size:
            raise NotPlain("it is damaged")
        self.stack[-size:] = [items]

    def op_dict(self) -> None:
        items = self._marked()
        self.stack.append({})
        self._set(items)

    def op_setitem(self) -> None:
        items = self.stack[-2:]
        del self.stack[-2:]
        self._set(items)

    def op_setitems(self) -> None:
        self._set(self._marked())

    def _set(self, items: list[Any]) -> None:
        top = self.stack[-1]
        if type(top) is not dict or len(items) % 2:
            raise NotPlain("it is damaged")
        for i in range(0, len(items), 2):
            _check_key(items[i])
            self._check_time(i)
            top[items[i]] = items[i + 1]

    def op_additems(self) -> None:
        items = self._marked()
        top = self.stack[-1]
        if type(top) is not set:
            raise NotPlain("it is damaged")
        self._add(top, items)

    def op_frozenset(self) -> None:
        made: set[Any] = set()
        self._add(made, self._marked())
        self.stack.append(frozenset(made))

    def _add(self, target: set[Any], items: list[Any]) -> None:
        for i, item in enumerate(items):
            _check_key(item)
            self._check_time(i)
            target.add(item)

    def _check_time(self, i: int) -> None:
        if i % 256 == 0 and time.thread_time() > self._until:
            raise NotPlain(f"it takes more than {MAX_SECONDS:g} seconds to read")

    def op_put_line(self) -> None:
        self._memo[int(self._line())] = self.stack[-1]

    def op_put(self, size: int) -> None:
        self._memo[self._number(size)] = self.stack[-1]

    def op_memoize(self) -> None:
        self._memo[len(self._memo)] = self.stack[-1]

    def op_get_line(self) -> None:
        self.stack.append(self._memo[int(self._line())])

    def op_get(self, size: int) -> None:
        self.stack.append(self._memo[self._number(size)])


def _push(make: Callable[[], object]) -> Callable[[_Machine], None]:
    return lambda machine: machine.stack.append(make())


def _sized(step: Callable[[_Machine, int], None], size: int) -> Callable[[_Machine], None]:
    return lambda machine: step(machine, size)


_STOP = pickle.STOP[0]
#: What each opcode does. Those that are not here need a class, a function or something from afar.
_STEPS: dict[int, Callable[[_Machine], None]] = {
    opcode[0]: step
    for opcode, step in (
        (pickle.PROTO, _Machine.op_proto),
        (pickle.FRAME, _Machine.op_frame),
        (pickle.MARK, _Machine.op_mark),
        (pickle.POP, _Machine.op_pop),
        (pickle.POP_MARK, _Machine.op_pop_mark),
        (pickle.DUP, _Machine.op_dup),
        (pickle.NONE, _push(lambda: None)),
        (pickle.NEWTRUE, _push(lambda: True)),
        (pickle.NEWFALSE, _push(lambda: False)),
        (pickle.INT, _Machine.op_int_line),
        (pickle.BININT, _Machine.op_binint),
        (pickle.BININT1, _sized(_Machine.op_unsigned, 1)),
        (pickle.BININT2, _sized(_Machine.op_unsigned, 2)),
        (pickle.LONG, _Machine.op_long_line),
        (pickle.LONG1, _sized(_Machine.op_long, 1)),
        (pickle.LONG4, _sized(_Machine.op_long, 4)),
        (pickle.FLOAT, _Machine.op_float_line),
        (pickle.BINFLOAT, _Machine.op_binfloat),
        (pickle.UNICODE, _Machine.op_unicode_line),
        (pickle.SHORT_BINUNICODE, _sized(_Machine.op_text, 1)),
        (pickle.BINUNICODE, _sized(_Machine.op_text, 4)),
        (pickle.BINUNICODE8, _sized(_Machine.op_text, 8)),
        (pickle.SHORT_BINBYTES, _sized(_Machine.op_bytes, 1)),
        (pickle.BINBYTES, _sized(_Machine.op_bytes, 4)),
        (pickle.BINBYTES8, _sized(_Machine.op_bytes, 8)),
        (pickle.EMPTY_LIST, _push(list)),
        (pickle.LIST, _Machine.op_list),
        (pickle.APPEND, _Machine.op_append),
        (pickle.APPENDS, _Machine.op_appends),
        (pickle.EMPTY_TUPLE, _push(tuple)),
        (pickle.TUPLE, _Machine.op_tuple),
        (pickle.TUPLE1, _sized(_Machine.op_short_tuple, 1)),
        (pickle.TUPLE2, _sized(_Machine.op_short_tuple, 2)),
        (pickle.TUPLE3, _sized(_Machine.op_short_tuple, 3)),
        (pickle.EMPTY_DICT, _push(dict)),
        (pickle.DICT, _Machine.op_dict),
        (pickle.SETITEM, _Machine.op_setitem),
        (pickle.SETITEMS, _Machine.op_setitems),
        (pickle.EMPTY_SET, _push(set)),
        (pickle.ADDITEMS, _Machine.op_additems),
        (pickle.FROZENSET, _Machine.op_frozenset),
        (pickle.PUT, _Machine.op_put_line),
        (pickle.BINPUT, _sized(_Machine.op_put, 1)),
        (pickle.LONG_BINPUT, _sized(_Machine.op_put, 4)),
        (pickle.MEMOIZE, _Machine.op_memoize),
        (pickle.GET, _Machine.op_get_line),
        (pickle.BINGET, _sized(_Machine.op_get, 1)),
        (pickle.LONG_BINGET, _sized(_Machine.op_get, 4)),
    )
}
