"""CRC-32 of something whose parts were summed up apart, as ``crc32_combine`` of zlib."""

from __future__ import annotations

_POLYNOMIAL = 0xEDB88320
_ONE = 1 << 31


def _times(a: int, b: int) -> int:
    """The product of two polynomials by that of the CRC; the highest bit is that of x⁰."""
    product = 0
    bit = _ONE
    while bit:
        if a & bit:
            product ^= b
        b = b >> 1 ^ (_POLYNOMIAL if b & 1 else 0)
        bit >>= 1
    return product


def combined(first: int, second: int, length: int) -> int:
    """The CRC of two parts from those of each; ``length``: bytes of the second."""
    # What follows the first part shifts it: by x⁸ for each byte.
    shift, power = _ONE, _ONE >> 8
    while length:
        if length & 1:
            shift = _times(shift, power)
        power = _times(power, power)
        length >>= 1
    return _times(shift, first) ^ second
