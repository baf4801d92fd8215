"""What programs keep of torch.compile besides caches: ``inspect`` says what is in it."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import struct
import zipfile
from pathlib import Path

import pytest

from tests.cli.conftest import Tk
from tests.hostile.zips import Member, packed
from torchkeeper.artifacts import forms
from torchkeeper.verdict import packaged
from torchkeeper.verdict.probed import Env

METADATA = {
    "AOTI_DEVICE_KEY": "cuda", "AOTI_PLATFORM": "linux", "AOTI_MACHINE": "x86_64",
    "AOTI_CPU_ISA": "AVX512", "AOTI_COMPUTE_CAPABILITY": "90",
}  # fmt: skip
CODE = """BACKEND = "inductor"
TRACER = "dynamo"
SERVING_MODE = "strict"

def call(args): ...
"""


def test_a_package_of_aotinductor(tk: Tk, kept_forms: Path) -> None:
    file = kept_forms / "model.pt2"
    ran = tk("inspect", file, "--json")
    assert ran.code == 0
    found = ran.objects[-1]["form"]
    assert (found["form"], found["device"]) == ("pt2", "cpu")
    assert found["holds"] == {"object": 1, "source": 2, "text": 7}
    (model,) = found["models"]
    assert (model["name"], model["machine"], model["platform"]) == ("model", "x86_64", "linux")
    assert "libtorch_cpu.so" in model["needs"]
    assert "AVX512" in model["isa"]
    # No package tells which torch built it.
    assert model["verdict"]["verdict"] in ("unknown", "unsafe")
    said = tk("inspect", file).out
    assert "package of AOTInductor" in said
    assert "its objects, when it is loaded: they are machine code" in said


def test_a_package_of_torch_export_is_not_compiled(tk: Tk, kept_forms: Path) -> None:
    ran = tk("inspect", kept_forms / "exported.pt2", "--json")
    found = ran.objects[-1]["form"]
    assert (found["form"], found["models"], found["holds"]["weights"]) == ("exported", [], 2)


def test_what_aot_compile_saved(tk: Tk, kept_forms: Path) -> None:
    ran = tk("inspect", kept_forms / "compiled", "--json")
    assert ran.code == 0
    found = ran.objects[-1]["form"]
    assert (found["form"], found["name"]) == ("aot-compile", "wave")
    assert (found["torch"], found["device"]) == ("2.13.0+cpu", "cpu")
    assert found["said"] == {"backend": "inductor"}
    assert found["strange"] == []
    assert found["verdict"]["verdict"] in ("conditional", "stale")


def test_what_is_precompiled_is_two_files_that_name_each_other(tk: Tk, tmp_path: Path) -> None:
    """As torch 2.15 documents them; made by hand."""
    code, cache = tmp_path / "model.py", tmp_path / "model.cache"
    code.write_text(CODE)
    digest = hashlib.sha256(CODE.encode()).hexdigest()
    cache.write_bytes(pickle.dumps({"format": "precompile", "version": 1, "code_hash": digest}))
    found = tk("inspect", code, "--json").objects[-1]["form"]
    assert found["form"] == "precompile"
    assert found["said"] == {
        "BACKEND": "inductor", "TRACER": "dynamo", "SERVING_MODE": "strict", "sha256": digest,
    }  # fmt: skip
    found = tk("inspect", cache, "--json").objects[-1]["form"]
    assert found["form"] == "precompile-cache"
    assert found["said"] == {"format": "precompile", "version": "1", "code_hash": digest}
    code.write_text("BACKEND = 'inductor'\n")
    assert tk("inspect", code).code == 1


class _Trap:
    """Runs a command when it is unpickled."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (self.command,)


def test_nothing_of_it_runs(tk: Tk, tmp_path: Path) -> None:
    trap, file = tmp_path / "sprung", tmp_path / "model"
    file.write_bytes(
        pickle.dumps({"original_code": _Trap(f"touch {trap}"), "backend_name": "inductor"})
    )
    found = tk("inspect", file, "--json").objects[-1]["form"]
    assert found["form"] == "aot-compile"
    assert found["strange"], "what torch never writes is told"
    assert "PyTorch never writes" in tk("inspect", file).out
    assert not trap.exists()


@pytest.mark.parametrize("metadata", [b"[" * 200_000, b"{}", b"\xff", b'{"AOTI_DEVICE_KEY": [1]}'])
def test_metadata_that_is_none_tells_nothing(tk: Tk, tmp_path: Path, metadata: bytes) -> None:
    file = tmp_path / "m.pt2"
    file.write_bytes(
        packed([
            Member(b"m/archive_format", b"pt2"),
            Member(b"m/data/aotinductor/model/a.wrapper_metadata.json", metadata),
            Member(b"m/data/aotinductor/model/a.wrapper.so", b"\x7fELF\x02\x01" + b"\xff" * 200),
        ])
    )  # fmt: skip
    ran = tk("inspect", file, "--json")
    assert ran.code == 0
    (model,) = ran.objects[-1]["form"]["models"]
    assert (model["device"], model["needs"]) == (None, [])


def test_a_package_that_is_a_trap_is_refused(tk: Tk, tmp_path: Path) -> None:
    mark, file = Member(b"m/archive_format", b"pt2"), tmp_path / "m.pt2"
    for bad in (
        Member(b"m/data/aotinductor/model/../../../x.so", b""),
        Member(b"m/data/aotinductor/model/a.so", b"\0" * (64 << 20), method=8),
        Member(b"m/archive_format", b"pt2"),
        Member(b"m/data/aotinductor/model/a.so", b"1", said={"offset": 1 << 30}),
    ):
        file.write_bytes(packed([mark, bad]))
        ran = tk("inspect", file)
        assert ran.code == 1, bad.name
        assert "m.pt2" in ran.err
    file.write_bytes(packed([Member(b"m/readme", b"none")]))
    assert tk("inspect", file).code == 1


def test_two_models_in_one_package_have_a_verdict_each(tk: Tk, tmp_path: Path) -> None:
    file = tmp_path / "m.pt2"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("m/archive_format", "pt2")
        for name, capability in (("a", "90"), ("b", "80")):
            about = json.dumps({**METADATA, "AOTI_COMPUTE_CAPABILITY": capability})
            archive.writestr(f"m/data/aotinductor/{name}/x.wrapper_metadata.json", about)
            archive.writestr(f"m/data/aotinductor/{name}/k.cubin", b"\x7fELF")
    found = tk("inspect", file, "--json").objects[-1]["form"]
    assert [one["capability"] for one in found["models"]] == ["90", "80"]
    assert found["holds"]["gpu"] == 2


def here() -> Env:
    return {
        "machine": "x86_64", "platform": "Linux-6.1", "vector": ["avx2"],
        "devices": [
            {"type": "cuda", "name": "NVIDIA H100", "arch": "90"},
            {"type": "cpu", "name": "cpu", "arch": None},
        ],
    }  # fmt: skip


def test_the_verdict_of_a_model() -> None:
    fits = packaged.model(METADATA, ["avx2"], here())
    assert (fits.verdict, [one.factor for one in fits.reasons]) == ("unknown", ["torch_version"])
    for name, value, factor in (
        ("AOTI_MACHINE", "aarch64", "machine"),
        ("AOTI_PLATFORM", "win32", "platform"),
        ("AOTI_DEVICE_KEY", "xpu", "device"),
        ("AOTI_COMPUTE_CAPABILITY", "80", "device"),
    ):
        said = packaged.model({**METADATA, name: value}, ["avx2"], here())
        assert (said.verdict, said.reasons[0].factor) == ("stale", factor)
    unsafe = packaged.model(METADATA, ["avx512f"], here())
    assert (unsafe.verdict, unsafe.reasons[0].factor) == ("unsafe", "vector instructions")
    # What nobody tells is not known.
    nothing = packaged.model({}, [None], {})
    assert nothing.verdict == "unknown"


@pytest.mark.parametrize("cut", [0, 6, 40, 63, 64, 100, 1000])
def test_an_object_that_is_cut_tells_no_libraries(kept_forms: Path, cut: int) -> None:
    with zipfile.ZipFile(kept_forms / "model.pt2") as archive:
        name = next(one for one in archive.namelist() if one.endswith(".so"))
        data = archive.read(name)
    assert "libtorch_cpu.so" in (forms.libraries(data) or [])
    assert not forms.libraries(data[:cut])
    # Headers that lead anywhere.
    wild = data[:32] + struct.pack("<Q", 1 << 60) + data[40:]
    assert forms.libraries(wild) is None


@pytest.mark.parametrize("command", ["ls", "show", "check", "import", "du"])
def test_a_package_is_no_damaged_bundle(
    tk: Tk, kept_forms: Path, tmp_path: Path, command: str
) -> None:
    file = kept_forms / "model.pt2"
    more = ["--into", tmp_path / "into", "--trust"] if command == "import" else []
    ran = tk(command, file, *more, *(["0" * 8] if command == "show" else []))
    assert ran.code == 1
    assert "is a package of AOTInductor" in ran.err
    assert "“torchkeeper inspect” shows" in ran.err
    assert "damaged" not in ran.err
    ran = tk("ls", kept_forms / "exported.pt2")
    assert (ran.code, "is a package of torch.export" in ran.err) == (1, True)


def test_what_is_called_a_package_and_is_none_is_said_so(
    tk: Tk, kept_forms: Path, tmp_path: Path
) -> None:
    text, cut = tmp_path / "notes.pt2", tmp_path / "cut.pt2"
    text.write_text("no zip\n")
    cut.write_bytes((kept_forms / "model.pt2").read_bytes()[:-2000])
    for command in ("inspect", "ls"):
        ran = tk(command, text)
        assert (ran.code, "Every .pt2 is a zip file, and this is none." in ran.err) == (1, True)
        ran = tk(command, cut)
        assert ran.code == 1
        assert "It is not a complete zip file: its end may be missing." in ran.err
