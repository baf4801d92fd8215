"""What Triton builds for itself, for GPUs of NVIDIA's and of AMD's, on a machine without either.

The driver's helper of each, and the same under the name that launchers have: those of Triton before
3.7 are built for each signature of a kernel, and call the same libraries.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import triton
from triton.runtime import build

# Nothing here can be loaded, and need not be: what is built lies in the cache before that.
build._load_module_from_path = lambda name, _path: name

#: A folder for a library that has the name of NVIDIA's driver, and nothing in it.
folder = Path(sys.argv[1])
empty = ["gcc", "-shared", "-x", "c", "/dev/null", "-Wl,-soname,libcuda.so.1"]
subprocess.run([*empty, "-o", str(folder / "libcuda.so.1")], check=True)

for backend, helper in (("nvidia", "cuda_utils"), ("amd", "hip_utils")):
    home = Path(triton.__file__).parent / "backends" / backend
    source = (home / "driver.c").read_text()
    source = source.replace("/*py_libhip_search_path*/", "/opt/rocm/lib/libamdhip64.so", 1)
    libraries = ["libcuda.so.1"] if backend == "nvidia" else []
    for name in (helper, "__triton_launcher"):
        build.compile_module_from_src(
            f"{source}\n// {name}\n", name, [str(folder)], [str(home / "include")], libraries
        )
