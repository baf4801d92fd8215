"""Exporting from a server, as the window does it: the bundle holds what was foretold."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from tests.redis_server import dump, serving
from tests.ssh.elsewhere import ANYWHERE
from tests.stores.redis.test_listing import fx_key
from torchkeeper.artifacts import manifest
from torchkeeper.artifacts.report import Report
from torchkeeper.client.engines.process import Engine
from torchkeeper.engine.protocol import Message
from torchkeeper.stores.bundles.bundle import Bundle

pytestmark = ANYWHERE


def test_a_selection_of_a_server_is_exported(tmp_path: Path) -> None:
    output = str(tmp_path / "b.torchcache")
    with serving(tmp_path / "r") as server, Engine() as engine:
        server.load(dump() | {fx_key(1): b"not JSON"})
        heard: list[Message] = []
        foretold = engine.call("plan_export", {"place": server.url, "select": {}}, heard.append)
        done = engine.call(
            "export", {"place": server.url, "output": output, "secrets": "allow"}, heard.append
        )
        assert (foretold["entries"], foretold["size"]) == (12, done["size"])
        assert (done["entries"], done["bytes"]) == (12, foretold["bytes"])
        left = [message.body["left"] for message in heard if "left" in message.body]
        assert {(one["path"], one["code"]) for one in left} == {(fx_key(1), "entry-broken")}
    with Bundle(output, Report()) as bundle:
        assert len(bundle.items()) == 12
        assert sum(item.size for item in bundle.items()) == done["bytes"]
        assert bundle.refused == []
    with zipfile.ZipFile(output) as archive:
        listed = json.loads(archive.read(manifest.NAME))["entries"]
    assert sum(one["size"] for one in listed) == done["bytes"]


def test_what_one_entry_of_a_server_would_leak(tmp_path: Path) -> None:
    with serving(tmp_path / "r") as server, Engine() as engine:
        server.load(dump())
        heard: list[Message] = []
        engine.call("list", {"place": server.url}, heard.append)
        rows = [row for message in heard for row in message.rows]
        found: dict[str, int] = {}
        for row in rows:
            which = {"place": server.url, "kind": row["kind"], "path": row["path"]}
            told = engine.call("leaks", which)
            found[row["kind"]] = found.get(row["kind"], 0) + told["secrets"]
        whole = engine.call("leaks", {"place": server.url})
    assert found["fxgraph"] > 0
    assert sum(found.values()) <= whole["secrets"], "only all together tell of what is there again"
