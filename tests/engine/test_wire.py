"""The wire: what arrives is checked as if an enemy had sent it."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import subprocess
import sys
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pace import LONG
from torchkeeper.artifacts.entry import entry_from_json
from torchkeeper.engine import protocol, serve

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@pytest.mark.slow
@given(st.dictionaries(st.text(), json_values))
def test_round_trip(obj: dict[str, object]) -> None:
    assert protocol.decode(protocol.encode(obj)) == obj


@given(st.binary(max_size=200))
def test_any_bytes_are_an_object_or_an_error(data: bytes) -> None:
    with contextlib.suppress(protocol.WireError):
        assert isinstance(protocol.decode(data), dict)


@pytest.mark.slow
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "type": json_values | st.sampled_from(protocol.TYPES),
            "id": json_values,
            "rows": json_values,
            "error": json_values,
            "result": json_values,
        },
    )
)
def test_any_object_is_a_message_or_an_error(obj: dict[str, object]) -> None:
    try:
        message = protocol.message_from(obj)
    except protocol.WireError:
        return
    assert message.type in protocol.TYPES
    assert isinstance(message.rows, list)


@given(json_values)
def test_any_row_is_an_entry_or_an_error(row: object) -> None:
    with pytest.raises(ValueError, match=r"row|field"):
        entry_from_json(row)


@given(st.lists(st.binary(max_size=20)), st.lists(st.integers(1, 30)))
def test_lines_are_cut_wherever_chunks_end(parts: list[bytes], cuts: list[int]) -> None:
    lines = [part.replace(b"\n", b"x") for part in parts if part]
    stream = b"".join(line + b"\n" for line in lines)
    cutter, found = protocol.Lines(), []
    for cut in [*cuts, len(stream)]:
        found += cutter.feed(stream[:cut])
        stream = stream[cut:]
    assert found == lines


def test_limits() -> None:
    with pytest.raises(protocol.WireError):
        protocol.encode({"x": "y" * protocol.MAX_LINE})
    with pytest.raises(protocol.WireError):
        protocol.decode(b"[" * 500_000)
    endless = protocol.Lines()
    with pytest.raises(protocol.WireError):
        for _ in range(20):
            endless.feed(b"x" * 100_000)
    too_many = {"type": "rows", "id": 1, "rows": [{}] * 501}
    with pytest.raises(protocol.WireError):
        protocol.message_from(json.loads(json.dumps(too_many)))


def test_an_engine_whose_work_hangs_ends_without_its_app() -> None:
    script = """if True:
        import time
        from torchkeeper.engine import purging, serve
        def hang(session, params, report):
            report.progress(0, 1, "steps")
            time.sleep(60)
        purging.recover = hang
        serve.PATIENCE = 0.5
        serve.main()
    """
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", script], **pipes) as engine:  # type: ignore[call-overload]
        engine.stdin.write(protocol.encode({"id": 1, "op": "recover", "params": {"place": "/"}}))
        engine.stdin.flush()
        while b"progress" not in engine.stdout.readline():
            pass
        engine.stdin.close()
        assert engine.wait(LONG) == 1


def test_how_far_it_is_is_told_once_in_a_while() -> None:
    stream = io.BytesIO()
    request = serve.Request(serve.Out(stream), 1)
    with patch("time.monotonic", side_effect=itertools.count(100, serve.TELLING / 4)):
        for done in range(10):
            request.progress(100 * done, 900, "entries")
        request.progress(0, 9, "files")
    said = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(one["done"], one["unit"]) for one in said] == [
        (0, "entries"), (400, "entries"), (800, "entries"), (900, "entries"), (0, "files")
    ]  # fmt: skip
