"""Plain values from pickles of every protocol, and hostile pickles that get nowhere."""

from __future__ import annotations

import os
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchkeeper.artifacts import plain

VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 255, 256, 65_535, 65_536, -(1 << 31), 1 << 31, 1 << 70, -(1 << 70),
    1 << 4000, 0.0, -1.5, float("inf"), "", "a", "é" * 300, "\ud800", "line\nand\\more",
    "z" * 70_000, (), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], [1, [2, [3]]], list(range(3000)),
    {}, {"a": 1, 2: (3,), (4, 5): {6: []}}, {str(i): i for i in range(3000)},
]  # fmt: skip
#: What protocols before 3 and 4 have no opcodes for.
LATER: list[Any] = [
    b"", b"a", bytes(range(256)), b"z" * 70_000, set(), {1, "a", (2, 3)}, frozenset({1, (2,)}),
]  # fmt: skip


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("value", VALUES, ids=lambda x: repr(x)[:20])
def test_plain_values_are_read(value: Any, protocol: int) -> None:
    read = plain.decode(pickle.dumps(value, protocol))
    assert read == value
    assert type(read) is type(value)


# Counted: a set is written in another order in every process.
@pytest.mark.parametrize("value", LATER, ids=range(len(LATER)))
def test_bytes_and_sets_are_read(value: Any) -> None:
    for protocol in (4, 5):
        read = plain.decode(pickle.dumps(value, protocol))
        assert read == value
        assert type(read) is type(value)


def test_what_is_held_twice_is_one_object() -> None:
    inner = [1]
    read = plain.decode(pickle.dumps([inner, inner]))
    assert read[0] is read[1]


def test_what_follows_is_ignored() -> None:
    assert plain.decode(pickle.dumps("a") + b"more") == "a"


def test_encoding_is_pickling() -> None:
    for value in VALUES + LATER:
        assert plain.encode(value) == pickle.dumps(value)
    for value in (lambda: None, threading.Lock()):
        with pytest.raises(plain.NotPlain):
            plain.encode(value)


class Command:
    """Runs a command when it is unpickled."""

    def __init__(self, command: str) -> None:
        self.command = command

    def __reduce__(self) -> Any:
        return os.system, (self.command,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_nothing_runs(protocol: int, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    hostile = pickle.dumps({"a": [Command(f"touch {proof}")]}, protocol)
    with pytest.raises(plain.NotPlain, match="more than plain values"):
        plain.decode(hostile)
    assert not proof.exists()
    pickle.loads(hostile)
    assert proof.exists()  # it would have


@pytest.mark.parametrize(
    "value", [Path("x"), len, complex(1, 2), bytearray(b"x"), Command("true"), Command]
)
def test_nothing_but_plain_values_is_read(value: Any) -> None:
    with pytest.raises(plain.NotPlain, match="more than plain values"):
        plain.decode(pickle.dumps(value, 4))


def collisions(count: int) -> bytes:
    """A dict of integers that all have the same hash."""
    keys = [pickle.dumps(i * ((1 << 61) - 1), 2)[2:-1] for i in range(1, count)]
    return b"\x80\x04}(" + b"".join(key + b"N" for key in keys) + b"u."


@pytest.mark.parametrize(
    ("why", "data"),
    [
        ("more than 1000 levels", b"\x80\x04)" + b"\x85" * 1_000_000 + b"."),
        ("more than 1000 levels", b"\x80\x04" + b"]" * 500_000 + b"a" * 499_999 + b"."),
        ("more than 1000 levels", b"\x80\x04]2a."),
        ("a key has more than 1000 parts", b"\x80\x04})" + b"\x85" * 1_000_000 + b"Ns."),
        ("a key has more than 1000 parts", b"\x80\x04})" + b"2\x86" * 60 + b"Ns."),
        ("a key has more than 1000 parts", b"\x80\x04\x8f()" + b"2\x86" * 60 + b"\x90."),
        ("a key has more than 1000 parts", b"\x80\x04()" + b"2\x86" * 60 + b"\x91."),
        ("more than 1000000 parts", b"\x80\x04)" + b"2\x86" * 60 + b"."),
        ("more than 1000000 parts", b"\x80\x04(" + b"]" * 1_500_000 + b"l."),
        ("more than 2000000 steps", b"\x80\x04" + b"(" * 3_000_000),
        ("cut off", b"\x80\x04\x8e" + b"\xff" * 7 + b"\x7f."),
        ("cut off", b"\x80\x04\x8b\xff\xff\xff\x7f."),
        ("damaged", b""),
        ("damaged", b"."),
        ("damaged", b"\x80\x04N"),
        ("damaged", b"\x80\x04)\x86."),
        ("damaged", b"\x80\x04}(Nu."),
        ("damaged", b"\x80\x04}]Ns."),
        ("damaged", b"\x80\x04h\x05."),
        ("damaged", b"\x80\x04Na."),
        ("damaged", b"I" + b"9" * 5000 + b"\n."),
        ("too new", b"\x80\x09N."),
        ("more than 67108864 bytes", b"N" * ((64 << 20) + 1)),
    ],
)
def test_bombs_are_refused(why: str, data: bytes) -> None:
    with pytest.raises(plain.NotPlain, match=why):
        plain.decode(data)


def test_a_far_memo_takes_no_memory() -> None:
    # Python's own unpickler makes room for all that could come before it, 4 GB here.
    assert plain.decode(b"\x80\x04]r\xff\xff\xff\x1f.") == []


def test_colliding_keys_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(plain.decode(collisions(1000))) == 999
    monkeypatch.setattr(plain, "MAX_SECONDS", 0.3)
    with pytest.raises(plain.NotPlain, match="seconds"):
        plain.decode(collisions(50_000))


#: Opcodes that make, mark, copy and join: what goes wrong in a stack machine.
OPCODES = b"()]}\x85\x86\x87lt2d0Nuse.ab1\x8f\x90\x91\x94"


@given(st.binary(max_size=200) | st.lists(st.sampled_from(OPCODES), max_size=60).map(bytes))
def test_any_bytes_are_a_value_or_refused(data: bytes) -> None:
    try:
        value = plain.decode(data)
    except plain.NotPlain:
        return
    plain.decode(plain.encode(value))


plain_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
)


@given(plain_values)
def test_values_survive(value: Any) -> None:
    assert plain.decode(plain.encode(value)) == value
