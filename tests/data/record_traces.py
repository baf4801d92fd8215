"""Records what the tests of traces read: python record_traces.py OUTPUT.tar.xz

Runs changes.py as it is into an empty cache, once more, and then with each change, with PyTorch's
trace on. Kept are of each trace the records that tell of lookups, and of the cache its graph
as it was after the first run. Where torch is on this machine is not recorded.
"""

import base64
import hashlib
import importlib.util
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).parent / "changes.py"
CHANGES = ("shape", "dtype", "autotune", "threads", "precision", "line")
KEPT = (
    b'"dynamo_start"',
    b'{"str": ["/tmp',
    b'"torch_version"',
    b"fx_graph_cache_",
    b"aotautograd_",
    b"inductor_post_grad_graph",
)

TORCH = str(Path(importlib.util.find_spec("torch").origin).parents[4]).encode()
#: As long, so that a pickle stays one.
ELSEWHERE = b"/" + b"opt/torch".ljust(len(TORCH) - 1, b"_")[: len(TORCH) - 1]


def trimmed(trace):
    """The records that tell something."""
    kept = []
    for record in re.split(rb"\n(?!\t)", trace):
        head, *payload = record.split(b"\n\t")
        if any(word in head[:500] for word in KEPT):
            said = b"\n".join(payload).replace(TORCH, ELSEWHERE)
            digest = hashlib.md5(said).hexdigest().encode()
            head = re.sub(rb'("has_payload": ")[0-9a-f]+', rb"\g<1>" + digest, head)
            kept.append(b"\n\t".join([head, *(said.split(b"\n") if payload else [])]))
    return b"\n".join(kept) + b"\n"


def main(output):
    """Run everything and write the archive."""
    with (
        tempfile.TemporaryDirectory(prefix="recorded-", dir="/tmp") as folder,
        tarfile.open(output, "w:xz") as archive,
    ):
        # Of the paths of this machine, none is recorded.
        cache, script = Path(folder, "cache"), shutil.copy(SCRIPT, folder)

        def add(name, data):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))

        for number, change in enumerate(("", "", *CHANGES)):
            name = change or ("same" if number else "first")
            traces = Path(folder, name)
            env = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(cache), "TORCH_TRACE": str(traces)}
            if change == "threads":
                env["OMP_NUM_THREADS"] = "1"
            subprocess.run([sys.executable, script, change], env=env, check=True, cwd=folder)
            (trace,) = traces.glob("*.log")
            add(f"{name}/dedicated_log_torch_trace_{name}.log", trimmed(trace.read_bytes()))
            if name == "first":
                for path in sorted(cache.glob("fxgraph/*/*/*")):
                    data = path.read_bytes().replace(TORCH, ELSEWHERE)
                    digest = base64.b32encode(hashlib.sha256(data).digest())[:51].decode().lower()
                    add(str(path.relative_to(folder).parent / digest), data)


if __name__ == "__main__":
    main(sys.argv[1])
