"""Which lines of two graphs differ, from the texts that their keys and entries carry."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from torchkeeper.artifacts.graphs import PLUMBING
from torchkeeper.verdict.shapes import GraphDifferenceTold

#: Lines of a graph that are looked at, those that are matched with each other in order, and those
#: that are so without regard to lines that are there very often.
_MAX_LINES = 20_000
_MATCHED = 1500
_MATCHED_ROUGHLY = 6000
#: What is told: ops of either graph, lines of the model, lines of the difference, characters.
_OPS = 8
_MODEL = 6
_DIFF = 60
_LONG = 300

_LINE = re.compile(r"\s*([\w, ]+?)(?:: \"[^\"]*\")? = (.*)")
_CALL = re.compile(r"([A-Za-z_][\w.]*)\(")
_FREED = re.compile(r";  \w+ = .*$")
#: A name that is no part of a longer one, and is neither called nor given a value.
_NAME = re.compile(r"(?<![.\w])[A-Za-z_]\w*(?![\w.(])")
_PARAMETERS = re.compile(r"def \w+\((.*)\)(?: -> .*)?:")
_OVERLOAD = re.compile(r"\.(?:default|Tensor|Scalar|self|int|out|[A-Za-z]+_[A-Za-z_]+)$")
#: What a reader leaves of a text that is too long for its answer (stores/reader_process.py), and
#: characters in which lines of the model are looked for.
_CUT = re.compile(r"\n… [\d,]{1,20} characters more\Z")
_MAX_FULL = 2_000_000
#: What a graph ends with, each value or None.
_RETURN = re.compile(r"return [(\[]([\w, ]{1,20000})[)\]]")
#: Calls that another type of an input adds, or makes needless.
_CASTS = frozenset({"convert_element_type", "_to_copy"})
_MODEL_LINE = re.compile(r"# File: .{1,400}?:\d+ in [\w.<>]{1,200}, code: ?(.{1,300})")


@dataclass(frozen=True)
class GraphDifference:
    """What differs between two graphs.

    only_a, only_b: the ops of differing lines, in order, each once. same_ops: whether the calls
    are the same, in the same order, and only numbers or dtypes in them differ. alike: how much
    of the ops is the same, but for casts, from 0 to 1. moves: whether the ops that only one of both
    has do no more than move or convert values. model_a, model_b: the lines of the model that only
    one of both came from; same_model: whether there are none, or None where that is not recorded.
    diff: the lines that differ, each after "- " for what b has and "+ " for what a has. cut:
    whether one of both is not known to its end, so that only what comes before is compared.
    """

    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    same_ops: bool
    alike: float
    model_a: tuple[str, ...] = ()
    model_b: tuple[str, ...] = ()
    same_model: bool | None = None
    diff: tuple[str, ...] = ()
    moves: bool = False
    cut: bool = False

    def to_json(self) -> GraphDifferenceTold:
        """The difference as a JSON object."""
        return {
            "only_a": list(self.only_a),
            "only_b": list(self.only_b),
            "model_a": list(self.model_a),
            "model_b": list(self.model_b),
            "diff": list(self.diff),
            "same_ops": self.same_ops,
            "alike": self.alike,
            "same_model": self.same_model,
            "cut": self.cut,
        }


def difference(a: str, b: str, full_a: str = "", full_b: str = "") -> GraphDifference:
    """What differs between two graphs: ``a`` and ``b`` as their keys tell them, ``full_a`` and
    ``full_b`` as their entries do, with the lines of the model that each op came from.
    """
    (lines_a, whole_a), (lines_b, whole_b) = _lines(a), _lines(b)
    keys_a, keys_b = _keys(lines_a), _keys(lines_b)
    ops_a, ops_b = [_op(x) for x in lines_a], [_op(x) for x in lines_b]
    # Where nothing but names differs, it is what they are used for.
    blocks = _blocks(keys_a, keys_b) or _blocks(lines_a, lines_b)
    if blocks and not (whole_a and whole_b):
        _, a_end, _, b_end = blocks[-1]
        if (not whole_a and a_end == len(lines_a)) or (not whole_b and b_end == len(lines_b)):
            # What one of them may have behind its cut is not lacking.
            del blocks[-1]
    differ_a = [op for a1, a2, _, _ in blocks for op in ops_a[a1:a2] if op]
    differ_b = [op for _, _, b1, b2 in blocks for op in ops_b[b1:b2] if op]
    calls_a, calls_b = [op for op in ops_a if op], [op for op in ops_b if op]
    more, less = Counter(differ_a) - Counter(differ_b), Counter(differ_b) - Counter(differ_a)
    model_a, model_b = _model(full_a), _model(full_b)
    both = bool(model_a and model_b)
    return GraphDifference(
        only_a=_few((op for op in differ_a if op in more), _OPS),
        only_b=_few((op for op in differ_b if op in less), _OPS),
        same_ops=differ_a == differ_b if not (whole_a and whole_b) else calls_a == calls_b,
        alike=_alike(calls_a, calls_b, whole_a and whole_b),
        model_a=_few(model_a - model_b if both else (), _MODEL),
        model_b=_few(model_b - model_a if both else (), _MODEL),
        same_model=model_a == model_b if both else None,
        diff=tuple(_diff(lines_a, lines_b, blocks)),
        moves=more.keys() | less.keys() <= PLUMBING,
        cut=not (whole_a and whole_b),
    )


def gradients(text: str) -> tuple[int, int] | None:
    """Of how many inputs a backward graph returns gradients, and how many it could; None where its
    end is not known.
    """
    lines, whole = _lines(text)
    match = _RETURN.fullmatch(lines[-1]) if lines and whole else None
    values = [one for part in match[1].split(",") if (one := part.strip())] if match else []
    return (len(values) - values.count("None"), len(values)) if values else None


def _alike(a: Sequence[str], b: Sequence[str], whole: bool) -> float:
    own, other = (Counter(op for op in calls if op not in _CASTS) for calls in (a, b))
    # Of one that is cut, the longer one says nothing.
    total = (max if whole else min)(own.total(), other.total())
    return round((own & other).total() / total, 3) if total else 1.0


def _few(texts: Iterable[str], limit: int) -> tuple[str, ...]:
    return tuple(list(dict.fromkeys(texts))[:limit])


def _lines(text: str) -> tuple[list[str], bool]:
    """The lines of a graph, and whether those are all."""
    found = []
    match = _CUT.search(text)
    lines = text[: match.start() if match else len(text)].split("\n", _MAX_LINES)
    whole = match is None and len(lines) <= _MAX_LINES
    if match:
        lines.pop()  # of which there is more
    for line in lines[:_MAX_LINES]:
        said = _FREED.sub("", line[: 4 * _LONG]).strip()
        if said and not said.startswith(("#", "GraphModule()", "class ")):
            found.append(said)
    return found, whole


def _keys(lines: list[str]) -> list[str]:
    """What makes a line the same as another: the names of values come of what is before them."""
    names: set[str] = set()
    for line in lines:
        given = _PARAMETERS.match(line) or _LINE.fullmatch(line)
        names.update(_NAME.findall(given[1]) if given else ())
    return [_NAME.sub(lambda m: "%" if m[0] in names else m[0], line) for line in lines]


def _op(line: str) -> str | None:
    """The op that a line calls, as people say it; None for what calls none."""
    match = _LINE.fullmatch(line)
    called = _CALL.match(match[2]) if match else None
    if called is None:
        return None
    return _OVERLOAD.sub("", called[1]).rpartition(".")[2] or called[1]


def _model(full: str) -> Counter[str]:
    """The lines of the model in a graph's comments, each once; none where not all are there."""
    if len(full) > _MAX_FULL or _CUT.search(full):
        return Counter()
    return Counter(dict.fromkeys((x.strip() for x in _MODEL_LINE.findall(full)), 1))


def _blocks(a: Sequence[str], b: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Where two lists differ: from and to in a, from and to in b."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    own, other = a[start : len(a) - end], b[start : len(b) - end]
    if not own and not other:
        return []
    longest = max(len(own), len(other))
    if longest > _MATCHED_ROUGHLY:
        # Matching takes the square of that; and who reads so much?
        return [(start, len(a) - end, start, len(b) - end)]
    matched = SequenceMatcher(None, other, own, autojunk=longest > _MATCHED).get_opcodes()
    return [
        (start + a1, start + a2, start + b1, start + b2)
        for tag, b1, b2, a1, a2 in matched
        if tag != "equal"
    ]


def _diff(
    a: Sequence[str], b: Sequence[str], blocks: Sequence[tuple[int, int, int, int]]
) -> list[str]:
    said: list[str] = []
    count = 0
    for a1, a2, b1, b2 in blocks:
        lines = [f"- {x[:_LONG]}" for x in b[b1:b2]] + [f"+ {x[:_LONG]}" for x in a[a1:a2]]
        count += len(lines)
        said += lines[: max(0, _DIFF - len(said))]
    if count > len(said):
        said.append(f"… {count - len(said):,} more")
    return said
