"""What was made for a GPU of AMD's says so, though torch calls that "cuda"."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.conftest import DATA, once
from tests.data.pickles import made, pickled
from tests.stores.test_copying import carry
from torchkeeper.artifacts import builds
from torchkeeper.artifacts.entry import Entry
from torchkeeper.artifacts.layout import payload_path
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.names import scheme_of
from torchkeeper.stores.query import parse
from torchkeeper.stores.reader import Reader
from torchkeeper.verdict import judging
from torchkeeper.verdict.probed import Env

ENVIRONMENTS: dict[str, Env] = json.loads((DATA / "environments.json").read_text())
FX, AOT, MODULE = "f" + "a" * 51, "a" * 52, "c" + "b" * 51

#: A module as PyTorch generates it, with a kernel of Triton's (PythonWrapperCodegen and
#: TritonKernel in torch/_inductor/codegen).
SOURCE = """# AOT ID: ['0_inference']
async_compile = AsyncCompile()

triton_poi_fused_relu_0 = async_compile.triton('triton_poi_fused_relu_0', '''
@triton_heuristics.pointwise(
    triton_meta={{'signature': {{'in_ptr0': '*fp32'}}, 'device': DeviceProperties(type='{}',
    index=0, multi_processor_count=104, cc='{}', major=9, warp_size=64), 'constants': {{}}}},
)
@triton.jit
def triton_poi_fused_relu_0(in_ptr0, xnumel, XBLOCK : tl.constexpr):
    pass
''', device_str='cuda')

def call(args):
    buf0 = empty_strided_cuda((8, ), (1, ), torch.float32)
"""
WITHOUT_KERNELS = """# AOT ID: ['0_inference']
def call(args):
    buf0 = empty_strided_cuda((8, 8), (8, 1), torch.float32)
    extern_kernels.mm(arg0_1, arg1_1, out=buf0)
"""


def graph(source: str, system: str = "", version: str = "2.13.0") -> bytes:
    """A pickle of the fields of a graph that torch made for what it calls "cuda". It is inert:
    there is no function in it.
    """
    fields = {
        "source_code": source,
        "device_types": {"cuda"},
        "cache_key": MODULE,
        "runnable_graph_str": f"# torch version: {version}\n",
        "_fx_graph_cache_key": FX,
        "_fx_graph_cache_debug_lines": [f"[abc] system_info[version]: {system}"] if system else [],
        "fx_kwargs": {},
    }
    return pickled(made("torch._inductor.output_code", "CompiledFxGraph", fields))


def autograd() -> bytes:
    """A pickle of the fields of an AOTAutograd entry that needs that graph."""
    module = "torch._functorch._aot_autograd.aot_autograd_result"
    half = made(module, "CompiledForward", {"fx_graph_cache_info": (FX, [])})
    fields = {"compiled_fw": half, "compiled_bw": None, "guards_expr": None}
    return pickled(half, made(module, "AOTAutogradResult", fields))


def write(cache: Path, kind: str, key: str, data: bytes) -> None:
    path = cache / payload_path(kind, key, hashlib.sha256(data).hexdigest())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def cache_of(cache: Path, source: str, payload: bytes) -> Path:
    """A cache with a graph, what AOTAutograd made of it, and its module."""
    write(cache, "fxgraph", FX, payload)
    write(cache, "aotautograd", AOT, autograd())
    (cache / MODULE[1:3]).mkdir()
    (cache / MODULE[1:3] / f"{MODULE}.py").write_text(source)
    return cache


def entries(place: Path) -> list[Entry]:
    store = scheme_of(str(place)).opened(str(place), Report())
    with Reader() as reader:
        batches = store.read(store.items(Report()), reader, Report())
        found = [one.entry for batch in batches for one in batch]
    store.close()
    return found


@pytest.mark.parametrize(
    ("source", "system", "version", "device"),
    [
        (SOURCE.format("hip", "gfx90a"), "", "2.13.0", "hip"),
        (WITHOUT_KERNELS, "{'triton': '3.7.1', 'hip': '6.4.1'}", "2.13.0", "hip"),
        (WITHOUT_KERNELS, "", "2.13.0+rocm6.4", "hip"),
        (SOURCE.format("cuda", "90"), "{'triton': '3.7.1', 'cuda': '12.8'}", "2.13.0", "cuda"),
        (WITHOUT_KERNELS, "", "2.13.0", "cuda"),
    ],
)
def test_a_graph_and_all_of_it_is_for_the_gpu_that_it_was_made_for(
    tmp_path: Path, source: str, system: str, version: str, device: str
) -> None:
    cache = cache_of(tmp_path / "c", source, graph(source, system, version))
    found = entries(cache)
    assert [(one.kind, one.device, one.problem) for one in found] == [
        (kind, device, None) for kind in ("fxgraph", "aotautograd", "code")
    ]
    hip = parse("device:hip")
    assert [hip.matches(one) for one in found] == [device == "hip"] * 3


def test_a_graph_of_several_devices_is_found_by_each(tmp_path: Path) -> None:
    text = graph(SOURCE.format("hip", "gfx90a"))
    [one, *_] = entries(cache_of(tmp_path / "c", WITHOUT_KERNELS, text))
    both = one._replace(device="cpu,cuda")
    for wanted, expected in (("cpu", True), ("cuda", True), ("hip", False), ("u", False)):
        assert parse(f"device:{wanted}").matches(both) is expected


@pytest.mark.parametrize(
    ("device", "machine", "verdict"),
    [
        ("hip", "H100", "stale"),
        ("hip", "none", "stale"),
        ("hip", "MI300X", "unknown"),
        ("cpu,hip", "H100", "stale"),
        ("cuda", "H100", "unknown"),
        ("cuda", "none", "stale"),
        # Which GPU is meant by "cuda" alone, only a CUDA torch or a ROCm torch could say.
        ("cuda", "MI300X", "unknown"),
    ],
)
def test_a_graph_for_another_sort_of_gpu_is_stale(device: str, machine: str, verdict: str) -> None:
    env = ENVIRONMENTS[machine]
    said = judging.graph(env["torch"], device, [], env)
    assert said.verdict == verdict
    if verdict == "stale":
        [reason] = [one for one in said.reasons if one.factor == "device"]
        assert reason.entry == device.rpartition(",")[2]
        assert "hip" not in (reason.here or "")


@pytest.fixture(scope="module")
def helpers(shared: Path, torch_python: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Triton's own cache with what Triton builds for itself. Not to be changed."""

    def build(folder: Path) -> None:
        env = {**os.environ, "TRITON_CACHE_DIR": str(folder)}
        driver = str(tmp_path_factory.mktemp("driver"))
        script = [torch_python, str(DATA / "triton_helpers.py"), driver]
        done = subprocess.run(script, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    return once(shared, "triton-helpers", build)


@pytest.mark.slow
def test_what_triton_builds_for_itself_says_for_which_gpu(helpers: Path, tmp_path: Path) -> None:
    found = {(one.name, one.device) for one in entries(helpers)}
    assert found == {
        ("cuda_utils (launcher)", "cuda"),
        ("hip_utils (launcher)", "hip"),
        ("__triton_launcher (launcher)", "cuda"),
        ("__triton_launcher (launcher)", "hip"),
    }
    # The same in a bundle, and for whoever copies by the device.
    carry(helpers, tmp_path / "b.torchcache")
    assert {(one.name, one.device) for one in entries(tmp_path / "b.torchcache")} == found
    for one in entries(helpers):
        for env in ENVIRONMENTS.values():
            here = {device["type"] for device in env["devices"]}
            said = judging.other(one, {"helper": True}, env)
            assert said.verdict == ("unknown" if one.device in here else "stale")
            assert ("device" in {r.factor for r in said.reasons}) == (one.device not in here)


def test_an_object_that_says_nothing_is_for_none(kept_291: Path) -> None:
    for path in kept_291.glob("*/*.so"):
        assert builds.backend(path.read_bytes()) is None
    assert builds.backend(b"libamdhip64.so") is None
    assert builds.backend(b"") is None
    both = b"\x7fELF libamdhip64.so libcuda.so.1"
    assert builds.backend(both) is None
