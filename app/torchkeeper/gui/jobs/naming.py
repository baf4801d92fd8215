"""How native objects of bundles find the names by which an environment's PyTorch looks for them.

The steps of ``client.carrying``, as requests that nobody waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QObject, Signal

from torchkeeper.client import carrying
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import IMPORT
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.verdicts.environments import Environment

if TYPE_CHECKING:
    from torchkeeper.artifacts.builds import Claims
    from torchkeeper.engine.messages.bundles import ImportParams, ImportResult
    from torchkeeper.engine.messages.entries import (
        NamesParams,
        NamesResult,
        NamesRow,
        OriginParams,
        OriginResult,
    )
    from torchkeeper.engine.messages.environments import KnowParams


class About(NamedTuple):
    """What a file says of its objects, and the sha256 of the manifest that was looked at, "" where
    there is none.
    """

    file: str
    claims: Claims
    manifest: str


class Naming(NamedTuple):
    """An environment, and what an engine is asked ``before`` it places entries for it."""

    python: str
    before: tuple[tuple[str, Mapping[str, object]], ...]


def _naming(env: Environment, files: Iterable[str], rows: Sequence[NamesRow]) -> Naming:
    know: KnowParams = {"python": env.python, "env": env.facts or {}}
    named = (("named", one) for one in carrying.requests(files, rows))
    return Naming(env.python, (("know", know), *named))


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

    def ask(self, env: Environment | None, files: Mapping[str, Claims]) -> None:
        """Have the objects of files named; nothing is asked twice. Without an environment that has
        a torch, they keep the names they have. files: and what each says of its objects.
        """
        of = (env.python, env.facts, tuple(files)) if env is not None and env.torch else None
        if of == self._of:
            return
        self.forget()
        self._of = of
        if env is None or of is None or not files:
            return
        rows: list[NamesRow] = []

        def over(_: NamesResult) -> None:
            self._ticket = None
            self.naming = _naming(env, files, rows)
            self.changed.emit()

        def failed(error: UserError) -> None:
            self._ticket = None
            self.error = error
            self.changed.emit()

        wanted = [file for file in files if carrying.asks(files[file], env.facts or {})]
        if not wanted:
            self.naming = _naming(env, files, rows)
            return

        def take(found: list[Any]) -> None:
            carrying.take(rows, found, [files[file] for file in wanted])

        listener = Listener(rows=take, result=over, failed=failed)
        params: NamesParams = {"files": wanted}
        self._ticket = self._engines.ask(protocol.NAMES, params, listener, python=env.python)

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

    def unpack(self, file: str, into: str, then: Callable[[ImportResult], None]) -> None:
        """Call ``then`` with the result of the import."""
        rows: list[NamesRow] = []

        def place(_: NamesResult | None = None) -> None:
            told = _naming(self._env, [file], rows)
            params: ImportParams = {"files": [file], "into": into, "env": told.python}
            listener = Listener(result=then, **self._hears)
            self._asked(self._engines.ask(IMPORT, params, listener, before=told.before))

        def origin(told: OriginResult) -> None:
            [one] = told["files"]
            self.made_threads = one["made_in"] and one["made_in"]["threads"]
            if not carrying.asks(one, self._env.facts or {}):
                place()
                return

            def take(found: list[Any]) -> None:
                carrying.take(rows, found, told["files"])

            listener = Listener(rows=take, result=place, **self._hears)
            params: NamesParams = {"files": [file]}
            python = self._env.python
            self._asked(self._engines.ask(protocol.NAMES, params, listener, python=python))

        listener = Listener(result=origin, **self._hears)
        asked: OriginParams = {"files": [file]}
        self._asked(self._engines.ask(protocol.ORIGIN, asked, listener))
