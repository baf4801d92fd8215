"""What an entry's facts are, and what differs between two entries, in words. All comes from
strangers' entries, and is made printable and short here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from torchkeeper.client.words import say, verdicts
from torchkeeper.client.words.problems import printable
from torchkeeper.client.words.tongue import Nouns, Text, several, tr
from torchkeeper.verdict import tensors

if TYPE_CHECKING:
    from torchkeeper.engine.messages.verdicts import Explained
    from torchkeeper.verdict.probed import ComparisonTold, FactorTold

GROUPS: dict[str, Text] = {
    "torch": "torch",
    "triton": "Triton",
    "gpu": "GPU",
    "configuration": "Configuration",
    "inputs": "Inputs",
    "graph": "Graph",
    "key": "Key of vLLM",
}

#: Causes that a sentence names, inputs and ops that one names, and characters of a value in it.
_CAUSES, _INPUTS, _OPS, _SHORT, _LINE = 3, 3, 4, 60, 120
_INPUT = re.compile(r"example_inputs\[(\d{1,6})\]")
_OPTION = re.compile(r"(?:inductor_config|inductor_config_comms|fx_kwargs)\[(.{1,150})\]")
_PRECISION = re.compile(r"\('?(\w{1,20})'?,")
#: How many graphs an AOTAutograd entry has, where that differs.
_HALVES: tuple[Text, ...] = ("forward and backward", "forward")
#: What fields of inputs are called, where PyTorch has no name for them.
_FIELDS: dict[str, Text] = {"batch": "batch", "value": "value"}
_SYMBOL = re.compile(r"s\d+")
_ON = {"True": True, "False": False, "BoxedBool(value=True)": True, "BoxedBool(value=False)": False}
_NAMES: dict[str, Text] = {
    "gm": "graph",
    "torch_version": "torch's sources",
    "guards_expr": "guards",
    "gradients": "needed gradients",
    "system_info[version][triton]": "Triton's sources",
    "system_info[version][cuda]": "CUDA",
    "system_info[version][hip]": "ROCm",
    "fx_kwargs[is_backward]": "backward",
    "fx_kwargs[is_inference]": "inference",
    "fx_kwargs[static_input_idxs]": "static inputs",
    "triton_version": "Triton",
    "version.triton": "Triton's sources",
    "version.cuda": "CUDA",
    "version.hip": "ROCm",
    "device.name": "GPU",
    "target.backend": "backend",
    "target.arch": "architecture",
    "target.warp_size": "warp size",
}
#: What programs call to change a factor, where its name does not tell.
_SET_BY = {
    "cuda_matmul_settings": "torch.set_float32_matmul_precision",
    "deterministic_algorithms_settings": "torch.use_deterministic_algorithms",
}
_HASHES = (
    "torch_version",
    "system_info[version][triton]",
    "version.triton",
    "custom_backend_codegen_implications[",
    "system_info[hash]",
    "hash",
)


def sentence(found: ComparisonTold, other_key: bool = False) -> str:
    """What makes two entries different, the largest cause first. other_key: so are their keys."""
    rows = differences(found)
    own, other = found.get("recorded", (True, True))
    if not own or not other:
        missing = tr(_NOT_RECORDED[own, other])
        said = "; ".join(_phrases(rows, found)[:_CAUSES])
        return _begun(f"{said}; {missing}" if said else missing)
    if not rows:
        return tr(
            "The factors that are recorded do not differ; others are not recorded"
            if other_key
            else "The factors that are recorded do not differ"
        )
    if all(row["group"] == "key" for row in rows):
        from torchkeeper.client.words import vllmwords  # few comparisons are of such

        return vllmwords.sentence(vllmwords.judged(rows))
    if found.get("device_index"):
        fields = [one for row in rows for one in _fields(row) if one[0] == "device"]
        if not fields:
            return tr("Differs only in the device’s index")
        a, b = fields[0][1:]
        return tr("Differs only in the device’s index: {a} instead of {b}", a=a, b=b)
    causes = [row for row in rows if not row["follows"]] or rows
    phrases = _phrases(causes, found)
    text = "; ".join(phrases[:_CAUSES])
    if (more := len(phrases) - _CAUSES) > 0:
        text = several(more, *_MORE, some=text)
    if found.get("same_graph") and causes[0]["group"] == "inputs":
        text = tr("Same graph; {differences}", differences=text)
    return _begun(text)


def of_both(found: Explained) -> str:
    """The sentence for two entries that an engine has compared."""
    a, b = found["a"], found["b"]
    # What code is called is a path, and no key.
    return sentence(found, b is not None and a["kind"] != "code" and a["key"] != b["key"])


def _begun(text: str) -> str:
    """A sentence with a capital letter, unless it begins with a name that has none."""
    word = text.partition(" ")[0]
    return text if word == "torch" or not word.isalpha() else text[0].upper() + text[1:]


def differences(found: ComparisonTold) -> list[FactorTold]:
    return [row for row in found.get("differences", ()) if row["group"] in GROUPS]


def of_ranks(found: ComparisonTold) -> str:
    """What there is to do about two entries that are for two ranks; empty of others."""
    if not found.get("device_index"):
        return ""
    return tr(
        "Each rank compiles its own and finds no other’s. With {setting}, which torch 2.14 and "
        "later know, one rank compiles for all; it is part of the keys.",
        setting="TORCH_COMPILE_ON_ONE_RANK=1",
    )


_MORE: Nouns = ("{some}; and {n} more difference", "{some}; and {n} more differences")
#: By whether the first's key is recorded, and the second's.
_NOT_RECORDED: dict[tuple[bool, bool], Text] = {
    (True, False): "the factors of the second key are not recorded",
    (False, True): "the factors of the first key are not recorded",
    (False, False): "the factors of both keys are not recorded",
}


def _phrases(rows: Sequence[FactorTold], found: ComparisonTold) -> list[str]:
    """A phrase for each cause; inputs are one, and so is the graph."""
    said: list[str] = []
    inputs = graph = False
    for row in rows:
        if row["group"] == "inputs" and _INPUT.fullmatch(row["factor"]):
            said += [] if inputs else _input_phrases(rows, found)
            inputs = True
        elif row["group"] == "graph" and row["factor"] == "gm":
            said += [] if graph else [_graph_phrase(found)]
            graph = True
        else:
            said.append(phrase(row))
    return said


def phrase(row: FactorTold) -> str:
    """One difference that is neither of the graph nor of an input."""
    name = row["factor"]
    a, b = _values(row)
    if not name.startswith(_HASHES) and verdicts.unreadable(row["a"], row["b"]):
        return tr("{factor} is another", factor=factor(row))
    if row["group"] in ("torch", "triton", "gpu"):
        return tr("{factor} {a} against {b}", factor=_named(name), a=a, b=b)
    option = None if name in _NAMES else _OPTION.fullmatch(name)
    if name == "deterministic_algorithms_settings":
        first = [re.match(r"\((True|False),", str(value)) for value in (row["a"], row["b"])]
        if first[0] and first[1] and first[0][1] != first[1][1]:
            return tr(
                "deterministic algorithms are on ({call})"
                if _ON[first[0][1]]
                else "deterministic algorithms are off ({call})",
                call=f"`{_SET_BY[name]}`",
            )
    if name in _DIRECTIONS:
        on = " and " in a if name == "graphs" else _ON.get(str(row["a"]), False)
        return tr(_DIRECTIONS[name][on])
    if option or row["a"] in _ON:
        called = f"`{printable(option[1] if option else name, 150)}`"
        if row["a"] in _ON and row["b"] in (*_ON, None):
            return tr(_SWITCHED[_ON[row["a"]], row["b"] is not None], option=called)
        return tr("{option} is {a} instead of {b}", option=called, a=a, b=b)
    said = tr("{factor} {a} instead of {b}", factor=_named(name), a=a, b=b)
    return f"{said} (`{_SET_BY[name]}`)" if name in _SET_BY else said


#: Of a switch that is on or off, by that and by whether the other entry records it.
_SWITCHED: dict[tuple[bool, bool], Text] = {
    (True, True): "{option} is on",
    (False, True): "{option} is off",
    (True, False): "{option} is on, not recorded in the other",
    (False, False): "{option} is off, not recorded in the other",
}

#: What is said of what is one of two things: the second, and the first.
_DIRECTIONS: dict[str, tuple[Text, Text]] = {
    "fx_kwargs[is_backward]": (
        "a forward graph instead of a backward one",
        "a backward graph instead of a forward one",
    ),
    "fx_kwargs[is_inference]": (
        "compiled for training instead of inference",
        "compiled for inference instead of training",
    ),
    "graphs": (
        "forward only instead of forward and backward",
        "forward and backward instead of forward only",
    ),
}


def factor(row: FactorTold) -> str:
    """What a factor is called, in a table; which half of an AOTAutograd entry it is of."""
    name = row["factor"]
    option = _OPTION.fullmatch(name)
    called = printable(option[1], 150) if option and name not in _NAMES else _named(name)
    if match := _INPUT.fullmatch(name):
        called = f"inputs[{match[1]}]"
    called = called.removeprefix("the ")
    if row.get("half") == "forward":
        return tr("{factor} (forward)", factor=called)
    return tr("{factor} (backward)", factor=called) if row.get("half") == "backward" else called


def _named(name: str) -> str:
    return tr(_NAMES[name]) if name in _NAMES else printable(verdicts.factor(name), 150)


def group(name: str) -> str:
    return tr(GROUPS[name])


def not_recorded() -> str:
    return tr("not recorded")


def values(row: FactorTold, found: ComparisonTold) -> tuple[str, str]:
    """Both values as a table shows them: of an input what differs in it, of a graph its ops."""
    if told := _fields(row):
        own = ", ".join(f"{_field(name)} {a}" for name, a, _ in told)
        return own, ", ".join(f"{_field(name)} {b}" for name, _, b in told)
    if row["factor"] == "gm" and (graph := found.get("graph")):
        ops = [", ".join(some) for some in (graph["only_a"], graph["only_b"])]
        if not row["follows"] and any(ops):
            return printable(ops[0] or "-", 200), printable(ops[1] or "-", 200)
        below = tr("other lines, below")
        return below, below
    if _INPUT.fullmatch(row["factor"]):
        return tensor(row["a"]), tensor(row["b"])
    return _values(row, 200)


def tensor(value: str | None) -> str:
    """An input on one line: ``float32 8x64 on cpu``."""
    if value is None:
        return "-"
    told = tensors.fields(value)
    if "dtype" not in told:
        return printable(value, 80)
    shape, device = told.get("shape", "?"), told.get("device", "?")
    said = tr("{dtype} {shape} on {device}", dtype=told["dtype"], shape=shape, device=device)
    return printable(said, 120)


def full(row: FactorTold) -> tuple[str, str]:
    """Both values whole, as lines that can be printed."""

    def said(value: str | None) -> str:
        if value is None:
            return not_recorded()
        return "\n".join(printable(x, 400) for x in value.splitlines()[:400])

    return said(row["a"]), said(row["b"])


def _values(row: FactorTold, limit: int = _SHORT) -> tuple[str, str]:
    name, own, other = row["factor"], row["a"], row["b"]
    if name == "cuda_matmul_settings":
        a, b = _PRECISION.match(str(own)), _PRECISION.match(str(other))
        if a and b and a[1] != b[1]:
            return printable(a[1]), printable(b[1])
    return _value(name, own, limit), _value(name, other, limit)


def _value(name: str, value: str | None, limit: int) -> str:
    if value is None:
        return tr("none") if name.startswith("system_info[") else not_recorded()
    if name.startswith(_HASHES):
        value = value[:12]
    if name == "graphs" and value in _HALVES:
        return tr(value)
    if name == "system_info[device]" and value == "None":
        return tr("none")
    return printable(" ".join(value.split()), limit) or tr("none")


def _fields(row: FactorTold) -> list[tuple[str, str, str]]:
    """(name, a, b) of the fields of an input that differ."""
    told = []
    for one in row.get("fields", ()):
        values = one["a"], one["b"]
        a, b = (not_recorded() if x is None else printable(x, _SHORT) for x in values)
        told.append((printable(one["field"], _SHORT).replace("_", " "), a, b))
    return told


def _field(name: str) -> str:
    return tr(_FIELDS[name]) if name in _FIELDS else name


def _input_phrases(rows: Sequence[FactorTold], found: ComparisonTold) -> list[str]:
    """Inputs that differ in the same way are named together."""
    ways: dict[tuple[str, str, str] | None, list[str]] = {}
    for row in rows:
        match = _INPUT.fullmatch(row["factor"])
        if row["group"] != "inputs" or not match:
            continue
        fields = _fields(row)
        name = printable(row.get("called") or f"inputs[{match[1]}]", _SHORT)
        ways.setdefault(fields[0] if fields else None, []).append(name)
    counts, said = found.get("inputs"), list[str]()
    if None in ways and counts and counts[0] != counts[1]:
        del ways[None]
        inputs = say.count(counts[0], "input", "inputs")
        said.append(tr("{inputs} instead of {n}", inputs=inputs, n=counts[1]))
    every = counts[0] if counts and counts[0] == counts[1] else None
    # What most inputs have in common says most.
    for way, names in sorted(ways.items(), key=lambda item: -len(item[1])):
        said.append(_input_phrase(list(dict.fromkeys(names)), every, way))
    return said


_ARE: Nouns = ("{inputs} is {a} instead of {b}", "{inputs} are {a} instead of {b}")
_HAVE: Nouns = (
    "{inputs} has {field} {a} instead of {b}",
    "{inputs} have {field} {a} instead of {b}",
)


def _input_phrase(which: Sequence[str], every: int | None, way: tuple[str, str, str] | None) -> str:
    """How inputs differ: in a field, or in something that is not known."""
    many, subject = len(which), say.together(which, _INPUTS)
    if 1 < many == every:
        subject = tr("all {n} inputs", n=many)
    if way is None:
        return several(many, "{inputs} differs", "{inputs} differ", inputs=subject)
    name, a, b = way
    if _SYMBOL.fullmatch(a) and not _SYMBOL.fullmatch(b):
        a = tr("of any size")
    elif _SYMBOL.fullmatch(b) and not _SYMBOL.fullmatch(a):
        b = tr("any size")
    shown = {"inputs": subject, "field": _field(name), "a": a, "b": b}
    return several(many, *(_ARE if name == "value" else _HAVE), **shown)


def _graph_phrase(found: ComparisonTold) -> str:
    if not (graph := found.get("graph")):
        return tr(_CHANGED_OPS[False, False])
    own, other = graph["only_a"], graph["only_b"]
    ops = _OTHER_OPS if graph["alike"] < 0.5 else _CHANGED_OPS
    said = tr(ops[bool(own), bool(other)], a=_listed(own), b=_listed(other))
    if ops is _OTHER_OPS:
        return said
    if graph["cut"] and not own and not other:
        said = tr("the graph differs, but it is too long to say where")
    elif graph["same_ops"]:
        changed = [f"`{printable(line[2:], _LINE)}`" for line in graph["diff"] if line[:2] == "+ "]
        said = tr(
            "the graph has the same operations with other values, as in {line}"
            if changed
            else "the graph has the same operations with other values",
            line=changed[0] if changed else "",
        )
    lines = _model(graph["model_a"], graph["model_b"])
    return tr("{graph}: {lines}", graph=said, lines=lines) if lines else said


#: What is said of operations, by whether the first has some of its own, and the second.
_OTHER_OPS: dict[tuple[bool, bool], Text] = {
    (True, True): "Another graph: it has {a} where the other has {b}",
    (True, False): "Another graph: it has {a} besides",
    (False, True): "Another graph: it lacks {b}",
    (False, False): "Another graph: it has the same operations in another order",
}
_CHANGED_OPS: dict[tuple[bool, bool], Text] = {
    (True, True): "the graph has {a} where the other has {b}",
    (True, False): "the graph has {a} besides",
    (False, True): "the graph lacks {b}",
    (False, False): "the graph has the same operations in another order",
}


_LINES: Nouns = (
    "{lines} and {n} other line of the model",
    "{lines} and {n} other lines of the model",
)


def _model(a: Sequence[str], b: Sequence[str]) -> str:
    """The lines of the model that differ, the first of each side."""
    own, other = (f"`{printable(some[0], _LINE)}`" if some else "" for some in (a, b))
    more = len(a) + len(b) - bool(a) - bool(b)
    said = tr("with {line}" if own else "without {line}", line=own or other) if own or other else ""
    if own and other:
        said = tr("{a} instead of {b}", a=own, b=other)
    return several(more, *_LINES, lines=said) if more > 0 else said


def _listed(ops: Sequence[str]) -> str:
    return say.together([f"`{printable(op, 40)}`" for op in ops], _OPS)


def graph_lines(found: ComparisonTold) -> list[str]:
    """The lines of the graphs that differ, as what becomes of the first: ``-`` where only that has
    them, ``+`` where only the second has. In the finding it is the other way round.
    """
    graph = found.get("graph")
    told: list[str] = []
    added: list[str] = []
    for sign, lines in groupby(graph["diff"] if graph else (), lambda line: line[:2]):
        if sign == "- ":
            told, added = told + added, ["+ " + line[2:] for line in lines]
        else:
            own = ("- " + line[2:] if sign == "+ " else line for line in lines)
            told, added = [*told, *own, *added], []
    return [printable(line, 300) for line in told + added]


def grouped(rows: Iterable[FactorTold]) -> list[tuple[str, list[FactorTold]]]:
    groups: dict[str, list[FactorTold]] = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    return list(groups.items())


# What is said of facts that are of one kind of entry alone: what they come from is a stranger's, so
# every value is checked, and made printable by whoever shows it.

#: The facts that ``told`` puts into words, by kind; nobody else needs to show them.
WORDED = {
    "aoti_eager": frozenset({"op", "inputs", "library"}),
    "precompile": frozenset(
        {"variants", "graphs", "python", "gpu", "backend", "format", "modules"}
    ),
    "autotune": frozenset({"gpu", "versions", "choices"}),
    "ondisk": frozenset({"prefix", "version"}),
    "jit": frozenset({"backend", "version", "gpu"}),
    "code": frozenset({"hashes"}),
}
#: The same, of any kind.
WORDED_OF_ALL = frozenset({"strange"})
#: Triton's is a hash of its sources.
_VERSIONS: dict[str, Text] = {"triton": "Triton key", "cuda": "CUDA", "hip": "ROCm"}
_VLLM: dict[str, Text] = {
    "model": "Model",
    "folder": "Key",
    "code": "Code hash",
    "compiler": "Compiler hash",
    "config": "Config hash",
}
_GUARDS: Nouns = ("set of guards", "sets of guards")
_TIMINGS: Nouns = ("timing", "timings")


class Fact(NamedTuple):
    """A label, its values, and whether they are code or paths rather than words."""

    label: str
    values: list[str]
    fixed: bool = False


def told(kind: str, facts: Mapping[str, object]) -> list[Fact]:
    """The facts of an entry of one kind, in order; none where nothing is known."""
    make = {
        "aoti_eager": _eager,
        "precompile": _precompiled,
        "autotune": _autotuned,
        "ondisk": _stored,
        "jit": _by_others,
        "code": _vllm,
    }.get(kind)
    # What its pickles name and PyTorch never does (artifacts.named).
    strange = Fact(tr("Strange names"), _texts(facts.get("strange")), fixed=True)
    return [fact for fact in (*(make(facts) if make else ()), strange) if fact.values]


def _eager(facts: Mapping[str, object]) -> list[Fact]:
    library = _text(facts.get("library"))
    there = tr("no") if facts.get("problem") == "library-missing" else tr("yes")
    return [
        Fact(tr("Operator"), _text(facts.get("op")), fixed=True),
        Fact(tr("Inputs"), _texts(facts.get("inputs")), fixed=True),
        Fact(tr("Library"), library, fixed=True),
        Fact(tr("Library exists"), [there] if library else []),
    ]


def _precompiled(facts: Mapping[str, object]) -> list[Fact]:
    return [
        Fact(tr("Variants"), _count(facts.get("variants"), _GUARDS)),
        Fact(tr("Compiled graphs"), _count(facts.get("graphs"))),
        Fact(tr("Backend"), _text(facts.get("backend"))),
        Fact(tr("Format"), _text(facts.get("format")), fixed=True),
        Fact(tr("Needs Python"), _text(facts.get("python"))),
        Fact(tr("Needs GPU"), _text(facts.get("gpu"))),
        Fact(tr("Traced modules"), _texts(facts.get("modules")), fixed=True),
    ]


def _autotuned(facts: Mapping[str, object]) -> list[Fact]:
    versions = facts.get("versions")
    said = versions.items() if isinstance(versions, dict) else ()
    choices = _count(facts.get("choices"), _TIMINGS)
    return [
        Fact(tr("Choices"), choices),
        Fact(tr("System"), _text(facts.get("gpu")) or ([tr("no GPU")] if choices else [])),
        *(
            Fact(tr(_VERSIONS[name]), _text(version), name == "triton")
            for name, version in said
            if name in _VERSIONS
        ),
    ]


def _stored(facts: Mapping[str, object]) -> list[Fact]:
    version, prefix = facts.get("version"), _text(facts.get("prefix"))
    known = isinstance(version, int) and not isinstance(version, bool)
    return [
        Fact(tr("Cache version"), [f"{version:,}"] if known else [tr("unknown")] if prefix else []),
        Fact(tr("Version prefix"), prefix, fixed=True),
    ]


def _by_others(facts: Mapping[str, object]) -> list[Fact]:
    writer = " ".join([*_text(facts.get("backend")), *_text(facts.get("version"))])
    return [
        Fact(tr("Written by"), [writer] if writer else []),
        Fact(tr("GPU"), _text(facts.get("gpu")), fixed=True),
    ]


def _vllm(facts: Mapping[str, object]) -> list[Fact]:
    hashes = facts.get("hashes")
    said = hashes if isinstance(hashes, dict) else {}
    return [Fact(tr(name), _text(said.get(of)), fixed=True) for of, name in _VLLM.items()]


def _text(value: object) -> list[str]:
    return [value] if isinstance(value, str) and value else []


def _texts(value: object) -> list[str]:
    return [x for x in value if isinstance(x, str)] if isinstance(value, list) else []


def _count(value: object, nouns: Nouns | None = None) -> list[str]:
    if not isinstance(value, int) or isinstance(value, bool):
        return []
    return [say.count(value, *nouns) if nouns else f"{value:,}"]
