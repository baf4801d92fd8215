"""A program that goes on compiling small functions while others change its cache folder.

Arguments: a file whose appearance ends it, or ``again`` to call each function of those given after
it once. Each call is a line of JSON: the number of the function, when it began and ended (seconds,
time.monotonic), PyTorch's counters, whether the result is that of eager execution, and what was
read or written: kind, key, sha256. Whatever fails, fails the program.
"""

import hashlib
import json
import os
import random
import sys
import time
import warnings

import torch
from torch._inductor.codecache import CppPythonBindingsCodeCache, PyCodeCache
from torch.compiler._cache import CacheArtifactManager

STEPS = ("sin", "cos", "relu", "exp", "tanh", "sigmoid", "abs", "neg")
KINDS = {"inductor": "fxgraph", "aot_autograd": "aotautograd"}


def function(number):
    """One of 512 functions, each a graph of its own."""
    names = [STEPS[number // 8**place % 8] for place in range(3)]

    def run(x):
        for name in names:
            x = getattr(torch, name)(x) * 0.5 + x
        return x

    return run


def call(number):
    """Compile and call a function as a process does that knows nothing yet."""
    torch._dynamo.reset()
    CppPythonBindingsCodeCache.cache_clear()
    PyCodeCache.cache_clear()
    counters = torch._dynamo.utils.counters
    counters.clear()
    x = torch.linspace(-2, 2, 64)
    run = function(number)
    began = time.monotonic()
    with CacheArtifactManager.with_fresh_cache(), torch.no_grad():
        found = torch.compile(run, dynamic=False)(x)
        data, _ = torch.compiler.save_cache_artifacts()
    ended = time.monotonic()
    artifacts = [
        [KINDS.get(kind, kind), one.key, hashlib.sha256(one.content).hexdigest()]
        for kind, some in CacheArtifactManager.deserialize(data).items()
        for one in some
    ]
    return {
        "number": number,
        "began": began,
        "ended": ended,
        "hits": counters["inductor"]["fxgraph_cache_hit"],
        "misses": counters["inductor"]["fxgraph_cache_miss"],
        "aot_hits": counters["aot_autograd"]["autograd_cache_hit"],
        "aot_misses": counters["aot_autograd"]["autograd_cache_miss"],
        "right": bool(torch.allclose(found, run(x))),
        "artifacts": artifacts,
    }


def eager(number):
    """Compile an eager operator ahead of time, for inputs of a size of its own."""
    from torch._inductor.aoti_eager import aoti_compile_with_persistent_cache

    x = torch.rand(number + 1, 3)
    began = time.monotonic()
    path = aoti_compile_with_persistent_cache(
        "aten", "abs", "cpu", False, torch.ops.aten.abs, (x,), {}
    )
    assert path, "it was not compiled"
    return {"eager": path, "began": began, "ended": time.monotonic()}


def say(what):
    print(json.dumps(what), flush=True)


warnings.filterwarnings("ignore")
if sys.argv[1] == "again":
    for text in sys.argv[2:]:
        say(call(int(text)))
else:
    chance = random.Random(1)
    known, next_ = [0], time.monotonic() + 20
    while not os.path.exists(sys.argv[1]):
        if len(known) == 512 or chance.random() < 0.8:
            say(call(chance.choice(known)))
        else:
            known.append(known[-1] + 1)
            say(call(known[-1]))
        if (now := time.monotonic()) > next_:
            say(eager(len(known)))
            # It takes seconds, on a busy machine many: no more than a third of the time.
            next_ = time.monotonic() + max(20, 2 * (time.monotonic() - now))
