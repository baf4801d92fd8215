"""What is wrong with the caches of this machine: doctor."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from torchkeeper.cli import looking, output
from torchkeeper.cli.asking import Asker
from torchkeeper.cli.fixing import Fixer
from torchkeeper.doctor.checks import CHECKS
from torchkeeper.link import diagnosing
from torchkeeper.link.diagnosing import Told
from torchkeeper.link.engines import interpreters, probes
from torchkeeper.link.engines.everywhere import everywhere
from torchkeeper.link.engines.process import Engine, clean_environment
from torchkeeper.link.paths import what_at_once
from torchkeeper.link.words import checkwords, findingwords
from torchkeeper.link.words.problems import UserError, printable, user_error
from torchkeeper.settings.finding import worst
from torchkeeper.stores.names import scheme_of

if TYPE_CHECKING:
    from torchkeeper.engine.messages.doctor import DiagnoseParams, DiagnoseResult, ToolchainResult


def add_doctor(command: argparse.ArgumentParser) -> None:
    """Arguments of doctor."""
    command.add_argument("places", metavar="PLACE", nargs="*", type=looking.place,
                         help="cache folders and redis:// servers; by default what the "
                         "environment uses, and this user's other caches in brief")  # fmt: skip
    looking.add_env(command)
    command.epilog = "Exit codes: 0 nothing worse than advice, 4 warnings, 5 errors."
    command.add_argument("--fix", action="store_true", help="mend what can be, after asking")
    command.add_argument("--yes", action="store_true", help="with --fix: do not ask")
    command.add_argument("--dry-run", action="store_true",
                         help="with --fix: only say what would be done")  # fmt: skip
    looking.add_json(command)


def doctor(args: argparse.Namespace) -> int:
    """torchkeeper doctor; 0 where nothing is worse than advice, 4 for warnings, 5 for errors."""
    if (args.yes or args.dry_run) and not args.fix:
        raise UserError(
            "--yes and --dry-run say how to fix.", "", "Give --fix with them.", code="wrong-usage"
        )
    for place in args.places:
        if scheme_of(place).local and what_at_once(place) == "missing":
            raise user_error("place-missing", {"place": place})
    python = interpreters.chosen(args.env)
    facts = probes.probe(python)
    env = clean_environment()
    values = diagnosing.values_of(env)
    if args.places and not any(scheme_of(place).local for place in args.places):
        # For a server nobody needs torch, or other folders.
        asked = diagnosing.request(args.places, facts, values, {}, variables=env)
        asked["only"] = [check.name for check in CHECKS if check.about == "server"]
    else:
        toolchain = _toolchain(python, args.json)
        places = args.places or diagnosing.places_of(facts, values)
        asked = diagnosing.request(places, facts, values, toolchain, _reads(), not args.places, env)
    with Engine() as engine:
        asker = Asker(engine, args.json)
        for one in diagnosing.passwords(asked):
            asker.ask("secret", **one)
        found, result = _diagnose(asker, asked)
        _show(args, found, result)
        if not args.fix:
            return diagnosing.code_of(found)

        def again(one: Told) -> list[Told]:
            once_more = diagnosing.again(asked, one)
            if one.finding.fix == diagnosing.PREPARE:
                once_more["toolchain"] = _toolchain(python, args.json)
            return _diagnose(asker, once_more)[0]

        fixer = Fixer(args, python, engine, asker, again)
        wrong = fixer.all(found)
        if not args.json:
            for text in output.left_lines(asker.left):
                output.note(text)
    return diagnosing.code_of(wrong) or int(fixer.failed)


def _toolchain(python: str, quiet: bool) -> ToolchainResult:
    with Engine(python) as engine:
        result: ToolchainResult = Asker(engine, quiet).ask("toolchain")
        return result


def _reads() -> list[str]:
    """The folders that known environments use, as far as they can be asked."""
    folders = [facts.get("cache_dir") for _, facts in everywhere().envs]
    return [folder for folder in folders if isinstance(folder, str)]


def _diagnose(asker: Asker, asked: DiagnoseParams) -> tuple[list[Told], DiagnoseResult]:
    asker.findings.clear()
    result: DiagnoseResult = asker.ask("diagnose", **asked)
    found = [one for what in asker.findings if (one := diagnosing.told(what))]
    return diagnosing.in_order(found), result


def _show(args: argparse.Namespace, found: list[Told], result: DiagnoseResult) -> None:
    for one in found:
        said = findingwords.said(one.finding)
        if args.json:
            words = {"what": said.what, "why": said.why, "remedy": said.remedy}
            output.emit({"check": one.check, **one.finding.to_json(), **words})
        else:
            output.lines(_lines(one.finding.severity, said))
    for check, place, why in diagnosing.left_of(result):
        if not args.json:
            where = f" of {printable(place)}" if place else ""
            output.note(f"left: {checkwords.name(check)}{where}: {why.what} {why.why}".rstrip())
    output.result(args, {**result, "worst": worst([one.finding for one in found])},
                  diagnosing.summary(found, result))  # fmt: skip


def _lines(severity: str, said: UserError) -> list[str]:
    rest = [text for part in (said.why, said.remedy) for text in part.splitlines()]
    return [f"{severity}: {said.what}", *(f"    {text}" for text in rest), ""]
