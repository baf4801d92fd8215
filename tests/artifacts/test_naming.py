"""Names of entries: the function or model first, then shapes and dtype, then operators."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.artifacts.test_facts import payloads, read
from torchkeeper.artifacts import fxgraph

#: What PyTorch keeps of a line of code: where models of Hugging Face come through decorators.
DECORATED = (
    '  File "/site-packages/transformers/utils/deprecation.py", line 173, in wrapped_func\n'
    "    return func(*args, **kwargs)\n"
    "           ^^^^^^^^^^^^^^^^^^^^^\n"
    '  File "/site-packages/transformers/utils/generic.py", line 933, in wrapper\n'
    "    output = func(self, *args, **kwargs)\n"
    '  File "/site-packages/transformers/models/bert/modeling_bert.py", line 657, in forward\n'
    "    embedding_output = self.embeddings(\n"
    '  File "/site-packages/transformers/models/bert/modeling_bert.py", line 105, in forward\n'
    "    embeddings = embeddings + position_embeddings\n"
)
_TENSOR = (
    "TensorMetadata(dtype=torch.{}, shape=torch.Size([{}]), stride=(1,), layout=torch.strided)"
)


def factors(
    *inputs: str, gm: str = "", static: str = "[]", backward: bool = False
) -> list[tuple[str, str, str]]:
    kinds = {"fx_kwargs[static_input_idxs]": static, "fx_kwargs[is_backward]": str(backward)}
    lines = [("h", "gm", gm), *(("h", name, value) for name, value in kinds.items())]
    return lines + [("h", f"example_inputs[{n}]", text) for n, text in enumerate(inputs)]


def tensor(dtype: str, sizes: str) -> str:
    return _TENSOR.format(dtype, sizes)


@pytest.mark.parametrize(
    ("text", "function", "called"),
    [
        (DECORATED, ("forward", "modeling_bert.py:657"), "modeling_bert.forward"),
        ("# File: /x/train.py:5 in step, code: x", ("step", "train.py:5"), "step"),
        ("# File: C:\\x\\nets\\resnet.py:5 in forward, code: x", ("forward", "resnet.py:5"),
         "resnet.forward"),
        ("# Backward of forward node: File: /x/net.py:9 in forward, code: x",
         ("forward", "net.py:9"), "net.forward"),
        # What is only a wrapper is better than nothing.
        ("# File: /x/run.py:5 in <lambda>, code: lambda x: x", ("<lambda>", "run.py:5"),
         "run.<lambda>"),
        ("# File: /y/site-packages/torch/nn/modules/module.py:5 in forward, code: x", None, ""),
        ("# No stacktrace found for following nodes", None, ""),
        # Names come from strangers: what is no name of a file is none.
        ("# File: /x/a\x1b[31m\u202e.py:5 in forward, code: x", ("forward", "a31m.py:5"),
         "a31m.forward"),
    ],
)  # fmt: skip
def test_the_function_is_the_users(
    text: str, function: tuple[str, str] | None, called: str
) -> None:
    assert fxgraph.function("", text) == function
    assert fxgraph.called(fxgraph.function("", text)) == called


def test_inputs_are_those_that_are_no_parameters() -> None:
    weight, x = tensor("float32", "64, 64"), tensor("bfloat16", "s77, 64")
    assert fxgraph.inputs(factors(weight, x, static="[0]")) == "bf16[s77, 64]"
    assert fxgraph.inputs(factors(x, "s77", x, tensor("int64", ""))) == "bf16[s77, 64] ×2, i64[]"
    # Of an optimizer, all are parameters.
    assert fxgraph.inputs(factors(weight, weight, static="[0, 1]")) == "f32[64, 64] ×2"
    many = [tensor(kind, "2") for kind in ("bool", "uint8", "complex64", "float8_e4m3fn")]
    assert fxgraph.inputs(factors(*many)) == "bool[2], u8[2], c64[2], …"
    assert fxgraph.inputs([]) == ""
    assert fxgraph.inputs(factors(tensor("float32", "\x1b[31m"))) == ""


def test_inputs_of_a_backward_graph_are_what_the_forward_one_left() -> None:
    # They tell sizes where what comes in is one number, the loss.
    some = [tensor("float32", sizes) for sizes in ("64, 64", "8, 64", "8, 2", "")]
    graph = "GraphModule()\n\ndef forward(self, primals_1, gelu, addmm, tangents_1):\n    x = y(1)"
    found = factors(*some, gm=graph, static="[0, 1, 2]", backward=True)
    assert fxgraph.inputs(found) == "f32[], f32[8, 2], …"


def test_a_title_has_what_identifies_first() -> None:
    found = ("forward", "net.py:9")
    title = fxgraph.title(found, "f32[8]", ["mm", "gelu"], "backward")
    assert title == "net.forward(f32[8]): mm, gelu (backward)"
    assert fxgraph.title(None, "f32[8]", ["mm"], None) == "f32[8]: mm"
    assert fxgraph.title(("step", "t.py:1"), "", [], None) == "step"
    assert fxgraph.title(None, "", ["mm"], None) == "mm"
    assert fxgraph.title(None, "", [], "backward") is None
    assert len(fxgraph.title(("f" * 200, ""), "f32[8]", ["x" * 200] * 3, None) or "") <= 300
    assert fxgraph.part(title, "cpp_fused_gelu_0") == "net.forward(f32[8]): cpp_fused_gelu_0"
    assert fxgraph.part(None, "cpp_fused_gelu_0") == "cpp_fused_gelu_0"


@pytest.mark.parametrize("kind", ["fxgraph", "aotautograd"])
def test_no_two_graphs_of_a_real_cache_are_called_the_same(kept_291: Path, kind: str) -> None:
    names = Counter(read(kind, data)["name"] for data in payloads(kept_291, kind))
    assert names.most_common(1)[0][1] == 1
    assert not any(name.startswith("forward") for name in names)


@pytest.mark.parametrize(("devices", "expected"), [
    (("index=0",), "step(f32[8]): add"),
    (("index=3",), "step(f32[8]) on cuda:3: add"),
    (("index=3", "index=3"), "step(f32[8] ×2) on cuda:3: add"),
    # What is on several, or where none is told, has no rank.
    (("index=0", "index=3"), "step(f32[8] ×2): add"),
    (("index=12345",), "step(f32[8]): add"),
])  # fmt: skip
def test_a_graph_of_another_rank_says_which(devices: tuple[str, ...], expected: str) -> None:
    given = factors(*(
        tensor("float32", "8").replace("layout", f"device=device(type='cuda', {one}), layout")
        for one in devices
    ))  # fmt: skip
    named = fxgraph.title(
        ("step", "x.py:1"), fxgraph.inputs(given), ["add"], None, fxgraph.rank(given)
    )
    assert named == expected
    assert fxgraph.rank(factors(tensor("float32", "8"))) == ""
