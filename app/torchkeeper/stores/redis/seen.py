"""Which keys a scan has given already, in 16 to 32 bytes a key."""

from __future__ import annotations

from array import array

#: The fewest places of the table; a power of two.
_LEAST = 1 << 12


class Seen:
    """Keys that were seen, by a 64-bit hash of their own with a seed of this process's.

    A set of a million keys takes 160 MB. That two of a million have the same hash, so that one is
    passed over, happens once in some forty million scans.
    """

    def __init__(self) -> None:
        self._count = 0
        self._make(_LEAST)

    def __len__(self) -> int:
        return self._count

    def expect(self, count: int) -> None:
        """About so many keys will come."""
        places = 1 << (2 * min(count, 1 << 24)).bit_length()
        if not self._count and places > _LEAST:
            self._make(places)

    def _make(self, places: int) -> None:
        self._table = array("q", bytes(8 * places))
        self._mask = places - 1

    def new(self, keys: list[bytes]) -> list[bytes]:
        """Those of some keys that were not seen before, in their order."""
        if (self._count + len(keys)) * 2 > len(self._table):
            self._grow(len(keys))
        table, mask, found = self._table, self._mask, list[bytes]()
        for key in keys:
            value = hash(key) or 1  # 0 is an empty place
            at = value & mask
            while there := table[at]:
                if there == value:
                    break
                at = (at + 1) & mask
            else:
                table[at] = value
                found.append(key)
        self._count += len(found)
        return found

    def _grow(self, more: int) -> None:
        old = self._table
        self._make(1 << (4 * (self._count + more)).bit_length())
        table, mask = self._table, self._mask
        for value in old:
            if value:
                at = value & mask
                while table[at]:
                    at = (at + 1) & mask
                table[at] = value
