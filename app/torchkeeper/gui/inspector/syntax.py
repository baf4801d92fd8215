"""Colours for generated sources: what each part of a line of Python or C++ is.

Written for speed, not for every corner of the two languages: a line is read once from left to
right, and all that a line needs to know of those before it is a ``State``.
"""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass

#: What a part of a line can be; the themes have a colour for each (Shades.syntax).
PARTS = ("comment", "string", "number", "keyword", "name", "special")

#: Start, length and one of PARTS; counted in UTF-16, as Qt does.
Token = tuple[int, int, str]

PYTHON, CPP, PLAIN = "python", "cpp", ""


@dataclass(frozen=True)
class State:
    """What is open at the end of a line.

    until: what ends it, three quotes or ``*/``.
    inside: the language of a source kept in a string, as PyTorch's modules keep their kernels.
    inner: what is open within that source.
    """

    until: str = ""
    inside: str = ""
    inner: str = ""


NOTHING = State()

_PY_WORDS = frozenset({*keyword.kwlist, "true", "false", "null"})
_CPP_TEXT = """
alignas alignof auto bool break case catch char class const constexpr continue decltype default
delete do double else enum explicit extern false float for friend goto if inline int long mutable
namespace new noexcept nullptr operator private protected public return short signed sizeof static
static_assert static_cast reinterpret_cast const_cast struct switch template this throw true try
typedef typename union unsigned using virtual void volatile while size_t int8_t int16_t int32_t
int64_t uint8_t uint16_t uint32_t uint64_t
"""
_CPP_WORDS = frozenset(_CPP_TEXT.split())
_NUMBER = r"(?P<number>(?<![\w.])(?:0[xXbB][\da-fA-F_]+|\d[\d_]*\.?\d*(?:[eE][+-]?\d+)?)\w{0,3})"
_PYTHON = re.compile(
    r"(?P<comment>#.*)"
    r"|(?P<open>[rRbBuUfF]{0,2}(?P<quotes>'''|\"\"\"))"
    r"|(?P<string>[rRbBuUfF]{0,2}(?:'(?:\\.|[^'\\])*'?|\"(?:\\.|[^\"\\])*\"?))"
    rf"|{_NUMBER}"
    r"|(?P<special>@[A-Za-z_][\w.]*)"
    r"|(?P<word>[^\W\d]\w*)(?P<call>\()?"
)
_CPP = re.compile(
    r"(?P<comment>//.*)"
    r"|(?P<open>(?P<quotes>/\*))"
    r"|(?P<string>\"(?:\\.|[^\"\\])*\"?|'(?:\\[^']{1,8}|[^'\\])')"
    rf"|{_NUMBER}"
    r"|(?P<special>^\s*#\s*\w+(?:\s*<[^>]*>)?)"
    r"|(?P<word>[^\W\d]\w*)(?P<call>\()?"
)
#: A kernel's source follows as a string; of a C++ kernel, or of a Triton one.
_KERNEL = re.compile(r"async_compile\.(cpp|triton)")


def language_of(name: str) -> str:
    """The language of a text by its name."""
    ending = name.rpartition(".")[2].lower()
    return CPP if ending in ("cpp", "h", "hpp", "cu", "cuh", "metal", "cc", "c") else PYTHON


def tokens(line: str, state: State, language: str) -> tuple[list[Token], State]:
    """The parts of a line that have a colour, and what is open after it."""
    found: list[Token] = []
    if language == PLAIN:
        return found, NOTHING
    at = 0
    if state.inside:
        end = line.find(state.until)
        inner = _scan(line[:end] if end >= 0 else line, 0, state.inside, state.inner, found)
        if end < 0:
            after = State(state.until, state.inside, inner.until)
            return _in_utf16(line, found), after
        at = end + len(state.until)
        found.append((end, len(state.until), "string"))
        state = NOTHING
    after = _scan(line, at, language, state.until, found)
    return _in_utf16(line, found), after


def _scan(line: str, at: int, language: str, until: str, found: list[Token]) -> State:
    if until:
        end = line.find(until, at)
        stop = end + len(until) if end >= 0 else len(line)
        found.append((at, stop - at, "comment" if until == "*/" else "string"))
        if end < 0:
            return State(until)
        at = stop
    pattern, words = (_CPP, _CPP_WORDS) if language == CPP else (_PYTHON, _PY_WORDS)
    while match := pattern.search(line, at):
        at = match.end()
        part = match.lastgroup or ""
        if match["open"]:
            quotes = "*/" if match["quotes"] == "/*" else match["quotes"]
            part = "comment" if quotes == "*/" else "string"
            end = line.find(quotes, at)
            kernel = _KERNEL.search(line, 0, match.start()) if end < 0 else None
            if end < 0 and not kernel:
                found.append((match.start(), len(line) - match.start(), part))
                return State(quotes)
            if kernel:
                found.append((match.start(), at - match.start(), part))
                inside = CPP if kernel[1] == "cpp" else PYTHON
                inner = _scan(line, at, inside, "", found)
                return State(quotes, inside, inner.until)
            at = end + len(quotes)
            found.append((match.start(), at - match.start(), part))
        elif word := match["word"]:
            if word in words:
                found.append((match.start(), len(word), "keyword"))
            elif match["call"]:
                found.append((match.start(), len(word), "name"))
        else:
            found.append((match.start(), at - match.start(), part))
    return NOTHING


def _in_utf16(line: str, found: list[Token]) -> list[Token]:
    if not found or line.isascii() or max(line) <= "\uffff":
        return found
    places = [0]
    for c in line:
        places.append(places[-1] + (2 if c > "\uffff" else 1))
    return [
        (places[start], places[start + length] - places[start], part)
        for start, length, part in found
    ]
