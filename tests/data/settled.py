"""Real torch under the variables of one case after another, each in a process of its own.

Everything is imported once; each case is a fork that has its variables only, and in which PyTorch's
configuration modules are run again, so that they read them as at the start of a program. Lines of
JSON in: {"env": {…}, "do": name, …}; lines of JSON out: what the functions below tell.
"""

from __future__ import annotations

import gc
import io
import json
import logging
import os
import sys
import tempfile
import types
import warnings
from contextlib import redirect_stdout

warnings.simplefilter("ignore")

import torch  # noqa: E402
import torch._dynamo  # noqa: E402
import torch._dynamo.pgo  # noqa: E402
import torch._functorch._aot_autograd.autograd_cache  # noqa: E402
import torch._inductor.compile_fx  # noqa: E402
import torch._inductor.remote_cache  # noqa: E402
import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from torch._dynamo.utils import counters  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402

CONFIGS = (
    "torch.compiler.config",
    "torch._dynamo.config",
    "torch._functorch.config",
    "torch._inductor.config",
)
_FOREIGN = ("TORCH", "TRITON", "OMP_", "REDIS")


def read_again(names=CONFIGS):
    """Run configuration modules as if they were imported now; modules that have them keep them."""
    for name in names:
        module = sys.modules[name]
        types.ModuleType.__setattr__(module, "__class__", types.ModuleType)
        for key in [k for k in vars(module) if not (k.startswith("__") and k.endswith("__"))]:
            del vars(module)[key]
        module.__spec__.loader.exec_module(module)


def product(x, y):
    return x @ y


def attribute(dotted):
    """The value of a configuration attribute, as text where JSON has no such value."""
    found = sys.modules[dotted.split(".")[0]]
    for name in dotted.split(".")[1:]:
        found = getattr(found, name)
    return found if found is None or isinstance(found, (bool, int, str)) else repr(found)


def configs(case):
    """What the attributes come to, and whether what a program sets there stays."""
    found, stays = {}, {}
    for dotted in case["attributes"]:
        try:
            found[dotted] = attribute(dotted)
        except Exception as error:  # noqa: BLE001
            found[dotted] = f"{type(error).__name__}: {error}"
        if case.get("program"):
            owner, _, name = dotted.rpartition(".")
            parent = sys.modules.get(owner) or getattr(sys.modules["triton.knobs"],
                                                       owner.split(".")[-1])  # fmt: skip
            setattr(parent, name, case["program"].get(dotted))
            try:
                stays[dotted] = getattr(parent, name) == case["program"].get(dotted)
            except Exception:  # noqa: BLE001
                stays[dotted] = None
    return {"values": found, "stays": stays}


def compiled(case):
    """Compile a product of matrices, which needs no C++ compiler; backward: its gradient, too."""
    size = int(case.get("size", 4))
    x = torch.ones(size, size, requires_grad=bool(case.get("backward")))
    function = torch.compile(product)
    result = function(x, torch.ones(size, size))
    if case.get("backward"):
        result.sum().backward()
    if case.get("more"):  # other sizes: what a profile is about
        for other in range(size + 1, size + 3):
            function(torch.ones(other, other), torch.ones(other, other))
    torch._dynamo.pgo.put_code_state()
    return {"result": result[0, 0].item()}


@triton.jit
def double(x, n, block: tl.constexpr):
    offsets = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(x + offsets, 2 * tl.load(x + offsets, offsets < n), offsets < n)


def kernel(case):
    """Compile a kernel for a GPU that need not be there."""
    types_ = {"x": "*fp32", "n": "i32", "block": "constexpr"}
    source = triton.compiler.ASTSource(double, types_, {(2,): 128})
    seen = []
    triton.knobs.compilation.listener = lambda **about: seen.append(about["cache_hit"])
    triton.compile(source, target=GPUTarget("cuda", case.get("arch", 90), 32))
    return {"hits": seen}


def tuner(case):
    """Whether triton.autotune would keep what it finds."""

    @triton.autotune(configs=[triton.Config({})], key=[])
    @triton.jit
    def nothing():
        pass

    return {"keeps": nothing.cache_results}


def code(case):
    """Run some Python; what it leaves in ``told`` is told."""
    told = {}
    exec(case["code"], {"torch": torch, "told": told, "product": product, "os": os})
    return {"told": told}


DO = {one.__name__: one for one in (configs, compiled, kernel, tuner, code)}


def run(case):
    for name in [n for n in os.environ if n.startswith(_FOREIGN)]:
        del os.environ[name]
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    os.environ.update(case["env"])
    tempfile.tempdir = None
    if case.get("cwd"):
        os.chdir(case["cwd"])
    told = {}
    try:
        read_again()
        with redirect_stdout(io.StringIO()):
            told.update(DO[case["do"]](case))
    except BaseException as error:  # noqa: BLE001
        told["error"] = f"{type(error).__name__}: {error}"
    told["counters"] = {name: dict(some) for name, some in counters.items()}
    told["remote"] = {
        name: vars(one) for name, one in torch._inductor.remote_cache.cache_stats._stats.items()
    }
    return told


def main():
    # What is imported late, and what PyTorch finds out once, is there for all cases.
    torch.compile(lambda x: x @ x)(torch.ones(2, 2))
    kernel({})
    torch._dynamo.reset()
    torch._dynamo.pgo.reset_code_state()
    counters.clear()
    torch._inductor.remote_cache.cache_stats._stats.clear()
    logging.raiseExceptions = False
    gc.collect()
    gc.freeze()  # no case is to go through all that, and copy it
    gc.disable()
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as told:
            child = os.fork()
            if not child:
                os.dup2(said.fileno(), 2)
                os.dup2(said.fileno(), 1)
                try:
                    told.write(json.dumps(run(json.loads(line))).encode())
                    told.flush()
                finally:
                    os._exit(0)
            _, status = os.waitpid(child, 0)
            told.seek(0)
            said.seek(0)
            answer = json.loads(told.read() or "{}")
            answer["said"] = said.read().decode(errors="replace")
            answer["status"] = status
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    os._exit(0)  # there is nothing to put away


if __name__ == "__main__":
    main()
