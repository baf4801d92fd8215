"""What of a fleet's place goes along to others: what its cells need, where that has changed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from torchkeeper.cli.asking import Asker
from torchkeeper.client.engines import far
from torchkeeper.client.engines.process import Engine
from torchkeeper.client.kept import whole
from torchkeeper.engine.protocol import LIST
from torchkeeper.fleet import retention
from torchkeeper.fleet.retention import Ask
from torchkeeper.fleet.state import State
from torchkeeper.stores.names import scheme_of

_FILE, _MOST = "also.json", 4 << 20


def asks(asker: Asker) -> Ask:
    """Asks an engine on behalf of a command."""

    def ask(op: str, params: Mapping[str, object]) -> tuple[Any, list[Any], Sequence[Any]]:
        asker.findings.clear()
        result = asker.ask(op, **params)
        return result, list(asker.rows), list(asker.findings)

    return ask


class Kept:
    """What a bundle of here got the last time. rows: the entries that go now, None for all."""

    def __init__(self, into: str, to: str, folder: str, cells: Collection[str]) -> None:
        """folder: of the state."""
        self._into, self._to, self._folder, self._cells = into, to, folder, cells
        self.rows: list[Any] | None = None
        self._print = ""

    def looks(self, quiet: bool) -> bool:
        """Whether there is anything to copy. Raises UserError."""
        state = State(self._folder)
        state.read()
        gone = retention.outdated(state, self._cells)
        with Engine(far.machine_of(self._into) or None) as engine:
            ask = asks(Asker(engine, quiet))
            rows = ask(LIST, {"place": self._into})[1]
            gone = retention.unneeded(self._into, gone, rows, ask)
        names = retention.without(state, self._cells, gone)
        going = [row for row in rows if (row["kind"], row["key"]) not in names]
        self.rows = None if len(going) == len(rows) else going
        made = sorted([row["kind"], row["path"], str(row["size"]), str(row["mtime"])]
                      for row in going)  # fmt: skip
        self._print = hashlib.sha256(json.dumps(made).encode()).hexdigest()
        now = self._now()
        return now is None or self._read().get(self._to) != now

    def keep(self) -> None:
        """It has all of it."""
        if now := self._now():
            with contextlib.suppress(OSError):  # it is copied once more
                whole.write(os.path.join(self._folder, _FILE), {**self._read(), self._to: now})

    def _now(self) -> list[Any] | None:
        """What is in the bundle if it is as it was; None for a place that itself knows what it
        lacks.
        """
        if far.is_far(self._to) or scheme_of(self._to).becomes(self._to) != "bundle":
            return None
        try:
            status = os.stat(self._to)
        except OSError:
            return None
        return [self._print, status.st_size, status.st_mtime_ns]

    def _read(self) -> Mapping[str, object]:
        try:
            found = json.loads(whole.read(os.path.join(self._folder, _FILE), _MOST))
        except (OSError, ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}
