"""What jobs do in steps that nobody waits for; those about bundles: sign, name objects."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from PySide6.QtCore import QObject, Signal

from torchkeeper.artifacts import manifest
from torchkeeper.client import carrying, signers
from torchkeeper.client.words.problems import UserError
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import IMPORT
from torchkeeper.gui.background.engines import Engines, Latest, Listener
from torchkeeper.gui.jobs.model import SIGNING, Job, JobsModel
from torchkeeper.gui.verdicts.environments import Environment

if TYPE_CHECKING:
    from torchkeeper.artifacts.builds import Claims
    from torchkeeper.client.engines.questions import Question
    from torchkeeper.engine.messages import bundles as messages
    from torchkeeper.engine.messages import entries
    from torchkeeper.engine.messages.verdicts import KnowParams

T = TypeVar("T")
#: What an engine says, or more that it is asked for, by their names.
Values = Mapping[str, Any]
#: Begins a step of a job for who hears of it, and returns its ticket.
Step = Callable[[Listener], int]
#: What a job does: it yields each step, is sent the step's result, and returns that of the job. It
#: is closed where a step fails or is cancelled.
Steps = Generator[Step, Any, T]


def asking(engines: Engines, op: str, params: Mapping[str, object], **more: Any) -> Step:
    """The step that asks an engine. more: what a request has besides."""
    return lambda listener: engines.ask(op, params, listener, **more)


class Signing:
    """Signs for jobs. kept: finds the request whose engine stays with a job, by the job's id. ask:
    is called in another thread with what ssh-keygen asks.
    """

    def __init__(
        self,
        engines: Engines,
        jobs: JobsModel,
        kept: Callable[[int], int | None],
        ask: Callable[[Job, Question], object],
    ) -> None:
        self._engines, self._jobs, self._kept, self._ask = engines, jobs, kept, ask

    def signed(self, job: Job, key: str, where: messages.Signed) -> Steps[Values]:
        """Sign a bundle: who did, and its size then. where: as of ``attach_signature``."""
        job.done, job.total, job.unit, job.now = 0, None, SIGNING, ""
        self._jobs.touch(job)
        engines, kept = self._engines, self._kept(job.id)
        ask = partial(asking, engines, keep=kept is not None, engine_of=kept)
        folder: str = yield partial(engines.scratch, "signing")
        try:
            target = os.path.join(folder, manifest.NAME)
            copy: messages.CopyManifestParams = {**where, "target": target}
            copied: messages.CopyManifestResult = yield ask(protocol.COPY_MANIFEST, copy)
            keygen = signers.Keygen(key, target, partial(self._heard, job))
            text: str = yield partial(engines.sign, keygen)
            attach: messages.AttachSignatureParams
            attach = {**where, "signature": text, "manifest": copied["manifest"]}
            attached: messages.AttachSignatureResult = yield ask(protocol.ATTACH_SIGNATURE, attach)
            file = where.get("output") or where.get("file", "")
            about: messages.SignatureParams = {"file": file, "signers": signers.signers_file()}
            found: messages.SignatureResult = yield ask(protocol.SIGNATURE, about)
        finally:
            engines.discard(folder)
        return {"signature": found, "size": attached["size"]}

    def kept(self, job: Job, key: str, where: messages.Signed) -> Steps[Values]:
        """The same; a bundle that somebody has signed, and that is as they did, stays so."""
        about: messages.SignatureParams
        about = {"file": where.get("file", ""), "signers": signers.signers_file()}
        found: messages.SignatureResult = yield asking(self._engines, protocol.SIGNATURE, about)
        if found["status"] in ("trusted", "unknown"):
            return {"signature": found}
        return (yield from self.signed(job, key, where))

    def _heard(self, job: Job, question: Question) -> None:
        with contextlib.suppress(RuntimeError):  # the window is gone meanwhile
            self._ask(job, question)


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
        self._asked = Latest(engines, self)
        self._of: tuple[str, object, tuple[str, ...]] | None = None
        self.error: UserError | None = None
        #: What an engine is told; None where there is no environment, or it is not known yet.
        self.naming: Naming | None = None

    @property
    def busy(self) -> bool:
        """Whether the environment has yet to answer."""
        return self._asked.busy

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
        self._asked.ask(protocol.NAMES, params, listener, python=env.python)

    def forget(self) -> None:
        """Nobody wants to know any more."""
        self._asked.forget()
        self._of = self.naming = self.error = None


def named(
    engines: Engines, env: Environment, files: Sequence[str]
) -> Steps[tuple[Naming, list[entries.Origin]]]:
    """Have an environment name the objects in files, on its machine; and what the files say."""
    params: entries.OriginParams = {"files": files}
    told: entries.OriginResult = yield asking(engines, protocol.ORIGIN, params)
    rows: list[entries.NamesRow] = []
    wanted = [one for one in told["files"] if carrying.asks(one, env.facts or {})]

    def names(listener: Listener) -> int:
        params: entries.NamesParams = {"files": [one["file"] for one in wanted]}
        listener = listener._replace(rows=lambda found: carrying.take(rows, found, wanted))
        return engines.ask(protocol.NAMES, params, listener, python=env.python)

    if wanted:
        yield names
    return _naming(env, files, rows), told["files"]


def unpacked(
    engines: Engines, env: Environment, file: str, into: str
) -> Steps[tuple[int | None, messages.ImportResult]]:
    """Place in a folder what an import of a bundle would place. Returns the threads that the bundle
    was made with, as it says, and the result.
    """
    naming, [one] = yield from named(engines, env, [file])
    place: messages.ImportParams = {"files": [file], "into": into, "env": naming.python}
    placed: messages.ImportResult = yield asking(engines, IMPORT, place, before=naming.before)
    return one["made_in"] and one["made_in"]["threads"], placed
