"""The jobs that the window can start, each in an engine of its own, and what that says of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from PySide6.QtCore import QObject, Signal

from torchkeeper.client import programs
from torchkeeper.client.engines import far, ferry
from torchkeeper.client.kept import runs
from torchkeeper.client.words import fleets, outcomes, preparing
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import traits
from torchkeeper.gui.background import lookups
from torchkeeper.gui.background.engines import Engines, Listener
from torchkeeper.gui.jobs import laps
from torchkeeper.gui.jobs.bundles import About, Naming, Signing, Step, Steps, Values, unpacked
from torchkeeper.gui.jobs.crossing import Carried
from torchkeeper.gui.jobs.hearing import heard
from torchkeeper.gui.jobs.model import Asked, Job, JobsModel, Selection, State, Then
from torchkeeper.gui.jobs.starting import Ask, Start, Warm, called, fleet_of, recipes_of, short
from torchkeeper.gui.pages.profiles import drafts as known_profiles
from torchkeeper.gui.places.model import host_of
from torchkeeper.gui.verdicts.environments import Environment
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.artifacts.shapes import Secrets
    from torchkeeper.client.kept.history import Past
    from torchkeeper.engine.messages import bundles as messages
    from torchkeeper.engine.messages import dead
    from torchkeeper.engine.messages.doctor import MendParams
    from torchkeeper.engine.messages.findings import Finding
    from torchkeeper.engine.messages.places import TtlParams

#: Options that are sent as they are; those of a job before may be among what it was asked for.
_SENT = ("device", "threads", "portable", "limit_s", "jobs")
#: What a bundle holds is placed in this folder of a job's own.
_TARGET = "target"


class Operations(QObject):
    """Starts jobs, hears them, and says what changed."""

    #: A job ended well, or did not; and a place whose entries or trash a job has changed.
    succeeded = Signal(object)
    failed = Signal(object)
    changed = Signal(str)
    #: A job is heard of again that went on without the connection.
    resumed = Signal(object)
    #: The ssh-keygen of a job asks: the job, and a ``client.engines.questions.Question``.
    asked = Signal(object, object)

    def __init__(self, engines: Engines, jobs: JobsModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engines, self._jobs = engines, jobs
        self._tickets: dict[int, int] = {}
        self._waiting: list[tuple[Job, Start]] = []
        #: Requests whose engines stay until their jobs have ended.
        self._kept: dict[int, int] = {}
        #: Files that were sent ahead to a machine, once for each job that they are for.
        self._sent: list[Mapping[str, str]] = []
        #: How the jobs that can be done once more were asked for.
        self._starts: WeakKeyDictionary[Job, tuple[Start, Asked]] = WeakKeyDictionary()
        #: The words of the programs that were begun here; and the machines that are connected.
        self._lines: WeakKeyDictionary[Job, Sequence[str]] = WeakKeyDictionary()
        self._connected = set[str]()
        self._signing = Signing(engines, jobs, self._kept.get, self.asked.emit)
        self._carried = Carried(engines, jobs, self._findings, self._rows, self)
        engines.reached.connect(self._told_way)

    def warm(
        self,
        python: str,
        recipes: Sequence[str],
        into: str,
        options: Asked | None = None,
        then: Then | None = None,
        warm: Sequence[tuple[str, str]] | None = None,
    ) -> Job:
        """Compile recipes (BUILTIN, files and folders) into a place. options: device, threads,
        portable, profile, limit_s and jobs, where not as usual. then: where it goes afterwards,
        which is for whoever hears that it ``succeeded``. warm: the variants, each as its recipe and
        its name, that are left out; None for all.
        """
        asked: Asked = options.copy() if options else {}
        params = {name: one for name, one in asked.items() if name in _SENT}
        title = self.tr("Warm {}").format(short(into))
        profile, machine = asked.get("profile", ""), far.machine_of(into)
        if profile:
            title = self.tr("{} with {}").format(title, printable(profile, 64))

        def steps(job: Job, ask: Ask) -> Steps[Values]:
            more: Values = {}
            if profile:
                # Who reads what a job was asked for finds no password.
                more = {"settings": (yield self._look(known_profiles.settings, profile, machine))}
            told = yield from self._recipes(job, recipes, machine, warm)
            return (yield from ask({**more, **told}))

        start = Start(protocol.WARM, {"into": into, **params}, python=python, steps=steps)
        asked |= {"python": python, "recipes": list(recipes), "then": then, "warm": warm}
        return self._begin(title, into, start, asked)

    def fleet(
        self, recipes: Sequence[str], on: Sequence[str], into: str, options: Asked,
        again: bool = False, here: str | None = None,
    ) -> Job:  # fmt: skip
        """Warm recipes on several machines into one place. on: the targets. options: prove, share,
        slots, and python: that of each node. again: also what was proven only in part. here: the
        interpreter of this machine, where no other is named.
        """
        params = fleet_of(recipes, on, into, options, again)
        key = options.get("key", "")

        def steps(job: Job, ask: Ask) -> Steps[Values]:
            told = yield from self._recipes(job, recipes, "")
            result: Any = yield from ask(told)
            if not key or result["cut"] or not fleets.is_good(result, params["prove"]):
                return {**result}
            sign = self._signing.signed if result["entries"] else self._signing.kept
            return {**result, **(yield from sign(job, key, {"file": into}))}

        title = self.tr("Warm {} on several machines").format(short(into))
        start = Start(protocol.FLEET, params, python=here, steps=steps)
        asked: Asked = {**options, "recipes": list(recipes), "on": list(on)}
        return self._begin(title, into, start, asked)

    def _recipes(self, job: Job, of: Sequence[str], at: str, warm: Warm = None) -> Steps[Values]:
        return recipes_of(job, of, at, warm, self._look, self._carried.of(job))

    def follow(self, machine: str, one: Past, own: Job | None = None) -> Job:
        """Follow a job that goes on on a machine, or has ended, from its beginning. own: the job of
        this window that it is.
        """
        params = {"job": one.id, "op": one.kind, "place": one.place}

        def steps(job: Job, ask: Ask) -> Steps[Values]:
            result = yield from ask({})
            if one.kind == protocol.RUN:
                return (yield from self._ran(job, self._lines.get(job, ()), result))
            return result

        job = own or self._jobs.add(one.title, one.kind, one.place or machine)
        if own is not None:
            self.resumed.emit(own)
            self._jobs.begin_again(own)
        job.there, job.started = one.id, one.began
        job.over = None if one.state == State.RUNNING else one.ended
        start = Start(protocol.FOLLOW, params, python=machine, kind=one.kind, steps=steps)
        self._run(job, start)
        return job

    def resume(self, job: Job) -> None:
        """Follow a job of this window that goes on on its machine."""
        machine, told = far.machine_of(job.place), list[object]()

        def listed(_: object) -> None:
            if not job.goes_on:
                return
            one = next((x for x in far.jobs(machine, told) if x.id == job.there), None)
            if one is not None:
                self.follow(machine, one, job)
            else:
                job.error = user_error("job-gone", {})
                self._jobs.touch(job)

        listener = Listener(rows=told.extend, result=listed)
        self._engines.ask(protocol.JOBS, {}, listener, python=machine, shared=True)

    def _told_way(self, machine: str, state: object) -> None:
        """There is news of the way to a machine (``Ways.reached``)."""
        if state != "":
            self._connected.discard(machine)
            return
        self._connected.add(machine)
        for job in self._jobs.jobs:
            if job.goes_on and far.machine_of(job.place) == machine:
                self.resume(job)

    def run(self, text: str, folder: str, python: str, profile: str, machine: str = "") -> Job:
        """Run a program, and hear what it prints and looks up. text: its command line. python: the
        interpreter that runs it, where that is not as its line says. machine: another one.
        """
        line = programs.parsed(text).words

        def steps(job: Job, ask: Ask) -> Steps[Values]:
            job.scratch = yield partial(self._engines.scratch, "run")
            # Not what it was asked for: the environment may hold a password.
            params: Values = yield self._look(
                programs.prepared, text, folder, python, profile, job.scratch, machine
            )
            return (yield from self._ran(job, line, (yield from ask(params))))

        said = runs.discreet(line)
        title = self.tr("Run {}").format(printable(" ".join(said), 200))
        if machine:
            title = f"{title} · {host_of(machine)}"
        start = Start(protocol.RUN, {}, machine or None, steps=steps)
        job = self._begin(title, machine or None, start, {"command": said})
        self._lines[job] = line
        return job

    def _ran(self, job: Job, line: Sequence[str], result: Values) -> Steps[Values]:
        """Keep a run. line: the words of the command; none where it was begun elsewhere, as its
        machine tells them then.
        """
        about = line or result["command"], job.place or "", result, list(job.graphs.values())
        job.run = yield self._look(programs.ended, *about, "".join(job.noted))
        return result

    def prepare(self, python: str, into: str | None) -> Job:
        """Build the header of an interpreter's torch; into: a temporary folder, None: the usual."""
        start = Start(protocol.PREPARE, {} if into is None else {"into": into}, python=python)
        title = self.tr("Prepare {}").format(printable(python, 60))
        return self._begin(title, None, start, {"python": python})

    def verify(
        self, place: str, env: Environment, runs: Sequence[str], options: Asked, *, bundle: bool
    ) -> Job:
        """Run recipes on a copy of a place; of a ``bundle``, what an import would place."""
        params = {"place": place, "runs": list(runs), **options}
        machine = far.machine_of(place)

        def steps(job: Job, ask: Ask) -> Steps[Values]:
            told = yield from self._recipes(job, options.get("recipes") or [], machine)
            if machine:
                # It goes with the connection.
                there: str = yield self._look(ferry.folder, machine)
                return (yield from ask({**told, "scratch": there}))
            mark: str | None = yield self._look(lookups.mark, place)
            job.asked["mark"] = mark
            # Ours, so that nothing is left of it even where the engine has to be killed.
            scratch: str = yield partial(self._engines.scratch, "verifying")
            job.scratch = scratch
            target = (yield from self._unpacked(job, env)) if bundle else place
            return (yield from ask({**told, "place": target, "scratch": scratch}))

        start = Start(protocol.VERIFY, params, python=env.python, steps=steps)
        title = self.tr("Verify {}").format(short(place))
        job = self._begin(title, place, start, {**options, "python": env.python})
        job.laps = laps.waiting(runs)
        return job

    def export(
        self,
        place: str,
        selection: Selection,
        output: str,
        replace: bool = True,
        builders: messages.Builders | None = None,
        secrets: Secrets | None = None,
        key: str = "",
        needs: bool = False,
    ) -> Job:
        """Write entries into a bundle; a file that is there stays unless ``replace``. builders: how
        an environment builds objects (``client.carrying``), which the bundle then says of those
        that it recognises. secrets: what becomes of them (engine.screening); None where the job is
        to fail because of any. key: what it is signed with (``client.signers``), before it gets its
        name. needs: what the entries need goes with them.
        """
        params: messages.ExportParams = {
            "place": place, "also": selection.also, "output": output, "select": selection.select,
            "replace": replace, "builders": builders, "secrets": secrets, "needs": needs,
        }  # fmt: skip
        asked: Asked = {"source": place, "beside": selection.also, "output": output}
        machine = far.machine_of(place)
        if key:
            params["sign"], asked["key"] = not machine, key  # of another machine, what came is

        def steps(job: Job, ask: Ask) -> Steps[Values]:
            where: messages.Signed = {"output": output, "replace": replace}
            if machine:
                made: str = yield self._look(ferry.name, machine)
                told = yield from ask({"output": made, "replace": False})
                result: Values = {**told, "output": output}
                if not result["entries"]:
                    return result
                come = made, output, result["size"], replace, bool(key)
                where["file"] = yield from self._carried.come(job, *come)
            else:
                result, where["held"] = (yield from ask({})), True
            if not (key if machine else result.get("held")):
                return result
            told = yield from self._signing.signed(job, key, where)
            return {**{name: one for name, one in result.items() if name != "held"}, **told}

        # The engine that has written it holds it until it is signed.
        keep = bool(params.get("sign"))
        start = Start(protocol.EXPORT, params, hold=selection.hold, keep=keep, steps=steps)
        return self._begin(self.tr("Export to {}").format(called(output)), None, start, asked)

    def sign(self, file: str, key: str, before: messages.SignatureResult | None = None) -> Job:
        """Put a signature into a bundle, in place of one that it had ``before``."""
        params: messages.TargetParams = {"path": file}

        def steps(job: Job, ask: Ask) -> Steps[Values]:
            yield from ask({})
            told = yield from self._signing.signed(job, key, {"file": file})
            return {**told, "before": before}

        start = Start(protocol.TARGET, params, kind=protocol.SIGN, steps=steps)
        return self._begin(self.tr("Sign {}").format(called(file)), file, start, {"key": key})

    def import_files(
        self,
        files: Sequence[str],
        into: str,
        named: Naming | None = None,
        abouts: Sequence[About] = (),
        there: Mapping[str, str] | None = None,
        env: Environment | None = None,
        cache: str = "",
    ) -> Job:
        """Put what files hold into a place: all of it or, cancelled, nothing. named: the
        environment whose PyTorch has named the objects, and the names. abouts: what the files were
        when they were looked at; what has another manifest by now is not imported. there: what they
        are called where the place is, if they are there; else they are sent, and named by ``env``.
        cache: only what is of this one goes.
        """
        seen = {one.file: one.manifest for one in abouts if one.manifest}
        params: messages.ImportParams = {"files": list(files), "into": into, "cache": cache}
        portable = any(about.claims["portable"] for about in abouts)
        asked: Asked = {"portable": portable, "files": list(files)}
        machine, start = far.machine_of(into), Start(protocol.IMPORT, params)
        header = False
        self._sent += [there] if there else []
        if named is not None and not machine:
            asked["python"] = named.python
            header = any(about.claims["unportable"] for about in abouts)
        ahead = [there] if there else []

        def steps(job: Job, _: Ask) -> Steps[Values]:
            at: Mapping[str, str] = {file: file for file in files}
            naming = named
            if ahead:
                at = ahead.pop()  # the next time they are sent again
            elif machine:
                at, naming = yield from self._carried.go(job, machine, files, env)
            elif header:
                # To prepare is offered only where the next program would have to wait.
                job.asked["offer_prepare"] = not (yield self._look(preparing.prepared))
            more: messages.ImportParams = {**params, "files": list(at.values())}
            if seen:
                more["manifests"] = {at[file]: one for file, one in seen.items()}
            whole = start._replace(params=more)
            if naming is not None:
                more["env"] = naming.python
                whole = whole._replace(before=naming.before)
            try:
                result: Values = yield partial(self._ask, job, whole)
                return result
            finally:
                if at in self._sent:
                    self._sent.remove(at)
                if machine and at not in self._sent:  # the last of those that they are sent for
                    self._engines.background(Listener(), ferry.drop, list(at.values()))

        title = self.tr("Import {} files").format(f"{len(files):,}")
        if len(files) == 1:
            title = self.tr("Import {}").format(called(files[0]))
        title = f"{title} · {cache}" if cache else title
        return self._begin(title, into, start._replace(steps=steps), asked)

    def copy(
        self,
        place: str,
        selection: Selection,
        into: str,
        replace: bool,
        alone: bool,
        builders: messages.Builders | None = None,
        named: Naming | None = None,
        secrets: Secrets | None = None,
        direct: bool = False,
    ) -> Job:
        """Copy entries to another place: all of it or, cancelled, nothing. A bundle that is there
        stays unless ``replace``; what the entries need goes along unless they go ``alone``.
        builders, secrets: as of ``export``; named: as of ``import_files``; direct: of machines, as
        of ``client.crossing.copy``.
        """
        params: messages.CopyParams = {
            "place": place, "into": into, "select": selection.select, "replace": replace,
            "alone": alone, "builders": builders, "env": named and named.python, "secrets": secrets,
        }  # fmt: skip
        before = named.before if named is not None else ()
        hold = selection.hold

        def steps(job: Job, ask: Ask) -> Steps[Values]:
            if far.machine_of(place) == far.machine_of(into):
                return (yield from ask({}))
            done: Values = yield self._look(self._carried.copy, job, params, hold, direct)
            return done

        start = Start(protocol.COPY, params, hold=hold, before=before, steps=steps)
        title = self.tr("Copy to {}").format(short(into))
        return self._begin(title, into, start, {"source": place})

    def purge(
        self, place: str, ticket: int, plan: int, at_once: bool, also: list[Job] | None = None
    ) -> Job:
        """Carry out a plan, in the engine that made it. also: jobs of the same clean-up."""
        params: dead.PurgeParams = {"place": place, "plan": plan, "now": at_once}
        start = Start(protocol.PURGE, params, engine_of=ticket)
        title = self.tr("Purge {}") if also is None else self.tr("Clean up {}")
        title = title.format(short(place))
        return self._begin(title, place, start, {"also": also if also is not None else []})

    def purge_all(self, plans: Sequence[tuple[str, int, int]], at_once: bool) -> None:
        """Carry out plans of several places, each by itself: one that fails holds up no other."""
        also: list[Job] = []
        for place, ticket, plan in plans:
            self.purge(place, ticket, plan, at_once, also)

    def mend(self, place: str, ticket: int, params: MendParams) -> Job:
        """Carry out a fix of files that stay, in the engine that planned it."""
        start = Start(protocol.MEND, params, engine_of=ticket)
        return self._begin(self.tr("Mend {}").format(short(place)), place, start)

    def undo(self, place: str, of: Job | None = None) -> Job:
        """Undo the last purge or import, or what a job has done."""
        asked: Asked = {"receipt": of.result.get("receipt") if of is not None else None}
        title, start = Job.undo_title(of), Start(protocol.UNDO, {"place": place, **asked})
        return self._begin(title.format(short(place)), place, start, asked)

    def empty_trash(self, place: str) -> Job:
        """Delete for good what lies in a place's trash."""
        title = self.tr("Empty trash of {}").format(short(place))
        return self._begin(title, place, Start(protocol.EMPTY_TRASH, {"place": place}))

    def recover(self, place: str, insisted: str = "") -> Job:
        """Bring what was cut off in a folder to its end; insisted: as of ``guard.recover``."""
        title = self.tr("Complete what was cut off in {}").format(short(place))
        params = {"place": place, "insisted": insisted}
        return self._begin(title, place, Start(protocol.RECOVER, params))

    def expire(self, place: str, selection: Selection, seconds: float | None) -> Job:
        """Have entries of a server expire in so many seconds, or never."""
        params: TtlParams = {"place": place, "select": selection.select, "ttl_s": seconds}
        start = Start(protocol.TTL, params, hold=selection.hold)
        return self._begin(self.tr("Set expiry on {}").format(short(place)), place, start)

    def can_repeat(self, job: Job) -> bool:
        """Whether a job that has ended can be done once more, as it was asked for."""
        return job.is_over and job in self._starts

    def repeat(self, job: Job) -> Job | None:
        """Do the same once more."""
        if not self.can_repeat(job):
            return None
        start, asked = self._starts[job]
        return self._begin(job.title, job.place, start, asked.copy())

    def cancel(self, job: Job) -> None:
        if waiting := [one for one in self._waiting if one[0] is job]:
            self._waiting.remove(waiting[0])
            self._jobs.end(job, State.CANCELLED)
        elif (ticket := self._tickets.get(job.id)) is not None and job.active:
            self._jobs.cancelling(job)
            self._engines.cancel(ticket)

    def _begin(
        self, title: str, place: str | None, start: Start, asked: Asked | None = None
    ) -> Job:
        kind = start.kind or start.op
        job = self._jobs.add(title, kind, place)
        job.asked = asked or {}
        # What a server drops by itself was said of that one job only.
        if traits(kind).repeats and start.op == kind and not scheme_of(place or "").keeps_times:
            self._starts[job] = start, job.asked.copy()
        if start.op == protocol.FOLLOW or not traits(kind).compiles:
            self._run(job, start)
        else:
            self._waiting.append((job, start))
            self._go_on()
        return job

    def _go_on(self) -> None:
        """Begin what waits: one at a time has a whole machine, so that times mean something."""
        for one in [*self._waiting]:
            at_work = [j.place for j in self._jobs.active if j.traits.compiles and j.started]
            if far.machine_of(one[0].place) not in map(far.machine_of, at_work):
                self._waiting.remove(one)
                self._run(*one)

    def _run(self, job: Job, start: Start) -> None:
        self._jobs.begin(job)
        if start.python and traits(start.op).compiles:
            self._jobs.log(job, [self.tr("Interpreter: {}").format(printable(start.python))])

        def ask(more: Values) -> Steps[Values]:
            whole = start._replace(params={**start.params, **more})
            result: Values = yield partial(self._ask, job, whole)
            return result

        self._take(job, start.steps(job, ask))

    def _take(self, job: Job, steps: Steps[Values]) -> None:
        """Take the steps of a job, one after the other, to its end."""

        def lost(error: UserError) -> None:
            steps.close()
            self._lost(job, error)

        def stopped() -> None:
            steps.close()
            self._stopped(job)

        def go_on(told: Any = None) -> None:
            try:
                step = steps.send(told)
            except StopIteration as end:
                self._done(job, end.value)
            except UserError as error:
                self._lost(job, error)
            else:
                if job.state is State.CANCELLING:
                    stopped()
                    return
                findings = partial(self._findings, job)
                hears = Listener(result=go_on, findings=findings, failed=lost, cancelled=stopped)
                self._tickets[job.id] = step(hears)

        go_on()

    def _ask(self, job: Job, start: Start, listener: Listener) -> int:
        """The request of a job."""
        listener = listener._replace(
            progress=partial(self._jobs.progress, job),
            rows=partial(self._rows, job),
            log=partial(self._said, job),
        )
        ticket = self._engines.ask(
            start.op, start.params, listener, python=start.python, engine_of=start.engine_of,
            hold=start.hold, before=start.before, keep=start.keep,
        )  # fmt: skip
        if start.keep:
            self._kept[job.id] = ticket
        return ticket

    def _look(self, what: Callable[..., object], *of: object) -> Step:
        """The step that calls a function which may wait."""
        return lambda listener: self._engines.background(listener, what, *of)

    def _unpacked(self, job: Job, env: Environment) -> Steps[str]:
        """The folder in which what a bundle holds is placed."""
        job.note = self.tr("placing the entries of the bundle")
        self._jobs.touch(job)
        file, target = str(job.place), os.path.join(job.scratch, _TARGET)
        threads, placed = yield from unpacked(self._engines, env, file, target)
        job.note, job.asked["made_threads"] = "", threads
        note = outcomes.note(protocol.IMPORT, placed)
        self._jobs.log(job, [self.tr("Placed as an import would: {}").format(note)])
        if not placed["entries"]:
            raise user_error("nothing-to-verify", {"place": file})
        return target

    def _done(self, job: Job, result: Values) -> None:
        if job.traits.proves:
            from torchkeeper.client.kept import verified

            try:
                result = verified.checked(result)
            except ValueError as e:
                self._lost(job, user_error("verify-nonsense", {"why": str(e)}))
                return
            laps.finish(job.laps, result)
        elif job.traits.warms:
            told = result.get("variants")
            job.variants.told(told if isinstance(told, list) else [])
        note = outcomes.note(job.kind, result, job.left)
        if result.get("cut"):
            self._stopped(job, note, result)
            return
        said = [note, outcomes.signed(result["signature"]) if "signature" in result else ""]
        self._jobs.log(job, list(filter(None, dict.fromkeys(said))))
        self._ended(job, State.DONE, note=note, result=result)
        self.succeeded.emit(job)

    def _lost(self, job: Job, error: UserError) -> None:
        if job.scratch and error.params.get("place") == os.path.join(job.scratch, _TARGET):
            # Nobody knows the folder that it was placed in.
            error = user_error(error.code, {**error.params, "place": job.place})
        elif job.scratch and error.params.get("place") == job.scratch:
            error = user_error(error.code, {**error.params, "place": os.path.dirname(job.scratch)})
        machine = far.machine_of(job.place) if job.there else ""
        broke = bool(machine) and error.code.startswith("ssh-")
        if broke and job.there not in error.remedy:
            on = far.goes_on(machine, job.there)
            error = UserError(error.what, error.why, on, code=error.code, params=error.params)
        self._jobs.log(job, list(filter(None, str(error).splitlines())))
        self._ended(job, State.FAILED, error=error)
        self.failed.emit(job)
        if broke and job.goes_on and machine in self._connected:
            self.resume(job)  # it was connected again before this was heard

    def _stopped(self, job: Job, note: str = "", result: Values | None = None) -> None:
        """It was cancelled; what a server or a fleet has done until then stays."""
        if note := note or outcomes.stopped(job.kind, job.done, job.total):
            self._jobs.log(job, [note[:1].upper() + note[1:]])
        self._ended(job, State.CANCELLED, note=note, result=result)

    def _ended(
        self, job: Job, state: State, *, note: str = "", result: Values | None = None,
        error: UserError | None = None,
    ) -> None:  # fmt: skip
        self._tickets.pop(job.id, None)
        if (kept := self._kept.pop(job.id, None)) is not None:
            self._engines.release(kept)
        job.variants.end(error)
        job.cells.end()
        if state is State.CANCELLED:
            self._jobs.log(job, [self.tr("Cancelled.")])
        self._jobs.end(job, state, note=note or job.partly, result=result, error=error)
        # However it ended, it may have changed the place before.
        if job.place is not None and job.traits.changes:
            self.changed.emit(job.place)
        if job.scratch:
            self._engines.discard(job.scratch)
        self._go_on()

    def _said(self, job: Job, lines: list[str]) -> None:
        if lines:
            head = self.tr("— what the engine wrote to its standard error —")
            self._jobs.log(job, [head, *(printable(line, 2000) for line in lines)])

    def _rows(self, job: Job, rows: list[Any]) -> None:
        if job.kind == protocol.FLEET:
            job.cells.take(rows)
            self._jobs.touch(job)
        elif job.traits.placed_rows:
            job.placed += [(row["kind"], row["path"]) for row in rows]

    def _findings(self, job: Job, told: list[Finding]) -> None:
        lines = list(filter(None, [heard(job, one) for one in told]))
        self._jobs.touch(job)
        self._jobs.log(job, lines)
