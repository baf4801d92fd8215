"""What jobs about bundles do in steps, as requests that nobody waits for: sign, name objects."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import QCoreApplication, QObject, Signal

from torchkeeper.artifacts import manifest
from torchkeeper.client import carrying, signers
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import IMPORT
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.jobs.model import SIGNING, Job, JobsModel
from torchkeeper.gui.verdicts.environments import Environment

if TYPE_CHECKING:
    from torchkeeper.artifacts.builds import Claims
    from torchkeeper.client.engines.questions import Question
    from torchkeeper.engine.messages import bundles as messages
    from torchkeeper.engine.messages import entries
    from torchkeeper.engine.messages.verdicts import KnowParams

    _Signed = Callable[[messages.SignResult], None]

_tr = partial(QCoreApplication.translate, "Operations")

#: What an engine says, or more that it is asked for, by their names.
Values = Mapping[str, Any]
GoOn = Callable[[Values], None]
#: What a job does before it is asked for, and what with its result; each calls what it is given to
#: go on: with more parameters, with the whole result.
First = Callable[[Job, GoOn], None]
Follow = Callable[[Job, Values, GoOn], None]


class Signing:
    """What the jobs do that sign something. step: hears of each ticket of a job, by which that step
    can be cancelled. listener: who hears of a job's step, and what goes on with its result. kept:
    the request whose engine stays with a job, by its id. ask: hears, in another thread, what
    ssh-keygen wants to know for a job.
    """

    def __init__(
        self,
        engines: Engines,
        jobs: JobsModel,
        step: Callable[[Job, int], None],
        listener: Callable[[Job, Callable[[Any], None]], Listener],
        kept: Callable[[int], int | None],
        ask: Callable[[Job, Question], object],
    ) -> None:
        self._engines, self._jobs = engines, jobs
        self._step, self._listener, self._kept, self._ask = step, listener, kept, ask

    def of_export(self, key: str, output: str, replace: bool) -> Follow:
        """What signs a bundle that its engine holds, which gets its name then."""

        def follow(job: Job, result: Values, go_on: GoOn) -> None:
            whole = {name: one for name, one in result.items() if name != "held"}
            where: messages.Signed = {"held": True, "output": output, "replace": replace}
            if result.get("held"):
                self._sign(job, key, where, lambda told: go_on({**whole, **told}))
            else:
                go_on(whole)

        return follow

    def of_file(self, key: str, file: str, before: messages.SignatureResult | None) -> Follow:
        """What signs a bundle, of which the result says as well who had signed it ``before``."""

        def follow(job: Job, _: Values, go_on: GoOn) -> None:
            where: messages.Signed = {"file": file}
            self._sign(job, key, where, lambda told: go_on({**told, "before": before}))

        return follow

    def _sign(self, job: Job, key: str, where: messages.Signed, then: _Signed) -> None:
        """Sign, then tell ``then`` who did and the size. where: as of ``attach_signature``."""
        job.done, job.total, job.unit, job.now = 0, None, SIGNING, ""
        self._jobs.touch(job)
        hears = partial(self._heard, job), then, self._listener(job, lambda _: None)
        _Steps(self._engines, self._kept(job.id), key, where, *hears, partial(self._step, job))

    def _heard(self, job: Job, question: Question) -> None:
        with contextlib.suppress(RuntimeError):  # the window is gone meanwhile
            self._ask(job, question)


class _Steps:
    """One signing, from the manifest to the bundle that has its signature."""

    def __init__(
        self,
        engines: Engines,
        kept: int | None,
        key: str,
        where: messages.Signed,
        heard: Callable[[Question], None],
        then: _Signed,
        listener: Listener,
        asked: Callable[[int], None],
    ) -> None:
        """listener: who hears of every step; ``failed`` or ``cancelled`` is the end."""
        self._engines, self._kept, self._key = engines, kept, key
        self._where, self._heard, self._then, self._asked = where, heard, then, asked
        #: Where the manifest and its signature are.
        self._folder = self._target = self._digest = ""

        def lost(error: UserError) -> None:
            self._end()
            if listener.failed is not None:
                listener.failed(error)

        def stopped() -> None:
            self._end()
            if listener.cancelled is not None:
                listener.cancelled()

        self._listener = listener._replace(failed=lost, cancelled=stopped)
        asked(engines.scratch("signing", self._to(self._made)))

    def _to(self, result: Callable[[Any], None]) -> Listener:
        return self._listener._replace(result=result)

    def _ask(self, op: str, params: Mapping[str, object], then: Callable[[Any], None]) -> None:
        keep, listener = self._kept is not None, self._to(then)
        self._asked(self._engines.ask(op, params, listener, keep=keep, engine_of=self._kept))

    def _made(self, folder: str) -> None:
        self._folder, self._target = folder, os.path.join(folder, manifest.NAME)
        params: messages.CopyManifestParams = {**self._where, "target": self._target}
        self._ask(protocol.COPY_MANIFEST, params, self._copied)

    def _copied(self, told: messages.CopyManifestResult) -> None:
        self._digest = told["manifest"]
        keygen = signers.Keygen(self._key, self._target, self._heard)
        self._asked(self._engines.sign(keygen, self._to(self._attach)))

    def _attach(self, text: str) -> None:
        what: messages.AttachSignatureParams
        what = {**self._where, "signature": text, "manifest": self._digest}
        self._ask(protocol.ATTACH_SIGNATURE, what, self._attached)

    def _attached(self, told: messages.AttachSignatureResult) -> None:
        def seen(found: messages.SignatureResult) -> None:
            self._end()
            self._then({"signature": found, "size": told["size"]})

        file = self._where.get("output") or self._where.get("file", "")
        params: messages.SignatureParams = {"file": file, "signers": signers.signers_file()}
        self._ask(protocol.SIGNATURE, params, seen)

    def _end(self) -> None:
        if self._folder:
            self._engines.discard(self._folder)


# How an environment's PyTorch names native objects of bundles: the steps of ``client.carrying``.


class About(NamedTuple):
    """What a file says of its objects, and the sha256 of the manifest that was looked at, or ""."""

    file: str
    claims: Claims
    manifest: str


class Naming(NamedTuple):
    """An environment, and what an engine is asked ``before`` it places entries for it."""

    python: str
    before: tuple[tuple[str, Mapping[str, object]], ...]


def _naming(env: Environment, files: Iterable[str], rows: Sequence[entries.NamesRow]) -> Naming:
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
        return self._engines.waits(self._ticket)

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
        rows: list[entries.NamesRow] = []

        def over(_: entries.NamesResult) -> None:
            self.naming = _naming(env, files, rows)
            self.changed.emit()

        def failed(error: UserError) -> None:
            self.error = error
            self.changed.emit()

        wanted = [file for file in files if carrying.asks(files[file], env.facts or {})]
        if not wanted:
            self.naming = _naming(env, files, rows)
            return

        def take(found: list[Any]) -> None:
            carrying.take(rows, found, [files[file] for file in wanted])

        listener = Listener(rows=take, result=over, failed=failed)
        params: entries.NamesParams = {"files": wanted}
        self._ticket = self._engines.ask(protocol.NAMES, params, listener, python=env.python)

    def forget(self) -> None:
        """Nobody wants to know any more."""
        self._engines.forget(self._ticket)
        self._of = self.naming = self.error = None


class Carry:
    """Puts what an import of a bundle would place into a folder. asked: hears of each ticket, by
    which that step can be cancelled. hears: of every step; ``failed`` or ``cancelled`` is the end.
    """

    def __init__(
        self, engines: Engines, env: Environment, asked: Callable[[int], None], hears: Listener
    ) -> None:
        self._engines, self._env, self._asked, self._hears = engines, env, asked, hears
        #: How many threads the bundle says that it was made with.
        self.made_threads: int | None = None

    def unpack(self, file: str, into: str, then: Callable[[messages.ImportResult], None]) -> None:
        """Call ``then`` with the result of the import."""
        rows: list[entries.NamesRow] = []

        def place(_: entries.NamesResult | None = None) -> None:
            told = _naming(self._env, [file], rows)
            params: messages.ImportParams = {"files": [file], "into": into, "env": told.python}
            listener = self._hears._replace(result=then)
            self._asked(self._engines.ask(IMPORT, params, listener, before=told.before))

        def origin(told: entries.OriginResult) -> None:
            [one] = told["files"]
            self.made_threads = one["made_in"] and one["made_in"]["threads"]
            if not carrying.asks(one, self._env.facts or {}):
                place()
                return

            def take(found: list[Any]) -> None:
                carrying.take(rows, found, told["files"])

            listener = self._hears._replace(rows=take, result=place)
            params: entries.NamesParams = {"files": [file]}
            python = self._env.python
            self._asked(self._engines.ask(protocol.NAMES, params, listener, python=python))

        listener = self._hears._replace(result=origin)
        asked: entries.OriginParams = {"files": [file]}
        self._asked(self._engines.ask(protocol.ORIGIN, asked, listener))
