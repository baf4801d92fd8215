"""Entries that can be read and say nonsense: listed, judged, compared, related, exported."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.conftest import DATA
from tests.hostile import bundles, facts, pickles
from tests.hostile.listing import KEY, PATHS
from tests.hostile.running import Run
from tests.hostile.test_messages import Asked, engine
from tests.hostile.tripwires import Arena
from torchkeeper.client.words.catalogue import CATALOGUE
from torchkeeper.client.words.problems import user_error

ENVIRONMENTS = json.loads((DATA / "environments.json").read_text())


@pytest.fixture(scope="module")
def programs(recorded: Path) -> dict[str, list[list[bytes]]]:
    """Real graphs of torch 2.13.0, in their opcodes."""
    found: dict[str, list[list[bytes]]] = {}
    for kind in ("fxgraph", "aotautograd"):
        files = sorted(path for path in (recorded / "cache" / kind).rglob("*") if path.is_file())
        payloads = [data for path in files if (data := path.read_bytes())]
        found[kind] = [pickles.opcodes(data) for data in payloads]
    return found


def write(place: Path, path: str, data: bytes) -> str:
    file = place / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return path


def fill(
    place: Path, programs: dict[str, list[list[bytes]]], trip: str, made: tuple[Random, int]
) -> list[tuple[str, str]]:
    """Put some entries into a place; the kinds and paths of those that may be compared."""
    chance, size = made
    found = []
    for kind in ("fxgraph", "fxgraph", "aotautograd"):
        if programs[kind] and chance.random() < 0.8:
            data = pickles.retexted(chance.choice(programs[kind]), chance, size)
        else:
            data = pickles.objects(kind, trip, chance, size)
        found.append((kind, write(place, bundles.payload_path(kind, data), data)))
    for kind in chance.sample(("triton", "group", "autotune", "choices", "eager"), k=3):
        data = facts.json_of(kind, chance, size)
        found.append(("triton" if kind == "group" else kind, write(place, PATHS[kind], data)))
    write(place, PATHS["module"], facts.source(trip))
    write(place, f"aa/c{KEY}.so", facts.PRODUCER)
    kinds = {"choices": "autotune", "eager": "aoti_eager"}
    return [
        (kinds.get(kind, kind), os.path.dirname(path) if kind == "triton" else path)
        for kind, path in found
    ]


def asked_of(place: str, output: str, some: list[tuple[str, str]]) -> list[tuple[str, Any]]:
    """What an app would ask of a place with such entries."""
    envs = {"envs": ["/one", "/two"]}
    asked: list[tuple[str, Any]] = [
        ("list", {**envs, "facts": True}), ("judge", envs), ("du", {}),
        ("check", {"env": next(iter(ENVIRONMENTS.values()))}),
        ("suggest", {**envs, "stale": True, "broken": True, "orphans": True, "older": 1}),
        ("plan_purge", {"select": {"filter": "kind:fxgraph"}}), ("plan_export", {}),
        ("export", {"output": output}), ("compare", {"file": output, "into": place}),
    ]  # fmt: skip
    for kind, path in some:
        one = {"kind": kind, "path": path}
        asked += [(op, one) for op in ("detail", "factors", "needs")]
        asked.append(("explain", {**one, "nearest": [place]}))
        asked += [
            ("explain", {**one, "other": {"kind": k, "path": p}}) for k, p in some if k == kind
        ]
    return [(op, {"place": place, **params}) for op, params in asked]


def told(asked: Asked, op: str, params: dict[str, Any]) -> None:
    """Ask; the answer is a result, or an error that is no bug of ours."""
    asked.send(json.dumps({"id": 1, "op": op, "params": params}).encode())
    answer = asked.answer()
    if answer.type == "error":
        error = answer.body["error"]
        assert error["code"] in CATALOGUE
        assert error["code"] not in ("engine-bug", "request-malformed"), (op, error)
        user_error(error["code"], error["params"])


def test_generated(run: Run, arena: Arena, programs: dict[str, list[list[bytes]]]) -> None:
    place, trip = arena.inside / "place", str(arena.trip / "x")
    output = str(arena.inside / "out.torchcache")
    with engine(arena) as asked:
        for name, env in zip(("/one", "/two"), ENVIRONMENTS.values(), strict=False):
            told(asked, "know", {"python": name, "env": env})

        def check(made: tuple[Random, int]) -> None:
            place.mkdir()
            some = fill(place, programs, trip, made)
            for op, params in asked_of(str(place), output, some):
                if op == "compare" and not os.path.exists(output):
                    continue
                told(asked, op, params)
            arena.check()
            shutil.rmtree(place)
            Path(output).unlink(missing_ok=True)

        run.many("entries", lambda chance, size: (chance, size), check)
