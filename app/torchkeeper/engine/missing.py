"""Why a verification missed: its trace compared with what the place that is verified holds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.engine.running import Held, Near, holding
from torchkeeper.engine.session import Session
from torchkeeper.warm.ground import Explain
from torchkeeper.warm.traces import trace as traces

if TYPE_CHECKING:
    from torchkeeper.verdict.shapes import CauseTold

#: Differences that are told of a graph; more fit no line.
_MOST = 6


class _Quiet(Report):
    """Hears of a wish to end, and passes nothing else on."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def check(self) -> None:
        self._report.check()


def explainer(session: Session, target: str, report: Report) -> Explain:
    """What ``verify`` asks for causes. What the place holds is looked at once, when first asked."""
    quiet, known = _Quiet(report), dict[str, Held]()

    def explain(inner: str, trace: str) -> dict[str, CauseTold]:
        place = os.path.normpath(os.path.join(target, inner))
        try:
            read = traces.read(trace, quiet)
        except Problem:
            return {}
        if place not in known:
            known[place] = holding(place, quiet)
        near = Near(session, known[place], read, quiet)
        found: dict[str, CauseTold] = {}
        for graph in read.graphs:
            if graph.outcome != "hit" and (cause := near.cause(graph)) and graph.id not in found:
                cause.pop("graph", None)
                if "differences" in cause:
                    cause["differences"] = cause["differences"][:_MOST]
                if graph.reason:
                    cause["reason"] = graph.reason[:400]
                found[graph.id] = cause
        return found

    return explain
