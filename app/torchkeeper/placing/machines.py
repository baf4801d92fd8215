"""Machines of which engines are asked directly: this one, and others over ssh."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from select import select
from typing import Any

from torchkeeper.client.engines import far, ferry, interpreters, probes
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.words.problems import UserError, answered
from torchkeeper.placing.target import Heard, Lost, Node, Target, Unit, check_size
from torchkeeper.stores.names import SUFFIX
from torchkeeper.verdict.probed import Env

#: Why a node is lost, and not the unit to blame.
_GONE = frozenset({"engine-gone", "interpreter-unusable"})
#: Seconds between two looks whether to stop, and those that a stopped unit has to tell what it did.
_TURN, _PATIENCE = 0.2, 120.0
#: Machines that are asked at the same time.
_AT_ONCE = 32


class Machines(Target):
    """This machine ("" among the names), and others. python: the interpreter on each; None for the
    default. slots: of each; None for one.
    """

    alone = True

    def __init__(
        self,
        name: str,
        machines: Sequence[str],
        python: str | None = None,
        slots: int | None = None,
    ) -> None:
        self.name = name
        self._machines, self._python, self._slots = tuple(machines), python, slots
        self._sent = dict[tuple[str, str, float], str]()
        self._sending = {machine: threading.Lock() for machine in machines}

    def nodes(self) -> list[Node]:
        with ThreadPoolExecutor(min(_AT_ONCE, len(self._machines))) as pool:
            return list(pool.map(self._node, self._machines))

    def _node(self, machine: str) -> Node:
        name = machine or "local"
        try:
            python = interpreters.chosen(self._python, machine)
            facts: Env = probes.probe(python)
            if not facts.get("triton"):  # which is enough for its kernels
                facts = probes.environment(python)
        except UserError as e:
            return Node(name, "", 0, None, why=e)
        return Node(name, python, self._slots or 1, facts)

    def run(self, node: Node, unit: Unit, heard: Heard, stop: threading.Event) -> Any:
        machine = far.machine_of(node.python)
        try:
            with Engine(node.python) as engine, ExitStack() as ends:
                params = {**unit.params, **self._there(machine, unit)}
                made = unit.output
                if machine and made:
                    made = ferry.name(machine, SUFFIX)
                    ends.callback(ferry.drop, [made])
                if made:
                    params["output"] = made
                result = converse(engine, unit.op, params, heard, stop)
                if machine and made and result.get("size"):
                    check_size(result["size"], unit.output)
                    ferry.fetch(made, unit.output, result["size"])
                return result
        except UserError as e:
            if e.code in _GONE or e.code.startswith("ssh-"):
                raise Lost(e) from e
            raise

    def _there(self, machine: str, unit: Unit) -> dict[str, object]:
        """What a unit's files are called there; each goes once."""
        if not machine:
            return dict(unit.files)
        return {
            name: self._one(machine, some)
            if isinstance(some, str)
            else [self._one(machine, file) for file in some]
            for name, some in unit.files.items()
        }

    def _one(self, machine: str, file: str) -> str:
        known = machine, file, os.stat(file).st_mtime
        with self._sending[machine]:
            # Its folder there goes with the connection.
            there = self._sent.get(known)
            if there is None or not there.startswith(ferry.folder(machine)):
                there = self._sent[known] = ferry.send(machine, file)
        return there

    def close(self) -> None:
        ferry.drop(self._sent.values())
        self._sent.clear()


def converse(
    engine: Engine, op: str, params: dict[str, object], heard: Heard, stop: threading.Event
) -> Any:
    """Have an engine do one thing, in a thread that is not the main one. Raises UserError."""
    ident, asked = engine.send(op, params), 0.0
    while True:
        select([engine], [], [], _TURN)
        if stop.is_set():
            if not asked:
                engine.cancel(ident)
            asked += _TURN
            if asked > _PATIENCE:
                engine.kill()
        for message in engine.receive():
            if message.id != ident:
                continue
            if message.type == "result":
                return message.body["result"]
            if message.type == "error":
                raise answered(message.body["error"])
            heard(message)
