"""SGLang's own code, as ``tests.wheels`` has it: what it does with a graph that torch traces, on a
CPU. What of it is about GPUs is left out: it only says when its list is to be written.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from tests import wheels

needed = wheels.needed("sglang")
source = functools.partial(wheels.source, "sglang")

_COMPILATION = "sglang.srt.compilation"


def written(python: str, root: Path) -> tuple[Path, dict[str, int]]:
    """The folder of the key that a server of SGLang fills below ``root`` for a small model, under
    an interpreter with torch; and PyTorch's counters of its lookups.
    """
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    env = {**os.environ, "PYTHONPATH": path, "SGLANG_CACHE_DIR": str(root)}
    command = [python, "-c", "from tests.sglang import main; main()"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    counted: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    (made,) = (root / "torch_compile_cache").iterdir()
    return made, counted


def main() -> None:
    import torch
    from torch._dynamo.utils import counters

    torch.distributed.get_rank = lambda *_: 0
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh())
    compiled = torch.compile(model, backend=_backend(), fullgraph=True)
    x = torch.zeros(5, 4)
    torch._dynamo.maybe_mark_dynamic(x, 0)
    with torch.no_grad():
        assert compiled(x).shape == (5, 8)
    print(json.dumps(counters["inductor"]))


def environ() -> ModuleType:
    """sglang/srt/environ.py, with the variables of this process."""
    return _loaded("sglang.srt.environ")


def _backend() -> Any:
    """SGLangBackend of sglang/srt/compilation/backend.py."""
    import torch

    for name in ("sglang", "sglang.srt", _COMPILATION, "sglang.srt.utils"):
        sys.modules[name] = ModuleType(name)
    environ()
    release = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:3])
    _made("sglang.srt.utils.common", torch_release=release, is_npu=bool, is_xpu=bool)
    platform = SimpleNamespace(get_piecewise_backend_cls=lambda: _Piecewise)
    _made("sglang.srt.platforms", current_platform=platform)
    _made("sglang.srt.platforms.interface", require_out_of_tree_impl=None)
    for name in ("compilation_config", "compilation_counter", "inductor_pass", "pass_manager",
                 "compiler_interface"):  # fmt: skip
        _loaded(f"{_COMPILATION}.{name}")
    for name in ("CUDA", "NPU", "XPU"):
        about = {f"{name}PiecewiseBackend": None}
        _made(f"{_COMPILATION}.{name.lower()}_piecewise_backend", **about)
    config = sys.modules[f"{_COMPILATION}.compilation_config"].__dict__["CompilationConfig"]
    backend = _loaded(f"{_COMPILATION}.backend").__dict__["SGLangBackend"]
    return backend(config([8], "inductor"), object())


class _Piecewise:
    """As CUDAPiecewiseBackend, less CUDA's graphs: whoever runs the last piece writes the list."""

    def __init__(self, *given: Any) -> None:
        *_, index, total, _, self._compiled, self._backend = given
        self._is_last = index == total - 1

    def __call__(self, *inputs: object) -> object:
        if self._is_last:
            self._backend.compiler_manager.save_to_file()
        return self._compiled(*inputs)


def _made(name: str, **given: object) -> None:
    made = ModuleType(name)
    made.__dict__.update(given)
    sys.modules[name] = made


def _loaded(name: str) -> ModuleType:
    path = name.replace(".", "/") + ".py"
    made = ModuleType(name)
    made.__dict__["__file__"] = f"/{path}"
    sys.modules[name] = made
    exec(compile(source(path), path, "exec", dont_inherit=True), made.__dict__)
    return made
