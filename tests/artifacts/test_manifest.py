"""The manifest: what it promises is checked field by field."""

from __future__ import annotations

import json
from typing import Any

import pytest

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.manifest import Listed, ListedFile, Manifest, origin, parse

SHA = "0" * 64


def manifest(**changes: Any) -> bytes:
    entry = {"kind": "code", "key": "k", "sha256": SHA, "size": 1, "path": "p",
             "files": [{"path": "files/p", "size": 1, "sha256": SHA}]}  # fmt: skip
    whole = {"format": "torchcache", "format_version": 1, "made_by": "x", "made_in": None,
             "entries": [entry]}  # fmt: skip
    for name, value in changes.items():
        if name in entry:
            entry[name] = value
        else:
            whole[name] = value
    return json.dumps(whole).encode()


def test_round_trip_sorted() -> None:
    entries = [
        Listed("triton", "b", SHA, 3, "files/b", (ListedFile("files/b/x", 3, SHA),)),
        Listed("fxgraph", "z", "f" * 64, 1, "mega-cache.bin", ()),
        Listed("fxgraph", "z", "a" * 64, 1, "mega-cache.bin", ()),
    ]
    made_in = origin({"torch": "2.13.0", "gpus": ["A", 5], "threads": True, "more": {}})
    assert made_in
    assert (made_in["gpus"], made_in["threads"], "more" in made_in) == (["A"], None, False)
    data = Manifest("torchkeeper", made_in, tuple(entries)).to_bytes()
    back = parse(data)
    assert [(e.kind, e.sha256[0]) for e in back.entries] == [
        ("fxgraph", "a"), ("fxgraph", "f"), ("triton", "0"),
    ]  # fmt: skip
    assert Manifest(back.made_by, back.made_in, back.entries[::-1]).to_bytes() == data


def test_unknown_fields_are_ignored() -> None:
    assert len(parse(manifest(future={"x": 1})).entries) == 1


def test_a_newer_format_is_said() -> None:
    with pytest.raises(Problem) as caught:
        parse(manifest(format_version=2))
    assert caught.value.code == "bundle-newer"


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "zip"}, {"format_version": None}, {"format_version": "1"}, {"made_in": "here"},
        {"entries": {}}, {"entries": [1]}, {"kind": "lock"}, {"kind": 3}, {"key": None},
        {"sha256": "x"}, {"sha256": SHA.upper()[:-1] + "G"}, {"size": -1}, {"size": "1"},
        {"size": True}, {"size": 1.5}, {"path": None}, {"files": None}, {"files": [{}]},
        {"files": [{"path": "p", "size": -1, "sha256": SHA}]},
        {"path": "x" * 2000}, {"key": "x" * 2000},
        {"files": [{"path": "x" * 2000, "size": 1, "sha256": SHA}]},
    ],
)  # fmt: skip
def test_damage(changes: dict[str, Any]) -> None:
    with pytest.raises(Problem, match="bundle-damaged"):
        parse(manifest(**changes))


@pytest.mark.parametrize("data", [b"", b"\xff", b"[]", b"[" * 100_000, b"null"])
def test_no_json(data: bytes) -> None:
    with pytest.raises(Problem, match="bundle-damaged"):
        parse(data)
