"""The code of libraries as PyPI has it, to which slow tests hold our facts. ``TORCHKEEPER_WHEELS``
names a folder with their wheels, or with the packages that were in them.

    python -m tests.wheels FOLDER [NAME...]    downloads them there, without what they need
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

NAMED = "TORCHKEEPER_WHEELS"
#: What each is called on PyPI, by what the tests call it.
NAMES = {
    "vllm": "vllm", "sglang": "sglang", "flashinfer": "flashinfer-python", "tilelang": "tilelang",
    "tvm_ffi": "apache-tvm-ffi", "deep_gemm": "sgl-deep-gemm", "quack": "quack-kernels",
    "helion": "helion", "cute_dsl": "nvidia-cutlass-dsl-libs-base",
    "torch_tensorrt": "torch-tensorrt",
}  # fmt: skip


def _wheels(name: str) -> list[Path]:
    stem = NAMES[name].replace("-", "_")
    folder = Path(os.environ[NAMED])
    return sorted(folder.glob(f"{stem}-[0-9]*.whl"), key=lambda path: path.stat().st_mtime)


def needed(name: str) -> pytest.MarkDecorator:
    """Skips a test where the code of a library is not there."""
    there = NAMED in os.environ and (_wheels(name) or _unpacked(name, "").is_dir())
    return pytest.mark.skipif(not there, reason=f"{NAMED} names no folder with {NAMES[name]}")


def _unpacked(name: str, path: str) -> Path:
    """A file of a package that lies in a folder of its own, or right in the one that is named."""
    folder = Path(os.environ[NAMED])
    own = folder / NAMES[name].replace("-", "_")
    return own / path if path == "" or (own / path).is_file() else folder / path


@functools.cache
def source(name: str, path: str) -> str:
    """The text of a file of a library."""
    if (wheels := _wheels(name)) and not _unpacked(name, path).is_file():
        with zipfile.ZipFile(wheels[-1]) as wheel:
            assert path in wheel.namelist(), f"{wheels[-1].name} has no {path}"
            return wheel.read(path).decode()
    return _unpacked(name, path).read_text(encoding="utf-8")


@functools.cache
def version(name: str) -> str:
    """Of a wheel; "" where nobody says."""
    wheels = _wheels(name)
    return wheels[-1].name.split("-")[1] if wheels else ""


def main() -> None:
    folder, *names = sys.argv[1:] or sys.exit(__doc__)
    for name in names or NAMES.values():
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*command, "--dest", folder, NAMES.get(name, name)], check=True)
    print(f"{NAMED}={folder} packaging/test --slow -m slow")


if __name__ == "__main__":
    main()
