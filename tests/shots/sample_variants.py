"""Made-up variants of a warm-up, told as an engine tells them, for the pictures."""

from __future__ import annotations

from typing import Any

from torchkeeper.artifacts.shapes import Fault
from torchkeeper.engine.messages.findings import VariantFinding
from torchkeeper.gui.matrix.variants import PHASES, Variants
from torchkeeper.verdict.probed import GraphTold

_NAMES = [
    *(("decode", f"decode, batch {batch}, {dtype}, {mode}", "callable")
      for batch in (1, 8, 32)
      for dtype in ("float32", "bfloat16")
      for mode in ("default", "max-autotune")),
    ("export", "model.pt2", "exported"),
    ("operators", "aten::add.Tensor, cpu", "eager"),
    ("kernels", "add, cuda:90", "triton"),
    ("kernels", "add, hip:gfx942", "triton"),
]  # fmt: skip
#: Seconds of the phases of a graph of each direction, as they have been seen on two cores.
_FORWARD = (0.42, 0.03, 0.11, 0.16, 0.24, 0.93, 2.61, 0.12)
_BACKWARD = (0.0, 0.0, 0.0, 0.0, 0.31, 1.07, 3.02, 0.08)

#: Why the variant that failed did.
FAILURE: Fault = {"code": "warm-failed", "params": {
    "what": "RuntimeError", "why": "mat1 and mat2 shapes cannot be multiplied (32x96 and 64x64)",
}}  # fmt: skip
#: Why PyTorch does not cache the second graph of the variant of that number.
UNCACHED = 3
REASON = "Unsupported post grad custom pass"
LOG = [
    "Traceback (most recent call last):",
    '  File "/home/ada/llama/models/llm.py", line 48, in forward',
    "    return self.out(torch.relu(self.hidden(x)))",
    '  File "/home/ada/llama/.venv/lib/python3.12/site-packages/torch/nn/modules/linear.py", '
    "line 134, in forward",
    "    return F.linear(input, self.weight, self.bias)",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x96 and 64x64)",
]


def rows() -> list[VariantFinding]:
    """The variants, as the first finding of a job names them."""
    return [
        {"index": number, "recipe": recipe, "name": name, "source": source, "state": "queued"}
        for number, (recipe, name, source) in enumerate(_NAMES)
    ]


def graphs(variant: int, part: float = 1.0) -> list[GraphTold]:
    """Findings of the graphs of a variant, of which a part is done."""
    grown = 0.55 + 0.09 * (variant * 7 % 11)
    found: list[GraphTold] = []
    for number, (direction, spent) in enumerate((("forward", _FORWARD), ("backward", _BACKWARD))):
        if number and part < 0.6:
            break
        upto = len(PHASES) if part >= 1 or not number else 5
        seconds = [round(grown * x, 3) if n < upto else 0.0 for n, x in enumerate(spent)]
        outcome = "miss" if upto == len(PHASES) else "compiling"
        if variant % 5 == 2:
            outcome, seconds = "hit", [x / 12 for x in seconds]
        found.append({"id": f"{variant}/0 {direction}", "name": "Decoder.forward",
                      "variant": variant, "outcome": outcome, "seconds": round(sum(seconds), 2),
                      "phases": list(zip(PHASES, seconds, strict=True))})  # fmt: skip
    if variant == UNCACHED:
        found[-1]["outcome"], found[-1]["reason"] = "bypass", REASON
    return found


def done(variant: int) -> VariantFinding:
    """A variant that is done."""
    native = variant < 13
    some = graphs(variant) if native else []
    took = sum(one["seconds"] or 0.0 for one in some) + 0.7 if native else 3.4 + variant % 3
    hits, bypasses = (sum(one["outcome"] == how for one in some) for how in ("hit", "bypass"))
    return {
        "index": variant, "state": "done", "graphs": len(some), "hits": hits,
        "misses": len(some) - hits - bypasses, "bypasses": bypasses,
        "autograd": {"hits": 0, "misses": 1},
        "seconds": round(took, 2), "proof": None if native else {"found": 1, "of": 1},
        "device": "cpu", "threads": 32,
    }  # fmt: skip


def failed(variant: int) -> VariantFinding:
    """A variant that failed."""
    return {"index": variant, "state": "failed", "seconds": 1.31, "problem": FAILURE, "log": LOG}


def result(variants: Variants) -> dict[str, Any]:
    """What a warm-up of these says in the end: as much as its variants do."""
    over = list(variants.rows)
    sums = {name: sum(getattr(one, name) for one in over)
            for name in ("hits", "misses", "bypasses")}  # fmt: skip
    good = [one for one in over if one.state == "done"]
    kinds = {
        "fxgraph": sums["misses"],
        "aotautograd": sum(one.misses == 2 for one in good),
        "code": 3 * sums["misses"],
        "aoti_eager": sum(one.source == "eager" for one in good),
        "triton": sum(one.source == "triton" for one in good),
        "autotune": 4,
    }
    return {
        **sums, "graphs": sum(sums.values()), "seconds": sum(one.seconds or 0.0 for one in over),
        "done": len(good), "failed": len(over) - len(good),
        "added": sum(kinds.values()), "kinds": kinds, "locks": 2 * sums["misses"],
        "headers": 0, "unknown": 0, "things": {"graphs": sum(sums.values())},
        "autograd": {"hits": 0, "misses": len(good)}, "variants": [],
        "device": "cpu", "threads": 32, "torch": "2.13.0+cu130",
    }  # fmt: skip


def told(upto: int, failing: tuple[int, ...] = (), running: int = 0) -> Variants:
    """A job that has done so many variants, and compiles so many more."""
    variants = Variants()
    variants.hear({"variants": rows()})
    for number in range(upto + running):
        variants.hear({"variant": {"index": number, "state": "compiling"}})
        over = number < upto
        if number < 13 and number not in failing:
            for graph in graphs(number, 1.0 if over else 0.7):
                variants.hear({"graph": graph})
        if over:
            variants.hear({"variant": failed(number) if number in failing else done(number)})
    for number in range(upto, upto + running):
        variant = variants.rows[number]
        if variant.began is not None:
            variant.began -= 8.0
    return variants


def verified() -> list[dict[str, Any]]:
    """What a verification says of the variants, as ``client.kept.verified.checked`` has it."""
    found = []
    for one in rows():
        number, native = one["index"], one["index"] < 13
        good = number not in (2, 9)
        cold, warm = 4.8 + 1.3 * (number % 7), 0.7 + 0.1 * (number % 4)
        why = None if good else "dtype of an input: torch.bfloat16 here, torch.float32 there"
        found.append({
            **one, "good": good, "seconds": {"cold": cold, "warm": warm},
            "ratios": {"warm_cold": cold / warm}, "hits": 2 if native and good else 0,
            "misses": 0 if good else 2, "rebuilt": 0 if good else 3,
            "proof": None if native else {"found": 1, "of": 1}, "why": why,
            "problem": None,
        })  # fmt: skip
    return found
