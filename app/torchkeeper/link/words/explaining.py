"""What differs between two entries in words, the same in the window and on the command line.

Everything comes from strangers' entries, and is made printable and short here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from torchkeeper.link.words import say, verdicts
from torchkeeper.link.words.problems import printable
from torchkeeper.link.words.tongue import Text, several, tr
from torchkeeper.verdict import tensors

Row = dict[str, Any]

#: What a group of differences is called.
GROUPS: dict[str, Text] = {
    "torch": "torch",
    "triton": "Triton",
    "gpu": "GPU",
    "configuration": "Configuration",
    "inputs": "Inputs",
    "graph": "Graph",
}

#: Causes that a sentence names, inputs and ops that one names, and characters of a value in it.
_CAUSES = 3
_INPUTS = 3
_OPS = 4
_SHORT = 60
_LINE = 120
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


def sentence(found: Row) -> str:
    """What makes two entries different, the largest cause first: ``torch 2.9.1 against 2.13.0``.

    found: the answer to ``explain``, with its rows as ``differences``.
    """
    rows = differences(found)
    if not all(_recorded(found)):
        return _not_recorded(found, rows)
    if not rows:
        return _nothing(found)
    causes = [row for row in rows if not row.get("follows")] or rows
    said = _phrases(causes, found)
    text = "; ".join(said[:_CAUSES])
    if len(said) > _CAUSES:
        text = several(
            len(said) - _CAUSES,
            "{some}; and {n} more difference",
            "{some}; and {n} more differences",
            some=text,
        )
    if found.get("same_graph") is True and causes[0].get("group") == "inputs":
        text = tr("Same graph; {differences}", differences=text)
    return _begun(text)


def _nothing(found: Row) -> str:
    a, b = (side.get("key") if isinstance(side := found.get(x), dict) else None for x in ("a", "b"))
    if a != b:
        return tr(
            "Nothing that is recorded differs; what else their keys were made of is not recorded"
        )
    return tr("Nothing that is recorded differs")


def _begun(text: str) -> str:
    """A sentence with a capital letter, unless it begins with a name that has none."""
    word = text.partition(" ")[0]
    named = word == "torch" or not word.isalpha()
    return text if named else text[0].upper() + text[1:]


def differences(found: Row) -> list[Row]:
    """The differences of an answer, checked."""
    listed = found.get("differences")
    return [
        row
        for row in (listed if isinstance(listed, list) else [])
        if isinstance(row, dict) and row.get("group") in GROUPS
    ]


def _recorded(found: Row) -> tuple[bool, bool]:
    told = found.get("recorded")
    if isinstance(told, (list, tuple)) and len(told) == 2:
        return told[0] is not False, told[1] is not False
    return True, True


def _not_recorded(found: Row, rows: Sequence[Row]) -> str:
    own, other = _recorded(found)
    if own:
        missing = tr("what the key of the second was made of is not recorded")
    elif other:
        missing = tr("what the key of the first was made of is not recorded")
    else:
        missing = tr("what the key of either entry was made of is not recorded")
    said = "; ".join(_phrases(rows, found)[:_CAUSES])
    return _begun(f"{said}; {missing}" if said else missing)


def _phrases(rows: Sequence[Row], found: Row) -> list[str]:
    """A phrase for each cause; inputs are one, and so is the graph."""
    said: list[str] = []
    inputs = graph = False
    for row in rows:
        if row["group"] == "inputs" and _INPUT.fullmatch(str(row.get("factor"))):
            said += [] if inputs else _input_phrases(rows, found)
            inputs = True
        elif row["group"] == "graph" and row.get("factor") == "gm":
            said += [] if graph else [_graph_phrase(found)]
            graph = True
        else:
            said.append(phrase(row))
    return said


def phrase(row: Row) -> str:
    """One difference that is neither of the graph nor of an input."""
    name = str(row.get("factor"))
    a, b = _values(row)
    if not name.startswith(_HASHES) and verdicts.unreadable(row.get("a"), row.get("b")):
        return tr("{factor} is another", factor=factor(row))
    if row.get("group") in ("torch", "triton", "gpu"):
        return tr("{factor} {a} against {b}", factor=_named(name), a=a, b=b)
    option = None if name in _NAMES else _OPTION.fullmatch(name)
    if name == "deterministic_algorithms_settings":
        first = [re.match(r"\((True|False),", str(row.get(side))) for side in ("a", "b")]
        if first[0] and first[1] and first[0][1] != first[1][1]:
            return tr(
                "deterministic algorithms are on ({call})"
                if _ON[first[0][1]]
                else "deterministic algorithms are off ({call})",
                call=f"`{_SET_BY[name]}`",
            )
    if name in ("fx_kwargs[is_backward]", "fx_kwargs[is_inference]", "graphs"):
        return _of_direction(name, row, a)
    if option or row.get("a") in _ON:
        called = f"`{printable(option[1] if option else name, 150)}`"
        if row.get("a") in _ON and row.get("b") in (*_ON, None):
            on, here = _ON[str(row["a"])], row.get("b") is not None
            return tr(_SWITCHED[on, here], option=called)
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


def _of_direction(name: str, row: Row, a: str) -> str:
    on = _ON.get(str(row.get("a")), False)
    if name == "graphs":
        return (
            tr("forward and backward instead of forward only")
            if " and " in a
            else tr("forward only instead of forward and backward")
        )
    if name == "fx_kwargs[is_inference]":
        return (
            tr("compiled for inference instead of training")
            if on
            else tr("compiled for training instead of inference")
        )
    return (
        tr("a backward graph instead of a forward one")
        if on
        else tr("a forward graph instead of a backward one")
    )


def factor(row: Row) -> str:
    """What a factor is called, in a table; which half of an AOTAutograd entry it is of."""
    name = str(row.get("factor"))
    option = _OPTION.fullmatch(name)
    if match := _INPUT.fullmatch(name):
        called = f"inputs[{match[1]}]"
    elif option and name not in _NAMES:
        called = printable(option[1], 150)
    else:
        called = _named(name)
    called = called.removeprefix("the ")
    if row.get("half") == "forward":
        return tr("{factor} (forward)", factor=called)
    return tr("{factor} (backward)", factor=called) if row.get("half") == "backward" else called


def _named(name: str) -> str:
    return tr(_NAMES[name]) if name in _NAMES else printable(verdicts.factor(name), 150)


def group(name: str) -> str:
    """What a group of differences is called."""
    return tr(GROUPS[name])


def not_recorded() -> str:
    """What is said of a value that nobody wrote down."""
    return tr("not recorded")


def values(row: Row, found: Row) -> tuple[str, str]:
    """Both values as a table shows them: of an input what differs in it, of a graph its ops."""
    if told := _fields(row):
        own = ", ".join(f"{_field(name)} {a}" for name, a, _ in told)
        return own, ", ".join(f"{_field(name)} {b}" for name, _, b in told)
    if row.get("factor") == "gm" and isinstance(graph := found.get("graph"), dict):
        ops = [", ".join(_texts(graph.get(name))) for name in ("only_a", "only_b")]
        if not row.get("follows") and any(ops):
            return printable(ops[0] or "-", 200), printable(ops[1] or "-", 200)
        below = tr("other lines, below")
        return below, below
    if _INPUT.fullmatch(str(row.get("factor"))):
        return _tensor(row.get("a")), _tensor(row.get("b"))
    return _values(row, 200)


def _tensor(value: object) -> str:
    """An input on one line: ``float32 8x64 on cpu``."""
    if not isinstance(value, str):
        return "-"
    told = tensors.fields(value)
    if "dtype" not in told:
        return printable(value, 80)
    shape, device = told.get("shape", "?"), told.get("device", "?")
    said = tr("{dtype} {shape} on {device}", dtype=told["dtype"], shape=shape, device=device)
    return printable(said, 120)


def full(row: Row) -> tuple[str, str]:
    """Both values whole, as lines that can be printed."""
    a, b = (
        not_recorded()
        if not isinstance(row.get(name), str)
        else "\n".join(printable(line, 400) for line in str(row[name]).splitlines()[:400])
        for name in ("a", "b")
    )
    return a, b


def _values(row: Row, limit: int = _SHORT) -> tuple[str, str]:
    name = str(row.get("factor"))
    own, other = (row.get(side) for side in ("a", "b"))
    if name == "cuda_matmul_settings":
        precise = [_PRECISION.match(str(value)) for value in (own, other)]
        if precise[0] and precise[1] and precise[0][1] != precise[1][1]:
            return printable(precise[0][1]), printable(precise[1][1])
    return _value(name, own, limit), _value(name, other, limit)


def _value(name: str, value: object, limit: int) -> str:
    if not isinstance(value, str):
        return tr("none") if name.startswith("system_info[") else not_recorded()
    if name.startswith(_HASHES):
        value = value[:12]
    if name == "graphs" and value in _HALVES:
        return tr(value)
    if name == "system_info[device]" and value == "None":
        return tr("none")
    text = printable(" ".join(value.split()), limit)
    return text or tr("none")


def _fields(row: Row) -> list[tuple[str, str, str]]:
    """(name, a, b) of the fields of an input that differ."""
    listed = row.get("fields")
    told = []
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, dict) and isinstance(one.get("field"), str):
            a, b = (
                printable(str(one[name]), _SHORT) if one.get(name) is not None else not_recorded()
                for name in ("a", "b")
            )
            told.append((printable(one["field"], _SHORT).replace("_", " "), a, b))
    return told


def _field(name: str) -> str:
    return tr(_FIELDS[name]) if name in _FIELDS else name


def _input_phrases(rows: Sequence[Row], found: Row) -> list[str]:
    """Inputs that differ in the same way are named together."""
    ways: dict[tuple[str, str, str] | None, list[str]] = {}
    for row in rows:
        match = _INPUT.fullmatch(str(row.get("factor")))
        if row["group"] != "inputs" or not match:
            continue
        fields = _fields(row)
        ways.setdefault(fields[0] if fields else None, []).append(match[1])
    counts = found.get("inputs")
    both = isinstance(counts, list) and len(counts) == 2
    if None in ways and both and isinstance(counts, list) and counts[0] != counts[1]:
        del ways[None]
        inputs = say.count(counts[0], "input", "inputs")
        said = [tr("{inputs} instead of {n}", inputs=inputs, n=counts[1])]
    else:
        said = []
    every = counts[0] if both and isinstance(counts, list) and counts[0] == counts[1] else None
    # What most inputs have in common says most.
    for way, numbers in sorted(ways.items(), key=lambda item: -len(item[1])):
        numbers = list(dict.fromkeys(numbers))
        said.append(_input_phrase(numbers, _subject(numbers, every), way))
    return said


def _input_phrase(numbers: Sequence[str], subject: str, way: tuple[str, str, str] | None) -> str:
    """How inputs differ: in a field, or in something that is not known."""
    many = len(numbers)
    if way is None:
        return several(many, "{inputs} differs", "{inputs} differ", inputs=subject)
    name, a, b = way
    if _SYMBOL.fullmatch(a) and not _SYMBOL.fullmatch(b):
        a = tr("of any size")
    elif _SYMBOL.fullmatch(b) and not _SYMBOL.fullmatch(a):
        b = tr("any size")
    if name == "value":
        return several(
            many,
            "{inputs} is {a} instead of {b}",
            "{inputs} are {a} instead of {b}",
            inputs=subject,
            a=a,
            b=b,
        )
    return several(
        many,
        "{inputs} has {field} {a} instead of {b}",
        "{inputs} have {field} {a} instead of {b}",
        inputs=subject,
        field=_field(name),
        a=a,
        b=b,
    )


def _subject(numbers: Sequence[str], every: object) -> str:
    if len(numbers) > 1 and len(numbers) == every:
        return tr("all {n} inputs", n=len(numbers))
    return say.together([f"inputs[{number}]" for number in numbers], _INPUTS)


def _graph_phrase(found: Row) -> str:
    told = found.get("graph")
    graph = told if isinstance(told, dict) else {}
    own, other = _texts(graph.get("only_a")), _texts(graph.get("only_b"))
    alike = graph.get("alike")
    if isinstance(alike, (int, float)) and alike < 0.5:
        return tr(_OTHER_OPS[bool(own), bool(other)], a=_listed(own), b=_listed(other))
    said = tr(_CHANGED_OPS[bool(own), bool(other)], a=_listed(own), b=_listed(other))
    if graph.get("cut") is True and not own and not other:
        said = tr("the graph is another, and too long to say in what")
    elif graph.get("same_ops") is True:
        changed = [line[2:] for line in _texts(graph.get("diff")) if line.startswith("+ ")]
        said = tr("the graph has the same operations with other values")
        if changed:
            line = f"`{printable(changed[0], _LINE)}`"
            said = tr(
                "the graph has the same operations with other values, as in {line}", line=line
            )
    model_a, model_b = _texts(graph.get("model_a")), _texts(graph.get("model_b"))
    lines = _model(model_a, model_b)
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


def _model(a: Sequence[str], b: Sequence[str]) -> str:
    """The lines of the model that differ, the first of each side."""
    own = f"`{printable(a[0], _LINE)}`" if a else ""
    other = f"`{printable(b[0], _LINE)}`" if b else ""
    more = len(a) + len(b) - bool(a) - bool(b)
    if own and other:
        said = tr("{a} instead of {b}", a=own, b=other)
    elif own:
        said = tr("with {line}", line=own)
    else:
        said = tr("without {line}", line=other) if other else ""
    if more <= 0:
        return said
    return several(
        more,
        "{lines} and {n} other line of the model",
        "{lines} and {n} other lines of the model",
        lines=said,
    )


def _listed(ops: Sequence[str]) -> str:
    return say.together([f"`{printable(op, 40)}`" for op in ops], _OPS)


def _texts(value: object) -> list[str]:
    return [x for x in value if isinstance(x, str)] if isinstance(value, list) else []


def graph_lines(found: Row) -> list[str]:
    """The lines of the graphs that differ: ``+`` of the first, ``-`` of the second."""
    told = found.get("graph")
    return [
        printable(line, 300) for line in _texts(told.get("diff") if isinstance(told, dict) else ())
    ]


def grouped(rows: Iterable[Row]) -> list[tuple[str, list[Row]]]:
    """The differences by group, that with the largest cause first."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    return list(groups.items())
