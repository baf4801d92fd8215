"""How jobs of the window sign bundles: the steps of ``link.signing.sign``, as requests that nobody
waits for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from PySide6.QtCore import QCoreApplication

from torchkeeper.artifacts import manifest
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.jobs.model import SIGNING, Job, JobsModel
from torchkeeper.link.signers import signers_file
from torchkeeper.link.words.problems import UserError

Result = dict[str, Any]
Then = Callable[[Result], None]
#: What a job does before it is asked for, and what with its result; each calls what it is given to
#: go on: with more parameters, with the whole result.
First = Callable[[Job, Then], None]
Follow = Callable[[Job, Result, Then], None]


def _tr(text: str) -> str:
    return QCoreApplication.translate("Operations", text)


class Signing:
    """What the jobs do that sign something.

    step: hears of each ticket of a job, by which that step can be cancelled. listener: who hears
    of a job's step, and what goes on with its result. kept: the request whose engine stays with a
    job, by its id. ask: hears of what ssh-keygen wants to know:
    the job, the ticket that an answer is for, and what (``gui.background.keygens``).
    """

    def __init__(
        self,
        engines: Engines,
        jobs: JobsModel,
        step: Callable[[Job, int], None],
        listener: Callable[[Job, Then], Listener],
        kept: Callable[[int], int | None],
        ask: Callable[[Job, int, dict[str, Any]], object],
    ) -> None:
        self._engines = engines
        self._jobs = jobs
        self._step = step
        self._listener = listener
        self._kept = kept
        self._ask = ask

    def of_export(self, key: str, output: str, replace: bool) -> Follow:
        """What signs a bundle that its engine holds, which gets its name then. key: as
        ``link.keys`` names it.
        """

        def follow(job: Job, result: Result, go_on: Then) -> None:
            if not result.pop("held", False):
                go_on(result)
                return
            where = {"held": True, "output": output, "replace": replace}
            self._sign(job, key, where, lambda told: go_on({**result, **told}))

        return follow

    def of_file(self, key: str, file: str, before: Mapping[str, Any]) -> Follow:
        """What signs a bundle, of which the result says as well who had signed it ``before``."""

        def follow(job: Job, _: Result, go_on: Then) -> None:
            self._sign(job, key, {"file": file}, lambda told: go_on({**told, "before": before}))

        return follow

    def _sign(self, job: Job, key: str, where: dict[str, Any], then: Then) -> None:
        """Call ``then`` with ``{signature, size}``: who signed it, as the operation ``signature``
        tells, and its bytes. where: file or held, output and replace as of ``attach_signature``.
        """
        job.done, job.total, job.unit, job.now = 0, None, SIGNING, ""
        self._jobs.touch(job)
        _Steps(self._engines, self._kept(job.id), key, where, self._heard(job), then).begin(
            self._listener(job, lambda _: None), lambda ticket: self._step(job, ticket)
        )

    def _heard(self, job: Job) -> Callable[[int, dict[str, Any]], None]:
        def heard(ticket: int, one: dict[str, Any]) -> None:
            if "notice" in one:
                job.now = _tr("Touch your key now") if one["notice"] else ""
                self._jobs.log(job, [one["notice"]] if one["notice"] else [])
                self._jobs.touch(job)
            elif job.active:
                self._ask(job, ticket, one["ask"])

        return heard


class _Steps:
    """One signing, from the manifest to the bundle that has its signature."""

    def __init__(
        self,
        engines: Engines,
        kept: int | None,
        key: str,
        where: dict[str, Any],
        heard: Callable[[int, dict[str, Any]], None],
        then: Then,
    ) -> None:
        self._engines = engines
        self._kept = kept
        self._key = key
        self._where = where
        self._heard = heard
        self._then = then
        self._listener = Listener()
        self._asked: Callable[[int], None] = lambda _: None
        #: Where the manifest and its signature are.
        self._folder = self._target = self._digest = ""

    def begin(self, listener: Listener, asked: Callable[[int], None]) -> None:
        """listener: who hears of every step; ``failed`` or ``cancelled`` is the end."""
        failed, cancelled = listener.failed, listener.cancelled

        def lost(error: UserError) -> None:
            self._end()
            if failed is not None:
                failed(error)

        def stopped() -> None:
            self._end()
            if cancelled is not None:
                cancelled()

        self._listener = listener._replace(failed=lost, cancelled=stopped)
        self._asked = asked
        asked(self._engines.scratch("signing", self._to(self._made)))

    def _to(self, result: Then) -> Listener:
        return self._listener._replace(result=result)

    def _ask(self, op: str, params: dict[str, Any], then: Then) -> None:
        """Ask the engine that has the bundle."""
        keep = self._kept is not None
        listener = self._to(then)
        self._asked(self._engines.ask(op, params, listener, keep=keep, engine_of=self._kept))

    def _made(self, found: Result) -> None:
        self._folder = str(found["folder"])
        self._target = os.path.join(self._folder, manifest.NAME)
        self._ask("copy_manifest", {**self._where, "target": self._target}, self._copied)

    def _copied(self, told: Result) -> None:
        self._digest = str(told["manifest"])
        listener = self._to(self._run)
        self._asked(
            self._engines.background(
                listener, lookups.signing_command, self._key, self._target, self._folder
            )
        )

    def _run(self, found: Result) -> None:
        ticket = 0

        def hear(some: list[dict[str, Any]]) -> None:
            for one in some:
                self._heard(ticket, one)

        listener = self._to(self._signed)._replace(findings=hear)
        ticket = self._engines.sign(found["command"], listener)
        self._asked(ticket)

    def _signed(self, _: Result) -> None:
        self._heard(0, {"notice": ""})
        listener = self._to(self._attach)
        self._asked(self._engines.background(listener, lookups.signature_text, self._target))

    def _attach(self, found: Result) -> None:
        about = {**self._where, "signature": found["text"], "manifest": self._digest}
        self._ask("attach_signature", about, self._attached)

    def _attached(self, told: Result) -> None:
        def seen(found: Result) -> None:
            self._end()
            self._then({"signature": found, "size": told["size"]})

        file = self._where.get("output") or self._where["file"]
        self._ask("signature", {"file": file, "signers": signers_file()}, seen)

    def _end(self) -> None:
        if self._folder:
            self._engines.discard(self._folder)
