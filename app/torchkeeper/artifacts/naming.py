"""What an entry of a graph is called: the function or model first, then shapes and dtype, then
operators. Whatever names one has it from here.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

#: Key factors: the hash, the name and the value of each.
Lines = Sequence[tuple[str, str, str]]

#: A frame of a stack, and what torch/fx/graph.py makes of one in a readable graph.
_FRAME = re.compile(
    r'File:? "?(.{1,400}?)"?(?::|, line )(\d{1,9}) ?,? in ([\w.<>]{1,100})(?:, code: ?|\n)(.{0,200})'
)
#: Functions that say nothing of themselves: their file says more.
NAMELESS = frozenset({"forward", "__call__", "<module>"})
#: Functions that call another one for the user's program, by their names and by what they do.
WRAPPERS = frozenset({"inner", "wrapper", "wrapped_func", "fn", "_fn", "<lambda>"})
_PASSING_ON = re.compile(r"\*args, \*\*kwargs\)")
_TENSOR = re.compile(r"dtype=torch\.(\w{1,20}), shape=torch\.Size\(\[([\w ,+*/()-]{0,80})\]\)")
_DTYPES = (("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c"))
_ARGUMENTS = re.compile(r"def forward\(self, ([\w, ]{1,20000})\)")
#: Different inputs that a name tells, inputs that are looked at, and characters of a name.
_SHOWN, _MOST, _LONGEST = 3, 100, 300


def function(*texts: str) -> tuple[str, str] | None:
    """The user's function that a graph came from, and ``file:line``, from the first stack or
    readable graph that tells; None where none does. A wrapper is taken if there is nothing else.
    """
    spare = None
    for match in itertools.chain.from_iterable(map(_FRAME.finditer, texts)):
        path, line, name, code = match.groups()
        if "/site-packages/torch/" in path:
            continue
        file = re.sub(r"[^\w.<>-]", "", re.split(r"[/\\]", path)[-1])[:60]
        found = name, f"{file}:{line}"
        if name not in WRAPPERS and not _PASSING_ON.search(code):
            return found
        spare = spare or found
    return spare


def called(found: tuple[str, str] | None) -> str:
    """A function as a name says it: with its file, where it has none of its own."""
    if not found:
        return ""
    name, place = found
    file = place.rpartition(":")[0].removesuffix(".py")
    return f"{file}.{name}" if file and name in NAMELESS | WRAPPERS else name


def tensor(dtype: str, sizes: str) -> str:
    """A tensor as PyTorch's graphs say it: ``f32[8, 64]``."""
    for long, short in _DTYPES:
        dtype = dtype.replace(long, short)
    return f"{dtype}[{sizes}]"


def inputs(factors: Lines) -> str:
    """The inputs of a graph, by its key factors: those that are no parameters. Of a backward graph
    what the forward one left, the last first: what comes in may be one number.
    """
    of = {name: value for _, name, value in factors if name.startswith(("gm", "fx_kwargs["))}
    values = [value for _, name, value in factors if name.startswith("example_inputs[")]
    static = set(re.findall(r"\d+", of.get("fx_kwargs[static_input_idxs]", "")))
    chosen = [value for n, value in enumerate(values) if str(n) not in static]
    named = _ARGUMENTS.search(of.get("gm", ""))
    names = named[1].split(", ") if named else []
    if of.get("fx_kwargs[is_backward]", "").strip() == "True" and len(names) == len(values):
        pairs = zip(reversed(names), reversed(values), strict=True)
        chosen = [value for name, value in pairs if not name.startswith("primals_")]
    found = (_TENSOR.search(value[:400]) for value in (chosen or values)[:_MOST])
    groups = itertools.groupby(tensor(match[1], match[2]) for match in found if match)
    counted = [(text, len(list(same))) for text, same in groups]
    said = [text if count == 1 else f"{text} ×{count}" for text, count in counted]
    return ", ".join(said[:_SHOWN] + ["…"] * (len(said) > _SHOWN))


def title(
    found: tuple[str, str] | None, given: str, ops: Sequence[str], direction: str | None
) -> str | None:
    """One line for a graph: ``net.forward(f32[8, 64]), backward: addmm, gelu``."""
    if not (found or given or ops):
        return None
    who = called(found)
    head = f"{who}({given})" if who and given else who or given
    head = ", ".join(filter(None, (head, direction)))
    return ": ".join(filter(None, (head, ", ".join(ops))))[:_LONGEST]


def both(forward: str | None, direction: str | None) -> str | None:
    """The title of what was made of a graph before, by that of the forward one."""
    if not (forward and direction):
        return forward
    head, colon, ops = forward.rpartition(": ")
    return f"{head or ops}, {direction}{colon}{ops if head else ''}"


def part(graph: str | None, name: str) -> str:
    """The name of what belongs to the graph of a title, as a kernel does."""
    return f"{graph.partition(': ')[0]}: {name}" if graph else name
