"""An engine that is asked before anybody is there who could hear the answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torchkeeper.client.engines.process import Engine


@dataclass
class Ahead:
    """The engine, and the requests it was sent. Their answers wait in its pipe."""

    engine: Engine
    _asked: list[tuple[int, str, Mapping[str, object]]] = field(default_factory=list)

    def ask(self, op: str, params: Mapping[str, object]) -> None:
        """Send a request."""
        self._asked.append((self.engine.send(op, params), op, dict(params)))

    def take(self, op: str, params: Mapping[str, object]) -> int | None:
        """The id of such a request, for whoever would send it now; None if there is none.

        All others are cancelled: nobody will hear their answers.
        """
        taken = None
        for ident, asked_op, asked_params in self._asked:
            if taken is None and (asked_op, asked_params) == (op, params):
                taken = ident
            else:
                self.engine.cancel(ident)
        self._asked.clear()
        return taken
