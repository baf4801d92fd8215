"""What a stranger's server answers, where a Ray cluster is expected."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from torchkeeper.client.words.problems import UserError
from torchkeeper.engine.protocol import PLACES, WireError
from torchkeeper.placing import ray_job
from torchkeeper.placing.ray import Ray
from torchkeeper.placing.ray_http import Refused, Server
from torchkeeper.placing.ray_job import PART, groups
from torchkeeper.placing.target import Lost, Node, Unit

#: What is asked, and what is told: the status and the bytes.
Answers = Callable[[str, str, bytes], tuple[int, bytes]]


@pytest.fixture
def serve() -> Iterator[Callable[[Answers], str]]:
    """Starts a server with these answers; its address."""
    servers: list[ThreadingHTTPServer] = []

    def start(answers: Answers) -> str:
        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, data = answers(self.command, self.path, body)
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/other")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        for method in ("GET", "PUT", "POST"):
            setattr(Handler, f"do_{method}", Handler._answer)
        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever).start()
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("address", [
    "", "head:8265", "ftp://head", "http://", "http://user:secret@head:8265", "http://he ad",
    "http://head:port", "http://head/?x=1", "http://head/#x", "http://head\n:1", "http://[::1",
])  # fmt: skip
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(UserError) as caught:
        Ray(address)
    assert caught.value.code == "ray-address-wrong"
    assert "secret" not in str(caught.value)


def test_what_is_no_answer_is_refused(serve: Callable[[Answers], str]) -> None:
    told = {
        "/text": b"<html>", "/list": b"[1]", "/deep": b"[" * 100_000, "/long": b" " * (1 << 21),
        "/other": b"{}",
    }  # fmt: skip
    address = serve(lambda _, path, __: (302, b"") if path == "/away" else (200, told[path]))
    server = Server(address)
    for path in ("/text", "/list", "/deep", "/long", "/away"):
        with pytest.raises(Refused):
            server.json("GET", path)
    assert server.json("GET", "/other") == {}


def test_what_a_server_says_is_one_plain_line(serve: Callable[[Answers], str]) -> None:
    why = b"Traceback\n" + b"x" * 5000 + b"\n\x1b[31mgone\xff\n"
    with pytest.raises(Refused) as caught:
        Server(serve(lambda *_: (500, why))).ask("GET", "/")
    assert str(caught.value).isprintable() and len(str(caught.value)) < 600


@pytest.mark.parametrize("line", [
    b"x\n", b"[]\n", b'{"lines":-1}\n', b'{"lines":1e9}\n', b'{"lines":99999999}\n',
    b'{"lines":"1"}\n', b'{"of":"1"}\n', b'{"labels":{"a":1}}\n', b'{"log":[1]}\n',
])  # fmt: skip
def test_a_line_of_another_form_is_refused(line: bytes) -> None:
    with pytest.raises(WireError):
        list(groups(line))


def test_lines_of_an_engine_follow_the_line_that_counts_them() -> None:
    data = b'{"of":1,"lines":2}\na\nb\n{}\n{"lines":1}\nc'
    found = list(groups(data))
    assert [one for one, _ in found] == [({"of": 1, "lines": 2}, [b"a\n", b"b\n"]), ({}, [])]
    # What has not come whole comes later, and nothing twice.
    assert data[found[-1][1] :] == b'{"lines":1}\nc'
    assert [one for one, _ in groups(data + b"d\n", found[-1][1])] == [({"lines": 1}, [b"cd\n"])]
    assert list(groups(b"")) == list(groups(b'{"lines"')) == []


class Cluster:
    """A server that speaks as a cluster does, and says of each unit what it was given."""

    def __init__(self, said: list[dict[str, Any] | bytes], part: bytes = b"") -> None:
        self.said, self.part = said, part
        self.lines = [b'{"ready":"2"}\n']
        self.asked = threading.Event()

    def __call__(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        if method == "PUT":
            head = body.partition(b"\n")[0]
            if b'"run"' in head:
                of = json.loads(head)["of"]
                for one in self.said:
                    line = one if isinstance(one, bytes) else json.dumps({**one, "of": of}).encode()
                    self.lines.append(line + b"\n")
            elif b'"file"' in head or b'"part"' in head:
                pass
            elif b'"end"' in head:
                self.lines.append(b'{"bye":true}\n')
            self.lines.append(b'{"taken":999}\n')
            return 200, b""
        if "made." in path:
            return 200, self.part
        if "said." in path:
            return 200, b"".join(self.lines)
        return 200, b'{"status":"RUNNING","driver_node_id":"00"}'


NODE = Node("n\x1b[31m", "", 1, None, {
    "ray.io/node-id": "00", "torchkeeper/cpus": "1", "torchkeeper/gpus": "0",
})  # fmt: skip
RESULT = b'{"type":"result","id":1,"result":{}}'
HELLO = b'{"type":"hello","protocol":1}'


@pytest.fixture
def run(
    serve: Callable[[Answers], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """Runs a unit at a server that says this of it; its result."""
    monkeypatch.setattr(ray_job, "_END", 1.0)

    def ask(*said: dict[str, Any] | bytes, part: bytes = b"", output: str = "") -> Any:
        target = Ray(serve(Cluster(list(said), part)))
        try:
            unit = Unit(PLACES, {}, {}, output)
            return target.run(NODE, unit, lambda _: None, threading.Event())
        finally:
            target.close()

    return ask


def bundle(data: bytes, **other: Any) -> dict[str, Any]:
    return {"made": len(data), "sha256": hashlib.sha256(data).hexdigest(), **other}


def test_a_bundle_is_what_it_is_said_to_be(run: Callable[..., Any], tmp_path: Path) -> None:
    output, ends = tmp_path / "made", {"end": True, "parts": 1}
    said = ({"lines": 2}, HELLO, RESULT)
    assert run(*said, bundle(b"abc"), ends, part=b"abc", output=str(output)) == {}
    assert output.read_bytes() == b"abc"
    output.unlink()
    for wrong, part in (
        (bundle(b"abd"), b"abc"), (bundle(b"abc"), b"abcd"), (bundle(b"abc", made=2), b"abc"),
        (bundle(b"abc"), b"x" * (PART + 1)), (bundle(b"abc"), b""),
    ):  # fmt: skip
        with pytest.raises(Lost):
            run(*said, wrong, ends, part=part, output=str(output))
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", [
    b"x", b'{"type":"result","id":1,"result":[]}', b'{"type":"other","id":1}',
    b'{"type":"hello","protocol":7}', b'{"type":"error","id":1,"error":1}', b"[" * 5000,
])  # fmt: skip
def test_an_engine_that_says_something_else_is_lost(run: Callable[..., Any], line: bytes) -> None:
    with pytest.raises(Lost):
        run({"lines": 1}, line, {"end": True})


def test_what_is_told_of_a_loss_is_plain(run: Callable[..., Any]) -> None:
    with pytest.raises(Lost) as caught:
        run({"lost": "\x1b]0;gone\x07" + "x" * 99_999, "end": True})
    assert caught.value.why.what.isprintable() and len(str(caught.value.why)) < 4000
    with pytest.raises(UserError) as failed:
        run({"failed": "\x1b[31m\n", "end": True})
    assert "\x1b" not in str(failed.value)
