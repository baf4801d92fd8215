"""What keys and values in a Redis are: against what torch 2.9.1 wrote, and by the rules."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.redis_server import dump
from torchkeeper.artifacts import remote

FX = "f" + "a" * 51
HASH = "0123456789abcdef" * 4
KERNEL = "A" * 52


def test_values_are_written_as_pytorch_wrote_them() -> None:
    for key, value in dump().items():
        found = remote.locate(key)
        assert found
        payload, compile_s, problem = remote.decode(found.kind, value)
        assert payload
        assert problem is None
        assert (compile_s is None) == (found.kind == "pgo")
        assert remote.encode(found.kind, payload, compile_s) == value
        assert remote.redis_key(found.kind, found.key) == key
        decoder = remote.Decoder()
        pieces = [value[start : start + 1009] for start in range(0, len(value), 1009)]
        assert b"".join(map(decoder.feed, pieces)) == payload
        assert decoder.end() == (b"", compile_s, None)


@given(st.binary(), st.integers(0, 10**9), st.integers(1, 50))
def test_what_is_encoded_is_decoded(payload: bytes, taken: int, step: int) -> None:
    value = remote.encode("fxgraph", payload, taken / 1000)
    expected = {"data": base64.b64encode(payload).decode("ascii"), "time_taken_ms": taken}
    assert value == bytes(json.dumps(expected), "ascii")
    assert remote.decode("fxgraph", value) == (payload, taken / 1000, None)
    assert remote.decode("fxgraph", json.dumps(expected, indent=1).encode()).payload == payload
    decoder = remote.Decoder()
    pieces = [value[start : start + step] for start in range(0, len(value), step)]
    assert b"".join(map(decoder.feed, pieces)) == payload
    assert decoder.end() == (b"", taken / 1000, None)


@given(st.binary(max_size=200) | st.text().map(str.encode))
def test_no_value_raises(value: bytes) -> None:
    for kind in ("fxgraph", "autotune"):
        found = remote.decode(kind, value)
        assert (found.payload is None) == (found.problem is not None)
    decoder = remote.Decoder()
    decoder.feed(value)
    decoder.end()


@given(st.text())
def test_every_key_is_something(key: str) -> None:
    found = remote.locate(key)
    assert (found is None) == (not key.startswith("pt2:"))
    remote.TritonKeys().locate(key)


@pytest.mark.parametrize(
    ("key", "found"),
    [
        (f"pt2:fx-graph-v1::{FX}:c1", ("fxgraph", FX)),
        (f"pt2:autograd-experimental::a{FX[1:]}:c1", ("aotautograd", f"a{FX[1:]}")),
        ("pt2:dynamo-pgo::job:0:tag:c1", ("pgo", "job:0:tag")),
        ("pt2:dynamo-pgo::mast:x:1:None::c1", ("pgo", "mast:x:1:None:")),
        (f"pt2:bundled-autotune-v1::{HASH}:c1", ("autotune", f"bundled-autotune-v1::{HASH}")),
        (f"pt2:{HASH}::{HASH}:c1", ("autotune", f"{HASH}::{HASH}")),
        (f"pt2:fx-graph-v1::{FX}:c2", ("unknown", f"pt2:fx-graph-v1::{FX}:c2")),
        (f"pt2:fx-graph-v2::{FX}:c1", ("unknown", f"pt2:fx-graph-v2::{FX}:c1")),
        ("pt2:fx-graph-v1::../../x:c1", ("unknown", "pt2:fx-graph-v1::../../x:c1")),
        ("pt2:", ("unknown", "pt2:")),
    ],
)
def test_keys(key: str, found: tuple[str, str]) -> None:
    assert remote.locate(key) == (*found, None)


def test_where_pytorch_looks() -> None:
    assert remote.redis_key("pgo", "train_None_") == "pt2:dynamo-pgo::train:None::c1"
    assert remote.redis_key("pgo", "my_job_3_tag") == "pt2:dynamo-pgo::my_job:3:tag:c1"
    assert remote.redis_key("fxgraph", "../x") is None
    assert remote.redis_key("code", "c" + FX) is None
    assert remote.redis_key("autotune", HASH) is None


@pytest.mark.parametrize(
    ("form", "key"),
    [
        ("triton:{key}:{filename}", f"triton:{KERNEL}:__grp__add.json"),
        ("a.b[{filename}]{key}", f"a.b[__grp__add.json]{KERNEL}"),
        ("{key}/{key}/{filename}", f"{KERNEL}/{KERNEL}/__grp__add.json"),
        ("{{team}}:{key!s}:{filename}", f"{{team}}:{KERNEL}:__grp__add.json"),
    ],
)
def test_triton_keys_in_any_format(form: str, key: str) -> None:
    keys = remote.TritonKeys(form)
    assert keys.key(KERNEL, "__grp__add.json") == key
    assert keys.locate(key) == ("triton", KERNEL, "__grp__add.json")
    assert keys.locate(key[:-1] + "\n:") is None
    assert keys.key(KERNEL, "x") == form.format(key=KERNEL, filename="x")
    for bad in ("triton", "{key}", "{filename}", "", "{key}{filename", "{0}{key}{filename}",
                "{key:>60}{filename}", "{key.x}{filename}"):  # fmt: skip
        assert remote.TritonKeys(bad).locate(key) is None
        assert remote.TritonKeys(bad).key(KERNEL, "x") is None


def test_group_files_both_ways() -> None:
    # What RemoteCacheManager.put_group writes, and FileCacheManager.put_group.
    there = b'{"child_paths": ["a.json", "b.ptx"]}'
    here = b'{"child_paths": {"a.json": "a.json", "b.ptx": "b.ptx"}}'
    assert remote.group_from_redis(there) == here
    assert remote.group_for_redis(here) == there
    for bad in (b"", b"[]", b"{}", b'{"child_paths": 1}', b'{"child_paths": [1]}', b"[" * 99_999):
        assert remote.group_from_redis(bad) == bad
        assert remote.group_for_redis(bad) == bad
