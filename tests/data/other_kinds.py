"""Has stock torch write what only some programs have in their caches.

Precompiled functions, eager operators compiled ahead of time, GEMM timings, values of the generic
caches, a graph saved as vLLM saves its pieces, and a whole function compiled ahead. Arguments: a
folder for temporary files, a folder for the saved graph. With ``again``, only the precompiled
function is called, as any program would call it. Prints a line of JSON: the counters, and a
mega-cache's artifacts by type.
"""

import json
import pickle
import sys
import tempfile

import torch

torch._dynamo.config.caching_precompile = True


def wave(x, y):
    z = x.sin() @ y
    return z + z.cos()


def call():
    compiled = torch.compile(wave)
    compiled(torch.rand(4, 4), torch.rand(4, 4))
    compiled(torch.rand(5, 4), torch.rand(4, 4))


def others(temporary, saved):
    from torch._inductor.aoti_eager import aoti_compile_with_persistent_cache
    from torch._inductor.cache import InductorOnDiskCache, OnDiskCache
    from torch._inductor.codecache import LocalCache
    from torch._inductor.runtime.caching.implementations import _OnDiskCacheImpl

    ops = torch.ops.aten
    x, y = torch.rand(4, 8), torch.rand(3, dtype=torch.float64)
    for name, op, args, kwargs in (
        ("abs", ops.abs, (x,), {}),
        ("abs", ops.abs, (y,), {}),
        ("add.Tensor", ops.add.Tensor, (x, torch.rand(4, 8)), {"alpha": 2}),
    ):
        path = aoti_compile_with_persistent_cache("aten", name, "cpu", False, op, args, kwargs)
        assert path, name

    LocalCache().set_value("mm", "(4, 8), (8, 4)", "highest", value={"a": 0.5, "b": 0.25})

    usual, tempfile.tempdir = tempfile.tempdir, temporary
    assert InductorOnDiskCache().insert(("a", "key"), {"x": [1, 2]})
    assert OnDiskCache("mine").insert("z", "text")
    assert _OnDiskCacheImpl(sub_dir="memo").insert("0a" * 16, pickle.dumps({"a": 1, "b": 2}))
    tempfile.tempdir = usual

    graphs = []

    def capture(graph, inputs):
        graphs.append((graph, inputs))
        return graph

    torch.compile(lambda x: x.tanh(), backend=capture)(x)
    ((graph, inputs),) = graphs
    torch._dynamo.reset()
    made = torch._inductor.standalone_compile(graph, inputs)
    made.save(path=f"{saved}/artifact_compile_range_1_8_subgraph_0", format="binary")
    made.save(path=f"{saved}/artifact_compile_range_1_8_subgraph_1", format="unpacked")

    ahead = torch.compile(wave, fullgraph=True).aot_compile(((torch.rand(4, 4),) * 2, {}))
    ahead.save_compiled_function(f"{temporary}/model")


call()
if sys.argv[1:] == ["again"]:
    artifacts = {}
else:
    data, info = torch.compiler.save_cache_artifacts()
    artifacts = dict(info.artifacts)
    with open(f"{sys.argv[1]}/mega-cache.bin", "wb") as file:
        file.write(data)
    torch._dynamo.config.caching_precompile = False
    others(*sys.argv[1:])
counters = torch._dynamo.utils.counters
print(json.dumps({"dynamo_cache": dict(counters["dynamo_cache"]), "artifacts": artifacts}))
