"""Two entries of one kind: which of what their keys were made of differs, and which is the cause.

A change of a program seldom comes alone: another batch changes the shapes of ten inputs, another
torch knows other settings. What may follow from something else says so, and comes after it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import cast

from torchkeeper.artifacts.fxgraph import PLUMBING
from torchkeeper.verdict import constants, tensors
from torchkeeper.verdict.probed import ComparedTold, ComparisonTold, FactorTold, GraphDifferenceTold

#: Where two lists differ: from and to in a, from and to in b.
_Block = tuple[int, int, int, int]

#: Lines of a graph that are looked at, those that are matched with each other in order, and those
#: that are so without regard to lines that are there very often.
_MAX_LINES, _MATCHED, _MATCHED_ROUGHLY = 20_000, 1500, 6000
#: What is told: ops of either graph, lines of the model, lines of the difference, characters.
_OPS, _MODEL, _DIFF, _LONG = 8, 6, 60, 300

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
    """What differs between two graphs. only_a, only_b: the ops of differing lines, in order, each
    once. same_ops: whether the calls are the same, in the same order, and only numbers or dtypes in
    them differ. alike: how much of the ops is the same, but for casts, from 0 to 1. moves: whether
    the ops that only one of both has do no more than move or convert values. model_a, model_b: the
    lines of the model that only one of both came from; same_model: whether there are none, or None
    where that is not recorded. diff: the lines that differ, each after "- " for what b has and "+ "
    for what a has. cut: one of both is not known to its end: only what comes before is compared.
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
        names = GraphDifferenceTold.__annotations__
        return cast("GraphDifferenceTold", {name: getattr(self, name) for name in names})


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
    model_a, model_b, whole = _model(full_a), _model(full_b), whole_a and whole_b
    both = bool(model_a and model_b)
    return GraphDifference(
        only_a=_few((op for op in differ_a if op in more), _OPS),
        only_b=_few((op for op in differ_b if op in less), _OPS),
        same_ops=calls_a == calls_b if whole else differ_a == differ_b,
        alike=_alike(calls_a, calls_b, whole),
        model_a=_few(model_a - model_b if both else (), _MODEL),
        model_b=_few(model_b - model_a if both else (), _MODEL),
        same_model=model_a == model_b if both else None,
        diff=tuple(_diff(lines_a, lines_b, blocks)),
        moves=more.keys() | less.keys() <= PLUMBING,
        cut=not whole,
    )


def gradients(text: str) -> tuple[int, int] | None:
    """How many gradients a backward graph returns, and how many it could; None if cut."""
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
    return called and (_OVERLOAD.sub("", called[1]).rpartition(".")[2] or called[1])


def _model(full: str) -> Counter[str]:
    """The lines of the model in a graph's comments, each once; none where not all are there."""
    if len(full) > _MAX_FULL or _CUT.search(full):
        return Counter()
    return Counter(dict.fromkeys((x.strip() for x in _MODEL_LINE.findall(full)), 1))


def _blocks(a: Sequence[str], b: Sequence[str]) -> list[_Block]:
    """Where two lists differ."""
    least = min(len(a), len(b))
    start = next((at for at in range(least) if a[at] != b[at]), least)
    least -= start
    end = next((at for at in range(least) if a[-1 - at] != b[-1 - at]), least)
    own, other = a[start : len(a) - end], b[start : len(b) - end]
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


def _diff(a: Sequence[str], b: Sequence[str], blocks: Sequence[_Block]) -> list[str]:
    said: list[str] = []
    count = 0
    for a1, a2, b1, b2 in blocks:
        lines = [f"- {x[:_LONG]}" for x in b[b1:b2]] + [f"+ {x[:_LONG]}" for x in a[a1:a2]]
        count += len(lines)
        said += lines[: max(0, _DIFF - len(said))]
    if count > len(said):
        said.append(f"… {count - len(said):,} more")
    return said


#: The groups of factors, the one that weighs most first.
GROUPS = ("torch", "triton", "gpu", "configuration", "inputs", "graph")
#: How much of two graphs is the same where one is taken for a change of the other.
RELATED = 0.5

Factor = Sequence[str]

_SYSTEM = "system_info["
_DEVICE, _VERSION, _HASH = (f"{_SYSTEM}{name}]" for name in ("device", "version", "hash"))
_OTHERS = f"{_SYSTEM}device_interfaces]"
_INPUT = re.compile(r"example_inputs\[(\d{1,6})\]")
_NUMBERS = re.compile(r"\d+")
_STATIC = "fx_kwargs[static_input_idxs]"
#: Factors that the graph decides beside its own text and inputs.
_BACKWARD, _INFERENCE = "fx_kwargs[is_backward]", "fx_kwargs[is_inference]"
_OF_GRAPH = ("gm", _BACKWARD, _INFERENCE, _STATIC)
_OF_GRAPH_TOO = ("inputs_to_check", "triton_kernel_source_codes", "user_defined_triton_source",
                 "default_cuda_device_index", "fx_kwargs[boxed_forward_device_index]")  # fmt: skip
#: Settings that people change, so that they are told before others.
_KNOWN = ("cpp_runtime_thread_count", "cuda_matmul_settings", "default_dtype", "cache_key_tag",
          "deterministic_algorithms_settings", "inductor_config[max_autotune]",
          "inductor_config[max_autotune_gemm]", "inductor_config[max_autotune_pointwise]",
          "inductor_config[freezing]", "inductor_config[cpp_wrapper]",
          "inductor_config[triton.cudagraphs]")  # fmt: skip
#: Of how many inputs a backward graph has gradients.
_GRADIENTS = "gradients"
#: Factors that repeat a setting, by what they repeat.
_REPEATS = {
    "fx_kwargs[cudagraphs]": "inductor_config[triton.cudagraphs]",
    "fx_kwargs[cpp_wrapper]": "inductor_config[cpp_wrapper]",
    "fx_kwargs[fx_wrapper]": "inductor_config[fx_wrapper]",
    "inductor_config[deterministic]": "deterministic_algorithms_settings",
}


@dataclass(frozen=True)
class Side:
    """What is known of one of two entries. factors: (hash, name, value) of its key factors, of
    AOTAutograd those of its graphs after each other; empty where none are recorded. torch, device:
    of the entry, None where not recorded. graphs: its texts with the lines of the model in
    comments, forward first. guards: on what the payload depends besides its key.
    """

    factors: Sequence[Factor]
    torch: str | None = None
    device: str | None = None
    graphs: tuple[str, ...] = ()
    guards: str | None = None


@dataclass(frozen=True)
class Difference:
    """One factor that differs. a, b: its values, None where one of both has none. half: which of an
    AOTAutograd entry's graphs it is of, "forward" or "backward"; empty where there is but one, or
    it is of both. fields: of an input, what of it differs. follows: whether it is, or may be, no
    more than a consequence of what comes before it.
    """

    group: str
    factor: str
    a: str | None
    b: str | None
    half: str = ""
    fields: tuple[tensors.Field, ...] = ()
    follows: bool = False

    def to_json(self) -> FactorTold:
        told: FactorTold = {
            "group": self.group, "factor": self.factor, "a": self.a, "b": self.b,
            "follows": self.follows,
        }  # fmt: skip
        if self.half:
            told["half"] = self.half
        if self.fields:
            told["fields"] = [{"field": f.name, "a": f.a, "b": f.b} for f in self.fields]
        return told


@dataclass(frozen=True)
class Comparison:
    """What differs between two entries, causes first. recorded: whether either entry tells its key
    factors. same_graph: whether the graphs are the same, None where not recorded. inputs: how many
    either graph has, of AOTAutograd the first that differs. graph: what differs in their texts.
    device_index: whether it is no more than which of a machine's GPUs they are for, as where each
    rank compiles its own.
    """

    differences: tuple[Difference, ...] = ()
    recorded: tuple[bool, bool] = (True, True)
    same_graph: bool | None = None
    inputs: tuple[int, int] = (0, 0)
    graph: GraphDifference | None = None
    device_index: bool = False

    def in_short(self) -> ComparedTold:
        """The comparison as a JSON object, without the differences."""
        return {
            "recorded": self.recorded,
            "same_graph": self.same_graph,
            "inputs": self.inputs,
            "graph": self.graph.to_json() if self.graph else None,
            "device_index": self.device_index,
        }

    def to_json(self) -> ComparisonTold:
        return {**self.in_short(), "differences": [one.to_json() for one in self.differences]}


@dataclass
class _Half:
    """The factors of one graph of either entry, and what was found of it."""

    name: str
    a: Mapping[str, tuple[str, str]]
    b: Mapping[str, tuple[str, str]]
    full: tuple[str, str] = ("", "")
    found: list[Difference] = field(default_factory=list)
    inputs: tuple[int, int] = (0, 0)
    changed: list[tensors.Changed] | None = field(default_factory=list)
    graph: GraphDifference | None = None
    #: Whether what differs in the inputs is one thing, which the graph may have followed.
    one_cause: bool = False

    @property
    def backward(self) -> bool:
        return self.a.get(_BACKWARD, ("", ""))[1] == "True"

    def differing(self) -> Iterator[tuple[str, str | None, str | None]]:
        """The name of each factor that differs, and its values."""
        for name in dict.fromkeys((*self.a, *self.b)):
            (own, a), (other, b) = (side.get(name, ("", None)) for side in (self.a, self.b))
            if own != other:
                yield name, a, b


def halves(factors: Sequence[Factor]) -> list[dict[str, tuple[str, str]]]:
    """``{name: (hash, value)}`` of each graph; one begins where a name comes again."""
    found: list[dict[str, tuple[str, str]]] = []
    for digest, name, value in factors:
        if not found or name in found[-1]:
            found.append({})
        found[-1][name] = digest, value
    return found


def compare(a: Side, b: Side) -> Comparison:
    """What differs between two entries whose keys are made of factors."""
    recorded = bool(a.factors), bool(b.factors)
    if not all(recorded):
        told = (("torch", "torch", a.torch, b.torch), ("gpu", "device", a.device, b.device))
        known = [one for one in told if one[2] and one[3] and one[2] != one[3]]
        return Comparison(tuple(Difference(*one) for one in known), recorded)
    own, other = halves(a.factors), halves(b.factors)
    names = ("forward", "backward") if max(len(own), len(other)) > 1 else ("",)
    pairs = [
        _Half(name, one, two, ((*a.graphs, "", "")[at], (*b.graphs, "", "")[at]))
        for at, (name, one, two) in enumerate(zip(names, own, other))  # noqa: B905
    ]
    shared: dict[str, Difference] = {}
    for half in pairs:
        for one in _settings(half, a, b):
            shared.setdefault(one.factor, one)
        _inputs(half)
        for name, text, other_text in half.differing():
            if of_graph(name):
                half.found.append(Difference("graph", name, text, other_text, half.name))
                if name == "gm" and text and other_text:
                    half.graph = difference(text, other_text, *half.full)
                    half.found += _gradients(half, text, other_text)
    found = [*shared.values(), *(one for half in pairs for one in half.found)]
    if len(own) != len(other):
        missing = "forward and backward", "forward"
        said = missing if len(own) > len(other) else missing[::-1]
        found.append(Difference("graph", "graphs", *said))
    if not found and a.guards != b.guards:
        found.append(Difference("graph", "guards_expr", a.guards, b.guards))
    first = next((half for half in pairs if half.found), pairs[0])
    graphs = next((half.graph for half in pairs if half.graph), None)
    differ = any(name == "gm" for half in pairs for name, *_ in half.differing())
    same = len(own) == len(other) and not differ
    ordered = _ordered(_following(found, pairs), first)
    differing = [told for half in pairs for told in half.differing()]
    indexed = len(own) == len(other) and _is_by_index(differing)
    return Comparison(tuple(ordered), recorded, same, first.inputs, graphs, indexed)


#: A device of several, as graphs and inputs tell it, and factors that have its number alone.
_OF_SEVERAL = re.compile(
    r"(\b(?:cuda|hip|xpu|mtia|npu|hpu|musa|privateuseone):|"
    r"device\(type='(?!cpu')\w{1,30}', index=)\d{1,4}\b"
)
_NUMBERED = ("default_cuda_device_index", "fx_kwargs[boxed_forward_device_index]")


def _is_by_index(differing: Sequence[tuple[str, str | None, str | None]]) -> bool:
    """Whether factors differ in the number of a device, and in nothing else."""
    return bool(differing) and all(
        a is not None
        and b is not None
        and a != b  # of a text that was cut, what differs is not there
        and (
            _OF_SEVERAL.sub(r"\1", a) == _OF_SEVERAL.sub(r"\1", b)
            or (name.startswith(_NUMBERED) and _NUMBERS.sub("", a) == _NUMBERS.sub("", b))
        )
        for name, a, b in differing
    )


def of_graph(name: str) -> bool:
    """Whether a factor is the graph itself, or decided by it alone."""
    return name in _OF_GRAPH or name.startswith(_OF_GRAPH_TOO)


def _settings(half: _Half, a: Side, b: Side) -> list[Difference]:
    """What differs and is not of the graph and its inputs."""
    found = []
    for name, own, other in half.differing():
        if _INPUT.fullmatch(name) or of_graph(name):
            continue
        if name == "torch_version":
            # The text of that line is unreadable; its hash is of torch's sources.
            if a.torch and b.torch and a.torch != b.torch:
                found.append(Difference("torch", "torch", a.torch, b.torch))
            else:
                one, two = (x[name][0][:12] if name in x else None for x in (half.a, half.b))
                found.append(Difference("torch", name, one, two))
        elif name == _VERSION:
            found += _versions(own, other)
        elif name == _OTHERS:
            one, two = (constants.told("device_interfaces", value) for value in (own, other))
            found.append(Difference("gpu", name, one, two))
        elif name == _DEVICE:
            one, two = (constants.versions(x).get("name") or x for x in (own, other))
            found.append(Difference("gpu", name, one, two))
        else:
            group = "gpu" if name.startswith(_SYSTEM) else "configuration"
            found.append(Difference(group, name, own, other))
    return found


def _versions(a: str | None, b: str | None) -> list[Difference]:
    """Triton's sources, and CUDA or ROCm."""
    own, other = constants.versions(a), constants.versions(b)
    found = []
    for name in dict.fromkeys((*own, *other)):
        one, two, group, factor = own.get(name), other.get(name), "gpu", f"{_VERSION}[{name}]"
        if one != two:
            if name == "triton":
                # Its versions, and only where these are the same its sources.
                one, two, versions = constants.tritons(one, two)
                group, factor = "triton", "triton_version" if versions else factor
            found.append(Difference(group, factor, one, two))
    return found or [Difference("gpu", _VERSION, a, b)]


def _inputs(half: _Half) -> None:
    own, other = _listed(half.a), _listed(half.b)
    half.inputs = len(own), len(other)
    static = {int(n) for n in _NUMBERS.findall(half.a.get(_STATIC, ("", ""))[1][:20_000])}
    if _STATIC in half.b and len(own) != len(other):
        static &= {int(n) for n in _NUMBERS.findall(half.b[_STATIC][1][:20_000])}
    half.changed = tensors.compare(own, other, frozenset(static))
    if half.changed is None:
        for at, (one, two) in enumerate(zip_longest(own, other)):
            if one != two:
                # Which is which of the other is not known.
                told = Difference("inputs", f"example_inputs[{at}]", one, two, half.name)
                half.found.append(told)
        return
    half.one_cause = tensors.one_cause(half.changed)
    for changed in half.changed:
        one, two = own[changed.at_a], other[changed.at_b]
        name = f"example_inputs[{changed.at_a}]"
        half.found.append(Difference("inputs", name, one, two, half.name, changed.fields))
    if len(own) != len(other):
        # One of both has sizes that are not fixed; the shapes tell.
        half.one_cause = half.one_cause or bool(half.changed)
        if not half.changed:
            counts = str(len(own)), str(len(other))
            half.found.append(Difference("inputs", "inputs", *counts, half.name))


def _listed(factors: Mapping[str, tuple[str, str]]) -> list[str]:
    """The inputs in order."""
    found = {
        int(match[1]): value
        for name, (_, value) in factors.items()
        if (match := _INPUT.fullmatch(name))
    }
    return [found[at] for at in sorted(found)]


def _gradients(half: _Half, own: str, other: str) -> list[Difference]:
    """Of a backward graph of the same model: of how many inputs a gradient is asked for."""
    graph = half.graph
    if graph is None or graph.alike < RELATED or graph.same_model is False or not half.backward:
        return []
    a, b = gradients(own), gradients(other)
    if a is None or b is None or a[0] == b[0] or a[1] != b[1]:
        return []
    return [Difference("inputs", _GRADIENTS, str(a[0]), str(b[0]), half.name)]


def _following(found: list[Difference], pairs: Sequence[_Half]) -> list[Difference]:
    """The differences, each with whether it may follow from another."""
    names = {one.factor for one in found}
    torch = any(one.group == "torch" for one in found)
    first = next((half.name for half in pairs if half.found), "")
    by_name = {half.name: half for half in pairs}
    told = []
    for one in found:
        half = by_name.get(one.half)
        follows = _REPEATS.get(one.factor) in names
        if one.factor == "graphs":
            # A graph for inference has no backward one.
            follows = _INFERENCE in names
        if one.factor == _HASH:
            parts = {_DEVICE, _VERSION, _OTHERS, "triton_version"} & names
            follows = bool(parts) or any(name.startswith(f"{_VERSION}[") for name in names)
        elif one.group == "configuration":
            # Another torch knows other settings.
            follows = follows or (torch and (one.a is None or one.b is None))
        elif one.factor == _GRADIENTS:
            # Whether an input needs one is nothing that graphs decide.
            follows = False
        elif one.group == "graph" and one.factor == "gm" and _GRADIENTS in names:
            follows = half is None or half.graph is None or half.graph.same_model is not False
        elif one.group in ("inputs", "graph") and one.factor != "graphs":
            # What forward hands to backward is of its own making.
            follows = (half is not None and half.name != first) or _beside(one, half, torch)
        told.append(replace(one, follows=follows))
    return told


def _beside(one: Difference, half: _Half | None, torch: bool) -> bool:
    """Whether an input or a graph differs because of the graph, the inputs or torch."""
    if half is None:
        return False
    names = {x.factor for x in half.found}
    if one.factor == _BACKWARD or (one.factor == _INFERENCE and _BACKWARD not in names):
        return False
    if _BACKWARD in names:
        return True
    inputs = any(x.group == "inputs" for x in half.found)
    graph = half.graph
    if one.group == "inputs":
        if graph is None or graph.same_ops or _explains(half):
            return False
        # Another graph takes what it needs: more inputs or fewer, or what forward hands it. As many
        # of a graph that is much the same were given to it: nothing in it decides their dtype.
        return half.backward or half.changed is None or graph.alike < RELATED
    if one.factor != "gm":
        return graph is not None or inputs or _INFERENCE in names
    if graph is None:
        return False
    if (graph.model_a or graph.model_b) and not (inputs and _explains(half)):
        # Lines of the model that differ are what was changed.
        return False
    if torch or _INFERENCE in names:
        return graph.alike >= RELATED
    return inputs and (graph.same_ops or _explains(half))


def _explains(half: _Half) -> bool:
    """Whether the inputs differ in what also makes another graph of the same program: in one
    thing, or in anything where the program is known to be the same, or to have no more than casts
    and moves besides. A line of the model that makes nothing else leaves no trace where it has
    nothing to do. What a backward graph takes is made by the forward one, and tells nothing of it.
    """
    graph = half.graph
    if graph is None or graph.alike < RELATED or half.changed is None:
        return False
    same = graph.same_model is True or (graph.moves and not graph.same_ops)
    if graph.same_model is False and not same:
        return False
    return half.one_cause or (same and not half.backward)


def _ordered(found: list[Difference], first: _Half) -> list[Difference]:
    graph = first.graph
    names = {one.factor for one in found}
    # Graphs that have nothing to do with each other: that is what there is to say.
    foreign = _BACKWARD in names or (graph is not None and graph.alike < RELATED)
    ranks: dict[str, float] = {name: rank for rank, name in enumerate(GROUPS)}
    if foreign:
        ranks["graph"] = -1
    elif _INFERENCE in names or (graph is not None and not graph.same_ops):
        ranks["graph"] = ranks["inputs"] - 0.5
    order = {_BACKWARD: 0, _INFERENCE: 1, "gm": 2}
    numbers = {name: at for at, name in enumerate(_KNOWN)}

    def rank(one: Difference) -> tuple[bool, float, bool, int, int, bool, int, str]:
        match = _INPUT.fullmatch(one.factor)
        known = numbers.get(one.factor, len(numbers))
        # A tangent says more than a weight; numbers come in their order.
        at = int(match[1]) if match else 0
        batch = not any(field.name == "batch" for field in one.fields)
        return (one.follows, ranks[one.group], one.half == "backward", order.get(one.factor, 3),
                known, batch, at, one.factor)  # fmt: skip

    return sorted(found, key=rank)
