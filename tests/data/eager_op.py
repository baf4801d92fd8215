"""Has PyTorch run aten::add from its cache of eager operators, as a program does that asks for it.

Arguments: the shape of its inputs, 4 4 where there are none. Prints what load_aoti_eager_cache
returns, whether the result is right, and what was compiled.
"""

import json
import sys

import torch
from torch._inductor import aoti_eager

compiled = []
real = aoti_eager.aoti_compile_with_persistent_cache


def compile_it(*arguments, **more):
    compiled.append(arguments[1])
    return real(*arguments, **more)


aoti_eager.aoti_compile_with_persistent_cache = compile_it
items = aoti_eager.load_aoti_eager_cache("aten", "add.Tensor", "cpu")
shape = [int(size) for size in sys.argv[1:]] or [4, 4]
a, b = torch.rand(shape), torch.rand(shape)
expected = a + 2 * b
library = torch.library.Library("aten", "IMPL")
library._impl_with_aoti_compile("add.Tensor", "CPU")
found = torch.ops.aten.add.Tensor(a, b, alpha=2)
library._destroy()
print(
    json.dumps({
        "items": [len(item["meta_info"]) for item in items],
        "right": torch.equal(found, expected) or bool(((found - expected).abs() < 1e-6).all()),
        "compiled": compiled,
    })
)  # fmt: skip
