"""vLLM's own code, as ``tests.wheels`` has it: modules that need no GPU are loaded whole, of others
single functions and classes.
"""

from __future__ import annotations
import __future__

import ast
import dataclasses
import enum
import functools
import hashlib
import importlib.util
import json
import logging
import os
import pathlib
import pprint
import struct
import subprocess
import sys
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from types import MappingProxyType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple
from unittest import mock

from tests import wheels

needed = wheels.needed("vllm")
source = functools.partial(wheels.source, "vllm")


@functools.cache
def envs() -> ModuleType:
    """vllm/envs.py, which loads what it needs of the package only where it is asked."""
    spec = importlib.util.spec_from_loader("vllm_envs", loader=None)
    assert spec is not None
    made = importlib.util.module_from_spec(spec)
    made.__dict__["__file__"] = "/vllm/envs.py"
    sys.modules["vllm_envs"] = made
    exec(compile(source("vllm/envs.py"), "vllm/envs.py", "exec"), made.__dict__)
    return made


def ignored() -> set[str]:
    """What compile_factors leaves out."""
    for node in ast.walk(ast.parse(source("vllm/envs.py"))):
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "ignored_factors":
            assert node.value is not None
            return set(ast.literal_eval(node.value))
    raise AssertionError("vLLM calls them something else")


def taken(path: str, *names: str, given: Mapping[str, object]) -> dict[str, Any]:
    """Functions and classes of a module, as they are, in a module that has what is ``given``."""
    tree = ast.parse(source(path))
    every = (node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef)))
    kept = [node for node in every if node.name in names]
    assert {node.name for node in kept} == set(names), f"{path} has not all of {names}"
    made: dict[str, Any] = dict(given)
    flags = __future__.annotations.compiler_flag
    exec(compile(ast.Module(list(kept), []), path, "exec", flags, dont_inherit=True), made)
    return made


class Start(NamedTuple):
    """A server: where its caches are, its variables, the hash of its configuration, and the files
    that torch traces, with their texts.
    """

    root: str
    env: Mapping[str, str]
    config: str = "cafe"
    traced: Mapping[str, str] = MappingProxyType({})


def written(python: str, starts: Sequence[Start]) -> list[Path]:
    """The folders of the keys of some servers, as vLLM's own code names and fills them until it has
    written the factors, under an interpreter that has torch.
    """
    told = json.dumps([one._replace(traced=dict(one.traced)) for one in starts])
    command = [python, "-c", "from tests.vllm import main; main()"]
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    done = subprocess.run(command, input=told, capture_output=True, text=True, check=False,
                          env={**os.environ, "PYTHONPATH": path})  # fmt: skip
    assert done.returncode == 0, done.stderr
    return list(map(Path, json.loads(done.stdout)))


def main() -> None:
    made = []
    for start in json.load(sys.stdin):
        one = Start(*start)
        for path, text in one.traced.items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text(text)
        made.append(str(_written(Path(one.root), one.env, one.config, list(one.traced))))
    print(json.dumps(made))


def _written(root: Path, env: Mapping[str, str], config: str, traced: list[str]) -> Path:
    import torch

    utils = ModuleType("vllm.config.utils")
    of_utils = {"enum": enum, "pathlib": pathlib, "torch": torch, "json": json, "hashlib": hashlib,
                "fields": dataclasses.fields, "is_dataclass": dataclasses.is_dataclass,
                "Mapping": Mapping, "Set": Set, "Sequence": Sequence}  # fmt: skip
    names = "normalize_value", "hash_factors"
    utils.__dict__.update(taken("vllm/config/utils.py", *names, given=of_utils))
    version = ModuleType("vllm.utils.torch_version")
    exec(source("vllm/utils/torch_version.py"), version.__dict__)
    modules = {one.__name__: one for one in (utils, version)}
    modules |= {name: ModuleType(name) for name in ("vllm", "vllm.config", "vllm.utils")}
    given: dict[str, Any] = {
        "os": os, "json": json, "hashlib": hashlib, "pprint": pprint, "envs": envs(),
        "partial": functools.partial, "lazy": str, "logger": logging.getLogger("vllm"),
        "is_compile_cache_enabled": lambda _: True, "hash_factors": utils.__dict__["hash_factors"],
    }  # fmt: skip
    exec(compile(_beginning(), "vllm/compilation/backends.py", "exec", dont_inherit=True), given)
    own = {**env, "VLLM_CACHE_ROOT": str(root)}
    rest = envs().environment_variables.keys() - own.keys()
    mine = {name: text for name, text in os.environ.items() if name not in rest}
    before = set(root.glob("torch_compile_cache/*"))
    with mock.patch.dict(sys.modules, modules), mock.patch.dict(os.environ, mine | own, clear=True):
        given["begin"](_server(config, traced))
    (made,) = set(root.glob("torch_compile_cache/*")) - before
    return made


def _beginning() -> ast.Module:
    """The method until it has written the factors, as a function."""
    found = [node for node in ast.walk(ast.parse(source("vllm/compilation/backends.py")))
             if isinstance(node, ast.ClassDef) and node.name == "VllmBackend"]  # fmt: skip
    (call,) = (x for x in found[0].body if isinstance(x, ast.FunctionDef) and x.name == "__call__")
    texts = [ast.unparse(node) for node in call.body]
    start = next(n for n, text in enumerate(texts) if text.startswith("vllm_config = "))
    end = next(n for n, text in enumerate(texts) if "cache_key_factors.json" in text)
    call.name, call.decorator_list, call.returns = "begin", [], None
    call.args = ast.arguments([], [ast.arg("self")], None, [], [], None, [])
    call.body = call.body[start : end + 1]
    return ast.fix_missing_locations(ast.Module([call], []))


def _server(config: str, traced: list[str]) -> SimpleNamespace:
    parallel = SimpleNamespace(rank=0, data_parallel_index=0)
    compilation = SimpleNamespace(cache_dir="", traced_files=set(traced))
    manager = SimpleNamespace(compute_hash=lambda _: "c0ffee0000", initialize_cache=lambda *_: None)
    vllm_config = SimpleNamespace(
        compute_hash=lambda: config, parallel_config=parallel, speculative_config=None
    )
    return SimpleNamespace(
        vllm_config=vllm_config, compilation_config=compilation, compiler_manager=manager,
        prefix="backbone", inductor_config={}, _log_prefix=str,
        _log_compilation_config=lambda: None,
    )  # fmt: skip


#: A graph as print_readable of torch.fx writes it, with the lines that it came from.
GRAPH = """\
from __future__ import annotations
import torch
class GraphModule(torch.nn.Module):
    def forward(self, x):
        # File: {packages}/vllm/model_executor/models/llama.py:371 in forward, code: x = f(x)
        y = x.sin()
        # File: {packages}/vllm/model_executor/layers/layernorm.py:64 in f, code: return x
        return y
"""


#: How a piece begins: a checksum, the length of a name, and that.
PIECE = bytes(4) + struct.pack(">Q", 21) + b"CacheCompiledArtifact"


def tree(
    root: Path,
    env: Mapping[str, str],
    config: str = "cafe",
    code: str = "beef",
    ranks: Sequence[str] = ("rank_0_0",),
    packages: str = "/opt/lib/python3.12/site-packages",
    **others: object,
) -> Path:
    """The folder of a key, laid out as vLLM does it, of a server of vllm.VERSION with these
    variables; others: values besides those that it has. Of its pieces there is but the beginning.
    """
    from torchkeeper.artifacts.vllm import Factors, folder, text_of
    from torchkeeper.settings import vllm

    values = {name: vllm.value(name, env) or "true" for name in vllm.hashed()}
    values |= {name: text_of(value) for name, value in others.items()}
    made = root / "torch_compile_cache" / folder(Factors(values, config, code, "c0ffee0000"))
    plain = {name: json.loads(text) for name, text in values.items()}
    about = {"env": plain, "config_hash": config, "code_hash": code, "compiler_hash": "c0ffee0000"}
    for rank in ranks:
        part = made / rank / "backbone"
        part.mkdir(parents=True)
        (part / "cache_key_factors.json").write_text(json.dumps(about, indent=2, sort_keys=True))
        (part / "computation_graph.py").write_text(GRAPH.format(packages=packages))
        index = {}
        for low, high, number in ((1, 8192, 0), (1, 8192, 1), (16, 16, 0)):
            name = f"artifact_compile_range_{low}_{high}_subgraph_{number}"
            (part / name).write_bytes(PIECE + f"{rank} {name}".encode())
            handle = {"graph_handle": (name, str(part / name)), "cache_key": "a"}
            index[((low, high), number, "inductor_standalone")] = handle
        text = pprint.PrettyPrinter(indent=4).pformat(index)
        (part / "vllm_compile_cache.py").write_text(text)
    return made
