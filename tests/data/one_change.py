"""A small model, compiled forward and backward, with one thing changed that people change.

``one_change.py CHANGE`` compiles into TORCHINDUCTOR_CACHE_DIR, and prints the keys of its two
graphs as JSON: ``{"forward": key, "backward": key}``; for inference there is but the first.
"""

import importlib.util
import json
import os
import sys
import tempfile

import torch

MODEL = """
import torch


class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = torch.nn.Linear(64, width)
        self.outer = torch.nn.Linear(width, 4)

    def forward(self, x):
        hidden = self.inner(x)
        hidden = torch.relu(hidden)
        return self.outer(hidden).softmax(dim=-1)
"""
#: What is changed, by name.
CHANGES = ("none", "shape", "one", "dynamic", "dtype", "half", "width", "line", "max_autotune",
           "threads", "precision", "deterministic", "tag", "inference")  # fmt: skip


def compile_it(change: str) -> None:
    """Compile the model, of a file of its own, so that its graph names lines of it."""
    text = MODEL
    if change == "line":
        text = text.replace("torch.relu(hidden)", "torch.nn.functional.gelu(hidden)")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "net.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        spec = importlib.util.spec_from_file_location("net", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        net = module.Net(48 if change == "width" else 32)
        compiled = torch.compile(
            net.to(DTYPES.get(change, torch.float32)),
            dynamic=True if change == "dynamic" else None,
            options={"max_autotune": True} if change == "max_autotune" else None,
        )
        batch = {"shape": 16, "one": 1}.get(change, 8)
        example = torch.randn(batch, 64, dtype=DTYPES.get(change, torch.float32))
        if change == "inference":
            with torch.no_grad():
                compiled(example)
        else:
            compiled(example).sum().backward()


DTYPES = {"dtype": torch.float64, "half": torch.bfloat16}


def main(change: str) -> None:
    """Compile with a change."""
    assert change in CHANGES
    if change == "threads":
        torch.set_num_threads(1 if torch.get_num_threads() > 1 else 2)
    if change == "precision":
        torch.set_float32_matmul_precision("high")
    if change == "deterministic":
        torch.use_deterministic_algorithms(True)
    if change == "tag":
        torch.compiler.config.cache_key_tag = "release-7"
    from torch._inductor import codecache

    keys = []
    keep = codecache.FxGraphCache._save_graph

    def kept(key, *arguments, **named):
        keys.append(key)
        return keep(key, *arguments, **named)

    codecache.FxGraphCache._save_graph = kept
    compile_it(change)
    print(json.dumps(dict(zip(("forward", "backward"), keys))))  # noqa: B905


main(sys.argv[1])
