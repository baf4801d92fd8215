"""The operations of a fleet: who is there (``nodes``), and to warm a matrix (``fleet``).

The nodes are probed, the variants become cells, and what the place has already is done. What is
left goes to nodes in units (``working``): each begins with what the place has that fits that node,
and what it compiles comes back as a bundle, which is noted (``state``) and merged (``gathering``).
Then each cell is proven on a node that did not compile it, with what was gathered and nothing else.
"""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, cast

from torchkeeper.artifacts.entry import Problem
from torchkeeper.artifacts.report import Report
from torchkeeper.client import temporary
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine.session import Session
from torchkeeper.fleet import asking
from torchkeeper.fleet import cells as matrix
from torchkeeper.fleet.cells import Place, fault_of, told_of
from torchkeeper.fleet.gathering import Gathering
from torchkeeper.fleet.last import Keeper
from torchkeeper.fleet.run import Fleet
from torchkeeper.fleet.state import State, folder_of
from torchkeeper.placing.target import Node, Target
from torchkeeper.placing.targets import target
from torchkeeper.warm.options import MOST_JOBS

if TYPE_CHECKING:
    from torchkeeper.engine.messages import fleet as msg

#: Seconds between two looks whether somebody still waits for the nodes.
_TURN = 0.2


def nodes(_: Session, params: msg.NodesParams, report: Report) -> msg.NodesResult:
    """The nodes of targets, each a finding. Raises UserError where a target cannot be asked."""
    with (
        _as_problems(),
        asking.answered(params, "", report),
        _targets(params, report) as (_some, places, unusable),
    ):
        _tell_nodes(places, unusable, report)
        return {"nodes": len(places) + len(unusable), "ready": len(places)}


def fleet(session: Session, params: msg.FleetParams, report: Report) -> msg.FleetResult:
    """Warm a matrix. Raises Problem and UserError for what holds for all of it."""
    with contextlib.ExitStack() as ends:
        ends.enter_context(_as_problems())
        ends.enter_context(asking.answered(params, params["into"], report))
        _some, places, unusable = ends.enter_context(_targets(params, report))
        told = _tell_nodes(places, unusable, report)
        state = State(params.get("state") or folder_of(params["into"]))
        if params.get("dry"):
            state.read()
        else:
            ends.enter_context(state.held())
        found = queue.SimpleQueue[Mapping[str, Any]]()
        gathering = Gathering(params["into"], params.get("secrets"), session.secrets, found.put)
        ends.callback(gathering.close)
        scratch = ends.enter_context(temporary.folder("fleet"))
        last = Keeper(state.folder, params, told)
        one = Fleet(params, places, state, gathering, found, scratch, report, last)
        return one.look() if params.get("dry") else one.warm()


@contextlib.contextmanager
def _as_problems() -> Iterator[None]:
    """What an operation raises goes over the wire, and is put into words there once more."""
    try:
        yield
    except UserError as e:
        told = cast("Any", fault_of(e))
        raise Problem(told["code"], **told["params"]) from e


@contextlib.contextmanager
def _targets(
    params: msg.NodesParams, report: Report
) -> Iterator[tuple[list[Target], list[Place], list[tuple[Target, Node]]]]:
    """The targets, their nodes that are ready, and those that are not. Raises Cancelled where
    nobody waits for them any more: what asks them then ends as it can.
    """
    with contextlib.ExitStack() as ends:
        some: list[Target] = []
        for name in dict.fromkeys(params.get("on") or ["local"]):
            some.append(target(name, params.get("python"), params.get("slots")))
            ends.callback(some[-1].close)
        pool = ThreadPoolExecutor(len(some))
        asked = [pool.submit(one.nodes) for one in some]
        pool.shutdown(wait=False)
        while wait(asked, _TURN).not_done:
            report.check()
        found = [one.result() for one in asked]
        every = [
            (of, node._replace(slots=min(node.slots, MOST_JOBS)))  # each is a thread
            for of, several in zip(some, found, strict=True)
            for node in several
        ]
        places = [Place(of, node, matrix.kind_of(node.facts)) for of, node in every if node.facts]
        yield some, places, [(of, node) for of, node in every if not node.facts]


def _tell_nodes(
    places: Sequence[Place], unusable: Sequence[tuple[Target, Node]], report: Report
) -> list[msg.NodeFinding]:
    told = [told_of(place, "ready") for place in places]
    told += [told_of(Place(of, node, ""), "unusable", fault_of(node.why)) for of, node in unusable]
    for one in told:
        report.finding(node=one)
    return told
