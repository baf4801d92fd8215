"""What a probe says, with torch, without, and with a broken one."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import torchkeeper
from tests.settings.conftest import Torch
from torchkeeper.verdict import environment

APP = str(Path(torchkeeper.__file__).resolve().parent.parent)
FIELDS = {
    "python", "executable", "platform", "machine", "cpu", "threads", "torch", "torch_git",
    "triton", "cuda", "hip", "cxx", "cache_dir", "devices",
    "torch_key", "triton_key", "triton_libs", "system", "key_factors", "caches", "remote",
    "autograd",
    "vector", "vector_bits", "cpu_capability", "cpu_flags", "libc", "native",
    "driver", "settings",
}  # fmt: skip
PROBE = (
    "import json, sys; sys.path.insert(0, sys.argv[1]); "
    "from torchkeeper.verdict.environment import probe; print(json.dumps(probe()))"
)


def probe_of(python: str, *options: str, **env: str) -> dict[str, Any]:
    done = subprocess.run(
        [python, *options, "-c", PROBE, APP],
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=True,
    )
    facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return facts


@pytest.fixture(scope="module")
def probed(torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an interpreter with torch said; ``left`` is what that left in its temporary folder."""
    folder = tmp_path_factory.mktemp("probed")
    (folder / "tmp").mkdir()
    # One of AOTAutograd's settings is made another, one is said to be as it is.
    settings = {"AOT_PARTITIONER_DEBUG": "1", "TORCHINDUCTOR_AUTOGRAD_CACHE": "1"}
    settings |= {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"), "TMPDIR": str(folder / "tmp")}
    facts = probe_of(torch_python, **settings)
    assert facts["cache_dir"] == str(folder / "cache")
    assert not (folder / "cache").exists()
    return {**facts, "left": list((folder / "tmp").iterdir())}


@pytest.mark.torch
def test_with_torch(probed: dict[str, Any]) -> None:
    facts = dict(probed)
    assert facts.pop("left") == []
    assert set(facts) == FIELDS
    assert facts["torch"].count(".") >= 2
    assert facts["torch_git"]
    assert facts["threads"] >= 1
    assert facts["cxx"]["path"]
    assert facts["caches"] == {"fxgraph": True, "aotautograd": True}
    assert facts["autograd"] == {"debug_partitioner": "True"}
    assert len(facts["key_factors"]) > 300
    # torch 2.13 has the number of threads in its keys, older ones have not.
    in_keys = facts["key_factors"].get("cpp_runtime_thread_count")
    assert in_keys is None or in_keys[1] == str(facts["threads"])
    if in_keys is None:
        assert tuple(map(int, facts["torch"].split(".")[:2])) < (2, 13)
    assert facts["triton_key"].startswith(facts["triton"])
    assert facts["devices"][-1]["type"] == "cpu"


@pytest.mark.slow
@pytest.mark.torch
def test_no_factor_is_asked_of_a_torch_that_does_not_know_it(torch: Torch) -> None:
    """Older ones are not called with ``get_decomp_fn``: no key of theirs has it."""
    forget = "from torch._inductor import compile_fx\n"
    forget += "compile_fx._CompileFxKwargs.__annotations__.pop('get_decomp_fn', None)\n"
    probe = f"import sys\nsys.path.insert(0, {str(APP)!r})\n"
    probe += "from torchkeeper.verdict import constants\ntold['found'] = constants.constants()"
    found = torch({}, "code", code=forget + probe).told["told"]["found"]
    assert "fx_kwargs[cpp_wrapper]" in found
    assert "fx_kwargs[get_decomp_fn]" not in found


@pytest.mark.torch
def test_it_names_what_torch_built(probed: dict[str, Any], filled: Path) -> None:
    """Whatever PyTorch built for a program has a name that one of the commands gives it."""
    native = probed["native"]
    same = ("torch", "torch_key", "threads", "cpu_flags", "libc")
    assert {name: native[name] for name in same} == {name: probed[name] for name in same}
    assert native["compiler"] == probed["cxx"]["version"]
    objects = sorted(filled.glob("*/*.so"))
    assert objects
    for built in objects:
        source = built.with_suffix(".cpp").read_bytes().strip()
        names = {
            base64.b32encode(hashlib.sha256(source + b"||" + command["extra"].encode()).digest())
            for command in native["commands"]
            if (command["what"] == "kernel") == built.name.endswith(".main.so")
        }
        assert built.name[1:52] in {name[:51].decode().lower() for name in names}, built
    for command in native["commands"]:
        assert command["portable"] != command["extra"]
        assert str(Path(probed["executable"]).parent.parent) not in command["portable"]


def test_without_torch() -> None:
    facts = probe_of(sys.executable, "-S")
    assert set(facts) == FIELDS
    missing = ("torch", "triton", "cuda", "hip", "threads", "native")
    assert [facts[key] for key in missing] == [None] * 6
    assert facts["cpu_flags"]
    assert facts["devices"] == [{"type": "cpu", "name": facts["cpu"], "arch": facts["machine"]}]


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("raise ImportError('libcudart.so.12:\\nnot found')", "ImportError: libcudart.so.12:"),
        ("", "ImportError: the package has no version"),
        ("1/0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_broken_torch_is_none_and_said(tmp_path: Path, source: str, said: str) -> None:
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(source)
    facts = probe_of(sys.executable, PYTHONPATH=str(tmp_path))
    assert facts["torch"] is None
    assert facts["torch_error"] == said


def fake(hip: str | None) -> Any:
    properties = SimpleNamespace(
        major=9, minor=0, gcnArchName="gfx942:sramecc+:xnack-",
        total_memory=85017493504, warp_size=32,
    )  # fmt: skip
    cuda = SimpleNamespace(
        is_available=lambda: True,
        device_count=lambda: 1,
        get_device_name=lambda _: "Fast",
        get_device_properties=lambda _: properties,
    )
    return SimpleNamespace(cuda=cuda, version=SimpleNamespace(hip=hip))


def test_gpus_by_their_architecture() -> None:
    more = {"memory": 85017493504, "warp": 32}
    assert environment._accelerators(fake(None)) == [
        {"type": "cuda", "name": "Fast", "arch": "90", **more}
    ]
    assert environment._accelerators(fake("6.4")) == [
        {"type": "hip", "name": "Fast", "arch": "gfx942", **more}
    ]


def test_the_compiler_that_torch_would_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "c++"
    compiler.write_text("#!/bin/sh\necho mine 1.0\necho more\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    assert environment.compiler() == {"path": str(compiler), "version": "mine 1.0"}
    monkeypatch.setenv("CXX", "/nowhere/g++")
    assert environment.compiler() is None
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert environment.compiler() is None


def test_the_default_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    assert os.path.basename(environment.cache_dir()).startswith("torchinductor_")
