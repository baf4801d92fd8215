"""What a stranger's server answers, where a Ray cluster is expected."""

from __future__ import annotations

import hashlib
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.conftest import once
from tests.pace import LONG
from tests.redis_server import certificates
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine.protocol import PLACES, WireError
from torchkeeper.placing import ray, ray_http
from torchkeeper.placing.ray import Ray
from torchkeeper.placing.ray_http import Away, Refused, Server, lines
from torchkeeper.placing.ray_job import PART
from torchkeeper.placing.target import Lost, Node, Unit

#: What is asked, and what is told: the status and the bytes.
Answers = Callable[[str, str, bytes], tuple[int, bytes]]


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Starts a server with these answers; its address. token: what it wants to be told by each."""
    servers: list[ThreadingHTTPServer] = []

    def start(answers: Answers, secured: ssl.SSLContext | None = None, token: str = "") -> str:
        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, data = answers(self.command, self.path, body)
                if token and self.headers.get("Authorization") != token:
                    status, data = 401, b"Unauthorized"
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
        if secured:
            server.socket = secured.wrap_socket(server.socket, server_side=True)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.02,)).start()
        return f"http{'s' * bool(secured)}://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("address", [
    "", "head:8265", "ftp://head", "http://", "http://user:secret@head:8265", "http://he ad",
    "http://head:port", "ray:auto", "ray:head:6379", "http://head/?x=1", "http://head/#x",
    "http://head\n:1", "http://[::1",
])  # fmt: skip
def test_other_addresses_are_refused(address: str) -> None:
    with pytest.raises(UserError) as caught:
        Ray(address)
    assert caught.value.code == "ray-address-wrong"
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(("address", "port", "before"), [
    ("http://head", 8265, ""), ("http://head:1/ray/", 1, "/ray"), ("https://head", 443, ""),
    ("https://head:1", 1, ""), ("ray://head:10001", 8265, ""), ("ray://head", 8265, ""),
])  # fmt: skip
def test_an_address_is_that_of_a_dashboard(address: str, port: int, before: str) -> None:
    server = Server(address)
    assert (server._host, server._port, server._before) == ("head", port, before)


def test_what_is_no_answer_is_refused(serve: Callable[..., str]) -> None:
    told = {
        "/text": b"<html>", "/list": b"[1]", "/deep": b"[" * 100_000, "/long": b" " * (1 << 21),
        "/other": b"{}",
    }  # fmt: skip
    address = serve(lambda _, path, __: (302, b"") if path == "/away" else (200, told[path]))
    server = Server(address)
    for path in ("/text", "/list", "/deep", "/long", "/away"):
        with pytest.raises(Refused):
            server.json(path)
    assert server.json("/other") == {}


def test_what_a_server_says_is_one_plain_line(serve: Callable[..., str]) -> None:
    why = b"Traceback\n" + b"x" * 5000 + b"\n\x1b[31mgone\xff\n"
    with pytest.raises(Refused) as caught:
        Server(serve(lambda *_: (500, why))).ask("GET", "/")
    assert str(caught.value).isprintable() and len(str(caught.value)) < 600


def _certificates(folder: Path) -> None:
    certificates(folder)


def test_a_head_behind_https_and_a_token(
    shared: Path, monkeypatch: pytest.MonkeyPatch, serve: Callable[..., str]
) -> None:
    folder = once(shared, "tls", _certificates)
    secured = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    secured.load_cert_chain(folder / "server.crt", folder / "server.key")
    address = serve(Cluster([{"end": True}]), secured, "Bearer secret")
    with pytest.raises(UserError) as strange:
        Ray(address).nodes()
    assert strange.value.code == "ray-away" and "certificate" in str(strange.value)
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "ca.crt"))
    with pytest.raises(UserError) as unknown:
        Ray(address).nodes()
    assert unknown.value.code == "ray-away" and "HTTP 401" in str(unknown.value)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "secret\n")
    target = Ray(address)
    assert target.nodes() == []
    target.close()


def test_an_answer_has_a_bound_of_bytes_and_of_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server that never ends its answer, and one that breaks it off."""
    gone = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            if self.path == "/cut":
                self.send_header("Content-Length", "9")
            self.end_headers()
            while self.path != "/cut":
                try:
                    self.wfile.write(b"x" * (1 if self.path == "/slow" else 1 << 16))
                except OSError:
                    gone.set()
                    break

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,)).start()
    try:
        asked = Server(f"http://127.0.0.1:{server.server_port}")
        with pytest.raises(Refused):
            asked.ask("GET", "/endless")
        assert gone.wait(LONG)
        with pytest.raises(Away):
            asked.ask("GET", "/cut")
        monkeypatch.setattr(ray_http, "LONGEST", 0.0)
        with pytest.raises(Away):
            asked.ask("GET", "/slow", most=1 << 40)
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("line", [
    b'{"line":', b'{"line":1}', b'{"line":"1","words":[]}', b'{"line":1,"words":[1]}',
    b'{"line":1,"words":[{"of":"1"}]}', b'{"line":1,"words":[{"labels":{"a":1}}]}',
    b'{"line":1,"words":' + b"[" * 9999, b'{"line":1,"words":[{"log":"' + b"x" * (1 << 20),
])  # fmt: skip
def test_a_line_of_another_form_is_refused(line: bytes) -> None:
    with pytest.raises(WireError):
        lines(line + b"\n")


def test_what_else_a_log_has_is_passed_over() -> None:
    data = (
        b'rest"}]}\nRuntime env\n{"line":7,"words":[{"of":1}]}\n\xff\n{"line":8,"words":[]}\n{"li'
    )
    assert lines(data) == [{"line": 7, "words": [{"of": 1}]}, {"line": 8, "words": []}]
    assert lines(b"") == []


class Cluster:
    """A server that speaks as a cluster does, and says of each request what it was given."""

    def __init__(self, said: list[dict[str, Any]], part: bytes = b"") -> None:
        self.said, self.part = said, part
        self.lines = list[bytes]()
        self.status, self.missing = "RUNNING", False
        self.say({"ready": True})

    def say(self, *words: dict[str, Any]) -> None:
        line = json.dumps({"line": len(self.lines) + self.missing, "words": words}).encode()
        self.lines.append(b'{"line":' + line.partition(b":")[2] + b"\n")

    def __call__(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        if method == "PUT":
            told = json.loads(body.partition(b"\n")[0]) if b"driver" not in path.encode() else {}
            if "run" in told or "nodes" in told:
                for one in self.said:
                    self.say({**one, "of": told["of"]})
            elif "end" in told:
                self.status = "SUCCEEDED"
            self.say({"taken": 999})
            return 200, b""
        if "job-driver-" in path:
            [most] = parse_qs(urlsplit(path).query)["lines"]
            return 200, b"".join(self.lines[-int(most) :])
        if "/logs/" in path:
            return 200, self.part
        return 200, json.dumps({"status": self.status, "driver_node_id": "00"}).encode()


NODE = Node("n\x1b[31m", "", 1, None, {
    "ray.io/node-id": "00", "torchkeeper/cpus": "1", "torchkeeper/gpus": "0",
})  # fmt: skip
RESULT = b'{"type":"result","id":1,"result":{}}'
HELLO = b'{"type":"hello","protocol":1}'


@pytest.fixture
def run(serve: Callable[..., str]) -> Callable[..., Any]:
    """Runs a unit at a server that says this of it; its result."""

    def ask(*said: dict[str, Any], part: bytes = b"", output: str = "") -> Any:
        target = Ray(serve(Cluster(list(said), part)))
        try:
            unit = Unit(PLACES, {}, {}, output)
            return target.run(NODE, unit, lambda _: None, threading.Event())
        finally:
            target.close()

    return ask


def told(*messages: bytes) -> dict[str, Any]:
    return {"said": "".join(one.decode() + "\n" for one in messages)}


def ended(data: bytes, **other: Any) -> bytes:
    """The last word of an engine that wrote this."""
    about = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest(), **other}
    return json.dumps({"type": "end", "status": 0, **about}).encode()


def test_a_bundle_is_what_it_is_said_to_be(run: Callable[..., Any], tmp_path: Path) -> None:
    output, ends = tmp_path / "made", {"end": True, "parts": 1}
    said = told(HELLO, RESULT, ended(b"abc"))
    assert run(said, ends, part=b"abc", output=str(output)) == {}
    assert output.read_bytes() == b"abc"
    output.unlink()
    for wrong, part in (
        (ended(b"abd"), b"abc"), (ended(b"abc"), b"abcd"), (ended(b"abc", size=2), b"abc"),
        (ended(b"abc", size="3"), b"abc"), (ended(b"abc"), b"x" * (PART + 1)), (ended(b"abc"), b""),
    ):  # fmt: skip
        with pytest.raises(Lost):
            run(told(HELLO, RESULT, wrong), ends, part=part, output=str(output))
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", [
    b"x", b'{"type":"result","id":1,"result":[]}', b'{"type":"other","id":1}',
    b'{"type":"hello","protocol":7}', b'{"type":"error","id":1,"error":1}', b"[" * 5000,
    b'{"type":"result","id":1,"result":{}}', b'{"type":"end","file":"\x1b[31m"}',
    b'{"type":"error","id":1,"error":{"code":"cancelled"}}',
])  # fmt: skip
def test_an_engine_that_says_something_else_is_lost(run: Callable[..., Any], line: bytes) -> None:
    with pytest.raises(Lost):
        run(told(line), {"end": True})


def test_what_is_told_of_a_loss_is_plain(run: Callable[..., Any]) -> None:
    with pytest.raises(Lost) as caught:
        run({"lost": "\x1b]0;gone\x07" + "x" * 99_999, "end": True})
    assert caught.value.why.what.isprintable() and len(str(caught.value.why)) < 4000
    with pytest.raises(UserError) as failed:
        run({"failed": "\x1b[31m\n", "end": True})
    assert "\x1b" not in str(failed.value)
    with pytest.raises(Lost) as ended_early:
        run({"log": "\x1b[31m\n" * 9_999, "status": 1, "end": True})
    assert ended_early.value.why.code == "ray-no-python"
    assert "\x1b" not in str(ended_early.value.why) and len(str(ended_early.value.why)) < 4000


def test_lines_that_came_meanwhile_are_asked_for(serve: Callable[..., str]) -> None:
    many = [
        told(b'{"type":"progress","id":1,"done":%d,"total":99,"unit":"x"}' % n) for n in range(99)
    ]
    heard = list[int]()
    target = Ray(serve(Cluster([*many, told(HELLO, RESULT, ended(b"")), {"end": True}])))
    target.run(
        NODE, Unit(PLACES, {}), lambda one: heard.append(one.body["done"]), threading.Event()
    )
    target.close()
    assert heard == list(range(99))


def test_a_cluster_that_skips_a_line_is_given_up(serve: Callable[..., str]) -> None:
    cluster = Cluster([])
    cluster.missing = True
    cluster.say()
    with pytest.raises(UserError) as caught:
        Ray(serve(cluster)).nodes()
    assert caught.value.code == "ray-away"


def nodes_of(serve: Callable[..., str], *said: dict[str, Any]) -> list[Node]:
    target = Ray(serve(Cluster([*said, {"end": True}])))
    try:
        return target.nodes()
    finally:
        target.close()


def test_nodes_have_names_of_their_own_and_bounds(serve: Callable[..., str]) -> None:
    labels = {f"{n}\x1b": "v" * 900 for n in range(999)}
    found = nodes_of(serve, *(
        {"node": f"{n}" * 56, "name": "same\x1b[31m" + "x" * 999, "cpus": 0.0, "labels": labels}
        for n in (1, 2, 3, 3)
    ))  # fmt: skip
    assert len({node.name for node in found}) == len(found) == 3
    for node in found:
        assert node.name.isprintable() and len(node.name) < 200
        assert len(node.labels) < 80
        assert all(
            len(k) + len(v) < 500 and f"{k}{v}".isprintable() for k, v in node.labels.items()
        )


def test_a_cluster_of_too_many_nodes_is_refused(
    serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray, "MOST", 20)
    many = ({"node": f"{n}", "name": f"{n}"} for n in range(99))
    with pytest.raises(UserError) as caught:
        nodes_of(serve, *many)
    assert caught.value.code == "ray-away" and "20" in str(caught.value)


def test_labels_of_megabytes_are_refused(serve: Callable[..., str]) -> None:
    with pytest.raises(UserError) as caught:
        nodes_of(serve, {"node": "1", "name": "n", "labels": {"a": "x" * (2 << 20)}})
    assert caught.value.code == "ray-away" and len(str(caught.value)) < 1000
