"""The variants of recipes: which there are; why the verification of one missed, by its trace."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Quiet, Report
from torchkeeper.engine.running import Held, Near, holding
from torchkeeper.engine.session import Session
from torchkeeper.warm.ran import Explain
from torchkeeper.warm.traces import trace as traces

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Fault
    from torchkeeper.engine.messages.compiling import VariantsParams, VariantsResult, VariantsRow
    from torchkeeper.verdict.probed import CauseTold
    from torchkeeper.warm.recipes.recipe import Variant


#: Differences that are told of a graph; more fit no line.
_MOST = 6


def explainer(session: Session, target: str, report: Report) -> Explain:
    """What ``verify`` asks for causes. What the place holds is looked at once, when first asked."""
    quiet, known = Quiet(report), dict[str, Held]()

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


def variants(_: Session, params: VariantsParams, report: Report) -> VariantsResult:
    """Rows of variants as ``warm`` numbers them, each with the problem that it is known to have
    before torch, or anything of the user's, is imported. Raises Problem as ``supervise.checked``.
    """
    from torchkeeper.warm.recipes.foreseeing import foreseen
    from torchkeeper.warm.sent import placed
    from torchkeeper.warm.supervise import checked, unbuildable, uncompilable

    # What goes into no place at all is looked at in the same way as what goes into one.
    into = params.get("into", "/")
    rows: list[VariantsRow] = []
    with placed(params) as recipes:
        params["recipes"] = recipes
        every = checked(params, into).variants
        for variant, problem in zip(every, foreseen(every), strict=True):
            report.check()
            problem = problem or unbuildable(variant, into) or uncompilable(variant)
            rows.append(_row(variant, problem))
    report.rows(rows)
    return {"variants": len(rows), "problems": sum(row["problem"] is not None for row in rows)}


def _row(variant: Variant, problem: Problem | None) -> VariantsRow:
    fault: Fault | None = {"code": problem.code, "params": problem.params} if problem else None
    return {
        "index": variant.index,
        "recipe": variant.recipe,
        "name": variant.name,
        "source": variant.source,
        "folder": variant.folder,
        "device": variant.device,
        "dtype": variant.dtype,
        "mode": variant.mode,
        "sizes": variant.sizes,
        "threads": variant.threads,
        "portable": variant.portable,
        "seconds": variant.seconds,
        "memory": variant.memory,
        "target": variant.item.get("target"),
        "problem": fault,
    }
