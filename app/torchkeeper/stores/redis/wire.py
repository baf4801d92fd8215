"""What a server may answer: bounds on what comes over the wire, held before hiredis sees it.

A server is a stranger. hiredis keeps a line without an end until memory is full, and makes a list
of as many places as an answer promises. So everything that arrives is looked through first: where
each answer ends, and that it is one that was asked for (RESP2: https://redis.io/docs/latest/develop/
reference/protocol-spec/; of RESP3 nothing is asked for).
"""

from __future__ import annotations

import re

#: Bytes of a line: a simple string, an error, a number, or the head of what follows.
MAX_LINE = 64 << 10
#: Bytes of a text, several times what is ever asked for at once; of a whole answer; and its parts,
#: those of lists in it included.
MAX_TEXT, MAX_ANSWER, MAX_PARTS = 128 << 20, 256 << 20, 1 << 20
#: Lists in lists. No command that is used answers with more than two.
_DEPTH = 4
#: How a text and a list begin, and the most digits that a length may have.
_TEXT, _LIST, _DIGITS = ord("$"), ord("*"), 20
#: Many numbers in a row are what most answers are: of STRLEN, for each key one.
_NUMBERS = re.compile(rb"(?::-?[0-9]{1,20}\r\n)+")


class Unbounded(Exception):
    """An answer is longer than any that was asked for."""


class Malformed(Exception):
    """It is no answer of a Redis."""


class Bounds:
    """Follows what arrives, a piece after the other.

    answers: how many whole ones have arrived. most: bytes of one, fewer where less is asked for.
    """

    def __init__(self) -> None:
        self.answers = 0
        self.most = MAX_ANSWER
        #: What is left of the piece before: the beginning of a line.
        self._rest = b""
        #: Bytes of a text that are still to come, its end included.
        self._skip = 0
        #: Of each list that is open, how many parts are to come.
        self._open: list[int] = []
        self._bytes = self._parts = 0

    @property
    def within(self) -> bool:
        """Whether an answer has begun and not ended."""
        return bool(self._rest or self._skip or self._open)

    def look(self, data: bytes) -> None:
        """See that what arrives keeps to the bounds. Raises Unbounded, Malformed."""
        self._bytes += len(data)
        if self._rest:
            data, self._rest = self._rest + data, b""
        at, size, is_open = 0, len(data), self._open
        while at < size:
            if self._skip:
                step = min(self._skip, size - at)
                at += step
                self._skip -= step
                if not self._skip:
                    self._ended()
            elif not is_open and (numbers := _NUMBERS.match(data, at)):
                self.answers += numbers.group().count(b":")
                at = numbers.end()
            else:
                end = data.find(b"\r\n", at, at + MAX_LINE)
                if end < 0:
                    self._rest = self._begun(data[at:])
                    break
                if data[at] != _TEXT:
                    self._line(data[at], data[at + 1 : end])
                    at = end + 2
                    if is_open:
                        at, is_open[-1] = _texts(data, at, is_open[-1])
                elif (count := _number(data[at + 1 : end], min(MAX_TEXT, self.most))) < 0:
                    self._ended()
                    at = end + 2
                else:
                    self._skip = count + 2
                    at = end + 2
            if not self.within:
                self._bytes = size - at
        if self.within and self._bytes > self.most:
            raise Unbounded

    def _begun(self, line: bytes) -> bytes:
        if len(line) >= MAX_LINE:
            raise Unbounded
        if line[0] not in b"+-:$*":
            raise Malformed
        return line

    def _line(self, kind: int, head: bytes) -> None:
        if kind == _LIST:
            count = _number(head, MAX_PARTS)
            self._parts += max(count, 0)
            if self._parts > MAX_PARTS:
                raise Unbounded
            if count > 0:
                if len(self._open) >= _DEPTH:
                    raise Malformed
                self._open.append(count)
                return
        elif kind not in b"+-:":
            raise Malformed
        self._ended()

    def _ended(self) -> None:
        """One part, or an answer, is whole."""
        while self._open:
            self._open[-1] -= 1
            if self._open[-1]:
                return
            self._open.pop()
        self.answers += 1
        self._parts = 0


def _number(head: bytes, most: int) -> int:
    """How long what follows is; -1 where there is none. Raises Unbounded, Malformed."""
    try:
        count = int(head) if len(head) <= _DIGITS else most + 1
    except ValueError:
        raise Malformed from None
    if count > most:
        raise Unbounded
    if count < -1:
        raise Malformed
    return count


def _texts(data: bytes, at: int, left: int) -> tuple[int, int]:
    """Where the texts of a list that are here whole end, and how many of its parts are left, the
    last one always: a page of keys has a thousand, and there may be millions of keys.
    """
    find, size = data.find, len(data)
    while left > 1 and at < size and data[at] == _TEXT:
        end = find(b"\r\n", at, at + _DIGITS)
        head = data[at + 1 : end]
        if end < 0 or not head.isdigit() or (count := int(head)) > MAX_TEXT:
            break
        after = end + count + 4
        if after > size:
            break
        at, left = after, left - 1
    return at, left
