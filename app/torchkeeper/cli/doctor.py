"""What is wrong with the caches of this machine: doctor."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from torchkeeper.cli import contract, findings, looking, output
from torchkeeper.cli.asking import Asker, asking
from torchkeeper.cli.removing import known_everywhere
from torchkeeper.client import diagnosing
from torchkeeper.client.diagnosing import Told
from torchkeeper.client.engines import interpreters, probes
from torchkeeper.client.engines.probes import everywhere, know
from torchkeeper.client.engines.process import Engine, clean_environment
from torchkeeper.client.paths import what_at_once
from torchkeeper.client.words import findingwords
from torchkeeper.client.words.problems import UserError, printable, user_error
from torchkeeper.doctor.checks import CHECKS
from torchkeeper.engine import protocol
from torchkeeper.engine.protocol import MEND, PREPARE
from torchkeeper.settings.finding import worst
from torchkeeper.settings.masks import taken
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages import doctor as msg


#: Asks for the findings of some checks again.
Again = Callable[[Told], list[Told]]


class Fixer:
    """Mends findings one after the other. failed: whether one could not be mended."""

    def __init__(self, args: argparse.Namespace, python: str, asker: Asker, again: Again) -> None:
        self.failed = False
        self._args, self._python, self._asker, self._again = args, python, asker, again

    def all(self, found: list[Told]) -> list[Told]:
        wrong = []
        for one in found:
            if not diagnosing.mends(one.finding):
                wrong.append(one)
                continue
            try:
                wrong += self._one(one)
            except UserError as error:
                if error.code == "wrong-usage":
                    raise
                output.complain(error)
                self.failed = True
                wrong.append(one)
        return wrong

    def _one(self, one: Told) -> list[Told]:
        prepares = one.finding.fix == diagnosing.PREPARE
        plan: msg.MendResult = {} if prepares else self._plan(one)
        said = printable(diagnosing.will(one.finding, plan), 600)
        nothing = not prepares and diagnosing.nothing(plan)
        stays = nothing or self._args.dry_run
        if not stays and not self._args.yes:
            output.check_can_ask("The fix")
            stays = not output.confirm(said)
        if stays:
            self._say(one, said, done=False)
            if nothing:
                output.note("  Nothing can be fixed: it is in use, or gone.")
            return [one]
        answer: msg.MendResult = {}
        if prepares:
            with asking(self._args, self._python) as asker:
                asker.ask(PREPARE)
        else:
            asked = diagnosing.mending(one.finding, plan=plan["plan"])
            answer = self._asker.ask(MEND, **asked)
        left = [other for other in self._again(one) if diagnosing.same(one, other)]
        self._say(one, said, done=True, gone=not left, undo=diagnosing.undone(one.finding, answer))
        self.failed = self.failed or bool(left and not diagnosing.leaves(one.finding))
        return left

    def _plan(self, one: Told) -> msg.MendResult:
        envs: list[str] = []
        if one.finding.fix == "trash-stale":
            # What another environment needs stays.
            envs = [python for python, _ in known_everywhere(self._asker.engine, []).envs]
        elif one.finding.fix == "trash-broken":
            # Only verdicts tell what lacks what it needs; what cannot be read tells itself.
            with contextlib.suppress(UserError):
                envs = know(self._asker.engine, [self._python])
        plan: msg.MendResult = self._asker.ask(
            MEND, **diagnosing.mending(one.finding, envs, dry=True)
        )
        return plan

    def _say(
        self, one: Told, said: str, done: bool, gone: bool | None = None, undo: str = ""
    ) -> None:
        if self._args.json:
            output.emit({"fix": one.finding.fix, "code": one.finding.code, "done": done,
                         "place": one.finding.place, "will": said, "gone": gone})  # fmt: skip
        elif not done:
            output.line(f"would: {said}" if self._args.dry_run else f"left: {said}")
        else:
            output.line(f"done: {said}")
            end = "It is gone." if gone else diagnosing.rest(one.finding)
            output.line(f"  {end} “{undo}” takes it back." if undo else f"  {end}")


def add_doctor(command: argparse.ArgumentParser) -> None:
    command.add_argument("places", metavar="PLACE", nargs="*", type=looking.place,
                         help="cache folders and redis:// servers; by default those that the "
                              "environment uses, and this user's others in brief")  # fmt: skip
    looking.add_env(command)
    output.flag(command, "--fix", "fix what can be fixed, after a question")
    output.flag(command, "--yes", "with --fix: do not ask")
    output.flag(command, "--dry-run", "with --fix: only print the changes")


def doctor(args: argparse.Namespace) -> int:
    """torchkeeper doctor; ends by the worst that is found, or partly where a fix failed."""
    if (args.yes or args.dry_run) and not args.fix:
        raise output.misuse("--yes and --dry-run need --fix.", "", "Add --fix.")
    for place in args.places:
        if scheme_of(place).local and what_at_once(place) == "missing":
            raise user_error("place-missing", {"place": place})
    python = interpreters.chosen(args.env)
    with output.waiting("asking torch", args.json):
        facts = probes.probe(python)
    env = clean_environment()
    values = taken(env)
    if args.places and not any(scheme_of(place).local for place in args.places):
        # For a server nobody needs torch, or other folders.
        asked = diagnosing.request(args.places, facts, values, {}, variables=env)
        asked["only"] = [check.name for check in CHECKS if check.about == "server"]
    else:
        toolchain = _toolchain(python, args.json)
        places = args.places or diagnosing.places_of(facts, values)
        # The folders that known environments use, as far as they can be asked.
        folders = [facts.get("cache_dir") for _, facts in everywhere().envs]
        reads = [folder for folder in folders if isinstance(folder, str)]
        asked = diagnosing.request(places, facts, values, toolchain, reads, not args.places, env)
    with asking(args) as asker:
        for one in diagnosing.passwords(asked):
            asker.ask(protocol.SECRET, **one)
        found, result = _diagnose(asker, asked)
        _show(args, found, result)
        if not args.fix:
            return findings.code([one.finding for one in found])

        def again(one: Told) -> list[Told]:
            once_more = diagnosing.again(asked, one)
            if one.finding.fix == diagnosing.PREPARE:
                once_more["toolchain"] = _toolchain(python, args.json)
            return _diagnose(asker, once_more)[0]

        fixer = Fixer(args, python, asker, again)
        wrong = fixer.all(found)
        output.remark(args, output.left_lines(asker.left))
    return findings.code([one.finding for one in wrong]) or contract.partly(True, fixer.failed)


def _toolchain(python: str, quiet: bool) -> msg.ToolchainResult:
    with Engine(python) as engine:
        asker = Asker(engine, quiet)
        asker.aside = lambda: "trying the compilers"
        result: msg.ToolchainResult = asker.ask(protocol.TOOLCHAIN)
        return result


def _diagnose(asker: Asker, asked: msg.DiagnoseParams) -> tuple[list[Told], msg.DiagnoseResult]:
    asker.findings.clear()
    result: msg.DiagnoseResult = asker.ask(protocol.DIAGNOSE, **asked)
    found = [one for what in asker.findings if (one := diagnosing.told(what))]
    return diagnosing.in_order(found), result


def _show(args: argparse.Namespace, found: list[Told], result: msg.DiagnoseResult) -> None:
    for one in found:
        if args.json:
            output.emit({"check": one.check, **findings.to_json(one.finding)})
        else:
            said = findingwords.said(one.finding)
            rest = [f"    {text}" for part in (said.why, said.remedy) for text in part.splitlines()]
            output.lines([f"{one.finding.severity}: {said.what}", *rest, ""])
    for check, place, why in () if args.json else diagnosing.left_of(result):
        where = f" of {printable(place)}" if place else ""
        output.note(f"left: {diagnosing.check_name(check)}{where}: {why.what} {why.why}".rstrip())
    output.result(args, {**result, "worst": worst([one.finding for one in found])},
                  diagnosing.summary(found, result))  # fmt: skip
