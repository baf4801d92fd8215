"""The words for what a recipe should have said, by the codes of ``warm.recipes.faults``."""

from __future__ import annotations

from collections.abc import Mapping

from torchkeeper.client.words.tongue import Text, tr

#: What was expected; what was found is said after it. A text that ends with a full stop is about
#: a key, not its value, and says everything.
EXPECTED: dict[str, Text] = {
    # Plain values
    "table": "expected a table",
    "list": "expected a list, [ … ]",
    "not-empty": "expected at least one item",
    "fewer": "expected at most {most} items.",
    "text": "expected a text in quotes, which is not empty",
    "quoted": "expected a text in quotes",
    "shorter": "expected a text of at most {most} characters",
    "printable": "expected a text on one line, without control characters",
    "switch": "expected true or false",
    "true": "expected true",
    "whole": "expected a whole number from {least} to {most}",
    "number": "expected a number",
    "plain": "expected a text, a number, true, false, a list or a table",
    "shallower": "lists and tables lie more than {most} deep in each other.",
    "twice": "the same value is there twice",
    # Keys
    "key": "expected keys without control characters",
    "key-near": "there is no such key; did you mean “{near}”?",
    "key-known": "there is no such key; known are {known}.",
    "needed": "“{key}” is missing, which {source} cannot do without.",
    "parameter": "expected the name of a parameter, such as x",
    "variable": "expected the name of a variable, such as OMP_NUM_THREADS",
    "variable-ours": "Torchkeeper sets this variable itself.",
    # Sources
    "source": "nothing says what to compile: expected one of {known}.",
    "one-source": "a recipe has one kind of source, and there is “{first}” already; "
    "put this into a recipe of its own.",
    "item": "expected a table, or several as an array of tables",
    "called": "expected “example”, “factory” or “function”.",
    "one-called": "expected one of “example”, “factory” and “function”; "
    "there is “{first}” already.",
    "reference": "expected “module:function” or “path/file.py:function”",
    "kernel": "expected “module:kernel” or “path/file.py:kernel”",
    "example-returns": "an example returns its inputs itself; leave them out, or use “factory” or "
    "“function”.",
    "call": "expected a call, such as {{ inputs = [ … ] }}",
    "in-calls": "“calls” says what it is called with; put this into one of them.",
    "args-of-function": "a function is compiled as it is, nothing is handed to it before: put "
    "what it is called with into “inputs” and “keywords”.",
    "pt2": "expected a file that ends with .pt2, as torch.export.save writes it",
    "op": "expected an operator with its namespace, such as “aten::add.Tensor”",
    "signature": "expected a type of Triton, such as “*fp32:16”, “i32” or “fp32”",
    "target": "expected a target such as “cuda:90” or “hip:gfx942”",
    "constant": "expected a number, a text, true or false",
    "constant-or-argument": "this is in the signature, and a constant, too; it can be one of them.",
    "warps": "expected 1, 2, 4, 8, 16 or 32",
    # Inputs
    "input-list": "expected a value or a table; a list of inputs is {{ list = [ … ] }}",
    "input-form": "expected what it is, such as {{ shape = [8, 64] }}",
    "input-shape": "a tensor needs a “shape”.",
    "dtype": "expected a dtype of torch, such as float32",
    "layout": "expected one of {known}",
    "device": "expected a device, such as “cpu” or “cuda:0”",
    "fill": "expected one of {known}",
    "fill-integers": "tensors of {dtype} are filled with zeros, ones or randint",
    "grad-integers": "tensors of {dtype} have no gradient",
    "no-bounds": "only rand and randint have bounds",
    "above-low": "expected more than {low}, which “low” is",
    "size": "expected a whole number, or a size of [matrix] ({known})",
    "no-sizes": "expected a whole number: there are no sizes in [matrix]",
    # Matrix, compile, limits
    "size-name": "expected a name for a size, of letters, digits and _",
    "size-unused": "no shape uses this size.",
    "axis-unused": "this changes nothing here: nothing that is compiled depends on it.",
    "not-an-axis": "this belongs into [compile], or into the “compile” of an item: a matrix has "
    "sizes, dtype, device and mode.",
    "not-for-source": "this has no meaning for {source}.",
    "not-negative": "a shape uses this size: expected no number below 0",
    "huge": "the inputs are too large: together they have more than {most} elements.",
    "fewer-cells": "expected at most {most} combinations",
    "smaller": "written out, the combinations take more than {most} bytes: make the matrix "
    "smaller, or the inputs fewer.",
    "mode": "expected one of {known}",
    "one-of": "expected one of {known}",
    "in-matrix": "this is in [matrix], too; say it in one place.",
    "whole-recipe": "this holds for all of a recipe: say it in its [compile].",
    "mode-and-options": "PyTorch takes a mode or options, not both.",
    "grad-and-backward": "without gradients there is nothing to go backward from.",
    "dynamic-eager": "an eager operator is compiled for the shapes it says, never for any.",
    "option": "expected a text, a number, true or false",
    "seconds": "expected seconds above 0 and up to {most}",
    "memory": "expected bytes, or a text such as “8 GiB”",
}

_SOURCES: dict[str, Text] = {
    "callable": "a callable", "script": "a script", "exported": "an exported program",
    "eager": "an eager operator", "triton": "a kernel of Triton",
}  # fmt: skip


class _Params(dict[str, object]):
    def __missing__(self, key: str) -> str:
        return "?"


def expectation(code: str, found: str, params: Mapping[str, object]) -> str:
    """What was expected and what was found, as the end of a sentence."""
    shown = _Params(params)
    if "source" in shown:
        source = str(shown["source"])
        shown["source"] = tr(_SOURCES[source]) if source in _SOURCES else source
    # One that is not known came over a wire, and is a text like any other.
    said = tr(EXPECTED[code]).format_map(shown) if code in EXPECTED else code
    if EXPECTED.get(code, code).endswith((".", "?")):
        return said
    if found:
        said = tr("{expected}, found {found}", expected=said, found=found)
    if near := params.get("near"):
        return tr("{expected}; did you mean “{near}”?", expected=said, near=near)
    return f"{said}."
