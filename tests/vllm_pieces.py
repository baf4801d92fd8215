"""vLLM's own manager of compiled pieces, without the rest of it: has a graph compiled and kept, or
takes it from where it lies. A program, for an interpreter that has torch: ``save FOLDER`` or
``load FOLDER``, of a part of a model; prints what the graph comes to.
"""

from __future__ import annotations

import collections.abc
import contextlib
import dataclasses
import logging
import os
import sys
import typing
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

from tests.vllm import envs, source, taken

_BACKENDS, _INTERFACE = "vllm/compilation/backends.py", "vllm/compilation/compiler_interface.py"


def manager(folder: Path) -> tuple[Any, Any]:
    """A CompilerManager that has its pieces in a folder, and the Range class that it knows."""
    import ast
    import copy
    import pprint
    import time

    import torch

    version, counter = ModuleType("vllm.utils.torch_version"), ModuleType("counter")
    exec(source("vllm/utils/torch_version.py"), version.__dict__)
    packages = {name: ModuleType(name) for name in ("vllm", "vllm.utils")}
    sys.modules |= {**packages, version.__name__: version}  # which vllm/envs.py asks
    sys.modules["counter"] = counter  # where its dataclass looks for its types
    exec(source("vllm/compilation/counter.py"), counter.__dict__)
    os.environ |= {"VLLM_USE_MEGA_AOT_ARTIFACT": "0", "VLLM_USE_STANDALONE_COMPILE": "1"}
    given: dict[str, Any] = {
        **vars(typing), **vars(collections.abc), **vars(contextlib), **vars(version),
        "__name__": __name__, "contextlib": contextlib, "dataclass": dataclasses.dataclass,
        "patch": mock.patch,
        "os": os, "ast": ast, "copy": copy, "pprint": pprint, "time": time, "torch": torch,
        "envs": envs(), "compilation_counter": counter.__dict__["compilation_counter"],
        "logger": _Logger("vllm"), "instrument": lambda **_: lambda method: method,
        # What is patched there is of another compiler's backward.
        "_apply_constrain_to_fx_strides_patch": lambda: None,
    }  # fmt: skip
    given |= taken("vllm/config/utils.py", "Range", given=given)
    given |= taken("vllm/compilation/passes/inductor_pass.py", "PassContext", "pass_context",
                   given=given | {"_pass_context": None})  # fmt: skip
    given |= taken(
        _INTERFACE, "CompilerInterface", "InductorStandaloneAdaptor", "InductorAdaptor",
        "EagerAdaptor", "is_compile_cache_enabled", "set_inductor_config", "set_functorch_config",
        "_get_vllm_functorch_config", given=given,
    )  # fmt: skip
    given |= taken(_BACKENDS, "CompilerManager", "make_compiler", "StopCompiling", given=given)
    config = SimpleNamespace(
        backend="inductor", compile_cache_save_format="binary", use_inductor_graph_partition=False
    )
    made = given["CompilerManager"](config, use_aot_compile=True)
    made.initialize_cache(str(folder), prefix=folder.name)
    return made, given["Range"]


class _Logger(logging.Logger):
    def debug_once(self, *_: object) -> None:
        pass


def main() -> None:
    import torch

    what, folder = sys.argv[1], Path(sys.argv[2])
    graphs: list[Any] = []

    def capture(graph: Any, inputs: Any) -> Any:
        graphs.append((graph, inputs))
        return graph

    x = torch.arange(8, dtype=torch.float32)
    torch.compile(lambda x: (x * 2).tanh(), backend=capture)(x)
    ((graph, inputs),) = graphs
    made, range_ = manager(folder)
    if what == "save":
        with torch._functorch.config.patch(bundled_autograd_cache=False):
            done = made.compile(graph, inputs, {}, made.compilation_config, range_(8, 8))
        made.save_to_file()
    else:
        done = made.load(graph, inputs, 0, range_(8, 8))
        assert done is not None, "it is not in the list"
    (result,) = done(x)
    print(result.tolist())


if __name__ == "__main__":
    main()
