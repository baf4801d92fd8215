"""What a probe says, with torch, without, and with a broken one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import torchkeeper
from torchkeeper.verdict import environment

APP = str(Path(torchkeeper.__file__).resolve().parent.parent)
FIELDS = {
    "python", "executable", "platform", "machine", "cpu", "threads", "torch", "torch_git",
    "triton", "cuda", "hip", "cxx", "cache_dir", "devices",
    "torch_key", "triton_key", "triton_libs", "system", "key_factors", "caches", "autograd",
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


@pytest.mark.torch
def test_with_torch(torch_python: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    # One of AOTAutograd's settings is made another, one is said to be as it is.
    settings = {"AOT_PARTITIONER_DEBUG": "1", "TORCHINDUCTOR_AUTOGRAD_CACHE": "1"}
    facts = probe_of(torch_python, TORCHINDUCTOR_CACHE_DIR=str(cache), **settings)
    assert set(facts) == FIELDS
    assert facts["torch"].count(".") >= 2
    assert facts["torch_git"]
    assert facts["threads"] >= 1
    assert facts["cxx"]["path"]
    assert facts["caches"] == {"fxgraph": True, "aotautograd": True}
    assert facts["autograd"] == {"debug_partitioner": "True"}
    assert len(facts["key_factors"]) > 300
    assert facts["key_factors"]["cpp_runtime_thread_count"][1] == str(facts["threads"])
    assert facts["devices"][-1]["type"] == "cpu"
    assert facts["cache_dir"] == str(cache)
    assert not cache.exists()


def test_without_torch() -> None:
    facts = probe_of(sys.executable, "-S")
    assert set(facts) == FIELDS
    assert [facts[key] for key in ("torch", "triton", "cuda", "hip", "threads")] == [None] * 5
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
