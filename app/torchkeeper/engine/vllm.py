"""What vLLM keeps in a place, a key for each part of a model and each rank; and what a process of
it was started with.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from torchkeeper.artifacts import vllm
from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.session import Session, place_of
from torchkeeper.settings import processes
from torchkeeper.settings import vllm as variables
from torchkeeper.stores import processes as proc
from torchkeeper.stores import vllm as stored

if TYPE_CHECKING:
    from torchkeeper.engine.messages import verdicts as msg

#: Pieces of a graph that are told: a model of eighty layers has some hundreds.
_PIECES = 2000


def keys(session: Session, params: msg.VllmParams, report: Report) -> msg.VllmResult:
    """Rows: each key, in order; findings: ``left``, what may be one and is damaged. Raises Problem
    as ``Session.store``.
    """
    place, count = place_of(params["place"]), 0

    def damaged(path: str) -> None:
        report.finding(left={"path": path, "code": "vllm-factors-damaged", "params": {}})

    with session.store(place, report) as store:
        items = store.items(report)
        for one in stored.keys(items, store, os.path.realpath(place), report, damaged):
            report.rows([_told(one)])
            count += 1
    return {"count": count}


def _told(one: stored.Key) -> msg.VllmRow:
    pieces: list[msg.PieceTold] = [
        {"name": name, "low": x.low, "high": x.high, "index": x.number, "bytes": size}
        for name, x, size in one.pieces[:_PIECES]
    ]
    return {
        "path": one.path, "folder": one.folder, "rank": one.rank, "part": one.part,
        "named": vllm.folder(one.factors), "env": dict(one.factors.env),
        "hashes": one.factors.hashes, "model": vllm.model(one.sources), "sources": one.sources,
        "pieces": pieces, "files": one.files, "bytes": one.size,
    }  # fmt: skip


def variables_of(
    _: Session, params: msg.VllmVariablesParams, __: Report
) -> msg.VllmVariablesResult:
    """Raises Problem as ``settings.processes.checked``."""
    processes.checked(pid := params["pid"])
    try:
        env = proc.environment(pid)
    except PermissionError:
        raise Problem("process-of-other", pid=pid) from None
    except OSError:
        raise Problem("process-gone", pid=pid) from None
    known = variables.hashed().keys() | variables.ignored()
    return {
        "variables": {n: x for n, x in env.items() if n in known or n.startswith(variables.BEGINS)}
    }
