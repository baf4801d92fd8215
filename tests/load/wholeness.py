"""Whether all that is in a folder is whole, seen without Torchkeeper's own reading of it."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path

from torchkeeper.artifacts import builds


def faults(place: Path) -> list[str]:
    """What is cut off, named wrongly, named and missing, or left behind."""
    files = [path for path in sorted(place.rglob("*")) if path.is_file()]
    names = [path.relative_to(place).as_posix() for path in files]
    found = [f"left behind: {name}" for name in names if _is_scratch(name)]
    for path, name in zip(files, names, strict=True):
        if name.startswith(("fxgraph/", "aotautograd/")):
            # COMPACT_CACHE_KEY_STRATEGY in torch/_inductor/cache_key.py
            digest = hashlib.sha256(path.read_bytes()).digest()
            if path.name != base64.b32encode(digest)[:51].decode().lower():
                found.append(f"not what it is named after: {name}")
        elif name.endswith(".so"):
            data = path.read_bytes()
            if not builds.complete(data[: builds.HEADER], len(data)):
                found.append(f"cut off: {name}")
        elif path.name.startswith("__grp__"):
            group = json.loads(path.read_text())["child_paths"]
            found += [f"{name} names {one}" for one in group.values() if not Path(one).is_file()]
            if not group:
                found.append(f"names nothing: {name}")
        elif name.startswith("aoti_eager/") and name.endswith(".json") and name.count("/") == 3:
            for item in json.loads(path.read_text()):
                if not (path.parent / item["kernel_path"]).is_file():
                    found.append(f"{name} names {item['kernel_path']}")
        elif path.suffix in (".json", ".best_config"):
            json.loads(path.read_text())
    return found


def _is_scratch(name: str) -> bool:
    """Whether a file is in progress, or was: PyTorch's, Triton's or ours. Locks stay."""
    parts = name.split("/")
    return any(
        part.startswith((".torchkeeper", "tmp.")) or part.endswith((".tmp", "_CxxBuild"))
        for part in parts
    )
