"""Recipes: every fault is told with its path, and nothing wrong becomes a variant."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchkeeper.artifacts.entry import Problem
from torchkeeper.warm.following import fitting
from torchkeeper.warm.recipes import faults as looking
from torchkeeper.warm.recipes.recipe import (
    MOST_VARIANTS,
    Variant,
    bytes_of,
    checked,
    faults,
    of_request,
    variants_of,
)

CALLABLE = '[callable]\nfunction = "m:f"\n'
EAGER = '[eager]\nop = "aten::add.Tensor"\ninputs = [1]\n'
TRITON = '[triton]\nkernel = "k:add"\nsignature = { x = "*fp32:16" }\n'


def found(text: str) -> list[tuple[str, str]]:
    return [(looking.said(one.where), one.expected) for one in faults(tomllib.loads(text))]


def variants(text: str, **given: Any) -> list[Variant]:
    return variants_of([checked(tomllib.loads(text), "mine", "/models")], **given)


@pytest.mark.parametrize(
    ("text", "where", "expected"),
    [
        ("", "", "source"),
        ('name = ""\n' + CALLABLE, "name", "text"),
        ("callable = 1", "callable", "item"),
        ("callable = []", "callable", "not-empty"),
        ("callable = [1]", "callable[0]", "table"),
        ("[callable]", "callable", "called"),
        ('[calable]\nfunction = "m:f"\n' + CALLABLE, "calable", "key-near"),
        (CALLABLE + EAGER, "eager", "one-source"),
        (CALLABLE + "[whatever]", "whatever", "key-known"),
        (CALLABLE + 'factory = "m:F"', "callable.function", "one-called"),
        ('[callable]\nfunction = "m.f"', "callable.function", "reference"),
        ('[callable]\nfunction = "m:f:g h"', "callable.function", "reference"),
        ('[callable]\nexample = "m:f"\ninputs = [1]', "callable.inputs", "example-returns"),
        (CALLABLE + "args = { a = 1 }", "callable.args", "args-of-function"),
        ('[callable]\nfactory = "m:f"\nargs = { "a b" = 1 }', 'callable.args."a b"', "parameter"),
        ('[callable]\nfactory = "m:f"\nargs = { a = 1979-05-27 }', "callable.args.a", "plain"),
        (CALLABLE + "[compile]\ngrad = 1", "compile.grad", "switch"),
        (CALLABLE + "[compile]\ngrad=false\nbackward=true", "compile.grad", "grad-and-backward"),
        (CALLABLE + "inputs = [[1]]", "callable.inputs[0]", "input-list"),
        (CALLABLE + "inputs = [{}]", "callable.inputs[0]", "input-form"),
        (CALLABLE + "inputs = [{ shape = 3 }]", "callable.inputs[0].shape", "list"),
        (CALLABLE + "inputs = [{ shpe = [3] }]", "callable.inputs[0].shpe", "key-near"),
        (CALLABLE + "inputs = [{ shape = [-3] }]", "callable.inputs[0].shape[0]", "whole"),
        (CALLABLE + "inputs = [{ shape = [true] }]", "callable.inputs[0].shape[0]", "whole"),
        (CALLABLE + 'inputs = [{ shape = ["b"] }]', "callable.inputs[0].shape[0]", "no-sizes"),
        (CALLABLE + "inputs = [{ shape = [99999, 99999, 99999] }]", "callable", "huge"),
        (CALLABLE + 'inputs = [{ list = [{ dtype = "float31" }] }]',
         "callable.inputs[0].list[0].dtype", "dtype"),
        (CALLABLE + 'inputs = [{ dtype = "int64", device = "cpu" }]',
         "callable.inputs[0].shape", "input-shape"),
        (CALLABLE + 'inputs = [{ shape = [1], dtype = "int64", fill = "randn" }]',
         "callable.inputs[0].fill", "fill-integers"),
        (CALLABLE + 'inputs = [{ shape = [1], fill = "ones", low = 1 }]',
         "callable.inputs[0].low", "no-bounds"),
        (CALLABLE + "inputs = [{ shape = [1], low = 4, high = 4 }]",
         "callable.inputs[0].high", "above-low"),
        (CALLABLE + "inputs = [{ none = false }]", "callable.inputs[0].none", "true"),
        (CALLABLE + 'keywords = { x = { layout = "dense" } }',
         "callable.keywords.x.layout", "layout"),
        (CALLABLE + "[matrix]\nbatch = []", "matrix.batch", "not-empty"),
        (CALLABLE + "[matrix]\nbatch = 8", "matrix.batch", "list"),
        (CALLABLE + "[matrix]\nbatch = [8]", "matrix.batch", "size-unused"),
        (CALLABLE + "[matrix]\n9b = [8]", "matrix.9b", "size-name"),
        (CALLABLE + 'inputs = [{ shape = ["b"] }]\n[matrix]\nb = [8, 8]', "matrix.b[1]", "twice"),
        (CALLABLE + 'inputs = [{ shape = ["b"] }]\n[matrix]\nb = [-1]', "matrix.b", "not-negative"),
        (CALLABLE + 'inputs = [{ shape = ["c"] }]\n[matrix]\nb = [1]',
         "callable.inputs[0].shape[0]", "size"),
        (CALLABLE + '[matrix]\ndtype = ["float31"]', "matrix.dtype[0]", "dtype"),
        (CALLABLE + '[matrix]\ndtype = ["float32"]', "matrix.dtype", "axis-unused"),
        (CALLABLE + '[matrix]\ntargets = ["cuda:90"]', "matrix.targets", "not-for-source"),
        (CALLABLE + '[matrix]\nmode = ["fast"]', "matrix.mode[0]", "mode"),
        (CALLABLE + '[matrix]\ndevice = ["GPU 0"]', "matrix.device[0]", "device"),
        (CALLABLE + "[compile]\nfulgraph = true", "compile.fulgraph", "key-near"),
        (CALLABLE + '[compile]\ndynamic = "yes"', "compile.dynamic", "switch"),
        (CALLABLE + "[compile]\nthreads = 0", "compile.threads", "whole"),
        (CALLABLE + '[compile]\nmode = "default"\n[matrix]\nmode = ["default"]',
         "compile.mode", "in-matrix"),
        (CALLABLE + '[compile]\nmode = "max-autotune"\noptions = { debug = true }',
         "compile.options", "mode-and-options"),
        (CALLABLE + "[compile]\noptions = { debug = [1] }", "compile.options.debug", "option"),
        (CALLABLE + '[compile]\nprecision = "low"', "compile.precision", "one-of"),
        (CALLABLE + 'compile.autocast = "int8"', "callable.compile.autocast", "one-of"),
        (EAGER + '[compile]\nautocast = "bfloat16"', "compile.autocast", "not-for-source"),
        (CALLABLE + "compile = 1", "callable.compile", "table"),
        (CALLABLE + 'compile = { mod = "default" }', "callable.compile.mod", "key-near"),
        (CALLABLE + 'compile = { mode = "fast" }', "callable.compile.mode", "mode"),
        (CALLABLE + "compile = { threads = 2 }", "callable.compile.threads", "whole-recipe"),
        (CALLABLE + "compile.portable = true", "callable.compile.portable", "whole-recipe"),
        (CALLABLE + 'compile = { mode = "default" }\n[matrix]\nmode = ["max-autotune"]',
         "callable.compile.mode", "in-matrix"),
        (CALLABLE + "compile = { options = { debug = true } }\n"
         '[matrix]\nmode = ["max-autotune"]', "callable.compile.options", "mode-and-options"),
        (CALLABLE + "compile = { options = { debug = true } }\n"
         '[compile]\nmode = "max-autotune"', "callable.compile.options", "mode-and-options"),
        (CALLABLE + 'compile = { mode = "max-autotune" }\n'
         "[compile]\noptions = { debug = true }", "callable.compile.mode", "mode-and-options"),
        (CALLABLE + "compile = { backward = true }\n[compile]\ngrad = false",
         "callable.compile.backward", "grad-and-backward"),
        (CALLABLE + "compile = { options.a.b = [1] }", "callable.compile.options.a.b", "option"),
        (EAGER + 'compile = { dtype = "float32" }', "eager.compile", "key-known"),
        (CALLABLE + "calls = []", "callable.calls", "not-empty"),
        (CALLABLE + "calls = 1", "callable.calls", "list"),
        (CALLABLE + "calls = [[1]]", "callable.calls[0]", "call"),
        (CALLABLE + f"calls = [{'{},' * 101}]", "callable.calls", "fewer"),
        (CALLABLE + "calls = [{ input = [1] }]", "callable.calls[0].input", "key-near"),
        (CALLABLE + "calls = [{}]\ninputs = [1]", "callable.inputs", "in-calls"),
        (CALLABLE + "calls = [{}]\nkeywords = {}", "callable.keywords", "in-calls"),
        ('[callable]\nexample = "m:f"\ncalls = [{}]', "callable.calls", "example-returns"),
        (CALLABLE + 'calls = [{}, { inputs = [{ shape = ["b"] }] }]',
         "callable.calls[1].inputs[0].shape[0]", "no-sizes"),
        (CALLABLE + 'calls = [{ keywords = { "a b" = 1 } }]',
         'callable.calls[0].keywords."a b"', "parameter"),
        (CALLABLE + 'calls = [{ autocast = "int8" }]', "callable.calls[0].autocast", "one-of"),
        (CALLABLE + "calls = [{ grad = 0 }]", "callable.calls[0].grad", "switch"),
        (CALLABLE + "calls = [{}, { grad = false }]\n[compile]\nbackward = true",
         "callable.calls[1].grad", "grad-and-backward"),
        (CALLABLE + "calls = [{ backward = true }]\ncompile = { grad = false }",
         "callable.calls[0].backward", "grad-and-backward"),
        (CALLABLE + "calls = [" + "{ inputs = [{ shape = [99999, 99999] }] }," * 7 + "]",
         "callable", "huge"),
        ('[exported]\nfile = "a.pt2"\ncompile = { training = true }',
         "exported.compile.training", "not-for-source"),
        ('[exported]\nfile = "a.pt2"\ncalls = [{ training = true }]',
         "exported.calls[0].training", "key-known"),
        (CALLABLE + "calls = [{ args = {} }]", "callable.calls[0].args", "args-of-function"),
        ('[callable]\nfactory = "m:f"\ncalls = [{ args = { "a b" = 1 } }]',
         'callable.calls[0].args."a b"', "parameter"),
        (EAGER.replace("inputs", "calls"), "eager.calls", "key-known"),
        (CALLABLE + "[environment]\nA = 1", "environment.A", "quoted"),
        (CALLABLE + '[environment]\n"A-B" = "1"', "environment.A-B", "variable"),
        (CALLABLE + '[environment]\nTRITON_CACHE_DIR = "/"',
         "environment.TRITON_CACHE_DIR", "variable-ours"),
        (CALLABLE + "[limits]\nseconds = -1", "limits.seconds", "seconds"),
        (CALLABLE + "[limits]\nseconds = nan", "limits.seconds", "number"),
        (CALLABLE + '[limits]\nmemory = "8 gigs"', "limits.memory", "memory"),
        (CALLABLE + "[limits]\nmemory = 0", "limits.memory", "memory"),
        (EAGER + "[compile]\ndynamic = true", "compile.dynamic", "dynamic-eager"),
        (EAGER + '[matrix]\nmode = ["default"]', "matrix.mode", "not-for-source"),
        ('[eager]\nop = "add"\ninputs = []', "eager.op", "op"),
        ('[eager]\nop = "aten::add"', "eager.inputs", "needed"),
        ('[script]\ncommand = "a.py"', "script.command", "list"),
        ("[script]\ncommand = []", "script.command", "not-empty"),
        ('[script]\ncommand = ["a.py"]\n[matrix]\nb = [1]', "matrix.b", "not-for-source"),
        ('[exported]\nfile = "model.pth"', "exported.file", "pt2"),
        ('[triton]\nkernel = "k:add"', "triton.signature", "needed"),
        (TRITON + 'targets = ["sm_90"]', "triton.targets[0]", "target"),
        (TRITON + "num_warps = 3", "triton.num_warps", "warps"),
        (TRITON + "constants = { x = 1 }", "triton.constants.x", "constant-or-argument"),
        (TRITON + "[matrix]\nx = [1]", "triton.signature.x", "constant-or-argument"),
        (TRITON.replace("*fp32:16", "float*"), "triton.signature.x", "signature"),
        (TRITON.replace("*fp32:16", "*fp32:1"), "triton.signature.x", "signature"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_path(text: str, where: str, expected: str) -> None:
    assert (where, expected) in found(text)


def test_all_faults_are_told_not_only_the_first() -> None:
    text = '[eager]\nop = "add"\ninputs = [{ shape = ["b"] }]\n[limits]\nseconds = 0\nhours = 1'
    assert [where for where, _ in found(text)] == [
        "eager.inputs[0].shape[0]", "eager.op", "limits.hours", "limits.seconds",
    ]  # fmt: skip


def test_a_matrix_without_end_is_refused_before_it_is_expanded() -> None:
    sizes = ", ".join(f'"s{n}"' for n in range(20))
    matrix = "\n".join(f"s{n} = [{', '.join(map(str, range(1, 40)))}]" for n in range(20))
    text = CALLABLE + f"inputs = [{{ shape = [{sizes}] }}]\n[matrix]\n{matrix}"
    assert ("matrix", "fewer-variants") in found(text)
    inputs = [{"shape": ["b"], "fill": "zeros"}] * 999
    wide: dict[str, Any] = {
        "callable": {"function": "m:f", "inputs": inputs},
        "matrix": {"b": list(range(999))},
    }
    wide["matrix"]["mode"] = ["default", "max-autotune"]
    assert [one.expected for one in faults(wide)] == ["smaller"]
    each = checked({"callable": {"function": "m:f", "inputs": [{"shape": ["b"]}]},
                    "matrix": {"b": list(range(900))}}, "a", "/")  # fmt: skip
    with pytest.raises(Problem) as caught:
        variants_of([each] * 12)
    assert (caught.value.code, caught.value.params["variants"]) == ("variants-too-many", 10_800)
    assert len(variants_of([each] * 11)) == 9_900 <= MOST_VARIANTS


def test_every_combination_is_a_variant_with_a_name_of_its_own() -> None:
    text = CALLABLE + 'inputs = [{ shape = ["batch", 64] }, { shape = [2], dtype = "int64" }]\n'
    text += '[matrix]\nmode = ["default", "max-autotune"]\nbatch = [1, 8]\ndtype = ["bfloat16"]\n'
    made = variants(text)
    assert [variant.name for variant in made] == [
        "f, batch 1, bfloat16, default", "f, batch 8, bfloat16, default",
        "f, batch 1, bfloat16, max-autotune", "f, batch 8, bfloat16, max-autotune",
    ]  # fmt: skip
    last = made[-1]
    assert [variant.index for variant in made] == [0, 1, 2, 3]
    assert (last.recipe, last.folder, last.sizes) == ("mine", "/models", {"batch": 8})
    assert (last.mode, last.dtype, last.device) == ("max-autotune", "bfloat16", None)
    assert last.item["inputs"] == [
        {"shape": [8, 64], "dtype": "bfloat16", "fill": "rand"},
        {"shape": [2], "dtype": "int64", "fill": "randint", "low": 0, "high": 2},
    ]
    assert Variant.from_json(last.to_json()) == last


def test_items_vary_with_what_they_use_alone() -> None:
    text = """
        eager = [
            { op = "aten::add.Tensor", inputs = [{ shape = ["n"] }, { size = "n" }] },
            { op = "aten::add.Tensor", inputs = [{ shape = [3], dtype = "float64" }, 1] },
        ]
        matrix = { n = [4, 5], dtype = ["float32", "float16"] }"""
    made = variants(text)
    assert [variant.name for variant in made] == [
        "add.Tensor, n 4, float32", "add.Tensor, n 4, float16",
        "add.Tensor, n 5, float32", "add.Tensor, n 5, float16", "add.Tensor",
    ]  # fmt: skip
    assert made[0].item["inputs"][1] == 4
    twice = variants('[[eager]]\nop = "aten::sin"\ninputs = [1]\n' * 2)
    assert [variant.name for variant in twice] == ["sin", "sin (2)"]


def test_a_kernel_has_a_variant_for_each_target_and_constant() -> None:
    text = TRITON + 'constants = { BLOCK = 1, EVEN = true }\ntargets = ["cuda:90", "hip:gfx942"]\n'
    made = variants(text + "[matrix]\nBLOCK = [64]\nnum_warps = [2, 4]", device="cpu", threads=2)
    assert [variant.name for variant in made] == [
        f"add, BLOCK 64, {warps} warps, {target}"
        for warps in (2, 4) for target in ("cuda:90", "hip:gfx942")
    ]  # fmt: skip
    item = made[1].item
    assert (item["target"], item["num_warps"], item["num_stages"]) == ("hip:gfx942", 2, None)
    assert item["constants"] == {"BLOCK": 64, "EVEN": True}
    assert "targets" not in item
    assert made[0].device is None  # its target says all
    assert [variant.item["target"] for variant in variants(TRITON)] == [None]


def test_what_a_recipe_says_goes_before_what_is_given_with_it() -> None:
    said = '[compile]\ndevice = "cuda"\nthreads = 3\nportable = false\n[limits]\nseconds = 5\n'
    given: dict[str, Any] = {"device": "cpu", "threads": 2, "portable": True, "seconds": 9.0}
    [own], [other] = variants(CALLABLE + said, **given), variants(CALLABLE, **given)
    assert (own.device, own.threads, own.portable, own.seconds) == ("cuda", 3, False, 5)
    assert (other.device, other.threads, other.portable, other.seconds) == ("cpu", 2, True, 9.0)


def test_with_gradients_unless_it_says_otherwise() -> None:
    assert [variant.grad for variant in variants(CALLABLE)] == [True]
    assert [variant.grad for variant in variants(CALLABLE + "[compile]\ngrad = false")] == [False]


def test_options_by_their_full_names_and_without_a_mode() -> None:
    text = '[compile]\nmode = "default"\noptions = { triton.cudagraphs = true, "a.b" = 1 }'
    [variant] = variants(CALLABLE + text)
    assert (variant.mode, variant.options) == (None, {"triton.cudagraphs": True, "a.b": 1})


def test_an_item_says_what_is_otherwise_for_it() -> None:
    text = """
        [[callable]]
        function = "m:f"
        [[callable]]
        function = "m:f"
        compile = { mode = "default", dynamic = false, options = { triton.cudagraphs = true } }
        [[callable]]
        name = "mine"
        factory = "m:F"
        compile = { backward = true, grad = true, device = "cuda", dtype = "float16" }
        inputs = [{ shape = [2] }]
        [[exported]]
        file = "a.pt2"
        compile.fullgraph = false
        [compile]
        mode = "max-autotune"
        grad = false
        fullgraph = true
        threads = 3
    """
    callables, _, exported = text.partition("[[exported]]")
    rest = exported[exported.index("[compile]") :]
    [plain, own, model] = variants(callables + rest)
    [program] = variants(f"[[exported]]{exported}")
    assert [variant.name for variant in (plain, own, model, program)] == [
        "f", "f, default, static, options", "mine", "a",
    ]  # fmt: skip
    assert (plain.mode, plain.grad, plain.backward) == ("max-autotune", False, False)
    assert (own.mode, own.dynamic, own.options) == (None, False, {"triton.cudagraphs": True})
    assert (model.backward, model.grad, model.device, model.dtype, model.fullgraph) == (
        True, True, "cuda", "float16", True,
    )  # fmt: skip
    [given] = model.item["inputs"]
    assert isinstance(given, dict)
    assert given["dtype"] == "float16"
    assert not program.fullgraph
    assert {variant.threads for variant in (plain, own, model, program)} == {3}
    [one] = variants(CALLABLE + "compile = { training = false, backward = true }")
    assert (one.name, one.training, plain.training) == ("f, backward, evaluation", False, None)
    assert "compile" not in {**own.item, **program.item}, "a variant has it itself"


def test_several_calls_are_one_variant_for_each_way() -> None:
    text = """
        [[callable]]
        function = "m:f"
        [[callable.calls]]
        inputs = [{ shape = ["batch", 4] }, { size = "batch" }]
        [[callable.calls]]
        inputs = [{ shape = ["twice", 4], dtype = "int64" }]
        keywords = { scale = 2.0, mask = { shape = ["batch"] } }
        grad = false
        [matrix]
        batch = [1, 2]
        twice = [4]
        dtype = ["bfloat16"]
    """
    first, second = variants(text)
    assert [first.name, second.name] == [
        f"f, 2 calls, batch {batch}, twice 4, bfloat16" for batch in (1, 2)
    ]
    assert second.item == {
        "name": "f, 2 calls", "function": "m:f", "args": {},
        "calls": [
            {"inputs": [{"shape": [2, 4], "dtype": "bfloat16", "fill": "rand"}, 2]},
            {"inputs": [{"shape": [4, 4], "dtype": "int64", "fill": "randint", "low": 0,
                         "high": 2}],
             "keywords": {"scale": 2.0,
                          "mask": {"shape": [2], "dtype": "bfloat16", "fill": "rand"}},
             "grad": False},
        ],
    }  # fmt: skip
    assert found(text.replace("batch = [1, 2]", "batch = [-1]")) == [
        ("matrix.batch", "not-negative")
    ]
    assert found(text + "other = [1]") == [("matrix.other", "size-unused")]


@pytest.mark.parametrize(
    ("text", "size"),
    [("8 GiB", 8 << 30), ("1.5 MB", 1_500_000), ("100B", 100), (4096, 4096),
     ("8 gib", None), ("-1 GB", None), ("0 B", None), (True, None), (1.5, None),
     ("9999999 TiB", None)],
)  # fmt: skip
def test_memory(text: Any, size: int | None) -> None:
    assert bytes_of(text) == size


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (["mine"], "recipe-unknown"),
        ([{"name": "a", "folder": "models", "data": {}}], "bad-request"),
        ([{"name": "", "folder": "/", "data": {}}], "bad-request"),
        ([{"name": "a", "folder": "/\0", "data": {}}], "bad-request"),
        ([{"name": "a", "folder": "/", "data": {}}], "recipe-wrong"),
        (["builtin"] * 1001, "bad-request"),
    ],
)  # fmt: skip
def test_nothing_on_the_wire_is_believed(asked: Any, code: str) -> None:
    with pytest.raises(Problem) as caught:
        of_request(asked)
    assert caught.value.code == code


def test_recipes_of_a_request() -> None:
    sent: Any = {"name": "a", "folder": "/models", "data": tomllib.loads(CALLABLE)}
    made = variants_of(of_request(["builtin", sent, sent]))
    assert [(variant.recipe, variant.source) for variant in made] == [
        ("builtin", "builtin"), ("a", "callable"), ("a (2)", "callable"),
    ]  # fmt: skip
    assert variants_of(of_request(None)) == variants_of(of_request([])) == made[:1]


_KEYS = st.sampled_from(
    ["name", "callable", "eager", "triton", "script", "exported", "matrix", "compile", "limits",
     "environment", "inputs", "keywords", "shape", "dtype", "list", "size", "function", "example",
     "op", "kernel", "signature", "constants", "targets", "command", "options", "mode", "seconds",
     "memory", "batch", "\0", "file", "args", "fill", "low", "high", "calls", "grad", "backward"]
)  # fmt: skip
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from(["m:f", "aten::add", "batch", "float32", "cuda:90", "max-autotune", 10**999]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_KEYS, inner, max_size=5),
    max_leaves=30,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(_KEYS, _VALUES, max_size=6) | _VALUES)
def test_whatever_comes_is_refused_or_becomes_variants(data: Any) -> None:
    told = faults(data)
    for one in told:
        assert looking.said(one.where).isprintable()
        assert one.found.isprintable()
        assert len(one.found) < 100
    if not told:
        assert variants_of([checked(data, "a", "/")])


def test_deep_and_wide_data_is_bounded() -> None:
    deep: Any = 1
    for _ in range(5000):
        deep = {"list": [deep]}
    wide: dict[str, Any] = {"callable": {"function": "m:f", "inputs": [deep]}}
    assert [one.expected for one in faults(wide)] == ["shallower"]
    many = {"callable": {"function": "m:f", "inputs": [{"shape": [-1] * 60}] * 999}}
    assert len(faults(many)) == looking.MOST


def test_a_result_of_many_variants_fits_a_line() -> None:
    rows: Any = [{"index": n, "name": "é" * 160, "state": "failed", "problem": {"code": "x" * 400},
             "log": ["é" * 400] * 40} for n in range(2000)]  # fmt: skip
    fit = fitting(rows)
    assert 200 < len(fit) < 2000
    assert len(json.dumps(fit)) < 700_000
    assert "log" not in fit[0]
    assert fitting(rows[:3]) == [{k: v for k, v in row.items() if k != "log"} for row in rows[:3]]
    sizes = {f"size_{n}": [10**12, 10**11] for n in range(7)}
    item = {"op": "aten::add", "inputs": [{"size": name} for name in sizes]}
    made = variants_of([checked({"eager": item, "matrix": sizes})])
    assert len({variant.name for variant in made}) == len(made) == 128
    assert max(len(variant.name) for variant in made) < 170
