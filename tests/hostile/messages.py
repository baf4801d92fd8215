"""What may come over the wire in either direction, from whoever has taken the other end."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from tests.hostile import mutations, values
from torchkeeper.engine import protocol

#: What runs what the user points it at, asks servers, or tells of this machine.
_NOT_ASKED = {
    "probe", "warm", "verify", "prepare", "server", "facts", "ttl", "variants", "know", "toolchain",
    "settings", "processes", "process_settings", "diagnose", "detach",
}  # fmt: skip
ASKED = sorted(set(protocol.TABLE) - _NOT_ASKED)
#: What params are called, by what they are.
PLACES = ("place", "into", "output", "file", "path", "signers", "vouched", "trace")
TEXTS = ("filter", "key", "kind", "name", "python", "signature", "manifest", "by", "path", "other")
TRUTHS = ("replace", "dry", "now", "facts", "times", "first", "alone", "known", "shared", "stale",
          "broken", "orphans", "in_use", "sizes", "remote")  # fmt: skip
NUMBERS = ("offset", "plan", "look", "ttl_s", "limit", "older", "keep", "receipt")
FILTERS = ("kind:fxgraph size>1M", "age>30d", "size>" + "9" * 4_000, "a" * 5_000, "(" * 1_000,
           "name:" + "a*" * 1_000, '"', "\\", "kind:", ":", ">", "size>-1", "size>1e999", "age>nan",
           "verdict:broken", "used<1d", "not " * 1_000, "-" * 1_000,
           "key:\ud800", "/(a+)+$/")  # fmt: skip
ENTRY = {
    "kind": "fxgraph", "key": "k", "name": "n", "size": 1, "files": 1, "mtime": 1.5, "torch": "t",
    "device": "cpu", "compile_s": 0.5, "path": "p", "sha256": "a" * 64, "problem": None,
    "orphan": None, "expires": 0, "used": None, "verdict": "usable",
}  # fmt: skip
MESSAGES: tuple[dict[str, Any], ...] = (
    {"type": "hello", "protocol": 1, "version": "1", "executable": "/x", "python": "3.11",
     "operations": ["list"]},
    {"type": "progress", "id": 1, "done": 1, "total": 2, "unit": "entries"},
    {"type": "rows", "id": 1, "rows": [ENTRY, ENTRY]},
    {"type": "finding", "id": 1, "left": {"kind": "code", "key": "k", "code": "key-taken",
                                          "params": {"path": "x"}}},
    {"type": "result", "id": 1, "result": {"entries": 1}},
    {"type": "error", "id": 1, "error": {"code": "place-missing", "params": {"place": "/x"}}},
    {"type": "error", "id": 1, "error": {"code": "recipe-wrong", "params": {
        "recipe": "r", "where": "w", "expected": "a-number", "found": "f"}}},
)  # fmt: skip


def from_engine(chance: Random, size: int) -> list[bytes]:
    """Some lines as an engine might say them, and where they are cut."""
    lines = []
    for _ in range(size):
        good = chance.choice(MESSAGES)
        how = chance.randrange(6)
        if how == 0:
            line = chance.choice(values.ODD_JSON)
        elif how == 1:
            line = mutations.mutated(json.dumps(good).encode(), chance, size)
        elif how == 2:
            line = values.as_json(values.plain(chance, 5))
        elif how == 3:
            code = chance.choice(("recipe-wrong", "bundle-damaged", values.text(chance)))
            params = {values.text(chance): values.plain(chance), "why": values.plain(chance)}
            line = values.as_json({**MESSAGES[5], "error": {"code": code, "params": params}})
        else:
            line = values.as_json(values.changed(good, chance, size))
        lines.append(line)
    data, cuts = b"\n".join(lines) + b"\n", []
    while data:
        cut = chance.randint(1, len(data))
        cuts.append(data[:cut])
        data = data[cut:]
    return cuts


def request(chance: Random, places: list[str], ident: int) -> tuple[bytes, bool]:
    """A request of an engine, of which nothing may lead out of some places; and whether all of it
    is of the types that it should be.
    """
    params = _typed(chance, places)
    typed = chance.random() < 0.5
    if not typed:
        params = values.changed(params, chance, 3)
    asked = {"id": ident, "op": chance.choice(ASKED), "params": _kept_in(params, places)}
    return json.dumps(asked).encode(), typed


def _typed(chance: Random, places: list[str]) -> dict[str, Any]:
    text = chance.choice((values.text, lambda some: some.choice(FILTERS)))
    params: dict[str, Any] = {name: chance.choice((*places, text(chance))) for name in PLACES}
    params |= {name: text(chance) for name in TEXTS if chance.random() < 0.3}
    params |= {name: chance.choice((True, False)) for name in TRUTHS if chance.random() < 0.3}
    numbers = [one for one in values.NUMBERS if isinstance(one, int)]
    params |= {name: chance.choice(numbers) for name in NUMBERS if chance.random() < 0.3}
    params["kind"] = chance.choice(("fxgraph", "code", text(chance)))
    params["path"] = chance.choice((text(chance), "fxgraph/x", f"aa/{'c' * 52}.py"))
    params["select"] = {name: made for name, made in (
        ("filter", text(chance)), ("keys", [text(chance)]), ("kinds", [text(chance)]),
        ("items", [[params["kind"], params["path"]]]),
    ) if chance.random() < 0.3}  # fmt: skip
    params["fix"] = chance.choice(
        ("chmod", "touch", "trash-broken", "trash-leftovers", text(chance))
    )
    params["files"] = [chance.choice(places), text(chance)]
    params["places"] = [chance.choice(places), chance.choice((*places, text(chance)))]
    params["items"] = [[text(chance), text(chance)]]
    params["env"] = chance.choice(({"torch": text(chance)}, {}))
    params["other"] = {name: params[name] for name in ("place", "kind", "path")}
    return params


def _kept_in(value: Any, places: list[str]) -> Any:
    """The same, where no path that begins at the root leads anywhere else."""
    if isinstance(value, str):
        away = value.startswith("/") and not value.startswith(places[0])
        return (
            f"{places[0]}/..{value}" if away and ".." not in value else places[0] if away else value
        )
    if isinstance(value, list):
        return [_kept_in(one, places) for one in value]
    if isinstance(value, dict):
        return {name: _kept_in(one, places) for name, one in value.items()}
    return value


def endless() -> list[bytes]:
    """A line of 100 MB, as it comes."""
    return [b"x" * (1 << 18)] * 400


def no_requests() -> list[bytes]:
    """Lines that are no requests, or of which the answer would not fit a line."""
    most = protocol.MAX_LINE - 200
    params = {"place": "/" + "é" * (most // 3)}
    return [
        json.dumps({"id": 2, "op": "list", "params": params}, ensure_ascii=False).encode(),
        b'{"cancel": []}', b'{"cancel": {}}', b'{"cancel": null}', b'{"cancel": "1"}',
        b'{"id": 1e999, "op": "list"}', b'{"id": true, "op": "list"}', b'{"id": [], "op": "list"}',
        b'{"id": ' + b"9" * 4_300 + b', "op": "list", "params": {}}',
        b'{"id": 3, "op": "' + "é".encode() * (most // 4) + b'"}', b'{"id": 3, "op": []}',
        b'{"id": 3, "op": "list", "params": []}',
        b'{"id": 3, "op": "list", "params": {"place": 5}}', b"{}",
        b"[" * 500_000, b'{"id": ' + b"9" * 5_000 + b"}", b"\xff", b"x" * protocol.MAX_LINE,
        b'{"id": 1, "op": "list", "params": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}",
        *(line for line in values.ODD_JSON if line.strip()),
    ]  # fmt: skip
