"""A selection that an engine adds up: what it takes, and what compiling it took, each once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.engine.test_overviewing import Looked, listed
from tests.redis_server import serving
from tests.ssh.elsewhere import ANYWHERE
from torchkeeper.artifacts.entry import COUNTED_APART
from torchkeeper.client.engines.process import Engine


def added(engine: Engine, place: object, select: dict[str, Any]) -> Any:
    return engine.call("sum", {"place": str(place), "select": select})


def items(*entries: dict[str, Any]) -> list[list[str]]:
    return [[entry["kind"], entry["path"]] for entry in entries]


@ANYWHERE
def test_graphs_count_once(kept_291: Path) -> None:
    with Engine() as engine:
        entries = listed(engine, kept_291)
        whole = Looked(engine, kept_291).sums.totals
        for kind in ("", "aotautograd", "fxgraph"):
            told = added(engine, kept_291, {"filter": f"kind:{kind}"} if kind else {})
            some = [entry for entry in entries if kind in ("", entry["kind"])]
            own = [entry for entry in some if entry["kind"] not in COUNTED_APART]
            assert told["entries"] == len(own) == sum(x["entries"] for x in told["kinds"])
            assert told["locks"] == sum(entry["kind"] == "lock" for entry in some)
            some = own
            assert told["bytes"] == told["content_bytes"]
            assert told["bytes"] == sum(entry["size"] for entry in some)
            assert told["files"] == sum(entry["files"] for entry in some)
        told = added(engine, kept_291, {})
        assert (told["compile_s"], told["timed"]) == (pytest.approx(whole.compile_s), whole.timed)
        # One of AOTAutograd has taken the time of its graphs, too; alone each says its own.
        timed = [entry for entry in entries if entry["compile_s"]]
        aot = max((e for e in timed if e["kind"] == "aotautograd"), key=lambda e: e["compile_s"])
        heard: list[Any] = []
        about = {"place": str(kept_291), "kind": aot["kind"], "path": aot["path"]}
        engine.call("detail", about, heard.append)
        [detail] = [message.body["detail"] for message in heard if "detail" in message.body]
        graphs = [e for e in timed if e["key"] in detail["needs"]["fx_keys"]]
        assert graphs
        alone = added(engine, kept_291, {"items": items(*graphs)})["compile_s"]
        assert alone > 0
        assert alone == pytest.approx(sum(graph["compile_s"] for graph in graphs))
        for some in ([aot], [*graphs, aot]):
            both = added(engine, kept_291, {"items": items(*some)})["compile_s"]
            assert both == pytest.approx(aot["compile_s"])
        # A long selection comes ahead.
        engine.call("hold", {"items": items(*graphs)})
        assert added(engine, kept_291, {"held": True})["compile_s"] == pytest.approx(alone)


def test_of_a_server_and_a_bundle_as_of_the_folder(kept_291: Path, tmp_path: Path) -> None:
    bundle = str(tmp_path / "b.torchcache")
    with serving(tmp_path) as server, Engine() as engine:
        export = {"place": str(kept_291), "output": bundle, "secrets": "allow"}
        engine.call("export", export)
        engine.call("copy", {"place": str(kept_291), "into": server.url, "secrets": "allow"})
        wanted = {"filter": "kind:fxgraph"}
        told = [added(engine, place, wanted) for place in (kept_291, bundle, server.url)]
        assert {one["entries"] for one in told} == {told[0]["entries"]}
        assert [one["compile_s"] for one in told[1:]] == pytest.approx(
            [told[0]["compile_s"]] * 2, abs=0.1
        )
        assert told[0]["compile_s"] > 0
