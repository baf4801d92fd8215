"""One entry in full, in pieces that fit the wire."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from tests.engine.conftest import Ask
from tests.ssh.elsewhere import ANYWHERE
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine.detail import PAGE

pytestmark = ANYWHERE


def test_a_graph(ask: Ask, kept_291: Path) -> None:
    place = str(kept_291)
    _, messages = ask("list", place=place, filter="kind:fxgraph sin_matmul")
    (row,) = [row for m in messages for row in m.rows]
    which = {"place": place, "kind": row["kind"], "path": row["path"]}
    _, messages = ask("detail", **which)
    told = messages[-1].body["detail"]
    assert told["entry"]["sha256"] == row["sha256"]
    assert told["facts"]["function"] == "sin_matmul at make_cache.py:5"
    assert {text["name"] for text in told["texts"]} == {"graph", "source"}
    assert told["needs"]["code_keys"][0].startswith("c")
    page, _ = ask("text", **which, name="graph")
    assert "torch.ops.aten.mm" in page["text"]
    assert page["chars"] == len(page["text"])
    result, messages = ask("factors", **which)
    rows = [row for m in messages for row in m.rows]
    assert result["count"] == len(rows) == told["factors"] == 393
    assert {"hash", "name", "value"} == set(rows[0])


def test_who_needs_whom(ask: Ask, kept_291: Path, tmp_path: Path) -> None:
    bundle = str(tmp_path / "one.torchcache")
    ask("export", place=str(kept_291), output=bundle, secrets="allow")
    for place in (str(kept_291), bundle):
        _, messages = ask("list", place=place)
        rows = {(row["kind"], row["key"]): row for m in messages for row in m.rows}
        graph = next(
            row for (kind, _), row in rows.items()
            if kind == "fxgraph" and row["name"] == "sin_matmul(f32[100, 100] ×2): mm, sin"
        )  # fmt: skip
        which = {"place": place, "kind": graph["kind"], "path": graph["path"]}
        for _ in range(2):
            told, _ = ask("needs", **which)
            assert [rows[*name]["name"] for name in told["needs"]][1:] == [
                "sin_matmul(f32[100, 100] ×2): cpp_fused_sin_0"
            ]
            assert (told["missing"], [kind for kind, _ in told["needed_by"]]) == (
                [], ["aotautograd"]
            )  # fmt: skip
    with pytest.raises(UserError) as caught:
        ask("needs", place=str(kept_291), kind="fxgraph", path="fxgraph/x")
    assert caught.value.code == "entry-gone"


def test_sources_and_kernels(ask: Ask, kept_291: Path, kernels: Path) -> None:
    path = next(p for p in kept_291.rglob("*.main.cpp")).relative_to(kept_291)
    which = {"place": str(kept_291), "kind": "code", "path": str(path)}
    _, messages = ask("detail", **which)
    told = messages[-1].body["detail"]
    assert len(told["files"]) == 2
    assert told["texts"][0]["name"] == path.name
    assert "#include" in ask("text", **which, name=path.name)[0]["text"]
    key = next(kernels.iterdir()).name
    _, messages = ask("detail", place=str(kernels), kind="triton", path=key)
    assert messages[-1].body["detail"]["entry"]["name"] == "add_kernel"


def test_a_graph_of_20_mb_in_one_line(ask: Ask, tmp_path: Path) -> None:
    import hashlib

    from torchkeeper.artifacts.layout import payload_path

    class CompiledFxGraph:
        def __init__(self) -> None:
            self.inductor_post_grad_graph_str = "x\x00" * 10_000_000
            self.source_code = "short"

    # A pickle by a name that is not this test's, as the real one's is not.
    CompiledFxGraph.__module__, CompiledFxGraph.__qualname__ = __name__, "CompiledFxGraph"
    globals()["CompiledFxGraph"] = CompiledFxGraph
    data = pickle.dumps(CompiledFxGraph())
    digest = hashlib.sha256(data).hexdigest()
    path = payload_path("fxgraph", "f" + "a" * 51, digest)
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_bytes(data)
    which = {"place": str(tmp_path), "kind": "fxgraph", "path": path}
    ask("detail", **which)
    page, _ = ask("text", **which, name="graph", offset=PAGE + 1)
    assert len(page["text"]) == PAGE
    assert page["text"][0] == "\x00"
    last, _ = ask("text", **which, name="graph", offset=2 * PAGE)
    assert last["text"].endswith("… 19,750,000 characters more")
    assert ask("text", **which, name="graph", offset=10**9)[0]["text"] == ""
    assert ask("text", **which, name="source")[0]["text"] == "short"
    _, messages = ask("list", place=str(tmp_path))
    assert [row["problem"] for m in messages for row in m.rows] == [None]


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "gone", "", "fxgraph/x"])
def test_paths_that_lead_elsewhere(ask: Ask, kept_291: Path, path: str) -> None:
    with pytest.raises(UserError) as caught:
        ask("detail", place=str(kept_291), kind="fxgraph", path=path)
    assert caught.value.code in ("name-refused", "entry-gone")


def test_links_are_not_followed(ask: Ask, fixture_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("secret")
    (fixture_cache / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(UserError, match="symbolic link"):
        ask("detail", place=str(fixture_cache), kind="unknown", path="link/x")


def test_what_one_entry_would_leak(ask: Ask, kept_291: Path, tmp_path: Path) -> None:
    bundle = str(tmp_path / "one.torchcache")
    ask("export", place=str(kept_291), output=bundle, secrets="allow")
    for place in (str(kept_291), bundle):
        _, messages = ask("list", place=place)
        rows = [row for m in messages for row in m.rows]
        graph = next(r for r in rows if r["name"] == "sin_matmul(f32[100, 100] ×2): mm, sin")
        result, messages = ask("leaks", place=place, kind=graph["kind"], path=graph["path"])
        assert (result["secrets"], result["entries"]) == (1, 1)
        [secret] = [m.body["secret"] for m in messages if "secret" in m.body]
        assert (secret["key"], secret["excerpt"][:9]) == (graph["key"], "redis://:")
        assert "hunter2" not in str([m.body for m in messages])
        assert {one["value"] for one in result["private"]} >= {"/srv/train/make_cache.py"}
        autotune = next(r for r in rows if r["kind"] == "pgo")
        result, _ = ask("leaks", place=place, kind="pgo", path=autotune["path"])
        assert result["secrets"] == 0
    with pytest.raises(UserError) as raised:
        ask("leaks", place=str(kept_291), kind="fxgraph", path="fxgraph/no/such")
    assert raised.value.code == "entry-gone"
