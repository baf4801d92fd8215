"""Two ranks compile the same function, and agree on whether AOTAutograd's entry is taken.

``two_ranks.py FOLDER``, with torch 2.15 or later: rank 0 has the entry in the cache
``FOLDER/cache-0`` and drops it, as rank 1, with the empty ``FOLDER/cache-1``, has not. Their traces
are ``FOLDER/trace-0`` and ``-1``; what they counted is printed as JSON.
"""

import json
import os
import subprocess
import sys


def compile_it() -> dict[str, int]:
    """Compile in this process; what AOTAutograd counted."""
    import torch
    from torch._dynamo.utils import counters

    torch._functorch.config._sync_cache_decision_cross_ranks = True
    if (rank := os.environ.get("RANK")) is not None:
        store = f"file://{os.environ['STORE']}"
        torch.distributed.init_process_group("gloo", store, rank=int(rank), world_size=2)
    torch.compile(lambda x, y: x @ y)(torch.ones(4, 4), torch.ones(4, 4))
    if rank is not None:
        torch.distributed.destroy_process_group()
    return dict(counters["aot_autograd"])


def start(folder: str, rank: int, *, alone: bool = False) -> "subprocess.Popen[str]":
    """Start one rank, or a process without others."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("TORCH")}
    env |= {"TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, f"cache-{rank}")}
    if not alone:
        env |= {"RANK": str(rank), "STORE": os.path.join(folder, "store"),
                "TORCH_TRACE": os.path.join(folder, f"trace-{rank}")}  # fmt: skip
    command = [sys.executable, __file__]
    return subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE)


def main(folder: str) -> None:
    """Fill the one cache, and have both ranks compile."""
    assert start(folder, 0, alone=True).wait() == 0
    ranks = [start(folder, rank) for rank in (0, 1)]
    told = [json.loads(one.communicate()[0].splitlines()[-1]) for one in ranks]
    print(json.dumps(told))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        print(json.dumps(compile_it()))
