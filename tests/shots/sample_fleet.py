"""A made-up fleet: its nodes, and its cells as they go."""

from __future__ import annotations

from torchkeeper.client.kept.targets import Kept
from torchkeeper.engine.messages.fleet import CellFinding, FleetResult, NodeFinding
from torchkeeper.gui.matrix.cells import Cells

BUNDLE = "/home/ada/export/llama.torchcache"
KEPT = [
    Kept("gpus", "group", ["ssh://gpu1", "ssh://gpu2"]),
    Kept("ssh://gpu1", "host", ["gpus"]),
    Kept("ssh://gpu2", "host", ["gpus"]),
    Kept("ssh://ada@build", "host"),
    Kept("http://head:8265", "other"),
]
_H100, _A100 = "NVIDIA H100, torch 2.9.1 · 4c1f09aa", "NVIDIA A100, torch 2.9.1 · 93be7d20"
_CPU = "CPU avx512, torch 2.9.1 · 0b77c3e1"
KINDS = (_H100, _A100, _CPU)
_NODES = {
    "ssh://gpu1": (_H100, ["NVIDIA H100", "NVIDIA H100"]),
    "ssh://gpu2": (_H100, ["NVIDIA H100", "NVIDIA H100"]),
    "ssh://gpu3": (_A100, ["NVIDIA A100"]),
    "local": (_CPU, ["AMD EPYC 9654"]),
}
LOG = [
    "Traceback (most recent call last):",
    '  File "decode.py", line 41, in forward',
    "    return self.attend(x) @ self.out",
    "RuntimeError: mat1 and mat2 shapes cannot be multiplied (8x64 and 32x64)",
]


def nodes() -> list[NodeFinding]:
    found: list[NodeFinding] = [
        {
            "target": name, "name": name, "state": "ready", "kind": kind, "torch": "2.9.1",
            "devices": devices, "slots": 2 if "gpu" in name else 1,
            "labels": {"zone": "a"} if "gpu" in name else {}, "why": None,
        }
        for name, (kind, devices) in _NODES.items()
    ]  # fmt: skip
    found.append(
        {
            "target": "ssh://gpu4", "name": "ssh://gpu4", "state": "unusable", "kind": "",
            "torch": "", "devices": [], "slots": 0, "labels": {},
            "why": {"code": "ssh-refused", "params": {"machine": "ssh://gpu4", "said": ""}},
        }
    )  # fmt: skip
    return found


def cell(number: int, kind: str, state: str) -> CellFinding:
    """A cell in a state, with what is known of it then."""
    node = next(name for name, (of, _) in _NODES.items() if of == kind)
    other = "ssh://gpu2" if kind == _H100 else node
    name = f"decode, batch {2**number}, bfloat16"
    one: CellFinding = {
        "cell": f"{number:04x}{KINDS.index(kind)}", "state": state, "index": number,
        "recipe": "decode", "name": name, "source": "callable", "kind": kind,
    }  # fmt: skip
    if state in ("proven", "warm", "partly", "proving"):
        one.update({"node": node, "seconds": 11.4 + number, "graphs": 4})
    if state in ("proven", "partly"):
        missed = int(state == "partly")
        one.update({"proved_on": other, "found": 0.8, "hits": 4 - missed, "misses": missed,
                    "rebuilt": missed})  # fmt: skip
    if state == "compiling":
        one["node"] = node
    if state == "proving":
        one["proved_on"] = other
    if state == "failed":
        one.update({"node": "ssh://gpu1, ssh://gpu2", "log": ["ssh://gpu1:", *LOG],
                    "problem": {"code": "fleet-failed",
                                "params": {"nodes": "ssh://gpu1, ssh://gpu2"}}})  # fmt: skip
    if state == "impossible":
        problem = {"needs": 128 << 30, "has": 80 << 30}
        one["problem"] = {"code": "fleet-lacks-memory", "params": problem}
    return one


def fill(cells: Cells, *, over: bool) -> None:
    """What has been told of a fleet that runs, or of one that is over."""
    for one in nodes():
        cells.hear({"node": one})
    running = {
        _H100: ["proven", "proven", "failed", "warm", "proving", "compiling", "waiting"],
        _A100: ["proven", "partly", "warm", "compiling", "waiting", "waiting", "waiting"],
        _CPU: ["proven", "warm", "warm", "compiling", "waiting", "waiting", "waiting"],
    }
    ended = {
        _H100: ["proven", "proven", "failed", *["proven"] * 4],
        _A100: ["proven", "partly", *["proven"] * 4, "impossible"],
        _CPU: ["proven"] * 7,
    }
    for number in range(7):
        some = (ended if over else running).items()
        cells.hear({"cells": [cell(number, kind, states[number]) for kind, states in some]})
    for node, entries in (("ssh://gpu1", 34), ("ssh://gpu3", 12), ("local", 20)):
        cells.hear({"gathered": {"node": node, "entries": entries, "bytes": entries * 91_000}})
    if not over:
        for line in ("decode, batch 32: compiling", "1/0 forward: miss, compiled", *LOG[:1]):
            cells.hear({"cell_log": {"cell": "00050", "line": line}})


def result(cells: Cells, *, cut: bool = False) -> FleetResult:
    return {
        "cells": len(cells.rows), "states": dict(cells.counts), "compiled": 19, "there": 0,
        "entries": 66, "bytes": 6_006_000, "shared": 4, "seconds": 214.0, "nodes": 4, "cut": cut,
        "into": BUNDLE, "state": "/home/ada/.local/share/torchkeeper/fleets/1",
    }  # fmt: skip
