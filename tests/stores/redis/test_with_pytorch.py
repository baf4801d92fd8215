"""PyTorch's and Triton's own classes on the other end of a real Redis."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.redis_server import Server
from tests.stores.redis.test_changing import contents
from tests.stores.redis.test_listing import none_left
from torchkeeper.artifacts import remote
from torchkeeper.artifacts.report import Report
from torchkeeper.stores.folders.folder import Folder
from torchkeeper.stores.redis.payloads import portable
from torchkeeper.stores.redis.publishing import Publisher
from torchkeeper.stores.redis.store import Redis

FX = "f" + "a" * 51
AOT = "a" * 52

PYTORCH = """
import base64, json, sys
from torch._inductor.remote_cache import (
    RemoteAOTAutogradCache, RemoteDynamoPGOCache, RemoteFxGraphCache)
fx = RemoteFxGraphCache("fx-graph-v1")
read = base64.b64decode(fx.get(sys.argv[1])["data"]).decode()
data = base64.b64encode(b"theirs").decode("ascii")
RemoteAOTAutogradCache("autograd-experimental").put(
    sys.argv[2], {"data": data, "time_taken_ms": 1001})
RemoteDynamoPGOCache("dynamo-pgo").put("job:None:", {"data": data})
print(json.dumps({"read": read}))
"""

TRITON = """
import json, sys
from triton import knobs
from triton.runtime.cache import RemoteCacheManager
if not hasattr(knobs.cache, "redis"):
    # Triton 3.7.1 moved these and did not tell its own class.
    object.__setattr__(knobs.cache, "redis", knobs.redis)
found = {}
for key, name in json.loads(sys.argv[1]):
    group = RemoteCacheManager(key).get_group(name)
    found[key] = {child: open(path, "rb").read().hex() for child, path in (group or {}).items()}
other = RemoteCacheManager("C" * 52)
other.put(b"data", "new.json")
other.put_group("new.json", {"new.json": "/somewhere/new.json"})
print(json.dumps(found))
"""


def said_by(python: str, script: str, *arguments: str, **environment: str) -> Any:
    done = subprocess.run(
        [python, "-W", "ignore", "-c", script, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_pytorch_reads_what_is_published_and_writes_what_is_listed(
    server: Server, torch_python: str
) -> None:
    server.load({remote.redis_key("fxgraph", FX) or "": remote.encode("fxgraph", b"ours", 1.0)})
    said = said_by(torch_python, PYTORCH, FX, AOT, TORCHINDUCTOR_REDIS_URL=server.url)
    assert said == {"read": "ours"}
    there = contents(server)
    assert there[f"pt2:autograd-experimental::{AOT}:c1"] == remote.encode(
        "aotautograd", b"theirs", 1.001
    )
    assert there["pt2:dynamo-pgo::job:None::c1"] == remote.encode("pgo", b"theirs", 1.0)
    assert base64.b64encode(b"theirs") in there["pt2:dynamo-pgo::job:None::c1"]
    with Redis(server.url, Report()) as store:
        kinds = {item.kind: item.key for item in store.items(Report())}
    assert kinds == {"fxgraph": FX, "aotautograd": AOT, "pgo": "job:None:"}


def test_triton_reads_what_is_published_and_writes_what_is_listed(
    server: Server, kernels: Path, torch_python: str, tmp_path: Path
) -> None:
    folder = Folder(str(kernels))
    items = [item for item in folder.items(Report()) if item.kind == "triton"]
    groups = [
        (item.key, file.name[len("__grp__") :])
        for item in items
        for file in item.files
        if file.name.startswith("__grp__")
    ]
    assert groups
    with Redis(server.url, Report()) as store:
        publisher = Publisher(store, Report(), none_left)
        for item in items:
            publisher.put(item, folder, None)
        publisher.flush()
        said = said_by(
            torch_python,
            TRITON,
            json.dumps(groups),
            TRITON_REDIS_HOST="127.0.0.1",
            TRITON_REDIS_PORT=str(server.port),
            TRITON_REMOTE_CACHE_BACKEND="triton.runtime.cache:RedisRemoteCacheBackend",
            TRITON_CACHE_DIR=str(tmp_path / "empty"),
        )
        for key, _ in groups:
            own = {
                path.name: path.read_bytes().hex()
                for path in (kernels / key).iterdir()
                if path.name in said[key]
            }
            assert said[key] == own
            assert len(own) > 3
        found = {item.key: item for item in store.items(Report())}
        [theirs] = portable(store, [found["C" * 52]], Report(), none_left)
    assert [file.name for file in theirs.item.files] == ["__grp__new.json", "new.json"]
    with theirs.open(theirs.item.files[0]) as stream:
        assert json.load(stream) == {"child_paths": {"new.json": "new.json"}}
