"""Print, in base64, what PyTorch would keep of a Triton kernel in an entry of a graph. That is
compiled for a GPU that need not be there.

Source: TritonBundler in torch/_inductor/triton_bundler.py.
"""

import base64
import pickle
import warnings

warnings.simplefilter("ignore")

import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from torch._inductor.runtime import triton_helpers, triton_heuristics  # noqa: E402
from torch._inductor.runtime.hints import DeviceProperties  # noqa: E402

DEVICE = DeviceProperties(
    type="cuda", index=0, multi_processor_count=132, cc=90, major=9, regs_per_multiprocessor=65536,
    max_threads_per_multi_processor=2048, warp_size=32,
)  # fmt: skip


@triton_heuristics.pointwise(
    size_hints={"x": 1024},
    filename=__file__,
    triton_meta={
        "signature": {"x": "*fp32", "out": "*fp32", "xnumel": "i32", "XBLOCK": "constexpr"},
        "device": DEVICE, "constants": {}, "configs": [{}],
    },
    inductor_meta={
        "grid_type": "Grid1D", "autotune_hints": set(), "kernel_name": "kernel",
        "autotune_local_cache": True, "autotune_pointwise": True, "backend_hash": "A" * 64,
    },
    min_elem_per_thread=0,
)  # fmt: skip
@triton.jit
def kernel(x, out, xnumel, XBLOCK: tl.constexpr):  # noqa: N803
    at = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:]
    tl.store(out + at, tl.load(x + at, at < xnumel) * 2, at < xnumel)


# A process that compiles needs no driver; only one that launches does.
triton_helpers.set_driver_to_gpu = lambda: None
kernel.precompile(warm_cache_only=True)
assert {type(one).__name__ for one in kernel.compile_results} == {"StaticTritonCompileResult"}
kernel.prepare_for_pickle()
print(base64.b64encode(pickle.dumps(kernel)).decode())
