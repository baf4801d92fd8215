"""What SGLang's own backend keeps of a small model, written on a CPU: ``serving/sglang.tar.xz``.
Needs torch, g++, and the wheel of SGLang in the folder that ``TORCHKEEPER_WHEELS`` names.

    PYTHONPATH=.:app python tests/data/serving_sglang.py FOLDER

FOLDER: what SGLANG_CACHE_DIR shall be. That of Python is made another of the same length.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from tests import sglang

from torchkeeper.artifacts import layout

if __name__ == "__main__":
    root = Path(sys.argv[1])
    sglang.written(sys.executable, root)
    mine = sys.prefix.encode()
    other = b"/opt/venv".ljust(len(mine), b"_")
    for path in [path for path in root.rglob("*") if path.is_file()]:
        data = path.read_bytes().replace(mine, other)
        path.write_bytes(data)
        if layout.locate(path.relative_to(root).as_posix()).kind == "fxgraph":
            path.rename(path.with_name(layout.payload_name(hashlib.sha256(data).hexdigest())))
        elif path.suffix == ".lock":
            path.unlink()
