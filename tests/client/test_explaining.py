"""What differs between two entries, in words: of changes that torch 2.13.0 made keys of."""

from __future__ import annotations

import json
import random
import re
import time
from dataclasses import replace
from typing import Any

import pytest

from tests.conftest import DATA
from torchkeeper.client.words import explaining
from torchkeeper.verdict import comparing, flat
from torchkeeper.verdict.comparing import Comparison, Difference, Side

_KEPT = json.loads((DATA / "changes.json").read_text())
CHANGES: dict[str, dict[str, Any]] = _KEPT["changes"]

GELU = "`hidden = torch.nn.functional.gelu(hidden)` instead of `hidden = torch.relu(hidden)`"
PRECISION = "Matmul precision tf32 instead of none (`torch.set_float32_matmul_precision`)"
#: What is said of a change that was made, of the forward graph and of the backward one.
SENTENCES = {
    "shape": (
        "Same graph; inputs[2] has batch 16 instead of 8",
        "Same graph; inputs[0], inputs[2], inputs[3] and 1 more have batch 16 instead of 8",
    ),
    "one": (
        "Same graph; inputs[2] has batch 1 instead of 8",
        "Same graph; inputs[0], inputs[2], inputs[3] and 1 more have batch 1 instead of 8",
    ),
    "dynamic": (
        "inputs[3] has batch of any size instead of 8",
        "inputs[1], inputs[3], inputs[4] and 1 more have batch of any size instead of 8",
    ),
    "dtype": (
        "Same graph; all 5 inputs have dtype float64 instead of float32",
        "All 5 inputs have dtype float64 instead of float32",
    ),
    "half": ("All 5 inputs have dtype bfloat16 instead of float32",) * 2,
    "line": (
        f"The graph has `mul`, `erf` and `add` where the other has `relu`: {GELU}",
        "The graph has `mul`, `erf`, `add` and `exp` where the other has `le`, `full` and "
        f"`where`: {GELU}",
    ),
    "max_autotune": ("`max_autotune` is on",) * 2,
    "threads": ("Threads 1 instead of 2",) * 2,
    "precision": (PRECISION,) * 2,
    "deterministic": (
        "Deterministic algorithms are on (`torch.use_deterministic_algorithms`)",
    ) * 2,
    "tag": ("Cache key tag release-7 instead of none",) * 2,
}  # fmt: skip


def side(change: str, *halves: str) -> Side:
    """The entry of a change: a graph, or with both an AOTAutograd entry."""
    told = [CHANGES[change][half] for half in halves]
    return Side(
        [_KEPT["factors"][number] for half in told for number in half["factors"]],
        told[0]["torch"],
        told[0]["device"],
        tuple(half["graph"] for half in told),
    )


def said(found: Comparison) -> str:
    """The sentence, of what went over a wire."""
    return explaining.sentence(json.loads(json.dumps(found.to_json())))


@pytest.mark.parametrize("change", SENTENCES)
def test_the_cause_is_what_was_changed(change: str) -> None:
    forward, backward = SENTENCES[change]
    for half, expected in (("forward", forward), ("backward", backward)):
        assert said(comparing.compare(side(change, half), side("none", half))) == expected
    both = "forward", "backward"
    found = comparing.compare(side(change, *both), side("none", *both))
    # What forward hands to backward follows from what was changed in forward.
    assert said(found).lower().removeprefix("same graph; ") == (
        forward.lower().removeprefix("same graph; ")
    )
    assert all(one.follows for one in found.differences if one.half == "backward")


def test_what_differs_is_turned_around() -> None:
    found = comparing.compare(side("none", "forward"), side("max_autotune", "forward"))
    assert said(found) == "`max_autotune` is off"
    found = comparing.compare(side("none", "forward"), side("line", "forward"))
    assert "has `relu` where the other has `mul`, `erf` and `add`" in said(found)


def test_a_wider_layer_is_no_batch() -> None:
    found = comparing.compare(side("width", "forward"), side("none", "forward"))
    assert said(found) == (
        "Same graph; inputs[0] has shape 48x64 instead of 32x64; inputs[1] has shape 48 instead "
        "of 32; inputs[3] has shape 4x48 instead of 4x32"
    )


def test_two_changes_are_both_told_and_the_larger_one_first() -> None:
    two = side("shape", "forward")
    for name in ("inductor_config[max_autotune]", "cpp_runtime_thread_count"):
        other = side("max_autotune" if "max" in name else "threads", "forward")
        (factor,) = [one for one in other.factors if one[1] == name]
        two = replace(two, factors=[*(f for f in two.factors if f[1] != name), factor])
    assert said(comparing.compare(two, side("none", "forward"))) == (
        "Threads 1 instead of 2; `max_autotune` is on; inputs[2] has batch 16 instead of 8"
    )


def changed(of: Side, **factors: tuple[str, str] | None) -> Side:
    """An entry with other hashes and values of some factors; None takes one away."""
    names = {
        name.replace("__", "[") + ("]" if "__" in name else ""): v for name, v in factors.items()
    }
    kept = [factor for factor in of.factors if factor[1] not in names]
    more = [(v[0], name, v[1]) for name, v in names.items() if v]
    return replace(of, factors=[*kept, *more])


def test_another_torch_is_the_cause_of_other_settings() -> None:
    own = side("none", "forward")
    old = changed(own, torch_version=("aaaa", "<bytes>"), inductor_config__gone=("bbbb", "1"))
    old = replace(old, torch="2.9.1+cu128")
    assert said(comparing.compare(old, own)) == "torch 2.9.1+cu128 against 2.13.0+cpu"
    same = changed(own, torch_version=("aaaabbbbcccc", "<bytes>"))
    (one,) = comparing.compare(same, own).differences
    assert (one.group, one.factor, one.a) == ("torch", "torch_version", "aaaabbbbcccc")
    assert said(comparing.compare(same, own)).startswith("torch's sources aaaabbbbcccc against ")


def test_a_gpu_is_told_by_its_name() -> None:
    own = side("none", "forward")
    h200, a100 = ({"system_info__device": (name, f"{{'name': '{name}'}}"),
                   "system_info__version": (name, f"{{'triton': '{name}-1', 'cuda': '{cuda}'}}"),
                   "system_info__hash": (name, name * 2)}
                  for name, cuda in (("NVIDIA H200", "13.0"), ("NVIDIA A100", "12.8")))  # fmt: skip
    found = comparing.compare(changed(own, **h200), changed(own, **a100))
    assert said(found) == (
        "Triton's sources NVIDIA H200 against NVIDIA A100; the GPU NVIDIA H200 against NVIDIA "
        "A100; CUDA 13.0 against 12.8"
    )
    assert [one.factor for one in found.differences if one.follows] == ["system_info[hash]"]
    none = comparing.compare(changed(own, **h200), own)
    assert "the GPU NVIDIA H200 against none" in said(none)


def of_rank(of: Side, rank: int) -> Side:
    """An entry as it is for a GPU of several."""
    device = f"device(type='cuda', index={rank})"
    factors = [
        (f"{digest}-{rank}", name, value.replace("device(type='cpu')", device))
        if name == "gm" or name.startswith("example_inputs")
        else (digest, name, value)
        for digest, name, value in of.factors
    ]
    factors.append((str(rank), "default_cuda_device_index", str(rank)))
    return replace(of, factors=[
        (digest, name, f"{value}\n# to device(type='cuda', index={rank}), cuda:{rank}")
        if name == "gm" else (digest, name, value) for digest, name, value in factors
    ])  # fmt: skip


@pytest.mark.parametrize("halves", [("forward",), ("forward", "backward")])
def test_what_only_another_rank_makes_different_is_said_so(halves: tuple[str, ...]) -> None:
    own, other = (of_rank(side("none", *halves), rank) for rank in (0, 3))
    found = comparing.compare(own, other)
    assert found.device_index
    assert said(found) == "Differs only in the device’s index: cuda:0 instead of cuda:3"
    assert "TORCH_COMPILE_ON_ONE_RANK=1" in explaining.of_ranks(found.to_json())


def test_another_rank_and_anything_else_is_more_than_that() -> None:
    own = of_rank(side("none", "forward"), 0)
    for other in (
        of_rank(side("max_autotune", "forward"), 1),
        of_rank(side("shape", "forward"), 1),
        changed(of_rank(side("none", "forward"), 1), torch_version=("aaaa", "<bytes>")),
        changed(of_rank(side("none", "forward"), 1), cache_key_tag=("aaaa", "cuda:0 first")),
        side("none", "forward"),
    ):
        found = comparing.compare(own, other)
        assert not found.device_index
        assert not explaining.of_ranks(found.to_json())
    assert not comparing.compare(own, own).device_index


def sources(version: str, *last: str) -> str:
    """What stands for Triton's sources, as long as it is of 3.9.0."""
    return version + "-".join([letter * 64 for letter in "0123456789abcde" * 2] + list(last))


@pytest.mark.parametrize(("a", "b", "sentence"), [
    (sources("3.7.1"), sources("3.9.0"), "Triton 3.7.1 against 3.9.0"),
    (sources("3.9.0"), None, "Triton 3.9.0 against not recorded"),
    (sources("3.9.0", "a" * 64), sources("3.9.0", "b" * 64),
     "Triton's sources aaaaaaaaaaaa against bbbbbbbbbbbb"),
])  # fmt: skip
def test_another_triton_is_told_by_its_version(a: str, b: str | None, sentence: str) -> None:
    own = side("none", "forward")
    sides = [
        changed(own, system_info__version=(text[:5] + text[-1], f"{{'triton': '{text}'}}"))
        if text
        else changed(own, system_info__version=None)
        for text in (a, b)
    ]
    assert said(comparing.compare(*sides)) == sentence
    systems = [
        {"system": {"version": {"triton": text} if text else {}}, "cache": 1} for text in (a, b)
    ]
    told = [flat.values("autotune", {"config": json.dumps(system)}) for system in systems]
    assert said(flat.compare(*told)) == sentence


@pytest.mark.parametrize("name", ["system_info__version", "system_info__device",
                                  "inductor_config__fusions", "cache_key_tag"])  # fmt: skip
@pytest.mark.parametrize("value", ["{'a': {'b': 1}}", "f" * 64, "{'name': None, 'x': 3}"])
def test_no_dictionary_or_hash_is_told(name: str, value: str) -> None:
    own = side("none", "forward")
    one, other = changed(own, **{name: ("aa", value)}), changed(own, **{name: ("bb", "1")})
    for pair in ((one, other), (other, one)):
        sentence = said(comparing.compare(*pair))
        assert not re.search(r"[{}]|[0-9a-f]{20}", sentence), sentence
        assert sentence.endswith(" is another"), sentence


def test_what_is_not_recorded_is_not_guessed() -> None:
    own = side("none", "forward")
    empty = Side((), "2.6.0", "cpu")
    assert said(comparing.compare(empty, own)) == (
        "torch 2.6.0 against 2.13.0+cpu; the factors of the first key are not recorded"
    )
    assert said(comparing.compare(Side(()), Side(()))) == (
        "The factors of both keys are not recorded"
    )
    assert said(comparing.compare(own, own)) == "The factors that are recorded do not differ"
    # A setting that one of both does not know.
    lacking = changed(own, cache_key_tag=None)
    assert said(comparing.compare(own, lacking)) == "Cache key tag none instead of not recorded"
    guarded = replace(own, guards="L['x'].size()[0] == 8")
    (one,) = comparing.compare(guarded, own).differences
    assert (one.factor, one.b) == ("guards_expr", None)


def test_graphs_that_have_nothing_in_common() -> None:
    found = comparing.compare(side("none", "backward"), side("none", "forward"))
    assert said(found) == "A backward graph instead of a forward one"
    assert [one.factor for one in found.differences][:2] == ["fx_kwargs[is_backward]", "gm"]
    own = side("none", "forward")
    other = changed(own, gm=("zzzz", "def forward(self, x):\n    y = torch.ops.aten.sort(x)\n"))
    other = changed(other, inductor_config__max_autotune=("zzzz", "True"))
    text = said(comparing.compare(replace(other, graphs=()), own))
    assert text.startswith("Another graph: it has `sort` where the other has `permute`, `addmm`, ")
    assert text.endswith("; `max_autotune` is on")


def test_inference_is_told_from_training() -> None:
    found = comparing.compare(side("inference", "forward"), side("none", "forward"))
    assert said(found) == "Compiled for inference instead of training"
    both = "forward", "backward"
    found = comparing.compare(side("none", *both), side("inference", "forward"))
    assert said(found) == "Compiled for training instead of inference"


def test_an_input_that_needs_a_gradient_is_the_cause() -> None:
    own = side("none", "forward", "backward")
    backward = max(at for at, factor in enumerate(own.factors) if factor[1] == "gm")
    digest, name, text = own.factors[backward]
    before, returns, values = text.rpartition("return (")
    first = values.partition(",")[0]
    assert returns
    assert first != "None"
    factors = list(own.factors)
    factors[backward] = [
        "0" * len(digest),
        name,
        before + returns + values.replace(first, "None", 1),
    ]
    found = comparing.compare(own, replace(own, factors=factors))
    assert said(found).startswith("Needed gradients ")
    cause, follows = found.differences
    assert (cause.group, cause.half, cause.follows) == ("inputs", "backward", False)
    assert int(cause.a or 0) - int(cause.b or 0) == 1
    assert (follows.factor, follows.follows) == ("gm", True)
    # A graph of another model says nothing of that.
    other = side("line", "backward")
    assert "Needed" not in said(comparing.compare(side("none", "backward"), other))


def test_a_constant_that_changed_is_not_taken_for_a_consequence() -> None:
    own = side("none", "forward")
    (text,) = (value for _, name, value in own.factors if name == "gm")
    lines = own.graphs[0]
    bare = changed(own, gm=("zzzz", text.replace("[-1], True", "[0], True")))
    assert said(comparing.compare(replace(bare, graphs=()), own)) == (
        "The graph has the same operations with other values, as in "
        "`amax = torch.ops.aten.amax.default(addmm_1, [0], True)`"
    )
    # With another batch, too: the line of the model is told as well.
    line = replace(bare, graphs=(lines.replace("softmax(dim=-1)", "softmax(dim=0)"),))
    shape = side("shape", "forward")
    inputs = {n: (h, v) for h, n, v in shape.factors if n.startswith("example_inputs[")}
    kept = [f for f in line.factors if f[1] not in inputs]
    line = replace(line, factors=[*kept, *((h, n, v) for n, (h, v) in inputs.items())])
    text = said(comparing.compare(line, own))
    assert text.startswith("inputs[2] has batch 16 instead of 8; the graph has the same operations")
    assert "`return self.outer(hidden).softmax(dim=0)` instead of `return self" in text


def test_a_shape_that_makes_other_ops_is_still_the_cause() -> None:
    """As where another rank needs a view: the lines of the model are the same."""
    own, shape = side("none", "forward"), side("width", "forward")
    (text,) = (value for _, name, value in own.factors if name == "gm")
    more = text.replace("    relu = ", "    view = torch.ops.aten.view.default(addmm)\n    relu = ")
    found = comparing.compare(changed(shape, gm=("zzzz", more)), own)
    assert "inputs[0] has shape 48x64 instead of 32x64" in said(found)
    assert [one.factor for one in found.differences if one.follows] == ["gm"]


def test_kernels_are_compared_by_what_their_json_tells() -> None:
    target = {"backend": "cuda", "arch": 90, "warp_size": 32}
    one = {"hash": "a" * 64, "target": target, "num_warps": 4, "triton_version": "3.7.1"}
    other = {**one, "hash": "b" * 64, "target": {**target, "arch": 80}, "num_warps": 8}
    values = [flat.values("triton", {"metadata": json.dumps(x)}) for x in (one, other)]
    found = flat.compare(*values)
    assert said(found) == "Architecture 90 against 80; num_warps 4 instead of 8"
    assert found.differences[-1].follows
    assert flat.values("triton", {"metadata": "{"}) == {}
    assert said(flat.compare({}, values[0])).endswith("of the first key are not recorded")


def test_other_kinds_are_compared_by_what_they_hold() -> None:
    config = {"XBLOCK": 64, "num_warps": 4, "triton_cache_hash": "x" * 52, "time_taken_ms": 3}
    texts = [json.dumps(config), json.dumps({**config, "XBLOCK": 128, "time_taken_ms": 9})]
    one, other = (flat.values("autotune", {"config": text}) for text in texts)
    found = flat.compare(one, other)
    assert said(found) == "XBLOCK 64 instead of 128"
    assert [x.factor for x in found.differences if x.follows] == ["time_taken_ms"]
    system = {"system": {"device": {"name": "NVIDIA H200"}, "version": {"cuda": "13.0"}}}
    none = {"system": {"device": {"name": None}, "version": {}}}
    one, other = (flat.values("autotune", {"config": json.dumps(x)}) for x in (system, none))
    assert said(flat.compare(one, other)) == (
        "GPU NVIDIA H200 against none; CUDA 13.0 against not recorded"
    )
    made = {"torch": "2.13.0+cpu", "python": "3.11.9", "device": "cpu", "functions": ["f"]}
    one, other = (flat.values("precompile", x) for x in (made, {**made, "torch": "2.12.0"}))
    assert said(flat.compare(one, other)) == "torch 2.13.0+cpu against 2.12.0"
    assert flat.values("pgo", made) == {}


def test_the_nearest_has_the_same_graph_before_the_same_settings() -> None:
    of = flat.prints(side("shape", "forward").factors)
    among = [(x, flat.prints(side(x, "forward").factors)) for x in CHANGES if x != "shape"]
    names = flat.nearest(of, among, 3)
    assert set(names) == {"none", "one", "dtype"} or names[0] in ("none", "one")
    backward = flat.prints(side("none", "backward").factors)
    forwards = [(x, y) for x, y in among if x != "none"]
    found = flat.nearest(of, [("backward", backward), *forwards], 20)
    assert found[-1] == "backward"
    assert flat.nearest(of, [("bare", flat.Prints(None, ()))]) == []


def test_ten_thousand_are_compared_in_a_moment() -> None:
    factors = side("none", "forward").factors
    shared = {f"inductor_config[{n}]": f"hash{n}" for n in range(600)}
    groups = [{**shared, "inductor_config[0]": f"other{n}"} for n in range(50)]
    of = flat.Prints(shared, flat.prints(factors).own)
    dice = random.Random(1)
    among = [
        (n, flat.Prints(groups[n % 50], ["x", *(dice.choice(("x", y)) for y in of.own[1:])]))
        for n in range(10_000)
    ]
    among[7_777] = (7_777, flat.Prints(groups[3], of.own))
    began = time.process_time()
    assert flat.nearest(of, among)[0] == 7_777
    assert time.process_time() - began < 1.0


def test_whatever_a_stranger_writes_is_shown_harmlessly() -> None:
    nasty = "\x1b[31m" + "x" * 100_000
    own = side("none", "forward")
    factors = [(digest + "!", name, nasty) for digest, name, _ in own.factors]
    factors += [("h", "inductor_config[\x1b]", "True"), ("h", "example_inputs[9]", "((((((" * 900)]
    found = comparing.compare(Side(factors, nasty, nasty, (nasty,)), own).to_json()
    text = explaining.sentence(found)
    assert "\x1b" not in text and len(text) < 3000
    for row in explaining.differences(found):
        shown = *explaining.values(row, found), explaining.factor(row), *explaining.full(row)
        assert not any("\x1b" in one for one in shown)
    assert explaining.sentence({})


def test_differences_without_a_cause_are_still_told() -> None:
    one = Difference("graph", "fx_kwargs[static_input_idxs]", "[0]", "[1]", follows=True)
    assert said(Comparison((one,))) == "Static inputs [0] instead of [1]"
