"""What is wrong with the caches of this machine, or of others: doctor."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchkeeper.cli import contract, findings, hosts, looking, output
from torchkeeper.cli.asking import Asker, asking, engine_at
from torchkeeper.cli.removing import known_everywhere
from torchkeeper.cli.several import answers
from torchkeeper.client import diagnosing
from torchkeeper.client.engines import interpreters, probes
from torchkeeper.client.engines.process import Engine, clean_environment
from torchkeeper.client.paths import what_at_once
from torchkeeper.client.words import findingwords
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.doctor.checks import CHECKS
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import MEND, PREPARE
from torchkeeper.settings.finding import worst
from torchkeeper.settings.masks import taken
from torchkeeper.settings.servers import places_of
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages import doctor as msg


def add_doctor(command: argparse.ArgumentParser) -> None:
    command.add_argument("places", metavar="PLACE", nargs="*", type=looking.place_or_machine,
                         help="cache folders and redis:// servers; by default those that the "
                              "environment uses, and this user's others in brief; ssh://HOST: "
                              "those of another machine")  # fmt: skip
    hosts.add_group(command)
    looking.add_env(command)
    output.flag(command, "--fix", "fix what can be fixed, after a question")
    output.flag(command, "--yes", "with --fix: do not ask")
    output.flag(command, "--dry-run", "with --fix: only print the changes")


def doctor(args: argparse.Namespace) -> int:
    """torchkeeper doctor. The exit status tells the worst finding; it is "partly" where a fix
    failed, or a machine did not answer.
    """
    if (args.yes or args.dry_run) and not args.fix:
        raise output.misuse("--yes and --dry-run need --fix.", "", "Add --fix.")
    for place in args.places:
        if scheme_of(place).local and what_at_once(place) == "missing":
            raise user_error("place-missing", {"place": place})
    machines = hosts.machines_of(args)
    several = len(machines) > 1

    def look(machine: str) -> _Machine:
        one = _Machine(args, machine, several)
        one.look(machines[machine])
        return one

    told, away = answers(list(machines), look, args.json)
    wrong, failed = list[diagnosing.Told](), bool(away)
    for one in told.values():
        one.show()
    results = [one.result for one in told.values()]
    every = [one for of in told.values() for one in of.found]
    result: msg.DiagnoseResult = {
        "checks": list(dict.fromkeys(name for of in results for name in of["checks"])),
        "left": [one for of in results for one in of["left"]],
    }
    said = "" if several else diagnosing.summary(every, result)
    output.result(args, {**result, "worst": worst([one.finding for one in every])}, said)
    for error in away.values():
        output.report(args, error)
    if args.fix:
        for one in told.values():
            wrong += one.fix()
            failed = failed or one.failed
    else:
        wrong = every
    return findings.code([one.finding for one in wrong]) or contract.partly(True, failed)


class _Machine:
    """Looks at one machine; "" is this one. several: whether others are looked at, too. found,
    result: what came of it. failed: whether a fix failed.
    """

    def __init__(self, args: argparse.Namespace, machine: str, several: bool) -> None:
        self._args, self._machine = args, machine
        self._quiet, self.failed = args.json or several, False
        #: Of several machines each line says of which it is.
        self._head = f"{machine or 'This machine'}: " if several else ""
        self._of = {"machine": machine} if several else {}
        self._python = interpreters.chosen(args.env, machine)

    def look(self, places: list[str]) -> None:
        """Diagnose places, or all. Raises UserError."""
        with output.waiting("asking torch", self._quiet):
            facts = probes.probe(self._python)
        env = None if self._machine else clean_environment()
        values = None if env is None else taken(env)
        if places and all(scheme_of(place).checks == "server" for place in places):
            # For a server nobody needs torch, or other folders.
            self._asked = diagnosing.request(places, facts, values, {}, variables=env)
            self._asked["only"] = [check.name for check in CHECKS if check.about == "server"]
        else:
            toolchain = self._toolchain()
            named = places or ([] if values is None else places_of(facts, values))
            # The folders that known environments use, as far as they can be asked.
            every = probes.everywhere(machine=self._machine)
            reads = [folder for _, one in every.envs if (folder := one.get("cache_dir"))]
            self._asked = diagnosing.request(
                named, facts, values, toolchain, reads, not places, env
            )
        with self._asking() as asker:
            for place in places if self._machine else ():
                if asker.ask(protocol.TARGET, path=place)["what"] == "missing":
                    raise user_error("place-missing", {"place": place})
            self.found, self.result = self._diagnose(asker, self._asked)

    @contextlib.contextmanager
    def _asking(self) -> Iterator[Asker]:
        with engine_at(self._args, self._machine) as engine:
            asker = Asker(engine, self._quiet)
            for one in diagnosing.passwords(self._asked):
                asker.ask(protocol.SECRET, **one)
            yield asker

    def fix(self) -> list[diagnosing.Told]:
        """Mend what can be mended, one after the other; what is wrong then."""
        wrong = []
        with self._asking() as asker:
            for one in self.found:
                if not diagnosing.mends(one.finding):
                    wrong.append(one)
                    continue
                try:
                    wrong += self._mend(asker, one)
                except UserError as error:
                    if error.code == "wrong-usage":
                        raise
                    output.complain(error)
                    self.failed = True
                    wrong.append(one)
            output.remark(self._args, output.left_lines(asker.left))
        return wrong

    def _look_again(self, asker: Asker, one: diagnosing.Told) -> list[diagnosing.Told]:
        asked = diagnosing.again(self._asked, one)
        if one.finding.fix == diagnosing.PREPARE:
            asked["toolchain"] = self._toolchain()
        return self._diagnose(asker, asked)[0]

    def _mend(self, asker: Asker, one: diagnosing.Told) -> list[diagnosing.Told]:
        prepares = one.finding.fix == diagnosing.PREPARE
        plan: msg.MendResult = {} if prepares else self._plan(asker, one)
        said = printable(diagnosing.will(one.finding, plan), 600)
        nothing = not prepares and diagnosing.nothing(plan)
        of_others = "shared" in plan and self._args.yes
        stays = nothing or self._args.dry_run or of_others
        if not stays and not self._args.yes:
            output.check_can_ask("The fix")
            stays = not output.confirm(f"{self._head}{said}")
        if stays:
            self._say(one, said, done=False)
            if nothing:
                output.note("  Nothing can be fixed: it is in use, or gone.")
            elif of_others and not self._args.dry_run:
                output.note("  --yes alone does not purge what other machines may use. Leave it "
                            "out to be asked, or use “purge --shared”.")  # fmt: skip
            return [one]
        answer: msg.MendResult = {}
        if prepares:
            with asking(self._args, self._python) as other:
                other.ask(PREPARE)
        else:
            asked = diagnosing.mending(one.finding, plan=plan["plan"])
            answer = asker.ask(MEND, **asked)
        left = [other for other in self._look_again(asker, one) if diagnosing.same(one, other)]
        self._say(one, said, done=True, gone=not left, undo=diagnosing.undone(one.finding, answer))
        self.failed = self.failed or bool(left and not diagnosing.leaves(one.finding))
        return left

    def _plan(self, asker: Asker, one: diagnosing.Told) -> msg.MendResult:
        envs: list[str] = []
        if one.finding.fix == "trash-stale":
            # What another environment needs stays.
            envs = [python for python, _ in known_everywhere(asker.engine, []).envs]
        elif one.finding.fix == "trash-broken":
            # Only verdicts tell what lacks what it needs; what cannot be read tells itself.
            with contextlib.suppress(UserError):
                envs = probes.know(asker.engine, [self._python])
        plan: msg.MendResult = asker.ask(MEND, **diagnosing.mending(one.finding, envs, dry=True))
        return plan

    def _say(
        self, one: diagnosing.Told, said: str, done: bool, gone: bool | None = None, undo: str = ""
    ) -> None:
        if self._args.json:
            output.emit({
                "fix": one.finding.fix, "code": one.finding.code, "done": done,
                "place": one.finding.place, "will": said, "gone": gone, **self._of,
            })  # fmt: skip
        elif not done:
            output.line(f"{self._head}{'would' if self._args.dry_run else 'left'}: {said}")
        else:
            output.line(f"{self._head}done: {said}")
            end = "It is gone." if gone else diagnosing.rest(one.finding)
            output.line(f"  {end} “{undo}” takes it back." if undo else f"  {end}")

    def _toolchain(self) -> msg.ToolchainResult:
        with Engine(self._python) as engine:
            asker = Asker(engine, self._quiet)
            asker.aside = lambda: "trying the compilers"
            result: msg.ToolchainResult = asker.ask(protocol.TOOLCHAIN)
            return result

    def _diagnose(
        self, asker: Asker, asked: msg.DiagnoseParams
    ) -> tuple[list[diagnosing.Told], msg.DiagnoseResult]:
        asker.findings.clear()
        result: msg.DiagnoseResult = asker.ask(protocol.DIAGNOSE, **asked)
        found = [one for x in asker.findings if (one := diagnosing.told(x, self._machine))]
        return diagnosing.in_order(found), result

    def show(self) -> None:
        """Say what was found; of several machines each has its sum, too."""
        for one in self.found:
            if self._args.json:
                output.emit({"check": one.check, **findings.to_json(one.finding), **self._of})
            else:
                said = findingwords.said(one.finding)
                rest = [line for part in (said.why, said.remedy) for line in part.splitlines()]
                head = f"{self._head}{one.finding.severity}: {said.what}"
                output.lines([head, *(f"    {line}" for line in rest), ""])
        for check, place, why in () if self._args.json else diagnosing.left_of(self.result):
            where = f" of {printable(place)}" if place else ""
            name = diagnosing.check_name(check)
            output.note(f"{self._head}left: {name}{where}: {why.what} {why.why}".rstrip())
        if self._head and not self._args.json:
            output.line(f"{self._head}{diagnosing.summary(self.found, self.result)}")
