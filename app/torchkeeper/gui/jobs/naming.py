"""How native objects of bundles find the names by which an environment's PyTorch looks for them.

The steps of ``link.carrying``, as requests that nobody waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from PySide6.QtCore import QObject, Signal

from torchkeeper.engine.protocol import IMPORT
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.verdicts.environments import Environment
from torchkeeper.link import carrying
from torchkeeper.link.words.problems import UserError

Rows = list[dict[str, Any]]


class Naming(NamedTuple):
    """An environment, and what an engine is asked ``before`` it places entries for it."""

    python: str
    before: tuple[tuple[str, dict[str, Any]], ...]


def _naming(env: Environment, files: Sequence[str], rows: Rows) -> Naming:
    """``rows``: as ``names`` tells them."""
    know = ("know", {"python": env.python, "env": env.facts})
    return Naming(env.python, (know, *(("named", one) for one in carrying.requests(files, rows))))


class Names(QObject):
    """Asks an environment for the names of objects in files, while the user looks at them."""

    changed = Signal()

    def __init__(self, engines: Engines, parent: QObject) -> None:
        super().__init__(parent)
        self._engines = engines
        self._ticket: int | None = None
        self._of: tuple[str, object, tuple[str, ...]] | None = None
        self.error: UserError | None = None
        #: What an engine is told; None where there is no environment, or it is not known yet.
        self.naming: Naming | None = None

    @property
    def busy(self) -> bool:
        """Whether the environment has yet to answer."""
        return self._ticket is not None

    def ask(self, env: Environment | None, abouts: Sequence[Mapping[str, Any]]) -> None:
        """Have the objects of files named; nothing is asked twice. Without an environment that has
        a torch, they keep the names they have. abouts: as ``origin`` tells of each file.
        """
        files = [str(about["file"]) for about in abouts]
        of = (env.python, env.facts, tuple(files)) if env is not None and env.torch else None
        if of == self._of:
            return
        self.forget()
        self._of = of
        if env is None or of is None or not files:
            return
        rows: Rows = []

        def over(_: dict[str, Any]) -> None:
            self._ticket = None
            self.naming = _naming(env, files, rows)
            self.changed.emit()

        def failed(error: UserError) -> None:
            self._ticket = None
            self.error = error
            self.changed.emit()

        wanted = [about for about in abouts if carrying.asks(about, env.facts or {})]
        if not wanted:
            self.naming = _naming(env, files, rows)
            return

        def take(found: list[Any]) -> None:
            carrying.take(rows, found, wanted)

        listener = Listener(rows=take, result=over, failed=failed)
        params = {"files": [about["file"] for about in wanted]}
        self._ticket = self._engines.ask("names", params, listener, python=env.python)

    def forget(self) -> None:
        """Nobody wants to know any more."""
        self._engines.forget(self._ticket)
        self._ticket = self._of = self.naming = self.error = None


class Carry:
    """Puts what an import of a bundle would place into a folder, for one job.

    asked: hears of each ticket, by which that step can be cancelled. hears: as a Listener, of
    every step; ``failed`` or ``cancelled`` is the end.
    """

    def __init__(
        self, engines: Engines, env: Environment, asked: Callable[[int], None], **hears: Any
    ) -> None:
        self._engines = engines
        self._env = env
        self._asked = asked
        self._hears = hears
        #: How many threads the bundle says that it was made with.
        self.made_threads: int | None = None

    def unpack(self, file: str, into: str, then: Callable[[dict[str, Any]], None]) -> None:
        """Call ``then`` with the result of the import."""
        rows: Rows = []

        def place(_: dict[str, Any] | None = None) -> None:
            told = _naming(self._env, [file], rows)
            params = {"files": [file], "into": into, "env": told.python}
            listener = Listener(result=then, **self._hears)
            self._asked(self._engines.ask(IMPORT, params, listener, before=told.before))

        def origin(told: dict[str, Any]) -> None:
            made_in = [x["made_in"] for x in told["files"] if isinstance(x.get("made_in"), dict)]
            threads = made_in[0].get("threads") if made_in else None
            self.made_threads = threads if isinstance(threads, int) else None
            wanted = [x for x in told["files"] if carrying.asks(x, self._env.facts or {})]
            if not wanted:
                place()
                return

            def take(found: list[Any]) -> None:
                carrying.take(rows, found, wanted)

            listener = Listener(rows=take, result=place, **self._hears)
            params = {"files": [one["file"] for one in wanted]}
            python = self._env.python
            self._asked(self._engines.ask("names", params, listener, python=python))

        listener = Listener(result=origin, **self._hears)
        self._asked(self._engines.ask("origin", {"files": [file]}, listener))
